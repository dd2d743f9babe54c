/* SPDX-License-Identifier: MIT */
/*
 * advice_leak.c - live bytes that keep growing.
 *
 * The verdict is that of `report --leaks` (reader/judge.c): blocks survive from every stretch of the run, and the site
 * grows by them. The built-in suppressions exclude memory that libraries keep on purpose. Advice comes unasked, so it
 * needs more than that list does: many blocks, and a share of live bytes. A handful of blocks may be a table that is
 * filled on demand. There is no minimum size: slow growth in a minute is large in a month.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/advice/advice_work.h"
#include "analysis/leaks/families.h"
#include "analysis/leaks/judge.h"
#include "analysis/path.h"

#define WITNESSES_LEAST 32        /* live blocks, if all were counted */
#define SAMPLE_WITNESSES_LEAST 16 /* if there are samples: each stands for many blocks */
#define SHARE_LEAST 0.01          /* of live bytes */

static bool is_worth_it(const struct pl_advice_work *work, const struct pl_leftover *item)
{
    bool sampled = item->figures.allocated.sampled.samples > 0;
    double least = sampled ? SAMPLE_WITNESSES_LEAST : WITNESSES_LEAST, live = item->metric[PL_METRIC_INUSE_SPACE].low;
    return pl_judge_witnesses(&item->figures) >= least &&
           pl_advice_share(work, PL_METRIC_INUSE_SPACE, live) >= SHARE_LEAST;
}

/* A leak outweighs most waste: its weight is at least 0.5. */
static double weigh(const struct pl_advice_work *work, const struct pl_leftover *item)
{
    double live = item->metric[PL_METRIC_INUSE_SPACE].low;
    return 0.5 + pl_advice_share(work, PL_METRIC_INUSE_SPACE, live) / 2;
}

static const char *describe_freed(struct pl_advice_work *work, const struct pl_leftover *item)
{
    char share[PL_FIGURE_BYTES], life[PL_FIGURE_BYTES];
    if (!(item->freed > 0))
        return "none was ever freed";
    pl_figure_percent(share, item->freed);
    if (!(item->life_s > 0))
        return pl_advice_print(work, "%s of all its blocks were freed", share);
    pl_figure_span(life, item->life_s);
    return pl_advice_print(work, "%s of all its blocks were freed, nearly all within %s", share, life);
}

static const char *describe_age(struct pl_advice_work *work, const struct pl_leftover *item)
{
    char old[PL_FIGURE_BYTES], age[PL_FIGURE_BYTES];
    double young_s = work->profile->duration_s - item->young_s;
    if (!(item->old_objects >= 1) || !(young_s > 0))
        return "";
    pl_figure_count(old, item->old_objects);
    pl_figure_span(age, young_s);
    return pl_advice_print(work, ", %s of them older than %s", old, age);
}

/* Continues the name of the heaviest site: "and 4 other sites below open_session hold"; "in" the function of that name.
 */
static const char *describe_holders(struct pl_advice_work *work, const struct pl_family *family)
{
    if (family->count < 2)
        return "holds";
    const char *owner = work->locations->location[family->owner].name;
    const struct pl_path *first = &work->paths->path[family->whole.group];
    bool itself = strcmp(work->locations->location[first->location[0]].name, owner) == 0;
    return pl_advice_print(work, "and %u other site%s %s %s hold", family->count - 1, family->count == 2 ? "" : "s",
                           itself ? "in" : "below", owner);
}

static const uint32_t *list_others(struct pl_advice_work *work, const struct pl_leftover *item, uint32_t count)
{
    uint32_t *path = pl_arena_alloc(work->out->arena, (count + 1ull) * sizeof *path);
    for (uint32_t i = 0; i < count; i++)
        path[i] = item[i].group;
    return path;
}

/* `first` is the heaviest site of the family. */
static void add(struct pl_advice_work *work, const struct pl_family *family, const struct pl_leftover *first)
{
    const struct pl_leftover *item = &family->whole;
    char bytes[2 * PL_FIGURE_BYTES], blocks[2 * PL_FIGURE_BYTES], rate[PL_FIGURE_BYTES], seconds[PL_FIGURE_BYTES];
    bool several = family->count > 1;
    pl_figure_estimate(bytes, PL_METRIC_INUSE_SPACE, &item->metric[PL_METRIC_INUSE_SPACE]);
    pl_figure_estimate(blocks, PL_METRIC_INUSE_OBJECTS, &item->metric[PL_METRIC_INUSE_OBJECTS]);
    pl_figure_bytes(rate, item->growth.bytes_per_s);
    pl_figure_seconds(seconds, item->growth.seconds);
    pl_advice_add(
        work,
        &(struct pl_advice){
            .kind = PL_ADVICE_LEAK,
            .path = item->group,
            .others = list_others(work, first + 1, family->count - 1),
            .other_count = family->count - 1,
            .headline = pl_advice_print(work, "%s %s and keep%s growing, by %s/s: suspected leak",
                                        describe_holders(work, family), bytes, several ? "" : "s", rate),
            .evidence = pl_advice_print(work, "Over %s, blocks of every age survived: %s are live%s; %s%s.", seconds,
                                        blocks, describe_age(work, item), describe_freed(work, item),
                                        pl_advice_basis(work, &item->figures)),
            .action = pl_advice_print(work, "find the code that should have freed them; %s shows when they were made",
                                      work->commands->leaks),
            .gain_bytes = item->metric[PL_METRIC_INUSE_SPACE].low,
            .weight = weigh(work, item),
        });
}

void pl_advice_leak(struct pl_advice_work *work)
{
    struct pl_suppressions *set = pl_suppressions_new();
    uint32_t *group = pl_paths_of_stacks(work->profile, work->paths);
    pl_suppressions_add_builtin(set);
    struct pl_leftovers *left = pl_leftovers_new(work->profile, set, group, work->paths->count);
    struct pl_families families = pl_families_new(left, work->paths, work->locations);
    for (uint32_t i = 0; i < families.count; i++)
        if (is_worth_it(work, &families.family[i].whole))
            add(work, &families.family[i], &left->item[families.family[i].first]);
    pl_leftovers_free(left);
    pl_suppressions_free(set);
    free(group);
}
