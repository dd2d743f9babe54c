/* SPDX-License-Identifier: MIT */
/* test_filter.c - what filter.h promises of two modes that share its bytes: no block of either is ever denied. (What it
 * does for samples alone is in test_live.c.) */
#include "support.h"

#include "filter.h"

#define AT ((void *) 0x5000)
#define THREADS 4
#define ROUNDS 20000

static int empty_filter(void **state)
{
    (void) state;
    memset(pl_filter, 0, sizeof pl_filter);
    return 0;
}

static uint8_t byte_at(const void *address)
{
    return load_relaxed(pl_filter_byte(address));
}

static void add(unsigned samples)
{
    for (unsigned i = 0; i < samples; i++)
        pl_filter_add(AT);
}

static void drop(unsigned samples)
{
    for (unsigned i = 0; i < samples; i++)
        pl_filter_drop(AT);
}

static void a_mark_is_there_for_its_granule_until_it_is_taken_away(void **state)
{
    (void) state;
    pl_filter_mark_exact(AT);
    pl_filter_mark_exact((char *) AT + 0x7ff);
    assert_int_equal(byte_at(AT), PL_FILTER_EXACT);
    assert_int_equal(byte_at((char *) AT + 0x800), 0);
    assert_int_equal(byte_at((char *) AT - 1), 0);
    pl_filter_unmark_exact((char *) AT + 0x400);
    assert_int_equal(byte_at(AT), 0);
}

static void a_marked_granule_excludes_no_block(void **state)
{
    (void) state;
    pl_filter_mark_exact(AT);
    for (uintptr_t i = 0; i < 2048; i += 8)
        assert_false(pl_filter_excludes((char *) AT + i));
}

static void only_marked_and_stuck_granules_may_hold_blocks_of_exact_mode(void **state)
{
    (void) state;
    for (unsigned byte = 0; byte < 256; byte++)
        assert_int_equal(pl_filter_is_exact((uint8_t) byte), byte >= 191);
    for (unsigned samples = 1; samples <= 62; samples++) {
        pl_filter_add(AT);
        assert_false(pl_filter_is_exact(byte_at(AT)));
    }
}

static void samples_are_counted_up_to_where_the_mark_begins(void **state)
{
    (void) state;
    add(62);
    assert_int_equal(byte_at(AT), PL_FILTER_COUNT_MAX);
    drop(62);
    assert_int_equal(byte_at(AT), 0);
    add(63);
    assert_int_equal(byte_at(AT), PL_FILTER_STUCK);
    drop(63);
    assert_int_equal(byte_at(AT), PL_FILTER_STUCK);
}

static void a_granule_of_both_modes_counts_its_samples_whoever_came_first(void **state)
{
    (void) state;
    const unsigned samples[] = {1, 2, 50, 62};
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        empty_filter(NULL);
        add(samples[i]);
        pl_filter_mark_exact(AT);
        assert_int_equal(byte_at(AT), PL_FILTER_EXACT + samples[i]);
        empty_filter(NULL);
        pl_filter_mark_exact(AT);
        add(samples[i]);
        assert_int_equal(byte_at(AT), PL_FILTER_EXACT + samples[i]);
        pl_filter_unmark_exact(AT);
        assert_int_equal(byte_at(AT), PL_FILTER_PLACES + samples[i]);
        pl_filter_mark_exact(AT);
        drop(samples[i]);
        assert_int_equal(byte_at(AT), PL_FILTER_EXACT);
        pl_filter_unmark_exact(AT);
        assert_int_equal(byte_at(AT), 0);
    }
}

static void more_samples_than_can_be_counted_keep_the_mark_or_stick(void **state)
{
    (void) state;
    pl_filter_mark_exact(AT);
    add(63);
    pl_filter_unmark_exact(AT);
    assert_int_equal(byte_at(AT), 254);
    add(1);
    pl_filter_unmark_exact(AT);
    drop(64);
    assert_int_equal(byte_at(AT), PL_FILTER_STUCK);
}

static void a_mark_outlives_a_sample_too_many_taken_away(void **state)
{
    (void) state;
    pl_filter_mark_exact(AT);
    pl_filter_drop(AT);
    assert_int_equal(byte_at(AT), PL_FILTER_EXACT);
}

static void unmarking_leaves_samples_alone(void **state)
{
    (void) state;
    for (unsigned samples = 0; samples <= 62; samples++) {
        uint8_t before = byte_at(AT);
        pl_filter_unmark_exact(AT);
        assert_int_equal(byte_at(AT), before);
        pl_filter_add(AT);
    }
}

/* ---- threads ---- */

static uint64_t denied;

/* Odd threads have a sample in a granule of all; even ones take each other's marks away. */
static void sample_mark_and_unmark(unsigned number)
{
    uint64_t wrong = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        char *at = (char *) AT + 2048 * (i / 8);
        if (number % 2) {
            pl_filter_add(at);
            uint8_t byte = byte_at(at);
            wrong += byte == 0 || byte == PL_FILTER_EXACT;
            pl_filter_drop(at);
        } else {
            pl_filter_mark_exact(at);
            pl_filter_unmark_exact(at);
        }
    }
    fetch_add(&denied, wrong);
}

static void no_sample_is_lost_to_a_mark_that_comes_or_goes(void **state)
{
    (void) state;
    denied = 0;
    run_threads(THREADS, sample_mark_and_unmark);
    assert_int_equal(denied, 0);
    for (size_t i = 0; i < sizeof pl_filter; i++)
        assert_int_equal(pl_filter[i], 0);
}

static void sample_or_mark(unsigned number)
{
    uint64_t wrong = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        char *at = (char *) AT + 2048 * i;
        if (number % 2) {
            pl_filter_add(at);
            pl_filter_drop(at);
        } else {
            pl_filter_mark_exact(at);
            wrong += !pl_filter_is_exact(byte_at(at));
        }
    }
    fetch_add(&denied, wrong);
}

static void no_mark_is_lost_to_a_sample_that_comes_or_goes(void **state)
{
    (void) state;
    denied = 0;
    run_threads(THREADS, sample_or_mark);
    assert_int_equal(denied, 0);
    for (unsigned i = 0; i < ROUNDS; i++)
        assert_true(pl_filter_is_exact(byte_at((char *) AT + 2048 * i)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_mark_is_there_for_its_granule_until_it_is_taken_away, empty_filter),
        cmocka_unit_test_setup(a_marked_granule_excludes_no_block, empty_filter),
        cmocka_unit_test_setup(only_marked_and_stuck_granules_may_hold_blocks_of_exact_mode, empty_filter),
        cmocka_unit_test_setup(samples_are_counted_up_to_where_the_mark_begins, empty_filter),
        cmocka_unit_test_setup(a_granule_of_both_modes_counts_its_samples_whoever_came_first, empty_filter),
        cmocka_unit_test_setup(more_samples_than_can_be_counted_keep_the_mark_or_stick, empty_filter),
        cmocka_unit_test_setup(a_mark_outlives_a_sample_too_many_taken_away, empty_filter),
        cmocka_unit_test_setup(unmarking_leaves_samples_alone, empty_filter),
        cmocka_unit_test_setup(no_sample_is_lost_to_a_mark_that_comes_or_goes, empty_filter),
        cmocka_unit_test_setup(no_mark_is_lost_to_a_sample_that_comes_or_goes, empty_filter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
