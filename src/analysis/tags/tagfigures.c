/* SPDX-License-Identifier: MIT */
/*
 * tagfigures.c - figures of tags.
 *
 * What a tag allocated is exact in every mode. What of it is live, was freed or was live at the peak may be estimated,
 * and a few samples may stand for more than was ever allocated. So estimates are limited to the exact figure. If a part
 * was too large, the parts then add up to less than the whole.
 *
 * Invariant: low <= value <= high <= allocated.
 */
#include "analysis/tags/tagfigures.h"

#include <math.h>
#include <string.h>

#include "reader/totals.h"

void pl_tagfigures_add(struct pl_tag_figures *to, const struct pl_tag_figures *more)
{
    to->entered += more->entered;
    to->bytes += more->bytes;
    to->all_calls += more->all_calls;
    for (int f = 0; f < PL_FN_MAX; f++)
        to->calls[f] += more->calls[f];
    pl_figures_add(&to->figures, &more->figures);
}

/* Lowers a value that is too large, and the lower end of its interval in proportion: it has become no more certain. */
static void bound(struct pl_estimate *part, double allocated)
{
    if (part->high <= allocated)
        return;
    part->high = allocated;
    if (part->value > allocated) {
        part->low = fmin(part->low * (allocated / part->value), allocated);
        part->value = allocated;
    }
    part->error = part->value > 0 ? (part->high - part->low) / 2 : part->high;
}

void pl_tagfigures_bound(struct pl_estimate metric[PL_METRIC_COUNT], double calls, double bytes)
{
    pl_totals_allocated(metric, calls, bytes);
    for (int m = 0; m < PL_METRIC_COUNT; m++)
        bound(&metric[m], strcmp(pl_metric_info[m].unit, "bytes") == 0 ? bytes : calls);
}

/* What no sample has seen may be live, but may as well have been freed. */
static void allow_for_the_unseen(struct pl_estimate *freed, const struct pl_estimate *live)
{
    freed->high += live->high - live->value;
    freed->error = freed->value > 0 ? (freed->high - freed->low) / 2 : freed->high;
}

/* Freed memory is a part of allocated memory, as the peak is, and is estimated in the same way. */
struct pl_tag_freed pl_tagfigures_freed(const struct pl_tag_figures *of)
{
    struct pl_figures figures = of->figures;
    struct pl_estimate metric[PL_METRIC_COUNT];
    figures.peak = figures.freed;
    pl_estimate_figures(&figures, metric);
    struct pl_tag_freed freed = {metric[PL_METRIC_PEAK_OBJECTS], metric[PL_METRIC_PEAK_SPACE]};
    if (figures.allocated.sampled.samples == 0) {
        allow_for_the_unseen(&freed.objects, &of->metric[PL_METRIC_INUSE_OBJECTS]);
        allow_for_the_unseen(&freed.space, &of->metric[PL_METRIC_INUSE_SPACE]);
    }
    bound(&freed.objects, (double) of->all_calls);
    bound(&freed.space, (double) of->bytes);
    return freed;
}
