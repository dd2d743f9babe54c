/* SPDX-License-Identifier: MIT */
/*
 * spans.h - which of many address ranges holds an address.
 *
 * Units, functions, inlined calls, symbols and JIT code are all sets of ranges that may nest, overlap and come in
 * pieces. One rule serves them all: of the ranges that hold the address, the one with the greatest item wins. Callers
 * number their items so that this is the most specific one: a child after its parent, a newer entry after the one it
 * replaces.
 */
#ifndef PL_SPANS_H
#define PL_SPANS_H

#include <stddef.h>
#include <stdint.h>

#define PL_NO_ITEM UINT32_MAX

struct pl_span {
    uint64_t low;
    uint64_t high;  /* first address beyond */
    uint64_t reach; /* greatest `high` up to and including this span: where to stop looking back */
    uint32_t item;
};

struct pl_spans {
    struct pl_span *span;
    uint32_t count;
    uint32_t capacity;
};

/* How many elements of a sorted array begin at or before `key`. The first member of each, a uint64_t, says where it
 * begins. */
uint32_t pl_spans_up_to(const void *array, uint32_t count, size_t stride, uint64_t key);

/* Empty ranges, and ranges that end before they begin, are ignored. */
void pl_spans_add(struct pl_spans *spans, uint64_t low, uint64_t high, uint32_t item);
void pl_spans_sort(struct pl_spans *spans);                             /* between adding and finding */
uint32_t pl_spans_find(const struct pl_spans *spans, uint64_t address); /* PL_NO_ITEM: none */
/* All that hold the address, the greatest item first. Returns their number; if there are `max` or more, only the
 * greatest of all. */
uint32_t pl_spans_list(const struct pl_spans *spans, uint64_t address, uint32_t *item, uint32_t max);
void pl_spans_free(struct pl_spans *spans);

#endif
