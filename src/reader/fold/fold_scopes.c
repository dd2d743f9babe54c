/* SPDX-License-Identifier: MIT */
/*
 * fold_scopes.c - converts scope records to the calls and bytes of each thread under each tag.
 *
 * A thread writes a scope record when it enters or leaves a tag; what it has counted since then belongs to the tag that
 * it is in. So this adds up a thread's scopes, and gives what its own record has beyond them to the tag in that record.
 * The reader copied threads before their scopes: if a thread went on in between, its scopes have more than its record,
 * so nothing is left over that could go to the wrong tag.
 *
 * Invariant: the scopes of a thread add up to its figures, function by function.
 */
#include <stdlib.h>

#include "reader/account.h"
#include "reader/base/index.h"
#include "reader/fold/fold.h"
#include "reader/fold/sites.h"

#define FIGURE_MAX (1ull << 62) /* of a thread: a larger one is damage */

struct work {
    struct pl_profile *profile;
    struct pl_image *image;
    const struct pl_fold_tags *tags;
    const uint32_t *thread_of;
    struct pl_index index;
    struct pl_scope_view *sum; /* over the scopes of each thread */
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
    if (!says_something(record) || !pl_account_since_reset(record->reset, &work->image->header))
        return;
    uint32_t threads = pl_image_count(work->image, PL_KIND_THREAD);
    uint32_t thread = record->thread < threads ? work->thread_of[record->thread] : PL_NO_THREAD;
    if (thread == PL_NO_THREAD || !fits(&work->sum[thread], record)) {
        work->image->damage++;
        return;
    }
    add(&work->sum[thread], record);
    add(find_scope(work, thread, pl_fold_tag(work->tags, record->tag)), record);
}

/* Sets *rest to what the thread has beyond its scopes. If the scopes have more, *whole becomes their sum. Returns
 * whether there is a rest. */
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
        add(find_scope(work, (uint32_t) (thread - work->profile->thread), pl_fold_tag(work->tags, tag)), &rest);
}

static int by_thread_and_tag(const void *left, const void *right)
{
    const struct pl_scope_view *a = left, *b = right;
    return a->thread != b->thread ? (a->thread > b->thread) - (a->thread < b->thread)
                                  : (a->tag > b->tag) - (a->tag < b->tag);
}

void pl_fold_sort_scopes(struct pl_profile *profile)
{
    qsort(profile->scope, profile->scopes, sizeof *profile->scope, by_thread_and_tag);
}

void pl_fold_scopes(struct pl_profile *profile, struct pl_image *image, struct pl_arena *scratch,
                    const struct pl_fold_tags *tags, const uint32_t *thread_of)
{
    const struct pl_thread_record *thread = pl_image_threads(image);
    const struct pl_scope_record *scope = pl_image_scopes(image);
    uint32_t scopes = pl_image_count(image, PL_KIND_SCOPE), most = scopes + profile->threads;
    struct work work = {
        .profile = profile,
        .image = image,
        .tags = tags,
        .thread_of = thread_of,
        .index = pl_index_new(scratch, most),
        .sum = pl_arena_alloc(scratch, profile->threads * sizeof *work.sum),
    };
    profile->scope = pl_arena_alloc(profile->arena, most * sizeof *profile->scope);
    for (uint32_t i = 1; i < scopes; i++)
        fold_record(&work, &scope[i]);
    for (uint32_t i = 1; i < pl_image_count(image, PL_KIND_THREAD); i++)
        if (thread_of[i] != PL_NO_THREAD)
            fold_rest(&work, &profile->thread[thread_of[i]], &work.sum[thread_of[i]], thread[i].tag);
    pl_fold_sort_scopes(profile);
}
