/* SPDX-License-Identifier: MIT */
/*
 * csv.c - a table of sites for spreadsheets (RFC 4180): a row for each stack, tag and name of threads.
 *
 * The first columns tell where: the function that report names a site after, its tag and its thread. Then come the
 * figures, and the whole stack. Control characters become their pictures, so a row is one line; and a text that a
 * spreadsheet would take for a formula has an apostrophe in front.
 *
 * Invariant: each metric's column adds up to flat's total.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/path.h"
#include "export/export.h"
#include "export/label.h"
#include "export/wording.h"
#include "reader/base/grow.h"
#include "reader/site.h"

#define LINE_END "\r\n"
#define CALLED_BY " < "
#define TAG_BYTES_MAX 4096 /* of a path: longer ones of a deep tree would be most of the file */

#define MOST 0x1p62 /* limits figures of a damaged profile */

struct writer {
    FILE *out;
    const struct pl_profile *profile;
    const struct pl_flat *flat;
    struct pl_locations *locations;
    struct pl_wording_names names;
    uint32_t *frame, *line, *location; /* room for one stack each */
    uint32_t *first_site, *site_of;    /* of row i: site_of[first_site[i]] .. site_of[first_site[i + 1] - 1] */
    struct pl_estimate estimate[PL_METRIC_COUNT]; /* of the current row */
};

/* --- texts --- */

static bool looks_like_a_formula(const char *text)
{
    static const char *const signs[] = {"=", "+", "-", "@", "＝", "＋", "－", "＠"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (!strncmp(text, signs[i], strlen(signs[i])))
            return true;
    return false;
}

/* Texts are in quotes whether they need them or not: some readers split at semicolons, or trim. */
static void begin_text(FILE *out, const char *clean)
{
    fputs(looks_like_a_formula(clean) ? "\"'" : "\"", out);
}

static void put_part(FILE *out, const char *clean)
{
    for (; *clean; clean++) {
        if (*clean == '"')
            fputc_unlocked('"', out);
        fputc_unlocked(*clean, out);
    }
}

static void put_text(FILE *out, const char *text)
{
    if (*text) {
        char *clean = pl_label_clean(text);
        begin_text(out, clean);
        put_part(out, clean);
        fputc('"', out);
        free(clean);
    }
    fputc(',', out);
}

/* --- where --- */

/* The locations of the last `count` places of a frame: a flat may leave out the innermost ones, which were inlined. */
static const uint32_t *last_locations(const struct pl_locations *locations, uint32_t frame, uint32_t count)
{
    return &locations->of_place[locations->of_frame[frame + 1] - count];
}

/* The line of the function that report names the site after. */
static uint32_t own_line(struct writer *writer, uint32_t stack)
{
    uint32_t frames = pl_flat_frames(writer->flat, stack, writer->frame), count = 0;
    for (uint32_t f = 0; f < frames; f++) {
        const uint32_t *line;
        uint32_t lines = pl_flat_frame_lines(writer->flat, writer->frame[f], &line);
        const uint32_t *location = last_locations(writer->locations, writer->frame[f], lines);
        for (uint32_t p = 0; p < lines; p++) {
            if (count && writer->location[count - 1] == location[p])
                continue;
            writer->line[count] = line[p];
            writer->location[count++] = location[p];
        }
    }
    if (count)
        return writer->line[pl_path_own(writer->locations, writer->location, count)];
    return writer->line[pl_flat_stack(writer->flat, stack, writer->line) - 1];
}

static void put_place(struct writer *writer, uint32_t number)
{
    const struct pl_flat_line *line = &writer->flat->line[number];
    const struct pl_flat_function *function = &writer->flat->function[line->function];
    put_text(writer->out, function->name);
    put_text(writer->out, function->file);
    if (line->line)
        fprintf(writer->out, "%" PRIu32, line->line);
    fputc(',', writer->out);
    put_text(writer->out, function->module == PL_FLAT_NONE ? "" : writer->profile->module[function->module].path);
}

static void put_tag(struct writer *writer, const struct pl_tag_view *tag)
{
    put_text(writer->out, strlen(tag->path) <= TAG_BYTES_MAX ? tag->path : tag->name);
}

/* Lines of a stack that are code: the tags and threads that --by puts in front have columns of their own. */
static uint32_t count_code(struct writer *writer, uint32_t stack)
{
    uint32_t frames = pl_flat_frames(writer->flat, stack, writer->frame), count = 0;
    const uint32_t *line;
    for (uint32_t i = 0; i < frames; i++)
        count += pl_flat_frame_lines(writer->flat, writer->frame[i], &line);
    return frames ? count : 1;
}

/* Innermost first. */
static void put_stack(struct writer *writer, uint32_t stack)
{
    uint32_t depth = pl_flat_stack(writer->flat, stack, writer->line), front = depth - count_code(writer, stack);
    begin_text(writer->out, pl_wording_name(&writer->names, writer->line[depth - 1]));
    for (uint32_t i = depth; i-- > front;) {
        uint32_t line = writer->flat->line[writer->line[i]].line;
        fputs_unlocked(i + 1 < depth ? CALLED_BY : "", writer->out);
        put_part(writer->out, pl_wording_name(&writer->names, writer->line[i]));
        if (line)
            fprintf(writer->out, ":%" PRIu32, line);
    }
    fputc('"', writer->out);
}

/* --- figures --- */

/* Groups sites by row. */
static void group_sites(struct writer *writer)
{
    const struct pl_flat *flat = writer->flat;
    uint32_t sites = writer->profile->sites;
    uint32_t *first = pl_grow_zeroed(flat->rows + 2ull, sizeof *first);
    uint32_t *site_of = pl_grow_zeroed(sites + 1ull, sizeof *site_of);
    for (uint32_t i = 0; i < sites; i++)
        if (flat->row_of_site[i] != PL_FLAT_NONE)
            first[flat->row_of_site[i] + 2]++;
    for (uint32_t i = 2; i < flat->rows + 2; i++)
        first[i] += first[i - 1];
    for (uint32_t i = 0; i < sites; i++)
        if (flat->row_of_site[i] != PL_FLAT_NONE)
            site_of[first[flat->row_of_site[i] + 1]++] = i;
    writer->first_site = first;
    writer->site_of = site_of;
}

static void estimate_row(struct writer *writer, uint32_t row)
{
    struct pl_figures sum = {0};
    for (uint32_t i = writer->first_site[row]; i < writer->first_site[row + 1]; i++)
        pl_site_add_figures(&sum, &writer->profile->site[writer->site_of[i]]);
    pl_estimate_figures(&sum, writer->estimate);
}

static int64_t value(const struct writer *writer, const struct pl_flat_row *row, int metric)
{
    (void) writer;
    return row->value[metric];
}

static int64_t before(const struct writer *writer, const struct pl_flat_row *row, int metric)
{
    (void) writer;
    return row->base[metric];
}

/* Values are rounded site by site, so they may lie a little outside of their interval. */
static int64_t low(const struct writer *writer, const struct pl_flat_row *row, int metric)
{
    double bound = floor(writer->estimate[metric].low);
    return bound < (double) row->value[metric] ? (int64_t) fmax(bound, 0) : row->value[metric];
}

static int64_t high(const struct writer *writer, const struct pl_flat_row *row, int metric)
{
    double bound = ceil(writer->estimate[metric].high);
    return bound > (double) row->value[metric] ? (int64_t) fmin(bound, MOST) : row->value[metric];
}

enum when { ALWAYS, IN_DIFFERENCES, IN_ESTIMATES };

/* Each is a column for every metric. */
static const struct figure {
    const char *suffix;
    int64_t (*of)(const struct writer *writer, const struct pl_flat_row *row, int metric);
    enum when when;
} figures[] = {
    {"", value, ALWAYS},
    {" before", before, IN_DIFFERENCES},
    {" low", low, IN_ESTIMATES},
    {" high", high, IN_ESTIMATES},
};
#define FIGURES (sizeof figures / sizeof *figures)

/* A difference has no intervals here: `plimsoll diff` computes them. */
static bool wanted(const struct pl_profile *profile, enum when when)
{
    bool of[] = {
        [ALWAYS] = true,
        [IN_DIFFERENCES] = profile->difference,
        [IN_ESTIMATES] = !profile->exact && !profile->difference,
    };
    return of[when];
}

/* --- the table --- */

static void put_header(const struct writer *writer)
{
    fputs("function,file,line,module,tag,thread,", writer->out);
    for (size_t i = 0; i < FIGURES; i++)
        for (int m = 0; m < pl_profile_metrics(writer->profile) && wanted(writer->profile, figures[i].when); m++)
            fprintf(writer->out, "%s%s,", pl_metric_info[m].word, figures[i].suffix);
    fputs("stack" LINE_END, writer->out);
}

static void put_row(struct writer *writer, uint32_t number)
{
    const struct pl_flat_row *row = &writer->flat->row[number];
    put_place(writer, own_line(writer, row->stack));
    put_tag(writer, &writer->profile->tag[row->tag]);
    put_text(writer->out, row->thread == PL_FLAT_NONE ? "" : writer->profile->thread[row->thread].name);
    if (wanted(writer->profile, IN_ESTIMATES))
        estimate_row(writer, number);
    for (size_t i = 0; i < FIGURES; i++)
        for (int m = 0; m < pl_profile_metrics(writer->profile) && wanted(writer->profile, figures[i].when); m++)
            fprintf(writer->out, "%" PRId64 ",", figures[i].of(writer, row, m));
    put_stack(writer, row->stack);
    fputs(LINE_END, writer->out);
}

void pl_export_csv(const struct pl_profile *profile, const struct pl_export_options *options, FILE *out)
{
    const struct pl_flat *flat = options->flat;
    struct writer writer = {
        .out = out,
        .profile = profile,
        .flat = flat,
        .locations = pl_locations_new(profile, &(struct pl_location_options){.full_names = true}),
        .names = pl_wording_names_new(flat, NULL),
        .frame = pl_grow_zeroed(flat->depth_max + 1ull, sizeof *writer.frame),
        .line = pl_grow_zeroed(flat->depth_max + 1ull, sizeof *writer.line),
        .location = pl_grow_zeroed(flat->depth_max + 1ull, sizeof *writer.location),
    };
    group_sites(&writer);
    put_header(&writer);
    for (uint32_t i = 0; i < flat->rows; i++)
        put_row(&writer, i);
    free(writer.site_of);
    free(writer.first_site);
    free(writer.location);
    free(writer.line);
    free(writer.frame);
    pl_wording_names_free(&writer.names);
    pl_locations_free(writer.locations);
}
