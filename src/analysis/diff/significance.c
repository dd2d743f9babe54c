/* SPDX-License-Identifier: MIT */
/*
 * significance.c - can sampling alone explain a difference between two figures?
 *
 * Take blocks of equal size. Each was sampled with the same probability in both runs. If both runs did the same, each
 * sample could equally well be in either run: the difference D is a sum of steps up and down with equal probability.
 * The number of steps is a Poisson count with mean L = variance / step^2, so D / step is the difference of two Poisson
 * counts of mean L/2 (Skellam's distribution). One formula works for three samples and for a million:
 *
 *     K(t) = L (cosh t - 1)      P(D/step >= k) by the saddlepoint of K, with the continuity correction of whole steps
 *
 *   worked: no sample and 3 samples: k = 3, L = 3 + 2, p = 25%, like the sign test. 0 and 10: 0.7% (sign test: 0.2%).
 *           1,000 and 1,100 samples: p = 3.0%, like the normal distribution.
 *
 * If weights differ, the step is that of the heavy samples; if sampling intervals differ, that of the larger interval.
 * Both choices err towards noise.
 */
#include "analysis/diff/significance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "format/settings.h"
#include "reader/base/grow.h"
#include "reader/figures.h"
#include "reader/site.h"

/* Added to the variance: with few samples, the estimated variance itself may be too small by chance. */
#define PRIOR_SAMPLES 2.0

#define FEW 0.1       /* expected steps: below this the saddlepoint is off by more than a few percent */
#define ROUNDING 1e-9 /* relative: figures this close are equal */

/* --- evidence --- */

enum part {
    ALLOCATED,
    LIVE,
    PEAK,
    TEMPORARY,
    LOST,
};

static const struct basis {
    enum part part;
    bool space;
} basis[PL_METRIC_COUNT] = {
    [PL_METRIC_ALLOC_OBJECTS] = {ALLOCATED, false}, [PL_METRIC_ALLOC_SPACE] = {ALLOCATED, true},
    [PL_METRIC_INUSE_OBJECTS] = {LIVE, false},      [PL_METRIC_INUSE_SPACE] = {LIVE, true},
    [PL_METRIC_PEAK_OBJECTS] = {PEAK, false},       [PL_METRIC_PEAK_SPACE] = {PEAK, true},
    [PL_METRIC_TEMP_OBJECTS] = {TEMPORARY, false},  [PL_METRIC_LOST_OBJECTS] = {LOST, false},
    [PL_METRIC_LOST_SPACE] = {LOST, true},
};

static struct pl_amount part_of(const struct pl_figures *figures, enum part part)
{
    const struct pl_amount amount[] = {
        [ALLOCATED] = figures->allocated, [LIVE] = pl_amount_rest(&figures->allocated, &figures->freed),
        [PEAK] = figures->peak,           [TEMPORARY] = figures->temporary,
        [LOST] = figures->lost,
    };
    return amount[part];
}

/* Figures come from files and may have any value; 0 stands for meaningless ratios. */
static double ratio(double part, double whole)
{
    double result = part / whole;
    return isfinite(result) && result > 0 ? result : 0;
}

void pl_significance_add(struct pl_footing *to, const struct pl_site_view *site)
{
    struct pl_spread spread = pl_site_spread(site);
    pl_site_add_figures(&to->figures, site);
    for (unsigned i = 0; i < PL_SIZE_BUCKETS; i++)
        to->sizes[i] += spread.sizes[i];
}

static double objects_of(const struct pl_footing *of)
{
    return pl_amount_objects(&of->figures.allocated);
}

static double space_of(const struct pl_footing *of)
{
    return pl_amount_space(&of->figures.allocated);
}

/* The side that knows the sizes of blocks better: the one with the smaller sampling interval, if it has any blocks. */
static const struct pl_footing *better_informed(const struct pl_footing *own, const struct pl_footing *other)
{
    const struct pl_footing *best = own->interval_bytes <= other->interval_bytes ? own : other;
    return objects_of(best) > 0 ? best : best == own ? other : own;
}

/* The middle of a bucket stands for its sizes. size_correction() then scales all of them to the known mean size. */
static double middle_of(unsigned bucket)
{
    return bucket ? 1.5 * pl_size_bucket_from(bucket) : 8;
}

static double size_correction(const struct pl_footing *of)
{
    double objects = 0, space = 0;
    for (unsigned i = 0; i < PL_SIZE_BUCKETS; i++) {
        objects += of->sizes[i];
        space += of->sizes[i] * middle_of(i);
    }
    return ratio(ratio(space_of(of), objects_of(of)), ratio(space, objects));
}

/* What to expect of samples of such blocks: sums over all blocks of y, (w - 1) y^2 and (w - 1)^2 y^3, where y is 1 or
 * the size and w the weight of a sample. */
struct moments {
    double value, variance, skew;
};

static struct moments expect_moments(const struct pl_footing *blocks, const struct pl_footing *sampled, bool space)
{
    struct moments sum = {0};
    double call_charge = sampled->call_charge > 0 ? sampled->call_charge : 1;
    double correction = size_correction(blocks);
    for (unsigned i = 0; i < PL_SIZE_BUCKETS; i++) {
        double size = middle_of(i) * correction, y = space ? size : 1, number = blocks->sizes[i];
        double excess = 1 / expm1((size + call_charge) / sampled->interval_bytes) * y;
        sum.value += number * y;
        sum.variance += number * y * excess;
        sum.skew += number * y * excess * excess;
    }
    return sum;
}

static struct moments measured_moments(const struct pl_figures *figures, bool space)
{
    const struct pl_sums *all = &figures->allocated.sampled;
    return space ? (struct moments){all->space, all->space_variance, figures->skew.space}
                 : (struct moments){all->objects, all->objects_variance, figures->skew.objects};
}

/* Sets `spread` and `step`. */
static void set_scale(const struct pl_footing *own, const struct pl_footing *other, bool space, struct pl_evidence *to)
{
    struct moments measured = measured_moments(&own->figures, space), expected = {0};
    const struct pl_footing *blocks = better_informed(own, other);
    if (own->interval_bytes > 0)
        expected = expect_moments(blocks, own, space);
    double spread = ratio(to->variance, to->value);
    if (!(spread > 0))
        spread = ratio(measured.variance, measured.value);
    to->spread = fmax(spread, ratio(expected.variance, expected.value));
    double heavy = fmax(ratio(measured.skew, measured.variance), ratio(expected.skew, expected.variance));
    to->step = fmax(to->spread, heavy) + (space ? ratio(space_of(blocks), objects_of(blocks)) : 1);
}

struct pl_evidence pl_significance_evidence(const struct pl_footing *own, const struct pl_footing *other,
                                            enum pl_metric metric)
{
    bool space = basis[metric].space;
    struct pl_amount part = part_of(&own->figures, basis[metric].part);
    double unit = space ? ratio(part.sampled.space, part.sampled.objects) : 1;
    struct pl_evidence evidence = {
        .counted = space ? part.exact_space : part.exact_objects,
        .value = space ? part.sampled.space : part.sampled.objects,
        .variance = space ? part.sampled.space_variance : part.sampled.objects_variance,
        .seen = (double) part.sampled.samples * unit,
    };
    set_scale(own, other, space, &evidence);
    return evidence;
}

/* --- p --- */

static double normal_tail(double w)
{
    return erfc(w / M_SQRT2) / 2;
}

/* The probability that one Poisson count of mean expected/2 exceeds another by at least k. */
static double difference_tail(double k, double expected)
{
    if (expected < FEW)
        return exp(k * log(expected / 2) - lgamma(k + 1));
    double x = k - 0.5; /* the continuity correction */
    if (!(x > 0))
        return 1;
    double t = asinh(x / expected), root = hypot(x, expected);
    double w = sqrt(2 * (x * t - x * x / (root + expected))), u = 2 * sinh(t / 2) * sqrt(root);
    if (!(w > 1e-3))
        return 0.5;
    return normal_tail(w) + exp(-w * w / 2) / sqrt(2 * M_PI) * (1 / u - 1 / w);
}

static double total(const struct pl_evidence *of)
{
    return of->counted + of->value;
}

/* `exact` has counted everything, and `other` has seen more than that: they certainly differ. */
static bool exceeds(const struct pl_evidence *exact, const struct pl_evidence *other)
{
    return exact->spread == 0 && other->counted + other->seen > total(exact) * (1 + ROUNDING);
}

/* The best estimate of a common true value: the mean, weighted by precision, but no less than either side has seen. */
static double common_truth(const struct pl_evidence *a, const struct pl_evidence *b)
{
    double of_b = a->spread + b->spread > 0 ? a->spread / (a->spread + b->spread) : 0.5;
    double truth = total(a) + of_b * (total(b) - total(a));
    return fmax(truth, fmax(a->counted + a->seen, b->counted + b->seen));
}

/* The variance of the difference if both true values are equal. It is no less than the measured variance, since the
 * spreads are estimates themselves. */
static double common_variance(const struct pl_evidence *a, const struct pl_evidence *b)
{
    double truth = common_truth(a, b);
    double expected = a->spread * fmax(truth - a->counted, 0) + b->spread * fmax(truth - b->counted, 0);
    const struct pl_evidence *coarse = a->spread > b->spread ? a : b;
    return fmax(expected, a->variance + b->variance) + PRIOR_SAMPLES * coarse->spread * coarse->step;
}

static double two_sided(double difference, double variance, double step)
{
    double p = 2 * difference_tail(difference / step, variance / (step * step));
    return isnan(p) || p > 1 ? 1 : p < 0 ? 0 : p;
}

double pl_significance_of(const struct pl_evidence *before, const struct pl_evidence *after)
{
    double difference = fabs(total(after) - total(before));
    if (!(difference > ROUNDING * fmax(total(before), total(after))))
        return 1;
    if ((before->spread == 0 && after->spread == 0) || exceeds(before, after) || exceeds(after, before))
        return 0;
    return two_sided(difference, common_variance(before, after), fmax(before->step, after->step));
}

/* --- q --- */

struct ranked {
    double p;
    uint32_t item;
};

static int smallest_first(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    return (a->p > b->p) - (a->p < b->p);
}

/* Of `count` pairs that are all noise, count * p are expected to have this p or less. q is that number divided by how
 * many pairs really have, and no more than the q of any larger p. */
void pl_significance_adjust(const double *p, double *q, uint32_t count)
{
    struct ranked *ranked = pl_grow_zeroed(count + 1ull, sizeof *ranked);
    double least = 1;
    for (uint32_t i = 0; i < count; i++)
        ranked[i] = (struct ranked){p[i], i};
    qsort(ranked, count, sizeof *ranked, smallest_first);
    for (uint32_t i = count; i > 0; i--) {
        least = fmin(least, ranked[i - 1].p * count / i);
        q[ranked[i - 1].item] = least;
    }
    free(ranked);
}
