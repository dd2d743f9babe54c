/* SPDX-License-Identifier: MIT */
/*
 * diff.c - what has changed from one profile to another, and which changes are more than noise.
 */
#include "analysis/diff/diff.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/diff/diff_work.h"
#include "reader/base/arena.h"
#include "reader/base/grow.h"
#include "reader/figures.h"
#include "reader/join/join.h"
#include "reader/site.h"

#define RULE_OF_THREE 3.0 /* without a sample, up to 3 may have been expected (95% confidence) */

/* --- how each side was recorded --- */

/* The profile of a side; the joined one if it was not given. */
static const struct pl_profile *part_of(const struct pl_diff_work *work, enum pl_diff_side side)
{
    const struct pl_profile *part = side == PL_DIFF_BEFORE ? work->options->before : work->options->after;
    return part ? part : work->joined;
}

/* The sampling interval; 0: everything was counted. */
static double interval_of(const struct pl_diff_work *work, enum pl_diff_side side)
{
    const struct pl_profile *joined = work->joined;
    if (part_of(work, side)->exact)
        return 0;
    double interval = 0;
    for (uint32_t i = 0; i < joined->sites; i++)
        if (pl_diff_side_of(joined, i) == side)
            interval = fmax(interval, pl_site_figures(&joined->site[i]).unseen_interval);
    if (!(interval > 0))
        interval = (double) part_of(work, side)->header.interval_bytes;
    return interval;
}

static void set_recording(struct pl_diff_work *work)
{
    for (int side = 0; side < PL_DIFF_SIDES; side++) {
        work->start[side].interval_bytes = interval_of(work, side);
        work->start[side].call_charge = part_of(work, side)->header.call_charge;
    }
    work->out->exact =
        work->start[PL_DIFF_BEFORE].interval_bytes == 0 && work->start[PL_DIFF_AFTER].interval_bytes == 0;
}

/* --- figures --- */

/* A unit without a sample may still have memory: extends the interval to the amount that is missed in one run of 20. */
static void allow_for_the_unmet(const struct pl_footing *own, const struct pl_footing *other,
                                struct pl_estimate metric[PL_METRIC_COUNT])
{
    if (own->interval_bytes == 0 || own->figures.allocated.sampled.samples > 0 ||
        own->figures.allocated.exact_objects > 0)
        return;
    for (int m = 0; m < PL_METRIC_COUNT; m++)
        metric[m].high = metric[m].error = RULE_OF_THREE * pl_significance_evidence(own, other, m).spread;
}

static void estimate_side(const struct pl_diff_unit *unit, const struct pl_footing sum[PL_DIFF_SIDES],
                          enum pl_diff_side side, struct pl_estimate metric[PL_METRIC_COUNT])
{
    const struct pl_footing *own = &sum[side], *other = &sum[!side];
    pl_estimate_figures(&own->figures, metric);
    allow_for_the_unmet(own, other, metric);
    if (!unit->counted)
        return;
    metric[PL_METRIC_ALLOC_OBJECTS] = pl_estimate_exactly(unit->calls[side]);
    metric[PL_METRIC_ALLOC_SPACE] = pl_estimate_exactly(unit->bytes[side]);
}

static void subtract(const struct pl_diff_work *work, struct pl_diff_sides *sides)
{
    for (int m = 0; m < PL_METRIC_COUNT; m++)
        sides->change[m] = pl_join_subtract(&sides->after[m], &sides->before[m]);
    struct pl_estimate *peak = &sides->change[PL_METRIC_PEAK_SPACE];
    peak->low -= work->peak_slack_bytes;
    peak->high += work->peak_slack_bytes;
    peak->error += work->peak_slack_bytes;
}

static bool is_counted(const struct pl_diff_unit *unit, enum pl_metric metric)
{
    return unit->counted && (metric == PL_METRIC_ALLOC_OBJECTS || metric == PL_METRIC_ALLOC_SPACE);
}

/* First reduces the difference by up to `slack` bytes, since the smaller side may have had that much more. */
static double chance_by_evidence(const struct pl_footing sum[PL_DIFF_SIDES], enum pl_metric metric, double slack)
{
    const struct pl_footing *before = &sum[PL_DIFF_BEFORE], *after = &sum[PL_DIFF_AFTER];
    struct pl_evidence a = pl_significance_evidence(before, after, metric),
                       b = pl_significance_evidence(after, before, metric);
    double more = b.counted + b.value - a.counted - a.value;
    *(more > 0 ? &a.counted : &b.counted) += fmin(fabs(more), slack);
    return pl_significance_of(&a, &b);
}

/* A change of blocks at the peak is no more certain than the change of their bytes. */
static double chance_of(const struct pl_diff_work *work, const struct pl_diff_unit *unit,
                        const struct pl_footing sum[PL_DIFF_SIDES], const struct pl_estimate *change)
{
    enum pl_metric metric = work->options->metric;
    double slack = work->peak_slack_bytes;
    if (is_counted(unit, metric))
        return change->value == 0;
    if (metric == PL_METRIC_PEAK_SPACE)
        return chance_by_evidence(sum, metric, slack);
    double chance = chance_by_evidence(sum, metric, 0);
    if (metric == PL_METRIC_PEAK_OBJECTS && slack > 0)
        chance = fmax(chance, chance_by_evidence(sum, PL_METRIC_PEAK_SPACE, slack));
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

static void judge(const struct pl_diff_work *work, const struct pl_diff_unit *unit,
                  const struct pl_footing sum[PL_DIFF_SIDES], struct pl_diff_sides *sides, struct pl_change *change)
{
    enum pl_metric metric = work->options->metric;
    subtract(work, sides);
    *change = (struct pl_change){
        .who = unit->who,
        .was = unit->was,
        .moved = unit->moved,
        .what = what_of(sides->before[metric].value, sides->after[metric].value),
        .before = sides->before[metric],
        .after = sides->after[metric],
        .change = sides->change[metric],
    };
    change->p = chance_of(work, unit, sum, &change->change);
}

/* --- all units --- */

/* A unit with nothing on either side is no comparison, and must not count as one when q is computed. */
static bool is_something(const struct pl_diff_unit *unit, const struct pl_footing sum[PL_DIFF_SIDES])
{
    const struct pl_figures *before = &sum[PL_DIFF_BEFORE].figures, *after = &sum[PL_DIFF_AFTER].figures;
    return before->allocated.sampled.samples || after->allocated.sampled.samples ||
           before->allocated.exact_objects > 0 || after->allocated.exact_objects > 0 ||
           unit->calls[PL_DIFF_BEFORE] > 0 || unit->calls[PL_DIFF_AFTER] > 0;
}

/* The sites of each unit, as lists: index + 1; 0 ends them. */
struct lists {
    uint32_t *first; /* by unit */
    uint32_t *next;  /* by site */
};

/* Backwards, so that each list is in order. */
static struct lists list_sites(const struct pl_diff_work *work)
{
    struct lists lists = {
        .first = pl_arena_alloc(work->scratch, (work->units + 1ull) * sizeof *lists.first),
        .next = pl_arena_alloc(work->scratch, (work->joined->sites + 1ull) * sizeof *lists.next),
    };
    for (uint32_t i = work->joined->sites; i-- > 0;) {
        lists.next[i] = lists.first[work->of_site[i]];
        lists.first[work->of_site[i]] = i + 1;
    }
    return lists;
}

static void add_site(const struct pl_diff_work *work, uint32_t site, struct pl_footing sum[PL_DIFF_SIDES])
{
    pl_significance_add(&sum[pl_diff_side_of(work->joined, site)], &work->joined->site[site]);
}

static void judge_units(const struct pl_diff_work *work)
{
    struct pl_diff *out = work->out;
    struct lists lists = list_sites(work);
    out->change = pl_arena_alloc(out->arena, (work->units + 1ull) * sizeof *out->change);
    for (uint32_t i = 0; i < work->units; i++) {
        const struct pl_diff_unit *unit = &work->unit[i];
        struct pl_footing sum[PL_DIFF_SIDES] = {work->start[PL_DIFF_BEFORE], work->start[PL_DIFF_AFTER]};
        struct pl_diff_sides sides;
        for (uint32_t at = lists.first[i]; at; at = lists.next[at - 1])
            add_site(work, at - 1, sum);
        if (!is_something(unit, sum))
            continue;
        estimate_side(unit, sum, PL_DIFF_BEFORE, sides.before);
        estimate_side(unit, sum, PL_DIFF_AFTER, sides.after);
        judge(work, unit, sum, &sides, &out->change[out->changes++]);
    }
}

static void judge_all(const struct pl_diff_work *work)
{
    struct pl_diff *out = work->out;
    judge_units(work);
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

static int by_significance_and_size(const void *left, const void *right)
{
    const struct pl_change *a = left, *b = right;
    if (a->significant != b->significant)
        return a->significant ? -1 : 1;
    double x = fabs(a->change.value), y = fabs(b->change.value);
    return x != y ? (x < y ? 1 : -1) : (a->who > b->who) - (a->who < b->who);
}

/* Takes totals from the profiles, which know calls and bytes of all threads exactly, also in sampled mode. */
static void judge_total(const struct pl_diff_work *work)
{
    const struct pl_profile *part[PL_DIFF_SIDES] = {work->options->before, work->options->after};
    struct pl_footing sum[PL_DIFF_SIDES] = {work->start[PL_DIFF_BEFORE], work->start[PL_DIFF_AFTER]};
    struct pl_diff_unit all = {.counted = part[PL_DIFF_BEFORE] && part[PL_DIFF_AFTER]};
    struct pl_change *total = &work->out->total;
    struct pl_diff_sides *sides = &work->out->totals;
    for (uint32_t i = 0; i < work->joined->sites; i++)
        add_site(work, i, sum);
    estimate_side(&all, sum, PL_DIFF_BEFORE, sides->before);
    estimate_side(&all, sum, PL_DIFF_AFTER, sides->after);
    for (int m = 0; m < PL_METRIC_COUNT && all.counted; m++) {
        sides->before[m] = part[PL_DIFF_BEFORE]->total[m];
        sides->after[m] = part[PL_DIFF_AFTER]->total[m];
    }
    judge(work, &all, sum, sides, total);
    total->q = total->p;
    total->significant = total->what != PL_DIFF_SAME && total->p <= work->options->rate;
}

/* --- which metric --- */

/* Live bytes are measured by the peak: a few bytes more at the end of a run are no large change, whatever was left
 * before. What changes live bytes usually changes the peak, too: then live bytes tell more. */
static const struct {
    enum pl_metric metric, whole;
    double counts;
} leading[] = {
    {PL_METRIC_INUSE_SPACE, PL_METRIC_PEAK_SPACE, 2},
    {PL_METRIC_PEAK_SPACE, PL_METRIC_PEAK_SPACE, 1},
    {PL_METRIC_ALLOC_SPACE, PL_METRIC_ALLOC_SPACE, 1},
    {PL_METRIC_ALLOC_OBJECTS, PL_METRIC_ALLOC_OBJECTS, 1},
};

/* How much a total changed, as a share of the larger side; 0 if it may be noise. */
static double share_changed(const struct pl_profile *before, const struct pl_profile *after, enum pl_metric metric,
                            enum pl_metric whole)
{
    struct pl_estimate change = pl_join_subtract(&after->total[metric], &before->total[metric]);
    double slack = metric == PL_METRIC_PEAK_SPACE ? before->peak_slack_bytes + after->peak_slack_bytes : 0;
    double most = fmax(before->total[whole].value, after->total[whole].value);
    bool noise = change.low - slack <= 0 && change.high + slack >= 0;
    return noise || !(most > 0) ? 0 : fabs(change.value) / most;
}

enum pl_metric pl_diff_leading(const struct pl_profile *before, const struct pl_profile *after)
{
    bool live = before->total[PL_METRIC_INUSE_SPACE].value > 0 || after->total[PL_METRIC_INUSE_SPACE].value > 0;
    enum pl_metric best = live ? PL_METRIC_INUSE_SPACE : PL_METRIC_ALLOC_SPACE;
    double most = 0;
    for (size_t i = 0; i < sizeof leading / sizeof *leading; i++) {
        double changed = leading[i].counts * share_changed(before, after, leading[i].metric, leading[i].whole);
        if (changed > most) {
            best = leading[i].metric;
            most = changed;
        }
    }
    return best;
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
    if (options->before && options->after)
        work.peak_slack_bytes = options->before->peak_slack_bytes + options->after->peak_slack_bytes;
    work.of_site = pl_arena_alloc(work.scratch, (joined->sites + 1ull) * sizeof *work.of_site);
    find_units[options->by](&work);
    set_recording(&work);
    judge_all(&work);
    judge_total(&work);
    qsort(out->change, out->changes, sizeof *out->change, by_significance_and_size);
    pl_arena_free(work.scratch);
}

void pl_diff_free(struct pl_diff *diff)
{
    if (diff->locations)
        pl_locations_free(diff->locations);
    pl_arena_free(diff->arena);
}
