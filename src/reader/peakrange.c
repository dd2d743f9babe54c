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
 * that noise, and by two samples, because few samples are not normally distributed:
 *
 *     fall  <=  z sqrt(T change)  +  2 T
 *
 *   worked, T = 512 KiB: a heap that only grows is told from 7.3 T below, 3.6 MiB. One that exchanges 100 MiB of one
 *   site for 100 MiB of another is told only if it falls by 21 MiB.
 *
 * *The height.* The largest of many estimates is too large. As blocks come and go, so do their samples, and the
 * estimate fluctuates around the heap. The runtime takes it at its highest. How much too high that is depends on how
 * much the samples that come and go stand for, and on how often they were exchanged while the heap was near its peak:
 * see largest_of(). Every site that frees is lowered by its share. docs/maths.md has the derivation.
 */
#include <math.h>
#include <string.h>

#include "reader/base/grow.h"
#include "reader/figures.h"
#include "reader/site.h"
#include "reader/peakrange.h"

#define Z 1.959963984540054
#define Z_LARGEST 3.5 /* about what the largest of 3,000 values exceeds in half of the cases */
#define FEW_SAMPLES 2 /* a difference of so many samples may always be chance */

struct held {
    double objects, space;
};

/* What a site held at the peak. */
struct at_peak {
    struct held all, sampled;
    double samples;
    double part; /* in what the peak is too high by */
};

/* The variance of the estimate because of blocks that come and go, by what a sample of them stands for: small blocks'
 * samples stand for less. Classes are a part of a gap wide. */
#define CLASSES_PER_GAP 16
#define CLASSES 32
struct churn {
    double variance[CLASSES + 1]; /* from 1 on */
};

struct work {
    const struct pl_profile *profile;
    struct at_peak *peak; /* this and the next two: by site */
    struct held *then;
    struct pl_peak_correction *correction;
    struct churn churn[PL_LIFE_BUCKETS]; /* by how long blocks live */
    double gap;
};

/* Sites that are not listed are small, and taken to have held as much as at the peak. If nothing was left out, they
 * held nothing. */
static void hold(const struct work *work, const struct pl_composition_view *composition)
{
    bool all_listed = !(composition->left_out_bytes > 0);
    for (uint32_t i = 0; i < work->profile->sites; i++)
        work->then[i] = all_listed ? (struct held){0} : work->peak[i].all;
    for (uint32_t i = 0; i < composition->shares && !all_listed; i++)
        work->then[composition->share[i].site] = (struct held){0};
    for (uint32_t i = 0; i < composition->shares; i++) {
        work->then[composition->share[i].site].objects += composition->share[i].objects;
        work->then[composition->share[i].site].space += composition->share[i].bytes;
    }
}

static bool within_noise(double fall, double change, double gap, double z)
{
    return fall <= z * sqrt(gap * change) + FEW_SAMPLES * gap;
}

/* Sums over sites: by how much less was live than at the peak, and the change from site to site. */
struct change {
    double objects, space, change;
};

static struct change compare(const struct work *work)
{
    struct change sum = {0};
    for (uint32_t i = 0; i < work->profile->sites; i++) {
        double less = work->peak[i].all.space - work->then[i].space;
        sum.objects += work->peak[i].all.objects - work->then[i].objects;
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
        widen(&range->more_objects, &range->less_objects, work->then[i].objects, work->peak[i].all.objects);
        widen(&range->more_space, &range->less_space, work->then[i].space, work->peak[i].all.space);
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

/* ---- the height ---- */

static unsigned class_of(double spread, double gap)
{
    return (unsigned) fmin(fmax(round(spread / gap * CLASSES_PER_GAP), 1), CLASSES);
}

/* By Little's law, what is alive of the blocks that live for l is, on average, what was freed of them times l, divided
 * by the length of the run. */
static void add_churn(struct work *work, const struct pl_figures *figures, const struct pl_spread *seen)
{
    const struct pl_profile *profile = work->profile;
    double per_block = figures->freed.sampled.space_variance / pl_amount_objects(&figures->freed);
    double spread = figures->skew.space / figures->allocated.sampled.space_variance;
    if (!(per_block > 0) || !(spread > 0) || !isfinite(per_block) || !isfinite(spread))
        return;
    for (unsigned i = 0; i < PL_LIFE_BUCKETS; i++) {
        double life = fmin(pl_life_bucket_middle(i) * profile->unit_s, profile->duration_s);
        work->churn[i].variance[class_of(spread, work->gap)] += per_block * seen->lives[i] * life / profile->duration_s;
    }
}

static double variance_of(const struct churn *churn)
{
    double sum = 0;
    for (unsigned i = 1; i <= CLASSES; i++)
        sum += churn->variance[i];
    return sum;
}

/*
 * By how much the largest sum of samples exceeds its mean, if blocks come at random and all of them are replaced n
 * times. A sample of class j adds j to the sum, and count[j] of them are live on average.
 *
 * P(m), the probability of a sum of m, is that of a compound Poisson distribution (Panjer's recursion). The sum is
 * below m from beginning to end if it is so at first, and if no sample that comes finds it between m - j and m. n
 * count[j] samples of class j come. A sum that has just fallen below m returns in a share mean/m of the cases, and
 * these returns are not counted again. If m is near the mean, n independent sums reach it more often than that.
 *
 * If c is the chance of each sample, then none of them finds it with a probability of (1 - c)^n count[j], not exp(-c n
 * count[j]): the former is right on average if n count[j] is itself a count. If one sample came and went in the whole
 * run, and the heap was empty, then it is all of the excess.
 *
 *   worked, samples of one weight: 0.1 live on average, n = 1,000: 2.3.  3, 1,000: 8.4.  30, 300: 21.  300, 30: 49.
 */
#define COUNT_LARGE 100.0 /* above, sums are nearly normal, and the excess is proportional to their deviation */
#define SUMS 8192         /* of COUNT_LARGE samples of the highest class: 15 deviations above the mean */
#define SURE 0.999        /* a chance of 1 would be certain even of a part of a sample */
#define NEGLIGIBLE 1e-6
static double never_comes(const double *count, const double *below, unsigned m, double first, double n)
{
    double log_sum = 0;
    for (unsigned j = 1; j <= CLASSES; j++) {
        double chance = first * (below[m] - below[m > j ? m - j : 0]) / below[m];
        if (count[j] > 0 && chance > 0)
            log_sum += n * count[j] * log1p(-fmin(chance, SURE));
    }
    return exp(log_sum);
}

static double probability_of(const double *count, const double *below, unsigned m)
{
    double sum = 0;
    for (unsigned j = 1; j <= CLASSES && j <= m; j++)
        sum += j * count[j] * (below[m - j + 1] - below[m - j]);
    return sum / m;
}

static double largest_of(const double *count, double n)
{
    double below[SUMS + 1] = {0}; /* below[m]: P(0) + ... + P(m - 1) */
    double samples = 0, mean = 0, largest = 0;
    for (unsigned j = 1; j <= CLASSES; j++) {
        samples += count[j];
        mean += j * count[j];
    }
    below[1] = exp(-samples);
    for (unsigned m = 1; m < SUMS; m++) {
        below[m + 1] = fmin(below[m] + probability_of(count, below, m), 1);
        double never = never_comes(count, below, m, 1 - mean / m, n);
        double reached = 1 - below[m] * fmin(never, exp(-n * (1 - below[m]) / below[m]));
        largest += reached;
        if (m > mean && reached < NEGLIGIBLE)
            break;
    }
    return fmax(largest - mean, 0);
}

/*
 * Lives differ. Samples of long-lived blocks are exchanged seldom, those of short-lived blocks often: while the former
 * stay the same, the latter have many chances. So the highest sum of all is the highest of the former, plus the highest
 * that the latter reach while the former stay the same. Only if there is so little of the latter that all their chances
 * together add less, both are taken as one group with one number of chances. So groups are joined until the logarithm
 * of the number of chances, against the variance, rises more and more steeply. (These are the levels of a random energy
 * model.)
 *
 *   worked: 8 samples that stay for the run and 1 that is exchanged 100 times: the excess of the latter, 4.0, not that
 *   of 9 samples that are exchanged 1.7 times, which is the mean by variance: 3.1.
 */
struct group {
    struct churn churn;
    double variance;
    double chances; /* logarithm of 1 + how often all are replaced */
};

static double steepness(const struct group *group, const struct group *before)
{
    return (group->chances - before->chances) / group->variance;
}

static void join_group(struct group *group, const struct group *next)
{
    for (unsigned i = 1; i <= CLASSES; i++)
        group->churn.variance[i] += next->churn.variance[i];
    group->variance += next->variance;
    group->chances = next->chances;
}

static unsigned add_group(struct group *group, unsigned groups, const struct churn *churn, double chances)
{
    group[++groups] = (struct group){*churn, variance_of(churn), chances};
    for (; groups > 1; groups--) {
        if (steepness(&group[groups - 1], &group[groups - 2]) < steepness(&group[groups], &group[groups - 1]))
            break;
        join_group(&group[groups - 1], &group[groups]);
    }
    return groups;
}

static double excess_of(const struct group *group, const struct group *before, double rise, double gap)
{
    double count[CLASSES + 1] = {0}, samples = 0, class = gap / CLASSES_PER_GAP;
    for (unsigned i = 1; i <= CLASSES; i++) {
        count[i] = group->churn.variance[i] * rise / (i * i * class * class);
        samples += count[i];
    }
    double many = fmax(samples / COUNT_LARGE, 1);
    for (unsigned i = 1; i <= CLASSES; i++)
        count[i] /= many;
    return class * sqrt(many) * largest_of(count, expm1(group->chances - before->chances));
}

/* By how much the highest estimate exceeds the heap, which was near its peak for near_s. At the peak, `rise` times as
 * much came and went as on average. Blocks that live for more than half of the run are not replaced. */
static double excess(const struct work *work, double near_s, double rise)
{
    struct group group[PL_LIFE_BUCKETS + 1] = {0};
    unsigned groups = 0;
    double over = 0;
    for (unsigned i = PL_LIFE_BUCKETS; i-- > 0;) {
        double life = pl_life_bucket_middle(i) * work->profile->unit_s;
        double times = fmax(fmin(near_s, work->profile->duration_s - 2 * life) / life, 0);
        if (variance_of(&work->churn[i]) > 0)
            groups = add_group(group, groups, &work->churn[i], log1p(times));
    }
    for (unsigned i = 1; i <= groups; i++)
        if (group[i].chances > group[i - 1].chances)
            over += excess_of(&group[i], &group[i - 1], rise, work->gap);
    return isfinite(over) ? over : 0;
}

/* The moments at which the heap was as large as at the peak, as far as is known. */
struct plateau {
    double share; /* of all moments */
    double mean;  /* bytes live then */
};

static struct plateau plateau_above(const struct pl_profile *profile, double bytes)
{
    double near = 0, sum = 0;
    for (uint32_t i = 0; i < profile->moments; i++) {
        if (profile->moment[i].live_bytes < bytes)
            continue;
        near++;
        sum += profile->moment[i].live_bytes;
    }
    return (struct plateau){.share = near > 0 ? near / profile->moments : 0, .mean = near > 0 ? sum / near : bytes};
}

/* A heap of few samples has a rise by chance: one sample is added to both of its heights. */
static double too_high_by(const struct work *work, const struct pl_figures *all)
{
    const struct pl_profile *profile = work->profile;
    double peak = pl_amount_space(&all->peak), noise = all->peak.sampled.space_variance, churn = 0;
    double mean = plateau_above(profile, 0).mean, gap = work->gap;
    for (unsigned i = 0; i < PL_LIFE_BUCKETS; i++)
        churn += variance_of(&work->churn[i]);
    if (!(churn > 0) || !(noise > 0))
        return 0;
    double least = fmin(1, noise / churn), over = excess(work, profile->duration_s, least);
    struct plateau near = plateau_above(profile, peak - over - 2 * sqrt(churn * least) - FEW_SAMPLES * gap);
    double rise = fmin(fmax((peak - over + gap) / (mean + gap), 1), noise / churn);
    over = excess(work, near.share * profile->duration_s, rise);
    return fmax(fmin(over, peak - near.mean), 0);
}

/* What a site may contribute to an estimate that is too high: the noise of its samples at the peak, if they come and
 * go. A damaged row may have freed more than it allocated. */
static double part_in_excess(const struct pl_figures *figures)
{
    const struct pl_sums *allocated = &figures->allocated.sampled, *freed = &figures->freed.sampled;
    if (freed->samples == 0 || allocated->samples == 0 || !(figures->peak.sampled.space > 0))
        return 0;
    return figures->peak.sampled.space_variance * fmin((double) freed->samples / (double) allocated->samples, 1);
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
static void lower(const struct at_peak *peak, struct pl_figures *all, double bytes,
                  struct pl_peak_correction *correction)
{
    double seen = fmin(peak->samples / peak->sampled.objects, 1);
    double share = fmin(bytes / peak->sampled.space, 1 - seen);
    correction->objects = peak->sampled.objects * share;
    correction->space = peak->sampled.space * share;
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
    double most = pl_amount_space(&all->peak) - pl_amount_space(&live), parts = 0;
    if (!(profile->unit_s > 0) || !(profile->duration_s > 0) || !(most > 0))
        return;
    for (uint32_t i = 0; i < profile->sites; i++)
        parts += work->peak[i].part;
    double over = parts > 0 ? fmin(too_high_by(work, all), most) : 0;
    for (uint32_t i = 0; i < profile->sites && over > 0; i++)
        if (work->peak[i].part > 0)
            lower(&work->peak[i], all, over * work->peak[i].part / parts, &work->correction[i]);
}

/* Takes from a site all that is needed of it, so that its figures are unpacked once. */
static void take_site(struct work *work, uint32_t number, bool peak_is_now)
{
    const struct pl_site_view *site = &work->profile->site[number];
    struct pl_figures figures = pl_site_figures(site);
    struct pl_spread spread = pl_site_spread(site);
    struct pl_amount peak = peak_is_now ? pl_amount_rest(&figures.allocated, &figures.freed) : figures.peak;
    work->peak[number] = (struct at_peak){
        .all = {pl_amount_objects(&peak), pl_amount_space(&peak)},
        .sampled = {peak.sampled.objects, peak.sampled.space},
        .samples = (double) peak.sampled.samples,
        .part = part_in_excess(&figures),
    };
    include_a_block(&figures, (double) spread.largest, &work->peak[number].all, work->gap,
                    &work->correction[number].range);
    if (figures.freed.sampled.samples > 0)
        add_churn(work, &figures, &spread);
}

struct pl_peak_correction *pl_peakrange_fold(const struct pl_profile *profile, struct pl_figures *all, bool peak_is_now,
                                             double gap)
{
    if (profile->merged > 0 || !(gap > 0)) /* a sum of peaks, or everything was counted */
        return NULL;
    struct work work = {
        .profile = profile,
        .gap = gap,
        .peak = pl_grow_zeroed(profile->sites + 1ull, sizeof *work.peak),
        .then = pl_grow_zeroed(profile->sites + 1ull, sizeof *work.then),
        .correction = pl_grow_zeroed(profile->sites + 1ull, sizeof *work.correction),
    };
    for (uint32_t i = 0; i < profile->sites; i++)
        take_site(&work, i, peak_is_now);
    for (uint32_t i = 0; i < profile->compositions; i++) {
        hold(&work, &profile->composition[i]);
        struct change sum = compare(&work);
        if (within_noise(sum.space, sum.change, gap, Z_LARGEST))
            include_total(&sum, &all->peakrange);
        if (within_noise(sum.space, sum.change, gap, Z))
            include(&work);
    }
    if (!peak_is_now) /* then it is the live figure as well */
        lower_peak(&work, all);
    free(work.peak);
    free(work.then);
    return work.correction;
}
