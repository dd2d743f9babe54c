/* SPDX-License-Identifier: MIT */
/*
 * test_maths.c - compares the core's logarithm and exponential with libm's, which are accurate to one unit in the last
 * place.
 *
 * Errors are counted in such units (ulps). The header promises 1e-14. The limit here is what the method achieves, so
 * that a damaged coefficient is detected even if 1e-14 would tolerate it.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/maths.h"

/* s = (m - 1)/(m + 1) has three roundings, the sum with k log 2 two more, libm half of one. */
#define LOG_ULPS 3.0
#define EXP_ULPS 3.0
#define POINTS 2000000

static double in_ulps(double got, double want)
{
    double ulp = nextafter(fabs(want), INFINITY) - fabs(want);
    return fabs(got - want) / ulp;
}

/* Evenly spread over (0, 1), never the same twice: multiples of the golden ratio. */
static double spread(uint64_t i)
{
    return ((double) (i * 0x9e3779b97f4a7c15 >> 11) + 0.5) * 0x1p-53;
}

static double worst_log(double (*point)(uint64_t i))
{
    double worst = 0;
    for (uint64_t i = 1; i <= POINTS; i++)
        worst = fmax(worst, in_ulps(pl_maths_log(point(i)), log(point(i))));
    return worst;
}

/* The u of pl_sampler_draw(): k 2^-53. */
static double smallest_u(uint64_t i)
{
    return (double) i * 0x1p-53;
}

static double largest_u(uint64_t i)
{
    return 1.0 - (double) i * 0x1p-53;
}

static double any_normal(uint64_t i)
{
    return exp((spread(i) - 0.5) * 1416);
}

static double around_one(uint64_t i)
{
    double distance = exp(-36 * spread(i));
    return i % 2 ? 1 + distance / 2 : 1 - distance / 2;
}

static void the_logarithm_is_right_at_every_kind_of_argument(void **state)
{
    (void) state;
    assert_true(worst_log(spread) <= LOG_ULPS);
    assert_true(worst_log(smallest_u) <= LOG_ULPS);
    assert_true(worst_log(largest_u) <= LOG_ULPS);
    assert_true(worst_log(any_normal) <= LOG_ULPS);
    assert_true(worst_log(around_one) <= LOG_ULPS);
}

static void the_logarithm_is_never_positive_below_one(void **state)
{
    (void) state;
    assert_true(pl_maths_log(1.0) == 0.0);
    for (uint64_t i = 1; i <= POINTS; i++)
        assert_true(pl_maths_log(spread(i)) < 0.0);
}

/* Near the square root of 2, where the extracted power of two changes by one. */
static void the_logarithm_has_no_step_where_the_exponent_changes(void **state)
{
    (void) state;
    double x = M_SQRT2;
    for (int i = 0; i < 1000; i++)
        x = nextafter(x, 0);
    for (int i = 0; i < 2000; i++, x = nextafter(x, 2)) {
        assert_true(in_ulps(pl_maths_log(x), log(x)) <= LOG_ULPS);
        assert_true(in_ulps(pl_maths_log(x / 1024), log(x / 1024)) <= LOG_ULPS);
    }
}

static void one_minus_exp_is_right_from_tiny_to_large_arguments(void **state)
{
    (void) state;
    double worst = 0;
    for (uint64_t i = 1; i <= POINTS; i++) {
        double wide = exp(spread(i) * 60 - 56), near = spread(i) * 45;
        worst = fmax(worst, in_ulps(pl_maths_one_minus_exp_neg(wide), -expm1(-wide)));
        worst = fmax(worst, in_ulps(pl_maths_one_minus_exp_neg(near), -expm1(-near)));
    }
    assert_true(worst <= EXP_ULPS);
}

static void a_probability_never_exceeds_one_and_reaches_exactly_one(void **state)
{
    (void) state;
    for (double x = 30; x < 60; x += 0x1p-12)
        assert_true(pl_maths_one_minus_exp_neg(x) <= 1.0);
    assert_true(pl_maths_one_minus_exp_neg(40) == 1.0);
    assert_true(pl_maths_one_minus_exp_neg(0x1p64) == 1.0);
    assert_true(pl_maths_one_minus_exp_neg(INFINITY) == 1.0);
    assert_true(pl_maths_one_minus_exp_neg(0) == 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_logarithm_is_right_at_every_kind_of_argument),
        cmocka_unit_test(the_logarithm_is_never_positive_below_one),
        cmocka_unit_test(the_logarithm_has_no_step_where_the_exponent_changes),
        cmocka_unit_test(one_minus_exp_is_right_from_tiny_to_large_arguments),
        cmocka_unit_test(a_probability_never_exceeds_one_and_reaches_exactly_one),
    };
    return cmocka_run_group_tests_name("maths", tests, NULL, NULL);
}
