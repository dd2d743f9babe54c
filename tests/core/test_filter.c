/* SPDX-License-Identifier: MIT */
/* test_filter.c - tests filter.h where exact mode and sampling share its bytes: it never excludes a block of either.
 * (test_live.c tests it with samples alone.) */
#include "core_tests.h"

#include "core/blocks/filter.h"

#define AT ((void *) 0x5000)
#define THREADS 4
#define ROUNDS 20000
#define COUNTED (PL_FILTER_COUNT_MAX - PL_FILTER_PLACES) /* samples that a byte without a mark can count */

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

static void a_mark_holds_for_its_granule_until_it_is_removed(void **state)
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

static void only_marked_and_stuck_granules_can_hold_exact_blocks(void **state)
{
    (void) state;
    for (unsigned byte = 0; byte < 256; byte++)
        assert_int_equal(pl_filter_is_exact((uint8_t) byte), byte >= 190);
    for (unsigned samples = 1; samples <= COUNTED; samples++) {
        pl_filter_add(AT);
        assert_false(pl_filter_is_exact(byte_at(AT)));
    }
}

static void samples_are_counted_up_to_the_value_of_the_mark(void **state)
{
    (void) state;
    add(COUNTED);
    assert_int_equal(byte_at(AT), PL_FILTER_COUNT_MAX);
    drop(COUNTED);
    assert_int_equal(byte_at(AT), 0);
    add(COUNTED + 1);
    assert_int_equal(byte_at(AT), PL_FILTER_STUCK);
    drop(COUNTED + 1);
    assert_int_equal(byte_at(AT), PL_FILTER_STUCK);
}

static void a_granule_of_both_modes_counts_its_samples_in_any_order(void **state)
{
    (void) state;
    const unsigned samples[] = {1, 2, 50, COUNTED};
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

static void too_many_samples_keep_the_mark_or_stick(void **state)
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

static void a_mark_survives_the_removal_of_one_sample_too_many(void **state)
{
    (void) state;
    pl_filter_mark_exact(AT);
    pl_filter_drop(AT);
    assert_int_equal(byte_at(AT), PL_FILTER_EXACT);
}

static void unmarking_leaves_samples_alone(void **state)
{
    (void) state;
    for (unsigned samples = 0; samples <= COUNTED; samples++) {
        uint8_t before = byte_at(AT);
        pl_filter_unmark_exact(AT);
        assert_int_equal(byte_at(AT), before);
        pl_filter_add(AT);
    }
}

static void a_mask_replaces_a_mark_only_where_there_is_no_sample(void **state)
{
    (void) state;
    for (unsigned byte = 0; byte < 256; byte++) {
        *pl_filter_byte(AT) = (uint8_t) byte;
        pl_filter_use_mask(AT);
        assert_int_equal(byte_at(AT), byte == PL_FILTER_EXACT ? PL_FILTER_MASKED : byte);
    }
}

static void a_masked_granule_is_marked_again_by_a_block_and_counts_a_sample(void **state)
{
    (void) state;
    *pl_filter_byte(AT) = PL_FILTER_MASKED;
    assert_false(pl_filter_excludes(AT));
    pl_filter_drop(AT);
    assert_int_equal(byte_at(AT), PL_FILTER_MASKED);
    pl_filter_mark_exact(AT);
    assert_int_equal(byte_at(AT), PL_FILTER_EXACT);
    *pl_filter_byte(AT) = PL_FILTER_MASKED;
    pl_filter_add(AT);
    assert_int_equal(byte_at(AT), PL_FILTER_EXACT + 1);
    *pl_filter_byte(AT) = PL_FILTER_MASKED;
    pl_filter_unmark_exact(AT);
    assert_int_equal(byte_at(AT), 0);
}

/* ---- threads ---- */

static uint64_t denied;

/* Odd threads put samples into granules that all threads share. Even threads remove each other's marks. */
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
        cmocka_unit_test_setup(a_mark_holds_for_its_granule_until_it_is_removed, empty_filter),
        cmocka_unit_test_setup(a_marked_granule_excludes_no_block, empty_filter),
        cmocka_unit_test_setup(only_marked_and_stuck_granules_can_hold_exact_blocks, empty_filter),
        cmocka_unit_test_setup(samples_are_counted_up_to_the_value_of_the_mark, empty_filter),
        cmocka_unit_test_setup(a_granule_of_both_modes_counts_its_samples_in_any_order, empty_filter),
        cmocka_unit_test_setup(too_many_samples_keep_the_mark_or_stick, empty_filter),
        cmocka_unit_test_setup(a_mark_survives_the_removal_of_one_sample_too_many, empty_filter),
        cmocka_unit_test_setup(unmarking_leaves_samples_alone, empty_filter),
        cmocka_unit_test_setup(a_mask_replaces_a_mark_only_where_there_is_no_sample, empty_filter),
        cmocka_unit_test_setup(a_masked_granule_is_marked_again_by_a_block_and_counts_a_sample, empty_filter),
        cmocka_unit_test_setup(no_sample_is_lost_to_a_mark_that_comes_or_goes, empty_filter),
        cmocka_unit_test_setup(no_mark_is_lost_to_a_sample_that_comes_or_goes, empty_filter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
