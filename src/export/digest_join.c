/* SPDX-License-Identifier: MIT */
/*
 * digest_join.c - several digests as one: what is equal in them is there once.
 *
 * Each part of a digest is translated when the first row needs it, and remembered by its number. So processes of one
 * program, which have the same code at other addresses, share nearly everything.
 */
#include <stdlib.h>
#include <string.h>

#include "export/digest_work.h"
#include "reader/base/grow.h"

struct joiner {
    struct pl_digest_maker maker;
    struct pl_index mappings, functions, locations, stacks, rows;
    struct stack {
        uint32_t at, depth;
    } * stack;
    uint32_t stack_count;
    unsigned how; /* enum pl_digest_join */
};

/* A digest, and what its numbers have become: numbers plus one; 0: not there yet. */
struct part {
    const struct pl_digest *digest;
    uint32_t *text, *mapping, *function, *location;
};

static uint32_t *begin_map(struct joiner *joiner, uint32_t entries)
{
    return pl_digest_table(&joiner->maker, entries, sizeof(uint32_t));
}

/* Views of one digest follow each other, and share it. */
static void begin_part(struct joiner *joiner, struct part *part, const struct pl_digest *digest)
{
    if (part->digest == digest)
        return;
    part->digest = digest;
    part->text = begin_map(joiner, digest->texts);
    part->mapping = begin_map(joiner, digest->mappings);
    part->function = begin_map(joiner, digest->functions);
    part->location = begin_map(joiner, digest->locations);
    if (digest->period > joiner->maker.out.period)
        joiner->maker.out.period = digest->period;
}

static uint32_t text_of(struct joiner *joiner, struct part *part, uint32_t number)
{
    if (!part->text[number])
        part->text[number] = pl_digest_text(&joiner->maker, part->digest->text[number]) + 1;
    return part->text[number] - 1;
}

/* --- mappings --- */

struct wanted {
    const struct joiner *joiner;
    const void *what;
};

static bool is_mapping(const void *context, uint32_t number)
{
    const struct wanted *wanted = context;
    const struct pl_digest_mapping *a = wanted->what, *b = &wanted->joiner->maker.out.mapping[number];
    return a->path == b->path && a->build_id == b->build_id;
}

static uint32_t mapping_of(struct joiner *joiner, struct part *part, uint32_t number)
{
    struct pl_digest *out = &joiner->maker.out;
    if (number == PL_FLAT_NONE || part->mapping[number])
        return number == PL_FLAT_NONE ? number : part->mapping[number] - 1;
    struct pl_digest_mapping mapping = part->digest->mapping[number];
    mapping.path = text_of(joiner, part, mapping.path);
    mapping.build_id = text_of(joiner, part, mapping.build_id);
    mapping.has = 0;
    struct wanted wanted = {joiner, &mapping};
    uint32_t *slot = pl_index_find(&joiner->mappings, mapping.path, mapping.build_id, is_mapping, &wanted);
    if (!*slot) {
        out->mapping[out->mappings++] = mapping;
        *slot = out->mappings;
    }
    if (!(joiner->how & PL_DIGEST_NO_NAMES))
        out->mapping[*slot - 1].has |= part->digest->mapping[number].has;
    part->mapping[number] = *slot;
    return *slot - 1;
}

/* --- functions and locations --- */

static bool is_function(const void *context, uint32_t number)
{
    const struct wanted *wanted = context;
    return !memcmp(wanted->what, &wanted->joiner->maker.out.function[number], sizeof(struct pl_digest_function));
}

static uint32_t function_of(struct joiner *joiner, struct part *part, uint32_t number)
{
    const struct pl_digest_function *from = &part->digest->function[number];
    if (part->function[number])
        return part->function[number] - 1;
    struct pl_digest_function function = {.name = text_of(joiner, part, from->name),
                                          .symbol = text_of(joiner, part, from->symbol),
                                          .file = text_of(joiner, part, from->file)};
    struct wanted wanted = {joiner, &function};
    uint64_t name = (uint64_t) function.name << 32 | function.symbol;
    uint32_t *slot = pl_index_find(&joiner->functions, name, function.file, is_function, &wanted);
    if (!*slot)
        *slot = pl_digest_add_function(&joiner->maker, &function) + 1;
    part->function[number] = *slot;
    return *slot - 1;
}

/* Code in a file is known by its address there; what is in no file, by how it is shown. */
static bool is_location(const void *context, uint32_t number)
{
    const struct wanted *wanted = context;
    const struct pl_digest *out = &wanted->joiner->maker.out;
    const struct pl_digest_location *a = wanted->what, *b = &out->location[number];
    if (a->mapping != b->mapping || a->address != b->address)
        return false;
    return a->mapping != PL_FLAT_NONE || (a->lines == b->lines && !memcmp(&out->line[a->line], &out->line[b->line],
                                                                          a->lines * sizeof(struct pl_digest_line)));
}

static uint64_t hash_lines(const struct pl_digest *out, const struct pl_digest_location *location)
{
    uint64_t hash = 1;
    for (uint32_t i = 0; location->mapping == PL_FLAT_NONE && i < location->lines; i++)
        hash = pl_index_mix(hash, (uint64_t) out->line[location->line + i].function << 32 |
                                      out->line[location->line + i].line);
    return pl_index_mix(hash, location->mapping);
}

static uint32_t location_of(struct joiner *joiner, struct part *part, uint32_t number)
{
    struct pl_digest *out = &joiner->maker.out;
    const struct pl_digest_location *from = &part->digest->location[number];
    if (part->location[number])
        return part->location[number] - 1;
    bool named = from->mapping == PL_FLAT_NONE || !(joiner->how & PL_DIGEST_NO_NAMES);
    struct pl_digest_location location = {mapping_of(joiner, part, from->mapping), out->lines, named ? from->lines : 0,
                                          from->address};
    for (uint32_t i = 0; i < location.lines; i++) {
        const struct pl_digest_line *line = &part->digest->line[from->line + i];
        pl_digest_add_line(&joiner->maker, function_of(joiner, part, line->function), line->line);
    }
    struct wanted wanted = {joiner, &location};
    uint32_t *slot =
        pl_index_find(&joiner->locations, location.address, hash_lines(out, &location), is_location, &wanted);
    if (*slot)
        out->lines = location.line;
    else
        *slot = pl_digest_add_location(&joiner->maker, &location) + 1;
    part->location[number] = *slot;
    return *slot - 1;
}

/* --- stacks and rows --- */

static bool is_stack(const void *context, uint32_t number)
{
    const struct wanted *wanted = context;
    const uint32_t *stacked = wanted->joiner->maker.out.stacked;
    const struct stack *a = wanted->what, *b = &wanted->joiner->stack[number];
    return a->depth == b->depth && !memcmp(&stacked[a->at], &stacked[b->at], a->depth * sizeof *stacked);
}

static struct stack stack_of(struct joiner *joiner, struct part *part, const struct pl_digest_row *row)
{
    struct pl_digest *out = &joiner->maker.out;
    struct stack stack = {out->depths, row->depth};
    uint64_t hash = 1;
    for (uint32_t i = 0; i < row->depth; i++) {
        uint32_t location = location_of(joiner, part, part->digest->stacked[row->stack + i]);
        pl_digest_add_stacked(&joiner->maker, location);
        hash = pl_index_mix(hash, location);
    }
    struct wanted wanted = {joiner, &stack};
    uint32_t *slot = pl_index_find(&joiner->stacks, hash, row->depth, is_stack, &wanted);
    if (*slot) {
        out->depths = stack.at;
    } else {
        joiner->stack[joiner->stack_count++] = stack;
        *slot = joiner->stack_count;
    }
    return joiner->stack[*slot - 1];
}

static bool is_row(const void *context, uint32_t number)
{
    const struct wanted *wanted = context;
    const struct pl_digest_row *a = wanted->what, *b = &wanted->joiner->maker.out.row[number];
    return a->stack == b->stack && a->tag == b->tag && a->thread == b->thread;
}

/* The row with which this one is to be added up; NULL: there is none yet. */
static struct pl_digest_row *find_same(struct joiner *joiner, const struct pl_digest_row *row)
{
    struct wanted wanted = {joiner, row};
    if (!(joiner->how & PL_DIGEST_SUM))
        return NULL;
    uint32_t *slot = pl_index_find(&joiner->rows, row->stack, (uint64_t) row->tag << 32 | row->thread, is_row, &wanted);
    if (*slot)
        return &joiner->maker.out.row[*slot - 1];
    *slot = joiner->maker.out.rows + 1;
    return NULL;
}

static void add_row(struct joiner *joiner, struct part *part, const struct pl_digest_row *from)
{
    struct pl_digest *out = &joiner->maker.out;
    struct pl_digest_row row = *from;
    struct stack stack = stack_of(joiner, part, from);
    row.stack = stack.at;
    row.tag = text_of(joiner, part, from->tag);
    row.thread = text_of(joiner, part, from->thread);
    struct pl_digest_row *same = find_same(joiner, &row);
    if (!same)
        out->row[out->rows++] = row;
    else
        for (int m = 0; m < PL_METRIC_COUNT; m++)
            same->value[m] += row.value[m];
}

/* --- all of it --- */

static struct pl_digest_room room_for(const struct pl_digest_view *view, uint32_t views)
{
    struct pl_digest_room room = {0};
    for (uint32_t i = 0; i < views; i++) {
        const struct pl_digest *digest = view[i].digest;
        room.rows += view[i].rows;
        if (i && view[i - 1].digest == digest)
            continue;
        room.texts += digest->texts;
        room.mappings += digest->mappings;
        room.functions += digest->functions;
        room.lines += digest->lines;
        room.locations += digest->locations;
    }
    return room;
}

static struct joiner begin(const struct pl_digest_view *view, uint32_t views, unsigned how)
{
    struct pl_digest_room room = room_for(view, views);
    struct joiner joiner = {.maker = pl_digest_begin(&room), .how = how};
    struct pl_arena *arena = joiner.maker.scratch;
    joiner.mappings = pl_index_new(arena, (uint32_t) room.mappings);
    joiner.functions = pl_index_new(arena, (uint32_t) room.functions);
    joiner.locations = pl_index_new(arena, (uint32_t) room.locations);
    joiner.stacks = pl_index_new(arena, (uint32_t) room.rows);
    joiner.rows = pl_index_new(arena, how & PL_DIGEST_SUM ? (uint32_t) room.rows : 0);
    joiner.stack = pl_digest_table(&joiner.maker, room.rows, sizeof *joiner.stack);
    return joiner;
}

struct pl_digest *pl_digest_join(const struct pl_digest_view *view, uint32_t views, unsigned how, uint32_t *first)
{
    struct joiner joiner = begin(view, views, how);
    struct part part = {0};
    for (uint32_t i = 0; i < views; i++) {
        if (first)
            first[i] = joiner.maker.out.rows;
        begin_part(&joiner, &part, view[i].digest);
        if (how & PL_DIGEST_SUM && i == 0 && part.digest->mappings)
            mapping_of(&joiner, &part, 0); /* the program */
        for (uint32_t k = 0; k < view[i].rows; k++)
            if (pl_digest_row_counts(&view[i].row[k], view[i].metrics))
                add_row(&joiner, &part, &view[i].row[k]);
    }
    if (first)
        first[views] = joiner.maker.out.rows;
    return pl_digest_pack(&joiner.maker);
}
