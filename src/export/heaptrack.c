/* SPDX-License-Identifier: MIT */
/*
 * heaptrack.c - for heaptrack_print and heaptrack_gui: made-up events that have the profile's figures.
 *
 * Heaptrack's file is a list of events: each allocation, each free. A profile has no events, only their sums, so events
 * are made up that add up to the same, for each stack: calls, bytes, live blocks at the peak and at the end,
 * temporary allocations. There are four acts:
 *
 *   1. blocks that were live neither at the peak nor at the end are allocated and freed at once
 *   2. blocks that were live at the peak are allocated: now the heap is as large as it ever gets
 *   3. blocks that were live at the peak but not at the end are freed
 *   4. blocks that are live at the end but were not at the peak are allocated
 *
 * Blocks of a stack have its mean size, some of them a byte more, so that bytes agree to the unit. With more than
 * EVENTS_MAX events, one stands for several: bytes still agree, calls are fewer, and the command line says so.
 *
 * Heaptrack calls an allocation temporary if the next event frees it. Events refer to a pair of size and stack, not to
 * a block. So where a free must not look temporary, it refers to a second copy of the pair.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export/export.h"
#include "export/label.h"
#include "export/wording.h"
#include "reader/base/grow.h"

#define EVENTS_MAX (1 << 23) /* some 60 MB of text */
#define PAGE_BYTES 4096

/* --- the parts of a row --- */

struct blocks {
    uint64_t count;
    uint64_t bytes;
};

struct parts {
    struct blocks survivors; /* live at the peak and at the end */
    struct blocks peak_only;
    struct blocks end_only;
    struct blocks passing;  /* neither */
    uint64_t temporary;     /* of those that pass */
    bool temporary_at_peak; /* one more was live at the peak: the last one allocated before it */
};

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static struct blocks without(struct blocks all, struct blocks some)
{
    return (struct blocks){less(all.count, some.count), less(all.bytes, some.bytes)};
}

/* Blocks without bytes are possible; bytes without blocks are not. */
static bool is_possible(struct blocks all, struct blocks some)
{
    return some.bytes <= all.bytes && (some.count < all.count || some.bytes == all.bytes);
}

/*
 * The profile does not say how many of the blocks live at the peak are still live at the end. We assume as many as
 * possible, because that takes the fewest calls. If all blocks of one would have to be among the other's, but their
 * bytes cannot be, it is one block less.
 */
static struct blocks choose_survivors(struct blocks all, struct blocks peak, struct blocks end)
{
    struct blocks most = peak.count < end.count ? peak : end;
    if (is_possible(peak, most) && is_possible(end, most))
        return most;
    most.count = least(peak.count, end.count) - 1;
    most.bytes = most.count ? least(less(peak.bytes + end.bytes, all.bytes), least(peak.bytes, end.bytes)) : 0;
    return most;
}

static struct blocks figures_of(const struct pl_flat_row *row, enum pl_metric objects, enum pl_metric space)
{
    struct blocks blocks = {(uint64_t) row->value[objects], (uint64_t) row->value[space]};
    blocks.count += !blocks.count && blocks.bytes;
    return blocks;
}

static struct parts parts_of(const struct pl_flat_row *row)
{
    struct blocks all = figures_of(row, PL_METRIC_ALLOC_OBJECTS, PL_METRIC_ALLOC_SPACE);
    struct blocks peak = figures_of(row, PL_METRIC_PEAK_OBJECTS, PL_METRIC_PEAK_SPACE);
    struct blocks end = figures_of(row, PL_METRIC_INUSE_OBJECTS, PL_METRIC_INUSE_SPACE);
    uint64_t temporary = (uint64_t) row->value[PL_METRIC_TEMP_OBJECTS];
    struct parts parts = {.survivors = choose_survivors(all, peak, end)};
    parts.peak_only = without(peak, parts.survivors);
    parts.end_only = without(end, parts.survivors);
    parts.passing = without(without(without(all, parts.survivors), parts.peak_only), parts.end_only);
    parts.passing.bytes = parts.passing.count ? parts.passing.bytes : 0;
    parts.temporary = least(temporary, parts.passing.count);
    parts.temporary_at_peak = temporary > parts.temporary && parts.peak_only.count;
    return parts;
}

static uint64_t events_of(const struct parts *parts)
{
    return 2 * parts->passing.count + parts->survivors.count + 2 * parts->peak_only.count + parts->end_only.count;
}

static uint64_t shrink(uint64_t count, uint64_t scale)
{
    return (count + scale - 1) / scale;
}

/* Fewer blocks with the same bytes. */
static struct parts scaled(struct parts parts, uint64_t scale)
{
    struct blocks *each[] = {&parts.survivors, &parts.peak_only, &parts.end_only, &parts.passing};
    for (size_t i = 0; i < sizeof each / sizeof *each; i++)
        each[i]->count = shrink(each[i]->count, scale);
    parts.temporary = shrink(parts.temporary, scale);
    return parts;
}

/* --- strings, lines, stacks --- */

struct writer {
    FILE *out;
    const struct pl_profile *profile;
    const struct pl_flat *flat;
    uint64_t scale;
    uint32_t last_at_peak; /* the row that act 2 ends with; PL_FLAT_NONE: any */
    uint32_t strings;
    uint32_t *trace; /* by row */
    uint32_t *freed; /* by row: the pair that its blocks are freed by in act 3 */
    uint32_t pairs;
};

static uint32_t put_string(struct writer *writer, const char *text)
{
    char *clean = pl_label_clean(text);
    fprintf(writer->out, "s %zx %s\n", strlen(clean), clean);
    free(clean);
    return ++writer->strings;
}

struct strings {
    uint32_t *module, *name, *file; /* 0: none */
};

static void put_strings(struct writer *writer, struct strings *strings)
{
    const struct pl_flat *flat = writer->flat;
    uint32_t *same_file = pl_wording_files(flat);
    for (uint32_t i = 0; i < writer->profile->modules; i++)
        if (*writer->profile->module[i].path)
            strings->module[i] = put_string(writer, writer->profile->module[i].path);
    for (uint32_t i = 0; i < flat->functions; i++) {
        strings->name[i] = put_string(writer, flat->function[i].name);
        if (same_file[i] != i)
            strings->file[i] = strings->file[same_file[i]];
        else if (*flat->function[i].file)
            strings->file[i] = put_string(writer, flat->function[i].file);
    }
    free(same_file);
}

/* Line i has the number i + 1. */
static void put_lines(struct writer *writer)
{
    const struct pl_flat *flat = writer->flat;
    uint64_t *address = pl_wording_addresses(flat);
    struct strings strings = {
        .module = pl_grow_zeroed(writer->profile->modules + 1ull, sizeof(uint32_t)),
        .name = pl_grow_zeroed(flat->functions + 1ull, sizeof(uint32_t)),
        .file = pl_grow_zeroed(flat->functions + 1ull, sizeof(uint32_t)),
    };
    put_strings(writer, &strings);
    for (uint32_t i = 0; i < flat->lines; i++) {
        uint32_t function = flat->line[i].function, module = flat->function[function].module;
        fprintf(writer->out, "i %" PRIx64 " %" PRIx32 " %" PRIx32 " %" PRIx32 " %" PRIx32 "\n", address[i],
                module == PL_FLAT_NONE ? 0 : strings.module[module], strings.name[function], strings.file[function],
                flat->line[i].line);
    }
    free(strings.file);
    free(strings.name);
    free(strings.module);
    free(address);
}

/* A stack is a list of its lines, each referring to the one before it. Lines that a stack shares with the last one are
 * not written again. */
static void put_stacks(struct writer *writer)
{
    const struct pl_flat *flat = writer->flat;
    uint32_t *line = pl_grow_zeroed(flat->depth_max + 1ull, sizeof *line), traces = 0;
    uint32_t *last = pl_grow_zeroed(flat->depth_max + 1ull, sizeof *last), last_lines = 0;
    uint32_t *trace = pl_grow_zeroed(flat->depth_max + 1ull, sizeof *trace);
    for (uint32_t i = 0; i < flat->rows; i++) {
        uint32_t lines = pl_flat_stack(flat, flat->row[i].stack, line), same = 0;
        while (same < lines && same < last_lines && line[same] == last[same])
            same++;
        for (uint32_t k = same; k < lines; k++) {
            fprintf(writer->out, "t %" PRIx32 " %" PRIx32 "\n", line[k] + 1, k ? trace[k - 1] : 0);
            trace[k] = ++traces;
        }
        writer->trace[i] = lines ? trace[lines - 1] : 0;
        memcpy(last, line, lines * sizeof *last);
        last_lines = lines;
    }
    free(trace);
    free(last);
    free(line);
}

/* --- events --- */

/* Returns its number. */
static uint32_t put_pair(struct writer *writer, uint32_t row, uint64_t size)
{
    fprintf(writer->out, "a %" PRIx64 " %" PRIx32 "\n", size, writer->trace[row]);
    return writer->pairs++;
}

static void put_event(const struct writer *writer, char sign, uint32_t pair, uint64_t times)
{
    char text[16];
    size_t bytes = (size_t) snprintf(text, sizeof text, "%c %" PRIx32 "\n", sign, pair);
    for (uint64_t i = 0; i < times; i++)
        fwrite(text, 1, bytes, writer->out);
}

/* Blocks of two sizes that differ by one byte. */
struct sizes {
    uint64_t size[2];
    uint64_t count[2];
};

static struct sizes sizes_of(struct blocks blocks)
{
    if (!blocks.count)
        return (struct sizes){0};
    uint64_t size = blocks.bytes / blocks.count, larger = blocks.bytes % blocks.count;
    return (struct sizes){{size, size + 1}, {blocks.count - larger, larger}};
}

static void put_allocations(struct writer *writer, uint32_t row, struct blocks blocks)
{
    struct sizes sizes = sizes_of(blocks);
    for (int i = 0; i < 2; i++)
        if (sizes.count[i])
            put_event(writer, '+', put_pair(writer, row, sizes.size[i]), sizes.count[i]);
}

/* A free by a pair that nothing was allocated from looks like that of another block. */
static void put_passing(struct writer *writer, uint32_t row, const struct parts *parts)
{
    struct sizes sizes = sizes_of(parts->passing);
    uint64_t temporary = parts->temporary;
    for (int i = 0; i < 2; i++) {
        if (!sizes.count[i])
            continue;
        uint32_t pair = put_pair(writer, row, sizes.size[i]), other = put_pair(writer, row, sizes.size[i]);
        for (uint64_t k = 0; k < sizes.count[i]; k++) {
            put_event(writer, '+', pair, 1);
            put_event(writer, '-', temporary ? pair : other, 1);
            temporary -= temporary > 0;
        }
    }
}

/* For blocks that will be freed, writes a second copy of their pairs first: act 3 frees by that. */
static void put_at_peak(struct writer *writer, uint32_t row, const struct parts *parts)
{
    struct sizes sizes = sizes_of(parts->peak_only);
    put_allocations(writer, row, parts->survivors);
    if (!parts->peak_only.count)
        return;
    writer->freed[row] = writer->pairs;
    for (int i = 0; i < 2; i++)
        put_pair(writer, row, sizes.size[i]);
    put_allocations(writer, row, parts->peak_only);
}

static void put_after_peak(struct writer *writer, uint32_t row, const struct parts *parts)
{
    struct sizes sizes = sizes_of(parts->peak_only);
    if (row == writer->last_at_peak)
        sizes.count[sizes.count[1] > 0]--;
    for (uint32_t i = 0; i < 2; i++)
        put_event(writer, '-', writer->freed[row] + i, sizes.count[i]);
}

static void put_at_end(struct writer *writer, uint32_t row, const struct parts *parts)
{
    put_allocations(writer, row, parts->end_only);
}

typedef void act_function(struct writer *writer, uint32_t row, const struct parts *parts);

static void put_act(struct writer *writer, act_function *act, uint32_t but)
{
    for (uint32_t i = 0; i < writer->flat->rows; i++) {
        struct parts parts = scaled(parts_of(&writer->flat->row[i]), writer->scale);
        if (i != but)
            act(writer, i, &parts);
    }
}

static void put_time(const struct writer *writer, double seconds)
{
    fprintf(writer->out, "c %" PRIx64 "\n", (uint64_t) llround(1e3 * fmax(seconds, 0)));
}

/* One block may be temporary and live at the peak: that of the last allocation before it. */
static void put_peak(struct writer *writer)
{
    uint32_t last = writer->last_at_peak;
    put_act(writer, put_at_peak, last);
    if (last == PL_FLAT_NONE)
        return;
    struct parts parts = scaled(parts_of(&writer->flat->row[last]), writer->scale);
    put_at_peak(writer, last, &parts);
    put_event(writer, '-', writer->pairs - 1, 1);
}

static void put_rss(const struct writer *writer)
{
    double most = 0;
    for (uint32_t i = 0; i < writer->profile->moments; i++)
        most = fmax(most, writer->profile->moment[i].rss_bytes);
    fprintf(writer->out, "R %" PRIx64 "\n", (uint64_t) (most / PAGE_BYTES));
}

/* Heaptrack takes pair 0 for the last allocation before there is any, so it is not used. */
static void put_story(struct writer *writer)
{
    if (writer->flat->rows)
        put_pair(writer, 0, 0);
    put_act(writer, put_passing, PL_FLAT_NONE);
    put_time(writer, writer->profile->peak_s);
    put_peak(writer);
    put_rss(writer);
    put_act(writer, put_after_peak, PL_FLAT_NONE);
    put_act(writer, put_at_end, PL_FLAT_NONE);
    put_time(writer, fmax(writer->profile->duration_s, writer->profile->peak_s));
}

/* --- the whole --- */

static void plan(struct writer *writer)
{
    uint64_t events = 0;
    writer->last_at_peak = PL_FLAT_NONE;
    for (uint32_t i = 0; i < writer->flat->rows; i++) {
        struct parts parts = parts_of(&writer->flat->row[i]);
        events += events_of(&parts);
        if (parts.temporary_at_peak && writer->last_at_peak == PL_FLAT_NONE)
            writer->last_at_peak = i;
    }
    writer->scale = 1 + events / EVENTS_MAX;
}

static void put_head(const struct writer *writer, const struct pl_export_options *options)
{
    char *command = pl_wording_command(writer->profile), *subtitle = pl_label_subtitle(writer->profile, options);
    fprintf(writer->out, "v 10400 3\nX %s", command);
    if (writer->scale > 1)
        fprintf(writer->out, " (too many calls for this format: one stands for %" PRIu64 ")", writer->scale);
    fprintf(writer->out, "\n# written by plimsoll: %s\n# events are made up: they add up to the profile's figures\n",
            subtitle);
    fprintf(writer->out, "I %x 0\n", PAGE_BYTES);
    free(subtitle);
    free(command);
}

void pl_export_heaptrack(const struct pl_profile *profile, const struct pl_export_options *options, FILE *out)
{
    const struct pl_flat *flat = options->flat;
    struct writer writer = {.out = out, .profile = profile, .flat = flat};
    writer.trace = pl_grow_zeroed(flat->rows + 1ull, sizeof *writer.trace);
    writer.freed = pl_grow_zeroed(flat->rows + 1ull, sizeof *writer.freed);
    plan(&writer);
    put_head(&writer, options);
    put_lines(&writer);
    put_stacks(&writer);
    put_story(&writer);
    free(writer.freed);
    free(writer.trace);
}
