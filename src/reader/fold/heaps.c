/* SPDX-License-Identifier: MIT */
/*
 * heaps.c - ledgers, added up per heap, stack, thread and tag.
 *
 * Each heap beside malloc's has sites of its own: no figure of it is ever part of malloc's. Writers race, so a heap may
 * have several records; those of the same kind are one heap.
 */
#include <string.h>

#include "reader/account.h"
#include "reader/figures.h"
#include "reader/fold/sites.h"
#include "reader/site.h"
#include "reader/totals.h"

static const char *const names[PL_HEAP_KINDS] = {
    [PL_HEAP_MALLOC] = "malloc",
    [PL_HEAP_MAPPINGS] = "mappings",
    [PL_HEAP_ALLOCATOR] = "allocator",
};

static const struct pl_heap_record *heap_of(const struct pl_sites *sites, const struct pl_ledger *ledger)
{
    const struct pl_heap_record *heap = pl_image_heaps(sites->image);
    return ledger->heap < pl_image_count(sites->image, PL_KIND_HEAP) ? &heap[ledger->heap] : NULL;
}

static enum pl_heap_kind kind_of(const struct pl_sites *sites, const struct pl_ledger *ledger)
{
    const struct pl_heap_record *heap = heap_of(sites, ledger);
    return heap && heap->kind < PL_HEAP_KINDS ? (enum pl_heap_kind) heap->kind : PL_HEAP_MALLOC;
}

bool pl_heaps_make_sense(const struct pl_sites *sites, const struct pl_ledger *ledger)
{
    return kind_of(sites, ledger) != PL_HEAP_MALLOC && pl_account_ledger_makes_sense(ledger);
}

struct sums {
    struct pl_figures figures;
    struct pl_spread spread;
};

struct question {
    const struct pl_site_view *site;
    const struct pl_site_view *wanted;
};

static bool same_site(const void *context, uint32_t entry)
{
    const struct question *question = context;
    const struct pl_site_view *site = &question->site[entry], *wanted = question->wanted;
    return site->stack == wanted->stack && site->thread == wanted->thread && site->tag == wanted->tag;
}

static uint32_t find_site(struct pl_heap_view *heap, const struct pl_index *index, const struct pl_site_view *wanted)
{
    struct question question = {heap->site, wanted};
    uint64_t where = (uint64_t) wanted->stack << 32 | wanted->thread;
    uint32_t *slot = pl_index_find(index, where, wanted->tag, same_site, &question);
    if (*slot == 0) {
        heap->site[heap->sites] = *wanted;
        *slot = ++heap->sites;
    }
    return *slot - 1;
}

static void add_ledgers(struct pl_sites *sites, struct pl_heap_view *heap, struct sums *sum)
{
    const struct pl_ledger *ledger = pl_image_ledgers(sites->image);
    struct pl_index index = pl_index_new(sites->scratch, sites->ledgers.records);
    struct pl_account record;
    for (uint32_t i = 1; i < sites->ledgers.records; i++) {
        struct pl_site_view wanted;
        if (kind_of(sites, &ledger[i]) != heap->kind ||
            !pl_sites_identify(sites, &sites->ledgers, i, ledger[i].site, ledger[i].thread, &wanted))
            continue;
        uint32_t site = find_site(heap, &index, &wanted);
        pl_account_ledger(&ledger[i], heap_of(sites, &ledger[i]), &sites->profile->header, &record);
        pl_figures_add(&sum[site].figures, &record.figures);
        pl_spread_add(&sum[site].spread, &record.spread);
        sites->image->in_flight += record.cut;
    }
}

static void add_up(struct pl_heap_view *heap, const struct sums *sum)
{
    heap->all = (struct pl_figures){0};
    heap->spread = (struct pl_spread){0};
    for (uint32_t i = 0; i < heap->sites; i++) {
        pl_figures_add(&heap->all, &sum[i].figures);
        pl_spread_add(&heap->spread, &sum[i].spread);
    }
}

static double peak_seconds(const struct pl_sites *sites, const struct pl_heap_view *heap)
{
    const struct pl_heap_record *record = pl_image_heaps(sites->image);
    for (uint32_t i = 1; i < pl_image_count(sites->image, PL_KIND_HEAP); i++)
        if (record[i].kind == heap->kind && record[i].peaks > 0)
            return (double) record[i].peak_units; /* in units: pl_heaps_fold_times() knows how long one is */
    return 0;
}

/* If nothing larger was declared, the heap is largest now. */
static void settle_peak(struct pl_heap_view *heap, struct sums *sum)
{
    struct pl_amount live = pl_amount_rest(&heap->all.allocated, &heap->all.freed);
    if (pl_amount_space(&live) < pl_amount_space(&heap->all.peak))
        return;
    heap->peak_is_now = true;
    for (uint32_t i = 0; i < heap->sites; i++)
        sum[i].figures.peak = pl_amount_rest(&sum[i].figures.allocated, &sum[i].figures.freed);
}

static void fold_heap(struct pl_sites *sites, struct pl_heap_view *heap)
{
    struct pl_profile *profile = sites->profile;
    struct sums *sum = pl_arena_alloc(sites->scratch, sites->ledgers.records * sizeof *sum);
    heap->site = pl_arena_alloc(profile->arena, sites->ledgers.records * sizeof *heap->site);
    heap->name = names[heap->kind];
    add_ledgers(sites, heap, sum);
    add_up(heap, sum);
    heap->peak_s = peak_seconds(sites, heap);
    settle_peak(heap, sum);
    for (uint32_t i = 0; i < heap->sites; i++) {
        sum[i].figures.call_charge = pl_totals_charge(profile);
        heap->site[i].figures = pl_site_pack_figures(profile->arena, &sum[i].figures);
        heap->site[i].spread = pl_site_pack_spread(profile->arena, &sum[i].spread);
    }
    add_up(heap, sum);
    heap->all.call_charge = pl_totals_charge(profile);
}

void pl_heaps_fold(struct pl_sites *sites)
{
    struct pl_profile *profile = sites->profile;
    profile->heap = pl_arena_alloc(profile->arena, PL_HEAP_KINDS * sizeof *profile->heap);
    for (int kind = PL_HEAP_MALLOC + 1; kind < PL_HEAP_KINDS; kind++) {
        struct pl_heap_view heap = {.kind = (enum pl_heap_kind) kind};
        fold_heap(sites, &heap);
        if (heap.sites > 0)
            profile->heap[profile->heaps++] = heap;
    }
}

void pl_heaps_fold_times(struct pl_profile *profile)
{
    for (uint32_t i = 0; i < profile->heaps; i++) {
        struct pl_heap_view *heap = &profile->heap[i];
        double seconds = heap->peak_s * profile->unit_s;
        heap->peak_s = heap->peak_is_now || seconds > profile->duration_s ? profile->duration_s : seconds;
    }
}
