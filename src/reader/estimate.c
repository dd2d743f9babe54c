/* SPDX-License-Identifier: MIT */
/*
 * estimate.c - from sums over samples to figures with 95% intervals.
 *
 * V, a sum of weights, comes with S, its estimated variance. Measured in units of the spread s = S/V it behaves like a
 * Poisson count k = V/s: for equal small blocks s is the weight of one sample and k the number of samples. So the ends
 * of the interval are those of a Poisson count (mid-P, in closed form), times s:
 *
 *     V + s (2z^2 + 1)/6 +- z sqrt(S + s^2/2)            z = 1.96
 *
 *   worked: one sample of malloc(16), w = s = 6,554: low is 306 calls. Wald's 6,554 +- 12,846 has no lower end at all.
 *
 * For equal blocks of any size s is (w - 1) times the size, k is samples / (1 - p), and as the weight approaches 1 the
 * interval closes. docs/maths.md has the derivation, the measured coverage, and the cases in which it is a lie.
 *
 * Invariant: low <= value <= high, and low == value == high iff nothing had to be estimated.
 */
#include <math.h>
#include <string.h>

#include "figures.h"
#include "settings.h"

#define Z 1.959963984540054             /* 95% of a normal distribution lie within */
#define RULE_OF_THREE 2.995732273553991 /* -log 0.05 */

#define ROUNDING 1e-10 /* what is this much smaller than what was subtracted from is rounding */

/* Sums come from a file that may hold anything: what is no figure counts as nothing. */
static struct pl_estimate exactly(double value)
{
    if (!(value > 0) || !isfinite(value))
        return (struct pl_estimate){0};
    return (struct pl_estimate){.value = value, .low = value, .high = value};
}

/*
 * No sample, where each would have had this spread: the rule of three, as exp(-3) is 5%. Large blocks are the reason
 * for the logarithm: with p = 0.99 a second unseen block is out of the question, with p = 0.9 the first one is not.
 */
static struct pl_estimate nothing_seen(double spread, double unit)
{
    double high = RULE_OF_THREE * (unit > 0 ? unit / log1p(unit / spread) : spread);
    if (!isfinite(high))
        return exactly(0);
    return (struct pl_estimate){.error = high, .high = high};
}

/* The end of the interval on the side of z. */
static double limit(double value, double variance, double spread, double z)
{
    return value + spread * (2 * z * z + 1) / 6 + z * sqrt(variance + spread * spread / 2);
}

/*
 * When weights differ, the truth is further above V than below: a V that is low for want of a heavy sample has too low
 * an S with it. So the upper end takes a larger spread, by how uneven the samples are (effective < samples) and by how
 * little so few samples can tell of it (1/sqrt). Both vanish against V as samples accumulate.
 */
static double upper_spread(double spread, double effective, double samples)
{
    effective = fmin(fmax(effective, 1), samples);
    return spread * (1 + 1 / sqrt(effective) + (1 - effective / samples));
}

/* `unit` is the mean size of what is counted. Equal blocks have variance = samples * spread * (spread + unit). `heavy`
 * is the heavy samples' spread, 0 if not known. The lower end needs none: a smaller spread only moves it down. */
static struct pl_estimate interval(double value, double variance, double samples, double spread, double unit,
                                   double heavy)
{
    double effective = variance / (spread * (spread + unit));
    double low = fmin(fmax(limit(value, variance, spread, -Z), 0), value);
    double high = limit(value, variance, fmax(upper_spread(spread, effective, samples), heavy), Z);
    if (!isfinite(high))
        return exactly(value);
    return (struct pl_estimate){.value = value, .error = (high - low) / 2, .low = low, .high = high};
}

struct pl_estimate pl_estimate_of(double value, double variance, double samples)
{
    if (!(value > 0) || !(variance > 0) || !(samples >= 1))
        return exactly(value);
    return interval(value, variance, samples, variance / value, 0, 0);
}

/*
 * The spread of the uncertain part alone. Blocks taken with certainty (weight 1, when every allocation was sampled) add
 * to V and not to S, and would dilute S/V. The share of uncertain blocks is (objects - samples) / objects.
 */
static double spread_of(double value, double variance, const struct pl_sums *sums)
{
    double plain = variance / value;
    double unseen = sums->objects - (double) sums->samples;
    if (!(unseen > ROUNDING * sums->objects))
        return plain;
    return fmax(plain, variance * sums->objects / (value * unseen) - value / sums->objects);
}

static struct pl_estimate estimate(double value, double variance, const struct pl_sums *sums, double heavy)
{
    if (!(value > 0) || !(variance > 0) || sums->samples == 0)
        return exactly(value);
    double spread = spread_of(value, variance, sums);
    return interval(value, variance, (double) sums->samples, spread, value / sums->objects, heavy);
}

static struct pl_estimate estimate_objects(const struct pl_sums *sums, double heavy)
{
    struct pl_estimate result = estimate(sums->objects, sums->objects_variance, sums, heavy);
    result.low = fmin(fmax(result.low, (double) sums->samples), result.value); /* they have been seen */
    return result;
}

static struct pl_estimate estimate_space(const struct pl_sums *sums, double heavy)
{
    return estimate(sums->space, sums->space_variance, sums, heavy);
}

/* No sample of a part does not mean none of it: the samples of the whole tell how much one more would have stood for.
 */
static struct pl_estimate none_seen_of(double value, double variance, const struct pl_sums *whole, double heavy)
{
    if (!(value > 0) || !(variance > 0) || whole->samples == 0)
        return exactly(0);
    return nothing_seen(fmax(spread_of(value, variance, whole), heavy), value / whole->objects);
}

/* What was counted is certain, and the interval is that of the samples. Beside a certain figure a one-sided error is
 * half as wide. */
static struct pl_estimate with_exact(double exact, struct pl_estimate sampled)
{
    struct pl_estimate certain = exactly(exact);
    if (!(certain.value > 0))
        return sampled;
    return (struct pl_estimate){
        .value = certain.value + sampled.value,
        .error = (sampled.high - sampled.low) / 2,
        .low = certain.value + sampled.low,
        .high = certain.value + sampled.high,
    };
}

/*
 * The spread where the variance comes from: S/V is its mean over the figure, this is its mean over the variance, so at
 * least as large. They are far apart where T was coarse for a while: a handful of heavy samples make the variance, and
 * thousands of light ones the figure. It is taken from all that was allocated, also for a part of it: that none of the
 * live samples is a heavy one does not mean that no such block is live.
 */
static double heavy_spread(double skew, double variance)
{
    double heavy = skew / variance;
    return isfinite(heavy) ? heavy : 0;
}

static struct pl_estimate part_objects(const struct pl_amount *part, const struct pl_figures *figures)
{
    const struct pl_sums *whole = &figures->allocated.sampled;
    double heavy = heavy_spread(figures->skew.objects, whole->objects_variance);
    return with_exact(part->exact_objects, part->sampled.samples > 0
                                               ? estimate_objects(&part->sampled, heavy)
                                               : none_seen_of(whole->objects, whole->objects_variance, whole, heavy));
}

static struct pl_estimate part_space(const struct pl_amount *part, const struct pl_figures *figures)
{
    const struct pl_sums *whole = &figures->allocated.sampled;
    double heavy = heavy_spread(figures->skew.space, whole->space_variance);
    return with_exact(part->exact_space, part->sampled.samples > 0
                                             ? estimate_space(&part->sampled, heavy)
                                             : none_seen_of(whole->space, whole->space_variance, whole, heavy));
}

static void widen(struct pl_estimate *estimate, double spread)
{
    estimate->high += RULE_OF_THREE * spread;
    estimate->error = (estimate->high - estimate->low) / 2;
}

/*
 * A site that was counted for a while, and of which no sample was taken since: it may have gone on all the same. As
 * much as three samples would have stood for, of blocks like those that were counted, can hide behind that.
 */
static void allow_for_the_unseen(const struct pl_figures *figures, struct pl_estimate metric[PL_METRIC_COUNT])
{
    const struct pl_amount *allocated = &figures->allocated;
    if (!(figures->unseen_interval > 0) || allocated->sampled.samples > 0 || !(allocated->exact_objects > 0))
        return;
    double size = allocated->exact_space / allocated->exact_objects;
    double objects = figures->unseen_interval / (size + PL_CALL_CHARGE);
    widen(&metric[PL_METRIC_ALLOC_OBJECTS], objects);
    widen(&metric[PL_METRIC_ALLOC_SPACE], objects * size);
    widen(&metric[PL_METRIC_INUSE_OBJECTS], objects);
    widen(&metric[PL_METRIC_INUSE_SPACE], objects * size);
}

void pl_figures_estimate(const struct pl_figures *figures, struct pl_estimate metric[PL_METRIC_COUNT])
{
    struct pl_amount live = pl_amount_rest(&figures->allocated, &figures->freed);
    metric[PL_METRIC_ALLOC_OBJECTS] = part_objects(&figures->allocated, figures);
    metric[PL_METRIC_ALLOC_SPACE] = part_space(&figures->allocated, figures);
    metric[PL_METRIC_INUSE_OBJECTS] = part_objects(&live, figures);
    metric[PL_METRIC_INUSE_SPACE] = part_space(&live, figures);
    metric[PL_METRIC_PEAK_OBJECTS] = part_objects(&figures->peak, figures);
    metric[PL_METRIC_PEAK_SPACE] = part_space(&figures->peak, figures);
    metric[PL_METRIC_TEMP_OBJECTS] = part_objects(&figures->temporary, figures);
    allow_for_the_unseen(figures, metric);
}

/* A sample stands for at most interval bytes' worth of small blocks, and for at most interval / K of the smallest. */
void pl_estimate_unsampled(uint64_t interval_bytes, uint32_t call_charge, struct pl_estimate metric[PL_METRIC_COUNT])
{
    double space = (double) interval_bytes;
    double objects = space / (call_charge ? call_charge : 1);
    for (int m = 0; m < PL_METRIC_COUNT; m++)
        metric[m] = nothing_seen(strcmp(pl_metric_info[m].unit, "bytes") == 0 ? space : objects, 0);
}
