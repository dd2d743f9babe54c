/* SPDX-License-Identifier: MIT */
/*
 * join.c - joins several profiles into one: their sum, or the difference of two.
 *
 * A sum adds up the figures of sites; the code that reads profiles then computes its times and totals. So the result is
 * the same whether profiles are joined in memory or saved and opened.
 */
#include "reader/join/join.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "reader/describe.h"
#include "reader/fold/fold.h"
#include "reader/join/join_work.h"
#include "reader/totals.h"

/* The errors are independent: on each side of the interval, the result's is the root of the sum of their squares. */
struct pl_estimate pl_join_subtract(const struct pl_estimate *from, const struct pl_estimate *what)
{
    double value = from->value - what->value;
    return (struct pl_estimate){
        .value = value,
        .error = hypot(from->error, what->error),
        .low = value - hypot(from->value - from->low, what->high - what->value),
        .high = value + hypot(from->high - from->value, what->value - what->low),
    };
}

#define METHOD_BYTES 256
static const char *describe_both(struct pl_arena *arena, const struct pl_profile *base, const struct pl_profile *part)
{
    char before[METHOD_BYTES], now[METHOD_BYTES], both[2 * METHOD_BYTES + 32];
    pl_describe_method(base, before, sizeof before);
    pl_describe_method(part, now, sizeof now);
    int bytes = snprintf(both, sizeof both, "before %s; now %s", before, now);
    return pl_arena_text(arena, both, (size_t) bytes);
}

/* Everything about the process is the second's. The other steps of pl_join() fill in what both have. */
static void start_difference(struct pl_join_work *work)
{
    const struct pl_profile *base = work->part[0], *part = work->part[1];
    struct pl_profile *out = work->out;
    struct pl_arena *arena = out->arena;
    *out = *part;
    out->arena = arena;
    out->modules = out->frames = out->stacks = out->threads = out->sites = out->tags = out->scopes = 0;
    out->footprints = 0;
    out->residents = 0;
    out->holders = 0;
    out->exact = base->exact && part->exact;
    out->method = describe_both(arena, base, part);
    out->damage += base->damage;
    out->in_flight += base->in_flight;
    out->looked = base->looked && part->looked ? part->looked : PL_LOOKED_NOT;
    out->looked_partly = base->looked_partly || part->looked_partly;
    for (int m = 0; m < PL_METRIC_COUNT; m++)
        out->total[m] = pl_join_subtract(&part->total[m], &base->total[m]);
}

static struct pl_join_work begin(const struct pl_profile *const *part, uint32_t parts, enum pl_join_how how)
{
    struct pl_arena *arena = pl_arena_new(), *scratch = pl_arena_new();
    struct pl_join_work work = {
        .part = part,
        .parts = parts,
        .how = how,
        .out = pl_arena_alloc(arena, sizeof *work.out),
        .scratch = scratch,
        .map = pl_arena_alloc(scratch, parts * sizeof *work.map),
    };
    work.out->arena = arena;
    return work;
}

struct pl_profile *pl_join(const struct pl_profile *const *part, uint32_t parts, enum pl_join_how how)
{
    assert(how == PL_JOIN_SUM ? parts > 0 : parts == 2);
    struct pl_join_work work = begin(part, parts, how);
    if (how == PL_JOIN_SUM)
        pl_join_process(&work);
    else
        start_difference(&work);
    pl_join_code(&work);
    pl_join_tags(&work);
    pl_join_threads(&work);
    pl_join_sites(&work);
    if (how == PL_JOIN_SUM) {
        pl_fold_times(work.out);
        pl_totals_fold(work.out);
    }
    pl_arena_free(work.scratch);
    return work.out;
}
