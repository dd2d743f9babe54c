/* SPDX-License-Identifier: MIT */
/*
 * families.c - suspected leaks that belong together.
 *
 * The heaviest site that has no family yet looks for one: for each of its nearest callers, how many other sites have
 * that caller near, too? The caller with most wins, and of those with equally many the innermost. main and thread
 * functions call everything, so they do not count.
 */
#include "analysis/leaks/families.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reader/base/arena.h"

#define NEAR 4    /* frames of the site that are looked at */
#define ALIKE 0.1 /* how much the shares of an age class may differ; with samples, twice as much */

struct work {
    struct pl_leftovers *left;
    const struct pl_paths *paths;
    const struct pl_locations *locations;
    bool *taken; /* by item */
};

static const struct pl_path *path_of(const struct work *work, uint32_t item)
{
    return &work->paths->path[work->left->item[item].group];
}

static bool same_function(const struct work *work, uint32_t a, uint32_t b)
{
    const struct pl_locations *locations = work->locations;
    return a == b || (locations->alike[a] == locations->alike[b] &&
                      strcmp(locations->location[a].module, locations->location[b].module) == 0);
}

/* Whether the i-th frame of a path may own a family: the outermost one is main, or a thread's function. */
static bool may_own(const struct work *work, const struct pl_path *path, uint32_t i)
{
    return work->locations->location[path->location[i]].role == PL_ROLE_OWN &&
           (i == 0 || i + 1 < path->count || path->more);
}

static bool is_called_by(const struct work *work, uint32_t item, uint32_t owner)
{
    const struct pl_path *path = path_of(work, item);
    for (uint32_t i = 0; i < path->count && i < NEAR; i++)
        if (same_function(work, path->location[i], owner) && may_own(work, path, i))
            return true;
    return false;
}

static double sum_of(const double ages[PL_COHORTS])
{
    double sum = 0;
    for (uint32_t i = 0; i < PL_COHORTS; i++)
        sum += ages[i];
    return sum;
}

static bool are_of_one_age(const struct pl_leftover *a, const struct pl_leftover *b)
{
    bool sampled = a->figures.allocated.sampled.samples + b->figures.allocated.sampled.samples > 0;
    double all_a = sum_of(a->spread.ages), all_b = sum_of(b->spread.ages), most = sampled ? 2 * ALIKE : ALIKE;
    if (!(all_a > 0) || !(all_b > 0))
        return false;
    for (uint32_t i = 0; i < PL_COHORTS; i++)
        if (!(fabs(a->spread.ages[i] / all_a - b->spread.ages[i] / all_b) <= most))
            return false;
    return true;
}

static bool is_related(const struct work *work, uint32_t head, uint32_t item, uint32_t owner)
{
    return !work->taken[item] && is_called_by(work, item, owner) &&
           are_of_one_age(&work->left->item[head], &work->left->item[item]);
}

static uint32_t count_related(const struct work *work, uint32_t head, uint32_t owner)
{
    uint32_t count = 0;
    for (uint32_t i = head + 1; i < work->left->suspected; i++)
        count += is_related(work, head, i, owner);
    return count;
}

static uint32_t find_owner(const struct work *work, uint32_t head)
{
    const struct pl_path *path = path_of(work, head);
    uint32_t owner = PL_PATH_NO_LOCATION, most = 0;
    for (uint32_t i = 0; i < path->count && i < NEAR; i++) {
        uint32_t related = may_own(work, path, i) ? count_related(work, head, path->location[i]) : 0;
        if (related > most) {
            owner = path->location[i];
            most = related;
        }
    }
    return owner;
}

static void join(struct pl_leftover *whole, const struct pl_leftover *more)
{
    pl_figures_add(&whole->figures, &more->figures);
    pl_spread_add(&whole->spread, &more->spread);
    whole->stacks += more->stacks;
    whole->growth.bytes_per_s += more->growth.bytes_per_s;
    whole->old_objects += more->old_objects;
    whole->life_s = fmax(whole->life_s, more->life_s);
}

static void finish(struct pl_family *family)
{
    struct pl_leftover *whole = &family->whole;
    double made, freed;
    pl_estimate_figures(&whole->figures, whole->metric);
    made = whole->metric[PL_METRIC_ALLOC_OBJECTS].value;
    freed = made - whole->metric[PL_METRIC_INUSE_OBJECTS].value;
    whole->freed = made > 0 ? fmax(0, freed / made) : 0;
}

static void gather(struct work *work, uint32_t head, struct pl_family *family, struct pl_leftover *sorted)
{
    struct pl_leftover *item = work->left->item;
    *family = (struct pl_family){.first = family->first, .count = 1, .whole = item[head]};
    family->owner = find_owner(work, head);
    sorted[family->first] = item[head];
    for (uint32_t i = head + 1; i < work->left->suspected && family->owner != PL_PATH_NO_LOCATION; i++) {
        if (!is_related(work, head, i, family->owner))
            continue;
        work->taken[i] = true;
        join(&family->whole, &item[i]);
        sorted[family->first + family->count++] = item[i];
    }
    if (family->count > 1)
        finish(family);
}

static int heaviest_first(const void *left, const void *right)
{
    const struct pl_family *a = left, *b = right;
    double x = a->whole.metric[PL_METRIC_INUSE_SPACE].value, y = b->whole.metric[PL_METRIC_INUSE_SPACE].value;
    return x != y ? (x < y ? 1 : -1) : (a->first > b->first) - (a->first < b->first);
}

struct pl_families pl_families_new(struct pl_leftovers *left, const struct pl_paths *paths,
                                   const struct pl_locations *locations)
{
    struct pl_arena *scratch = pl_arena_new();
    struct work work = {left, paths, locations, pl_arena_alloc(scratch, left->suspected + 1ull)};
    struct pl_leftover *sorted = pl_arena_alloc(scratch, (left->suspected + 1ull) * sizeof *sorted);
    struct pl_families families = {.family =
                                       pl_arena_alloc(left->arena, (left->suspected + 1ull) * sizeof *families.family)};
    uint32_t next = 0;
    for (uint32_t i = 0; i < left->suspected; i++) {
        if (work.taken[i])
            continue;
        struct pl_family *family = &families.family[families.count++];
        family->first = next;
        gather(&work, i, family, sorted);
        next += family->count;
    }
    qsort(families.family, families.count, sizeof *families.family, heaviest_first);
    next = 0;
    for (uint32_t f = 0; f < families.count; f++) {
        memcpy(&left->item[next], &sorted[families.family[f].first], families.family[f].count * sizeof *sorted);
        families.family[f].first = next;
        next += families.family[f].count;
    }
    pl_arena_free(scratch);
    return families;
}
