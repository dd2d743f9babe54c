/* SPDX-License-Identifier: MIT */
/* smalls.c - see smalls.h. */
#include "core/records/smalls.h"

#include "core/blocks/blocks.h"
#include "core/records/eras.h"
#include "core/records/sums.h"
#include "core/records/tallies.h"

/* ---- cells ---- */

/* The index of a cell, or that of the first unused one, or PL_SMALL_CELLS. */
INLINE unsigned find_cell(const uint16_t *cell, unsigned what)
{
    unsigned i = 0;
    while (i < PL_SMALL_CELLS && cell[i] && pl_cell_what(cell[i]) != what)
        i++;
    return i;
}

/* One store, so that a cell is right at any time. */
INLINE void set_cell(uint16_t *cell, unsigned i, unsigned what, unsigned count)
{
    store_relaxed(&cell[i], pl_cell_of(what, pl_cell_count(cell[i]) + count));
}

/* Where to add one to each of these cells, all different: in `at`. Cells that are not used yet get the first unused
 * ones, in order. False: there is no room. PL_CELL_NONE needs none, and comes after the others. */
INLINE bool find_cells(const uint16_t *cell, const uint8_t *what, uint8_t *at, unsigned count)
{
    unsigned added = 0;
    for (unsigned i = 0; i < count && what[i] != PL_CELL_NONE; i++) {
        unsigned found = find_cell(cell, what[i]);
        if (found >= PL_SMALL_CELLS || !cell[found])
            found += added++;
        if (found >= PL_SMALL_CELLS)
            return false;
        at[i] = (uint8_t) found;
    }
    return true;
}

INLINE void count_in_cells(uint16_t *cell, const uint8_t *what, const uint8_t *at, unsigned count)
{
    for (unsigned i = 0; i < count && what[i] != PL_CELL_NONE; i++)
        set_cell(cell, at[i], what[i], 1);
}

/* ---- catching up ---- */

static unsigned joined(unsigned what, uint32_t steps)
{
    unsigned first = what < PL_CELL_GONE ? PL_CELL_MADE : PL_CELL_GONE;
    bool is_cohort = what >= PL_CELL_MADE && what < PL_CELL_TEMPORARIES;
    return is_cohort ? first + (steps > 3 ? 0 : (what - first) >> steps) : what;
}

/* Cohorts have become longer: several cells may become one. */
static void join_cohorts(struct pl_small *small, uint32_t shift)
{
    uint16_t cell[PL_SMALL_CELLS] = {0};
    for (unsigned i = 0; i < PL_SMALL_CELLS && small->cell[i]; i++) {
        unsigned what = joined(pl_cell_what(small->cell[i]), shift - small->cohort_shift);
        set_cell(cell, find_cell(cell, what), what, pl_cell_count(small->cell[i]));
    }
    for (unsigned i = 0; i < PL_SMALL_CELLS; i++)
        store_relaxed(&small->cell[i], cell[i]);
    small->cohort_shift = (uint8_t) shift;
}

/* As pl_era_allocated() and pl_era_freed() do for a tally. False: frees by other threads are in cohorts of the old
 * length, and only a tally can take them over. */
static OUT_OF_LINE bool catch_up_with(struct pl_process *process, struct pl_small *small, uint64_t eras)
{
    uint32_t shift = load_relaxed(&process->timeline.shift);
    if (small->cohort_shift != shift && load_relaxed(&small->remote))
        return false;
    if (pl_era_before(small->era, (uint32_t) (eras >> 32))) {
        small->peak_calls = (uint8_t) (small->calls - small->freed_calls);
        small->peak_bytes = small->bytes - small->freed_bytes;
    }
    if (small->cohort_shift < shift)
        join_cohorts(small, shift);
    store_release(&small->era, (uint32_t) eras);
    return true;
}

INLINE bool catch_up(struct pl_process *process, struct pl_small *small)
{
    uint64_t eras = load_acquire(&process->eras);
    return likely(small->era == (uint32_t) eras) || catch_up_with(process, small, eras);
}

/* ---- growing ---- */

uint32_t pl_small_write(struct pl_process *process, struct pl_thread *thread, uint32_t site)
{
    void *at;
    if (!pl_file_append(&process->file, PL_KIND_SMALL, &at))
        return 0;
    struct pl_small *small = at;
    uint64_t place = (uint64_t) ((uint8_t *) at - process->file.base - PL_SMALL_BEFORE) / 64;
    if (place > PL_BLOCK_TALLY_MAX)
        return 0;
    small->thread = thread->record;
    small->smallest = UINT16_MAX;
    small->era = load_relaxed(&process->era);
    small->cohort_shift = (uint8_t) load_relaxed(&process->timeline.shift);
    small->reset = (uint16_t) thread->reset;
    store_release(&small->site, site | PL_SMALL_MARK); /* publish */
    return (uint32_t) place | PL_PLACE_SMALL;
}

struct pl_tally *pl_small_grown(const struct pl_process *process, const struct pl_small *small)
{
    uint32_t number = load_acquire(&small->grown);
    if (likely(!number))
        return NULL;
    struct pl_tally *tally = pl_file_record(&process->file, PL_KIND_TALLY, number);
    return load_acquire(&tally->site) == pl_small_site(small) && tally->thread == small->thread ? tally : NULL;
}

/* Until the last store the small record counts, and from then on the tally. Other threads go on to add to the record's
 * remote record until they see that store, so it becomes the tally's as well; if one of them makes it just now, a
 * reader still finds it, by the number in it. */
struct pl_tally *pl_small_grow(struct pl_process *process, struct pl_small *small)
{
    void *at;
    struct pl_tally *tally = pl_small_grown(process, small);
    if (tally)
        return tally;
    uint32_t number = pl_file_append(&process->file, PL_KIND_TALLY, &at);
    if (!number)
        return NULL;
    tally = at;
    pl_small_expand(small, tally);
    tally->number = number;
    pl_tally_begin_cohort(tally, load_relaxed(&process->timeline.cohort));
    tally->remote = load_acquire(&small->remote);
    store_release(&small->grown, number);
    store_release(&tally->site, pl_small_site(small)); /* publish */
    fetch_add(&process->grown, 1);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    uint32_t remote = load_acquire(&small->remote);
    if (unlikely(remote && !load_relaxed(&tally->remote)))
        swap_if(&tally->remote, 0, remote);
    return tally;
}

/* ---- counting ---- */

bool pl_small_allocated(struct pl_process *process, struct pl_small *small, uint64_t size)
{
    if (small->calls >= PL_SMALL_CALLS || size > PL_SMALL_SIZE || !catch_up(process, small))
        return false;
    const uint8_t what[] = {
        (uint8_t) (PL_CELL_SIZES + pl_sums_size_bucket(size)),
        (uint8_t) (PL_CELL_MADE + load_relaxed(&process->timeline.cohort) % PL_COHORTS),
    };
    uint8_t at[sizeof what];
    if (!find_cells(small->cell, what, at, sizeof what))
        return false;
    small->calls++;
    small->bytes += (uint32_t) size;
    count_in_cells(small->cell, what, at, sizeof what);
    if (size < small->smallest)
        small->smallest = (uint16_t) size;
    if (size > small->largest)
        small->largest = (uint16_t) size;
    return true;
}

static void count_freed(struct pl_small *small, uint64_t size, bool exiting)
{
    small->freed_calls++;
    small->freed_bytes += (uint32_t) size;
    small->exit_bytes += exiting ? (uint32_t) size : 0;
}

bool pl_small_freed(struct pl_process *process, struct pl_small *small, uint64_t size, uint64_t units, uint64_t now,
                    bool temporary)
{
    bool exiting = load_relaxed(&process->exiting);
    if (small->freed_calls >= small->calls || !catch_up(process, small))
        return false;
    uint8_t rare = exiting ? PL_CELL_EXIT_CALLS : PL_CELL_NONE;
    const uint8_t what[] = {
        (uint8_t) (PL_CELL_LIVES + pl_sums_life_bucket(units)),
        (uint8_t) (PL_CELL_GONE + pl_timeline_cohort(now - units, small->cohort_shift)),
        temporary ? PL_CELL_TEMPORARIES : rare,
        temporary ? rare : PL_CELL_NONE,
    };
    uint8_t at[sizeof what];
    if (!find_cells(small->cell, what, at, sizeof what))
        return false;
    count_freed(small, size, exiting);
    count_in_cells(small->cell, what, at, sizeof what);
    return true;
}

bool pl_small_freed_only(struct pl_process *process, struct pl_small *small, uint64_t size)
{
    if (small->freed_calls >= small->calls || !catch_up(process, small))
        return false;
    count_freed(small, size, false);
    return true;
}

bool pl_small_reallocated(struct pl_small *small, bool moved)
{
    const uint8_t what[] = {PL_CELL_REALLOC_CALLS, PL_CELL_REALLOC_IN_PLACE};
    unsigned i = find_cell(small->cell, PL_CELL_REALLOC_CALLS);
    bool full = i < PL_SMALL_CELLS && pl_cell_count(small->cell[i]) == 255;
    uint8_t at[sizeof what];
    if (moved || full || !find_cells(small->cell, what, at, sizeof what))
        return false;
    count_in_cells(small->cell, what, at, sizeof what);
    return true;
}
