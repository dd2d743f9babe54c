/* SPDX-License-Identifier: MIT */
/*
 * sampler.h - which allocations are sampled, and the weight of each sample.
 *
 * An allocation of n bytes has the charge c = n + K. Gaps between samples are exponential with mean T, the sampling
 * interval, measured in charge. An allocation is sampled iff the gap runs out inside it, which has the probability p =
 * 1 - exp(-c/T); so a sample stands for w = 1/p allocations like it. w is its weight.
 *
 *   worked: T = 512 KiB, K = 64. malloc(16): c = 80, p = 0.000152, w = 6,554. malloc(1 MiB): p = 0.865, w = 1.157.
 *
 * Invariant: `interval` is the T with which the current gap was drawn. The weight uses it, whatever T is in force when
 * the gap runs out.
 *
 * Not every countdown is a gap: a thread's first visit, and visits while switched off, are not samples by themselves.
 * `armed` tells the two apart. The exponential distribution has no memory, so in such a visit a new gap can be drawn
 * and this same allocation be tested against it: that is as good as a gap that was drawn long ago.
 */
#ifndef PL_SAMPLER_H
#define PL_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A long gap is counted down in parts. At the end of each part the thread checks the T now in force. Otherwise a gap
 * drawn with a large T would reach far into a time when T is small, and one sample of large weight stand for all of
 * that time.
 */
#define PL_SAMPLER_PARTS 32
#define PL_SAMPLER_PART_LEAST (128u << 10)

struct pl_sampler {
    uint64_t state[2]; /* of the random numbers, one stream per thread */
    uint64_t interval; /* T of the current gap */
    uint64_t rest;     /* of the gap, after the part that is being counted down */
    bool armed;        /* the current countdown is a gap, or part of one */
};

void pl_sampler_seed(struct pl_sampler *sampler, uint64_t seed, uint64_t stream);

/* Draws a gap: floor of an exponential with mean `interval`. Sets interval and armed. At most 2^62. */
uint64_t pl_sampler_draw(struct pl_sampler *sampler, uint64_t interval);

/*
 * The countdown has run out inside an allocation of this charge; `left`, less than the charge, was left of it. Returns
 * the allocation's weight, or 0 if it is not a sample, and sets *countdown to the next countdown. `interval` is the T
 * now in force, for the next gap.
 */
double pl_sampler_meet(struct pl_sampler *sampler, uint64_t charge, uint64_t left, uint64_t interval,
                       uint64_t *countdown);

/* The same, if no allocation after this one is to be sampled: the next countdown is not a gap. */
double pl_sampler_end(struct pl_sampler *sampler, uint64_t charge, uint64_t left);

/* As pl_sampler_meet(), but gaps are counted down in one part, so that `left` does not matter. */
double pl_sampler_visit(struct pl_sampler *sampler, uint64_t charge, uint64_t interval, uint64_t *countdown);

/* A countdown that is not a gap: the next visit comes after `charge`, and is not a sample by itself. */
uint64_t pl_sampler_sleep(struct pl_sampler *sampler, uint64_t charge);

/* 1 / (1 - exp(-charge / interval)); at least 1. */
double pl_sampler_weight(uint64_t charge, uint64_t interval);

#endif
