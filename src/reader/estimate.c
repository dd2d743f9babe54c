/* SPDX-License-Identifier: MIT */
/*
 * estimate.c - from sums over samples to figures with 95% confidence intervals.
 *
 * V, a sum of weights, comes with S, its estimated variance. Measured in units of the spread s = S/V it behaves like a
 * Poisson count k = V/s: for equal small blocks s is the weight of one sample and k the number of samples. So the ends
 * of the interval are those of a Poisson count (mid-P, in closed form), times s:
 *
 *     V + s (2z^2 + 1)/6 +- z sqrt(S + s^2/2)            z = 1.96
 *
 *   worked: ten samples of malloc(16), w = s = 6,554: 65,541 calls, between 33,385 and 120,365.
 *
 * For equal blocks of any size s is (w - 1) times the size, k is samples / (1 - p), and as the weight approaches 1 the
 * interval closes. docs/maths.md has the derivation, the measured coverage, and the cases in which it is a lie.
 *
 * Invariant: low <= value <= high, and low == value == high iff nothing had to be estimated.
 */
#include <math.h>
#include <string.h>

#include "format/settings.h"
#include "reader/figures.h"

#define Z 1.959963984540054             /* 95% of a normal distribution lie within ± this */
#define RULE_OF_THREE 2.995732273553991 /* -log 0.05 */

#define ROUNDING 1e-10 /* a difference smaller than this fraction of the minuend is rounding */

/* Sums come from a file that may hold anything: a value that is not positive and finite counts as 0. */
static struct pl_estimate exactly(double value)
{
    if (!(value > 0) || !isfinite(value))
        return (struct pl_estimate){0};
    return (struct pl_estimate){.value = value, .low = value, .high = value};
}

/*
 * Without a sample, where each would have had this spread, the rule of three gives the upper end: exp(-3) is 5%. The
 * logarithm is there for large blocks: with p = 0.99 a second unseen block is out of the question, with p = 0.9 the
 * first one is not.
 */
static struct pl_estimate nothing_seen(double spread, double unit)
{
    double high = RULE_OF_THREE * (unit > 0 ? unit / log1p(unit / spread) : spread);
    if (!isfinite(high))
        return exactly(0);
    return (struct pl_estimate){.error = high, .high = high};
}

/* The end of the interval on the side of z, for something that is looked at whatever was sampled. */
static double limit(double value, double variance, double spread, double z)
{
    return value + spread * (2 * z * z + 1) / 6 + z * sqrt(variance + spread * spread / 2);
}

/*
 * When weights differ, the true value may be further above V than below it: if V is low because a heavy sample is
 * missing, S is too low as well. So the upper end takes a larger spread: larger the more uneven the samples are
 * (effective < samples), and the fewer samples there are to tell (1/sqrt). Both terms vanish against V as samples
 * accumulate.
 */
static double upper_spread(double spread, double effective, double samples)
{
    effective = fmin(fmax(effective, 1), samples);
    return spread * (1 + 1 / sqrt(effective) + (1 - effective / samples));
}

/*
 * The lower end, for something that is looked at because it was sampled: a site without a sample is in no report. A
 * site of 0.01 expected samples is seen in one run of a hundred, and then looks like one of a whole sample. So the
 * count is one that is at least 1. Its mid-P limit is, within 0.04, the plain limit times a factor, which is 0 for a
 * count of 1: then the lower end is what was seen.
 *
 *   worked, in samples:  1: 0 (plain 0.05)   2: 0.13 (0.35)   3: 0.52 (0.78)   5: 1.73 (1.85)   10: 5.09 (5.10)
 */
#define LIMIT_OF_ONE 0.04657 /* the plain lower limit of a count of 1 */
#define STEEPNESS 1.5
static double lower_limit(double value, double variance, double spread)
{
    double low = fmax(limit(value, variance, spread, -Z), 0);
    double factor = -expm1(-STEEPNESS * (low / spread - LIMIT_OF_ONE));
    return fmin(fmax(low * factor, 0), value);
}

/* `unit` is the mean size of what is counted. Equal blocks have variance = samples * spread * (spread + unit). `heavy`
 * is the heavy samples' spread, 0 if not known. The lower end does not need it: a smaller spread only moves it down. */
static struct pl_estimate interval(double value, double variance, double samples, double spread, double unit,
                                   double heavy)
{
    double effective = variance / (spread * (spread + unit));
    double low = lower_limit(value, variance, spread);
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
    result.low = fmin(fmax(result.low, (double) sums->samples), result.value); /* the samples themselves are certain */
    return result;
}

static struct pl_estimate estimate_space(const struct pl_sums *sums, double heavy)
{
    return estimate(sums->space, sums->space_variance, sums, heavy);
}

/* A part without a sample need not be empty: the samples of the whole tell how much an unseen one would have stood
 * for. */
static struct pl_estimate none_seen_of(double value, double variance, const struct pl_sums *whole, double heavy)
{
    if (!(value > 0) || !(variance > 0) || whole->samples == 0)
        return exactly(0);
    return nothing_seen(fmax(spread_of(value, variance, whole), heavy), value / whole->objects);
}

/* Adds the exact part, which is certain, to the sampled part and its interval. Beside an exact figure, a one-sided
 * interval is shown as ± half its width. */
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
 * The mean spread weighted by variance. S/V is the mean weighted by the figure, so this is at least as large. They are
 * far apart if T was coarse for a while: then a handful of heavy samples make the variance, and thousands of light ones
 * the figure. It is computed from all that was allocated, also for a part of it: even if none of the live samples is a
 * heavy one, such a block may be live.
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

static void settle_error(struct pl_estimate *estimate)
{
    estimate->error = estimate->value > 0 ? (estimate->high - estimate->low) / 2 : estimate->high;
}

/* An upper end below this cannot be claimed, however certain the samples are: beside them, others may be hidden. */
static void allow_for_the_hidden(struct pl_estimate *estimate, double hidden)
{
    double high = estimate->value + hidden;
    if (!(high > estimate->high))
        return;
    estimate->high = high;
    settle_error(estimate);
}

/* The moment of the peak is one of several. */
static void allow_for_the_moment(struct pl_estimate *estimate, double more, double less)
{
    if (!(more > 0) && !(less > 0))
        return;
    estimate->high += more;
    estimate->low = fmax(estimate->low - less, 0);
    settle_error(estimate);
}

static bool counts_bytes(enum pl_metric metric)
{
    return strcmp(pl_metric_info[metric].unit, "bytes") == 0;
}

void pl_estimate_figures(const struct pl_figures *figures, struct pl_estimate metric[PL_METRIC_COUNT])
{
    const struct pl_peakrange *range = &figures->peakrange;
    struct pl_amount live = pl_amount_rest(&figures->allocated, &figures->freed);
    metric[PL_METRIC_ALLOC_OBJECTS] = part_objects(&figures->allocated, figures);
    metric[PL_METRIC_ALLOC_SPACE] = part_space(&figures->allocated, figures);
    metric[PL_METRIC_INUSE_OBJECTS] = part_objects(&live, figures);
    metric[PL_METRIC_INUSE_SPACE] = part_space(&live, figures);
    metric[PL_METRIC_PEAK_OBJECTS] = part_objects(&figures->peak, figures);
    metric[PL_METRIC_PEAK_SPACE] = part_space(&figures->peak, figures);
    metric[PL_METRIC_TEMP_OBJECTS] = part_objects(&figures->temporary, figures);
    metric[PL_METRIC_LOST_OBJECTS] = part_objects(&figures->lost, figures);
    metric[PL_METRIC_LOST_SPACE] = part_space(&figures->lost, figures);
    for (int m = 0; m < PL_METRIC_COUNT; m++)
        allow_for_the_hidden(&metric[m], counts_bytes(m) ? figures->hidden.space : figures->hidden.objects);
    allow_for_the_moment(&metric[PL_METRIC_PEAK_OBJECTS], range->more_objects, range->less_objects);
    allow_for_the_moment(&metric[PL_METRIC_PEAK_SPACE], range->more_space, range->less_space);
}

/*
 * A site that was counted for a while may have gone on allocating blocks like those, up to what three samples would
 * have stood for, without a sample of them.
 */
static struct pl_hidden hidden_since(const struct pl_amount *counted, double charge, double call)
{
    double size = counted->exact_space / counted->exact_objects;
    double objects = charge / (size + call);
    return (struct pl_hidden){.objects = objects, .space = objects * size};
}

/*
 * A site whose samples are large may have small blocks, of which none was sampled. Their bytes are bounded by three
 * gaps. Their number depends on their sizes, for which there is only the general rule of mixed sizes: as many blocks of
 * one power of two as of another, between the smallest that can be and the smallest that was seen. A block larger than
 * the gap is hardly ever missed.
 *
 * Blocks that are alike and small against the gap show by their samples how many they are. Three that are alike and
 * large suggest that all are, but one may be missing.
 *
 *   worked: a buffer that doubles from 16 bytes to 1 MiB, at T = 16 KiB. Samples of 8 KiB to 1 MiB were taken, 9 powers
 *   of two are below: at most 50 calls more.
 */
#define SIZE_LEAST 16.0
#define ALIKE_LEAST 3
static double hidden_objects(const struct pl_sums *sampled, double gap, double call, double smallest, double largest)
{
    bool alike = largest < 2 * smallest, small = smallest + call < gap;
    if (alike && small)
        return sampled->objects_variance > 0 ? 0 : 1;
    if (alike && sampled->samples >= ALIKE_LEAST)
        return 1;
    double most = fmin(smallest, gap), powers = log2(most / SIZE_LEAST); /* sizes of most/2, most/4, ... 16 */
    return powers > 0 ? powers * RULE_OF_THREE * gap / (most + call * powers) : 0;
}

static struct pl_hidden hidden_beside(const struct pl_sums *sampled, double gap, double call, double smallest,
                                      double largest)
{
    smallest = smallest > 0 ? smallest : sampled->space / sampled->objects; /* not known */
    largest = fmax(largest, smallest);
    return (struct pl_hidden){.objects = hidden_objects(sampled, gap, call, smallest, largest),
                              .space = RULE_OF_THREE * gap * largest / (largest + call)};
}

static struct pl_hidden larger_of(struct pl_hidden a, struct pl_hidden b)
{
    return (struct pl_hidden){.objects = fmax(a.objects, b.objects), .space = fmax(a.space, b.space)};
}

struct pl_hidden pl_estimate_hidden(const struct pl_figures *figures, double gap, double smallest, double largest)
{
    double charge = RULE_OF_THREE * gap, call = (double) figures->call_charge;
    struct pl_hidden hidden = {0};
    if (!(charge >= call)) /* not even one call */
        return hidden;
    if (figures->allocated.exact_objects > 0)
        hidden = hidden_since(&figures->allocated, charge, call);
    if (figures->allocated.sampled.samples > 0)
        hidden = larger_of(hidden, hidden_beside(&figures->allocated.sampled, gap, call, smallest, largest));
    return isfinite(hidden.objects) && isfinite(hidden.space) ? hidden : (struct pl_hidden){0};
}

/* A sample stands for at most `interval_bytes` bytes of small blocks, and for at most interval_bytes / call_charge of
 * the smallest blocks. */
void pl_estimate_unsampled(uint64_t interval_bytes, uint32_t call_charge, struct pl_estimate metric[PL_METRIC_COUNT])
{
    double space = (double) interval_bytes;
    double objects = space / (call_charge ? call_charge : 1);
    for (int m = 0; m < PL_METRIC_COUNT; m++)
        metric[m] = nothing_seen(counts_bytes(m) ? space : objects, 0);
}
