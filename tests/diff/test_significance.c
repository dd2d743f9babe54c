/* SPDX-License-Identifier: MIT */
/*
 * test_significance.c - changes are called significant as often as stated.
 *
 * Claims about sites that did the same twice come from simulated pairs of runs (pairs.h) with fixed seeds. Tolerance:
 * of n pairs a share of `level` may have such a small p, plus four standard errors of that share.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/diff/significance.h"
#include "pairs.h"

#define PAIRS 1500u
#define LEVELS_JUDGED 3u /* 1,500 pairs are too few for 0.01% */

/* A number of samples of small blocks, each of weight and variance 1000. */
static struct pl_evidence sampled(double samples)
{
    return (struct pl_evidence){
        .value = samples * 1000, .variance = samples * 1e6, .seen = samples, .spread = 1000, .step = 1001};
}

static struct pl_evidence counted(double value)
{
    return (struct pl_evidence){.counted = value};
}

static double chance(struct pl_evidence before, struct pl_evidence after)
{
    return pl_significance_of(&before, &after);
}

static void exact_counts_that_differ_have_changed(void **state)
{
    (void) state;
    assert_true(chance(counted(1000), counted(1001)) == 0);
    assert_true(chance(counted(0), counted(1)) == 0);
    assert_true(chance(counted(1000), counted(1000)) == 1);
    assert_true(chance(counted(0), counted(0)) == 1);
}

static void a_site_that_an_exact_run_did_not_have_is_new(void **state)
{
    (void) state;
    assert_true(chance(counted(0), sampled(1)) == 0);
    assert_true(chance(sampled(1), counted(0)) == 0);
    assert_true(chance(counted(1000), sampled(1)) > 0.5);
}

/* The sign test gives 2^(1-n) if all samples are on one side. Ours may be larger, by less than a factor of ten. */
static void few_samples_give_about_the_p_of_the_sign_test(void **state)
{
    (void) state;
    for (int n = 3; n <= 12; n++) {
        double sign_test = ldexp(1, 1 - n), p = chance(sampled(0), sampled(n));
        assert_true(p >= 0.99 * sign_test && p < 10 * sign_test);
    }
}

static void many_samples_give_about_the_p_of_the_normal_distribution(void **state)
{
    (void) state;
    double z = 1000 / sqrt(201000);
    assert_true(fabs(chance(sampled(100000), sampled(101000)) / erfc(z / M_SQRT2) - 1) < 0.02);
}

static void the_order_of_the_two_runs_does_not_matter(void **state)
{
    (void) state;
    assert_true(chance(sampled(3), sampled(9)) == chance(sampled(9), sampled(3)));
    assert_true(fabs(chance(counted(20000), sampled(9)) - chance(sampled(9), counted(20000))) < 1e-12);
}

static void impossible_figures_give_a_valid_p(void **state)
{
    (void) state;
    static const double odd[] = {0, -1, 1e308, INFINITY, -INFINITY, NAN};
    for (size_t a = 0; a < 6; a++)
        for (size_t b = 0; b < 6; b++) {
            struct pl_footing one = {.interval_bytes = odd[a]}, other = {.interval_bytes = odd[b]};
            one.figures.allocated.sampled = (struct pl_sums){odd[a], odd[b], odd[b], odd[a], 3};
            other.figures.allocated.sampled = (struct pl_sums){odd[b], odd[b], odd[a], odd[a], 1};
            one.sizes[3] = odd[b];
            for (int m = 0; m < PL_METRIC_COUNT; m++) {
                double p = chance(pl_significance_evidence(&one, &other, m), pl_significance_evidence(&other, &one, m));
                assert_true(p >= 0 && p <= 1);
            }
        }
}

/* A sample of one of these blocks stands for 1 / (1 - exp(-(size + charge) / interval)) of them. */
static void the_weight_of_a_sample_depends_on_the_charge_in_the_file(void **state)
{
    (void) state;
    static const uint32_t charges[] = {64, 4096};
    for (size_t i = 0; i < 2; i++) {
        struct pl_footing none = {.interval_bytes = 65536, .call_charge = charges[i]}, all = {0};
        all.figures.allocated = (struct pl_amount){.exact_objects = 1000, .exact_space = 48000};
        all.sizes[2] = 1000;
        double excess = 1 / expm1((48 + charges[i]) / 65536.0);
        double spread = pl_significance_evidence(&none, &all, PL_METRIC_ALLOC_OBJECTS).spread;
        assert_true(fabs(spread / excess - 1) < 1e-9);
    }
}

/* Calculated by hand: 0.01 * 4/1, 0.02 * 4/2, 0.03 * 4/3 are all 0.04. */
static void q_is_the_rate_of_false_discoveries(void **state)
{
    (void) state;
    const double p[] = {0.5, 0.01, 0.03, 0.02}, expected[] = {0.5, 0.04, 0.04, 0.04};
    double q[4];
    pl_significance_adjust(p, q, 4);
    for (int i = 0; i < 4; i++)
        assert_true(fabs(q[i] - expected[i]) < 1e-12);
    const double tied[] = {0.2, 0.9, 0.2};
    pl_significance_adjust(tied, q, 3);
    assert_true(fabs(q[0] - 0.3) < 1e-12 && q[2] == q[0] && fabs(q[1] - 0.9) < 1e-12);
    pl_significance_adjust(p, q, 0);
}

static void check_same(const char *how, const struct scenario *s, uint64_t before, uint64_t after, double samples)
{
    struct pairs same = pairs_run(s, before, after, samples, 1, PAIRS);
    for (unsigned m = 0; m < METRICS; m++)
        for (unsigned i = 0; i < LEVELS_JUDGED; i++) {
            double most = pairs_level[i] * same.seen + 4 * sqrt(pairs_level[i] * same.seen);
            if (same.at[m][i] <= most)
                continue;
            print_error("%s, %s, %.0f samples, metric %u: %.0f of %.0f pairs have p <= %g\n", how, s->name, samples, m,
                        same.at[m][i], same.seen, pairs_level[i]);
            fail();
        }
}

static const double expected_samples[] = {1, 3, 10, 30};
#define STEPS (sizeof(expected_samples) / sizeof(expected_samples[0]))

/* For blocks of all sizes, including those for which confidence intervals are wrong. */
static void check_all(const char *how, uint64_t before_times, uint64_t after_times)
{
    for (unsigned i = 0; i < scenario_count; i++)
        for (unsigned step = 0; step < STEPS && !scenarios[i].per_thread; step++)
            check_same(how, &scenarios[i], before_times * scenarios[i].interval, after_times * scenarios[i].interval,
                       expected_samples[step]);
}

static void equal_runs_are_called_changed_no_more_often_than_p(void **state)
{
    (void) state;
    check_all("the same T", 1, 1);
}

static void equal_runs_with_different_intervals_are_called_changed_no_more_often_than_p(void **state)
{
    (void) state;
    check_all("T and 16 T", 1, 16);
}

static void an_exact_and_a_sampled_equal_run_are_called_changed_no_more_often_than_p(void **state)
{
    (void) state;
    check_all("exact and T", 0, 1);
}

static void a_site_that_doubled_is_found(void **state)
{
    (void) state;
    struct pairs grown = pairs_run(&scenarios[0], USUAL, USUAL, 100, 2, 500);
    assert_true(grown.at[PL_METRIC_ALLOC_SPACE][2] > 0.98 * grown.seen);
    grown = pairs_run(&scenarios[0], EXACT, USUAL, 100, 2, 500);
    assert_true(grown.at[PL_METRIC_ALLOC_SPACE][2] > 0.98 * grown.seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_counts_that_differ_have_changed),
        cmocka_unit_test(a_site_that_an_exact_run_did_not_have_is_new),
        cmocka_unit_test(few_samples_give_about_the_p_of_the_sign_test),
        cmocka_unit_test(many_samples_give_about_the_p_of_the_normal_distribution),
        cmocka_unit_test(the_order_of_the_two_runs_does_not_matter),
        cmocka_unit_test(impossible_figures_give_a_valid_p),
        cmocka_unit_test(the_weight_of_a_sample_depends_on_the_charge_in_the_file),
        cmocka_unit_test(q_is_the_rate_of_false_discoveries),
        cmocka_unit_test(equal_runs_are_called_changed_no_more_often_than_p),
        cmocka_unit_test(equal_runs_with_different_intervals_are_called_changed_no_more_often_than_p),
        cmocka_unit_test(an_exact_and_a_sampled_equal_run_are_called_changed_no_more_often_than_p),
        cmocka_unit_test(a_site_that_doubled_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
