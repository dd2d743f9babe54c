/* SPDX-License-Identifier: MIT */
/*
 * advice_untouched.c - buffers that are much larger than what is used of them.
 *
 * The kernel knows which pages of live blocks were ever touched. It is asked of a running process only, so this advice
 * needs one. Memory that was touched and given back (madvise) looks the same.
 */
#include "analysis/advice/advice_work.h"

#define BYTES_LEAST (4.0 * (1 << 20))
#define SHARE_LEAST 0.5 /* of what the site holds */
#define LESS 4          /* times less worth than resident memory */

static struct pl_advice_touch touch_of(const struct pl_advice_work *work, uint32_t place)
{
    struct pl_advice_touch sum = {0};
    for (uint32_t i = 0; i < work->paths->count; i++) {
        if (work->place_of_path[i] != place)
            continue;
        sum.live_bytes += work->touch[i].live_bytes;
        sum.untouched_bytes += work->touch[i].untouched_bytes;
        sum.untouched_error += work->touch[i].untouched_error;
    }
    return sum;
}

static void look_at(struct pl_advice_work *work, uint32_t number)
{
    const struct pl_advice_place *place = &work->place[number];
    struct pl_advice_touch touch = touch_of(work, number);
    double sure = touch.untouched_bytes - touch.untouched_error;
    if (sure < BYTES_LEAST || sure < SHARE_LEAST * touch.live_bytes)
        return;
    char live[PL_FIGURE_BYTES], used[PL_FIGURE_BYTES], untouched[PL_FIGURE_BYTES], blocks[2 * PL_FIGURE_BYTES];
    char error[PL_FIGURE_BYTES];
    pl_figure_bytes(live, touch.live_bytes);
    pl_figure_bytes(used, touch.live_bytes - touch.untouched_bytes);
    pl_figure_bytes(untouched, touch.untouched_bytes);
    pl_figure_bytes(error, touch.untouched_error);
    pl_figure_estimate(blocks, PL_METRIC_INUSE_OBJECTS, &place->metric[PL_METRIC_INUSE_OBJECTS]);
    bool one = place->metric[PL_METRIC_INUSE_OBJECTS].value == 1;
    pl_advice_add(
        work,
        &(struct pl_advice){
            .kind = PL_ADVICE_UNTOUCHED,
            .path = place->path,
            .headline = pl_advice_print(work, "allocates %s and touches %s", live, used),
            .evidence = pl_advice_print(
                work, "%s%s%s of what it holds, in %s live block%s, are on pages that were never touched%s.", untouched,
                touch.untouched_error > 0 ? " ± " : "", touch.untouched_error > 0 ? error : "", blocks, one ? "" : "s",
                pl_advice_basis(work, &place->figures)),
            .action =
                "make the buffer smaller, or let it grow with what is put into it. It costs addresses and committed "
                "memory now, and resident memory only when it is filled",
            .weight = pl_advice_share(work, PL_METRIC_INUSE_SPACE, sure) / LESS,
        });
}

void pl_advice_untouched(struct pl_advice_work *work)
{
    for (uint32_t i = 0; work->touch && i < work->places; i++)
        look_at(work, i);
}
