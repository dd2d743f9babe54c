/* SPDX-License-Identifier: MIT */
/*
 * advice_slack.c - sizes that allocators round up: memory that is taken up, but not requested.
 *
 * If the allocator rounds all sizes of a place up to the same one, its rule says how much is lost: to the byte if all
 * blocks were counted. With samples, there must be so many that other sizes are rare. Places with mixed sizes get no
 * such advice, nor do those that got advice to use a pool.
 */
#include "analysis/advice/advice_work.h"

#define LOST_LEAST 0.10  /* of the memory that a block takes up */
#define SHARE_LEAST 0.03 /* of the peak */

static void look_at(struct pl_advice_work *work, const struct pl_advice_place *place)
{
    const struct pl_sizing *sizing = work->sizing;
    const struct pl_estimate *blocks = &place->metric[PL_METRIC_PEAK_OBJECTS];
    double mean = blocks->value > 0 ? place->metric[PL_METRIC_PEAK_SPACE].value / blocks->value : 0;
    double taken = (double) pl_advice_taken(work, place), lost = taken - (double) sizing->header - mean;
    double slack = blocks->low * lost;
    if (!(taken > 0) || lost < LOST_LEAST * taken || slack < PL_ADVICE_BYTES_LEAST ||
        pl_advice_sure(place, PL_METRIC_PEAK_OBJECTS) <= 0 ||
        pl_advice_share(work, PL_METRIC_PEAK_SPACE, slack) < SHARE_LEAST ||
        pl_advice_has(work, PL_ADVICE_POOL, place->path))
        return;
    char count[2 * PL_FIGURE_BYTES], below[PL_FIGURE_BYTES], got[PL_FIGURE_BYTES];
    uint64_t fits = pl_sizing_below(sizing, place->spread.smallest);
    pl_figure_estimate(count, PL_METRIC_PEAK_OBJECTS, blocks);
    pl_figure_exact(below, fits);
    pl_figure_exact(got, (uint64_t) taken);
    const char *sizes = pl_advice_sizes(work, &place->spread);
    pl_advice_add(work, &(struct pl_advice){
                            .kind = PL_ADVICE_SLACK,
                            .path = place->path,
                            .headline = pl_advice_print(work, "asks for %s and takes up %s", sizes, got),
                            .evidence = pl_advice_print(
                                work,
                                "%.0f bytes of each are unused; %s were live when the heap was largest. The rule of "
                                "%s: %s%s.",
                                lost, count, sizing->name, sizing->rule, pl_advice_basis(work, &place->figures)),
                            .action = pl_advice_print(work,
                                                      "make it smaller (%s bytes fit the next smaller size), or use "
                                                      "the spare bytes",
                                                      below),
                            .gain_bytes = slack,
                            .weight = pl_advice_share(work, PL_METRIC_PEAK_SPACE, slack),
                        });
}

void pl_advice_slack(struct pl_advice_work *work)
{
    for (uint32_t i = 0; i < work->places; i++)
        look_at(work, &work->place[i]);
}
