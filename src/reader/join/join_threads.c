/* SPDX-License-Identifier: MIT */
/*
 * join_threads.c - joins the threads of several profiles by name, and their scopes.
 *
 * In a sum, a thread's figures are the sum of its scopes. After a kill, sites may have more calls than the records of
 * threads (totals.c). In a sum, these calls could not be told from unrecorded calls of other parts, so they are booked
 * to a thread here.
 *
 * In a difference, the threads are those of part[1]. Of part[0]'s threads only the names are used.
 *
 * Invariant: the scopes of a thread add up to its figures, function by function.
 */
#include <stdlib.h>
#include <string.h>

#include "reader/base/index.h"
#include "reader/fold/fold.h"
#include "reader/join/join_work.h"

#define FIGURE_MAX (1ull << 62) /* of a thread: a larger one is damage */
#define ROOT 0u

struct threads {
    struct pl_profile *out;
    struct pl_index by_name;
    struct pl_index scopes; /* by thread and tag */
};

struct question {
    const struct pl_profile *out;
    const char *name;
    uint32_t thread, tag;
};

/* ---- threads ---- */

static bool same_name(const void *context, uint32_t entry)
{
    const struct question *question = context;
    return strcmp(question->out->thread[entry].name, question->name) == 0;
}

static uint32_t *find_thread(struct threads *threads, const char *name)
{
    struct question question = {.out = threads->out, .name = name};
    return pl_index_find(&threads->by_name, pl_index_text(threads->by_name.seed, name), 0, same_name, &question);
}

/* Its figures are added with its scopes. */
static uint32_t add_thread(struct threads *threads, const struct pl_thread_view *more)
{
    struct pl_profile *out = threads->out;
    uint32_t *slot = find_thread(threads, more->name);
    if (*slot == 0) {
        struct pl_thread_view *thread = &out->thread[out->threads];
        *thread = *more;
        thread->bytes = 0;
        memset(thread->calls, 0, sizeof thread->calls);
        *slot = ++out->threads;
        return *slot - 1;
    }
    struct pl_thread_view *thread = &out->thread[*slot - 1];
    thread->tid = 0;
    thread->threads += more->threads;
    thread->alive |= more->alive;
    thread->start_ns = more->start_ns < thread->start_ns ? more->start_ns : thread->start_ns;
    thread->end_ns = more->end_ns > thread->end_ns ? more->end_ns : thread->end_ns;
    if (thread->alive)
        thread->end_ns = 0;
    return *slot - 1;
}

/* ---- scopes ---- */

static bool same_scope(const void *context, uint32_t entry)
{
    const struct question *question = context;
    const struct pl_scope_view *scope = &question->out->scope[entry];
    return scope->thread == question->thread && scope->tag == question->tag;
}

static struct pl_scope_view *find_scope(struct threads *threads, uint32_t thread, uint32_t tag)
{
    struct pl_profile *out = threads->out;
    struct question question = {.out = out, .thread = thread, .tag = tag};
    uint32_t *slot = pl_index_find(&threads->scopes, thread, tag, same_scope, &question);
    if (*slot == 0) {
        out->scope[out->scopes] = (struct pl_scope_view){.thread = thread, .tag = tag};
        *slot = ++out->scopes;
    }
    return &out->scope[*slot - 1];
}

static bool fits(const struct pl_thread_view *thread, const struct pl_scope_view *scope,
                 const struct pl_scope_view *more)
{
    bool fits = more->bytes <= FIGURE_MAX - thread->bytes && more->entered <= FIGURE_MAX - scope->entered;
    for (int f = 0; f < PL_FN_MAX; f++)
        fits &= more->calls[f] <= FIGURE_MAX - thread->calls[f];
    return fits;
}

static void add_scope(struct threads *threads, const struct pl_scope_view *more)
{
    struct pl_scope_view *scope = find_scope(threads, more->thread, more->tag);
    struct pl_thread_view *thread = &threads->out->thread[more->thread];
    if (!fits(thread, scope, more)) {
        threads->out->damage++;
        return;
    }
    scope->entered += more->entered;
    scope->bytes += more->bytes;
    thread->bytes += more->bytes;
    for (int f = 0; f < PL_FN_MAX; f++) {
        scope->calls[f] += more->calls[f];
        thread->calls[f] += more->calls[f];
    }
}

/* Adds the calls and bytes that sites have beyond the scopes. */
static void add_untold(struct threads *threads, const struct pl_profile *part, uint32_t thread)
{
    double calls = part->total[PL_METRIC_ALLOC_OBJECTS].value, bytes = part->total[PL_METRIC_ALLOC_SPACE].value;
    for (uint32_t i = 0; i < part->scopes; i++) {
        bytes -= (double) part->scope[i].bytes;
        for (int f = 0; f < PL_FN_COUNT; f++)
            calls -= (double) part->scope[i].calls[f];
    }
    struct pl_scope_view untold = {.thread = thread, .tag = ROOT};
    if (calls >= 1 && calls < (double) FIGURE_MAX)
        untold.calls[PL_FN_MALLOC] = (uint64_t) calls;
    if (bytes >= 1 && bytes < (double) FIGURE_MAX)
        untold.bytes = (uint64_t) bytes;
    if (untold.calls[PL_FN_MALLOC] > 0 || untold.bytes > 0)
        add_scope(threads, &untold);
}

/* ---- both ---- */

static void sum_part(struct pl_join_work *work, uint32_t p, struct threads *threads)
{
    const struct pl_profile *part = work->part[p];
    for (uint32_t i = 0; i < part->threads; i++)
        work->map[p].thread[i] = add_thread(threads, &part->thread[i]);
    for (uint32_t i = 0; i < part->scopes; i++) {
        struct pl_scope_view more = part->scope[i];
        more.thread = work->map[p].thread[more.thread];
        more.tag = work->map[p].tag[more.tag];
        add_scope(threads, &more);
    }
    if (part->threads > 0)
        add_untold(threads, part, work->map[p].thread[0]);
}

/* Copies threads and scopes unchanged. */
static void keep_part(struct pl_join_work *work, uint32_t p, struct threads *threads)
{
    const struct pl_profile *part = work->part[p];
    struct pl_profile *out = work->out;
    for (uint32_t i = 0; i < part->threads; i++) {
        uint32_t *slot = find_thread(threads, part->thread[i].name);
        out->thread[out->threads] = part->thread[i];
        work->map[p].thread[i] = out->threads++;
        if (*slot == 0)
            *slot = out->threads;
    }
    for (uint32_t i = 0; i < part->scopes; i++) {
        out->scope[i] = part->scope[i];
        out->scope[i].tag = work->map[p].tag[out->scope[i].tag];
    }
    out->scopes = part->scopes;
}

static void lend_names(struct pl_join_work *work, uint32_t p, struct threads *threads)
{
    const struct pl_profile *part = work->part[p];
    struct pl_profile *out = work->out;
    for (uint32_t i = 0; i < part->threads; i++) {
        uint32_t *slot = find_thread(threads, part->thread[i].name);
        if (*slot == 0) {
            memcpy(out->thread[out->threads].name, part->thread[i].name, sizeof part->thread[i].name);
            *slot = ++out->threads;
        }
        work->map[p].thread[i] = *slot - 1;
    }
}

void pl_join_threads(struct pl_join_work *work)
{
    struct pl_profile *out = work->out;
    uint32_t most = 0, scopes = work->parts;
    for (uint32_t p = 0; p < work->parts; p++) {
        most += work->part[p]->threads;
        scopes += work->part[p]->scopes;
        work->map[p].thread = pl_arena_alloc(work->scratch, work->part[p]->threads * sizeof(uint32_t));
    }
    struct threads threads = {out, pl_index_new(work->scratch, most), pl_index_new(work->scratch, scopes)};
    out->thread = pl_arena_alloc(out->arena, (most + 1ull) * sizeof *out->thread);
    out->scope = pl_arena_alloc(out->arena, (scopes + 1ull) * sizeof *out->scope);
    if (work->how == PL_JOIN_DIFFERENCE) {
        keep_part(work, 1, &threads);
        lend_names(work, 0, &threads);
    } else {
        for (uint32_t p = 0; p < work->parts; p++)
            sum_part(work, p, &threads);
    }
    pl_fold_sort_scopes(out);
}
