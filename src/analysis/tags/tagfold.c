/* SPDX-License-Identifier: MIT */
/*
 * tagfold.c - finds tags that are nested in themselves.
 *
 * A name that comes back does so soon, a level or two further down: a forgotten pop is in one place. So only a few
 * levels are searched, and the time is linear in the number of tags, however deep they are.
 *
 * Parents come before their children, so two passes from the front are enough: one measures how deep each nest is, and
 * one decides which tag stands for which.
 */
#include "analysis/tags/tagfold.h"

#include "reader/base/index.h"

#define LEVELS_UP 16 /* how many levels above a tag are searched for its name */

struct work {
    const struct pl_profile *profile;
    struct pl_tag_fold fold;
    struct pl_index index; /* of those that stand for themselves, by parent and name */
    uint32_t *last;        /* the nearest tag above with this name; the root: none */
    uint32_t *first;       /* the outermost of them */
    uint32_t *level;       /* how many there are, from the outermost on */
    uint32_t *deepest;     /* by the outermost: the highest level */
};

static bool same_name(const struct pl_profile *profile, uint32_t a, uint32_t b)
{
    return profile->tag[a].kind == profile->tag[b].kind && profile->tag[a].same_name == profile->tag[b].same_name;
}

static uint32_t find_last(const struct pl_profile *profile, uint32_t tag)
{
    uint32_t above = profile->tag[tag].parent;
    for (int i = 0; i < LEVELS_UP && above != PL_ROOT_TAG; i++, above = profile->tag[above].parent)
        if (same_name(profile, tag, above))
            return above;
    return PL_ROOT_TAG;
}

/* True: some nest is deep. */
static bool measure(struct work *work)
{
    bool deep = false;
    for (uint32_t i = 1; i < work->profile->tags; i++) {
        uint32_t last = work->last[i] = find_last(work->profile, i);
        work->first[i] = last ? work->first[last] : i;
        work->level[i] = last ? work->level[last] + 1 : 1;
        if (work->level[i] > work->deepest[work->first[i]])
            work->deepest[work->first[i]] = work->level[i];
        deep |= work->level[i] > PL_NEST_MAX;
    }
    return deep;
}

static uint32_t parent_of(const struct work *work, uint32_t tag)
{
    return work->fold.of[work->profile->tag[tag].parent];
}

struct question {
    const struct work *work;
    uint32_t tag;
};

static bool same_place(const void *context, uint32_t entry)
{
    const struct question *question = context;
    return parent_of(question->work, entry) == parent_of(question->work, question->tag) &&
           same_name(question->work->profile, entry, question->tag);
}

/* The first tag of this name below the tag that represents its parent. */
static uint32_t stand_in(struct work *work, uint32_t tag)
{
    struct question question = {work, tag};
    uint32_t *slot =
        pl_index_find(&work->index, parent_of(work, tag), work->profile->tag[tag].same_name, same_place, &question);
    if (*slot == 0)
        *slot = tag + 1;
    return *slot - 1;
}

static void join(struct work *work)
{
    for (uint32_t i = 1; i < work->profile->tags; i++) {
        uint32_t deepest = work->deepest[work->first[i]];
        bool inside = work->last[i] != PL_ROOT_TAG && deepest > PL_NEST_MAX;
        uint32_t of = work->fold.of[i] = inside ? work->fold.of[work->last[i]] : stand_in(work, i);
        if (inside && deepest > work->fold.nested[of])
            work->fold.nested[of] = deepest;
    }
}

struct pl_tag_fold pl_tagfold_make(const struct pl_profile *profile, struct pl_arena *arena)
{
    struct pl_arena *scratch = pl_arena_new();
    size_t bytes = profile->tags * sizeof(uint32_t);
    struct work work = {
        .profile = profile,
        .fold = {.of = pl_arena_alloc(arena, bytes), .nested = pl_arena_alloc(arena, bytes)},
        .last = pl_arena_alloc(scratch, bytes),
        .first = pl_arena_alloc(scratch, bytes),
        .level = pl_arena_alloc(scratch, bytes),
        .deepest = pl_arena_alloc(scratch, bytes),
    };
    for (uint32_t i = 0; i < profile->tags; i++)
        work.fold.of[i] = i;
    if (measure(&work)) {
        work.index = pl_index_new(scratch, profile->tags);
        join(&work);
    }
    pl_arena_free(scratch);
    return work.fold;
}
