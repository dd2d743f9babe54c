/* SPDX-License-Identifier: MIT */
/*
 * page_sites.c - the columns of page data that contain figures: sites, histograms, and the heap composition over time.
 *
 * Sites have the sums that metrics are computed from (struct pl_figures), not the metrics. Sums can be added: the page
 * adds them up over sites and then computes the estimate.
 */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "page/data/page_work.h"
#include "reader/base/grow.h"
#include "reader/site.h"

/* --- sites --- */

/* The figures that a site keeps packed. */
struct content {
    struct pl_figures figures;
    struct pl_spread spread;
};

#define SITE(name, of, member)                                                                                         \
    {                                                                                                                  \
        "site." name, of, offsetof(struct content, member)                                                             \
    }
#define REAL(name, member) SITE(name, PL_COLUMN_F64, member)
#define WHOLE(name, member) SITE(name, PL_COLUMN_U64, member)
#define AMOUNT(name)                                                                                                   \
    REAL(#name ".exact_objects", figures.name.exact_objects), REAL(#name ".exact_space", figures.name.exact_space),    \
        REAL(#name ".objects", figures.name.sampled.objects), REAL(#name ".space", figures.name.sampled.space),        \
        REAL(#name ".objects_variance", figures.name.sampled.objects_variance),                                        \
        REAL(#name ".space_variance", figures.name.sampled.space_variance),                                            \
        WHOLE(#name ".samples", figures.name.sampled.samples)

static const struct pl_columns_member site_members[] = {
    {"site.thread", PL_COLUMN_U32, offsetof(struct pl_site_view, thread)},
    {"site.tag", PL_COLUMN_U32, offsetof(struct pl_site_view, tag)},
    {"site.other_sizes", PL_COLUMN_U8, offsetof(struct pl_site_view, other_sizes)},
};

static const struct pl_columns_member content_members[] = {
    AMOUNT(allocated),
    AMOUNT(freed),
    AMOUNT(peak),
    AMOUNT(temporary),
    AMOUNT(lost),
    REAL("skew.objects", figures.skew.objects),
    REAL("skew.space", figures.skew.space),
    REAL("unseen_interval", figures.unseen_interval),
    REAL("hidden.objects", figures.hidden.objects),
    REAL("hidden.space", figures.hidden.space),
    REAL("swing.more_objects", figures.peakrange.more_objects),
    REAL("swing.less_objects", figures.peakrange.less_objects),
    REAL("swing.more_space", figures.peakrange.more_space),
    REAL("swing.less_space", figures.peakrange.less_space),
    WHOLE("smallest", spread.smallest),
    WHOLE("largest", spread.largest),
    REAL("realloc_calls", spread.realloc_calls),
    REAL("realloc_moved", spread.realloc_moved),
    REAL("realloc_in_place", spread.realloc_in_place),
    REAL("exit_objects", spread.exit_objects),
    REAL("exit_space", spread.exit_space),
};

/* Unpacks each site once. Most members are zero in all sites, and need no column. */
#define CONTENT_MEMBERS (sizeof content_members / sizeof *content_members)
static void add_content(struct pl_page_work *work)
{
    const struct pl_profile *profile = work->profile;
    uint64_t *column[CONTENT_MEMBERS] = {0};
    for (uint32_t i = 0; i < profile->sites; i++) {
        struct content content = {pl_site_figures(&profile->site[i]), pl_site_spread(&profile->site[i])};
        for (size_t m = 0; m < CONTENT_MEMBERS; m++) {
            uint64_t bits;
            memcpy(&bits, (const char *) &content + content_members[m].offset, sizeof bits);
            if (!bits)
                continue;
            if (!column[m])
                column[m] = pl_arena_alloc(work->arena, profile->sites * sizeof *column[m]);
            column[m][i] = bits;
        }
    }
    for (size_t m = 0; m < CONTENT_MEMBERS; m++)
        if (column[m])
            pl_columns_add(work->columns, content_members[m].name, content_members[m].of, column[m], sizeof *column[m]);
}

static void add_stacks(struct pl_page_work *work)
{
    struct pl_page_stack *stack = pl_arena_alloc(work->arena, (work->profile->sites + 1ull) * sizeof *stack);
    uint8_t *stackless = pl_arena_alloc(work->arena, work->profile->sites + 1ull);
    for (uint32_t i = 0; i < work->profile->sites; i++) {
        stack[i] = pl_page_work_stack(work, i);
        stackless[i] = work->profile->site[i].stack == PL_NO_STACK;
    }
    pl_columns_add(work->columns, "site.node", PL_COLUMN_U32, &stack->node, sizeof *stack);
    pl_columns_add(work->columns, "site.inner", PL_COLUMN_U32, &stack->inner, sizeof *stack);
    pl_columns_add(work->columns, "site.own", PL_COLUMN_U32, &stack->own, sizeof *stack);
    pl_columns_add(work->columns, "site.outer", PL_COLUMN_U32, &stack->outer, sizeof *stack);
    pl_columns_add(work->columns, "site.stackless", PL_COLUMN_U8, stackless, 1);
}

/* --- histograms: nearly all buckets are empty --- */

static const struct histogram {
    const char *table, *site, *bucket, *count;
    size_t offset;
    uint8_t buckets;
} histograms[] = {
#define HISTOGRAM(name, buckets)                                                                                       \
    {                                                                                                                  \
#name, #name ".site", #name ".bucket", #name ".count", offsetof(struct pl_spread, name), buckets               \
    }
    HISTOGRAM(sizes, PL_SIZE_BUCKETS),
    HISTOGRAM(lives, PL_LIFE_BUCKETS),
    HISTOGRAM(ages, PL_COHORTS),
};
#define HISTOGRAMS (sizeof histograms / sizeof *histograms)
static_assert(HISTOGRAMS == PL_PAGE_HISTOGRAMS, "pl_page_work.bars has one element for each histogram");

static const double *counts_of(const struct pl_spread *spread, const struct histogram *histogram)
{
    return (const double *) ((const char *) spread + histogram->offset);
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

/* One pass for all histograms: each site is unpacked once. */
static void add_histograms(struct pl_page_work *work)
{
    for (uint32_t i = 0; i < work->profile->sites; i++) {
        struct pl_spread spread = pl_site_spread(&work->profile->site[i]);
        for (size_t h = 0; h < HISTOGRAMS; h++)
            gather(counts_of(&spread, &histograms[h]), i, &histograms[h], &work->bars[h]);
    }
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

void pl_page_sites_add(struct pl_page_work *work)
{
    const struct pl_profile *profile = work->profile;
    pl_columns_table(work->columns, "site", profile->sites);
    add_stacks(work);
    pl_columns_add_all(work->columns, site_members, sizeof site_members / sizeof *site_members, profile->site,
                       sizeof *profile->site);
    add_content(work);
    add_histograms(work);
}

/* --- heap composition over time --- */

struct share {
    struct pl_composition_share share;
    uint32_t composition;
};

static const struct pl_columns_member share_members[] = {
    {"share.snapshot", PL_COLUMN_U32, offsetof(struct share, composition)},
    {"share.site", PL_COLUMN_U32, offsetof(struct share, share.site)},
    {"share.objects", PL_COLUMN_F64, offsetof(struct share, share.objects)},
    {"share.bytes", PL_COLUMN_F64, offsetof(struct share, share.bytes)},
    {"share.calls", PL_COLUMN_F64, offsetof(struct share, share.calls)},
    {"share.allocated", PL_COLUMN_F64, offsetof(struct share, share.allocated)},
    {"share.divided", PL_COLUMN_U8, offsetof(struct share, share.divided)},
};

void pl_page_sites_add_shares(struct pl_page_work *work)
{
    const struct pl_profile *profile = work->profile;
    uint32_t shares = 0;
    for (uint32_t s = 0; s < profile->compositions; s++)
        shares += profile->composition[s].shares;
    struct share *share = pl_arena_alloc(work->arena, (shares + 1ull) * sizeof *share), *next = share;
    for (uint32_t s = 0; s < profile->compositions; s++)
        for (uint32_t i = 0; i < profile->composition[s].shares; i++)
            *next++ = (struct share){profile->composition[s].share[i], s};
    pl_columns_table(work->columns, "share", shares);
    pl_columns_add_all(work->columns, share_members, sizeof share_members / sizeof *share_members, share,
                       sizeof *share);
}
