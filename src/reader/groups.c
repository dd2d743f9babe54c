/* SPDX-License-Identifier: MIT */
/*
 * groups.c - which threads are taken together, and which are left out.
 *
 * A name is at most 16 bytes, so two words are the whole key of it. Each name is put to the expressions once, however
 * many threads have it.
 */
#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "groups.h"
#include "index.h"

#define ALL_THREADS "all threads"

struct expressions {
    const struct pl_choice *choice;
    regex_t only, merge;
};

/* A thread's name, and the group of all that have it. */
struct known {
    uint64_t word[2];
    uint32_t group;
};

struct work {
    const struct pl_profile *profile;
    struct pl_groups *groups;
    struct expressions expressions;
    struct pl_index index;
    struct known *known;
    uint32_t names;
    uint32_t merged; /* the group of those that match, PL_NO_GROUP: none yet */
};

/* ---- expressions ---- */

/* NULL stands for no expression. */
static int compile(regex_t *out, const char *expression, char *why)
{
    char reason[128];
    int wrong = expression ? regcomp(out, expression, REG_EXTENDED) : 0;
    if (wrong == 0)
        return 0;
    regerror(wrong, out, reason, sizeof reason);
    snprintf(why, PL_WHY_BYTES, "`%.300s` is not a regular expression: %s", expression, reason);
    return -EINVAL;
}

static void free_one(regex_t *regex, const char *expression)
{
    if (expression)
        regfree(regex);
}

static int compile_both(struct expressions *expressions, char *why)
{
    int wrong = compile(&expressions->only, expressions->choice->only, why);
    if (wrong != 0)
        return wrong;
    wrong = compile(&expressions->merge, expressions->choice->merge, why);
    if (wrong != 0)
        free_one(&expressions->only, expressions->choice->only);
    return wrong;
}

static void free_both(struct expressions *expressions)
{
    free_one(&expressions->only, expressions->choice->only);
    free_one(&expressions->merge, expressions->choice->merge);
}

static bool is_chosen(const struct expressions *expressions, const char *name)
{
    return !expressions->choice->only || regexec(&expressions->only, name, 0, NULL, 0) == 0;
}

/* As a whole: the match that POSIX asks for is the leftmost, and the longest of those. */
static bool is_merged(const struct expressions *expressions, const char *name)
{
    regmatch_t match;
    return expressions->choice->merge && regexec(&expressions->merge, name, 1, &match, 0) == 0 && match.rm_so == 0 &&
           name[match.rm_eo] == 0;
}

/* ---- groups ---- */

static uint32_t new_group(struct pl_groups *groups, const char *name)
{
    groups->name[groups->groups] = pl_arena_text(groups->arena, name, strlen(name));
    return groups->groups++;
}

static uint32_t group_of_name(struct work *work, const char *name)
{
    if (!is_chosen(&work->expressions, name))
        return PL_NO_GROUP;
    if (!is_merged(&work->expressions, name))
        return new_group(work->groups, name);
    if (work->merged == PL_NO_GROUP)
        work->merged = new_group(work->groups, work->expressions.choice->merge);
    return work->merged;
}

struct question {
    const struct known *known;
    uint64_t word[2];
};

static bool same_name(const void *context, uint32_t entry)
{
    const struct question *question = context;
    return memcmp(question->known[entry].word, question->word, sizeof question->word) == 0;
}

static uint32_t find_group(struct work *work, const char *name)
{
    struct question question = {.known = work->known};
    memcpy(question.word, name, strnlen(name, sizeof question.word));
    uint32_t *slot = pl_index_find(&work->index, question.word[0], question.word[1], same_name, &question);
    if (*slot == 0) {
        struct known *known = &work->known[work->names];
        memcpy(known->word, question.word, sizeof known->word);
        known->group = group_of_name(work, name);
        *slot = ++work->names;
    }
    return work->known[*slot - 1].group;
}

static void group_by_name(struct work *work)
{
    for (uint32_t i = 0; i < work->profile->threads; i++)
        work->groups->of[i] = find_group(work, work->profile->thread[i].name);
}

/* There is one group even if nobody is in it. */
static void group_all(struct work *work)
{
    uint32_t all = new_group(work->groups, ALL_THREADS);
    for (uint32_t i = 0; i < work->profile->threads; i++)
        work->groups->of[i] = is_chosen(&work->expressions, work->profile->thread[i].name) ? all : PL_NO_GROUP;
}

static void count_threads(const struct pl_profile *profile, struct pl_groups *groups)
{
    for (uint32_t i = 0; i < profile->threads; i++)
        if (groups->of[i] != PL_NO_GROUP)
            groups->threads[groups->of[i]] += profile->thread[i].threads;
}

int pl_groups_make(const struct pl_profile *profile, enum pl_grouping grouping, const struct pl_choice *choice,
                   struct pl_groups *out, char why[PL_WHY_BYTES])
{
    struct work work = {.profile = profile, .expressions.choice = choice, .merged = PL_NO_GROUP};
    int wrong = compile_both(&work.expressions, why);
    if (wrong != 0)
        return wrong;
    struct pl_arena *arena = pl_arena_new(), *scratch = pl_arena_new();
    uint32_t most = profile->threads + 1;
    struct pl_groups groups = {
        .name = pl_arena_alloc(arena, most * sizeof *groups.name),
        .threads = pl_arena_alloc(arena, most * sizeof *groups.threads),
        .of = pl_arena_alloc(arena, most * sizeof *groups.of),
        .arena = arena,
    };
    work.groups = &groups;
    work.index = pl_index_new(scratch, most);
    work.known = pl_arena_alloc(scratch, most * sizeof *work.known);
    if (grouping == PL_GROUP_ALL)
        group_all(&work);
    else
        group_by_name(&work);
    count_threads(profile, &groups);
    pl_arena_free(scratch);
    free_both(&work.expressions);
    *out = groups;
    return 0;
}

void pl_groups_free(struct pl_groups *groups)
{
    pl_arena_free(groups->arena);
    *groups = (struct pl_groups){0};
}
