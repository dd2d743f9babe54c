/* SPDX-License-Identifier: MIT */
/*
 * small.h - a small record as the tally that it stands for.
 *
 * The writer needs this when a record grows, the reader when it adds records up. It is part of the format: both must
 * agree on it, or a stack's figures would change when its record grows.
 */
#ifndef PL_FORMAT_SMALL_H
#define PL_FORMAT_SMALL_H

#include "format/format.h"

static inline unsigned pl_cell_what(uint16_t cell)
{
    return cell >> 8;
}

static inline unsigned pl_cell_count(uint16_t cell)
{
    return cell & 255u;
}

static inline uint16_t pl_cell_of(unsigned what, unsigned count)
{
    return (uint16_t) (what << 8 | count);
}

/* The number of its site's record. */
static inline uint32_t pl_small_site(const struct pl_small *small)
{
    return small->site & ~PL_SMALL_MARK;
}

static inline void pl_small_add_cell(struct pl_tally *tally, unsigned what, unsigned count)
{
    if (what >= PL_CELL_SIZES && what < PL_CELL_LIVES)
        tally->sizes[what - PL_CELL_SIZES] += count;
    else if (what >= PL_CELL_LIVES && what < PL_CELL_MADE)
        tally->lives[what - PL_CELL_LIVES] += count;
    else if (what >= PL_CELL_MADE && what < PL_CELL_GONE)
        tally->made[what - PL_CELL_MADE] += count;
    else if (what >= PL_CELL_GONE && what < PL_CELL_TEMPORARIES)
        tally->gone[what - PL_CELL_GONE] += count;
    else if (what == PL_CELL_TEMPORARIES)
        tally->temporaries += count;
    else if (what == PL_CELL_EXIT_CALLS)
        tally->exit_calls += count;
    else if (what == PL_CELL_REALLOC_CALLS)
        tally->realloc_calls += count;
    else if (what == PL_CELL_REALLOC_IN_PLACE)
        tally->realloc_in_place += count;
}

/* Writes the figures to a tally of zeros: everything but site, remote and number. Only the difference of what was
 * allocated and freed at the peak is known, and it is all that counts. */
static inline void pl_small_expand(const struct pl_small *small, struct pl_tally *tally)
{
    tally->thread = tally->owner = small->thread;
    tally->era = tally->freed_era = small->era;
    tally->smallest = small->calls ? small->smallest : UINT32_MAX;
    tally->largest = small->largest;
    tally->calls = tally->made_calls = small->calls;
    tally->bytes = small->bytes;
    tally->freed_calls = tally->gone_calls = small->freed_calls;
    tally->freed_bytes = small->freed_bytes;
    tally->exit_bytes = small->exit_bytes;
    tally->peak_calls = small->peak_calls;
    tally->peak_bytes = small->peak_bytes;
    tally->cohort_shift = small->cohort_shift;
    tally->reset = small->reset;
    for (unsigned i = 0; i < PL_SMALL_CELLS; i++)
        pl_small_add_cell(tally, pl_cell_what(small->cell[i]), pl_cell_count(small->cell[i]));
}

#endif
