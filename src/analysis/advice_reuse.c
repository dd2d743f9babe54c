/* SPDX-License-Identifier: MIT */
/*
 * advice_reuse.c - places that mostly make temporaries: blocks that the same thread frees before it allocates again.
 *
 * Such a block was never needed beside another one, so one buffer can stand for all of them. It takes a place with a
 * good part of all calls, most of which are like that: otherwise there is a reason why it allocates.
 */
#include "adviser.h"

#define SHARE_LEAST 0.10 /* of all calls */
#define OWN_SHARE_LEAST 0.75
#define LOCAL_BYTES_MOST 1024 /* what one would put on the stack */

static double mean_size(const struct pl_adviser_place *place)
{
    double calls = place->metric[PL_METRIC_ALLOC_OBJECTS].value;
    return calls > 0 ? place->metric[PL_METRIC_ALLOC_SPACE].value / calls : 0;
}

static const char *choose_action(struct pl_adviser *adviser, const struct pl_adviser_place *place)
{
    char largest[PL_FIGURE_BYTES];
    uint64_t bytes = place->spread.largest;
    if (bytes == 0)
        return "keep one buffer and use it again";
    pl_figure_bytes(largest, (double) bytes);
    return pl_adviser_print(adviser,
                            bytes <= LOCAL_BYTES_MOST ? "use a local variable, or one buffer for all: %s at most"
                                                      : "keep one buffer, of up to %s, and use it again",
                            largest);
}

static void look_at(struct pl_adviser *adviser, const struct pl_adviser_place *place)
{
    const struct pl_estimate *temporary = &place->metric[PL_METRIC_TEMP_OBJECTS];
    const struct pl_estimate *calls = &place->metric[PL_METRIC_ALLOC_OBJECTS];
    double share = pl_adviser_share(adviser, PL_METRIC_ALLOC_OBJECTS, temporary->low);
    if (pl_adviser_sure(place, PL_METRIC_TEMP_OBJECTS) <= 0 || temporary->low < PL_ADVICE_CALLS_LEAST ||
        share < SHARE_LEAST || temporary->value < OWN_SHARE_LEAST * calls->value)
        return;
    char count[2 * PL_FIGURE_BYTES], part[PL_FIGURE_BYTES], own[PL_FIGURE_BYTES], size[PL_FIGURE_BYTES];
    pl_figure_estimate(count, PL_METRIC_TEMP_OBJECTS, temporary);
    pl_figure_percent(part, pl_adviser_share(adviser, PL_METRIC_ALLOC_OBJECTS, temporary->value));
    pl_figure_percent(own, temporary->value / calls->value);
    pl_figure_bytes(size, mean_size(place));
    pl_adviser_add(
        adviser,
        &(struct pl_advice){
            .kind = PL_ADVICE_REUSE,
            .path = place->path,
            .headline = pl_adviser_print(adviser, "makes %s temporary blocks, %s of all calls", count, part),
            .evidence = pl_adviser_print(adviser,
                                         "%s of its blocks, of %s on average, were freed by the thread that made them "
                                         "before it allocated again%s.",
                                         own, size, pl_adviser_basis(adviser, &place->figures)),
            .action = choose_action(adviser, place),
            .gain_calls = temporary->low,
            .weight = share,
        });
}

void pl_advise_reuse(struct pl_adviser *adviser)
{
    for (uint32_t i = 0; i < adviser->places; i++)
        look_at(adviser, &adviser->place[i]);
}
