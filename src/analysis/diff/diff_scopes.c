/* SPDX-License-Identifier: MIT */
/*
 * diff_scopes.c - tags, and threads with one name, as units of a comparison. Their calls and bytes are exact in every
 * mode, since scopes and threads count them.
 */
#include <string.h>

#include "analysis/diff/diff_work.h"
#include "analysis/groups.h"
#include "reader/base/index.h"
#include "reader/join/join.h"

static void make_units(struct pl_diff_work *work, uint32_t units)
{
    work->units = units;
    work->unit = pl_arena_alloc(work->scratch, (units + 1ull) * sizeof *work->unit);
    for (uint32_t i = 0; i < units; i++)
        work->unit[i].counted = work->options->before && work->options->after;
}

static void count(struct pl_diff_unit *unit, enum pl_diff_side side, const uint64_t calls[PL_FN_MAX], uint64_t bytes)
{
    unit->bytes[side] += (double) bytes;
    for (int f = 0; f < PL_FN_COUNT; f++)
        unit->calls[side] += (double) calls[f];
}

/* --- tags --- */

static void count_tags(struct pl_diff_work *work, const struct pl_profile *part, enum pl_diff_side side)
{
    if (!part)
        return;
    const uint32_t *became = pl_join_tags_of(work->joined, part, work->scratch);
    for (uint32_t i = 0; i < part->scopes; i++)
        count(&work->unit[became[part->scope[i].tag]], side, part->scope[i].calls, part->scope[i].bytes);
}

void pl_diff_tags(struct pl_diff_work *work)
{
    make_units(work, work->joined->tags);
    for (uint32_t i = 0; i < work->units; i++)
        work->unit[i].who = work->unit[i].was = i;
    for (uint32_t i = 0; i < work->joined->sites; i++)
        work->of_site[i] = work->joined->site[i].tag;
    count_tags(work, work->options->before, PL_DIFF_BEFORE);
    count_tags(work, work->options->after, PL_DIFF_AFTER);
}

/* --- threads --- */

struct question {
    const struct pl_groups *groups;
    const char *name;
};

static bool same_name(const void *context, uint32_t entry)
{
    const struct question *question = context;
    return !strcmp(question->groups->name[entry], question->name);
}

static uint32_t *find_group(const struct pl_index *index, const struct pl_groups *groups, const char *name)
{
    struct question question = {groups, name};
    return pl_index_find(index, pl_index_text(index->seed, name), 0, same_name, &question);
}

static struct pl_index index_groups(const struct pl_groups *groups, struct pl_arena *arena)
{
    struct pl_index index = pl_index_new(arena, groups->groups);
    for (uint32_t i = 0; i < groups->groups; i++)
        *find_group(&index, groups, groups->name[i]) = i + 1;
    return index;
}

static void count_threads(struct pl_diff_work *work, const struct pl_groups *groups, const struct pl_profile *part,
                          enum pl_diff_side side)
{
    struct pl_index index = index_groups(groups, work->scratch);
    for (uint32_t i = 0; part && i < part->threads; i++) {
        uint32_t group = *find_group(&index, groups, part->thread[i].name);
        if (group > 0)
            count(&work->unit[group - 1], side, part->thread[i].calls, part->thread[i].bytes);
    }
}

void pl_diff_threads(struct pl_diff_work *work)
{
    struct pl_groups groups;
    struct pl_choice all = {0};
    char why[PL_WHY_BYTES];
    if (pl_groups_make(work->joined, PL_GROUP_NAME, &all, &groups, why)) /* without an expression it cannot fail */
        return;
    make_units(work, groups.groups);
    for (uint32_t i = work->joined->threads; i > 0; i--)
        work->unit[groups.of[i - 1]].who = work->unit[groups.of[i - 1]].was = i - 1;
    for (uint32_t i = 0; i < work->joined->sites; i++)
        work->of_site[i] = groups.of[work->joined->site[i].thread];
    count_threads(work, &groups, work->options->before, PL_DIFF_BEFORE);
    count_threads(work, &groups, work->options->after, PL_DIFF_AFTER);
    pl_groups_free(&groups);
}
