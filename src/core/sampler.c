/* SPDX-License-Identifier: MIT */
/*
 * sampler.c - draws exponential gaps and computes the weights of samples.
 *
 * The hot path subtracts charges from a countdown and comes here on borrow. Because a gap is a whole number g =
 * floor(x) and charges are whole numbers, "g < charge" is the same event as "x < charge": rounding causes no bias at
 * any T.
 *
 * Invariant: between two calls, either the countdown and `rest` are a gap that was drawn with mean `interval` (armed),
 * or the countdown is only a delay (not armed). Only if a gap runs out is the allocation a sample.
 *
 * If T has changed by the end of a part, the rest of the gap is discarded and a new gap drawn. The new gap begins after
 * the allocation in which the part ends, never inside it: this allocation has already been tested against the old gap,
 * and testing it again would give it two chances.
 *
 * One thread owns a sampler; no other thread reads it.
 */
#include "core/maths.h"
#include "core/sampler.h"

#define GAP_MAX (1ull << 62)
#define UNIT_53 0x1p-53

static uint64_t rotate(uint64_t word, unsigned bits)
{
    return word << bits | word >> (64 - bits);
}

/* A bijection that mixes all bits (the finaliser of SplitMix64): similar inputs give very different outputs. */
static uint64_t scatter(uint64_t word)
{
    word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9;
    word = (word ^ word >> 27) * 0x94d049bb133111eb;
    return word ^ word >> 31;
}

/* xoroshiro128++: period 2^128 - 1, all 64 bits good. */
static uint64_t next_random(uint64_t state[2])
{
    uint64_t a = state[0];
    uint64_t b = state[1];
    uint64_t result = rotate(a + b, 17) + a;
    b ^= a;
    state[0] = rotate(a, 49) ^ b ^ b << 21;
    state[1] = rotate(b, 28);
    return result;
}

/* The state is never the forbidden (0, 0): scatter() is a bijection and its two arguments differ. */
void pl_sampler_seed(struct pl_sampler *sampler, uint64_t seed, uint64_t stream)
{
    const uint64_t golden = 0x9e3779b97f4a7c15;
    uint64_t start = scatter(scatter(seed + golden) + stream);
    sampler->state[0] = scatter(start + golden);
    sampler->state[1] = scatter(start + 2 * golden);
    sampler->interval = sampler->rest = 0;
    sampler->armed = false;
}

/* u is one of 2^53 equidistant values in (0, 1], so -log u lies in [0, 36.8]: never infinite, never below 0. */
uint64_t pl_sampler_draw(struct pl_sampler *sampler, uint64_t interval)
{
    double u = ((double) (int64_t) (next_random(sampler->state) >> 11) + 1.0) * UNIT_53;
    double gap = -pl_maths_log(u) * (double) interval;
    sampler->interval = interval;
    sampler->rest = 0;
    sampler->armed = true;
    return gap < (double) GAP_MAX ? (uint64_t) (int64_t) gap : GAP_MAX;
}

double pl_sampler_weight(uint64_t charge, uint64_t interval)
{
    return 1.0 / pl_maths_one_minus_exp_neg((double) charge / (double) interval);
}

static uint64_t begin_part(struct pl_sampler *sampler, uint64_t gap)
{
    uint64_t part = sampler->interval / PL_SAMPLER_PARTS;
    if (part < PL_SAMPLER_PART_LEAST)
        part = PL_SAMPLER_PART_LEAST;
    sampler->rest = gap > part ? gap - part : 0;
    return gap - sampler->rest;
}

double pl_sampler_meet(struct pl_sampler *sampler, uint64_t charge, uint64_t left, uint64_t interval,
                       uint64_t *countdown)
{
    uint64_t gap = sampler->armed ? left + sampler->rest : pl_sampler_draw(sampler, interval);
    double weight = gap < charge ? pl_sampler_weight(charge, sampler->interval) : 0.0;
    if (gap < charge || sampler->interval != interval)
        gap = pl_sampler_draw(sampler, interval);
    else
        gap -= charge;
    *countdown = begin_part(sampler, gap);
    return weight;
}

double pl_sampler_end(struct pl_sampler *sampler, uint64_t charge, uint64_t left)
{
    bool hit = sampler->armed && left + sampler->rest < charge;
    sampler->armed = false;
    return hit ? pl_sampler_weight(charge, sampler->interval) : 0.0;
}

double pl_sampler_visit(struct pl_sampler *sampler, uint64_t charge, uint64_t interval, uint64_t *countdown)
{
    double weight = pl_sampler_meet(sampler, charge, 0, interval, countdown);
    *countdown += sampler->rest;
    sampler->rest = 0;
    return weight;
}

uint64_t pl_sampler_sleep(struct pl_sampler *sampler, uint64_t charge)
{
    sampler->armed = false;
    return charge;
}
