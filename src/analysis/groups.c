/* SPDX-License-Identifier: MIT */
/*
 * groups.c - groups threads by name, and leaves out those that were not chosen.
 *
 * A name has at most 16 bytes, so two words are its whole key. Each name is matched with the expressions once, however
 * many threads have it.
 */
#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/groups.h"
#include "reader/base/arena.h"
#include "reader/base/grow.h"
#include "reader/base/index.h"

#define ALL_THREADS "all threads"

struct expressions {
    const struct pl_choice *choice;
    regex_t only, merge;
};

/* A thread's name, and the group of all threads that have it. */
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
    uint32_t merged; /* the group of names that match; PL_NO_GROUP: none yet */
};

/* ---- expressions ---- */

/* NULL: no expression, nothing to do. */
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

/* True if the whole name matches: POSIX finds the leftmost match, and the longest of those. */
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

/* Makes the group even if no thread is in it. */
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

/* --- groups as people see them --- */

const char *pl_groups_name(const struct pl_groups *groups, uint32_t group)
{
    return *groups->name[group] ? groups->name[group] : "?";
}

static size_t stem_bytes(const char *name)
{
    size_t bytes = strlen(name);
    while (bytes > 1 && strchr("0123456789", name[bytes - 1]))
        bytes--;
    return bytes;
}

struct stem {
    const char *name;
    size_t bytes;
    uint32_t group;
};

static int by_stem(const void *left, const void *right)
{
    const struct stem *a = left, *b = right;
    int order = strncmp(a->name, b->name, a->bytes < b->bytes ? a->bytes : b->bytes);
    if (order == 0)
        order = (a->bytes > b->bytes) - (a->bytes < b->bytes);
    return order ? order : (a->group > b->group) - (a->group < b->group);
}

static bool same_stem(const struct stem *a, const struct stem *b)
{
    return a->bytes == b->bytes && !memcmp(a->name, b->name, a->bytes);
}

/* first[group]: the first group with the same stem. */
static void find_first(const struct pl_groups *groups, uint32_t *first)
{
    struct stem *stem = pl_grow_zeroed(groups->groups + 1ull, sizeof *stem);
    for (uint32_t i = 0; i < groups->groups; i++)
        stem[i] = (struct stem){groups->name[i], stem_bytes(groups->name[i]), i};
    qsort(stem, groups->groups, sizeof *stem, by_stem);
    for (uint32_t i = 0; i < groups->groups; i++)
        first[stem[i].group] = i && same_stem(&stem[i], &stem[i - 1]) ? first[stem[i - 1].group] : stem[i].group;
    free(stem);
}

static const char *starred(const struct pl_groups *groups, const char *name)
{
    size_t bytes = stem_bytes(name);
    char *text = pl_arena_alloc(groups->arena, bytes + 2);
    memcpy(text, name, bytes);
    text[bytes] = '*';
    return text;
}

/* Merges groups with the same stem, at the position of the first one. */
void pl_groups_fold(struct pl_groups *groups, uint32_t threads)
{
    if (groups->groups <= PL_GROUPS_MOST)
        return;
    uint32_t *first = pl_grow_zeroed(groups->groups + 1ull, sizeof *first);
    uint32_t *became = pl_grow_zeroed(groups->groups + 1ull, sizeof *became), kept = 0;
    find_first(groups, first);
    for (uint32_t i = 0; i < groups->groups; i++) {
        became[i] = first[i] == i ? kept++ : became[first[i]];
        uint32_t to = became[i];
        if (first[i] == i) {
            groups->name[to] = groups->name[i];
            groups->threads[to] = groups->threads[i];
            continue;
        }
        groups->threads[to] += groups->threads[i];
        if (groups->name[to][stem_bytes(groups->name[to])]) /* still ends with a number, which is now meaningless */
            groups->name[to] = starred(groups, groups->name[to]);
    }
    for (uint32_t i = 0; i < threads; i++)
        if (groups->of[i] != PL_NO_GROUP)
            groups->of[i] = became[groups->of[i]];
    groups->groups = kept;
    free(became);
    free(first);
}
