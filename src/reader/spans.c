/* SPDX-License-Identifier: MIT */
/*
 * spans.c - sorted ranges with a running maximum.
 *
 * Spans are sorted by their low end. A search starts at the last span that begins at or before the address and looks
 * back; `reach` tells when no earlier span can hold it. Disjoint ranges cost one comparison, nested ones a few more.
 */
#include <stdlib.h>

#include "grow.h"
#include "spans.h"

void pl_spans_add(struct pl_spans *spans, uint64_t low, uint64_t high, uint32_t item)
{
    if (low >= high)
        return;
    spans->span = pl_grow(spans->span, spans->count, &spans->capacity, sizeof *spans->span);
    spans->span[spans->count++] = (struct pl_span){.low = low, .high = high, .item = item};
}

static int by_low(const void *a, const void *b)
{
    const struct pl_span *x = a, *y = b;
    return (x->low > y->low) - (x->low < y->low);
}

void pl_spans_sort(struct pl_spans *spans)
{
    if (spans->count > 0)
        qsort(spans->span, spans->count, sizeof *spans->span, by_low);
    uint64_t reach = 0;
    for (uint32_t i = 0; i < spans->count; i++) {
        if (spans->span[i].high > reach)
            reach = spans->span[i].high;
        spans->span[i].reach = reach;
    }
}

/* How many spans begin at or before the address. */
static uint32_t count_up_to(const struct pl_spans *spans, uint64_t address)
{
    uint32_t from = 0, to = spans->count;
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        if (spans->span[middle].low <= address)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

uint32_t pl_spans_find(const struct pl_spans *spans, uint64_t address)
{
    uint32_t best = PL_NO_ITEM;
    for (uint32_t i = count_up_to(spans, address); i-- > 0 && spans->span[i].reach > address;) {
        const struct pl_span *span = &spans->span[i];
        if (span->high > address && (best == PL_NO_ITEM || span->item > best))
            best = span->item;
    }
    return best;
}

void pl_spans_free(struct pl_spans *spans)
{
    free(spans->span);
    *spans = (struct pl_spans){0};
}
