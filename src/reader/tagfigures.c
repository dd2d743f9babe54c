/* SPDX-License-Identifier: MIT */
/*
 * tagfigures.c - figures of tags.
 *
 * What a tag allocated is known exactly in every mode, and what of it is live, freed or was there at the peak may have
 * to be estimated from samples: a few of them may stand for more than there ever was. So the exact figure has the last
 * word. Values of parts then add up to less than that of the whole, where one of them was too large.
 *
 * Invariant: low <= value <= high <= what was allocated.
 */
#include "tagfigures.h"

#include <math.h>
#include <string.h>

#include "totals.h"

void pl_tagfigures_add(struct pl_tag_figures *to, const struct pl_tag_figures *more)
{
    to->entered += more->entered;
    to->bytes += more->bytes;
    to->all_calls += more->all_calls;
    for (int f = 0; f < PL_FN_MAX; f++)
        to->calls[f] += more->calls[f];
    pl_figures_add(&to->figures, &more->figures);
}

/* A value that is too large goes down, and the lower end of its interval in proportion: it has become no more certain.
 */
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

/* What hides behind the want of a sample may be live, and may as well have been freed. */
static void allow_for_the_unseen(struct pl_estimate *freed, const struct pl_estimate *live)
{
    freed->high += live->high - live->value;
    freed->error = freed->value > 0 ? (freed->high - freed->low) / 2 : freed->high;
}

/* A part of what was allocated, as the peak is, and estimated like that. */
struct pl_tag_freed pl_tagfigures_freed(const struct pl_tag_figures *of)
{
    struct pl_figures figures = of->figures;
    struct pl_estimate metric[PL_METRIC_COUNT];
    figures.peak = figures.freed;
    pl_figures_estimate(&figures, metric);
    struct pl_tag_freed freed = {metric[PL_METRIC_PEAK_OBJECTS], metric[PL_METRIC_PEAK_SPACE]};
    if (figures.allocated.sampled.samples == 0) {
        allow_for_the_unseen(&freed.objects, &of->metric[PL_METRIC_INUSE_OBJECTS]);
        allow_for_the_unseen(&freed.space, &of->metric[PL_METRIC_INUSE_SPACE]);
    }
    bound(&freed.objects, (double) of->all_calls);
    bound(&freed.space, (double) of->bytes);
    return freed;
}
