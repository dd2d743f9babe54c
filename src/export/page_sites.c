/* SPDX-License-Identifier: MIT */
/*
 * page_sites.c - the columns of page data that have figures in them: sites, histograms, shares of snapshots.
 *
 * Sites have the sums that metrics are computed from (struct pl_figures), not the metrics: these add up, and the page
 * estimates when it has added.
 */
#include <assert.h>
#include <stddef.h>

#include "grow.h"
#include "page_work.h"

/* --- sites --- */

struct member {
    const char *name;
    enum pl_column_of of;
    size_t offset;
};

#define SITE(name, of, member)                                                                                         \
    {                                                                                                                  \
        "site." name, of, offsetof(struct pl_site_view, member)                                                        \
    }
#define REAL(name, member) SITE(name, PL_COLUMN_F64, member)
#define WHOLE(name, member) SITE(name, PL_COLUMN_U64, member)
#define AMOUNT(name)                                                                                                   \
    REAL(#name ".exact_objects", figures.name.exact_objects), REAL(#name ".exact_space", figures.name.exact_space),    \
        REAL(#name ".objects", figures.name.sampled.objects), REAL(#name ".space", figures.name.sampled.space),        \
        REAL(#name ".objects_variance", figures.name.sampled.objects_variance),                                        \
        REAL(#name ".space_variance", figures.name.sampled.space_variance),                                            \
        WHOLE(#name ".samples", figures.name.sampled.samples)

static const struct member site_members[] = {
    SITE("thread", PL_COLUMN_U32, thread),
    SITE("tag", PL_COLUMN_U32, tag),
    SITE("other_sizes", PL_COLUMN_U8, other_sizes),
    AMOUNT(allocated),
    AMOUNT(freed),
    AMOUNT(peak),
    AMOUNT(temporary),
    REAL("skew.objects", figures.skew.objects),
    REAL("skew.space", figures.skew.space),
    REAL("unseen_interval", figures.unseen_interval),
    WHOLE("smallest", spread.smallest),
    WHOLE("largest", spread.largest),
    REAL("realloc_calls", spread.realloc_calls),
    REAL("realloc_moved", spread.realloc_moved),
    REAL("realloc_in_place", spread.realloc_in_place),
    REAL("exit_objects", spread.exit_objects),
    REAL("exit_space", spread.exit_space),
};

static void add_members(struct pl_columns *columns, const struct member *member, size_t members, const void *array,
                        size_t stride)
{
    for (size_t i = 0; i < members; i++)
        pl_columns_add(columns, member[i].name, member[i].of, (const char *) array + member[i].offset, stride);
}

static void add_stacks(struct pl_page_work *work)
{
    struct pl_page_stack *stack = pl_arena_alloc(work->arena, (work->profile->sites + 1ull) * sizeof *stack);
    uint8_t *stackless = pl_arena_alloc(work->arena, work->profile->sites + 1ull);
    for (uint32_t i = 0; i < work->profile->sites; i++) {
        stack[i] = pl_page_site_stack(work, i);
        stackless[i] = work->profile->site[i].stack == PL_NO_STACK;
    }
    pl_columns_add(work->columns, "site.node", PL_COLUMN_U32, &stack->node, sizeof *stack);
    pl_columns_add(work->columns, "site.inner", PL_COLUMN_U32, &stack->inner, sizeof *stack);
    pl_columns_add(work->columns, "site.own", PL_COLUMN_U32, &stack->own, sizeof *stack);
    pl_columns_add(work->columns, "site.outer", PL_COLUMN_U32, &stack->outer, sizeof *stack);
    pl_columns_add(work->columns, "site.stackless", PL_COLUMN_U8, stackless, 1);
}

/* --- histograms, nearly all of which is empty --- */

static const struct histogram {
    const char *table, *site, *bucket, *count;
    size_t offset;
    uint8_t buckets;
} histograms[] = {
#define HISTOGRAM(name, buckets)                                                                                       \
    {                                                                                                                  \
#name, #name ".site", #name ".bucket", #name ".count", offsetof(struct pl_site_view, spread.name), buckets     \
    }
    HISTOGRAM(sizes, PL_SIZE_BUCKETS),
    HISTOGRAM(lives, PL_LIFE_BUCKETS),
    HISTOGRAM(ages, PL_COHORTS),
};
#define HISTOGRAMS (sizeof histograms / sizeof *histograms)
static_assert(HISTOGRAMS == PL_PAGE_HISTOGRAMS, "there is room for each");

static const double *counts_of(const struct pl_profile *profile, uint32_t site, const struct histogram *histogram)
{
    return (const double *) ((const char *) &profile->site[site] + histogram->offset);
}

static void gather(const double *count, uint32_t site, const struct histogram *histogram, struct pl_page_bars *bars)
{
    for (uint8_t b = 0; b < histogram->buckets; b++) {
        if (!count[b])
            continue;
        bars->bar = pl_grow(bars->bar, bars->count, &bars->room, sizeof *bars->bar);
        bars->bar[bars->count++] = (struct pl_page_bar){count[b], site, b};
    }
}

/* Sites are large, and many: all histograms in one pass over them. */
static void add_histograms(struct pl_page_work *work)
{
    for (uint32_t i = 0; i < work->profile->sites; i++)
        for (size_t h = 0; h < HISTOGRAMS; h++)
            gather(counts_of(work->profile, i, &histograms[h]), i, &histograms[h], &work->bars[h]);
    for (size_t h = 0; h < HISTOGRAMS; h++) {
        const struct pl_page_bar *bar = work->bars[h].bar;
        pl_columns_table(work->columns, histograms[h].table, work->bars[h].count);
        if (!bar)
            continue;
        pl_columns_add(work->columns, histograms[h].site, PL_COLUMN_U32, &bar->site, sizeof *bar);
        pl_columns_add(work->columns, histograms[h].bucket, PL_COLUMN_U8, &bar->bucket, sizeof *bar);
        pl_columns_add(work->columns, histograms[h].count, PL_COLUMN_F64, &bar->count, sizeof *bar);
    }
}

void pl_page_add_sites(struct pl_page_work *work)
{
    const struct pl_profile *profile = work->profile;
    pl_columns_table(work->columns, "site", profile->sites);
    add_stacks(work);
    add_members(work->columns, site_members, sizeof site_members / sizeof *site_members, profile->site,
                sizeof *profile->site);
    add_histograms(work);
}

/* --- snapshots --- */

struct share {
    struct pl_snapshot_share share;
    uint32_t snapshot;
};

static const struct member share_members[] = {
    {"share.snapshot", PL_COLUMN_U32, offsetof(struct share, snapshot)},
    {"share.site", PL_COLUMN_U32, offsetof(struct share, share.site)},
    {"share.objects", PL_COLUMN_F64, offsetof(struct share, share.objects)},
    {"share.bytes", PL_COLUMN_F64, offsetof(struct share, share.bytes)},
    {"share.calls", PL_COLUMN_F64, offsetof(struct share, share.calls)},
    {"share.allocated", PL_COLUMN_F64, offsetof(struct share, share.allocated)},
    {"share.divided", PL_COLUMN_U8, offsetof(struct share, share.divided)},
};

void pl_page_add_shares(struct pl_page_work *work)
{
    const struct pl_profile *profile = work->profile;
    uint32_t shares = 0;
    for (uint32_t s = 0; s < profile->snapshots; s++)
        shares += profile->snapshot[s].shares;
    struct share *share = pl_arena_alloc(work->arena, (shares + 1ull) * sizeof *share), *next = share;
    for (uint32_t s = 0; s < profile->snapshots; s++)
        for (uint32_t i = 0; i < profile->snapshot[s].shares; i++)
            *next++ = (struct share){profile->snapshot[s].share[i], s};
    pl_columns_table(work->columns, "share", shares);
    add_members(work->columns, share_members, sizeof share_members / sizeof *share_members, share, sizeof *share);
}
