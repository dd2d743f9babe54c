/* SPDX-License-Identifier: MIT */
/*
 * digest_flat.c - makes a digest of a flat profile.
 *
 * Texts, functions and locations get their numbers when the first row needs them, so that nothing is in a digest that
 * no row needs. A frame is one location: its address, and a line for each function that runs there. What is not code,
 * and has no address (tags and threads in front of a stack, "(12 more below 0.5%)"), is a location of one line.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export/digest_work.h"
#include "reader/base/grow.h"
#include "reader/site.h"

#define FIGURE_MAX 0x1p60 /* of a part: more is damage */

struct source {
    const struct pl_profile *profile;
    const struct pl_flat *flat;
    uint32_t *mapping_of, *function_of;             /* numbers plus one; 0: not there yet */
    uint32_t *location_of_frame, *location_of_line; /* likewise */
    uint32_t *row_of_stack;                         /* by stack of the flat profile: its first row, plus one */
    uint32_t *frame, *line;                         /* of one stack */
    uint8_t *has;                                   /* by module */
};

/* --- mappings --- */

static void find_what_is_known(struct source *source)
{
    for (uint32_t i = 0; i < source->profile->frames; i++) {
        const struct pl_frame_view *frame = &source->profile->frame[i];
        for (uint32_t p = 0; p < frame->places; p++)
            source->has[frame->module] |= (uint8_t) ((*frame->place[p].function ? PL_HAS_FUNCTIONS : 0) |
                                                     (*frame->place[p].file ? PL_HAS_FILES : 0) |
                                                     (frame->place[p].line ? PL_HAS_LINES | PL_HAS_INLINED : 0));
    }
}

/* Code that belongs to no file has no mapping. Modules are mapped from the beginning of their files. */
static uint32_t mapping_of(struct pl_digest_maker *maker, struct source *source, uint32_t number)
{
    const struct pl_module_view *module = &source->profile->module[number];
    if (!*module->path)
        return PL_FLAT_NONE;
    if (!source->mapping_of[number]) {
        maker->out.mapping[maker->out.mappings++] = (struct pl_digest_mapping){
            .path = pl_digest_text(maker, module->path),
            .build_id = pl_digest_text(maker, module->build_id),
            .bias = module->bias,
            .start = module->start,
            .end = module->end,
            .has = source->has[number],
        };
        source->mapping_of[number] = maker->out.mappings;
    }
    return source->mapping_of[number] - 1;
}

/* The first mapping must be the program: readers rely on that. */
static void add_program(struct pl_digest_maker *maker, struct source *source)
{
    const struct pl_profile *profile = source->profile;
    for (uint32_t i = 0; i < profile->modules; i++)
        if (!strcmp(profile->module[i].path, profile->executable))
            mapping_of(maker, source, i);
}

/* --- functions and locations --- */

static bool is_identifier(const char *name)
{
    return name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.$@")] == 0;
}

/* If name and symbol are the same, pprof demangles the name, and cuts off what looks like parameters. So where there is
 * no symbol, none is written. */
static const char *symbol_of(const struct pl_flat_function *function)
{
    bool same = !strcmp(function->linkage, function->name);
    return same && !is_identifier(function->name) ? "" : function->linkage;
}

static uint32_t function_of(struct pl_digest_maker *maker, struct source *source, uint32_t number)
{
    const struct pl_flat_function *from = &source->flat->function[number];
    if (!source->function_of[number]) {
        struct pl_digest_function function = {.name = pl_digest_text(maker, from->name),
                                              .symbol = pl_digest_text(maker, symbol_of(from)),
                                              .file = pl_digest_text(maker, from->file)};
        source->function_of[number] = pl_digest_add_function(maker, &function) + 1;
    }
    return source->function_of[number] - 1;
}

static uint32_t add_lines(struct pl_digest_maker *maker, struct source *source, const uint32_t *number, uint32_t lines)
{
    uint32_t first = maker->out.lines;
    for (uint32_t i = 0; i < lines; i++) {
        const struct pl_flat_line *line = &source->flat->line[number[i]];
        pl_digest_add_line(maker, function_of(maker, source, line->function), line->line);
    }
    return first;
}

/* Where the call is, not where it returns to: a return address may belong to the next line, or the next function. */
static uint64_t address_of(const struct pl_profile *profile, const struct pl_frame_view *frame)
{
    bool returns = !(frame->flags & PL_FRAME_EXACT) && frame->address > 0;
    uint64_t bias = *profile->module[frame->module].path ? 0 : profile->module[frame->module].bias;
    return bias + frame->address - returns;
}

static uint32_t location_of_frame(struct pl_digest_maker *maker, struct source *source, uint32_t number)
{
    const struct pl_frame_view *frame = &source->profile->frame[number];
    struct pl_digest_location location = {.mapping = PL_FLAT_NONE, .address = PL_DIGEST_NOWHERE};
    const uint32_t *line;
    if (source->location_of_frame[number])
        return source->location_of_frame[number] - 1;
    if (!(frame->flags & PL_FRAME_GAP)) {
        location.mapping = mapping_of(maker, source, frame->module);
        location.address = address_of(source->profile, frame);
    }
    location.lines = pl_flat_frame_lines(source->flat, number, &line);
    location.line = add_lines(maker, source, line, location.lines);
    source->location_of_frame[number] = pl_digest_add_location(maker, &location) + 1;
    return source->location_of_frame[number] - 1;
}

static uint32_t location_of_line(struct pl_digest_maker *maker, struct source *source, uint32_t number)
{
    if (!source->location_of_line[number]) {
        struct pl_digest_location location = {PL_FLAT_NONE, add_lines(maker, source, &number, 1), 1, PL_DIGEST_NOWHERE};
        source->location_of_line[number] = pl_digest_add_location(maker, &location) + 1;
    }
    return source->location_of_line[number] - 1;
}

/* --- rows --- */

/* Innermost first: the frames, and then those lines of the stack that no frame accounts for. */
static void add_stack(struct pl_digest_maker *maker, struct source *source, uint32_t stack)
{
    uint32_t frames = pl_flat_frames(source->flat, stack, source->frame);
    uint32_t front = pl_flat_stack(source->flat, stack, source->line);
    const uint32_t *line;
    for (uint32_t i = 0; i < frames; i++) {
        pl_digest_add_stacked(maker, location_of_frame(maker, source, source->frame[i]));
        front -= pl_flat_frame_lines(source->flat, source->frame[i], &line);
    }
    while (front-- > 0)
        pl_digest_add_stacked(maker, location_of_line(maker, source, source->line[front]));
}

/* Rows of one stack share its locations. */
static void find_stack(struct pl_digest_maker *maker, struct source *source, uint32_t stack, struct pl_digest_row *row)
{
    if (source->row_of_stack[stack]) {
        const struct pl_digest_row *same = &maker->out.row[source->row_of_stack[stack] - 1];
        row->stack = same->stack;
        row->depth = same->depth;
        return;
    }
    row->stack = maker->out.depths;
    add_stack(maker, source, stack);
    row->depth = maker->out.depths - row->stack;
    source->row_of_stack[stack] = maker->out.rows + 1;
}

static void add_row(struct pl_digest_maker *maker, struct source *source, const struct pl_flat_row *from)
{
    const struct pl_profile *profile = source->profile;
    struct pl_digest_row *row = &maker->out.row[maker->out.rows];
    find_stack(maker, source, from->stack, row);
    row->tag = pl_digest_text(maker, profile->tag[from->tag].path);
    row->thread = from->thread == PL_FLAT_NONE ? 0 : pl_digest_text(maker, profile->thread[from->thread].name);
    memcpy(row->value, from->value, sizeof row->value);
    if (maker->out.base)
        memcpy(maker->out.base[maker->out.rows], from->base, sizeof *maker->out.base);
    maker->out.rows++;
}

/* The stack of rows that will be left out. */
static void add_rest(struct pl_digest_maker *maker)
{
    struct pl_digest_function function = {.name = pl_digest_text(maker, "(smaller ones)")};
    uint32_t line = pl_digest_add_line(maker, pl_digest_add_function(maker, &function), 0);
    struct pl_digest_location location = {PL_FLAT_NONE, line, 1, PL_DIGEST_NOWHERE};
    maker->out.rest = maker->out.depths;
    pl_digest_add_stacked(maker, pl_digest_add_location(maker, &location));
}

/* --- parts --- */

static uint64_t key_of_frame(const struct pl_profile *profile, const uint64_t *module, uint32_t number)
{
    const struct pl_frame_view *frame = &profile->frame[number];
    return pl_index_mix(module[frame->module], frame->address ^ frame->flags);
}

static uint64_t key_of_site(const struct pl_profile *profile, const uint64_t *module, const struct pl_site_view *site)
{
    uint64_t key = 1 + site->other_sizes;
    const struct pl_stack_view none = {0};
    const struct pl_stack_view *stack = site->stack == PL_NO_STACK ? &none : &profile->stack[site->stack];
    for (uint32_t i = 0; i < stack->frames; i++)
        key = pl_index_mix(key, key_of_frame(profile, module, stack->frame[i]));
    key = pl_index_text(pl_index_mix(key, 2), profile->tag[site->tag].path);
    return pl_index_text(pl_index_mix(key, 3), profile->thread[site->thread].name);
}

static int by_key(const void *left, const void *right)
{
    const struct pl_digest_part *a = left, *b = right;
    return (a->key > b->key) - (a->key < b->key);
}

/* Sites of one stack, of threads of one name, are one part. */
static uint32_t add_up_parts(struct pl_digest_part *part, uint32_t count)
{
    uint32_t kept = 0;
    qsort(part, count, sizeof *part, by_key);
    for (uint32_t i = 0; i < count; i++) {
        if (kept && part[kept - 1].key == part[i].key) {
            part[kept - 1].calls += part[i].calls;
            part[kept - 1].bytes += part[i].bytes;
        } else {
            part[kept++] = part[i];
        }
    }
    return kept;
}

static int64_t whole(double value)
{
    return pl_flat_round(&(struct pl_estimate){.value = fmin(value, FIGURE_MAX)});
}

static void add_parts(struct pl_digest_maker *maker, const struct source *source)
{
    const struct pl_profile *profile = source->profile;
    uint64_t *module = pl_digest_table(maker, profile->modules, sizeof *module);
    struct pl_digest_part *part = pl_digest_table(maker, profile->sites, sizeof *part);
    uint32_t count = 0;
    for (uint32_t i = 0; i < profile->modules; i++)
        module[i] = pl_index_text(pl_index_text(4, profile->module[i].path), profile->module[i].build_id);
    for (uint32_t i = 0; i < profile->sites; i++) {
        uint32_t row = source->flat->row_of_site[i];
        if (row != PL_FLAT_NONE)
            part[count++] = (struct pl_digest_part){
                .key = key_of_site(profile, module, &profile->site[i]),
                .row = row,
                .calls = whole(pl_site_value(&profile->site[i], PL_METRIC_ALLOC_OBJECTS)),
                .bytes = whole(pl_site_value(&profile->site[i], PL_METRIC_ALLOC_SPACE)),
            };
    }
    maker->out.part = part;
    maker->out.parts = add_up_parts(part, count);
}

/* --- all of it --- */

/* Bytes from one sample to the next. Only for information: values are scaled already. */
static int64_t period_of(const struct pl_profile *profile)
{
    const struct pl_header *header = &profile->header;
    uint64_t interval = header->mode == PL_MODE_SAMPLED ? header->interval_bytes : header->automatic.interval_bytes;
    return profile->exact || interval < 1 || interval > INT64_MAX ? 1 : (int64_t) interval;
}

static struct pl_digest_room room_for(const struct pl_profile *profile, const struct pl_flat *flat)
{
    size_t lines = flat->lines + 1ull;
    const uint32_t *line;
    for (uint32_t i = 0; i < profile->frames; i++)
        lines += pl_flat_frame_lines(flat, i, &line);
    return (struct pl_digest_room){
        .texts = 3ull * flat->functions + 2ull * profile->modules + profile->tags + profile->threads,
        .mappings = profile->modules,
        .functions = flat->functions + 1ull,
        .lines = lines,
        .locations = (size_t) profile->frames + flat->lines + 1,
        .rows = flat->rows,
    };
}

static struct source read_from(struct pl_digest_maker *maker, const struct pl_profile *profile,
                               const struct pl_flat *flat)
{
    const size_t number = sizeof(uint32_t);
    return (struct source){
        .profile = profile,
        .flat = flat,
        .mapping_of = pl_digest_table(maker, profile->modules, number),
        .function_of = pl_digest_table(maker, flat->functions, number),
        .location_of_frame = pl_digest_table(maker, profile->frames, number),
        .location_of_line = pl_digest_table(maker, flat->lines, number),
        .row_of_stack = pl_digest_table(maker, flat->stacks, number),
        .frame = pl_digest_table(maker, flat->depth_max, number),
        .line = pl_digest_table(maker, flat->depth_max, number),
        .has = pl_digest_table(maker, profile->modules, sizeof(uint8_t)),
    };
}

struct pl_digest *pl_digest_new(const struct pl_profile *profile, const struct pl_flat *flat, bool parts)
{
    struct pl_digest_room room = room_for(profile, flat);
    struct pl_digest_maker maker = pl_digest_begin(&room);
    struct source source = read_from(&maker, profile, flat);
    maker.out.period = period_of(profile);
    if (profile->difference)
        maker.out.base = pl_digest_table(&maker, flat->rows, sizeof *maker.out.base);
    find_what_is_known(&source);
    add_program(&maker, &source);
    for (uint32_t i = 0; i < flat->rows; i++)
        add_row(&maker, &source, &flat->row[i]);
    add_rest(&maker);
    if (parts)
        add_parts(&maker, &source);
    return pl_digest_pack(&maker);
}

/* When a profile's figures begin: times of a part of the run are since its start. */
static uint64_t after_start(const struct pl_profile *profile, double seconds)
{
    double ns = seconds * 1e9;
    return profile->header.start_realtime_ns + (ns > 0 && ns < 9e18 ? (uint64_t) llround(ns) : 0);
}

struct pl_digest_view pl_digest_whole(const struct pl_digest *digest, const struct pl_profile *profile,
                                      enum pl_digest_figures figures, enum pl_metric metric)
{
    const struct {
        uint32_t metrics;
        enum pl_metric metric;
    } kinds[] = {
        [PL_FIGURES_ALL] = {(1u << pl_profile_metrics(profile)) - 1, PL_METRIC_INUSE_SPACE},
        [PL_FIGURES_LIVE] = {PL_DIGEST_LIVE, PL_METRIC_INUSE_SPACE},
        [PL_FIGURES_ALLOCATED] = {PL_DIGEST_ALLOCATED, PL_METRIC_ALLOC_SPACE},
    };
    uint32_t metrics = kinds[figures].metrics;
    bool part = profile->until_s > profile->since_s;
    uint64_t begin_ns = after_start(profile, part ? profile->since_s : 0);
    uint64_t end_ns = after_start(profile, part ? profile->until_s : profile->duration_s);
    return (struct pl_digest_view){
        .digest = digest,
        .row = digest->row,
        .rows = digest->rows,
        .metrics = metrics,
        .time_ns = figures == PL_FIGURES_LIVE ? end_ns : begin_ns,
        .duration_ns = figures == PL_FIGURES_LIVE ? 0 : end_ns - begin_ns,
        .metric = metrics >> metric & 1 ? metric : kinds[figures].metric,
    };
}
