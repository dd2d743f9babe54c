/* SPDX-License-Identifier: MIT */
/*
 * scenarios.c - see scenarios.h.
 *
 * Sizes are quantiles of a distribution, in a fixed order that looks random. So the truth is the same in every run, and
 * only the sampler is random.
 */
#include <math.h>

#include "format/settings.h"
#include "scenarios.h"

#define MIXED 256u /* sizes in a mixed workload: a power of two */

/* The i-th of MIXED numbers evenly spread over (0, 1), in scrambled order. 97 is odd, so each occurs once. */
static double quantile(uint64_t i)
{
    return ((double) (i * 97 % MIXED) + 0.5) / MIXED;
}

/* The standard normal quantile by bisection of erfc: slow and obvious, but called only a few hundred times. */
static double normal_quantile(double p)
{
    double low = -8, high = 8;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (0.5 * erfc(-middle / sqrt(2)) < p)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static uint64_t sixteen_bytes(uint64_t i)
{
    return (void) i, 16;
}

static uint64_t quarter_mebibyte(uint64_t i)
{
    return (void) i, 256 << 10;
}

static uint64_t one_mebibyte(uint64_t i)
{
    return (void) i, 1 << 20;
}

/* Strings and small buffers: half below 64 bytes, one in forty above 670, the largest 2 KiB. */
static uint64_t lognormal(uint64_t i)
{
    return (uint64_t) (64 * exp(1.2 * normal_quantile(quantile(i))));
}

static uint64_t up_to_1k(uint64_t i)
{
    return (uint64_t) (quantile(i) * 1024);
}

/* A ratio of `factor` between the largest and the smallest size, with every doubling equally frequent. */
static uint64_t log_uniform(uint64_t i, double factor)
{
    return (uint64_t) (16 * pow(factor, quantile(i)));
}

static uint64_t from_16_to_4k(uint64_t i)
{
    return log_uniform(i, 256);
}

static uint64_t from_16_to_64k(uint64_t i)
{
    return log_uniform(i, 4096);
}

static uint64_t half_16_half_4k(uint64_t i)
{
    return quantile(i) < 0.5 ? 16 : 4096;
}

#define T USUAL

const struct scenario scenarios[] = {
    {"16 bytes", 1, sixteen_bytes, T, 0, 5, 1000, false},
    {"mixed, median 64", MIXED, lognormal, T, 0, 5, 1000, false},
    {"mixed, 0 to 1,023", MIXED, up_to_1k, T, 0, 5, 300, false},
    {"256 KiB", 1, quarter_mebibyte, T, 0, 5, 300, false},
    {"1 MiB", 1, one_mebibyte, T, 0, 5, 300, false},
    {"16 bytes, 10 a thread", 1, sixteen_bytes, T / 64, 10, 5, 100, false},
    {"mixed, 10 a thread", MIXED, lognormal, T / 16, 10, 5, 300, false},
    {"256 KiB, 10 a thread", 1, quarter_mebibyte, T, 10, 5, 300, false},
    {"16 to 4,096", MIXED, from_16_to_4k, T, 0, 5, 300, true},
    {"16 to 65,536", MIXED, from_16_to_64k, T, 0, 5, 300, true},
    {"half 16, half 4,096", MIXED, half_16_half_4k, T, 0, 5, 300, true},
};
const unsigned scenario_count = sizeof(scenarios) / sizeof(scenarios[0]);

/* Threads begin and end, each with its own random stream and a countdown of 0. */
static void run_threads(const struct scenario *s, const struct workload *w, uint64_t n, uint64_t seed, struct row *row)
{
    uint64_t each = s->per_thread ? s->per_thread : n;
    for (uint64_t first = 0; first < n; first += each) {
        struct thread thread;
        thread_start(&thread, seed, 1 + first / each);
        thread_allocate(&thread, w, first, n - first < each ? n - first : each, s->interval, row);
    }
}

static double share_of(unsigned metric)
{
    return metric == PL_METRIC_INUSE_OBJECTS || metric == PL_METRIC_INUSE_SPACE ? 1.0 / LIVE_EVERY : 1.0;
}

void scenario_run(const struct scenario *s, double samples, unsigned runs, struct tally tally[METRICS])
{
    struct workload *w = workload_make(s->sizes, s->size_of);
    uint64_t shortest = workload_length(w, samples, s->interval);
    uint64_t longest = workload_length(w, samples * 1.25, s->interval);
    uint64_t seeds = (uint64_t) (s - scenarios) << 40 | (uint64_t) samples << 20; /* no two runs share random numbers */
    for (unsigned run = 0; run < runs; run++) {
        uint64_t n = shortest + run * (longest - shortest) / runs;
        double truth[METRICS], expected = workload_expected(w, n, s->interval);
        struct pl_estimate metric[METRICS];
        struct row row = {0};
        run_threads(s, w, n, seeds + run, &row);
        row_estimate(&row, s->interval, metric);
        workload_truth(w, 0, n, truth);
        for (unsigned m = 0; m < METRICS; m++)
            tally_add(&tally[m], &metric[m], truth[m], expected * share_of(m), row.allocated.samples > 0);
    }
    workload_free(w);
}
