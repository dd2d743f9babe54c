/* SPDX-License-Identifier: MIT */
/*
 * sampler.h - which allocations are looked at, and what each of them stands for.
 *
 * An allocation of n bytes has the charge c = n + K. Gaps between samples are exponential with mean T, measured in
 * charge; an allocation is sampled iff the gap runs out inside it, so with probability p = 1 - exp(-c/T), and it stands
 * for w = 1/p allocations like it.
 *
 *   worked: T = 512 KiB, K = 64. malloc(16): c = 80, p = 0.000152, w = 6,554. malloc(1 MiB): p = 0.865, w = 1.157.
 *
 * Invariant: `interval` is the T with which the gap now running was drawn. The weight uses it, whatever T is in force
 * by the time the gap runs out.
 *
 * A countdown need not be a gap: a thread's first visit, and wake-ups while switched off, only look at the clock.
 * `armed` tells them apart. The exponential has no memory, so a fresh gap drawn in such a visit, with this very
 * allocation tested against it, is as good as one drawn long ago.
 */
#ifndef PL_SAMPLER_H
#define PL_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A long gap is counted down in parts. At the end of each the thread looks at the T now in force: a gap drawn when T
 * was coarse would otherwise reach far into a time when it is fine, and one heavy sample stand for all of it.
 */
#define PL_SAMPLER_PARTS 32
#define PL_SAMPLER_PART_LEAST (128u << 10)

struct pl_sampler {
    uint64_t state[2]; /* random numbers, one stream per thread */
    uint64_t interval; /* T of the gap now running */
    uint64_t rest;     /* of the gap, behind the part that is being counted down */
    bool armed;        /* the countdown now running is a gap, or part of one */
};

void pl_sampler_seed(struct pl_sampler *sampler, uint64_t seed, uint64_t stream);

/* Draws a gap: floor of an exponential with mean `interval`. Sets interval and armed. At most 2^62. */
uint64_t pl_sampler_draw(struct pl_sampler *sampler, uint64_t interval);

/*
 * The countdown has run out inside an allocation of this charge, when so much of it was `left`, less than the charge.
 * Returns its weight, or 0 if it is not a sample, and sets *countdown to what the thread has to count down next.
 * `interval` is the T now in force, for the next gap.
 */
double pl_sampler_meet(struct pl_sampler *sampler, uint64_t charge, uint64_t left, uint64_t interval,
                       uint64_t *countdown);

/* The same, when no allocation after this one is to be sampled. The next countdown is not a gap. */
double pl_sampler_end(struct pl_sampler *sampler, uint64_t charge, uint64_t left);

/* As pl_sampler_meet(), for a caller who does not know what was left: gaps are counted down in one part. */
double pl_sampler_visit(struct pl_sampler *sampler, uint64_t charge, uint64_t interval, uint64_t *countdown);

/* A countdown that is not a gap: the next visit comes after `charge` and is no sample by itself. */
uint64_t pl_sampler_sleep(struct pl_sampler *sampler, uint64_t charge);

/* 1 / (1 - exp(-charge / interval)); at least 1. */
double pl_sampler_weight(uint64_t charge, uint64_t interval);

#endif
