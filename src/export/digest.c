/* SPDX-License-Identifier: MIT */
/*
 * digest.c - the tables of a digest, while they grow and when they are packed; and rows that are left out.
 *
 * A packed digest is one block: the structure, its tables, and the texts. So it costs what is in it and no more.
 */
#include "export/digest.h"

#include <stdlib.h>
#include <string.h>

#include "export/digest_work.h"
#include "reader/base/grow.h"

#define OWN_TEXTS 2 /* texts that are not the profile's */

/* --- growing --- */

struct wanted {
    const struct pl_digest_maker *maker;
    const char *text;
};

static bool is_text(const void *context, uint32_t number)
{
    const struct wanted *wanted = context;
    return !strcmp(wanted->maker->out.text[number], wanted->text);
}

uint32_t pl_digest_text(struct pl_digest_maker *maker, const char *text)
{
    struct wanted wanted = {maker, text};
    uint32_t *slot = pl_index_find(&maker->texts, pl_index_text(1, text), 0, is_text, &wanted);
    if (!*slot) {
        maker->out.text[maker->out.texts++] = text;
        *slot = maker->out.texts;
    }
    return *slot - 1;
}

uint32_t pl_digest_add_function(struct pl_digest_maker *maker, const struct pl_digest_function *function)
{
    maker->out.function[maker->out.functions] = *function;
    return maker->out.functions++;
}

uint32_t pl_digest_add_line(struct pl_digest_maker *maker, uint32_t function, uint32_t line)
{
    maker->out.line[maker->out.lines] = (struct pl_digest_line){function, line};
    return maker->out.lines++;
}

uint32_t pl_digest_add_location(struct pl_digest_maker *maker, const struct pl_digest_location *location)
{
    maker->out.location[maker->out.locations] = *location;
    return maker->out.locations++;
}

void pl_digest_add_stacked(struct pl_digest_maker *maker, uint32_t location)
{
    maker->out.stacked = pl_grow(maker->out.stacked, maker->out.depths, &maker->capacity, sizeof *maker->out.stacked);
    maker->out.stacked[maker->out.depths++] = location;
}

void *pl_digest_table(struct pl_digest_maker *maker, size_t entries, size_t bytes)
{
    return pl_arena_alloc(maker->scratch, (entries + 1) * bytes);
}

struct pl_digest_maker pl_digest_begin(const struct pl_digest_room *room)
{
    struct pl_digest_maker maker = {.scratch = pl_arena_new()};
    struct pl_digest *out = &maker.out;
    size_t texts = room->texts + OWN_TEXTS;
    maker.texts = pl_index_new(maker.scratch, texts < UINT32_MAX ? (uint32_t) texts : UINT32_MAX);
    out->text = pl_digest_table(&maker, texts, sizeof *out->text);
    out->mapping = pl_digest_table(&maker, room->mappings, sizeof *out->mapping);
    out->function = pl_digest_table(&maker, room->functions, sizeof *out->function);
    out->line = pl_digest_table(&maker, room->lines, sizeof *out->line);
    out->location = pl_digest_table(&maker, room->locations, sizeof *out->location);
    out->row = pl_digest_table(&maker, room->rows, sizeof *out->row);
    out->rest = PL_FLAT_NONE;
    out->period = 1;
    pl_digest_text(&maker, "");
    return maker;
}

/* --- packing --- */

#define CUT_BYTES 16u /* tables begin at multiples of this */

static size_t rounded(size_t bytes)
{
    return (bytes + CUT_BYTES - 1) & ~(size_t) (CUT_BYTES - 1);
}

/* Where the pointer to a table is, and the table's size. */
struct piece {
    void *pointer;
    size_t bytes;
};
#define PIECES 9

static void list_pieces(struct pl_digest *digest, struct piece out[PIECES])
{
    const struct piece pieces[PIECES] = {
        {&digest->text, digest->texts * sizeof *digest->text},
        {&digest->mapping, digest->mappings * sizeof *digest->mapping},
        {&digest->function, digest->functions * sizeof *digest->function},
        {&digest->line, digest->lines * sizeof *digest->line},
        {&digest->location, digest->locations * sizeof *digest->location},
        {&digest->stacked, digest->depths * sizeof *digest->stacked},
        {&digest->row, digest->rows * sizeof *digest->row},
        {&digest->base, digest->base ? digest->rows * sizeof *digest->base : 0},
        {&digest->part, digest->parts * sizeof *digest->part},
    };
    memcpy(out, pieces, sizeof pieces);
}

/* Moves a table to `at`. */
static void move_table(const struct piece *piece, char *at)
{
    void *from;
    memcpy(&from, piece->pointer, sizeof from);
    if (piece->bytes)
        memcpy(at, from, piece->bytes);
    else
        at = NULL;
    memcpy(piece->pointer, &at, sizeof at);
}

static size_t measure_texts(const struct pl_digest *digest)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < digest->texts; i++)
        bytes += strlen(digest->text[i]) + 1;
    return bytes;
}

static void move_texts(struct pl_digest *digest, char *at)
{
    for (uint32_t i = 0; i < digest->texts; i++) {
        size_t bytes = strlen(digest->text[i]) + 1;
        memcpy(at, digest->text[i], bytes);
        digest->text[i] = at;
        at += bytes;
    }
}

struct pl_digest *pl_digest_pack(struct pl_digest_maker *maker)
{
    struct piece piece[PIECES];
    size_t bytes = rounded(sizeof(struct pl_digest)) + measure_texts(&maker->out);
    list_pieces(&maker->out, piece);
    for (size_t i = 0; i < PIECES; i++)
        bytes += rounded(piece[i].bytes);
    struct pl_digest *digest = pl_grow_zeroed(1, bytes);
    char *at = (char *) digest + rounded(sizeof *digest);
    *digest = maker->out;
    digest->bytes = bytes;
    list_pieces(digest, piece);
    for (size_t i = 0; i < PIECES; at += rounded(piece[i++].bytes))
        move_table(&piece[i], at);
    move_texts(digest, at);
    free(maker->out.stacked);
    pl_arena_free(maker->scratch);
    return digest;
}

void pl_digest_free(struct pl_digest *digest)
{
    free(digest);
}

/* --- metrics and rows --- */

const char *pl_digest_unit(int metric)
{
    return strcmp(pl_metric_info[metric].unit, "bytes") ? "count" : "bytes";
}

bool pl_digest_row_counts(const struct pl_digest_row *row, uint32_t metrics)
{
    for (int m = 0; m < PL_METRIC_COUNT; m++)
        if (metrics >> m & 1 && row->value[m])
            return true;
    return false;
}

static int64_t size_of(const struct pl_digest_row *row, enum pl_metric metric)
{
    return llabs(row->value[metric]);
}

struct ranked {
    int64_t size;
    uint32_t row;
};

static int largest_first(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    if (a->size != b->size)
        return a->size < b->size ? 1 : -1;
    return (a->row > b->row) - (a->row < b->row);
}

static void add_to(struct pl_digest_row *row, const struct pl_digest_row *more)
{
    for (int m = 0; m < PL_METRIC_COUNT; m++)
        row->value[m] += more->value[m];
}

uint32_t pl_digest_trim(const struct pl_digest *digest, struct pl_digest_row *row, uint32_t rows, uint32_t most,
                        enum pl_metric metric)
{
    if (rows <= most)
        return rows;
    struct ranked *ranked = pl_grow_zeroed(rows, sizeof *ranked);
    struct pl_digest_row *kept = pl_grow_zeroed(most, sizeof *kept);
    for (uint32_t i = 0; i < rows; i++)
        ranked[i] = (struct ranked){size_of(&row[i], metric), i};
    qsort(ranked, rows, sizeof *ranked, largest_first);
    kept[most - 1] = (struct pl_digest_row){.stack = digest->rest, .depth = 1};
    for (uint32_t i = 0; i < rows; i++) {
        if (i + 1 < most)
            kept[i] = row[ranked[i].row];
        else
            add_to(&kept[most - 1], &row[ranked[i].row]);
    }
    memcpy(row, kept, most * sizeof *row);
    free(ranked);
    free(kept);
    return most;
}
