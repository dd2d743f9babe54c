/* SPDX-License-Identifier: MIT */
/*
 * narrow.c - a part of a profile, as a profile.
 *
 * If a part is chosen by tags or threads, its calls and bytes are exact in every mode, since scopes count them. Other
 * figures are summed over its sites and estimated once. Scopes do not know stacks: if a part is chosen by stacks, its
 * scopes are computed from its sites.
 *
 * Invariant: whatever the part's scopes count is also in its threads and in its totals.
 */
#include "analysis/narrow.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/tags/tagfigures.h"
#include "reader/base/grow.h"
#include "reader/figures.h"
#include "reader/site.h"
#include "reader/totals.h"

#define LEFT_OUT UINT32_MAX

struct work {
    const struct pl_profile *whole;
    const struct pl_part *part;
    struct pl_arena *arena;
    struct pl_profile *out;
    uint32_t *site_of, *thread_of; /* index in the whole -> index in the part, or LEFT_OUT */
};

static bool belongs(const struct work *work, uint32_t tag, uint32_t thread)
{
    return (!work->part->tag || work->part->tag[tag]) && (!work->part->thread || work->part->thread[thread]);
}

static bool has_site(const struct work *work, const struct pl_site_view *site)
{
    const bool *stack = work->part->stack;
    return belongs(work, site->tag, site->thread) && (!stack || (site->stack != PL_NO_STACK && stack[site->stack]));
}

/* --- threads --- */

/* If tags or stacks are selected, only threads that have a scope or site there belong to the part. */
static bool *find_present(const struct work *work)
{
    const struct pl_profile *whole = work->whole;
    bool *present = pl_arena_alloc(work->arena, whole->threads + 1ull);
    for (uint32_t i = 0; i < whole->threads; i++)
        present[i] = !work->part->tag && !work->part->stack && belongs(work, 0, i);
    for (uint32_t i = 0; i < whole->scopes && !work->part->stack; i++)
        if (belongs(work, whole->scope[i].tag, whole->scope[i].thread))
            present[whole->scope[i].thread] = true;
    for (uint32_t i = 0; i < whole->sites; i++)
        if (has_site(work, &whole->site[i]))
            present[whole->site[i].thread] = true;
    return present;
}

static void narrow_threads(struct work *work)
{
    const struct pl_profile *whole = work->whole;
    const bool *present = find_present(work);
    work->out->thread = pl_arena_alloc(work->arena, (whole->threads + 1ull) * sizeof *whole->thread);
    work->out->threads = 0;
    for (uint32_t i = 0; i < whole->threads; i++) {
        work->thread_of[i] = present[i] ? work->out->threads : LEFT_OUT;
        if (present[i])
            work->out->thread[work->out->threads++] = whole->thread[i];
    }
}

static void narrow_scopes(struct work *work)
{
    const struct pl_profile *whole = work->whole;
    struct pl_profile *out = work->out;
    if (work->part->stack)
        return;
    out->scope = pl_arena_alloc(work->arena, (whole->scopes + 1ull) * sizeof *whole->scope);
    out->scopes = 0;
    for (uint32_t i = 0; i < whole->scopes; i++) {
        struct pl_scope_view scope = whole->scope[i];
        if (!belongs(work, scope.tag, scope.thread))
            continue;
        scope.thread = work->thread_of[scope.thread];
        out->scope[out->scopes++] = scope;
    }
}

/* Computes calls and bytes of threads from their scopes. */
static void charge_threads(struct pl_profile *out)
{
    for (uint32_t i = 0; i < out->threads; i++) {
        out->thread[i].bytes = 0;
        for (int f = 0; f < PL_FN_MAX; f++)
            out->thread[i].calls[f] = 0;
    }
    for (uint32_t i = 0; i < out->scopes; i++) {
        struct pl_thread_view *thread = &out->thread[out->scope[i].thread];
        thread->bytes += out->scope[i].bytes;
        for (int f = 0; f < PL_FN_MAX; f++)
            thread->calls[f] += out->scope[i].calls[f];
    }
}

/* By thread, then by tag: the order of scopes. */
static int by_thread(const void *left, const void *right)
{
    const struct pl_scope_view *a = left, *b = right;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return (a->tag > b->tag) - (a->tag < b->tag);
}

/* In a difference, sites of the first profile count negatively. Unsigned sums may wrap, but end right. */
static struct pl_scope_view scope_of(const struct pl_profile *profile, uint32_t i)
{
    const struct pl_site_view *site = &profile->site[i];
    int64_t sign = i < profile->base_sites ? -1 : 1;
    struct pl_estimate metric[PL_METRIC_COUNT];
    pl_site_estimate(site, metric);
    return (struct pl_scope_view){
        .thread = site->thread,
        .tag = site->tag,
        .calls[0] = (uint64_t) (sign * llround(metric[PL_METRIC_ALLOC_OBJECTS].value)),
        .bytes = (uint64_t) (sign * llround(metric[PL_METRIC_ALLOC_SPACE].value)),
    };
}

static uint64_t not_negative(uint64_t sum)
{
    return (int64_t) sum > 0 ? sum : 0;
}

void pl_narrow_count_sites(struct pl_profile *out, struct pl_arena *arena)
{
    struct pl_thread_view *thread = pl_arena_alloc(arena, (out->threads + 1ull) * sizeof *thread);
    uint32_t kept = 0;
    memcpy(thread, out->thread, out->threads * sizeof *thread);
    out->thread = thread;
    out->scope = pl_arena_alloc(arena, (out->sites + 1ull) * sizeof *out->scope);
    for (uint32_t i = 0; i < out->sites; i++)
        out->scope[i] = scope_of(out, i);
    qsort(out->scope, out->sites, sizeof *out->scope, by_thread);
    for (uint32_t i = 0; i < out->sites; i++) {
        if (kept && !by_thread(&out->scope[kept - 1], &out->scope[i])) {
            out->scope[kept - 1].calls[0] += out->scope[i].calls[0];
            out->scope[kept - 1].bytes += out->scope[i].bytes;
        } else {
            out->scope[kept++] = out->scope[i];
        }
    }
    for (uint32_t i = 0; i < kept; i++) {
        out->scope[i].calls[0] = not_negative(out->scope[i].calls[0]);
        out->scope[i].bytes = not_negative(out->scope[i].bytes);
    }
    out->scopes = kept;
    out->by_stack = true;
    charge_threads(out);
}

/* --- sites --- */

static void narrow_sites(struct work *work)
{
    const struct pl_profile *whole = work->whole;
    struct pl_profile *out = work->out;
    out->sites = 0;
    for (uint32_t i = 0; i < whole->sites; i++)
        work->site_of[i] = has_site(work, &whole->site[i]) ? out->sites++ : LEFT_OUT;
    out->site = pl_arena_alloc(work->arena, (out->sites + 1ull) * sizeof *whole->site);
    for (uint32_t i = 0; i < whole->sites; i++) {
        if (work->site_of[i] == LEFT_OUT)
            continue;
        struct pl_site_view *site = &out->site[work->site_of[i]];
        *site = whole->site[i];
        site->thread = work->thread_of[site->thread];
    }
}

static void narrow_composition(const struct work *work, struct pl_composition_view *composition)
{
    struct pl_composition_share *share = pl_arena_alloc(work->arena, (composition->shares + 1ull) * sizeof *share);
    uint32_t shares = 0;
    composition->live_bytes = composition->live_objects = 0;
    composition->allocated_bytes = composition->allocated_calls = 0;
    for (uint32_t i = 0; i < composition->shares; i++) {
        struct pl_composition_share each = composition->share[i];
        each.site = work->site_of[each.site];
        if (each.site == LEFT_OUT)
            continue;
        composition->live_bytes += each.bytes;
        composition->live_objects += each.objects;
        composition->allocated_bytes += each.allocated;
        composition->allocated_calls += each.calls;
        share[shares++] = each;
    }
    composition->share = share;
    composition->shares = shares;
}

static void narrow_compositions(struct work *work)
{
    const struct pl_profile *whole = work->whole;
    struct pl_profile *out = work->out;
    out->composition = pl_arena_alloc(work->arena, (whole->compositions + 1ull) * sizeof *whole->composition);
    for (uint32_t i = 0; i < whole->compositions; i++) {
        out->composition[i] = whole->composition[i];
        narrow_composition(work, &out->composition[i]);
    }
}

/* --- totals --- */

/* Calls while switched off or paused are counted in scopes but not recorded: subtracts them. */
static void count_recorded(struct pl_profile *out, double calls, double bytes)
{
    for (uint32_t i = 0; i < out->scopes; i++) {
        if (out->tag[out->scope[i].tag].kind == PL_TAG_NAMED)
            continue;
        bytes -= (double) out->scope[i].bytes;
        for (int f = 0; f < PL_FN_COUNT; f++)
            calls -= (double) out->scope[i].calls[f];
    }
    out->recorded_calls = fmax(calls, out->exact_calls);
    out->recorded_bytes = fmax(bytes, out->exact_bytes);
}

/* For parts by stack: only the sites know calls and bytes. */
static void count_sites(struct pl_profile *out)
{
    out->recorded_calls = out->total[PL_METRIC_ALLOC_OBJECTS].value;
    out->recorded_bytes = out->total[PL_METRIC_ALLOC_SPACE].value;
}

static void count_calls(struct pl_profile *out)
{
    double calls = 0, bytes = 0;
    for (uint32_t i = 0; i < out->threads; i++) {
        for (int f = 0; f < PL_FN_COUNT; f++)
            calls += (double) out->thread[i].calls[f];
        bytes += (double) out->thread[i].bytes;
    }
    count_recorded(out, calls, bytes);
    pl_tagfigures_bound(out->total, out->recorded_calls, out->recorded_bytes);
    out->total[PL_METRIC_ALLOC_OBJECTS] = pl_estimate_exactly(fmax(calls, out->recorded_calls));
    out->total[PL_METRIC_ALLOC_SPACE] = pl_estimate_exactly(fmax(bytes, out->recorded_bytes));
}

void pl_narrow_allow(const struct pl_profile *profile, uint64_t samples, struct pl_estimate metric[PL_METRIC_COUNT])
{
    struct pl_estimate hidden[PL_METRIC_COUNT];
    if (profile->exact || samples > 0)
        return;
    pl_totals_hidden(profile, hidden);
    for (int m = 0; m < PL_METRIC_COUNT; m++) {
        metric[m].high = fmax(metric[m].high, metric[m].value + hidden[m].high);
        metric[m].error = metric[m].value > 0 ? (metric[m].high - metric[m].low) / 2 : metric[m].high;
    }
}

static void add_up(struct work *work)
{
    struct pl_profile *out = work->out;
    struct pl_figures all = {0};
    out->spread = (struct pl_spread){0};
    for (uint32_t i = 0; i < out->sites; i++) {
        pl_site_add_figures(&all, &out->site[i]);
        pl_site_add_spread(&out->spread, &out->site[i]);
    }
    pl_estimate_figures(&all, out->total);
    out->samples = all.allocated.sampled.samples;
    out->samples_live = out->samples - all.freed.sampled.samples;
    out->exact_calls = all.allocated.exact_objects;
    out->exact_bytes = all.allocated.exact_space;
    pl_narrow_allow(out, out->samples, out->total);
    if (work->part->stack)
        count_sites(out);
    else
        count_calls(out);
}

const struct pl_profile *pl_narrow(const struct pl_profile *whole, const struct pl_part *part, struct pl_arena *arena)
{
    struct work work = {.whole = whole, .part = part, .arena = arena};
    work.out = pl_arena_alloc(arena, sizeof *work.out);
    work.site_of = pl_arena_alloc(arena, (whole->sites + 1ull) * sizeof *work.site_of);
    work.thread_of = pl_arena_alloc(arena, (whole->threads + 1ull) * sizeof *work.thread_of);
    *work.out = *whole;
    work.out->arena = arena;
    work.out->part = true;
    narrow_threads(&work);
    narrow_sites(&work);
    narrow_scopes(&work);
    if (part->stack)
        pl_narrow_count_sites(work.out, arena);
    else if (part->tag) /* drop what threads did under other tags */
        charge_threads(work.out);
    narrow_compositions(&work);
    add_up(&work);
    return work.out;
}

/* --- other heaps --- */

static const char *const methods[PL_HEAP_KINDS] = {
    [PL_HEAP_MAPPINGS] = "heap `mappings`: addresses that the program maps with mmap, mremap, shmat, brk and sbrk, "
                         "resident or not; every "
                         "call was counted; malloc's heap is not included",
    [PL_HEAP_ALLOCATOR] = "heap `allocator`: addresses that the program's malloc maps, resident or not; every call was "
                          "counted; the blocks in it are malloc's heap, which is not included",
};

static const char *method_of(const struct pl_heap_view *heap, struct pl_arena *arena)
{
    char text[1024];
    uint64_t samples = heap->all.allocated.sampled.samples;
    if (heap->kind != PL_HEAP_NAMED)
        return methods[heap->kind];
    const char *how = samples == 0                             ? "every block was counted"
                      : heap->all.allocated.exact_objects == 0 ? "estimated from samples, \302\261 = 95% confidence"
                                                               : "counted at times, else estimated from samples, "
                                                                 "\302\261 = 95% confidence";
    int bytes = snprintf(text, sizeof text,
                         "heap `%.300s`, which the program has announced: %s; malloc's heap is not "
                         "included",
                         heap->name, how);
    return pl_arena_text(arena, text, (size_t) bytes);
}

/* Threads that have allocated nothing there are left out. */
static void keep_threads_with_sites(struct pl_profile *out, struct pl_arena *arena)
{
    uint32_t *number = pl_arena_alloc(arena, (out->threads + 1ull) * sizeof *number), kept = 0;
    struct pl_thread_view *thread = pl_arena_alloc(arena, (out->threads + 1ull) * sizeof *thread);
    memset(number, 0xff, (out->threads + 1ull) * sizeof *number);
    for (uint32_t i = 0; i < out->sites; i++) {
        uint32_t *at = &number[out->site[i].thread];
        if (*at == LEFT_OUT) {
            thread[kept] = out->thread[out->site[i].thread];
            *at = kept++;
        }
        out->site[i].thread = *at;
    }
    out->thread = thread;
    out->threads = kept;
}

static void take_totals(struct pl_profile *out, const struct pl_heap_view *heap)
{
    pl_estimate_figures(&heap->all, out->total);
    out->spread = heap->spread;
    out->samples = heap->all.allocated.sampled.samples;
    out->samples_live = out->samples - heap->all.freed.sampled.samples;
    out->exact = heap->kind != PL_HEAP_NAMED || (out->exact && out->samples == 0);
    out->exact_calls = heap->all.allocated.exact_objects;
    out->exact_bytes = heap->all.allocated.exact_space;
    out->recorded_calls = out->total[PL_METRIC_ALLOC_OBJECTS].value;
    out->recorded_bytes = out->total[PL_METRIC_ALLOC_SPACE].value;
    out->peak_s = heap->peak_s;
    out->peak_slack_bytes = 0;
}

struct pl_profile *pl_narrow_heap(const struct pl_profile *whole, uint32_t number, struct pl_arena *arena)
{
    const struct pl_heap_view *heap = &whole->heap[number];
    struct pl_profile *out = pl_arena_alloc(arena, sizeof *out);
    *out = *whole;
    out->looked = PL_LOOKED_NOT;
    out->arena = arena;
    out->heaps = 0;
    out->shown = heap->name;
    out->addresses = heap->kind != PL_HEAP_NAMED;
    out->method = method_of(heap, arena);
    out->sites = heap->sites;
    out->site = pl_arena_alloc(arena, (heap->sites + 1ull) * sizeof *out->site);
    memcpy(out->site, heap->site, heap->sites * sizeof *out->site);
    out->moments = out->compositions = 0;
    out->allocator = PL_NO_MODULE;
    for (int how = 0; how < PL_BYPASS_COUNT; how++)
        out->bypass[how] = "";
    keep_threads_with_sites(out, arena);
    take_totals(out, heap);
    pl_narrow_count_sites(out, arena);
    return out;
}

uint32_t pl_narrow_stacks(const struct pl_profile *profile)
{
    bool *seen = pl_grow_zeroed(profile->stacks + 1ull, sizeof *seen);
    uint32_t count = 0;
    for (uint32_t i = 0; i < profile->sites; i++) {
        uint32_t stack = profile->site[i].stack;
        if (stack == PL_NO_STACK || seen[stack])
            continue;
        seen[stack] = true;
        count++;
    }
    free(seen);
    return count;
}
