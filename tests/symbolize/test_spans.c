/* SPDX-License-Identifier: MIT */
/*
 * test_spans.c - compares the search by address with a linear search.
 */
#include "workshop.h"

static uint32_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t) (*state >> 33);
}

static uint32_t search_all(const struct pl_spans *spans, uint64_t address)
{
    uint32_t best = PL_NO_ITEM;
    for (uint32_t i = 0; i < spans->count; i++) {
        const struct pl_span *span = &spans->span[i];
        if (span->low <= address && address < span->high && (best == PL_NO_ITEM || span->item > best))
            best = span->item;
    }
    return best;
}

static void the_greatest_item_that_contains_an_address_is_found(void **state)
{
    (void) state;
    uint64_t random = 7;
    for (int round = 0; round < 200; round++) {
        struct pl_spans spans = {0};
        uint32_t count = next_random(&random) % 50, longest = 1 + next_random(&random) % 60;
        for (uint32_t i = 0; i < count; i++) {
            uint64_t low = next_random(&random) % 200;
            pl_spans_add(&spans, low, low + next_random(&random) % longest, next_random(&random) % 30);
        }
        pl_spans_sort(&spans);
        for (uint64_t address = 0; address < 270; address++)
            assert_int_equal(pl_spans_find(&spans, address), search_all(&spans, address));
        pl_spans_free(&spans);
    }
}

static void ends_are_outside_and_starts_inside(void **state)
{
    (void) state;
    struct pl_spans spans = {0};
    pl_spans_add(&spans, 10, 20, 1);
    pl_spans_add(&spans, UINT64_MAX - 1, UINT64_MAX, 2);
    pl_spans_sort(&spans);
    assert_int_equal(pl_spans_find(&spans, 9), PL_NO_ITEM);
    assert_int_equal(pl_spans_find(&spans, 10), 1);
    assert_int_equal(pl_spans_find(&spans, 19), 1);
    assert_int_equal(pl_spans_find(&spans, 20), PL_NO_ITEM);
    assert_int_equal(pl_spans_find(&spans, UINT64_MAX - 1), 2);
    assert_int_equal(pl_spans_find(&spans, UINT64_MAX), PL_NO_ITEM);
    pl_spans_free(&spans);
}

static void empty_and_reversed_ranges_contain_nothing(void **state)
{
    (void) state;
    struct pl_spans spans = {0};
    pl_spans_sort(&spans);
    assert_int_equal(pl_spans_find(&spans, 0), PL_NO_ITEM);
    pl_spans_add(&spans, 5, 5, 1);
    pl_spans_add(&spans, 9, 3, 2);
    pl_spans_sort(&spans);
    for (uint64_t address = 0; address < 12; address++)
        assert_int_equal(pl_spans_find(&spans, address), PL_NO_ITEM);
    pl_spans_free(&spans);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_greatest_item_that_contains_an_address_is_found),
        cmocka_unit_test(ends_are_outside_and_starts_inside),
        cmocka_unit_test(empty_and_reversed_ranges_contain_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
