/* SPDX-License-Identifier: MIT */
/*
 * charges.c - from scope records to what each thread asked for under each tag.
 *
 * A scope is written when its thread enters or leaves a tag; what the thread has counted since belongs to the tag that
 * it is in. So a thread's scopes are added up, and the rest is given to its record's tag. Threads were copied before
 * their scopes: one that went on meanwhile has scopes that know of more than it did, never a rest of somebody else's.
 *
 * Invariant: the scopes of a thread add up to its figures, function by function.
 */
#include <stdlib.h>

#include "account.h"
#include "charges.h"
#include "index.h"
#include "sites.h"

#define FIGURE_MAX (1ull << 62) /* of a thread: more was made up */

struct work {
    struct pl_profile *profile;
    struct pl_snapshot *snapshot;
    const struct pl_tags *tags;
    const uint32_t *thread_of;
    struct pl_index index;
    struct pl_scope_view *sum; /* of the scopes of each thread */
};

struct question {
    const struct pl_scope_view *scope;
    uint32_t thread, tag;
};

static bool same_scope(const void *context, uint32_t entry)
{
    const struct question *question = context;
    const struct pl_scope_view *scope = &question->scope[entry];
    return scope->thread == question->thread && scope->tag == question->tag;
}

static struct pl_scope_view *find_scope(struct work *work, uint32_t thread, uint32_t tag)
{
    struct pl_profile *profile = work->profile;
    struct question question = {profile->scope, thread, tag};
    uint32_t *slot = pl_index_find(&work->index, thread, tag, same_scope, &question);
    if (*slot == 0) {
        profile->scope[profile->scopes] = (struct pl_scope_view){.thread = thread, .tag = tag};
        *slot = ++profile->scopes;
    }
    return &profile->scope[*slot - 1];
}

static bool has_room(uint64_t to, uint64_t more)
{
    return more <= FIGURE_MAX && to <= FIGURE_MAX - more;
}

static bool fits(const struct pl_scope_view *to, const struct pl_scope_record *more)
{
    bool fits = has_room(to->bytes, more->bytes) && has_room(to->entered, more->entered);
    for (int f = 0; f < PL_FN_MAX; f++)
        fits &= has_room(to->calls[f], more->calls[f]);
    return fits;
}

static void add(struct pl_scope_view *to, const struct pl_scope_record *more)
{
    to->entered += more->entered;
    to->bytes += more->bytes;
    for (int f = 0; f < PL_FN_MAX; f++)
        to->calls[f] += more->calls[f];
}

static bool says_something(const struct pl_scope_record *record)
{
    uint64_t any = record->entered | record->bytes;
    for (int f = 0; f < PL_FN_MAX; f++)
        any |= record->calls[f];
    return record->valid != 0 && any != 0;
}

static void fold_record(struct work *work, const struct pl_scope_record *record)
{
    if (!says_something(record) || !pl_since_reset(record->reset, &work->snapshot->header))
        return;
    uint32_t threads = pl_snapshot_count(work->snapshot, PL_KIND_THREAD);
    uint32_t thread = record->thread < threads ? work->thread_of[record->thread] : PL_NO_THREAD;
    if (thread == PL_NO_THREAD || !fits(&work->sum[thread], record)) {
        work->snapshot->damage++;
        return;
    }
    add(&work->sum[thread], record);
    add(find_scope(work, thread, pl_tags_find(work->tags, record->tag)), record);
}

/* What is beyond the scopes; and if the scopes are beyond the thread, they are right. Returns whether there was a rest.
 */
static bool settle(uint64_t *whole, uint64_t scopes, uint64_t *rest)
{
    *rest = *whole > scopes ? *whole - scopes : 0;
    *whole = scopes + *rest;
    return *rest > 0;
}

static void fold_rest(struct work *work, struct pl_thread_view *thread, const struct pl_scope_view *sum, uint32_t tag)
{
    struct pl_scope_record rest = {.valid = 1};
    bool any = settle(&thread->bytes, sum->bytes, &rest.bytes);
    for (int f = 0; f < PL_FN_MAX; f++)
        any |= settle(&thread->calls[f], sum->calls[f], &rest.calls[f]);
    if (any)
        add(find_scope(work, (uint32_t) (thread - work->profile->thread), pl_tags_find(work->tags, tag)), &rest);
}

static int by_thread_and_tag(const void *left, const void *right)
{
    const struct pl_scope_view *a = left, *b = right;
    return a->thread != b->thread ? (a->thread > b->thread) - (a->thread < b->thread)
                                  : (a->tag > b->tag) - (a->tag < b->tag);
}

void pl_charges_fold(struct pl_profile *profile, struct pl_snapshot *snapshot, struct pl_arena *scratch,
                     const struct pl_tags *tags, const uint32_t *thread_of)
{
    const struct pl_thread_record *thread = pl_snapshot_threads(snapshot);
    const struct pl_scope_record *scope = pl_snapshot_scopes(snapshot);
    uint32_t scopes = pl_snapshot_count(snapshot, PL_KIND_SCOPE), most = scopes + profile->threads;
    struct work work = {
        .profile = profile,
        .snapshot = snapshot,
        .tags = tags,
        .thread_of = thread_of,
        .index = pl_index_new(scratch, most),
        .sum = pl_arena_alloc(scratch, profile->threads * sizeof *work.sum),
    };
    profile->scope = pl_arena_alloc(profile->arena, most * sizeof *profile->scope);
    for (uint32_t i = 1; i < scopes; i++)
        fold_record(&work, &scope[i]);
    for (uint32_t i = 1; i < pl_snapshot_count(snapshot, PL_KIND_THREAD); i++)
        if (thread_of[i] != PL_NO_THREAD)
            fold_rest(&work, &profile->thread[thread_of[i]], &work.sum[thread_of[i]], thread[i].tag);
    qsort(profile->scope, profile->scopes, sizeof *profile->scope, by_thread_and_tag);
}
