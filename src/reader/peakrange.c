/* SPDX-License-Identifier: MIT */
/*
 * peakrange.c - how certain the peak is: its moment, and its height.
 *
 * *The moment.* Samples estimate the heap, and the runtime takes the moment at which the estimate is largest. The true
 * peak may have been at another moment of about the same height, when other sites held the heap. That is so even if
 * everything was counted until the peak, and sampled afterwards. The file has the heap's composition at up to 16
 * moments. Those that cannot be told from the peak widen the interval of each site, so that it includes what the site
 * held then.
 *
 * Two moments share the samples that are live at both, and the noise of these cancels. What differs between them, the
 * change, has a variance of one gap times its bytes. So a moment may have been the peak if it was lower by no more than
 * that noise, and by the slack with which the runtime declares peaks:
 *
 *     fall  <=  z sqrt(T change)  +  2 T
 *
 *   worked, T = 512 KiB: a heap that only grows is told from 7.3 T below, 3.6 MiB. One that exchanges 100 MiB of one
 *   site for 100 MiB of another is told only if it falls by 21 MiB.
 *
 * *The height.* The largest of many estimates is too large. As blocks come and go, so do their samples, and the
 * estimate fluctuates around the heap. The runtime takes it at its highest. It also splits the samples into two halves:
 * each chooses its own moment, and the other estimates the heap then, which chance has not raised. The peak is lowered
 * towards that, and every site that frees by its share. docs/maths.md has the derivation.
 */
#include <math.h>
#include <string.h>

#include "reader/base/grow.h"
#include "reader/figures.h"
#include "reader/site.h"
#include "reader/peakrange.h"

#define Z 1.959963984540054
#define Z_LARGEST 3.5   /* about what the largest of 3,000 values exceeds in half of the cases */
#define SLACK_SAMPLES 2 /* as in core/records/eras.c */

struct held {
    double objects, space;
};

struct work {
    const struct pl_profile *profile;
    struct held *peak; /* this and the next two: by site */
    struct held *then;
    struct pl_peak_correction *correction;
};

/* Sites that are not listed are small, and taken to have held as much as at the peak. If nothing was left out, they
 * held nothing. */
static void hold(const struct work *work, const struct pl_composition_view *composition)
{
    bool all_listed = !(composition->left_out_bytes > 0);
    for (uint32_t i = 0; i < work->profile->sites; i++)
        work->then[i] = all_listed ? (struct held){0} : work->peak[i];
    for (uint32_t i = 0; i < composition->shares && !all_listed; i++)
        work->then[composition->share[i].site] = (struct held){0};
    for (uint32_t i = 0; i < composition->shares; i++) {
        work->then[composition->share[i].site].objects += composition->share[i].objects;
        work->then[composition->share[i].site].space += composition->share[i].bytes;
    }
}

static bool within_noise(double fall, double change, double gap, double z)
{
    return fall <= z * sqrt(gap * change) + SLACK_SAMPLES * gap;
}

/* Sums over sites: by how much less was live than at the peak, and the change from site to site. */
struct change {
    double objects, space, change;
};

static struct change compare(const struct work *work)
{
    struct change sum = {0};
    for (uint32_t i = 0; i < work->profile->sites; i++) {
        double less = work->peak[i].space - work->then[i].space;
        sum.objects += work->peak[i].objects - work->then[i].objects;
        sum.space += less;
        sum.change += fabs(less);
    }
    return sum;
}

static void widen(double *more, double *less, double then, double peak)
{
    *more = fmax(*more, then - peak);
    *less = fmax(*less, peak - then);
}

/* The total is the largest of many estimates, so noise has raised it: it may have been as low as at another moment. */
static void include_total(const struct change *sum, struct pl_peakrange *all)
{
    widen(&all->more_objects, &all->less_objects, -sum->objects, 0);
    widen(&all->more_space, &all->less_space, -sum->space, 0);
}

static void include(const struct work *work)
{
    for (uint32_t i = 0; i < work->profile->sites; i++) {
        struct pl_peakrange *range = &work->correction[i].range;
        widen(&range->more_objects, &range->less_objects, work->then[i].objects, work->peak[i].objects);
        widen(&range->more_space, &range->less_space, work->then[i].space, work->peak[i].space);
    }
}

/* A site that frees may have had one block more or less a moment before or after, if that is lost in the noise. */
static void include_a_block(const struct pl_figures *figures, double largest, const struct held *peak, double gap,
                            struct pl_peakrange *range)
{
    if (!(pl_amount_objects(&figures->freed) > 0) || !within_noise(largest, largest, gap, Z))
        return;
    widen(&range->more_objects, &range->less_objects, peak->objects + 1, peak->objects);
    widen(&range->more_space, &range->less_space, peak->space + largest, peak->space);
    widen(&range->more_objects, &range->less_objects, fmax(peak->objects - 1, 0), peak->objects);
    widen(&range->more_space, &range->less_space, fmax(peak->space - largest, 0), peak->space);
}

/* No sample was live at a declared peak: the estimate may have been as high as the slack without one being declared. */
static void allow_for_the_slack(double gap, struct pl_figures *all)
{
    const struct pl_sums *sampled = &all->allocated.sampled;
    if (all->peak.sampled.samples > 0 || sampled->samples == 0)
        return;
    double bytes = SLACK_SAMPLES * gap, charge = sampled->space / sampled->objects + (double) all->call_charge;
    widen(&all->peakrange.more_objects, &all->peakrange.less_objects, bytes / charge, 0);
    widen(&all->peakrange.more_space, &all->peakrange.less_space, bytes, 0);
}

/* ---- the height ---- */

/* What is live, and at the peak: as all samples estimate it. */
struct heights {
    double live, peak;
    double noise;    /* standard deviation of the peak */
    double rounding; /* of what is live, in the writer's figures */
};

/* What the other half estimates at the moment that this half has chosen, which may be now. The writer drops fractions
 * of a byte, and threads may not have reported the last batch. */
static double other_half(const struct pl_profile *profile, unsigned half, const struct heights *heights)
{
    const struct pl_half *it = &profile->header.half[half], *other = &profile->header.half[!half];
    bool now = heights->live + (double) it->more >= (double) it->peak - heights->rounding;
    return now ? heights->live + (double) other->more : (double) it->other;
}

/*
 * How much of the difference between the two estimates is chance's: that of all samples at the moment that they have
 * chosen is on average not below the peak, and that of the halves, each at the moment that the other has chosen, not
 * above it. The second is closer if there was much to choose from: if the heap was replaced many times, or if the two
 * differ by more than the noise. Measured on eight programs: docs/truth.md.
 *
 *   worked: 25 MB were allocated, 450 KB live at the peak: log n = 4, so 64%. With a difference of two standard
 *   deviations, 82%.
 */
#define LOG_CHANCES 3.0
#define MUCH 2.0
static double chance(double allocated, const struct heights *heights, double halves)
{
    double chances = log(fmax(allocated / heights->peak, 1)) / LOG_CHANCES;
    double apart = fmax(heights->peak - halves, 0) / heights->noise / MUCH;
    return 1 - 1 / ((1 + chances * chances) * (1 + apart * apart * apart * apart));
}

static double too_high_by(const struct pl_profile *profile, const struct pl_figures *all, double live)
{
    struct heights heights = {
        .live = live,
        .peak = pl_amount_space(&all->peak),
        .noise = sqrt(all->peak.sampled.space_variance),
        .rounding =
            2 * (double) (all->allocated.sampled.samples - all->freed.sampled.samples) + profile->peak_slack_bytes,
    };
    const struct pl_half *half = profile->header.half;
    if (!(heights.noise > 0) || !(heights.peak > 0) || (half[0].peak == 0 && half[1].peak == 0))
        return 0; /* nothing was sampled, or the file was written before there were halves */
    double halves = (other_half(profile, 0, &heights) + other_half(profile, 1, &heights)) / 2;
    double over = chance(pl_amount_space(&all->allocated), &heights, halves) * (heights.peak - halves);
    return isfinite(over) ? fmax(fmin(over, heights.peak - live), 0) : 0;
}

/* What a site may contribute to an estimate that is too high: the noise of its samples at the peak, if they come and
 * go. */
static double part_in_excess(const struct pl_figures *figures)
{
    const struct pl_sums *allocated = &figures->allocated.sampled, *freed = &figures->freed.sampled;
    if (freed->samples == 0 || !(figures->peak.sampled.space > 0))
        return 0;
    return figures->peak.sampled.space_variance * (double) freed->samples / (double) allocated->samples;
}

/* Lowers a figure within its interval: `kept` of the way, the upper end stays where it was. */
static void shift(struct pl_peakrange *range, double objects, double space, double kept)
{
    range->more_objects += kept * objects;
    range->more_space += kept * space;
    range->less_objects = fmax(range->less_objects - objects, 0);
    range->less_space = fmax(range->less_space - space, 0);
}

/* The variance stays: the figure has become lower, not more certain. No sample stands for less than itself. By how much
 * all sites together are too high is known better than the part of each. */
static void lower(const struct pl_figures *figures, struct pl_figures *all, double bytes,
                  struct pl_peak_correction *correction)
{
    const struct pl_sums *peak = &figures->peak.sampled;
    double seen = fmin((double) peak->samples / peak->objects, 1);
    double share = fmin(bytes / peak->space, 1 - seen);
    correction->objects = peak->objects * share;
    correction->space = peak->space * share;
    shift(&correction->range, correction->objects, correction->space, 1);
    all->peak.sampled.objects -= correction->objects;
    all->peak.sampled.space -= correction->space;
    shift(&all->peakrange, correction->objects, correction->space, 0.5);
}

/* Not to less than is live now. */
static void lower_peak(const struct work *work, struct pl_figures *all)
{
    const struct pl_profile *profile = work->profile;
    struct pl_amount live = pl_amount_rest(&all->allocated, &all->freed);
    double over = too_high_by(profile, all, pl_amount_space(&live)), parts = 0;
    for (uint32_t i = 0; i < profile->sites && over > 0; i++) {
        struct pl_figures figures = pl_site_figures(&profile->site[i]);
        parts += part_in_excess(&figures);
    }
    for (uint32_t i = 0; i < profile->sites && parts > 0; i++) {
        struct pl_figures figures = pl_site_figures(&profile->site[i]);
        double part = part_in_excess(&figures);
        if (part > 0)
            lower(&figures, all, over * part / parts, &work->correction[i]);
    }
}

struct pl_peak_correction *pl_peakrange_fold(const struct pl_profile *profile, struct pl_figures *all, bool peak_is_now,
                                             double gap)
{
    if (profile->merged > 0 || !(gap > 0)) /* a sum of peaks, or everything was counted */
        return NULL;
    struct work work = {
        .profile = profile,
        .peak = pl_grow_zeroed(profile->sites + 1ull, sizeof *work.peak),
        .then = pl_grow_zeroed(profile->sites + 1ull, sizeof *work.then),
        .correction = pl_grow_zeroed(profile->sites + 1ull, sizeof *work.correction),
    };
    for (uint32_t i = 0; i < profile->sites; i++) {
        struct pl_figures figures = pl_site_figures(&profile->site[i]);
        struct pl_amount peak = peak_is_now ? pl_amount_rest(&figures.allocated, &figures.freed) : figures.peak;
        double largest = (double) pl_site_spread(&profile->site[i]).largest;
        work.peak[i] = (struct held){pl_amount_objects(&peak), pl_amount_space(&peak)};
        include_a_block(&figures, largest, &work.peak[i], gap, &work.correction[i].range);
    }
    for (uint32_t i = 0; i < profile->compositions; i++) {
        hold(&work, &profile->composition[i]);
        struct change sum = compare(&work);
        if (within_noise(sum.space, sum.change, gap, Z_LARGEST))
            include_total(&sum, &all->peakrange);
        if (within_noise(sum.space, sum.change, gap, Z))
            include(&work);
    }
    allow_for_the_slack(gap, all);
    if (!peak_is_now) /* then it is the live figure as well */
        lower_peak(&work, all);
    free(work.peak);
    free(work.then);
    return work.correction;
}
