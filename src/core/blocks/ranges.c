/* SPDX-License-Identifier: MIT */
/* ranges.c - see ranges.h. */
#include "core/blocks/ranges.h"

#include "core/hash.h"
#include "core/memory.h"

#define FIRST_LOG2 6
#define FIRST (1u << FIRST_LOG2) /* nodes of the first chunk: one page */

_Static_assert(sizeof(struct pl_range) == 64, "a cache line");

/* ---- nodes ---- */

static unsigned chunk_of(uint32_t number)
{
    return 31 - (unsigned) __builtin_clz(number + FIRST) - FIRST_LOG2;
}

/* Node 0 is never used. */
static struct pl_range *node_at(const struct pl_ranges *ranges, uint32_t number)
{
    unsigned chunk = chunk_of(number);
    return &ranges->chunk[chunk][number + FIRST - (FIRST << chunk)];
}

bool pl_range_reserve(struct pl_ranges *ranges, uint32_t nodes)
{
    for (uint32_t at = ranges->free; at && nodes; at = node_at(ranges, at)->next[0])
        nodes--;
    if (!nodes)
        return true;
    unsigned first = chunk_of(ranges->made + 1), last = chunk_of(ranges->made + nodes);
    for (unsigned i = first; i <= last; i++) {
        if (i >= PL_RANGE_CHUNKS)
            return false;
        size_t bytes = pl_memory_pages((size_t) (FIRST << i) * sizeof(struct pl_range));
        if (!ranges->chunk[i] && !(ranges->chunk[i] = pl_memory_new(bytes)))
            return false;
    }
    return true;
}

static uint32_t new_node(struct pl_ranges *ranges)
{
    uint32_t number = ranges->free;
    if (number)
        ranges->free = node_at(ranges, number)->next[0];
    else
        number = ++ranges->made;
    return number;
}

static void free_node(struct pl_ranges *ranges, uint32_t number)
{
    node_at(ranges, number)->next[0] = ranges->free;
    ranges->free = number;
}

/* ---- lists ---- */

/* On each level, the link that leads to the first range which ends after an address. */
struct way {
    uint32_t *link[PL_RANGE_LEVELS];
};

static struct way find(const struct pl_ranges *ranges, struct pl_range_list *list, uintptr_t address)
{
    struct way way;
    uint32_t *links = list->first;
    for (unsigned level = PL_RANGE_LEVELS; level-- > 0; way.link[level] = &links[level]) {
        for (uint32_t at = links[level]; at; at = links[level]) {
            struct pl_range *node = node_at(ranges, at);
            if (node->to > address)
                break;
            links = node->next;
        }
    }
    return way;
}

static unsigned draw_height(struct pl_ranges *ranges)
{
    uint64_t random = pl_hash(++ranges->draws, 0);
    unsigned height = 1 + (unsigned) __builtin_ctzll(random | 1ull << 62) / 2;
    return height < PL_RANGE_LEVELS ? height : PL_RANGE_LEVELS;
}

static void link_node(struct pl_ranges *ranges, struct pl_range_list *list, uint32_t number)
{
    struct pl_range *node = node_at(ranges, number);
    struct way way = find(ranges, list, node->from);
    unsigned height = draw_height(ranges);
    for (unsigned level = 0; level < height; level++) {
        node->next[level] = *way.link[level];
        *way.link[level] = number;
    }
    for (unsigned level = height; level < PL_RANGE_LEVELS; level++)
        node->next[level] = 0;
}

static void unlink_node(struct pl_ranges *ranges, const struct way *way, uint32_t number)
{
    struct pl_range *node = node_at(ranges, number);
    for (unsigned level = 0; level < PL_RANGE_LEVELS; level++)
        if (*way->link[level] == number)
            *way->link[level] = node->next[level];
}

void pl_range_put(struct pl_ranges *ranges, struct pl_range_list *list, const struct pl_range *range)
{
    uint32_t number = new_node(ranges);
    *node_at(ranges, number) = *range;
    link_node(ranges, list, number);
}

bool pl_range_find(const struct pl_ranges *ranges, const struct pl_range_list *list, uintptr_t address,
                   struct pl_range *out)
{
    struct way way = find(ranges, (struct pl_range_list *) list, address);
    uint32_t number = *way.link[0];
    if (number)
        *out = *node_at(ranges, number);
    return number != 0;
}

uintptr_t pl_range_end(const struct pl_ranges *ranges, const struct pl_range_list *list, uintptr_t from)
{
    struct pl_range range;
    return pl_range_find(ranges, list, from, &range) && range.from == from ? range.to : 0;
}

/* ---- pieces ---- */

/* Splits a range in two: the node keeps what is below `at`. */
static void split(struct pl_ranges *ranges, struct pl_range_list *list, uint32_t number, uintptr_t at)
{
    struct pl_range *node = node_at(ranges, number);
    if (!node->group) {
        node->group = new_node(ranges);
        node_at(ranges, node->group)->group = 1;
    }
    node_at(ranges, node->group)->group++;
    struct pl_range upper = *node;
    upper.from = at;
    node->to = at;
    pl_range_put(ranges, list, &upper);
}

uint32_t pl_range_detach(struct pl_ranges *ranges, struct pl_range_list *list, uintptr_t from, uintptr_t to)
{
    uint32_t chain = 0;
    for (;;) {
        struct way way = find(ranges, list, from);
        uint32_t number = *way.link[0];
        struct pl_range *node = number ? node_at(ranges, number) : NULL;
        if (!node || node->from >= to)
            return chain;
        if (node->from < from) {
            split(ranges, list, number, from);
            continue;
        }
        if (node->to > to)
            split(ranges, list, number, to);
        way = find(ranges, list, from);
        unlink_node(ranges, &way, number);
        node->next[0] = chain;
        chain = number;
    }
}

void pl_range_attach(struct pl_ranges *ranges, struct pl_range_list *list, uint32_t chain)
{
    while (chain) {
        uint32_t number = chain;
        chain = node_at(ranges, number)->next[0];
        link_node(ranges, list, number);
    }
}

bool pl_range_pop(struct pl_ranges *ranges, uint32_t *chain, struct pl_range *piece, bool *last)
{
    uint32_t number = *chain;
    if (!number)
        return false;
    *piece = *node_at(ranges, number);
    *chain = piece->next[0];
    *last = !piece->group || --node_at(ranges, piece->group)->group == 0;
    if (piece->group && *last)
        free_node(ranges, piece->group);
    free_node(ranges, number);
    return true;
}
