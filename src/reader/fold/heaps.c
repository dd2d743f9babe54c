/* SPDX-License-Identifier: MIT */
/*
 * heaps.c - ledgers, added up per heap, stack, thread and tag.
 *
 * Each heap beside malloc's has sites of its own: no figure of it is ever part of malloc's. Writers race, so a heap may
 * have several records: those of the same kind and name are one heap.
 */
#include <stdio.h>
#include <string.h>

#include "reader/account.h"
#include "reader/figures.h"
#include "reader/fold/sites.h"
#include "reader/fold/texts.h"
#include "reader/site.h"
#include "reader/totals.h"

#define HEAPS_MOST 1024u
#define NO_HEAP UINT32_MAX

static const char *const names[PL_HEAP_KINDS] = {
    [PL_HEAP_MALLOC] = "malloc",
    [PL_HEAP_MAPPINGS] = "mappings",
    [PL_HEAP_ALLOCATOR] = "allocator",
};

/* ---- the heaps ---- */

static const struct pl_heap_record *heap_of(const struct pl_sites *sites, const struct pl_ledger *ledger)
{
    const struct pl_heap_record *heap = pl_image_heaps(sites->image);
    return ledger->heap < pl_image_count(sites->image, PL_KIND_HEAP) ? &heap[ledger->heap] : NULL;
}

bool pl_heaps_make_sense(const struct pl_sites *sites, const struct pl_ledger *ledger)
{
    const struct pl_heap_record *heap = heap_of(sites, ledger);
    return heap && heap->kind != PL_HEAP_MALLOC && heap->kind < PL_HEAP_KINDS && pl_account_ledger_makes_sense(ledger);
}

#define ANNOUNCED " (announced)"

/* A program may give a heap any name, but not one of ours. */
static const char *name_of(struct pl_sites *sites, const struct pl_heap_record *record)
{
    char longer[16 + sizeof ANNOUNCED];
    if (record->kind != PL_HEAP_NAMED)
        return names[record->kind];
    const char *name = pl_texts_get(sites->texts, record->name);
    for (int kind = 0; kind < PL_HEAP_NAMED; kind++)
        if (strcmp(name, names[kind]) == 0)
            return pl_arena_text(sites->profile->arena, longer,
                                 (size_t) snprintf(longer, sizeof longer, "%s" ANNOUNCED, name));
    return *name ? name : "(no name)";
}

/* The heap of a record, which is a new one unless there is one of this kind and name. */
static uint32_t find_heap(struct pl_sites *sites, const struct pl_heap_record *record)
{
    struct pl_profile *profile = sites->profile;
    if (record->kind == PL_HEAP_MALLOC)
        return NO_HEAP;
    const char *name = record->kind < PL_HEAP_KINDS ? name_of(sites, record) : "";
    uint32_t i = 0;
    while (i < profile->heaps && (profile->heap[i].kind != record->kind || strcmp(profile->heap[i].name, name) != 0))
        i++;
    if (!*name || i == HEAPS_MOST) {
        sites->image->damage++;
        return NO_HEAP;
    }
    if (i == profile->heaps)
        profile->heap[profile->heaps++] = (struct pl_heap_view){.kind = (enum pl_heap_kind) record->kind, .name = name};
    struct pl_heap_view *heap = &profile->heap[i];
    if (record->held_bytes < 1ull << 62)
        heap->held_bytes += (double) record->held_bytes;
    if (record->peaks > 0)
        heap->peak_s = (double) record->peak_units; /* pl_heaps_fold_times() knows how long a unit is */
    return i;
}

/* ---- their sites ---- */

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

/* The ledgers of each heap, as lists. */
struct lists {
    uint32_t *first, *count; /* by heap */
    uint32_t *next;          /* by ledger; 0 ends a list */
};

static void add_ledgers(struct pl_sites *sites, const struct lists *lists, uint32_t number, struct sums *sum)
{
    struct pl_heap_view *heap = &sites->profile->heap[number];
    const struct pl_ledger *ledger = pl_image_ledgers(sites->image);
    struct pl_index index = pl_index_new(sites->scratch, lists->count[number]);
    struct pl_account record;
    for (uint32_t i = lists->first[number]; i != 0; i = lists->next[i]) {
        struct pl_site_view wanted;
        if (!pl_sites_identify(sites, &sites->ledgers, i, ledger[i].site, ledger[i].thread, &wanted))
            continue;
        uint32_t site = find_site(heap, &index, &wanted);
        pl_account_ledger(&ledger[i], heap_of(sites, &ledger[i]), &sites->profile->header, &record);
        pl_figures_add(&sum[site].figures, &record.figures);
        pl_spread_add(&sum[site].spread, &record.spread);
        sites->image->in_flight += record.cut;
        sites->image->damage += record.damaged;
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

/* The mean gap between samples; 0: there are none. */
static double gap_of(const struct pl_profile *profile, const struct pl_sums *sampled)
{
    double charge = sampled->space + (double) pl_totals_charge(profile) * sampled->objects;
    return sampled->samples > 0 ? charge / (double) sampled->samples : 0;
}

/* Where samples were taken, there may be more than they show. */
static void allow_for_the_unseen(struct pl_profile *profile, struct pl_heap_view *heap, struct sums *sum)
{
    double gap = gap_of(profile, &heap->all.allocated.sampled);
    for (uint32_t i = 0; i < heap->sites; i++) {
        struct pl_figures *figures = &sum[i].figures;
        figures->call_charge = pl_totals_charge(profile);
        figures->unseen_interval = gap;
        if (gap > 0)
            figures->hidden =
                pl_estimate_hidden(figures, gap, (double) sum[i].spread.smallest, (double) sum[i].spread.largest);
    }
}

static void fold_heap(struct pl_sites *sites, const struct lists *lists, uint32_t number)
{
    struct pl_profile *profile = sites->profile;
    struct pl_heap_view *heap = &profile->heap[number];
    struct sums *sum = pl_arena_alloc(sites->scratch, (lists->count[number] + 1ull) * sizeof *sum);
    heap->site = pl_arena_alloc(profile->arena, (lists->count[number] + 1ull) * sizeof *heap->site);
    add_ledgers(sites, lists, number, sum);
    add_up(heap, sum);
    settle_peak(heap, sum);
    allow_for_the_unseen(profile, heap, sum);
    for (uint32_t i = 0; i < heap->sites; i++) {
        heap->site[i].figures = pl_site_pack_figures(profile->arena, &sum[i].figures);
        heap->site[i].spread = pl_site_pack_spread(profile->arena, &sum[i].spread);
    }
    add_up(heap, sum);
    heap->all.call_charge = pl_totals_charge(profile);
    heap->all.unseen_interval = gap_of(profile, &heap->all.allocated.sampled);
}

static struct lists list_ledgers(struct pl_sites *sites)
{
    const struct pl_heap_record *record = pl_image_heaps(sites->image);
    const struct pl_ledger *ledger = pl_image_ledgers(sites->image);
    uint32_t records = pl_image_count(sites->image, PL_KIND_HEAP);
    uint32_t *number = pl_arena_alloc(sites->scratch, (records + 1ull) * sizeof *number);
    struct lists lists = {
        .first = pl_arena_alloc(sites->scratch, HEAPS_MOST * sizeof(uint32_t)),
        .count = pl_arena_alloc(sites->scratch, HEAPS_MOST * sizeof(uint32_t)),
        .next = pl_arena_alloc(sites->scratch, (sites->ledgers.records + 1ull) * sizeof(uint32_t)),
    };
    for (uint32_t i = 1; i < records; i++)
        number[i] = find_heap(sites, &record[i]);
    for (uint32_t i = sites->ledgers.records; i-- > 1;) {
        uint32_t heap = sites->ledgers.innermost[i] < PL_FORGOTTEN_SITE ? number[ledger[i].heap] : NO_HEAP;
        if (heap == NO_HEAP)
            continue;
        lists.next[i] = lists.first[heap];
        lists.first[heap] = i;
        lists.count[heap]++;
    }
    return lists;
}

void pl_heaps_fold(struct pl_sites *sites)
{
    struct pl_profile *profile = sites->profile;
    uint32_t kept = 0;
    profile->heap = pl_arena_alloc(profile->arena, HEAPS_MOST * sizeof *profile->heap);
    struct lists lists = list_ledgers(sites);
    for (uint32_t i = 0; i < profile->heaps; i++)
        fold_heap(sites, &lists, i);
    for (uint32_t i = 0; i < profile->heaps; i++)
        if (profile->heap[i].sites > 0)
            profile->heap[kept++] = profile->heap[i];
    profile->heaps = kept;
}

void pl_heaps_fold_times(struct pl_profile *profile)
{
    for (uint32_t i = 0; i < profile->heaps; i++) {
        struct pl_heap_view *heap = &profile->heap[i];
        double seconds = heap->peak_s * profile->unit_s;
        heap->peak_s = heap->peak_is_now || seconds > profile->duration_s ? profile->duration_s : seconds;
    }
}
