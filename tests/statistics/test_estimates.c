/* SPDX-License-Identifier: MIT */
/*
 * test_estimates.c - estimates are unbiased, and their intervals contain the true value as often as promised.
 *
 * For every claim, programs with known behaviour run RUNS times through the real sampler, sums and estimator
 * (simulation.h). Seeds are fixed, so results never change by themselves. Tolerances:
 *
 *   bias       4 standard errors of the mean error over the runs: new seeds would exceed that once in 16,000 checks.
 *   coverage   94 to 96% if 100 or more samples are expected, otherwise 90 to 98%. With 10,000 runs the standard error
 *              of a coverage of 95% is 0.22%, so the narrow band has 4.6 standard errors on each side.
 *
 * Coverage is over all runs. A run without any sample counts as covered if the true value is below the result of
 * pl_estimate_unsampled(), because a reader who knows that there was no sample can state this limit.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "core/records/sums.h"
#include "format/settings.h"
#include "scenarios.h"

#define RUNS 10000u
#define BIAS_LIMIT 4.0
#define MANY 100.0

static const double expected_samples[] = {1, 2, 5, 10, 30, 100, 300, 1000};
#define STEPS (sizeof(expected_samples) / sizeof(expected_samples[0]))

static double percent(double part, double whole)
{
    return 100 * part / whole;
}

static bool is_space(unsigned metric)
{
    return metric == PL_METRIC_ALLOC_SPACE || metric == PL_METRIC_INUSE_SPACE;
}

static void check_bias(const struct tally *t, const char *name, unsigned metric)
{
    if (fabs(tally_bias(t)) <= BIAS_LIMIT)
        return;
    print_error("%s, metric %u: the mean is %+.2f standard errors off\n", name, metric, tally_bias(t));
    fail();
}

/* `from`: with fewer expected samples only too little coverage is a fault. */
static void check_coverage(const struct tally *t, const char *name, unsigned metric, double from)
{
    double expected = t->expected / t->runs, covered = percent(t->covered, t->runs);
    double least = expected >= MANY ? 94 : 90, most = expected >= MANY ? 96 : expected >= from ? 98 : 100;
    if (covered >= least && covered <= most)
        return;
    print_error("%s, metric %u, %.1f expected samples: %.2f%% covered, not %.0f to %.0f\n", name, metric, expected,
                covered, least, most);
    fail();
}

/* The ± that users see covers as well, if there are enough samples. */
static void check_plus_minus(const struct tally *t, const char *name, unsigned metric)
{
    double covered = percent(t->covered_pm, t->runs);
    if (t->expected / t->runs < MANY || (covered >= 94 && covered <= 96))
        return;
    print_error("%s, metric %u: value ± error covers %.2f%%\n", name, metric, covered);
    fail();
}

static void check_tallies(const struct scenario *scenario, const struct tally tally[METRICS])
{
    for (unsigned m = 0; m < METRICS; m++) {
        check_bias(&tally[m], scenario->name, m);
        if (scenario->calls_uncovered && !is_space(m))
            continue;
        check_coverage(&tally[m], scenario->name, m, scenario->from);
        check_plus_minus(&tally[m], scenario->name, m);
    }
}

static void the_estimates_of_the_scenario_are_unbiased_and_covered(void **state)
{
    const struct scenario *scenario = *state;
    for (unsigned i = 0; i < STEPS && expected_samples[i] <= scenario->most; i++) {
        struct tally tally[METRICS] = {{0}};
        scenario_run(scenario, expected_samples[i], RUNS, tally);
        check_tallies(scenario, tally);
    }
}

/* The short cut of the simulation is not part of any claim, so it is tested like code. */
static void skipping_ahead_leaves_the_same_rows_as_counting_down(void **state)
{
    (void) state;
    for (unsigned s = 0; s < scenario_count; s++) {
        struct workload *w = workload_make(scenarios[s].sizes, scenarios[s].size_of);
        struct thread fast, slow;
        struct row fast_row = {0}, slow_row = {0};
        thread_start(&fast, s, 1);
        thread_start(&slow, s, 1);
        for (uint64_t part = 0, first = 0; part < 40; first += 997 * part, part++) {
            thread_allocate(&fast, w, first, 997 * part, scenarios[s].interval, &fast_row);
            thread_allocate_slowly(&slow, w, first, 997 * part, scenarios[s].interval, &slow_row);
        }
        assert_memory_equal(&fast_row, &slow_row, sizeof(fast_row));
        assert_int_equal(fast.countdown, slow.countdown);
        assert_true(fast_row.allocated.samples > 0);
        workload_free(w);
    }
}

/* ---- a changing interval ---- */

static uint64_t four_kibibytes(uint64_t i)
{
    return (void) i, 4096;
}

/*
 * T goes up and down by factors of 32 to half a million, in one thread, with a site per phase. The gap that has begun
 * before T changes belongs to the old T. Code that weighs its sample with the new T gets every total right and every
 * phase wrong.
 *
 * A phase after a coarser one begins with a stretch that is still sampled with the old T, until the thread sees the new
 * one after a part of the gap (sampler.h). If everything after that is exact, only this stretch is uncertain, and
 * mostly it has no sample to show it: there is no claim.
 */
struct phase {
    uint64_t interval;
    uint64_t blocks;
    bool covered;
};
static const struct phase phases[] = {
    {512 << 10, 50400, true}, {16 << 10, 50400, true}, {512 << 10, 50400, true},
    {1, 12600, false},        {64 << 10, 50400, true},
};
#define PHASES (sizeof(phases) / sizeof(phases[0]))

static void run_phases(const struct workload *w, uint64_t seed, struct tally tally[PHASES][METRICS])
{
    struct thread thread;
    uint64_t first = 0;
    thread_start(&thread, seed, 1);
    for (unsigned p = 0; p < PHASES; first += phases[p].blocks, p++) {
        struct row row = {0};
        double truth[METRICS];
        struct pl_estimate metric[METRICS];
        thread_allocate(&thread, w, first, phases[p].blocks, phases[p].interval, &row);
        workload_truth(w, first, phases[p].blocks, truth);
        row_estimate(&row, phases[p].interval, metric);
        for (unsigned m = 0; m < METRICS; m++)
            tally_add(&tally[p][m], &metric[m], truth[m], 1, row.allocated.samples > 0);
    }
}

static void every_phase_of_a_changing_interval_is_right_by_itself(void **state)
{
    (void) state;
    struct tally tally[PHASES][METRICS] = {{{0}}};
    struct workload *w = workload_make(1, four_kibibytes);
    for (unsigned run = 0; run < RUNS / 2; run++)
        run_phases(w, run, tally);
    for (unsigned p = 0; p < PHASES; p++)
        for (unsigned m = 0; m < METRICS; m++) {
            check_bias(&tally[p][m], "phases", m);
            if (phases[p].covered)
                check_coverage(&tally[p][m], "phases", m, 1);
        }
    workload_free(w);
}

/* A row as it is when every allocation is sampled, of blocks 0 .. blocks - 1 of a period of six. */
static struct row certain_row(double blocks, double size)
{
    return (struct row){.allocated = {blocks, blocks * size, 0, 0, (uint64_t) blocks},
                        .freed = {blocks / 3, blocks / 3 * size, 0, 0, (uint64_t) blocks / 3},
                        .remote = {blocks / 3, blocks / 3 * size, 0, 0, (uint64_t) blocks / 3}};
}

/*
 * One site, exact for its first blocks and sampled afterwards: only the rest is uncertain, and V and S of the whole
 * site must not hide that. (Without any sample in the second part the row looks exact. From 10 expected samples on, 3.3
 * of them live, that is rare enough.)
 */
static void counted_blocks_do_not_narrow_the_interval_of_the_rest(void **state)
{
    (void) state;
    const double samples[] = {10, 30, 300};
    const uint64_t certain = 100002;
    struct workload *w = workload_make(1, four_kibibytes);
    for (unsigned s = 0; s < sizeof(samples) / sizeof(samples[0]); s++) {
        struct tally tally[METRICS] = {{0}};
        uint64_t shortest = workload_length(w, samples[s], USUAL);
        for (unsigned run = 0; run < RUNS; run++) {
            uint64_t n = shortest + run * shortest / 4 / RUNS;
            double truth[METRICS];
            struct pl_estimate metric[METRICS];
            struct row row = certain_row((double) certain, 4096);
            struct thread thread;
            thread_start(&thread, run, s);
            thread_allocate(&thread, w, certain, n, USUAL, &row);
            workload_truth(w, 0, certain + n, truth);
            row_estimate(&row, USUAL, metric);
            for (unsigned m = 0; m < METRICS; m++)
                tally_add(&tally[m], &metric[m], truth[m], fmin(samples[s], 99), true);
        }
        for (unsigned m = 0; m < METRICS; m++) {
            check_bias(&tally[m], "exact, then sampled", m);
            check_coverage(&tally[m], "exact, then sampled", m, 1);
        }
    }
    workload_free(w);
}

/* ---- single figures ---- */

static struct pl_sums sums_of(unsigned samples, double size, double weight)
{
    struct pl_sums sums = {0};
    for (unsigned i = 0; i < samples; i++)
        pl_sums_add(&sums, size, weight);
    return sums;
}

static void estimate_sums(const struct pl_sums *allocated, const struct pl_sums *freed,
                          struct pl_estimate metric[PL_METRIC_COUNT])
{
    pl_estimate_figures(&(struct pl_figures){.allocated.sampled = *allocated, .freed.sampled = *freed}, metric);
}

static void assert_sane(const struct pl_estimate *e)
{
    assert_true(isfinite(e->value) && isfinite(e->error) && isfinite(e->low) && isfinite(e->high));
    assert_true(0 <= e->low && e->low <= e->value && e->value <= e->high && e->error >= 0);
}

static void sampling_every_allocation_leaves_nothing_to_estimate(void **state)
{
    (void) state;
    struct workload *w = workload_make(1, four_kibibytes);
    struct thread thread;
    struct row row = {0};
    double truth[METRICS];
    struct pl_estimate metric[PL_METRIC_COUNT];
    thread_start(&thread, 1, 1);
    thread_allocate(&thread, w, 0, 1000, PL_SAMPLE_MIN, &row);
    row_estimate(&row, PL_SAMPLE_MIN, metric);
    workload_truth(w, 0, 1000, truth);
    for (unsigned m = 0; m < METRICS; m++) {
        assert_true(metric[m].value == truth[m] && metric[m].error == 0);
        assert_true(metric[m].low == truth[m] && metric[m].high == truth[m]);
    }
    workload_free(w);
}

static void it_makes_no_difference_which_thread_frees(void **state)
{
    (void) state;
    struct row own = {.allocated = sums_of(9, 16, 6554), .freed = sums_of(4, 16, 6554)};
    struct row remote = {.allocated = sums_of(9, 16, 6554), .remote = sums_of(4, 16, 6554)};
    struct row both = {.allocated = sums_of(9, 16, 6554), .freed = sums_of(1, 16, 6554)};
    both.remote = sums_of(3, 16, 6554);
    struct pl_estimate a[METRICS], b[METRICS], c[METRICS];
    row_estimate(&own, USUAL, a);
    row_estimate(&remote, USUAL, b);
    row_estimate(&both, USUAL, c);
    assert_memory_equal(a, b, sizeof(a));
    assert_memory_equal(a, c, sizeof(a));
    assert_true(a[PL_METRIC_INUSE_OBJECTS].value == 5 * 6554.0);
}

static void when_every_sample_is_freed_the_estimate_is_zero_with_an_upper_limit(void **state)
{
    (void) state;
    struct pl_sums sums = sums_of(100, 16, 6554);
    struct pl_estimate metric[PL_METRIC_COUNT];
    estimate_sums(&sums, &sums, metric);
    const struct pl_estimate *live = &metric[PL_METRIC_INUSE_OBJECTS];
    assert_true(live->value == 0 && live->low == 0);
    assert_true(live->high > 2.9 * 6554 && live->high < 3.1 * 6554); /* three times the weight: the rule of three */
    assert_true(live->error == live->high);
}

/* Sums of weights are rounded, and live figures are differences of large sums. */
static void one_live_sample_survives_the_rounding_of_ten_million_freed_ones(void **state)
{
    (void) state;
    struct pl_sums allocated = {0}, freed = {0};
    struct pl_estimate metric[PL_METRIC_COUNT], alone[PL_METRIC_COUNT];
    double weight = pl_sampler_weight(80, USUAL);
    pl_sums_add(&allocated, 16, weight);
    estimate_sums(&allocated, &freed, alone);
    for (unsigned i = 0; i < 10000000; i++) {
        double size = i % 1000;
        pl_sums_add(&allocated, size, pl_sampler_weight((uint64_t) size + 64, 1 << 16));
        pl_sums_add(&freed, size, pl_sampler_weight((uint64_t) size + 64, 1 << 16));
    }
    estimate_sums(&allocated, &freed, metric);
    for (unsigned m = PL_METRIC_INUSE_OBJECTS; m <= PL_METRIC_INUSE_SPACE; m++) {
        assert_true(fabs(metric[m].value / alone[m].value - 1) < 1e-3);
        assert_true(fabs(metric[m].high / alone[m].high - 1) < 1e-2);
    }
}

/* P(count <= n) of a Poisson count, without half of the last term. */
static double mid_p_below(unsigned n, double mean)
{
    double term = exp(-mean), sum = 0;
    for (unsigned i = 0; i < n; i++) {
        sum += term;
        term *= mean / (i + 1);
    }
    return sum + term / 2;
}

/* Of a count that is known to be at least 1: nobody looks at a site that has no sample. */
static double mid_p_lower_limit(unsigned n)
{
    double low = 0, high = n;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (1 - mid_p_below(n, middle) < 0.025 * -expm1(-middle))
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Compares the closed form with the equation that it solves. */
static void the_lower_end_is_that_of_a_poisson_count_of_at_least_one(void **state)
{
    (void) state;
    const double weight = 1e6; /* so rare that the count is Poisson */
    for (unsigned n = 1; n <= 500; n++) {
        struct pl_estimate e = pl_estimate_of(n * weight, n * weight * (weight - 1), n);
        assert_true(fabs(e.low / weight - mid_p_lower_limit(n)) < 0.04);
        assert_sane(&e);
    }
}

/* For large blocks the lower end would be less than the blocks that were sampled. */
static void there_are_never_fewer_calls_than_samples(void **state)
{
    (void) state;
    for (unsigned n = 1; n < 100; n++) {
        struct pl_sums none = {0}, sums = sums_of(n, 1 << 20, pl_sampler_weight((1 << 20) + 64, USUAL));
        struct pl_estimate metric[PL_METRIC_COUNT];
        estimate_sums(&sums, &none, metric);
        assert_true(metric[PL_METRIC_ALLOC_OBJECTS].low >= n);
        assert_true(metric[PL_METRIC_INUSE_OBJECTS].low >= n);
    }
}

static void the_same_relative_error_needs_the_same_number_of_samples(void **state)
{
    (void) state;
    struct pl_sums none = {0}, few = sums_of(25, 16, 6554), many = sums_of(100, 16, 6554);
    struct pl_estimate metric[PL_METRIC_COUNT], more[PL_METRIC_COUNT];
    estimate_sums(&few, &none, metric);
    estimate_sums(&many, &none, more);
    double ratio = (metric[0].error / metric[0].value) / (more[0].error / more[0].value);
    assert_true(ratio > 1.95 && ratio < 2.2); /* four times the samples: half the error, and slightly less asymmetry */
    assert_true(fabs(more[0].error / more[0].value - 0.2) < 0.01);
}

/* If all samples have the same weight, the skew adds nothing. */
static void with_equal_weights_the_skew_changes_nothing(void **state)
{
    (void) state;
    for (unsigned n = 1; n < 1000; n += n) {
        struct pl_figures plain = {.allocated.sampled = sums_of(2 * n, 16, 6554),
                                   .freed.sampled = sums_of(n, 16, 6554)};
        struct pl_figures skewed = plain;
        struct pl_estimate a[PL_METRIC_COUNT], b[PL_METRIC_COUNT];
        for (unsigned i = 0; i < 2 * n; i++)
            pl_sums_add_skew(&skewed.skew, 16, 6554);
        pl_estimate_figures(&plain, a);
        pl_estimate_figures(&skewed, b);
        assert_memory_equal(a, b, METRICS * sizeof(*a));
    }
}

/* A thousand light samples are live. One sample with a thousand times the weight was freed, and live ones of its kind
 * may have been missed: up to three, by the rule of three. */
static void without_a_live_heavy_sample_the_interval_allows_for_missed_ones(void **state)
{
    (void) state;
    struct pl_figures figures = {.allocated.sampled = sums_of(1000, 16, 100), .freed.sampled = sums_of(1, 16, 1e5)};
    struct pl_estimate metric[PL_METRIC_COUNT];
    pl_sums_add(&figures.allocated.sampled, 16, 1e5);
    for (unsigned i = 0; i < 1000; i++)
        pl_sums_add_skew(&figures.skew, 16, 100);
    pl_sums_add_skew(&figures.skew, 16, 1e5);
    pl_estimate_figures(&figures, metric);
    const struct pl_estimate *live = &metric[PL_METRIC_INUSE_OBJECTS];
    assert_true(live->value > 99e3 && live->value < 101e3);
    assert_true(live->low > 90e3); /* many light samples support this */
    assert_true(live->high - live->value > 2.5e5 && live->high - live->value < 3.5e5);
}

static void damaged_sums_still_give_figures(void **state)
{
    (void) state;
    const double bad[] = {0, 1, -1, 1e-300, 1e300, -1e300, NAN, INFINITY, -INFINITY, 0x1p64};
    const unsigned n = sizeof(bad) / sizeof(bad[0]);
    for (unsigned i = 0; i < n * n * n * n * n; i++) {
        struct pl_sums allocated = {bad[i % n], bad[i / n % n], bad[i / n / n % n], bad[i / n / n / n % n], i % 7};
        struct pl_sums freed = {bad[i / n / n / n / n % n], bad[i % n], bad[i / n % n], 0, i % 5};
        struct pl_estimate metric[PL_METRIC_COUNT];
        pl_estimate_figures(&(struct pl_figures){.allocated.sampled = allocated,
                                                 .freed.sampled = freed,
                                                 .skew = {bad[i / n % n], bad[i / n / n % n]}},
                            metric);
        for (unsigned m = 0; m < PL_METRIC_COUNT; m++)
            assert_sane(&metric[m]);
        struct pl_estimate e = pl_estimate_of(bad[i % n], bad[i / n % n], bad[i / n / n % n]);
        assert_sane(&e);
    }
}

#define TESTS_MAX 64
static struct CMUnitTest tests[TESTS_MAX] = {
    cmocka_unit_test(skipping_ahead_leaves_the_same_rows_as_counting_down),
    cmocka_unit_test(every_phase_of_a_changing_interval_is_right_by_itself),
    cmocka_unit_test(counted_blocks_do_not_narrow_the_interval_of_the_rest),
    cmocka_unit_test(sampling_every_allocation_leaves_nothing_to_estimate),
    cmocka_unit_test(it_makes_no_difference_which_thread_frees),
    cmocka_unit_test(when_every_sample_is_freed_the_estimate_is_zero_with_an_upper_limit),
    cmocka_unit_test(one_live_sample_survives_the_rounding_of_ten_million_freed_ones),
    cmocka_unit_test(the_lower_end_is_that_of_a_poisson_count_of_at_least_one),
    cmocka_unit_test(there_are_never_fewer_calls_than_samples),
    cmocka_unit_test(the_same_relative_error_needs_the_same_number_of_samples),
    cmocka_unit_test(with_equal_weights_the_skew_changes_nothing),
    cmocka_unit_test(without_a_live_heavy_sample_the_interval_allows_for_missed_ones),
    cmocka_unit_test(damaged_sums_still_give_figures),
};

/* One test per scenario, after the others. */
int main(void)
{
    static char name[TESTS_MAX][80];
    unsigned count = 0;
    while (tests[count].test_func)
        count++;
    for (unsigned i = 0; i < scenario_count; i++, count++) {
        snprintf(name[i], sizeof(name[i]), "%s: unbiased and covered", scenarios[i].name);
        tests[count].name = name[i];
        tests[count].test_func = the_estimates_of_the_scenario_are_unbiased_and_covered;
        tests[count].initial_state = (void *) (uintptr_t) &scenarios[i];
    }
    return _cmocka_run_group_tests("estimates", tests, count, NULL, NULL);
}
