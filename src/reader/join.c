/* SPDX-License-Identifier: MIT */
/*
 * join.c - several profiles as one: their sum, or what one has more than another.
 *
 * A sum is put together from records of figures and then treated as any profile that was read: times and totals are
 * folded by the same code, so that it is the same whether it was joined in memory or saved and opened.
 */
#include "join.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "join_work.h"
#include "times.h"
#include "totals.h"

/* Both have errors, and independent ones: each side of the interval is the root of their squares. */
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

/* All about a process is the second's; the others have filled in what is common to both. */
#define METHOD_BYTES 256
static const char *describe_both(struct pl_arena *arena, const struct pl_profile *base, const struct pl_profile *part)
{
    char before[METHOD_BYTES], now[METHOD_BYTES], both[2 * METHOD_BYTES + 32];
    pl_profile_method(base, before, sizeof before);
    pl_profile_method(part, now, sizeof now);
    int bytes = snprintf(both, sizeof both, "before %s; now %s", before, now);
    return pl_arena_text(arena, both, (size_t) bytes);
}

static void start_difference(struct pl_join_work *work)
{
    const struct pl_profile *base = work->part[0], *part = work->part[1];
    struct pl_profile *out = work->out;
    struct pl_arena *arena = out->arena;
    *out = *part;
    out->arena = arena;
    out->modules = out->frames = out->stacks = out->threads = out->sites = out->tags = out->scopes = 0;
    out->exact = base->exact && part->exact;
    out->method = describe_both(arena, base, part);
    out->damage += base->damage;
    out->in_flight += base->in_flight;
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
        pl_times_fold(work.out);
        pl_totals_fold(work.out);
    }
    pl_arena_free(work.scratch);
    return work.out;
}
