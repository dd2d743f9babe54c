/* SPDX-License-Identifier: MIT */
/*
 * columns.c - writes tables of numbers, column by column, after a JSON text that says where each column begins.
 *
 *   "PLIMPAGE"  version  bytes of the text  | the text, and blanks | columns, each at a multiple of 8
 *    8           u32      u32
 */
#include "page/data/columns.h"

#include <assert.h>
#include <string.h>

#include "reader/base/arena.h"
#include "reader/base/grow.h"

#define MAGIC "PLIMPAGE"
#define VERSION 1
#define ALIGNMENT 8u
#define HEAD_BYTES 16u
#define BUFFER_BYTES 8192u /* a multiple of 8, so that it always holds whole numbers */

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "columns are written as they are in memory");

/* How each kind of number is written. */
static const struct kind {
    const char *word;
    size_t bytes; /* in the file */
} kinds[] = {[PL_COLUMN_U8] = {"u8", 1},
             [PL_COLUMN_U32] = {"u32", 4},
             [PL_COLUMN_U64] = {"f64", 8},
             [PL_COLUMN_F64] = {"f64", 8}};

struct column {
    const char *name;
    enum pl_column_of of;
    const unsigned char *data;
    size_t stride;
    uint32_t count;
    uint64_t offset;
};

struct table {
    const char *name;
    uint32_t count;
};

struct pl_columns {
    struct column *column;
    uint32_t columns, column_room;
    struct table *table;
    uint32_t tables, table_room;
    uint64_t bytes; /* of all columns */
};

struct pl_columns *pl_columns_new(void)
{
    return pl_grow_zeroed(1, sizeof(struct pl_columns));
}

void pl_columns_free(struct pl_columns *columns)
{
    free(columns->column);
    free(columns->table);
    free(columns);
}

static uint64_t align(uint64_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* --- tables and columns --- */

void pl_columns_table(struct pl_columns *columns, const char *name, uint32_t count)
{
    columns->table = pl_grow(columns->table, columns->tables, &columns->table_room, sizeof *columns->table);
    columns->table[columns->tables++] = (struct table){name, count};
}

/* Copies one number to `to` in the type that the file has. */
static void convert(const struct column *column, uint32_t index, void *to)
{
    const unsigned char *from = column->data + index * column->stride;
    if (column->of == PL_COLUMN_U64) {
        uint64_t whole;
        memcpy(&whole, from, sizeof whole);
        memcpy(to, &(double){(double) whole}, sizeof(double));
    } else {
        memcpy(to, from, kinds[column->of].bytes);
    }
}

static bool has_anything(const struct column *column)
{
    size_t bytes = kinds[column->of].bytes;
    for (uint32_t i = 0; i < column->count; i++) {
        uint64_t bits = 0;
        memcpy(&bits, column->data + i * column->stride, bytes);
        if (bits)
            return true;
    }
    return false;
}

void pl_columns_add(struct pl_columns *columns, const char *name, enum pl_column_of of, const void *data, size_t stride)
{
    assert(columns->tables);
    struct column column = {
        .name = name,
        .of = of,
        .data = data,
        .stride = stride,
        .count = columns->table[columns->tables - 1].count,
        .offset = columns->bytes,
    };
    if (!has_anything(&column))
        return;
    columns->column = pl_grow(columns->column, columns->columns, &columns->column_room, sizeof *columns->column);
    columns->column[columns->columns++] = column;
    columns->bytes = align(columns->bytes + column.count * kinds[of].bytes);
}

void pl_columns_add_all(struct pl_columns *columns, const struct pl_columns_member *member, size_t members,
                        const void *array, size_t stride)
{
    for (size_t i = 0; i < members; i++)
        pl_columns_add(columns, member[i].name, member[i].of, (const char *) array + member[i].offset, stride);
}

void pl_columns_describe(const struct pl_columns *columns, struct pl_json *json)
{
    pl_json_line(json);
    pl_json_key(json, "tables");
    pl_json_begin(json, '{');
    for (uint32_t i = 0; i < columns->tables; i++)
        pl_json_add_whole(json, columns->table[i].name, columns->table[i].count);
    pl_json_end(json, '}');
    pl_json_line(json);
    pl_json_key(json, "columns");
    pl_json_begin(json, '{');
    for (uint32_t i = 0; i < columns->columns; i++) {
        const struct column *column = &columns->column[i];
        pl_json_line(json);
        pl_json_key(json, column->name);
        pl_json_begin(json, '{');
        pl_json_add_text(json, "type", kinds[column->of].word);
        pl_json_add_whole(json, "offset", column->offset);
        pl_json_add_whole(json, "count", column->count);
        pl_json_end(json, '}');
    }
    pl_json_end(json, '}');
}

/* --- writing --- */

static void put_padding(FILE *out, char with, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        putc_unlocked(with, out);
}

static void put_column(const struct column *column, FILE *out)
{
    char buffer[BUFFER_BYTES];
    size_t bytes = kinds[column->of].bytes, filled = 0;
    for (uint32_t i = 0; i < column->count; i++) {
        convert(column, i, buffer + filled);
        filled += bytes;
        if (filled == sizeof buffer || i + 1 == column->count) {
            fwrite_unlocked(buffer, 1, filled, out);
            filled = 0;
        }
    }
    uint64_t written = column->count * bytes;
    put_padding(out, 0, align(written) - written);
}

void pl_columns_write(const struct pl_columns *columns, const char *text, size_t bytes, FILE *out)
{
    size_t padded = align(HEAD_BYTES + bytes) - HEAD_BYTES;
    uint32_t head[] = {VERSION, (uint32_t) padded};
    fwrite_unlocked(MAGIC, 1, strlen(MAGIC), out);
    fwrite_unlocked(head, 1, sizeof head, out);
    fwrite_unlocked(text, 1, bytes, out);
    put_padding(out, ' ', padded - bytes);
    for (uint32_t i = 0; i < columns->columns; i++)
        put_column(&columns->column[i], out);
}
