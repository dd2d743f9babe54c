/* SPDX-License-Identifier: MIT */
/*
 * pairs.c - see pairs.h.
 */
#include "pairs.h"

#include <math.h>
#include <string.h>

#include "analysis/diff/significance.h"
#include "format/settings.h"
#include "reader/figures.h"

const double pairs_level[PAIRS_LEVELS] = {0.05, 0.01, 0.001, 0.0001};

static unsigned bucket_of(double size)
{
    unsigned bucket = 0;
    while (bucket + 1 < PL_SIZE_BUCKETS && size >= pl_size_bucket_from(bucket + 1))
        bucket++;
    return bucket;
}

/* For counted blocks only the proportions matter, and one period has them. */
static void count_sizes(const struct workload *w, double sizes[PL_SIZE_BUCKETS])
{
    for (uint64_t i = 0; i < w->period; i++)
        sizes[bucket_of((double) w->size[i])]++;
}

/* The simulation does not keep sizes. It runs in pieces so small that hardly any has two samples, so the growth of the
 * sums in a piece shows the size. A piece with two samples gives their mean. */
#define PIECES 16 /* per interval */
static void allocate(struct thread *thread, const struct workload *w, uint64_t first, uint64_t n, uint64_t interval,
                     struct row *row, double sizes[PL_SIZE_BUCKETS])
{
    uint64_t charge = w->charge[w->period] / w->period, piece = interval / PIECES / charge + 1;
    for (uint64_t end = first + n; first < end; first += piece) {
        struct pl_sums was = row->allocated;
        thread_allocate(thread, w, first, end - first < piece ? end - first : piece, interval, row);
        double objects = row->allocated.objects - was.objects;
        if (row->allocated.samples > was.samples)
            sizes[bucket_of(round((row->allocated.space - was.space) / objects))] += objects;
    }
}

static struct pl_footing run(const struct scenario *s, const struct workload *w, uint64_t n, uint64_t interval,
                             uint64_t seed)
{
    struct row row = {0};
    double sizes[PL_SIZE_BUCKETS] = {0};
    uint64_t each = s->per_thread ? s->per_thread : n;
    for (uint64_t first = 0; first < n; first += each) {
        struct thread thread;
        thread_start(&thread, seed, 1 + first / each);
        uint64_t now = n - first < each ? n - first : each;
        if (interval == EXACT)
            thread_allocate(&thread, w, first, now, interval, &row);
        else
            allocate(&thread, w, first, now, interval, &row, sizes);
    }
    struct pl_footing footing = {
        .figures =
            {
                .allocated = {row.counted[PL_METRIC_ALLOC_OBJECTS], row.counted[PL_METRIC_ALLOC_SPACE], row.allocated},
                .freed = {row.counted[PL_METRIC_ALLOC_OBJECTS] - row.counted[PL_METRIC_INUSE_OBJECTS],
                          row.counted[PL_METRIC_ALLOC_SPACE] - row.counted[PL_METRIC_INUSE_SPACE], row.freed},
                .skew = row.skew,
            },
        .interval_bytes = (double) interval,
        .call_charge = PL_CALL_CHARGE,
    };
    pl_sums_join(&footing.figures.freed.sampled, &row.remote);
    memcpy(footing.sizes, sizes, sizeof footing.sizes);
    if (interval == EXACT)
        count_sizes(w, footing.sizes);
    return footing;
}

static bool is_seen(const struct pl_footing *footing)
{
    return footing->figures.allocated.sampled.samples > 0 || footing->figures.allocated.exact_objects > 0;
}

static void compare(const struct pl_footing *before, const struct pl_footing *after, struct pairs *out)
{
    if (!is_seen(before) && !is_seen(after))
        return;
    out->seen++;
    for (unsigned m = 0; m < METRICS; m++) {
        struct pl_evidence a = pl_significance_evidence(before, after, m),
                           b = pl_significance_evidence(after, before, m);
        double p = pl_significance_of(&a, &b);
        for (unsigned i = 0; i < PAIRS_LEVELS; i++)
            out->at[m][i] += p <= pairs_level[i];
    }
}

struct pairs pairs_run(const struct scenario *s, uint64_t before, uint64_t after, double samples, double growth,
                       unsigned pairs)
{
    struct pairs out = {0};
    struct workload *w = workload_make(s->sizes, s->size_of);
    uint64_t judged = before == EXACT ? after : before;
    uint64_t shortest = workload_length(w, samples, judged), longest = workload_length(w, samples * 1.25, judged);
    uint64_t seeds = 1ull << 60 | (uint64_t) (s - scenarios) << 40 | (uint64_t) (samples * 16) << 24;
    for (unsigned i = 0; i < pairs; i++) {
        uint64_t n = shortest + i * (longest - shortest) / pairs;
        struct pl_footing a = run(s, w, n, before, seeds + 2 * i);
        struct pl_footing b = run(s, w, (uint64_t) ((double) n * growth), after, seeds + 2 * i + 1);
        compare(&a, &b, &out);
    }
    workload_free(w);
    return out;
}
