/* SPDX-License-Identifier: MIT */
/*
 * speedscope.c - a profile as a file for speedscope: its own format, one "sampled" profile for each metric.
 *
 * A frame is a line of a function, so that tooltips name the line. Each profile has the rows in which its metric is not
 * 0; weights add up to flat's total. Metrics whose total is 0 are left out.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/export.h"
#include "export/json.h"
#include "reader/base/grow.h"
#include "reader/describe.h"

/* Names the format; programs do not fetch it. */
#define SCHEMA "https://www.speedscope.app/file-format-schema.json"

struct writer {
    struct pl_json json;
    const struct pl_flat *flat;
    uint32_t *stack;    /* room for one */
    uint32_t *frame_of; /* a line's number among the frames of the file, from 1; 0: no row has it */
};

/* --- frames --- */

/* If the file is not known, the module is the next best. */
static const char *file_of(const struct pl_flat *flat, const struct pl_flat_function *function)
{
    if (*function->file || function->module == PL_FLAT_NONE)
        return function->file;
    return flat->profile->module[function->module].path;
}

static void put_frame(struct writer *writer, const struct pl_flat_line *line)
{
    const struct pl_flat_function *function = &writer->flat->function[line->function];
    const char *file = file_of(writer->flat, function);
    pl_json_line(&writer->json);
    pl_json_begin(&writer->json, '{');
    pl_json_add_text(&writer->json, "name", function->name);
    if (*file)
        pl_json_add_text(&writer->json, "file", file);
    if (line->line)
        pl_json_add_whole(&writer->json, "line", line->line);
    pl_json_end(&writer->json, '}');
}

/* In the order in which rows need them. */
static void put_frames(struct writer *writer)
{
    const struct pl_flat *flat = writer->flat;
    uint32_t frames = 0;
    pl_json_key(&writer->json, "shared");
    pl_json_begin(&writer->json, '{');
    pl_json_key(&writer->json, "frames");
    pl_json_begin(&writer->json, '[');
    for (uint32_t i = 0; i < flat->rows; i++) {
        uint32_t depth = pl_flat_stack(flat, flat->row[i].stack, writer->stack);
        for (uint32_t d = 0; d < depth; d++)
            if (!writer->frame_of[writer->stack[d]]) {
                writer->frame_of[writer->stack[d]] = ++frames;
                put_frame(writer, &flat->line[writer->stack[d]]);
            }
    }
    pl_json_end(&writer->json, ']');
    pl_json_end(&writer->json, '}');
}

/* --- profiles --- */

/* Nearly all of the file is indexes, so they are written without printf. */
static void put_index(FILE *out, uint32_t index)
{
    char digits[10];
    size_t at = sizeof digits;
    do
        digits[--at] = (char) ('0' + index % 10);
    while (index /= 10);
    fwrite_unlocked(digits + at, 1, sizeof digits - at, out);
}

static void put_sample(struct writer *writer, uint32_t number)
{
    FILE *out = writer->json.out;
    uint32_t depth = pl_flat_stack(writer->flat, number, writer->stack);
    pl_json_line(&writer->json);
    fputc_unlocked('[', out);
    for (uint32_t i = 0; i < depth; i++) {
        if (i)
            fputc_unlocked(',', out);
        put_index(out, writer->frame_of[writer->stack[i]] - 1);
    }
    pl_json_end(&writer->json, ']');
}

static void put_samples(struct writer *writer, enum pl_metric metric)
{
    pl_json_key(&writer->json, "samples");
    pl_json_begin(&writer->json, '[');
    for (uint32_t i = 0; i < writer->flat->rows; i++)
        if (writer->flat->row[i].value[metric] > 0)
            put_sample(writer, writer->flat->row[i].stack);
    pl_json_end(&writer->json, ']');
}

static void put_weights(struct writer *writer, enum pl_metric metric)
{
    pl_json_key(&writer->json, "weights");
    pl_json_begin(&writer->json, '[');
    for (uint32_t i = 0; i < writer->flat->rows; i++)
        if (writer->flat->row[i].value[metric] > 0) {
            pl_json_separate(&writer->json);
            fprintf(writer->json.out, "%" PRId64, writer->flat->row[i].value[metric]);
        }
    pl_json_end(&writer->json, ']');
}

static void put_profile(struct writer *writer, enum pl_metric metric)
{
    const struct pl_metric_info *info = pl_describe_metric(writer->flat->profile, metric);
    char name[256];
    snprintf(name, sizeof name, "%s: %s", info->word, info->help);
    pl_json_line(&writer->json);
    pl_json_begin(&writer->json, '{');
    pl_json_add_text(&writer->json, "type", "sampled");
    pl_json_add_text(&writer->json, "name", name);
    pl_json_add_text(&writer->json, "unit", strcmp(info->unit, "bytes") ? "none" : "bytes");
    pl_json_add_whole(&writer->json, "startValue", 0);
    pl_json_add_whole(&writer->json, "endValue", (uint64_t) writer->flat->total[metric]);
    put_samples(writer, metric);
    put_weights(writer, metric);
    pl_json_end(&writer->json, '}');
}

/* The metric to show first is always written: a file without profiles is not valid. */
static bool is_shown(const struct writer *writer, const struct pl_export_options *options, enum pl_metric metric)
{
    return writer->flat->total[metric] > 0 || metric == options->metric;
}

static void put_profiles(struct writer *writer, const struct pl_export_options *options)
{
    uint64_t before = 0;
    for (int m = 0; m < (int) options->metric; m++)
        before += is_shown(writer, options, (enum pl_metric) m);
    pl_json_add_whole(&writer->json, "activeProfileIndex", before);
    pl_json_key(&writer->json, "profiles");
    pl_json_begin(&writer->json, '[');
    for (int m = 0; m < PL_METRIC_COUNT; m++)
        if (is_shown(writer, options, (enum pl_metric) m))
            put_profile(writer, (enum pl_metric) m);
    pl_json_end(&writer->json, ']');
}

/* --- the file --- */

static void put_title(struct writer *writer, const struct pl_export_options *options)
{
    const char *comm = writer->flat->profile->comm, *part = options->selection;
    size_t bytes = strlen(comm) + (part ? strlen(part) : 0) + sizeof ", ";
    char *title = pl_grow_zeroed(bytes, 1);
    snprintf(title, bytes, "%s%s%s", comm, part ? ", " : "", part ? part : "");
    pl_json_add_text(&writer->json, "name", title);
    free(title);
}

void pl_export_speedscope(const struct pl_profile *profile, const struct pl_export_options *options, FILE *out)
{
    const struct pl_flat *flat = options->flat;
    struct writer writer = {
        .json.out = out,
        .flat = flat,
        .stack = pl_grow_zeroed(flat->depth_max + 1ull, sizeof *writer.stack),
        .frame_of = pl_grow_zeroed(flat->lines + 1ull, sizeof *writer.frame_of),
    };
    (void) profile;
    pl_json_begin(&writer.json, '{');
    pl_json_add_text(&writer.json, "$schema", SCHEMA);
    pl_json_add_text(&writer.json, "exporter", "plimsoll " PL_EXPORT_VERSION);
    put_title(&writer, options);
    put_frames(&writer);
    put_profiles(&writer, options);
    pl_json_end(&writer.json, '}');
    fputc('\n', out);
    free(writer.frame_of);
    free(writer.stack);
}
