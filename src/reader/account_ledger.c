/* SPDX-License-Identifier: MIT */
/*
 * account_ledger.c - reads a ledger: a thread's counts at a site in a heap beside malloc's.
 *
 * One lock guards all of it, so its figures agree unless they were copied during an update. Then the allocations are
 * taken as right.
 */
#include <math.h>
#include <string.h>

#include "reader/account.h"

#define CALLS_MAX (1ull << 53)
#define BYTES_MAX (1ull << 62)

bool pl_account_ledger_makes_sense(const struct pl_ledger *ledger)
{
    return ledger->calls <= CALLS_MAX && ledger->bytes <= BYTES_MAX && ledger->freed_calls <= CALLS_MAX &&
           ledger->freed_bytes <= BYTES_MAX && ledger->peak_calls <= CALLS_MAX && ledger->peak_bytes <= BYTES_MAX;
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

void pl_account_ledger(const struct pl_ledger *ledger, const struct pl_heap_record *heap,
                       const struct pl_header *header, struct pl_account *out)
{
    memset(out, 0, sizeof *out);
    struct pl_figures *figures = &out->figures;
    struct pl_spread *spread = &out->spread;
    struct pl_amount exit = amount(ledger->exit_calls, ledger->exit_bytes);
    figures->allocated = amount(ledger->calls, ledger->bytes);
    figures->freed = amount(ledger->freed_calls, ledger->freed_bytes);
    out->cut = cap(&figures->freed, &figures->allocated);
    figures->peak = held_at_peak(ledger, heap, figures);
    out->cut |= cap(&figures->peak, &figures->allocated);
    out->cut |= cap(&exit, &figures->freed);
    spread->exit_objects = exit.exact_objects;
    spread->exit_space = exit.exact_space;
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
