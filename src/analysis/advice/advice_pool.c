/* SPDX-License-Identifier: MIT */
/*
 * advice_pool.c - many equal small blocks, for which a pool or an arena costs less.
 *
 * Either they are kept, and the allocator's overhead is a large part of their memory; or they come and go, and are a
 * large part of all calls. Temporary blocks need one buffer (advice_reuse.c), not a pool.
 */
#include <math.h>

#include "analysis/advice/advice_work.h"

#define KEPT_SIZE_MOST 64       /* larger blocks have little overhead */
#define KEPT_BLOCKS_LEAST 10000 /* live at the peak */
#define KEPT_OVERHEAD_LEAST 0.2 /* of the memory that a block takes up */
#define KEPT_SHARE_LEAST 0.05   /* of the peak, that can be saved */
#define PASSING_SIZE_MOST 256
#define PASSING_CALLS_LEAST 200000
#define PASSING_SHARE_LEAST 0.25 /* of all calls */
#define PASSING_FREED_LEAST 0.5  /* of the place's own calls */
#define PASSING_TEMPORARY_MOST 0.5
#define PASSING_AT_ONCE_MOST 0.1 /* of the place's own calls, live at the peak: few live at a time */

/* The memory that a block takes up beyond its size, at least. */
static double overhead_of(const struct pl_advice_work *work, const struct pl_advice_place *place, double mean)
{
    uint64_t taken = pl_advice_taken(work, place);
    return taken ? (double) taken - mean : (double) work->sizing->header;
}

static bool look_at_kept(struct pl_advice_work *work, const struct pl_advice_place *place)
{
    const struct pl_estimate *blocks = &place->metric[PL_METRIC_PEAK_OBJECTS];
    const struct pl_estimate *bytes = &place->metric[PL_METRIC_PEAK_SPACE];
    double mean = blocks->value > 0 ? bytes->value / blocks->value : 0, more = overhead_of(work, place, mean);
    double saved = blocks->low * more;
    if (place->spread.largest > KEPT_SIZE_MOST || blocks->low < KEPT_BLOCKS_LEAST || saved < PL_ADVICE_BYTES_LEAST ||
        more < KEPT_OVERHEAD_LEAST * (mean + more) ||
        pl_advice_share(work, PL_METRIC_PEAK_SPACE, saved) < KEPT_SHARE_LEAST)
        return false;
    char count[2 * PL_FIGURE_BYTES], asked[PL_FIGURE_BYTES], got[PL_FIGURE_BYTES];
    pl_figure_estimate(count, PL_METRIC_PEAK_OBJECTS, blocks);
    pl_figure_bytes(asked, bytes->value);
    pl_figure_bytes(got, bytes->value + blocks->value * more);
    const char *sizes = pl_advice_sizes(work, &place->spread);
    pl_advice_add(
        work, &(struct pl_advice){
                  .kind = PL_ADVICE_POOL,
                  .path = place->path,
                  .headline = pl_advice_print(work, "keeps %s blocks of %s, each with %.0f bytes lost to malloc", count,
                                              sizes, more),
                  .evidence = pl_advice_print(work,
                                              "When the heap was largest they had %s and took up %s. The rule of %s: "
                                              "%s%s.",
                                              asked, got, work->sizing->name, work->sizing->rule,
                                              pl_advice_basis(work, &place->figures)),
                  .action = "allocate them from larger chunks: an array, a pool or an arena",
                  .gain_bytes = saved,
                  .weight = pl_advice_share(work, PL_METRIC_PEAK_SPACE, saved),
              });
    return true;
}

static void look_at_passing(struct pl_advice_work *work, const struct pl_advice_place *place)
{
    const struct pl_estimate *calls = &place->metric[PL_METRIC_ALLOC_OBJECTS];
    const struct pl_estimate *peak = &place->metric[PL_METRIC_PEAK_OBJECTS];
    double temporary = place->metric[PL_METRIC_TEMP_OBJECTS].value, live = place->metric[PL_METRIC_INUSE_OBJECTS].high;
    double freed = fmax(0, calls->low - live), share = pl_advice_share(work, PL_METRIC_ALLOC_OBJECTS, freed);
    if (place->spread.largest > PASSING_SIZE_MOST || !pl_advice_taken(work, place) ||
        pl_advice_sure(place, PL_METRIC_ALLOC_OBJECTS) <= 0 || freed < PASSING_CALLS_LEAST ||
        share < PASSING_SHARE_LEAST || freed < PASSING_FREED_LEAST * calls->value ||
        temporary > PASSING_TEMPORARY_MOST * calls->value || peak->value > PASSING_AT_ONCE_MOST * calls->value)
        return;
    char count[2 * PL_FIGURE_BYTES], part[PL_FIGURE_BYTES], own[PL_FIGURE_BYTES], most[2 * PL_FIGURE_BYTES];
    pl_figure_estimate(count, PL_METRIC_ALLOC_OBJECTS, calls);
    pl_figure_percent(part, pl_advice_share(work, PL_METRIC_ALLOC_OBJECTS, calls->value));
    pl_figure_percent(own, freed / calls->value);
    pl_figure_estimate(most, PL_METRIC_PEAK_OBJECTS, peak);
    const char *sizes = pl_advice_sizes(work, &place->spread);
    pl_advice_add(
        work,
        &(struct pl_advice){
            .kind = PL_ADVICE_POOL,
            .path = place->path,
            .headline = pl_advice_print(work, "makes and frees %s blocks of %s, %s of all calls", count, sizes, part),
            .evidence =
                pl_advice_print(work, "%s of them were freed; %s of them were live when the heap was largest%s.", own,
                                most, pl_advice_basis(work, &place->figures)),
            .action = "reuse freed blocks (a free list or a pool), or allocate them together in an arena",
            .gain_calls = freed,
            .weight = share / 2, /* a pool still has work to do for each block */
        });
}

void pl_advice_pool(struct pl_advice_work *work)
{
    for (uint32_t i = 0; i < work->places; i++)
        if (!look_at_kept(work, &work->place[i]))
            look_at_passing(work, &work->place[i]);
}
