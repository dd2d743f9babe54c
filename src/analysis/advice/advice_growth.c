/* SPDX-License-Identifier: MIT */
/*
 * advice_growth.c - memory that grew until the heap was largest, and was freed in the end.
 *
 * It is no leak: a program that frees everything as it ends leaves nothing to accuse. But while it ran, it behaved like
 * one, and a longer run would have needed more memory.
 */
#include <stdlib.h>

#include "analysis/advice/advice_work.h"
#include "analysis/leaks/rise.h"
#include "reader/base/grow.h"

#define PEAK_SHARE_LEAST 0.1
#define FREED_LEAST 0.5 /* of its bytes at the peak; otherwise it is for advice_leak.c */

static bool is_worth_it(const struct pl_advice_work *work, const struct pl_advice_place *place)
{
    const struct pl_estimate *peak = &place->metric[PL_METRIC_PEAK_SPACE];
    double left = place->metric[PL_METRIC_INUSE_SPACE].value;
    return peak->low >= PL_ADVICE_BYTES_LEAST && left <= (1 - FREED_LEAST) * peak->value &&
           pl_advice_share(work, PL_METRIC_PEAK_SPACE, peak->low) >= PEAK_SHARE_LEAST;
}

static void add(struct pl_advice_work *work, const struct pl_advice_place *place, const struct pl_rise *rise)
{
    const struct pl_profile *profile = work->profile;
    const struct pl_estimate *peak = &place->metric[PL_METRIC_PEAK_SPACE];
    char held[2 * PL_FIGURE_BYTES], rate[PL_FIGURE_BYTES], from[PL_FIGURE_BYTES], until[PL_FIGURE_BYTES];
    char share[PL_FIGURE_BYTES], left[2 * PL_FIGURE_BYTES];
    pl_figure_estimate(held, PL_METRIC_PEAK_SPACE, peak);
    pl_figure_estimate(left, PL_METRIC_INUSE_SPACE, &place->metric[PL_METRIC_INUSE_SPACE]);
    pl_figure_bytes(rate, rise->bytes_per_s);
    pl_figure_percent(share, pl_advice_share(work, PL_METRIC_PEAK_SPACE, peak->value));
    pl_figure_span(from, rise->from_s);
    pl_figure_span(until, profile->peak_s);
    pl_advice_add(
        work,
        &(struct pl_advice){
            .kind = PL_ADVICE_GROWTH,
            .path = place->path,
            .headline = pl_advice_print(work,
                                        "held %s when the heap was largest: %s of the peak. It grew steadily until "
                                        "then, by %s/s, and was freed after that",
                                        held, share, rate),
            .evidence = pl_advice_print(work, "It grew from %s to %s; %s of it %s left%s.", from, until, left,
                                        profile->running ? "are" : "were", pl_advice_basis(work, &place->figures)),
            .action = "if it is a cache, give it a limit; a longer run would need more",
            .gain_bytes = peak->low,
            .weight = pl_advice_share(work, PL_METRIC_PEAK_SPACE, peak->low),
        });
}

void pl_advice_growth(struct pl_advice_work *work)
{
    const struct pl_profile *profile = work->profile;
    uint32_t *place_of_site = pl_grow_zeroed(profile->sites + 1ull, sizeof *place_of_site);
    for (uint32_t i = 0; i < profile->sites; i++)
        place_of_site[i] = work->place_of_path[work->paths->of_site[i]];
    for (uint32_t i = 0; i < work->places; i++) {
        if (!is_worth_it(work, &work->place[i]))
            continue;
        struct pl_rise rise = pl_rise_to_peak(profile, place_of_site, i, work->place[i].metric);
        if (rise.steady)
            add(work, &work->place[i], &rise);
    }
    free(place_of_site);
}
