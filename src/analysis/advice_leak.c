/* SPDX-License-Identifier: MIT */
/*
 * advice_leak.c - live bytes that only grow.
 *
 * The judgement is that of `report --leaks` (reader/judge.c): survivors from every stretch of the run, while the whole
 * grows by them. What the built-in suppressions cover is kept on purpose by libraries. To be the first thing that one
 * is told it takes more than to be in that list: many blocks, and a share of what is live. A handful may be a table
 * that is filled as it is needed. There is no least size: what grows slowly in a minute is large in a month.
 */
#include <stdlib.h>

#include "adviser.h"
#include "judge.h"
#include "stackgroups.h"

#define WITNESSES_LEAST 32        /* live blocks that were counted */
#define SAMPLE_WITNESSES_LEAST 16 /* or samples: each stands for many */
#define SHARE_LEAST 0.01          /* of what is live */

static bool is_worth_it(const struct pl_adviser *adviser, const struct pl_leftover *item)
{
    bool sampled = item->figures.allocated.sampled.samples > 0;
    double least = sampled ? SAMPLE_WITNESSES_LEAST : WITNESSES_LEAST, live = item->metric[PL_METRIC_INUSE_SPACE].low;
    return pl_judge_witnesses(&item->figures) >= least &&
           pl_adviser_share(adviser, PL_METRIC_INUSE_SPACE, live) >= SHARE_LEAST;
}

/* A leak goes before anything that is only wasteful. */
static double weigh(const struct pl_adviser *adviser, const struct pl_leftover *item)
{
    double live = item->metric[PL_METRIC_INUSE_SPACE].low;
    return 0.5 + pl_adviser_share(adviser, PL_METRIC_INUSE_SPACE, live) / 2;
}

static const char *describe_freed(struct pl_adviser *adviser, const struct pl_leftover *item)
{
    char share[PL_FIGURE_BYTES], life[PL_FIGURE_BYTES];
    if (!(item->freed > 0))
        return "none was ever freed";
    pl_figure_percent(share, item->freed);
    if (!(item->life_s > 0))
        return pl_adviser_print(adviser, "%s of all that were made were freed", share);
    pl_figure_span(life, item->life_s);
    return pl_adviser_print(adviser, "%s of all that were made were freed, nearly all within %s", share, life);
}

static const char *describe_age(struct pl_adviser *adviser, const struct pl_leftover *item)
{
    char old[PL_FIGURE_BYTES], age[PL_FIGURE_BYTES];
    double young_s = adviser->profile->duration_s - item->young_s;
    if (!(item->old_objects >= 1) || !(young_s > 0))
        return "";
    pl_figure_count(old, item->old_objects);
    pl_figure_span(age, young_s);
    return pl_adviser_print(adviser, ", %s of them older than %s", old, age);
}

static void add(struct pl_adviser *adviser, const struct pl_leftover *item)
{
    char bytes[2 * PL_FIGURE_BYTES], blocks[2 * PL_FIGURE_BYTES], rate[PL_FIGURE_BYTES], seconds[PL_FIGURE_BYTES];
    pl_figure_estimate(bytes, PL_METRIC_INUSE_SPACE, &item->metric[PL_METRIC_INUSE_SPACE]);
    pl_figure_estimate(blocks, PL_METRIC_INUSE_OBJECTS, &item->metric[PL_METRIC_INUSE_OBJECTS]);
    pl_figure_bytes(rate, item->growth.bytes_per_s);
    pl_figure_seconds(seconds, item->growth.seconds);
    pl_adviser_add(
        adviser,
        &(struct pl_advice){
            .kind = PL_ADVICE_LEAK,
            .path = item->group,
            .headline = pl_adviser_print(adviser, "holds %s that only grow, by %s/s: suspected leak", bytes, rate),
            .evidence = pl_adviser_print(adviser, "Over %s blocks of every age have stayed: %s now%s; %s%s.", seconds,
                                         blocks, describe_age(adviser, item), describe_freed(adviser, item),
                                         pl_adviser_basis(adviser, &item->figures)),
            .action = pl_adviser_print(adviser,
                                       "find out who should have freed them; %s report --leaks shows when they "
                                       "were made",
                                       adviser->command),
            .gain_bytes = item->metric[PL_METRIC_INUSE_SPACE].low,
            .weight = weigh(adviser, item),
        });
}

void pl_advise_leak(struct pl_adviser *adviser)
{
    struct pl_suppressions *set = pl_suppressions_new();
    uint32_t *group = pl_stackgroups_new(adviser->profile, adviser->paths);
    pl_suppressions_add_builtin(set);
    struct pl_leftovers *left = pl_leftovers_new(adviser->profile, set, group, adviser->paths->count);
    for (uint32_t i = 0; i < left->suspected; i++)
        if (is_worth_it(adviser, &left->item[i]))
            add(adviser, &left->item[i]);
    pl_leftovers_free(left);
    pl_suppressions_free(set);
    free(group);
}
