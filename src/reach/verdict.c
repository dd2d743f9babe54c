/* SPDX-License-Identifier: MIT */
/* verdict.c - see verdict.h. */
#include "reach/verdict.h"

#include "reach/walk.h"

/* What a pointer to the beginning of a block makes of it. */
struct strength {
    enum pl_verdict_held held;
};

/* ---- held ---- */

static void hold(struct pl_walk *walk, uint32_t number, bool begins, uint64_t at)
{
    const struct strength *strength = walk->context;
    (void) at;
    struct pl_census_block *block = &walk->census->block[number];
    uint8_t held = begins ? strength->held : PL_HELD_INNER;
    if (block->held >= held)
        return;
    block->held = held;
    if (held == strength->held)
        walk->waiting[walk->count++] = number;
}

static void hold_all(struct pl_walk *walk)
{
    struct strength strength = {PL_HELD};
    walk->meet = hold;
    walk->context = &strength;
    pl_walk_roots(walk);
    pl_walk_drain(walk);
    strength.held = PL_HELD_INNER;
    for (uint32_t i = 0; i < walk->census->count; i++)
        if (walk->census->block[i].held == PL_HELD_INNER)
            walk->waiting[walk->count++] = i;
    pl_walk_drain(walk);
}

/* ---- lost ---- */

static void note_pointed_to(struct pl_walk *walk, uint32_t number, bool begins, uint64_t at)
{
    (void) begins;
    (void) at;
    struct pl_census_block *block = &walk->census->block[number];
    if (block->held == PL_LOST)
        block->held = PL_LOST_WITH;
}

static void take_along(struct pl_walk *walk, uint32_t number, bool begins, uint64_t at)
{
    (void) begins;
    (void) at;
    struct pl_census_block *block = &walk->census->block[number];
    if (block->held > PL_LOST_WITH || block->owner != PL_CENSUS_NONE)
        return;
    block->held = PL_LOST_WITH;
    block->owner = *(const uint32_t *) walk->context;
    walk->waiting[walk->count++] = number;
}

/* A lost block takes along what nobody has taken along yet. */
static void blame(struct pl_walk *walk, uint32_t number)
{
    struct pl_census_block *block = &walk->census->block[number];
    block->held = PL_LOST;
    block->owner = number;
    walk->context = &number;
    walk->waiting[walk->count++] = number;
    pl_walk_drain(walk);
}

static bool is_lost(const struct pl_census_block *block)
{
    return block->held <= PL_LOST_WITH;
}

static void scan_lost(struct pl_walk *walk)
{
    uint32_t number[PL_SPACE_PIECES], next = 0;
    walk->meet = note_pointed_to;
    while (next < walk->census->count && !walk->space->stopped) {
        size_t n = 0;
        for (; next < walk->census->count && n < PL_SPACE_PIECES; next++)
            if (is_lost(&walk->census->block[next]))
                number[n++] = next;
        for (size_t done = 0; done < n;)
            done += pl_walk_scan(walk, number + done, n - done);
    }
}

static void lose_rest(struct pl_walk *walk)
{
    struct pl_census *census = walk->census;
    for (uint32_t i = 0; i < census->count; i++)
        census->block[i].owner = PL_CENSUS_NONE;
    scan_lost(walk);
    walk->meet = take_along;
    for (uint32_t i = 0; i < census->count; i++)
        if (census->block[i].held == PL_LOST)
            blame(walk, i);
    for (uint32_t i = 0; i < census->count; i++) /* rings */
        if (census->block[i].held == PL_LOST_WITH && census->block[i].owner == PL_CENSUS_NONE)
            blame(walk, i);
}

bool pl_verdicts_reach(struct pl_census *census, const struct pl_roots *roots, struct pl_space *space)
{
    struct pl_walk walk;
    if (!census->count)
        return true;
    if (!pl_walk_begin(&walk, census, roots, space))
        return false;
    hold_all(&walk);
    lose_rest(&walk);
    pl_walk_end(&walk);
    return true;
}
