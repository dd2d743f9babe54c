/* SPDX-License-Identifier: MIT */
/*
 * test_auto.c - each site is right by itself while T jumps by orders of magnitude.
 *
 * Totals prove nothing here: code that weighs a sample with the wrong T, or loses the gap that had begun before exact
 * mode, moves figures from one phase to another. So every figure is that of a site, most sites belong to one phase
 * only, and T goes up and down from phase to phase. In the first half an outsider sets T, in the second half the
 * controller itself, whose decisions depend on the very samples that are weighed.
 *
 * Tolerances: the mean error over the runs is within 4 of its standard errors, which new seeds would exceed once in
 * 16,000 checks. At least LEAST percent of the intervals contain the true value. For a site without a sample the unseen
 * amount is added (pl_estimate_unsampled), as everywhere in these tests: a site that was only counted shows its counts.
 *
 * PLIMSOLL_TEST_VERBOSE prints every figure.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "core/budget.h"
#include "format/settings.h"
#include "simulation.h"

#define RUNS 2000u
#define CONTROLLER_RUNS 1000u
#define BIAS_LIMIT 4.0
#define LEAST 92.5 /* 95 minus 3.5 standard errors of a share in 1,000 runs */
#define THREADS 2u

static const char *const metric_names[METRICS] = {"calls", "bytes", "live blocks", "live bytes"};

static uint64_t two_hundred_bytes(uint64_t i)
{
    return (void) i, 200;
}

static uint64_t four_kibibytes(uint64_t i)
{
    return (void) i, 4096;
}

/* ---- sites ---- */

struct site {
    const char *name;
    unsigned thread;
    uint64_t blocks;   /* allocated so far, in this run */
    uint64_t coarsest; /* the largest T while it allocated, or of a gap that reached it */
    struct row row;
    double samples, counted; /* over all runs */
    struct tally tally[METRICS];
};

static void site_allocate(struct site *site, struct thread *thread, const struct workload *w, uint64_t n, uint64_t T)
{
    if (thread->sampler.armed && thread->sampler.interval > site->coarsest)
        site->coarsest = thread->sampler.interval;
    if (T > site->coarsest)
        site->coarsest = T;
    thread_allocate(thread, w, site->blocks, n, T, &site->row);
    site->blocks += n;
}

static void add_what_may_hide(const struct site *site, struct pl_estimate metric[METRICS])
{
    struct pl_estimate hidden[PL_METRIC_COUNT];
    pl_estimate_unsampled(site->coarsest, PL_CALL_CHARGE, hidden);
    for (unsigned m = 0; m < METRICS; m++)
        metric[m].high += hidden[m].high;
}

/* Judges the site at the end of a run, and resets it for the next run. */
static void site_judge(struct site *site, const struct workload *w)
{
    double truth[METRICS];
    struct pl_estimate metric[METRICS];
    workload_truth(w, 0, site->blocks, truth);
    row_estimate(&site->row, site->coarsest, metric);
    if (site->row.allocated.samples == 0 && site->row.counted[PL_METRIC_ALLOC_OBJECTS] > 0 && site->coarsest)
        add_what_may_hide(site, metric);
    for (unsigned m = 0; m < METRICS; m++)
        tally_add(&site->tally[m], &metric[m], truth[m], 0, site->row.allocated.samples > 0);
    site->samples += (double) site->row.allocated.samples;
    site->counted += site->row.counted[PL_METRIC_ALLOC_OBJECTS];
    site->row = (struct row){0};
    site->blocks = site->coarsest = 0;
}

static bool site_is_right(const struct site *site)
{
    bool good = true;
    for (unsigned m = 0; m < METRICS; m++) {
        const struct tally *t = &site->tally[m];
        double covered = 100 * t->covered / t->runs;
        bool right = fabs(tally_bias(t)) <= BIAS_LIMIT, held = covered >= LEAST;
        good &= right && held;
        if (!right || !held || getenv("PLIMSOLL_TEST_VERBOSE"))
            print_error("%s, %s: %+.2f%%, %+.2f standard errors; %.1f%% covered; %.1f samples, %.0f counted of %.0f\n",
                        site->name, metric_names[m], 100 * t->error_sum / t->truth_sum, tally_bias(t), covered,
                        site->samples / t->runs, site->counted / t->runs, t->truth_sum / t->runs);
    }
    return good;
}

static void assert_sites(const struct site *site, unsigned sites)
{
    bool good = true;
    for (unsigned i = 0; i < sites; i++)
        good &= site_is_right(&site[i]);
    assert_true(good);
}

/* ---- an outsider sets T ---- */

/* A phase: T, and how many blocks the site of this phase allocates. Another site allocates in all phases. */
struct phase {
    uint64_t T;
    uint64_t blocks;
};
static const struct phase phases[] = {
    {EXACT, 30000},    {8 << 20, 400000},  {16 << 10, 30000}, {EXACT, 30000},    {1 << 20, 100000},
    {64 << 10, 40000}, {32 << 20, 900000}, {EXACT, 60000},    {4 << 20, 300000}, {16 << 10, 30000},
};
#define PHASES (sizeof(phases) / sizeof(phases[0]))

static void sites_are_right_while_an_outsider_sets_the_interval(void **state)
{
    (void) state;
    static struct site site[PHASES + 1];
    static char name[PHASES][64];
    struct workload *w = workload_make(1, four_kibibytes);
    for (unsigned p = 0; p < PHASES; p++) {
        snprintf(name[p], sizeof name[p], "phase %u, T = %llu", p, (unsigned long long) phases[p].T);
        site[p].name = name[p];
    }
    site[PHASES].name = "throughout";
    for (unsigned run = 0; run < RUNS; run++) {
        struct thread thread;
        thread_start(&thread, run, 1);
        for (unsigned p = 0; p < PHASES; p++) /* alternating, so that neither is always first */
            for (unsigned part = 0; part < 10; part++) {
                site_allocate(&site[p], &thread, w, phases[p].blocks / 10, phases[p].T);
                site_allocate(&site[PHASES], &thread, w, phases[p].blocks / 10, phases[p].T);
            }
        for (unsigned i = 0; i <= PHASES; i++)
            site_judge(&site[i], w);
    }
    assert_sites(site, PHASES + 1);
    workload_free(w);
}

/* ---- the controller sets T ---- */

/* What a site does between two times. */
struct part {
    unsigned site;
    double from_s, to_s;
    double calls_per_s;
};

enum { EARLY, STORM, CALM, AGAIN, SECOND_STORM, THROUGHOUT, SITES };
static const struct part parts[] = {
    {EARLY, 0, 1, 1e6},
    {STORM, 1, 2, 3e7},
    {CALM, 2, 30, 3e3},
    {AGAIN, 30, 32, 1e6},
    {SECOND_STORM, 32, 32.5, 1e8},
    {THROUGHOUT, 0, 33, 2e4},
};
#define PARTS (sizeof(parts) / sizeof(parts[0]))
#define END_S 33.0
#define SLICE_S 0.004

#define OVERHEAD_PPM 20000u
#define CREDIT_NS 20000000u
#define CALL_NS 100.0
#define SAMPLE_NS 3000.0

struct world {
    struct thread thread[THREADS];
    struct pl_budget budget;
    struct pl_budget_reading now;
    double own_ns, spent_ns;
    unsigned left, returned;
    uint64_t coarsest, finest;
};

/* At the end of every slice with a visit. */
static void look(struct world *world)
{
    bool exact = world->budget.exact;
    world->now.cpu_ns = (uint64_t) (world->own_ns + world->spent_ns);
    world->now.spent_ns = (uint64_t) world->spent_ns;
    pl_budget_decide(&world->budget, &world->now);
    world->left += exact && !world->budget.exact;
    world->returned += !exact && world->budget.exact;
    if (world->budget.exact)
        return;
    if (world->budget.interval_bytes > world->coarsest)
        world->coarsest = world->budget.interval_bytes;
    if (world->budget.interval_bytes < world->finest)
        world->finest = world->budget.interval_bytes;
}

/* True if the cold path was visited. */
static bool work(struct world *world, struct site *site, const struct workload *w, uint64_t n)
{
    double counted = site->row.counted[PL_METRIC_ALLOC_OBJECTS];
    uint64_t samples = site->row.allocated.samples;
    struct thread *thread = &world->thread[site->thread];
    uint64_t T = world->budget.exact ? EXACT : world->budget.interval_bytes, visits = thread->visits;
    site_allocate(site, thread, w, n, T);
    counted = site->row.counted[PL_METRIC_ALLOC_OBJECTS] - counted;
    samples = site->row.allocated.samples - samples;
    world->now.calls += n;
    world->now.charge += n * (w->size[0] + PL_CALL_CHARGE);
    world->now.samples += samples;
    world->now.sampling_ns += (uint64_t) ((double) samples * SAMPLE_NS);
    world->spent_ns += counted * CALL_NS + (double) samples * SAMPLE_NS;
    return counted > 0 || thread->visits > visits;
}

static void run_program(struct world *world, struct site *site, const struct workload *w, uint64_t seed)
{
    *world = (struct world){.finest = UINT64_MAX};
    for (unsigned t = 0; t < THREADS; t++)
        thread_start(&world->thread[t], seed, t);
    pl_budget_start(&world->budget, OVERHEAD_PPM, CREDIT_NS);
    for (double s = 0; s < END_S; s += SLICE_S) {
        bool visited = false;
        world->own_ns += SLICE_S * 1e9;
        for (unsigned p = 0; p < PARTS; p++)
            if (s >= parts[p].from_s && s < parts[p].to_s)
                visited |= work(world, &site[parts[p].site], w, (uint64_t) (parts[p].calls_per_s * SLICE_S));
        if (visited)
            look(world);
    }
}

static void sites_are_right_while_the_controller_sets_the_interval(void **state)
{
    (void) state;
    static struct site site[SITES] = {
        [EARLY] = {.name = "early", .thread = 0},
        [STORM] = {.name = "storm", .thread = 0},
        [CALM] = {.name = "calm", .thread = 0},
        [AGAIN] = {.name = "again", .thread = 0},
        [SECOND_STORM] = {.name = "second", .thread = 0},
        [THROUGHOUT] = {.name = "throughout", .thread = 1}, /* three heavy samples and thirty thousand light ones */
    };
    struct workload *w = workload_make(1, two_hundred_bytes);
    double left = 0, returned = 0, widest = 0;
    for (unsigned run = 0; run < CONTROLLER_RUNS; run++) {
        struct world world;
        run_program(&world, site, w, run);
        for (unsigned i = 0; i < SITES; i++)
            site_judge(&site[i], w);
        left += world.left;
        returned += world.returned;
        widest = fmax(widest, (double) world.coarsest / (double) world.finest);
    }
    if (getenv("PLIMSOLL_TEST_VERBOSE"))
        print_error("left %.2f, returned %.2f times a run; T moved by %.0f\n", left / CONTROLLER_RUNS,
                    returned / CONTROLLER_RUNS, widest);
    assert_sites(site, SITES);
    assert_true(left >= 2 * CONTROLLER_RUNS * 0.9 &&
                returned >= CONTROLLER_RUNS * 0.9); /* the mode did change in the runs */
    assert_true(widest > 100);
    workload_free(w);
}

/* ---- few heavy samples among many light ones ---- */

#define COARSE (8ull << 20)
#define FINE (16ull << 10)
#define SEEN_SURELY 4.0 /* expected heavy samples: runs without one are then too rare to matter, exp(-4) is 2% */

/* A site that allocates while T is coarse, and then while it is fine. Returns whether it has a heavy sample. */
static bool run_both(const struct workload *w, uint64_t coarse, uint64_t fine, uint64_t seed, struct row *row)
{
    struct thread thread;
    thread_start(&thread, seed, 1);
    thread_allocate(&thread, w, 0, coarse, COARSE, row);
    bool heavy = row->allocated.samples > 0;
    thread_start(&thread, seed, 2);
    thread_allocate(&thread, w, coarse, fine, FINE, row);
    return heavy;
}

static bool is_covered(double covered, double runs, double least, const char *which, unsigned metric)
{
    double share = 100 * covered / runs;
    if (share < least || getenv("PLIMSOLL_TEST_VERBOSE"))
        print_error("%s, %s: %.1f%% of %.0f covered\n", which, metric_names[metric], share, runs);
    return share >= least;
}

/* A run without a heavy sample cannot know that it missed one. So if few are expected, the claim is for runs that have
 * one. */
static bool are_covered(const struct tally tally[METRICS], double expected)
{
    char which[64];
    bool good = true;
    for (unsigned m = 0; m < METRICS; m++) {
        snprintf(which, sizeof which, "%.0f heavy samples expected, one seen", expected);
        good &= is_covered(tally[m].seen_covered, tally[m].seen, LEAST, which, m);
        snprintf(which, sizeof which, "%.0f heavy samples expected, all runs", expected);
        good &= is_covered(tally[m].covered, tally[m].runs, expected >= SEEN_SURELY ? LEAST : 0, which, m);
    }
    return good;
}

/* The light samples determine most of the value and nothing of its error. */
static void a_few_heavy_samples_among_many_light_ones_determine_the_interval(void **state)
{
    (void) state;
    const double expected[] = {1, 2, 3, 4, 10, 30};
    struct workload *w = workload_make(1, two_hundred_bytes);
    uint64_t fine = workload_length(w, 1500, FINE);
    bool good = true;
    for (unsigned e = 0; e < sizeof expected / sizeof *expected; e++) {
        struct tally tally[METRICS] = {{0}};
        uint64_t shortest = workload_length(w, expected[e], COARSE);
        for (unsigned run = 0; run < RUNS; run++) {
            uint64_t coarse = shortest + run * shortest / 4 / RUNS;
            struct row row = {0};
            double truth[METRICS];
            struct pl_estimate metric[METRICS];
            bool heavy = run_both(w, coarse, fine, run, &row);
            workload_truth(w, 0, coarse + fine, truth);
            row_estimate(&row, COARSE, metric);
            for (unsigned m = 0; m < METRICS; m++)
                tally_add(&tally[m], &metric[m], truth[m], expected[e], heavy);
        }
        good &= are_covered(tally, expected[e]);
    }
    assert_true(good);
    workload_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sites_are_right_while_an_outsider_sets_the_interval),
        cmocka_unit_test(sites_are_right_while_the_controller_sets_the_interval),
        cmocka_unit_test(a_few_heavy_samples_among_many_light_ones_determine_the_interval),
    };
    return cmocka_run_group_tests_name("auto", tests, NULL, NULL);
}
