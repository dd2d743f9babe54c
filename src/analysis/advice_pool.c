/* SPDX-License-Identifier: MIT */
/*
 * advice_pool.c - many equal small blocks, which a pool or an arena would hand out for less.
 *
 * Either they are kept, and what the allocator adds to each is a good part of the memory; or they come and go, and are
 * a good part of all calls. Temporaries are a matter of one buffer (advice_reuse.c), not of a pool.
 */
#include <math.h>

#include "adviser.h"

#define KEPT_SIZE_MOST 64       /* larger ones lose little to the allocator */
#define KEPT_BLOCKS_LEAST 10000 /* when the heap was largest */
#define KEPT_OVERHEAD_LEAST 0.2 /* of what a block takes up */
#define KEPT_SHARE_LEAST 0.05   /* saved, of the peak */
#define PASSING_SIZE_MOST 256
#define PASSING_CALLS_LEAST 200000
#define PASSING_SHARE_LEAST 0.25 /* of all calls */
#define PASSING_FREED_LEAST 0.5  /* of its own */
#define PASSING_TEMPORARY_MOST 0.5
#define PASSING_AT_ONCE_MOST 0.1 /* of its own, when the heap was largest: they take turns */

/* What a block takes up beyond its size, at least. */
static double overhead_of(const struct pl_adviser *adviser, const struct pl_adviser_place *place, double mean)
{
    uint64_t taken = pl_adviser_taken(adviser, place);
    return taken ? (double) taken - mean : (double) adviser->sizing->header;
}

static bool look_at_kept(struct pl_adviser *adviser, const struct pl_adviser_place *place)
{
    const struct pl_estimate *blocks = &place->metric[PL_METRIC_PEAK_OBJECTS];
    const struct pl_estimate *bytes = &place->metric[PL_METRIC_PEAK_SPACE];
    double mean = blocks->value > 0 ? bytes->value / blocks->value : 0, more = overhead_of(adviser, place, mean);
    double saved = blocks->low * more;
    if (place->spread.largest > KEPT_SIZE_MOST || blocks->low < KEPT_BLOCKS_LEAST || saved < PL_ADVICE_BYTES_LEAST ||
        more < KEPT_OVERHEAD_LEAST * (mean + more) ||
        pl_adviser_share(adviser, PL_METRIC_PEAK_SPACE, saved) < KEPT_SHARE_LEAST)
        return false;
    char count[2 * PL_FIGURE_BYTES], asked[PL_FIGURE_BYTES], got[PL_FIGURE_BYTES];
    pl_figure_estimate(count, PL_METRIC_PEAK_OBJECTS, blocks);
    pl_figure_bytes(asked, bytes->value);
    pl_figure_bytes(got, bytes->value + blocks->value * more);
    const char *sizes = pl_adviser_sizes(adviser, &place->spread);
    pl_adviser_add(
        adviser,
        &(struct pl_advice){
            .kind = PL_ADVICE_POOL,
            .path = place->path,
            .headline = pl_adviser_print(adviser, "keeps %s blocks of %s, each with %.0f bytes lost to malloc", count,
                                         sizes, more),
            .evidence = pl_adviser_print(adviser,
                                         "When the heap was largest they were %s and took up %s, by the rule of %s: "
                                         "%s%s.",
                                         asked, got, adviser->sizing->name, adviser->sizing->rule,
                                         pl_adviser_basis(adviser, &place->figures)),
            .action = "take them from larger chunks: an array, a pool or an arena",
            .gain_bytes = saved,
            .weight = pl_adviser_share(adviser, PL_METRIC_PEAK_SPACE, saved),
        });
    return true;
}

static void look_at_passing(struct pl_adviser *adviser, const struct pl_adviser_place *place)
{
    const struct pl_estimate *calls = &place->metric[PL_METRIC_ALLOC_OBJECTS];
    const struct pl_estimate *peak = &place->metric[PL_METRIC_PEAK_OBJECTS];
    double temporary = place->metric[PL_METRIC_TEMP_OBJECTS].value, live = place->metric[PL_METRIC_INUSE_OBJECTS].high;
    double freed = fmax(0, calls->low - live), share = pl_adviser_share(adviser, PL_METRIC_ALLOC_OBJECTS, freed);
    if (place->spread.largest > PASSING_SIZE_MOST || !pl_adviser_taken(adviser, place) ||
        pl_adviser_sure(place, PL_METRIC_ALLOC_OBJECTS) <= 0 || freed < PASSING_CALLS_LEAST ||
        share < PASSING_SHARE_LEAST || freed < PASSING_FREED_LEAST * calls->value ||
        temporary > PASSING_TEMPORARY_MOST * calls->value || peak->value > PASSING_AT_ONCE_MOST * calls->value)
        return;
    char count[2 * PL_FIGURE_BYTES], part[PL_FIGURE_BYTES], own[PL_FIGURE_BYTES], most[2 * PL_FIGURE_BYTES];
    pl_figure_estimate(count, PL_METRIC_ALLOC_OBJECTS, calls);
    pl_figure_percent(part, pl_adviser_share(adviser, PL_METRIC_ALLOC_OBJECTS, calls->value));
    pl_figure_percent(own, freed / calls->value);
    pl_figure_estimate(most, PL_METRIC_PEAK_OBJECTS, peak);
    const char *sizes = pl_adviser_sizes(adviser, &place->spread);
    pl_adviser_add(
        adviser,
        &(struct pl_advice){
            .kind = PL_ADVICE_POOL,
            .path = place->path,
            .headline =
                pl_adviser_print(adviser, "makes and frees %s blocks of %s, %s of all calls", count, sizes, part),
            .evidence = pl_adviser_print(
                adviser, "%s of them were freed again; there were %s of them when the heap was largest%s.", own, most,
                pl_adviser_basis(adviser, &place->figures)),
            .action = "keep freed ones for the next (a free list or a pool), or make them together in an arena",
            .gain_calls = freed,
            .weight = share / 2, /* a call that is saved saves less than half of the work */
        });
}

void pl_advise_pool(struct pl_adviser *adviser)
{
    for (uint32_t i = 0; i < adviser->places; i++)
        if (!look_at_kept(adviser, &adviser->place[i]))
            look_at_passing(adviser, &adviser->place[i]);
}
