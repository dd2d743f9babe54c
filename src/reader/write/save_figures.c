/* SPDX-License-Identifier: MIT */
/*
 * save_figures.c - writes the figures of sites as tallies and rows.
 *
 * Exact figures become a tally and sampled ones a row; a site may have both. Their histograms have been added up and
 * must be divided: a tally takes whole numbers, up to its number of blocks, and the row takes the rest. Rows have
 * floats, with seven digits, so the eighth digit of sampled histograms is lost.
 *
 * Histogram counters of a tally end at 2^32. If there are more blocks than that, further tallies take the rest of the
 * histograms, and of the figures as little as a reader needs to accept them: one block of 0 bytes, freed if any is.
 *
 * All records have the era of the peak: what they held at the peak is saved in them.
 */
#include <math.h>
#include <string.h>

#include "reader/site.h"
#include "reader/write/save_work.h"

#define U32 4294967295.0
#define CALLS_MAX 0x1p53 /* a reader takes more for damage */
#define BYTES_MAX 0x1p62

/* ---- tallies ---- */

/* Takes at most `room` whole blocks out of a histogram's bucket. */
static uint32_t take(double *bucket, double room)
{
    double taken = fmin(fmin(floor(*bucket), room), U32);
    *bucket -= taken;
    return (uint32_t) taken;
}

static uint64_t take_whole(double *figure, double room)
{
    double taken = fmin(floor(*figure), fmin(room, BYTES_MAX));
    *figure -= taken;
    return (uint64_t) taken;
}

static uint64_t calls(double figure)
{
    return (uint64_t) fmin(figure, CALLS_MAX);
}

static uint64_t bytes(double figure)
{
    return (uint64_t) fmin(figure, BYTES_MAX);
}

/* What is left to divide between the tallies of a site, and then its row. */
struct share {
    struct pl_tally base; /* site, thread, eras, sizes: the same in all */
    struct pl_figures figures;
    struct pl_spread spread;
};

static void take_histograms(struct share *share, struct pl_tally *tally, double blocks)
{
    struct pl_spread *spread = &share->spread;
    for (unsigned i = 0; i < PL_SIZE_BUCKETS; i++)
        tally->sizes[i] = take(&spread->sizes[i], blocks);
    for (unsigned i = 0; i < PL_LIFE_BUCKETS; i++)
        tally->lives[i] = take(&spread->lives[i], blocks);
    for (unsigned i = 0; i < PL_COHORTS; i++)
        tally->made[i] = take(&spread->ages[i], blocks);
    tally->made_calls = tally->calls;
    tally->gone_calls = tally->freed_calls;
}

/* A tally of one block of 0 bytes. The main tally then has one block fewer: a figure that would exceed its blocks moves
 * one to this tally. */
static struct pl_tally spare_tally(struct share *share)
{
    struct pl_figures *figures = &share->figures;
    struct pl_tally tally = share->base;
    double *allocated = &figures->allocated.exact_objects, *freed = &figures->freed.exact_objects;
    *allocated -= 1;
    tally.calls = 1;
    tally.freed_calls = take_whole(freed, 1);
    tally.peak_calls = figures->peak.exact_objects > *allocated ? take_whole(&figures->peak.exact_objects, 1) : 0;
    tally.temporaries =
        figures->temporary.exact_objects > *freed ? take_whole(&figures->temporary.exact_objects, 1) : 0;
    tally.exit_calls = share->spread.exit_objects > *freed ? take_whole(&share->spread.exit_objects, 1) : 0;
    return tally;
}

static struct pl_tally main_tally(struct share *share)
{
    const struct pl_figures *figures = &share->figures;
    struct pl_spread *spread = &share->spread;
    struct pl_tally tally = share->base;
    tally.calls = calls(figures->allocated.exact_objects);
    tally.bytes = bytes(figures->allocated.exact_space);
    tally.freed_calls = calls(figures->freed.exact_objects);
    tally.freed_bytes = bytes(figures->freed.exact_space);
    tally.temporaries = calls(figures->temporary.exact_objects);
    tally.peak_calls = calls(figures->peak.exact_objects);
    tally.peak_bytes = bytes(figures->peak.exact_space);
    tally.realloc_calls = take_whole(&spread->realloc_calls, INFINITY);
    tally.realloc_moved = take_whole(&spread->realloc_moved, INFINITY);
    tally.realloc_in_place = take_whole(&spread->realloc_in_place, INFINITY);
    tally.exit_calls = take_whole(&spread->exit_objects, figures->freed.exact_objects);
    tally.exit_bytes = take_whole(&spread->exit_space, figures->freed.exact_space);
    return tally;
}

static uint32_t add_tally(struct pl_save_work *save, struct pl_tally *tally)
{
    uint32_t number = pl_save_add(save, PL_KIND_TALLY, tally);
    ((struct pl_tally *) pl_save_at(save, PL_KIND_TALLY, number))->number = number;
    return number;
}

static double largest(const double *bucket, unsigned buckets)
{
    double most = 0;
    for (unsigned i = 0; i < buckets; i++)
        most = fmax(most, bucket[i]);
    return most;
}

/* Returns the number of the main one. */
static uint32_t save_tallies(struct pl_save_work *save, struct share *share)
{
    const struct pl_spread *spread = &share->spread;
    double blocks = share->figures.allocated.exact_objects;
    double most = fmax(fmax(largest(spread->sizes, PL_SIZE_BUCKETS), largest(spread->lives, PL_LIFE_BUCKETS)),
                       largest(spread->ages, PL_COHORTS));
    for (double left = fmin(most, blocks); left > U32 && !save->full; left -= U32) {
        struct pl_tally spare = spare_tally(share);
        take_histograms(share, &spare, blocks);
        add_tally(save, &spare);
    }
    struct pl_tally tally = main_tally(share);
    take_histograms(share, &tally, blocks);
    return add_tally(save, &tally);
}

/* ---- rows ---- */

static void copy_weights(float *to, const double *from, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        to[i] = (float) from[i];
}

static uint32_t save_row(struct pl_save_work *save, const struct share *share)
{
    const struct pl_figures *figures = &share->figures;
    const struct pl_spread *spread = &share->spread;
    struct pl_row row = {
        .site = share->base.site,
        .thread = share->base.thread,
        .era = save->header.peak.era,
        .remote_era = save->header.peak.era,
        .reset = save->header.resets,
        .allocated = figures->allocated.sampled,
        .freed = figures->freed.sampled,
        .peak = figures->peak.sampled,
        .skew = figures->skew,
        .temporaries = figures->temporary.sampled.objects,
        .smallest = share->base.smallest,
        .largest = share->base.largest,
        .realloc_calls = spread->realloc_calls,
        .realloc_moved = spread->realloc_moved,
        .realloc_in_place = spread->realloc_in_place,
        .exit_objects = spread->exit_objects,
        .exit_space = spread->exit_space,
        .cohort_shift = save->header.timeline_shift,
    };
    copy_weights(row.sizes, spread->sizes, PL_SIZE_BUCKETS);
    copy_weights(row.lives, spread->lives, PL_LIFE_BUCKETS);
    copy_weights(row.made, spread->ages, PL_COHORTS);
    return pl_save_add(save, PL_KIND_ROW, &row);
}

/* ---- what is lost ---- */

static void save_verdict(struct pl_save_work *save, const struct share *share, const struct pl_figures *figures)
{
    const struct pl_spread *spread = &share->spread;
    struct pl_verdict_record record = {
        .site = share->base.site,
        .thread = share->base.thread,
        .lost_objects = figures->lost.exact_objects,
        .lost_space = figures->lost.exact_space,
        .sampled = figures->lost.sampled,
        .with_objects = spread->with_objects,
        .with_space = spread->with_space,
        .along_objects = spread->along_objects,
        .along_space = spread->along_space,
        .inner_objects = spread->inner_objects,
        .inner_space = spread->inner_space,
        .example = spread->lost_example,
        .inner_example = spread->inner_example,
    };
    if (record.example != 0 || record.lost_objects > 0 || record.sampled.samples > 0 || record.inner_objects > 0)
        pl_save_add(save, PL_KIND_VERDICT, &record);
}

/* ---- sites ---- */

/* A site without a stack is the overflow site; under a tag, it is a site record without a stack. */
static uint32_t save_site(struct pl_save_work *save, const struct pl_site_view *site)
{
    if (site->stack == PL_NO_STACK && !site->other_sizes && site->tag == 0)
        return PL_SITE_OVERFLOW;
    struct pl_site record = {
        .valid = 1,
        .stack = site->stack == PL_NO_STACK ? 0 : save->stack_record[site->stack],
        .tag = site->tag,
        .kind = site->other_sizes ? PL_SITE_OTHER_SIZES : PL_SITE_STACK,
    };
    return pl_save_add(save, PL_KIND_SITE, &record);
}

static struct share share_of(struct pl_save_work *save, const struct pl_site_view *site)
{
    uint32_t thread = site->thread + 1;
    struct pl_spread spread = pl_site_spread(site);
    return (struct share){
        .base =
            {
                .site = save_site(save, site),
                .thread = thread,
                .owner = thread,
                .era = save->header.peak.era,
                .freed_era = save->header.peak.era,
                .smallest = (uint32_t) spread.smallest,
                .largest = (uint32_t) spread.largest,
                .cohort_shift = (uint8_t) save->header.timeline_shift,
                .reset = (uint16_t) save->header.resets,
            },
        .figures = pl_site_figures(site),
        .spread = spread,
    };
}

void pl_save_figures(struct pl_save_work *save)
{
    const struct pl_profile *profile = save->profile;
    save->who = pl_arena_alloc(save->arena, profile->sites * sizeof *save->who);
    pl_save_add(save, PL_KIND_SITE, &(struct pl_site){.valid = 1});
    for (uint32_t i = 0; i < profile->sites; i++) {
        struct share share = share_of(save, &profile->site[i]);
        const struct pl_sums *sampled = &share.figures.allocated.sampled;
        const struct pl_figures figures = share.figures;
        bool sampled_too = sampled->samples > 0 || sampled->objects > 0 || sampled->space > 0;
        if (share.figures.allocated.exact_objects >= 1)
            save->who[i] = save_tallies(save, &share);
        if (sampled_too) {
            uint32_t row = save_row(save, &share);
            save->who[i] = save->who[i] ? save->who[i] : row | PL_COMPOSITION_ROW;
        }
        save_verdict(save, &share, &figures);
    }
}
