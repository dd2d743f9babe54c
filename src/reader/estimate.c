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

#include "profile.h"

#define Z 1.959963984540054             /* 95% of a normal distribution lie within */
#define RULE_OF_THREE 2.995732273553991 /* -log 0.05 */

/* Live figures are differences: what is this much smaller than what was subtracted from is rounding, not memory. */
#define ROUNDING 1e-10

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

/* `unit` is the mean size of what is counted. Equal blocks have variance = samples * spread * (spread + unit). */
static struct pl_estimate interval(double value, double variance, double samples, double spread, double unit)
{
    double effective = variance / (spread * (spread + unit));
    double low = fmin(fmax(limit(value, variance, spread, -Z), 0), value);
    double high = limit(value, variance, upper_spread(spread, effective, samples), Z);
    if (!isfinite(high))
        return exactly(value);
    return (struct pl_estimate){.value = value, .error = (high - low) / 2, .low = low, .high = high};
}

struct pl_estimate pl_estimate_of(double value, double variance, double samples)
{
    if (!(value > 0) || !(variance > 0) || !(samples >= 1))
        return exactly(value);
    return interval(value, variance, samples, variance / value, 0);
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

static struct pl_estimate estimate(double value, double variance, const struct pl_sums *sums)
{
    if (!(value > 0) || !(variance > 0) || sums->samples == 0)
        return exactly(value);
    double spread = spread_of(value, variance, sums);
    return interval(value, variance, (double) sums->samples, spread, value / sums->objects);
}

static struct pl_estimate estimate_objects(const struct pl_sums *sums)
{
    struct pl_estimate result = estimate(sums->objects, sums->objects_variance, sums);
    result.low = fmin(fmax(result.low, (double) sums->samples), result.value); /* they have been seen */
    return result;
}

static struct pl_estimate estimate_space(const struct pl_sums *sums)
{
    return estimate(sums->space, sums->space_variance, sums);
}

static double subtract(double from, double what)
{
    double rest = from - what;
    return rest > from * ROUNDING ? rest : 0;
}

static struct pl_sums difference(const struct pl_sums *from, const struct pl_sums *what)
{
    if (from->samples <= what->samples)
        return (struct pl_sums){0};
    return (struct pl_sums){
        .objects = subtract(from->objects, what->objects),
        .space = subtract(from->space, what->space),
        .objects_variance = subtract(from->objects_variance, what->objects_variance),
        .space_variance = subtract(from->space_variance, what->space_variance),
        .samples = from->samples - what->samples,
    };
}

/* No live sample does not mean nothing live: the freed samples tell how much one more would have stood for. */
static struct pl_estimate none_live(double value, double variance, const struct pl_sums *allocated)
{
    if (!(value > 0) || !(variance > 0))
        return exactly(0);
    return nothing_seen(spread_of(value, variance, allocated), value / allocated->objects);
}

void pl_estimate_add(struct pl_sums *to, const struct pl_sums *more)
{
    to->objects += more->objects;
    to->space += more->space;
    to->objects_variance += more->objects_variance;
    to->space_variance += more->space_variance;
    to->samples += more->samples;
}

void pl_estimate_sums(const struct pl_sums *allocated, const struct pl_sums *freed,
                      struct pl_estimate metric[PL_METRIC_COUNT])
{
    metric[PL_METRIC_ALLOC_OBJECTS] = estimate_objects(allocated);
    metric[PL_METRIC_ALLOC_SPACE] = estimate_space(allocated);

    struct pl_sums live = difference(allocated, freed);
    if (live.samples > 0) {
        metric[PL_METRIC_INUSE_OBJECTS] = estimate_objects(&live);
        metric[PL_METRIC_INUSE_SPACE] = estimate_space(&live);
        return;
    }
    metric[PL_METRIC_INUSE_OBJECTS] = none_live(allocated->objects, allocated->objects_variance, allocated);
    metric[PL_METRIC_INUSE_SPACE] = none_live(allocated->space, allocated->space_variance, allocated);
}

/* A sample stands for at most interval bytes' worth of small blocks, and for at most interval / K of the smallest. */
void pl_estimate_unsampled(uint64_t interval_bytes, uint32_t call_charge, struct pl_estimate metric[PL_METRIC_COUNT])
{
    double space = (double) interval_bytes;
    double objects = space / (call_charge ? call_charge : 1);
    metric[PL_METRIC_ALLOC_OBJECTS] = metric[PL_METRIC_INUSE_OBJECTS] = nothing_seen(objects, 0);
    metric[PL_METRIC_ALLOC_SPACE] = metric[PL_METRIC_INUSE_SPACE] = nothing_seen(space, 0);
}
