/* SPDX-License-Identifier: MIT */
/*
 * advice_reuse.c - places with mostly temporary allocations: the same thread frees the block before it allocates again.
 *
 * Such a block is never live beside another one of its thread, so one buffer can replace them all. The place must make
 * a large part of all calls, and most of its own must be temporary: otherwise it has a reason to allocate.
 */
#include "analysis/advice/advice_work.h"

#define SHARE_LEAST 0.10 /* of all calls */
#define OWN_SHARE_LEAST 0.75
#define LOCAL_BYTES_MOST 1024 /* small enough for the stack */

static double mean_size(const struct pl_advice_place *place)
{
    double calls = place->metric[PL_METRIC_ALLOC_OBJECTS].value;
    return calls > 0 ? place->metric[PL_METRIC_ALLOC_SPACE].value / calls : 0;
}

static const char *choose_action(struct pl_advice_work *work, const struct pl_advice_place *place)
{
    char largest[PL_FIGURE_BYTES];
    uint64_t bytes = place->spread.largest;
    if (bytes == 0)
        return "keep one buffer and reuse it";
    pl_figure_bytes(largest, (double) bytes);
    return pl_advice_print(work,
                           bytes <= LOCAL_BYTES_MOST ? "use a local variable, or one buffer for all: %s at most"
                                                     : "keep one buffer of up to %s and reuse it",
                           largest);
}

static void look_at(struct pl_advice_work *work, const struct pl_advice_place *place)
{
    const struct pl_estimate *temporary = &place->metric[PL_METRIC_TEMP_OBJECTS];
    const struct pl_estimate *calls = &place->metric[PL_METRIC_ALLOC_OBJECTS];
    double share = pl_advice_share(work, PL_METRIC_ALLOC_OBJECTS, temporary->low);
    if (pl_advice_sure(place, PL_METRIC_TEMP_OBJECTS) <= 0 || temporary->low < PL_ADVICE_CALLS_LEAST ||
        share < SHARE_LEAST || temporary->value < OWN_SHARE_LEAST * calls->value)
        return;
    char count[2 * PL_FIGURE_BYTES], part[PL_FIGURE_BYTES], own[PL_FIGURE_BYTES], size[PL_FIGURE_BYTES];
    pl_figure_estimate(count, PL_METRIC_TEMP_OBJECTS, temporary);
    pl_figure_percent(part, pl_advice_share(work, PL_METRIC_ALLOC_OBJECTS, temporary->value));
    pl_figure_percent(own, temporary->value / calls->value);
    pl_figure_bytes(size, mean_size(place));
    pl_advice_add(
        work,
        &(struct pl_advice){
            .kind = PL_ADVICE_REUSE,
            .path = place->path,
            .headline = pl_advice_print(work, "makes %s temporary blocks, %s of all calls", count, part),
            .evidence = pl_advice_print(work,
                                        "%s of its blocks, of %s on average, were freed by the same thread before its "
                                        "next allocation%s.",
                                        own, size, pl_advice_basis(work, &place->figures)),
            .action = choose_action(work, place),
            .gain_calls = temporary->low,
            .weight = share,
        });
}

void pl_advice_reuse(struct pl_advice_work *work)
{
    for (uint32_t i = 0; i < work->places; i++)
        look_at(work, &work->place[i]);
}
