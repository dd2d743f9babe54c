/* SPDX-License-Identifier: MIT */
/*
 * account_ledger.c - reads a ledger: what a thread allocated at a site in a heap beside malloc's.
 *
 * One lock guards all of it, so its figures agree unless they were copied during an update. Then the allocations are
 * taken as right.
 */
#include <math.h>
#include <string.h>

#include "reader/account.h"
#include "reader/figures.h"

#define CALLS_MAX (1ull << 53)
#define BYTES_MAX (1ull << 62)

/* The samples of a ledger, as the row that they would be in malloc's heap. */
static struct pl_row row_of(const struct pl_ledger *ledger)
{
    return (struct pl_row){
        .site = ledger->site,
        .era = ledger->era,
        .allocated = ledger->sampled,
        .freed = ledger->sampled_freed,
        .peak = ledger->sampled_peak,
        .skew = ledger->skew,
        .smallest = UINT32_MAX,
    };
}

bool pl_account_ledger_makes_sense(const struct pl_ledger *ledger)
{
    const struct pl_row samples = row_of(ledger);
    return ledger->calls <= CALLS_MAX && ledger->bytes <= BYTES_MAX && ledger->freed_calls <= CALLS_MAX &&
           ledger->freed_bytes <= BYTES_MAX && ledger->peak_calls <= CALLS_MAX && ledger->peak_bytes <= BYTES_MAX &&
           pl_account_row_makes_sense(&samples);
}

static bool cap(struct pl_amount *part, const struct pl_amount *whole)
{
    bool over = part->exact_objects > whole->exact_objects || part->exact_space > whole->exact_space;
    part->exact_objects = fmin(part->exact_objects, whole->exact_objects);
    part->exact_space = fmin(part->exact_space, whole->exact_space);
    return over;
}

static struct pl_amount amount(uint64_t objects, uint64_t space)
{
    return (struct pl_amount){.exact_objects = (double) objects, .exact_space = (double) space};
}

/* What was live when the heap was largest: saved, if the ledger has changed since then. */
static struct pl_amount held_at_peak(const struct pl_ledger *ledger, const struct pl_heap_record *heap,
                                     const struct pl_figures *figures)
{
    if (heap->peaks > 0 && (int32_t) (ledger->era - heap->era) >= 0)
        return amount(ledger->peak_calls, ledger->peak_bytes);
    return (struct pl_amount){
        .exact_objects = figures->allocated.exact_objects - figures->freed.exact_objects,
        .exact_space = figures->allocated.exact_space - figures->freed.exact_space,
    };
}

static void read_ages(const struct pl_ledger *ledger, const struct pl_header *header, struct pl_account *out)
{
    for (unsigned i = 0; i < PL_COHORTS; i++)
        if (ledger->made[i] > ledger->gone[i])
            out->spread.ages[pl_account_cohort(i, ledger->cohort_shift, header->timeline_shift)] +=
                (double) ledger->made[i] - ledger->gone[i];
}

static void read_samples(const struct pl_ledger *ledger, const struct pl_heap_record *heap,
                         const struct pl_header *header, struct pl_account *out)
{
    const struct pl_row row = row_of(ledger);
    struct pl_header then = *header;
    struct pl_account samples;
    if (ledger->sampled.samples == 0)
        return;
    then.peak = (struct pl_peak){.era = heap->era, .peaks = heap->peaks};
    pl_account_row(&row, &then, &samples);
    out->figures.allocated.sampled = samples.figures.allocated.sampled;
    out->figures.freed.sampled = samples.figures.freed.sampled;
    out->figures.peak.sampled = samples.figures.peak.sampled;
    out->figures.skew = samples.figures.skew;
    out->cut |= samples.cut;
    out->damaged |= samples.damaged;
}

void pl_account_ledger(const struct pl_ledger *ledger, const struct pl_heap_record *heap,
                       const struct pl_header *header, struct pl_account *out)
{
    memset(out, 0, sizeof *out);
    struct pl_figures *figures = &out->figures;
    struct pl_spread *spread = &out->spread;
    figures->allocated = amount(ledger->calls, ledger->bytes);
    figures->freed = amount(ledger->freed_calls, ledger->freed_bytes);
    out->cut = cap(&figures->freed, &figures->allocated);
    figures->peak = held_at_peak(ledger, heap, figures);
    out->cut |= cap(&figures->peak, &figures->allocated);
    read_samples(ledger, heap, header, out);
    spread->exit_objects = fmin((double) ledger->exit_calls, pl_amount_objects(&figures->freed));
    spread->exit_space = fmin((double) ledger->exit_bytes, pl_amount_space(&figures->freed));
    for (unsigned i = 0; i < PL_SIZE_BUCKETS; i++)
        spread->sizes[i] = ledger->sizes[i];
    for (unsigned i = 0; i < PL_LIFE_BUCKETS; i++)
        spread->lives[i] = ledger->lives[i];
    if (ledger->smallest <= ledger->largest) {
        spread->smallest = ledger->smallest < UINT32_MAX ? ledger->smallest : UINT32_MAX;
        spread->largest = ledger->largest < UINT32_MAX ? ledger->largest : UINT32_MAX;
    }
    spread->realloc_calls = (double) ledger->realloc_calls;
    spread->realloc_moved = (double) ledger->realloc_moved;
    spread->realloc_in_place = (double) ledger->realloc_in_place;
    read_ages(ledger, header, out);
}
