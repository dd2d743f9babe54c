/* SPDX-License-Identifier: MIT */
/*
 * join_sites.c - the sites of several profiles.
 *
 * In a sum, sites of one stack, thread and tag are one: figures are added, and estimated later, once. What of them is
 * about time is each process's own: age classes are dropped, and lifetimes are counted in units of the first profile
 * that knows its own. Buckets are powers of two, so another clock's are moved by whole buckets, to the nearest.
 *
 * In a difference each site stays what it was, and so do its metrics.
 */
#include <math.h>
#include <string.h>

#include "account.h"
#include "index.h"
#include "join_work.h"

static struct pl_site_view translate(const struct pl_join_map *map, const struct pl_site_view *site)
{
    struct pl_site_view view = *site;
    view.stack = site->stack == PL_NO_STACK ? PL_NO_STACK : map->stack[site->stack];
    view.thread = map->thread[site->thread];
    view.tag = map->tag[site->tag];
    return view;
}

/* ---- a sum ---- */

struct question {
    const struct pl_site_view *site, *wanted;
};

static bool same_site(const void *context, uint32_t entry)
{
    const struct question *question = context;
    const struct pl_site_view *a = &question->site[entry], *b = question->wanted;
    return a->stack == b->stack && a->thread == b->thread && a->tag == b->tag && a->other_sizes == b->other_sizes;
}

static struct pl_site_view *find_site(struct pl_profile *out, const struct pl_index *index,
                                      const struct pl_site_view *wanted)
{
    struct question question = {out->site, wanted};
    uint64_t where = (uint64_t) wanted->stack << 32 | wanted->thread;
    uint64_t what = (uint64_t) wanted->tag << 1 | wanted->other_sizes;
    uint32_t *slot = pl_index_find(index, where, what, same_site, &question);
    if (*slot == 0) {
        out->site[out->sites] = (struct pl_site_view){
            .stack = wanted->stack,
            .thread = wanted->thread,
            .tag = wanted->tag,
            .other_sizes = wanted->other_sizes,
        };
        *slot = ++out->sites;
    }
    return &out->site[*slot - 1];
}

/* By how many buckets lifetimes in `unit_s` move to be in `wanted_s`. */
static int shift_of(double unit_s, double wanted_s)
{
    return (int) lround(log2(unit_s / wanted_s));
}

static void shift_lives(double lives[PL_LIFE_BUCKETS], int shift)
{
    double from[PL_LIFE_BUCKETS];
    memcpy(from, lives, sizeof from);
    memset(lives, 0, sizeof from);
    for (int i = 0; i < PL_LIFE_BUCKETS; i++) {
        int to = i == 0 ? 0 : i + shift;
        lives[to < 0 ? 0 : to < PL_LIFE_BUCKETS ? to : PL_LIFE_BUCKETS - 1] += from[i];
    }
}

static void settle_times(struct pl_spread *spread, double unit_s, double wanted_s)
{
    memset(spread->ages, 0, sizeof spread->ages);
    if (!(unit_s > 0))
        memset(spread->lives, 0, sizeof spread->lives);
    else if (shift_of(unit_s, wanted_s) != 0)
        shift_lives(spread->lives, shift_of(unit_s, wanted_s));
}

static void sum_part(struct pl_join_work *work, uint32_t p, const struct pl_index *index)
{
    const struct pl_profile *part = work->part[p];
    for (uint32_t i = 0; i < part->sites; i++) {
        struct pl_site_view more = translate(&work->map[p], &part->site[i]);
        struct pl_site_view *site = find_site(work->out, index, &more);
        settle_times(&more.spread, part->unit_s, work->out->unit_s);
        more.figures.unseen_interval = 0; /* that of the whole is known when all of it is there */
        pl_figures_add(&site->figures, &more.figures);
        pl_spread_add(&site->spread, &more.spread);
    }
}

/* In the order in which they would be read from a file: what was counted comes first. */
static void order_sites(struct pl_profile *out, struct pl_arena *scratch)
{
    struct pl_site_view *sampled = pl_arena_alloc(scratch, (out->sites + 1ull) * sizeof *sampled);
    uint32_t counted = 0, others = 0;
    for (uint32_t i = 0; i < out->sites; i++) {
        if (out->site[i].figures.allocated.exact_objects > 0)
            out->site[counted++] = out->site[i];
        else
            sampled[others++] = out->site[i];
    }
    memcpy(out->site + counted, sampled, others * sizeof *sampled);
}

static void sum_sites(struct pl_join_work *work, uint32_t most)
{
    struct pl_index index = pl_index_new(work->scratch, most);
    for (uint32_t p = 0; p < work->parts; p++)
        sum_part(work, p, &index);
    for (uint32_t i = 0; i < work->out->sites; i++)
        pl_row_temporaries(&work->out->site[i].figures, work->out->site[i].figures.temporary.sampled.objects);
    order_sites(work->out, work->scratch);
}

/* ---- a difference ---- */

static void keep_sites(struct pl_join_work *work)
{
    struct pl_profile *out = work->out;
    for (uint32_t p = 0; p < work->parts; p++)
        for (uint32_t i = 0; i < work->part[p]->sites; i++)
            out->site[out->sites++] = translate(&work->map[p], &work->part[p]->site[i]);
    out->base_sites = work->part[0]->sites;
    out->difference = true;
}

static void keep_snapshots(struct pl_join_work *work)
{
    const struct pl_profile *part = work->part[1];
    struct pl_profile *out = work->out;
    out->snapshot = pl_arena_alloc(out->arena, (part->snapshots + 1ull) * sizeof *out->snapshot);
    for (uint32_t i = 0; i < part->snapshots; i++) {
        const struct pl_snapshot_view *snapshot = &part->snapshot[i];
        struct pl_snapshot_share *share = pl_arena_alloc(out->arena, snapshot->shares * sizeof *share);
        for (uint32_t s = 0; s < snapshot->shares; s++) {
            share[s] = snapshot->share[s];
            share[s].site += out->base_sites;
        }
        out->snapshot[i] = *snapshot;
        out->snapshot[i].share = share;
    }
}

void pl_join_sites(struct pl_join_work *work)
{
    uint32_t most = 0;
    for (uint32_t p = 0; p < work->parts; p++)
        most += work->part[p]->sites;
    work->out->site = pl_arena_alloc(work->out->arena, (most + 1ull) * sizeof *work->out->site);
    if (work->how == PL_JOIN_SUM) {
        sum_sites(work, most);
    } else {
        keep_sites(work);
        keep_snapshots(work);
    }
}
