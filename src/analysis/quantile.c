/* SPDX-License-Identifier: MIT */
/*
 * quantile.c - see quantile.h.
 *
 * Sizes are counted in buckets that double. But each site also knows its smallest and its largest size, and most sites
 * allocate one size only. So of each site's count in a bucket, the sizes lie in a span that is rarely the whole bucket,
 * and often a single size. Within a span they are taken to be spread evenly.
 *
 *   worked: 80,000 blocks of 64 bytes by one site, and 2,000 of 65 to 127 by another: p50 is 64, exactly. From the
 *   bucket of 64 to 127 alone it would be 95.
 */
#include "analysis/quantile.h"

#include <math.h>
#include <stdlib.h>

#include "reader/base/grow.h"
#include "reader/site.h"

/* So many blocks, of sizes from `from` to `to`. */
struct span {
    double from, to;
    double count;
};

struct spans {
    struct span *span;
    uint32_t count;
};

static double bucket_end(const struct pl_profile *profile, unsigned bucket)
{
    return bucket + 1 < PL_SIZE_BUCKETS ? pl_size_bucket_from(bucket + 1) - 1
                                        : fmin((double) profile->spread.largest, UINT32_MAX);
}

static struct spans spans_in(const struct pl_profile *profile, unsigned bucket)
{
    struct spans spans = {.span = pl_grow_zeroed(profile->sites + 1ull, sizeof *spans.span)};
    double from = pl_size_bucket_from(bucket), to = bucket_end(profile, bucket);
    for (uint32_t i = 0; i < profile->sites; i++) {
        struct pl_spread spread = pl_site_spread(&profile->site[i]);
        if (!(spread.sizes[bucket] > 0))
            continue;
        double least = fmin(fmax((double) spread.smallest, from), to);
        double most = fmax(fmin((double) spread.largest, to), least);
        spans.span[spans.count++] = (struct span){least, most, spread.sizes[bucket]};
    }
    return spans;
}

static double count_up_to(const struct spans *spans, double bytes)
{
    double sum = 0;
    for (uint32_t i = 0; i < spans->count; i++) {
        const struct span *span = &spans->span[i];
        sum += span->count * fmin(fmax((bytes - span->from + 1) / (span->to - span->from + 1), 0), 1);
    }
    return sum;
}

/* The smallest size up to which there are so many blocks. */
static double find_size(const struct spans *spans, double wanted, double from, double to)
{
    while (from < to) {
        double middle = floor((from + to) / 2);
        if (count_up_to(spans, middle) >= wanted)
            to = middle;
        else
            from = middle + 1;
    }
    return to;
}

static bool is_interpolated(const struct spans *spans, double bytes)
{
    for (uint32_t i = 0; i < spans->count; i++)
        if (spans->span[i].from < spans->span[i].to && spans->span[i].from <= bytes && bytes <= spans->span[i].to)
            return true;
    return false;
}

#define ROUNDING 1e-9 /* of sums of weights */

struct pl_quantile pl_quantile_of_sizes(const struct pl_profile *profile, double fraction)
{
    const double *sizes = profile->spread.sizes;
    double all = 0, below = 0;
    for (unsigned i = 0; i < PL_SIZE_BUCKETS; i++)
        all += sizes[i];
    double wanted = all * fraction * (1 - ROUNDING);
    for (unsigned i = 0; i < PL_SIZE_BUCKETS; below += sizes[i++]) {
        if (!(sizes[i] > 0) || below + sizes[i] < wanted)
            continue;
        struct spans spans = spans_in(profile, i);
        double bytes = find_size(&spans, wanted - below, pl_size_bucket_from(i), bucket_end(profile, i));
        struct pl_quantile quantile = {bytes, !is_interpolated(&spans, bytes)};
        free(spans.span);
        return quantile;
    }
    return (struct pl_quantile){0};
}
