/* SPDX-License-Identifier: MIT */
/*
 * test_gaps.c - the gaps between samples are exponential, and the weight of a sample follows from its gap.
 *
 * Seeds are fixed, so every test gives the same result every time. Tolerances are those of a test with new numbers that
 * would fail one time in 10,000: Kolmogorov-Smirnov distances below 2.23/sqrt(n), means within 4 standard errors.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "core/sampler.h"
#include "format/settings.h"
#include "simulation.h"

#define KS_LIMIT 2.23
#define SEED 20240229u
#define DRAWS 2000000u

/* A distribution function over whole numbers: P(gap <= g). */
struct law {
    double interval;
    uint64_t from; /* on condition that from <= gap < to */
    uint64_t to;
};

static double survival(const struct law *law, uint64_t gap)
{
    return exp(-(double) gap / law->interval);
}

/* floor(x) <= g iff x < g + 1. */
static double probability_up_to(const struct law *law, uint64_t gap)
{
    double start = survival(law, law->from), end = law->to == UINT64_MAX ? 0 : survival(law, law->to);
    return (start - survival(law, gap + 1)) / (start - end);
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;
    return (x > y) - (x < y);
}

/*
 * sqrt(n) times the largest distance between the law and the drawn gaps. Both are steps at whole numbers, so it is
 * exact to look only at the last of equal gaps.
 */
static double ks_distance(uint64_t *gap, size_t n, const struct law *law)
{
    qsort(gap, n, sizeof(*gap), compare);
    double worst = gap[0] > law->from ? probability_up_to(law, gap[0] - 1) : 0;
    for (size_t i = 0; i < n; i++) {
        if (i + 1 < n && gap[i + 1] == gap[i])
            continue;
        worst = fmax(worst, fabs((double) (i + 1) / (double) n - probability_up_to(law, gap[i])));
        if (i + 1 < n) /* just before the next step */
            worst = fmax(worst, fabs((double) (i + 1) / (double) n - probability_up_to(law, gap[i + 1] - 1)));
    }
    return worst * sqrt((double) n);
}

static uint64_t *draw(uint64_t interval, size_t n)
{
    struct pl_sampler sampler;
    uint64_t *gap = malloc(n * sizeof(*gap));
    assert_non_null(gap);
    pl_sampler_seed(&sampler, SEED, interval);
    for (size_t i = 0; i < n; i++)
        gap[i] = pl_sampler_draw(&sampler, interval);
    return gap;
}

static size_t keep_between(uint64_t *gap, size_t n, const struct law *law)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (gap[i] >= law->from && gap[i] < law->to)
            gap[kept++] = gap[i];
    return kept;
}

static void check_law(struct law law, size_t at_least)
{
    uint64_t *gap = draw((uint64_t) law.interval, DRAWS);
    size_t n = keep_between(gap, DRAWS, &law);
    assert_true(n >= at_least);
    assert_true(ks_distance(gap, n, &law) < KS_LIMIT);
    free(gap);
}

static void gaps_are_exponential(void **state)
{
    (void) state;
    check_law((struct law){USUAL, 0, UINT64_MAX}, DRAWS);
    check_law((struct law){4096, 0, UINT64_MAX}, DRAWS);
    check_law((struct law){PL_SAMPLE_MAX, 0, UINT64_MAX}, DRAWS);
}

/* Where floor() matters most, and where it is decided that every allocation is a sample. */
static void gaps_of_small_intervals_are_exponential_rounded_down(void **state)
{
    (void) state;
    for (uint64_t interval = 1; interval <= 1000; interval = interval * 3 + 1)
        check_law((struct law){(double) interval, 0, UINT64_MAX}, DRAWS);
}

/* Coarse random numbers would pass every test of the distribution. */
static void two_million_long_gaps_are_nearly_all_different(void **state)
{
    (void) state;
    uint64_t *gap = draw(PL_SAMPLE_MAX, DRAWS);
    unsigned equal = 0;
    qsort(gap, DRAWS, sizeof(*gap), compare);
    for (size_t i = 1; i < DRAWS; i++)
        equal += gap[i] == gap[i - 1];
    assert_true(equal < 12); /* n^2 / 4T = 0.9 pairs are expected among numbers rounded to 1 in 2^40 */
    free(gap);
}

/* The shortest 1%: -log(1 - 0.01) = 0.01005. */
static void the_shortest_gaps_are_exponential_too(void **state)
{
    (void) state;
    double interval = USUAL;
    check_law((struct law){interval, 0, (uint64_t) (0.01005 * interval)}, DRAWS / 110);
    check_law((struct law){interval, 0, (uint64_t) (0.001 * interval)}, DRAWS / 1100);
}

/* The longest 1%, and the longest 0.1%: -log 0.01 = 4.605. The rest beyond that is exponential again. */
static void the_longest_gaps_are_exponential_too(void **state)
{
    (void) state;
    double interval = USUAL;
    check_law((struct law){interval, (uint64_t) (4.605 * interval), UINT64_MAX}, DRAWS / 110);
    check_law((struct law){interval, (uint64_t) (6.908 * interval), UINT64_MAX}, DRAWS / 1100);
}

/* A short thread uses only the first numbers of its stream, so these must be as good as any. */
static void check_first_draws(bool by_seed, unsigned skip)
{
    struct law law = {USUAL, 0, UINT64_MAX};
    uint64_t *gap = malloc(DRAWS * sizeof(*gap));
    assert_non_null(gap);
    for (uint64_t i = 0; i < DRAWS; i++) {
        struct pl_sampler sampler;
        pl_sampler_seed(&sampler, by_seed ? i : SEED, by_seed ? 1 : i);
        for (unsigned s = 0; s <= skip; s++)
            gap[i] = pl_sampler_draw(&sampler, USUAL);
    }
    assert_true(ks_distance(gap, DRAWS, &law) < KS_LIMIT);
    free(gap);
}

static void the_first_gaps_of_two_million_threads_are_exponential(void **state)
{
    (void) state;
    check_first_draws(false, 0);
    check_first_draws(false, 1);
}

static void the_first_gaps_under_two_million_seeds_are_exponential(void **state)
{
    (void) state;
    check_first_draws(true, 0);
    check_first_draws(true, 1);
}

/* Correlation of n independent pairs has a standard error of 1/sqrt(n). */
static double correlation(const uint64_t *x, const uint64_t *y, size_t n)
{
    double sx = 0, sy = 0, sxx = 0, syy = 0, sxy = 0, count = (double) n;
    for (size_t i = 0; i < n; i++) {
        double a = (double) x[i] / USUAL, b = (double) y[i] / USUAL;
        sx += a, sy += b, sxx += a * a, syy += b * b, sxy += a * b;
    }
    return (sxy - sx * sy / count) / sqrt((sxx - sx * sx / count) * (syy - sy * sy / count));
}

static void gaps_do_not_depend_on_the_previous_gap(void **state)
{
    (void) state;
    uint64_t *gap = draw(USUAL, DRAWS);
    for (size_t lag = 1; lag <= 3; lag++)
        assert_true(fabs(correlation(gap, gap + lag, DRAWS - lag)) < 4 / sqrt((double) (DRAWS - lag)));
    free(gap);
}

static void gaps_of_neighbouring_threads_are_independent(void **state)
{
    (void) state;
    uint64_t *first = malloc(DRAWS * sizeof(*first));
    assert_non_null(first);
    for (uint64_t i = 0; i < DRAWS; i++) {
        struct pl_sampler sampler;
        pl_sampler_seed(&sampler, SEED, i);
        first[i] = pl_sampler_draw(&sampler, USUAL);
    }
    assert_true(fabs(correlation(first, first + 1, DRAWS - 1)) < 4 / sqrt(DRAWS - 1.0));
    free(first);
}

/* A state whose next random number is `number`: the inverse of xoroshiro128++'s output. */
static struct pl_sampler about_to_draw(uint64_t number)
{
    uint64_t a = 0x0123456789abcdef, sum = number - a;
    return (struct pl_sampler){.state = {a, (sum >> 17 | sum << 47) - a}};
}

static void the_extreme_random_numbers_give_gaps_of_zero_and_of_37_intervals(void **state)
{
    (void) state;
    struct pl_sampler zero = about_to_draw(0), ones = about_to_draw(UINT64_MAX);
    assert_int_equal(pl_sampler_draw(&zero, 1000), 36736); /* 53 log 2 = 36.7368 */
    assert_int_equal(pl_sampler_draw(&ones, 1000), 0);
    assert_int_equal(pl_sampler_draw(&ones, 0), 0);
}

static void a_gap_never_exceeds_2_to_the_62(void **state)
{
    (void) state;
    struct pl_sampler sampler = about_to_draw(0);
    assert_int_equal(pl_sampler_draw(&sampler, UINT64_MAX), 1ull << 62);
    sampler = about_to_draw(0);
    assert_true(pl_sampler_draw(&sampler, 1ull << 56) < 1ull << 62);
}

static void a_weight_is_one_over_the_probability(void **state)
{
    (void) state;
    for (unsigned c = 0; c < 64; c++)
        for (unsigned t = 0; t < 64; t++) {
            double want = -1 / expm1(-ldexp(1, (int) c - (int) t));
            double got = pl_sampler_weight(1ull << c, 1ull << t);
            assert_true(got >= 1);
            assert_true(fabs(got / want - 1) < 1e-14);
        }
    assert_true(fabs(pl_sampler_weight(80, USUAL) - 6554.1) < 0.01);
    assert_true(pl_sampler_weight(UINT64_MAX, 1) == 1);
    assert_true(pl_sampler_weight(1 + PL_CALL_CHARGE, PL_SAMPLE_MIN) == 1);
}

static void a_sample_is_weighted_by_the_interval_of_its_own_gap(void **state)
{
    (void) state;
    struct pl_sampler sampler;
    uint64_t countdown;
    pl_sampler_seed(&sampler, SEED, 1);
    pl_sampler_draw(&sampler, 4096);
    assert_true(pl_sampler_visit(&sampler, 80, 1 << 20, &countdown) == pl_sampler_weight(80, 4096));
    assert_true(pl_sampler_visit(&sampler, 80, 1, &countdown) == pl_sampler_weight(80, 1 << 20));
    assert_true(pl_sampler_visit(&sampler, 80, 1, &countdown) == 1);
}

/* n trials, each a sample with probability p: within 4 standard errors. */
static void assert_samples(double samples, double n, double p)
{
    assert_true(fabs(samples - n * p) < 4 * sqrt(n * p * (1 - p)));
}

/* Threads that allocate once: each visits the cold path, and one in 51 is a sample. */
static void the_first_allocation_of_a_thread_is_a_sample_only_by_chance(void **state)
{
    (void) state;
    const uint64_t charge = 80, interval = 4096;
    double samples = 0;
    for (uint64_t thread = 0; thread < DRAWS; thread++) {
        struct pl_sampler sampler;
        uint64_t countdown;
        pl_sampler_seed(&sampler, SEED, thread);
        samples += pl_sampler_visit(&sampler, charge, interval, &countdown) > 0;
    }
    assert_samples(samples, DRAWS, 1 / pl_sampler_weight(charge, interval));
}

/* Waking up is like starting: the allocation during which it happens is a sample with the probability of its charge. */
static void waking_up_does_not_cause_a_sample(void **state)
{
    (void) state;
    const uint64_t charge = 1000, interval = 4096;
    struct pl_sampler sampler;
    double samples = 0;
    pl_sampler_seed(&sampler, SEED, 1);
    for (unsigned i = 0; i < DRAWS; i++) {
        uint64_t countdown = pl_sampler_sleep(&sampler, 64 << 20);
        assert_int_equal(countdown, 64 << 20);
        samples += pl_sampler_visit(&sampler, charge, interval, &countdown) > 0;
    }
    assert_samples(samples, DRAWS, 1 / pl_sampler_weight(charge, interval));
}

/* What remains of a new gap after an allocation that it did not hit is counted down by the next one. */
static void an_allocation_that_was_not_sampled_is_counted_down(void **state)
{
    (void) state;
    struct pl_sampler sampler, copy;
    uint64_t countdown;
    unsigned missed = 0;
    pl_sampler_seed(&sampler, SEED, 1);
    for (unsigned i = 0; i < 1000; i++) {
        sampler.armed = false;
        copy = sampler;
        uint64_t gap = pl_sampler_draw(&copy, 4096);
        if (pl_sampler_visit(&sampler, 1000, 4096, &countdown) > 0)
            continue;
        missed++;
        assert_int_equal(countdown, gap - 1000);
        assert_true(sampler.armed);
    }
    assert_true(missed > 0);
}

/* Counts down, allocation by allocation. True if this one is a sample. */
struct counting_down {
    struct pl_sampler sampler;
    uint64_t countdown, visits;
};

static bool is_sample(struct counting_down *c, uint64_t charge, uint64_t interval, bool in_parts)
{
    uint64_t left = c->countdown;
    if (left >= charge) {
        c->countdown -= charge;
        return false;
    }
    c->visits++;
    if (in_parts)
        return pl_sampler_meet(&c->sampler, charge, left, interval, &c->countdown) > 0;
    return pl_sampler_visit(&c->sampler, charge, interval, &c->countdown) > 0;
}

static void a_gap_in_parts_ends_where_the_whole_gap_does(void **state)
{
    (void) state;
    const uint64_t interval = 8 << 20, parts = interval / PL_SAMPLER_PART_LEAST;
    struct counting_down whole = {.countdown = 0}, parted = {.countdown = 0};
    unsigned samples = 0;
    pl_sampler_seed(&whole.sampler, SEED, 1);
    pl_sampler_seed(&parted.sampler, SEED, 1);
    for (unsigned i = 0; i < 1000000; i++) {
        uint64_t charge = 64 + i * 7919u % 40000;
        bool sample = is_sample(&whole, charge, interval, false);
        assert_int_equal(is_sample(&parted, charge, interval, true), sample);
        samples += sample;
    }
    assert_true(samples > 1000);
    assert_true(parted.visits > samples * parts / 3 && parted.visits < 2 * samples * parts);
}

/* T falls while a gap is running: the thread sees it after a part of the gap, not only at its end. */
static void a_smaller_interval_takes_effect_after_a_part_of_the_gap(void **state)
{
    (void) state;
    const uint64_t charge = 1000, coarse = 64 << 20, fine = 1 << 16;
    double late = 0;
    for (uint64_t stream = 0; stream < 1000; stream++) {
        struct counting_down c = {.countdown = 0};
        pl_sampler_seed(&c.sampler, SEED, stream);
        is_sample(&c, charge, coarse, true);
        unsigned i = 0;
        while (!is_sample(&c, charge, fine, true))
            i++;
        late += (double) i * (double) charge;
    }
    assert_true(late / 1000 < (double) coarse / PL_SAMPLER_PARTS + 2.0 * (double) fine);
}

static void the_same_seed_and_stream_give_the_same_gaps(void **state)
{
    (void) state;
    struct pl_sampler a, b, other;
    unsigned equal = 0;
    pl_sampler_seed(&a, SEED, 7);
    pl_sampler_seed(&b, SEED, 7);
    pl_sampler_seed(&other, SEED, 8);
    for (unsigned i = 0; i < 1000; i++) {
        uint64_t gap = pl_sampler_draw(&a, USUAL);
        assert_int_equal(gap, pl_sampler_draw(&b, USUAL));
        equal += gap == pl_sampler_draw(&other, USUAL);
    }
    assert_true(equal < 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gaps_are_exponential),
        cmocka_unit_test(gaps_of_small_intervals_are_exponential_rounded_down),
        cmocka_unit_test(two_million_long_gaps_are_nearly_all_different),
        cmocka_unit_test(the_shortest_gaps_are_exponential_too),
        cmocka_unit_test(the_longest_gaps_are_exponential_too),
        cmocka_unit_test(the_first_gaps_of_two_million_threads_are_exponential),
        cmocka_unit_test(the_first_gaps_under_two_million_seeds_are_exponential),
        cmocka_unit_test(gaps_do_not_depend_on_the_previous_gap),
        cmocka_unit_test(gaps_of_neighbouring_threads_are_independent),
        cmocka_unit_test(the_extreme_random_numbers_give_gaps_of_zero_and_of_37_intervals),
        cmocka_unit_test(a_gap_never_exceeds_2_to_the_62),
        cmocka_unit_test(a_weight_is_one_over_the_probability),
        cmocka_unit_test(a_sample_is_weighted_by_the_interval_of_its_own_gap),
        cmocka_unit_test(the_first_allocation_of_a_thread_is_a_sample_only_by_chance),
        cmocka_unit_test(waking_up_does_not_cause_a_sample),
        cmocka_unit_test(an_allocation_that_was_not_sampled_is_counted_down),
        cmocka_unit_test(a_gap_in_parts_ends_where_the_whole_gap_does),
        cmocka_unit_test(a_smaller_interval_takes_effect_after_a_part_of_the_gap),
        cmocka_unit_test(the_same_seed_and_stream_give_the_same_gaps),
    };
    return cmocka_run_group_tests_name("gaps", tests, NULL, NULL);
}
