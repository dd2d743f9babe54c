/* SPDX-License-Identifier: MIT */
/*
 * page_scopes.c - the columns of page data with the exact calls and bytes of each thread under each tag.
 *
 * The scopes of a difference are those of its second profile. The scopes of the first profile are a table of their own,
 * so the page knows exactly how calls and bytes of a tag or a thread changed.
 */
#include <stddef.h>
#include <string.h>

#include "page/data/page_work.h"
#include "reader/base/index.h"
#include "reader/join/join.h"

static const struct pl_columns_member members[] = {
    {"scope.thread", PL_COLUMN_U32, offsetof(struct pl_scope_view, thread)},
    {"scope.tag", PL_COLUMN_U32, offsetof(struct pl_scope_view, tag)},
    {"scope.entered", PL_COLUMN_U64, offsetof(struct pl_scope_view, entered)},
    {"scope.bytes", PL_COLUMN_U64, offsetof(struct pl_scope_view, bytes)},
#define ROW(name, text) {"scope." text, PL_COLUMN_U64, offsetof(struct pl_scope_view, calls[PL_FN_##name])},
    PL_FUNCTIONS(ROW)
#undef ROW
};

static const uint64_t *add_up_calls(struct pl_page_work *work, const struct pl_profile *profile)
{
    uint64_t *calls = pl_arena_alloc(work->arena, (profile->scopes + 1ull) * sizeof *calls);
    for (uint32_t i = 0; i < profile->scopes; i++)
        for (int f = 0; f < PL_FN_COUNT; f++)
            calls[i] += profile->scope[i].calls[f];
    return calls;
}

/* --- the first profile of a difference --- */

struct question {
    const struct pl_profile *joined;
    const char *name;
};

static bool has_name(const void *context, uint32_t thread)
{
    const struct question *question = context;
    return !strcmp(question->joined->thread[thread].name, question->name);
}

/* Maps each thread of `part` to the first thread of that name in `joined`: so were the sites of `before` joined. */
static const uint32_t *threads_of(const struct pl_profile *joined, const struct pl_profile *part,
                                  struct pl_arena *arena)
{
    struct pl_index names = pl_index_new(arena, joined->threads + part->threads);
    uint32_t *became = pl_arena_alloc(arena, (part->threads + 1ull) * sizeof *became);
    for (uint32_t i = 0; i < joined->threads + part->threads; i++) {
        bool of_part = i >= joined->threads;
        struct question question = {joined, of_part ? part->thread[i - joined->threads].name : joined->thread[i].name};
        uint32_t *slot = pl_index_find(&names, pl_index_text(names.seed, question.name), 0, has_name, &question);
        if (of_part)
            became[i - joined->threads] = *slot ? *slot - 1 : 0;
        else if (!*slot)
            *slot = i + 1;
    }
    return became;
}

/* `before` is NULL for a single profile, and for a difference between two times of one run. */
static void add_base(struct pl_page_work *work, const struct pl_profile *before)
{
    pl_columns_table(work->columns, "base_scope", before ? before->scopes : 0);
    if (!before)
        return;
    const uint32_t *thread = threads_of(work->profile, before, work->arena);
    const uint32_t *tag = pl_join_tags_of(work->profile, before, work->arena);
    struct pl_scope_view *scope = pl_arena_alloc(work->arena, (before->scopes + 1ull) * sizeof *scope);
    for (uint32_t i = 0; i < before->scopes; i++) {
        scope[i] = before->scope[i];
        scope[i].thread = thread[scope[i].thread];
        scope[i].tag = tag[scope[i].tag];
    }
    pl_columns_add(work->columns, "base_scope.thread", PL_COLUMN_U32, &scope->thread, sizeof *scope);
    pl_columns_add(work->columns, "base_scope.tag", PL_COLUMN_U32, &scope->tag, sizeof *scope);
    pl_columns_add(work->columns, "base_scope.calls", PL_COLUMN_U64, add_up_calls(work, before), sizeof(uint64_t));
    pl_columns_add(work->columns, "base_scope.bytes", PL_COLUMN_U64, &scope->bytes, sizeof *scope);
}

void pl_page_scopes_add(struct pl_page_work *work)
{
    const struct pl_profile *profile = work->profile;
    pl_columns_table(work->columns, "scope", profile->scopes);
    pl_columns_add_all(work->columns, members, sizeof members / sizeof *members, profile->scope,
                       sizeof *profile->scope);
    pl_columns_add(work->columns, "scope.calls", PL_COLUMN_U64, add_up_calls(work, profile), sizeof(uint64_t));
    add_base(work, profile->difference ? work->about->before : NULL);
}
