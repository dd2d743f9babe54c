/* SPDX-License-Identifier: MIT */
/*
 * simulation.h - simulated programs that allocate, with the real sampler and the real estimator.
 *
 * This repeats what the runtime does, step by step, in doubles and words, without memory: a countdown per thread that
 * every allocation lowers by its charge, pl_sampler_visit() when it ends, pl_sums_add() for a sample and again for its
 * free, pl_estimate_figures() at the end. In exact mode there is no countdown and nothing to draw. What the program
 * really did is known, so estimates can be judged.
 *
 * A workload is an endless sequence of blocks that repeats after a period. Only this makes 10,000 runs of a million
 * allocations affordable: between two samples the countdown falls by a difference of prefix sums instead of block by
 * block. A test checks that both ways give the same bits.
 */
#ifndef SIMULATION_H
#define SIMULATION_H

#include <stdbool.h>
#include <stdint.h>

#include "core/sampler.h"
#include "format/format.h"
#include "reader/profile.h"

/* The usual T. EXACT instead of T: every allocation is counted. */
#define USUAL (512ull << 10)
#define EXACT 0ull

/* The metrics that are judged here: calls, bytes, live blocks and live bytes. */
#define METRICS (PL_METRIC_INUSE_SPACE + 1)

enum fate {
    FREED,        /* by the thread that allocated it */
    FREED_REMOTE, /* by another thread */
    LIVE,
};

struct workload {
    uint64_t period;
    uint64_t *size;
    enum fate *fate;
    /* Sums over the first n blocks of a period, n = 0 .. period. */
    uint64_t *charge;
    uint64_t *space;
    uint64_t *live_objects;
    uint64_t *live_space;
};

/* size_of(i) is called for i = 0 .. sizes - 1. One block in LIVE_EVERY stays live. Half of the others are freed by
 * another thread. */
#define LIVE_EVERY 3u
struct workload *workload_make(uint64_t sizes, uint64_t (*size_of)(uint64_t i));
void workload_free(struct workload *workload);

/* The number of samples expected in the first n blocks. */
double workload_expected(const struct workload *workload, uint64_t n, uint64_t interval);
/* The smallest n with at least this many expected samples. */
uint64_t workload_length(const struct workload *workload, double samples, uint64_t interval);
/* The true figures of blocks first .. first + n - 1. */
void workload_truth(const struct workload *workload, uint64_t first, uint64_t n, double truth[METRICS]);

/* One site in a thread: its samples, and its counts. */
struct row {
    struct pl_sums allocated;
    struct pl_sums freed;
    struct pl_sums remote;
    struct pl_skew skew;
    double counted[METRICS]; /* like workload_truth() */
};

struct thread {
    struct pl_sampler sampler;
    uint64_t countdown; /* 0 at first, as in the runtime: the first allocation goes to the cold path */
    uint64_t visits;    /* to the cold path, samples or not */
};

void thread_start(struct thread *thread, uint64_t seed, uint64_t stream);

/* Allocates blocks first .. first + n - 1 of the workload at a site with this interval. A gap that has begun before
 * exact mode ends as usual, with a sample. From then on every block is counted. */
void thread_allocate(struct thread *thread, const struct workload *workload, uint64_t first, uint64_t n,
                     uint64_t interval, struct row *row);
/* The same, one allocation at a time. */
void thread_allocate_slowly(struct thread *thread, const struct workload *workload, uint64_t first, uint64_t n,
                            uint64_t interval, struct row *row);

/* The reader's estimate for the row. For an empty row, what the reader says in that case. */
void row_estimate(const struct row *row, uint64_t interval, struct pl_estimate metric[METRICS]);

/* Many runs of one metric. */
struct tally {
    double runs;
    double expected;  /* samples, on average */
    double error_sum; /* of estimate - truth */
    double error_squares;
    double truth_sum;
    double covered;    /* low <= truth <= high */
    double covered_pm; /* |value - truth| <= error */
    double too_low;    /* high < truth */
    double too_high;   /* truth < low */
    double seen;       /* runs with at least one sample */
    double seen_covered;
};

void tally_add(struct tally *tally, const struct pl_estimate *estimate, double truth, double expected, bool seen);
/* The mean error in units of its own standard error. */
double tally_bias(const struct tally *tally);

#endif
