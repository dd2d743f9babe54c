/* SPDX-License-Identifier: MIT */
/*
 * diff.c - what has changed from one profile to another, and what of it is more than noise.
 */
#include "diff.h"

#include <math.h>
#include <stdlib.h>

#include "arena.h"
#include "diff_work.h"
#include "figures.h"
#include "grow.h"
#include "join.h"

#define RULE_OF_THREE 3.0 /* what may hide where no sample was taken, in samples */

/* --- how each side was recorded --- */

/* The mean gap between samples; 0: everything was counted. */
static double interval_of(const struct pl_diff_work *work, enum pl_diff_side side)
{
    const struct pl_profile *joined = work->joined;
    const struct pl_profile *part = side == PL_DIFF_BEFORE ? work->options->before : work->options->after;
    if (part ? part->exact : joined->exact)
        return 0;
    double interval = 0;
    for (uint32_t i = 0; i < joined->sites; i++)
        if (pl_diff_side_of(joined, i) == side)
            interval = fmax(interval, joined->site[i].figures.unseen_interval);
    if (!(interval > 0))
        interval = (double) (part ? part : joined)->header.interval_bytes;
    return interval;
}

static void set_intervals(struct pl_diff_work *work, double interval[PL_DIFF_SIDES])
{
    for (int side = 0; side < PL_DIFF_SIDES; side++) {
        interval[side] = interval_of(work, side);
        for (uint32_t i = 0; i < work->units; i++)
            work->unit[i].side[side].interval_bytes = interval[side];
    }
    work->out->exact = interval[PL_DIFF_BEFORE] == 0 && interval[PL_DIFF_AFTER] == 0;
}

/* --- figures --- */

/* What was not met at all may be there all the same: as much as goes unseen in one run out of twenty. */
static void allow_for_the_unmet(const struct pl_footing *own, const struct pl_footing *other,
                                struct pl_estimate metric[PL_METRIC_COUNT])
{
    if (own->interval_bytes == 0 || own->figures.allocated.sampled.samples > 0 ||
        own->figures.allocated.exact_objects > 0)
        return;
    for (int m = 0; m < PL_METRIC_COUNT; m++)
        metric[m].high = metric[m].error = RULE_OF_THREE * pl_evidence_of(own, other, m).spread;
}

static void estimate_side(const struct pl_diff_unit *unit, enum pl_diff_side side,
                          struct pl_estimate metric[PL_METRIC_COUNT])
{
    const struct pl_footing *own = &unit->side[side], *other = &unit->side[!side];
    pl_figures_estimate(&own->figures, metric);
    allow_for_the_unmet(own, other, metric);
    if (!unit->counted)
        return;
    metric[PL_METRIC_ALLOC_OBJECTS] = pl_estimate_exactly(unit->calls[side]);
    metric[PL_METRIC_ALLOC_SPACE] = pl_estimate_exactly(unit->bytes[side]);
}

static void subtract(const struct pl_diff_work *work, struct pl_change *change)
{
    for (int m = 0; m < PL_METRIC_COUNT; m++)
        change->change[m] = pl_join_subtract(&change->after[m], &change->before[m]);
    struct pl_estimate *peak = &change->change[PL_METRIC_PEAK_SPACE];
    peak->low -= work->peak_slack_bytes;
    peak->high += work->peak_slack_bytes;
    peak->error += work->peak_slack_bytes;
}

static bool is_counted(const struct pl_diff_unit *unit, enum pl_metric metric)
{
    return unit->counted && (metric == PL_METRIC_ALLOC_OBJECTS || metric == PL_METRIC_ALLOC_SPACE);
}

/* The lesser may have been as much as the other, if the slack says so. */
static double chance_by_evidence(const struct pl_diff_unit *unit, enum pl_metric metric, double slack)
{
    const struct pl_footing *before = &unit->side[PL_DIFF_BEFORE], *after = &unit->side[PL_DIFF_AFTER];
    struct pl_evidence a = pl_evidence_of(before, after, metric), b = pl_evidence_of(after, before, metric);
    double more = b.counted + b.value - a.counted - a.value;
    *(more > 0 ? &a.counted : &b.counted) += fmin(fabs(more), slack);
    return pl_significance_of(&a, &b);
}

/* Of blocks at the peak nothing is known where nothing is of their bytes. */
static double chance_of(const struct pl_diff_work *work, const struct pl_diff_unit *unit,
                        const struct pl_change *change)
{
    enum pl_metric metric = work->options->metric;
    double slack = work->peak_slack_bytes;
    if (is_counted(unit, metric))
        return change->change[metric].value == 0;
    if (metric == PL_METRIC_PEAK_SPACE)
        return chance_by_evidence(unit, metric, slack);
    double chance = chance_by_evidence(unit, metric, 0);
    if (metric == PL_METRIC_PEAK_OBJECTS && slack > 0)
        chance = fmax(chance, chance_by_evidence(unit, PL_METRIC_PEAK_SPACE, slack));
    return chance;
}

static enum pl_diff_what what_of(double before, double after)
{
    if (before == after)
        return PL_DIFF_SAME;
    if (!(before > 0))
        return PL_DIFF_APPEARED;
    if (!(after > 0))
        return PL_DIFF_DISAPPEARED;
    return after > before ? PL_DIFF_GREW : PL_DIFF_SHRANK;
}

static void judge(const struct pl_diff_work *work, const struct pl_diff_unit *unit, struct pl_change *change)
{
    enum pl_metric metric = work->options->metric;
    change->who = unit->who;
    change->was = unit->was;
    change->moved = unit->moved;
    estimate_side(unit, PL_DIFF_BEFORE, change->before);
    estimate_side(unit, PL_DIFF_AFTER, change->after);
    subtract(work, change);
    change->p = chance_of(work, unit, change);
    change->what = what_of(change->before[metric].value, change->after[metric].value);
}

/* --- all of them --- */

/* That there is nothing, twice, is no comparison, and must not count as one. */
static bool is_something(const struct pl_diff_unit *unit)
{
    const struct pl_figures *before = &unit->side[PL_DIFF_BEFORE].figures, *after = &unit->side[PL_DIFF_AFTER].figures;
    return before->allocated.sampled.samples || after->allocated.sampled.samples ||
           before->allocated.exact_objects > 0 || after->allocated.exact_objects > 0 ||
           unit->calls[PL_DIFF_BEFORE] > 0 || unit->calls[PL_DIFF_AFTER] > 0;
}

static void judge_all(const struct pl_diff_work *work)
{
    struct pl_diff *out = work->out;
    out->change = pl_arena_alloc(out->arena, (work->units + 1ull) * sizeof *out->change);
    for (uint32_t i = 0; i < work->units; i++)
        if (is_something(&work->unit[i]))
            judge(work, &work->unit[i], &out->change[out->changes++]);
    double *p = pl_grow_zeroed(out->changes + 1ull, sizeof *p), *q = pl_grow_zeroed(out->changes + 1ull, sizeof *q);
    for (uint32_t i = 0; i < out->changes; i++)
        p[i] = out->change[i].p;
    pl_significance_adjust(p, q, out->changes);
    for (uint32_t i = 0; i < out->changes; i++) {
        struct pl_change *change = &out->change[i];
        change->q = q[i];
        change->significant = change->what != PL_DIFF_SAME && q[i] <= work->options->rate;
        out->significant += change->significant;
        out->moved += change->moved;
    }
    free(p);
    free(q);
}

static enum pl_metric sorted_by;

static int by_significance_and_size(const void *left, const void *right)
{
    const struct pl_change *a = left, *b = right;
    if (a->significant != b->significant)
        return a->significant ? -1 : 1;
    double x = fabs(a->change[sorted_by].value), y = fabs(b->change[sorted_by].value);
    return x != y ? (x < y ? 1 : -1) : (a->who > b->who) - (a->who < b->who);
}

static void add_sites(struct pl_diff_work *work, struct pl_diff_unit *all)
{
    for (uint32_t i = 0; i < work->joined->sites; i++) {
        enum pl_diff_side side = pl_diff_side_of(work->joined, i);
        pl_footing_add(&work->unit[work->of_site[i]].side[side], &work->joined->site[i]);
        pl_footing_add(&all->side[side], &work->joined->site[i]);
    }
}

/* Profiles know what their sites do not: calls and bytes of all threads, whatever was sampled. */
static void judge_total(const struct pl_diff_work *work, struct pl_diff_unit *all)
{
    const struct pl_profile *part[PL_DIFF_SIDES] = {work->options->before, work->options->after};
    struct pl_change *total = &work->out->total;
    all->counted = part[PL_DIFF_BEFORE] && part[PL_DIFF_AFTER];
    judge(work, all, total);
    for (int m = 0; m < PL_METRIC_COUNT && all->counted; m++) {
        total->before[m] = part[PL_DIFF_BEFORE]->total[m];
        total->after[m] = part[PL_DIFF_AFTER]->total[m];
    }
    subtract(work, total);
    total->what = what_of(total->before[work->options->metric].value, total->after[work->options->metric].value);
    total->p = total->q = chance_of(work, all, total);
    total->significant = total->what != PL_DIFF_SAME && total->p <= work->options->rate;
}

void pl_diff_make(const struct pl_profile *joined, const struct pl_diff_options *options, struct pl_diff *out)
{
    static void (*const find_units[])(struct pl_diff_work * work) = {
        [PL_DIFF_BY_STACK] = pl_diff_stacks,
        [PL_DIFF_BY_TAG] = pl_diff_tags,
        [PL_DIFF_BY_THREAD] = pl_diff_threads,
    };
    *out = (struct pl_diff){.joined = joined, .arena = pl_arena_new()};
    struct pl_diff_work work = {.joined = joined, .options = options, .out = out, .scratch = pl_arena_new()};
    struct pl_diff_unit all = {0};
    if (options->before && options->after)
        work.peak_slack_bytes = options->before->peak_slack_bytes + options->after->peak_slack_bytes;
    work.of_site = pl_arena_alloc(work.scratch, (joined->sites + 1ull) * sizeof *work.of_site);
    find_units[options->by](&work);
    double interval[PL_DIFF_SIDES];
    set_intervals(&work, interval);
    for (int side = 0; side < PL_DIFF_SIDES; side++)
        all.side[side].interval_bytes = interval[side];
    add_sites(&work, &all);
    judge_all(&work);
    judge_total(&work, &all);
    sorted_by = options->metric;
    qsort(out->change, out->changes, sizeof *out->change, by_significance_and_size);
    pl_arena_free(work.scratch);
}

void pl_diff_free(struct pl_diff *diff)
{
    if (diff->spots)
        pl_spots_free(diff->spots);
    pl_arena_free(diff->arena);
}
