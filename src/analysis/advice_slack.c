/* SPDX-License-Identifier: MIT */
/*
 * advice_slack.c - sizes that allocators round up: memory that is taken up, and that nobody asked for.
 *
 * What is lost follows from the allocator's rule, where all sizes of a place are rounded up to the same: of what was
 * counted it is certain to the byte, and where there are samples there must be so many that other sizes are few. Of
 * places with sizes of all kinds nothing is said, nor of those for which a pool is the answer.
 */
#include "adviser.h"

#define LOST_LEAST 0.10  /* of what a block takes up */
#define SHARE_LEAST 0.03 /* of the peak */

static void look_at(struct pl_adviser *adviser, const struct pl_adviser_place *place)
{
    const struct pl_sizing *sizing = adviser->sizing;
    const struct pl_estimate *blocks = &place->metric[PL_METRIC_PEAK_OBJECTS];
    double mean = blocks->value > 0 ? place->metric[PL_METRIC_PEAK_SPACE].value / blocks->value : 0;
    double taken = (double) pl_adviser_taken(adviser, place), lost = taken - (double) sizing->header - mean;
    double slack = blocks->low * lost;
    if (!(taken > 0) || lost < LOST_LEAST * taken || slack < PL_ADVICE_BYTES_LEAST ||
        pl_adviser_sure(place, PL_METRIC_PEAK_OBJECTS) <= 0 ||
        pl_adviser_share(adviser, PL_METRIC_PEAK_SPACE, slack) < SHARE_LEAST ||
        pl_adviser_has(adviser, PL_ADVICE_POOL, place->path))
        return;
    char count[2 * PL_FIGURE_BYTES], below[PL_FIGURE_BYTES], got[PL_FIGURE_BYTES];
    uint64_t fits = pl_sizing_below(sizing, place->spread.smallest);
    pl_figure_estimate(count, PL_METRIC_PEAK_OBJECTS, blocks);
    pl_figure_exact(below, fits);
    pl_figure_exact(got, (uint64_t) taken);
    const char *sizes = pl_adviser_sizes(adviser, &place->spread);
    pl_adviser_add(adviser,
                   &(struct pl_advice){
                       .kind = PL_ADVICE_SLACK,
                       .path = place->path,
                       .headline = pl_adviser_print(adviser, "asks for %s and takes up %s", sizes, got),
                       .evidence = pl_adviser_print(
                           adviser,
                           "%.0f bytes of each go unused; there were %s when the heap was largest. The rule of "
                           "%s: %s%s.",
                           lost, count, sizing->name, sizing->rule, pl_adviser_basis(adviser, &place->figures)),
                       .action = pl_adviser_print(adviser,
                                                  "make it smaller (%s bytes fit the next smaller size), or use "
                                                  "the room",
                                                  below),
                       .gain_bytes = slack,
                       .weight = pl_adviser_share(adviser, PL_METRIC_PEAK_SPACE, slack),
                   });
}

void pl_advise_slack(struct pl_adviser *adviser)
{
    for (uint32_t i = 0; i < adviser->places; i++)
        look_at(adviser, &adviser->place[i]);
}
