/* SPDX-License-Identifier: MIT */
/*
 * simulation.c - see simulation.h. Invariant: thread_allocate() and thread_allocate_slowly() leave the same thread and
 * the same row.
 */
#include <math.h>
#include <stdlib.h>

#include "core/records/sums.h"
#include "format/settings.h"
#include "reader/figures.h"
#include "simulation.h"

static void *zeroed(uint64_t count, size_t bytes)
{
    void *memory = calloc(count, bytes);
    if (!memory)
        abort();
    return memory;
}

static enum fate fate_of(uint64_t i)
{
    if (i % LIVE_EVERY == 0)
        return LIVE;
    return i % 2 ? FREED_REMOTE : FREED;
}

static void sum_period(struct workload *w)
{
    for (uint64_t i = 0; i < w->period; i++) {
        bool live = w->fate[i] == LIVE;
        w->charge[i + 1] = w->charge[i] + w->size[i] + PL_CALL_CHARGE;
        w->space[i + 1] = w->space[i] + w->size[i];
        w->live_objects[i + 1] = w->live_objects[i] + live;
        w->live_space[i + 1] = w->live_space[i] + (live ? w->size[i] : 0);
    }
}

/* Every size has every fate: the period is six times the sizes, and each round starts with another fate. */
struct workload *workload_make(uint64_t sizes, uint64_t (*size_of)(uint64_t i))
{
    struct workload *w = zeroed(1, sizeof(*w));
    w->period = sizes * 2 * LIVE_EVERY;
    w->size = zeroed(w->period, sizeof(*w->size));
    w->fate = zeroed(w->period, sizeof(*w->fate));
    w->charge = zeroed(w->period + 1, sizeof(*w->charge));
    w->space = zeroed(w->period + 1, sizeof(*w->space));
    w->live_objects = zeroed(w->period + 1, sizeof(*w->live_objects));
    w->live_space = zeroed(w->period + 1, sizeof(*w->live_space));
    for (uint64_t i = 0; i < w->period; i++) {
        w->size[i] = size_of(i % sizes);
        w->fate[i] = fate_of(i + i / sizes);
    }
    sum_period(w);
    return w;
}

void workload_free(struct workload *w)
{
    free(w->size);
    free(w->fate);
    free(w->charge);
    free(w->space);
    free(w->live_objects);
    free(w->live_space);
    free(w);
}

static double probability(uint64_t charge, uint64_t interval)
{
    return -expm1(-(double) charge / (double) interval);
}

double workload_expected(const struct workload *w, uint64_t n, uint64_t interval)
{
    double period = 0, rest = 0;
    for (uint64_t i = 0; i < w->period; i++) {
        double p = probability(w->size[i] + PL_CALL_CHARGE, interval);
        period += p;
        rest += i < n % w->period ? p : 0;
    }
    return period * (double) (n / w->period) + rest;
}

uint64_t workload_length(const struct workload *w, double samples, uint64_t interval)
{
    double period = workload_expected(w, w->period, interval);
    double periods = floor(samples / period);
    double rest = samples - periods * period;
    uint64_t n = 0;
    for (; n < w->period && rest > 1e-9; n++)
        rest -= probability(w->size[n] + PL_CALL_CHARGE, interval);
    return (uint64_t) periods * w->period + n;
}

/* The sum over the first n blocks, from the sums over a period. */
static uint64_t sum_of(const struct workload *w, const uint64_t *prefix, uint64_t n)
{
    return n / w->period * prefix[w->period] + prefix[n % w->period];
}

void workload_truth(const struct workload *w, uint64_t first, uint64_t n, double truth[METRICS])
{
    truth[PL_METRIC_ALLOC_OBJECTS] = (double) n;
    truth[PL_METRIC_ALLOC_SPACE] = (double) (sum_of(w, w->space, first + n) - sum_of(w, w->space, first));
    truth[PL_METRIC_INUSE_OBJECTS] =
        (double) (sum_of(w, w->live_objects, first + n) - sum_of(w, w->live_objects, first));
    truth[PL_METRIC_INUSE_SPACE] = (double) (sum_of(w, w->live_space, first + n) - sum_of(w, w->live_space, first));
}

void thread_start(struct thread *thread, uint64_t seed, uint64_t stream)
{
    pl_sampler_seed(&thread->sampler, seed, stream);
    thread->countdown = thread->visits = 0;
}

static void count(const struct workload *w, uint64_t first, uint64_t n, struct row *row)
{
    double truth[METRICS];
    workload_truth(w, first, n, truth);
    for (unsigned m = 0; m < METRICS; m++)
        row->counted[m] += truth[m];
}

/* The cold path: the countdown has ended inside block i. */
static void visit(struct thread *thread, const struct workload *w, uint64_t i, uint64_t interval, struct row *row)
{
    uint64_t size = w->size[i % w->period], charge = size + PL_CALL_CHARGE, left = thread->countdown;
    double weight;
    thread->visits++;
    if (interval == EXACT) {
        weight = pl_sampler_end(&thread->sampler, charge, left);
        thread->countdown = 0;
    } else {
        weight = pl_sampler_meet(&thread->sampler, charge, left, interval, &thread->countdown);
    }
    if (weight == 0)
        return;
    pl_sums_add(&row->allocated, (double) size, weight);
    pl_sums_add_skew(&row->skew, (double) size, weight);
    if (w->fate[i % w->period] == FREED)
        pl_sums_add(&row->freed, (double) size, weight);
    if (w->fate[i % w->period] == FREED_REMOTE)
        pl_sums_add(&row->remote, (double) size, weight);
}

void thread_allocate_slowly(struct thread *thread, const struct workload *w, uint64_t first, uint64_t n,
                            uint64_t interval, struct row *row)
{
    for (uint64_t i = first; i < first + n; i++) {
        uint64_t charge = w->size[i % w->period] + PL_CALL_CHARGE;
        if (interval == EXACT && !thread->sampler.armed)
            count(w, i, 1, row);
        else if (thread->countdown < charge)
            visit(thread, w, i, interval, row);
        else
            thread->countdown -= charge;
    }
}

/* The block in which a countdown with `reach` left ends, counted from block 0: the first i for which the sum of charges
 * up to and including it exceeds `reach`. */
static uint64_t find_block(const struct workload *w, uint64_t reach)
{
    uint64_t target = reach % w->charge[w->period];
    uint64_t low = 0, high = w->period - 1;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (w->charge[middle + 1] > target)
            high = middle;
        else
            low = middle + 1;
    }
    return reach / w->charge[w->period] * w->period + low;
}

void thread_allocate(struct thread *thread, const struct workload *w, uint64_t first, uint64_t n, uint64_t interval,
                     struct row *row)
{
    uint64_t end = first + n;
    for (uint64_t i = first; i < end; i++) {
        if (interval == EXACT && !thread->sampler.armed) {
            count(w, i, end - i, row);
            return;
        }
        uint64_t start = sum_of(w, w->charge, i);
        uint64_t block = find_block(w, start + thread->countdown);
        uint64_t stop = block < end ? block : end;
        thread->countdown -= sum_of(w, w->charge, stop) - start;
        if (stop == end)
            return;
        visit(thread, w, block, interval, row);
        i = block;
    }
}

void row_estimate(const struct row *row, uint64_t interval, struct pl_estimate metric[METRICS])
{
    struct pl_estimate all[PL_METRIC_COUNT];
    struct pl_figures figures = {
        .allocated = {row->counted[PL_METRIC_ALLOC_OBJECTS], row->counted[PL_METRIC_ALLOC_SPACE], row->allocated},
        .freed = {row->counted[PL_METRIC_ALLOC_OBJECTS] - row->counted[PL_METRIC_INUSE_OBJECTS],
                  row->counted[PL_METRIC_ALLOC_SPACE] - row->counted[PL_METRIC_INUSE_SPACE], row->freed},
        .skew = row->skew,
    };
    pl_sums_join(&figures.freed.sampled, &row->remote);
    if (row->allocated.samples == 0 && row->counted[PL_METRIC_ALLOC_OBJECTS] == 0)
        pl_estimate_unsampled(interval, PL_CALL_CHARGE, all);
    else
        pl_estimate_figures(&figures, all);
    for (unsigned m = 0; m < METRICS; m++)
        metric[m] = all[m];
}

void tally_add(struct tally *tally, const struct pl_estimate *estimate, double truth, double expected, bool seen)
{
    double error = estimate->value - truth;
    bool covered = estimate->low <= truth && truth <= estimate->high;
    tally->runs++;
    tally->expected += expected;
    tally->error_sum += error;
    tally->error_squares += error * error;
    tally->truth_sum += truth;
    tally->covered += covered;
    tally->covered_pm += fabs(error) <= estimate->error;
    tally->too_low += estimate->high < truth;
    tally->too_high += truth < estimate->low;
    tally->seen += seen;
    tally->seen_covered += seen && covered;
}

double tally_bias(const struct tally *tally)
{
    double mean = tally->error_sum / tally->runs;
    double variance = tally->error_squares / tally->runs - mean * mean;
    if (!(variance > 0))
        return mean == 0 ? 0 : INFINITY;
    return mean / sqrt(variance / tally->runs);
}
