/* SPDX-License-Identifier: MIT */
/*
 * digest_work.h - a digest while it is made: tables in a scratch arena, with room for everything, which are packed into
 * one block of memory at the end.
 */
#ifndef PL_DIGEST_WORK_H
#define PL_DIGEST_WORK_H

#include "export/digest.h"
#include "reader/base/index.h"

struct pl_digest_maker {
    struct pl_arena *scratch;
    struct pl_digest out; /* its tables are in `scratch`, except `stacked` */
    struct pl_index texts;
    uint32_t capacity; /* of `stacked` */
};

/* How many entries each table may get. */
struct pl_digest_room {
    size_t texts, mappings, functions, lines, locations, rows;
};

struct pl_digest_maker pl_digest_begin(const struct pl_digest_room *room);

/* A table in the scratch arena, of zeros. */
void *pl_digest_table(struct pl_digest_maker *maker, size_t entries, size_t bytes);

/* The number of a text, which must live until the digest is packed. */
uint32_t pl_digest_text(struct pl_digest_maker *maker, const char *text);

/* Each appends an entry, and returns its number. */
uint32_t pl_digest_add_function(struct pl_digest_maker *maker, const struct pl_digest_function *function);
uint32_t pl_digest_add_line(struct pl_digest_maker *maker, uint32_t function, uint32_t line);
uint32_t pl_digest_add_location(struct pl_digest_maker *maker, const struct pl_digest_location *location);
void pl_digest_add_stacked(struct pl_digest_maker *maker, uint32_t location);

/* Copies everything to one block of memory, and frees what it was made with. */
struct pl_digest *pl_digest_pack(struct pl_digest_maker *maker);

#endif
