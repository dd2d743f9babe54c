/* SPDX-License-Identifier: MIT */
/*
 * account_tally.c - reads a tally, together with the frees of its blocks by other threads. A small record is read as
 * the tally that it stands for.
 *
 * Everything is counted, so all figures must agree; if they do not, the record was copied between two stores, and the
 * allocations are taken as right. Without blocks there are no bytes: a difference of bytes alone is a store in flight,
 * not memory.
 */
#include <string.h>

#include "format/small.h"
#include "reader/account.h"

#define CALLS_MAX (1ull << 53) /* whole numbers up to here are exact in a double */
#define BYTES_MAX (1ull << 62)

/* Blocks and their bytes. */
struct load {
    double calls, bytes;
};

/* What other threads have freed, over all their records. */
struct others {
    struct load freed, peak, exit;
    double gone[PL_COHORTS];
    double lives[PL_LIFE_BUCKETS];
};

static struct load load_of(uint64_t calls, uint64_t bytes)
{
    return (struct load){(double) calls, (double) bytes};
}

static void add_load(struct load *to, struct load more)
{
    to->calls += more.calls;
    to->bytes += more.bytes;
}

bool pl_account_tally_makes_sense(const struct pl_tally *tally)
{
    return tally->calls <= CALLS_MAX && tally->bytes <= BYTES_MAX && tally->freed_calls <= CALLS_MAX &&
           tally->freed_bytes <= BYTES_MAX;
}

static bool remote_makes_sense(const struct pl_remote *remote)
{
    return remote->calls <= CALLS_MAX && remote->bytes <= BYTES_MAX;
}

static void add_remote(struct others *others, const struct pl_remote *remote, const struct pl_header *header)
{
    bool saved = pl_account_saved_at_peak(remote->era, header);
    add_load(&others->freed, load_of(remote->calls, remote->bytes));
    add_load(&others->peak,
             saved ? load_of(remote->peak_calls, remote->peak_bytes) : load_of(remote->calls, remote->bytes));
    add_load(&others->exit, load_of(remote->exit_calls, remote->exit_bytes));
    for (unsigned i = 0; i < PL_COHORTS; i++)
        others->gone[i] += remote->gone[i];
    for (unsigned i = 0; i < PL_LIFE_BUCKETS; i++)
        others->lives[i] += remote->lives[i];
}

/* Limits a part to the whole; true if it was more. */
static bool cap(double *part, double whole)
{
    bool over = *part > whole;
    if (over)
        *part = whole;
    return over;
}

static bool cap_load(struct load *part, struct load whole)
{
    bool cut = cap(&part->calls, whole.calls);
    return cap(&part->bytes, whole.bytes) || cut;
}

static struct load rest_of(struct load from, struct load what)
{
    if (from.calls <= what.calls)
        return (struct load){0};
    return (struct load){from.calls - what.calls, from.bytes > what.bytes ? from.bytes - what.bytes : 0};
}

static void set(struct pl_amount *amount, struct load load)
{
    amount->exact_objects = load.calls;
    amount->exact_space = load.bytes;
}

static struct load held_at_peak(const struct pl_tally *tally, const struct others *others,
                                const struct pl_header *header)
{
    struct load made = pl_account_saved_at_peak(tally->era, header) ? load_of(tally->peak_calls, tally->peak_bytes)
                                                                    : load_of(tally->calls, tally->bytes);
    struct load gone = pl_account_saved_at_peak(tally->freed_era, header)
                           ? load_of(tally->peak_freed_calls, tally->peak_freed_bytes)
                           : load_of(tally->freed_calls, tally->freed_bytes);
    add_load(&gone, others->peak);
    return rest_of(made, gone);
}

static void read_loads(const struct pl_tally *tally, const struct others *others, const struct pl_header *header,
                       struct pl_account *out)
{
    struct load made = load_of(tally->calls, tally->bytes);
    struct load freed = load_of(tally->freed_calls, tally->freed_bytes);
    struct load peak = held_at_peak(tally, others, header);
    struct load temporary = load_of(tally->temporaries, 0);
    struct load exit = load_of(tally->exit_calls, tally->exit_bytes);
    add_load(&freed, others->freed);
    add_load(&exit, others->exit);
    out->cut = cap_load(&freed, made);
    if (freed.calls >= made.calls)
        freed = made;
    out->cut |= cap_load(&peak, made);
    out->cut |= cap_load(&temporary, freed);
    out->cut |= cap_load(&exit, freed);
    set(&out->figures.allocated, made);
    set(&out->figures.freed, freed);
    set(&out->figures.peak, peak);
    set(&out->figures.temporary, temporary);
    out->spread.exit_objects = exit.calls;
    out->spread.exit_space = exit.bytes;
}

/*
 * A thread books a block to the cohort that it knew of, and its free to the cohort of the block's time. So when one
 * cohort follows another, a cohort may lose more blocks than it had. These are taken from its neighbours, the older
 * ones first.
 */
static void settle_cohorts(double live[PL_COHORTS])
{
    for (unsigned i = PL_COHORTS; i-- > 1;) {
        if (live[i] >= 0)
            continue;
        live[i - 1] += live[i];
        live[i] = 0;
    }
    for (unsigned i = 0; i + 1 < PL_COHORTS && live[i] < 0; i++) {
        live[i + 1] += live[i];
        live[i] = 0;
    }
}

/* Blocks that are not in `made` and `gone` yet belong to `cohort`, the last that was written to. */
static void read_ages(const struct pl_tally *tally, const struct others *others, const struct pl_header *header,
                      struct pl_account *out)
{
    double live[PL_COHORTS];
    unsigned last = tally->cohort < PL_COHORTS ? tally->cohort : PL_COHORTS - 1;
    out->damaged |= last != tally->cohort;
    for (unsigned i = 0; i < PL_COHORTS; i++)
        live[i] = (double) tally->made[i] - tally->gone[i] - others->gone[i];
    if (tally->calls > tally->made_calls)
        live[last] += (double) (tally->calls - tally->made_calls);
    if (tally->freed_calls > tally->gone_calls)
        live[last] -= (double) (tally->freed_calls - tally->gone_calls);
    settle_cohorts(live);
    for (unsigned i = 0; i < PL_COHORTS; i++)
        if (live[i] > 0)
            out->spread.ages[pl_account_cohort(i, tally->cohort_shift, header->timeline_shift)] += live[i];
}

static void read_histograms(const struct pl_tally *tally, const struct others *others, struct pl_account *out)
{
    for (unsigned i = 0; i < PL_SIZE_BUCKETS; i++)
        out->spread.sizes[i] = tally->sizes[i];
    for (unsigned i = 0; i < PL_LIFE_BUCKETS; i++)
        out->spread.lives[i] = tally->lives[i] + others->lives[i];
    if (tally->smallest <= tally->largest) {
        out->spread.smallest = tally->smallest;
        out->spread.largest = tally->largest;
    }
}

void pl_account_tally(const struct pl_tally *tally, const struct pl_remote *remote, const uint32_t *next,
                      uint32_t first, const struct pl_header *header, struct pl_account *out)
{
    struct others others;
    memset(&others, 0, sizeof others);
    memset(out, 0, sizeof *out);
    for (uint32_t i = first; i != 0; i = next[i]) {
        if (remote_makes_sense(&remote[i]))
            add_remote(&others, &remote[i], header);
        else
            out->damaged = true;
    }
    read_loads(tally, &others, header, out);
    read_ages(tally, &others, header, out);
    read_histograms(tally, &others, out);
    out->spread.realloc_calls = (double) tally->realloc_calls;
    out->spread.realloc_moved = (double) tally->realloc_moved;
    out->spread.realloc_in_place = (double) tally->realloc_in_place;
}

/* Cells that no version writes are ignored. */
static bool has_strange_cells(const struct pl_small *small)
{
    for (unsigned i = 0; i < PL_SMALL_CELLS; i++)
        if (pl_cell_what(small->cell[i]) >= PL_CELL_END || (!pl_cell_what(small->cell[i]) && small->cell[i]))
            return true;
    return false;
}

void pl_account_small(const struct pl_small *small, const struct pl_remote *remote, const uint32_t *next,
                      uint32_t first, const struct pl_header *header, struct pl_account *out)
{
    struct pl_tally tally;
    memset(&tally, 0, sizeof tally);
    pl_small_expand(small, &tally);
    pl_account_tally(&tally, remote, next, first, header, out);
    out->damaged |= has_strange_cells(small);
}
