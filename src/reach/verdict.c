/* SPDX-License-Identifier: MIT */
/*
 * verdict.c - see verdict.h.
 *
 * The heap is read once, by address. What a block points to is held at once if the block already is. Otherwise its
 * pointers are kept, as links, until it is known whether anything leads to it: to blocks that are not held yet, because
 * others need no link. So most heaps need few links, and none needs more than it has pointers.
 */
#include "reach/verdict.h"

#include <stdlib.h>

#include "reach/graph.h"
#include "reach/walk.h"

#define BEGINS (1u << 31) /* a link to the beginning of a block */

struct judging {
    struct pl_census *census;
    uint8_t
        *held; /* by block: an enum pl_verdict_held. Bytes side by side, because they are looked at for each pointer */
    struct pl_graph links;
    uint32_t *waiting; /* blocks whose links are to be followed; room for each block once */
    uint32_t count;
    uint32_t known;                /* blocks before this one were read, and all their links are there */
    enum pl_verdict_held strength; /* what a pointer to the beginning of a block makes of it */
};

/* ---- held ---- */

static void hold(struct judging *judging, uint32_t number, bool begins)
{
    enum pl_verdict_held held = begins ? judging->strength : PL_HELD_INNER;
    if (judging->held[number] >= held)
        return;
    judging->held[number] = (uint8_t) held;
    if (held == judging->strength && number < judging->known)
        judging->waiting[judging->count++] = number;
}

static void drain(struct judging *judging)
{
    const struct pl_graph *links = &judging->links;
    while (judging->count) {
        uint32_t number = judging->waiting[--judging->count];
        for (uint64_t i = links->first[number]; i < links->first[number + 1]; i++)
            hold(judging, links->to[i] & ~BEGINS, links->to[i] & BEGINS);
    }
}

/* All blocks before `number` were read. */
static void arrive(struct judging *judging, uint32_t number)
{
    if (number == judging->known)
        return;
    pl_graph_reach(&judging->links, number);
    judging->known = number;
    drain(judging);
}

static void meet(struct pl_walk *walk, uint32_t number, bool begins, uint64_t at)
{
    struct judging *judging = walk->context;
    (void) at;
    if (walk->from != PL_CENSUS_NONE)
        arrive(judging, walk->from);
    if (walk->from == PL_CENSUS_NONE || judging->held[walk->from] == PL_HELD)
        hold(judging, number, begins);
    else if (judging->held[number] != PL_HELD)
        pl_graph_add(&judging->links, walk->from, number | (begins ? BEGINS : 0));
}

static bool hold_all(struct judging *judging, struct pl_walk *walk)
{
    uint32_t count = judging->census->count;
    walk->meet = meet;
    walk->context = judging;
    walk->mark = judging->held;
    judging->strength = PL_HELD;
    pl_walk_roots(walk);
    pl_walk_blocks(walk);
    if (!pl_graph_end(&judging->links))
        return false;
    arrive(judging, count);
    judging->strength = PL_HELD_INNER;
    for (uint32_t i = 0; i < count; i++)
        if (judging->held[i] == PL_HELD_INNER)
            judging->waiting[judging->count++] = i;
    drain(judging);
    return true;
}

/* ---- lost ---- */

static void note_pointed_to(struct judging *judging, uint32_t number)
{
    const struct pl_graph *links = &judging->links;
    for (uint64_t i = links->first[number]; i < links->first[number + 1]; i++) {
        uint8_t *held = &judging->held[links->to[i] & ~BEGINS];
        if (*held == PL_LOST)
            *held = PL_LOST_WITH;
    }
}

static void take_along(struct judging *judging, uint32_t number, uint32_t owner)
{
    struct pl_census_block *block = &judging->census->block[number];
    if (judging->held[number] > PL_LOST_WITH || block->owner != PL_CENSUS_NONE)
        return;
    judging->held[number] = PL_LOST_WITH;
    block->owner = owner;
    judging->waiting[judging->count++] = number;
}

/* A lost block takes along what nobody has taken along yet. */
static void blame(struct judging *judging, uint32_t owner)
{
    const struct pl_graph *links = &judging->links;
    judging->held[owner] = PL_LOST;
    judging->census->block[owner].owner = owner;
    judging->waiting[judging->count++] = owner;
    while (judging->count) {
        uint32_t number = judging->waiting[--judging->count];
        for (uint64_t i = links->first[number]; i < links->first[number + 1]; i++)
            take_along(judging, links->to[i] & ~BEGINS, owner);
    }
}

static void lose_rest(struct judging *judging)
{
    struct pl_census *census = judging->census;
    const uint8_t *held = judging->held;
    for (uint32_t i = 0; i < census->count; i++)
        census->block[i].owner = PL_CENSUS_NONE;
    for (uint32_t i = 0; i < census->count; i++)
        if (held[i] <= PL_LOST_WITH)
            note_pointed_to(judging, i);
    for (uint32_t i = 0; i < census->count; i++)
        if (held[i] == PL_LOST)
            blame(judging, i);
    for (uint32_t i = 0; i < census->count; i++) /* rings */
        if (held[i] == PL_LOST_WITH && census->block[i].owner == PL_CENSUS_NONE)
            blame(judging, i);
}

bool pl_verdicts_reach(struct pl_census *census, const struct pl_roots *roots, struct pl_space *space)
{
    struct judging judging = {.census = census};
    struct pl_walk walk = {0};
    if (!census->count)
        return true;
    judging.held = calloc(census->count, sizeof *judging.held);
    judging.waiting = malloc(census->count * sizeof *judging.waiting);
    bool good = judging.held && judging.waiting && pl_graph_begin(&judging.links, census->count) &&
                pl_walk_begin(&walk, census, roots, space) && hold_all(&judging, &walk);
    if (good)
        lose_rest(&judging);
    for (uint32_t i = 0; good && i < census->count; i++)
        census->block[i].held = judging.held[i];
    pl_walk_end(&walk);
    pl_graph_free(&judging.links);
    free(judging.waiting);
    free(judging.held);
    return good;
}
