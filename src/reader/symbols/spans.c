/* SPDX-License-Identifier: MIT */
/*
 * spans.c - sorted ranges with a running maximum.
 *
 * Spans are sorted by their low end. A search starts at the last span that begins at or before the address and looks
 * back; `reach` tells when no earlier span can hold it. Disjoint ranges cost one comparison, nested ones a few more.
 */
#include <stdlib.h>
#include <string.h>

#include "reader/base/grow.h"
#include "reader/symbols/spans.h"

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

uint32_t pl_spans_up_to(const void *array, uint32_t count, size_t stride, uint64_t key)
{
    uint32_t from = 0, to = count;
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        uint64_t low;
        memcpy(&low, (const char *) array + middle * stride, sizeof low);
        if (low <= key)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

uint32_t pl_spans_find(const struct pl_spans *spans, uint64_t address)
{
    uint32_t best = PL_NO_ITEM;
    uint32_t begun = pl_spans_up_to(spans->span, spans->count, sizeof *spans->span, address);
    for (uint32_t i = begun; i-- > 0 && spans->span[i].reach > address;) {
        const struct pl_span *span = &spans->span[i];
        if (span->high > address && (best == PL_NO_ITEM || span->item > best))
            best = span->item;
    }
    return best;
}

static int greatest_first(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (*x < *y) - (*x > *y);
}

uint32_t pl_spans_list(const struct pl_spans *spans, uint64_t address, uint32_t *item, uint32_t max)
{
    uint32_t count = 0;
    uint32_t begun = pl_spans_up_to(spans->span, spans->count, sizeof *spans->span, address);
    for (uint32_t i = begun; i-- > 0 && spans->span[i].reach > address && count < max;)
        if (spans->span[i].high > address)
            item[count++] = spans->span[i].item;
    if (count < max) {
        qsort(item, count, sizeof *item, greatest_first);
        return count;
    }
    item[0] = pl_spans_find(spans, address);
    return 1;
}

void pl_spans_free(struct pl_spans *spans)
{
    free(spans->span);
    *spans = (struct pl_spans){0};
}
