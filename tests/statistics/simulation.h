/* SPDX-License-Identifier: MIT */
/*
 * simulation.h - programs that allocate, sampled by the real sampler and read by the real estimator.
 *
 * What the runtime does is repeated here step by step, in doubles and words, without memory: a countdown per thread
 * that every allocation lowers by its charge, pl_sampler_visit() on borrow, pl_sums_add() for a sample and again for
 * its free, pl_figures_estimate() at the end. Where everything is counted there is no countdown, and nothing to draw.
 * What the program really did is known, so estimates can be judged.
 *
 * A workload is an endless sequence of blocks that repeats after a period. That, and nothing else, makes 10,000 runs of
 * a million allocations affordable: between two samples the countdown falls by a difference of prefix sums instead of
 * block by block. A test holds the two ways equal to the last bit.
 */
#ifndef SIMULATION_H
#define SIMULATION_H

#include <stdbool.h>
#include <stdint.h>

#include "format.h"
#include "profile.h"
#include "sampler.h"

/* The usual T. In its place, EXACT: every allocation is counted. */
#define USUAL (512ull << 10)
#define EXACT 0ull

/* The metrics that are judged here: calls, bytes, and the same of what is live. */
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

/* size_of(i) is called for i = 0 .. sizes - 1. One block in LIVE_EVERY stays live, half of the others are freed
 * remotely. */
#define LIVE_EVERY 3u
struct workload *workload_make(uint64_t sizes, uint64_t (*size_of)(uint64_t i));
void workload_free(struct workload *workload);

/* Samples expected in the first n blocks. */
double workload_expected(const struct workload *workload, uint64_t n, uint64_t interval);
/* The first n with at least this many expected. */
uint64_t workload_length(const struct workload *workload, double samples, uint64_t interval);
/* What blocks first .. first + n - 1 really are. */
void workload_truth(const struct workload *workload, uint64_t first, uint64_t n, double truth[METRICS]);

/* One site in a thread: what samples say of it, and what was counted. */
struct row {
    struct pl_sums allocated;
    struct pl_sums freed;
    struct pl_sums remote;
    struct pl_skew skew;
    double counted[METRICS]; /* as workload_truth() has it */
};

struct thread {
    struct pl_sampler sampler;
    uint64_t countdown; /* 0 at first, as in the runtime: the first allocation goes to the cold path */
    uint64_t visits;    /* to the cold path, samples or not */
};

void thread_start(struct thread *thread, uint64_t seed, uint64_t stream);

/* Allocates blocks first .. first + n - 1 of the workload at a site while `interval` is in force. A gap that is running
 * when exact mode begins ends as gaps do, with a sample; from then on every block is counted. */
void thread_allocate(struct thread *thread, const struct workload *workload, uint64_t first, uint64_t n,
                     uint64_t interval, struct row *row);
/* The same, one allocation at a time. */
void thread_allocate_slowly(struct thread *thread, const struct workload *workload, uint64_t first, uint64_t n,
                            uint64_t interval, struct row *row);

/* What the reader makes of the row; where there is nothing at all, what it says of that. */
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
/* Mean error in its own standard errors. */
double tally_bias(const struct tally *tally);

#endif
