/* SPDX-License-Identifier: MIT */
/*
 * join_sites.c - joins the sites of several profiles.
 *
 * In a sum, sites with the same stack, thread and tag become one: their figures are added, and estimated once, later.
 * Each process has its own time: age classes are dropped, and lifetimes are converted to the unit of the first profile
 * whose unit is known. Buckets are powers of two, so those of another clock move by whole buckets, to the nearest.
 *
 * In a difference, sites and their metrics stay as they were.
 */
#include <math.h>
#include <string.h>

#include "reader/account.h"
#include "reader/base/index.h"
#include "reader/join/join_work.h"
#include "reader/site.h"
#include "reader/totals.h"

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

static uint32_t find_site(struct pl_profile *out, const struct pl_index *index, const struct pl_site_view *wanted)
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
    return *slot - 1;
}

/* By how many buckets lifetimes move when converted from `unit_s` to `wanted_s`. */
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

/* A site of a part. The parts of a site are a list, in the order of the parts. */
struct share {
    const struct pl_profile *part;
    const struct pl_site_view *site;
    uint32_t next; /* index + 1; 0: none */
};

static void add_share(const struct share *share, double unit_s, struct pl_figures *figures, struct pl_spread *spread)
{
    struct pl_figures more = pl_site_figures(share->site);
    struct pl_spread further = pl_site_spread(share->site);
    settle_times(&further, share->part->unit_s, unit_s);
    more.unseen_interval = 0; /* this and the next: computed later, for the whole sum */
    more.hidden = (struct pl_hidden){0};
    more.peakrange = (struct pl_peakrange){0}; /* a sum of peaks has no moment */
    pl_figures_add(figures, &more);
    pl_spread_add(spread, &further);
}

/* Adds up the parts of a site. True: it has exact figures. */
static bool sum_site(struct pl_join_work *work, const struct share *share, uint32_t first, struct pl_site_view *site)
{
    struct pl_figures figures = {0};
    struct pl_spread spread = {0};
    for (uint32_t at = first; at != 0; at = share[at - 1].next)
        add_share(&share[at - 1], work->out->unit_s, &figures, &spread);
    pl_account_temporaries(&figures, figures.temporary.sampled.objects);
    figures.call_charge = pl_totals_charge(work->out);
    site->figures = pl_site_pack_figures(work->out->arena, &figures);
    site->spread = pl_site_pack_spread(work->out->arena, &spread);
    return figures.allocated.exact_objects > 0;
}

/* Finds the site of each part's site, and chains those of each. Returns the first of each site. */
static uint32_t *chain_shares(struct pl_join_work *work, struct share *share, uint32_t most)
{
    struct pl_index index = pl_index_new(work->scratch, most);
    uint32_t *first = pl_arena_alloc(work->scratch, most * sizeof *first);
    uint32_t *last = pl_arena_alloc(work->scratch, most * sizeof *last);
    uint32_t shares = 0;
    for (uint32_t p = 0; p < work->parts; p++)
        for (uint32_t i = 0; i < work->part[p]->sites; i++) {
            struct pl_site_view wanted = translate(&work->map[p], &work->part[p]->site[i]);
            uint32_t site = find_site(work->out, &index, &wanted);
            share[shares++] = (struct share){.part = work->part[p], .site = &work->part[p]->site[i]};
            *(last[site] ? &share[last[site] - 1].next : &first[site]) = shares;
            last[site] = shares;
        }
    return first;
}

/* Puts sites in the order in which they would be read from a file: those with exact figures first. */
static void sum_sites(struct pl_join_work *work, uint32_t most)
{
    struct pl_profile *out = work->out;
    struct share *share = pl_arena_alloc(work->scratch, most * sizeof *share);
    const uint32_t *first = chain_shares(work, share, most);
    struct pl_site_view *sampled = pl_arena_alloc(work->scratch, (out->sites + 1ull) * sizeof *sampled);
    uint32_t counted = 0, others = 0;
    for (uint32_t i = 0; i < out->sites; i++) {
        struct pl_site_view site = out->site[i];
        if (sum_site(work, share, first[i], &site))
            out->site[counted++] = site;
        else
            sampled[others++] = site;
    }
    memcpy(out->site + counted, sampled, others * sizeof *sampled);
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

static void keep_compositions(struct pl_join_work *work)
{
    const struct pl_profile *part = work->part[1];
    struct pl_profile *out = work->out;
    out->composition = pl_arena_alloc(out->arena, (part->compositions + 1ull) * sizeof *out->composition);
    for (uint32_t i = 0; i < part->compositions; i++) {
        const struct pl_composition_view *composition = &part->composition[i];
        struct pl_composition_share *share = pl_arena_alloc(out->arena, composition->shares * sizeof *share);
        for (uint32_t s = 0; s < composition->shares; s++) {
            share[s] = composition->share[s];
            share[s].site += out->base_sites;
        }
        out->composition[i] = *composition;
        out->composition[i].share = share;
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
        keep_compositions(work);
    }
}
