/* SPDX-License-Identifier: MIT */
/* test_live.c - tests live.h and filter.h: a record comes out once, and until then the filter never excludes it. */
#include "core_tests.h"

#include "core/blocks/filter.h"
#include "core/blocks/live.h"

#define BLOCKS 100000
#define THREADS 4
#define ROUNDS 200000

static struct pl_live live;

static int empty_tables(void **state)
{
    (void) state;
    memset(&live, 0, sizeof live);
    memset(pl_filter, 0, sizeof pl_filter);
    return 0;
}

static struct pl_record record_of(uintptr_t address)
{
    return (struct pl_record){.size = address % 1000, .weight = 1.0 + (double) (address % 7), .row = 3, .thread = 4};
}

static void put(uintptr_t address)
{
    struct pl_record record = record_of(address);
    assert_true(pl_live_insert(&live, address, &record));
}

static bool take(uintptr_t address)
{
    struct pl_live_found found;
    struct pl_record wanted = record_of(address);
    if (!pl_live_take(&live, address, &found))
        return false;
    return found.block && found.record.size == wanted.size && found.record.weight == wanted.weight;
}

static unsigned filter_at(uintptr_t address)
{
    return load_relaxed(pl_filter_byte((const void *) address));
}

/* Scattered like a heap: pages here and there, with blocks of 16 bytes in them. */
static uintptr_t address_of(uint64_t i)
{
    return 0x7f0000000000u + (i / 16 * 0x9e3779b1u % (1u << 24)) * 4096 + i % 16 * 16; /* all different */
}

static void a_record_comes_out_unchanged_and_only_once(void **state)
{
    (void) state;
    put(0x1000);
    assert_false(take(0x1010));
    assert_true(take(0x1000));
    assert_false(take(0x1000));
}

static void null_is_in_no_table(void **state)
{
    (void) state;
    struct pl_live_found found;
    put(0x700000000000); /* it has the same filter byte as NULL */
    assert_int_equal(filter_at(0), 1);
    assert_false(pl_live_take(&live, 0, &found));
    assert_true(take(0x700000000000));
    assert_false(pl_live_take(&live, 0, &found)); /* an emptied slot is not NULL's either */
    assert_int_equal(filter_at(0), 0);
}

static void blocks_eight_bytes_apart_are_different_blocks(void **state)
{
    (void) state;
    put(0x1000);
    put(0x1008);
    assert_true(take(0x1008));
    assert_true(take(0x1000));
}

static void a_block_and_the_link_map_in_it_are_taken_together(void **state)
{
    (void) state;
    struct pl_live_found found;
    const struct pl_record marker = {.row = PL_ROW_LINK_MAP};
    put(0x1000);
    assert_false(pl_live_has(&live, 0x1000 | PL_LIVE_LINK_MAP));
    assert_true(pl_live_insert(&live, 0x1000 | PL_LIVE_LINK_MAP, &marker));
    assert_true(pl_live_has(&live, 0x1000 | PL_LIVE_LINK_MAP));
    assert_int_equal(filter_at(0x1000), PL_FILTER_PLACES + 2);
    assert_true(pl_live_take(&live, 0x1000, &found));
    assert_true(found.block && found.link_map && found.record.row == 3);
    assert_int_equal(filter_at(0x1000), 0);
    assert_false(pl_live_take(&live, 0x1000, &found));
}

static void the_filter_counts_the_records_of_the_table(void **state)
{
    (void) state;
    for (uintptr_t i = 0; i < 60; i++)
        put(0x5000 + i * 8);
    assert_int_equal(filter_at(0x5000), PL_FILTER_PLACES + 60);
    for (uintptr_t i = 0; i < 60; i++)
        assert_true(take(0x5000 + i * 8));
    assert_int_equal(filter_at(0x5000), 0);
}

static void a_lone_sample_excludes_all_other_blocks_of_its_granule(void **state)
{
    (void) state;
    put(0x5010);
    for (uintptr_t address = 0x5000; address < 0x5800; address += 16)
        assert_int_equal(pl_filter_excludes((void *) address), address != 0x5010);
    assert_false(pl_filter_excludes((void *) 0x5018)); /* other allocators put two small blocks into 16 bytes */
    put(0x5020);
    assert_false(pl_filter_excludes((void *) 0x5010) || pl_filter_excludes((void *) 0x5020));
    assert_true(take(0x5010));
    assert_false(pl_filter_excludes((void *) 0x5020)); /* the filter no longer knows which one is left */
    assert_true(take(0x5020));
    assert_int_equal(filter_at(0x5000), 0);
}

static void a_filter_byte_that_overflows_says_maybe_for_ever(void **state)
{
    (void) state;
    for (uintptr_t i = 0; i < 400; i++)
        put(0x5000 + i * 2); /* closer than any allocator would put them */
    assert_int_equal(filter_at(0x5000), PL_FILTER_STUCK);
    for (uintptr_t i = 0; i < 400; i++)
        assert_true(take(0x5000 + i * 2));
    assert_int_equal(filter_at(0x5000), PL_FILTER_STUCK);
    put(0x5000);
    assert_true(take(0x5000));
}

static void an_empty_filter_stays_empty(void **state)
{
    (void) state;
    pl_filter_drop((void *) 0x5000);
    assert_int_equal(filter_at(0x5000), 0);
}

static void all_blocks_are_found_again_while_the_table_grows(void **state)
{
    (void) state;
    for (uint64_t i = 0; i < BLOCKS; i++)
        put(address_of(i));
    for (uint64_t i = 0; i < BLOCKS; i += 2)
        assert_true(take(address_of(i)));
    for (uint64_t i = 0; i < BLOCKS; i++)
        assert_int_equal(take(address_of(i)), i % 2);
    for (size_t i = 0; i < sizeof pl_filter; i++)
        assert_true(pl_filter[i] == 0 || pl_filter[i] == PL_FILTER_STUCK); /* addresses 4 GiB apart share a byte */
}

/* ---- threads ---- */

static uint64_t mistakes;

/* An address belongs to one thread at a time. All threads share groups of the table, and granules of the filter. */
#define SPARSE 64 /* so few in a granule that a byte can count them */

static void put_and_take(unsigned number)
{
    uint64_t random = number, held = 0, wrong = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t bit = draw(&random, 64);
        uintptr_t address = 0x7f0000000000u + (bit * THREADS + number) * SPARSE;
        struct pl_record record = record_of(address);
        if (held >> bit & 1)
            wrong += !take(address);
        else
            wrong += !pl_live_insert(&live, address, &record);
        held ^= 1ull << bit;
        wrong += filter_at(address) == 0 && (held >> bit & 1);
    }
    for (uint64_t bit = 0; bit < 64; bit++)
        if (held >> bit & 1)
            wrong += !take(0x7f0000000000u + (bit * THREADS + number) * SPARSE);
    __atomic_add_fetch(&mistakes, wrong, __ATOMIC_RELAXED);
}

static void threads_lose_no_record_of_each_other(void **state)
{
    (void) state;
    mistakes = 0;
    run_threads(THREADS, put_and_take);
    assert_int_equal(mistakes, 0);
    for (size_t i = 0; i < sizeof pl_filter; i++)
        assert_int_equal(pl_filter[i], 0);
}

#define HELD (60 / THREADS) /* at a time, so that a byte can count those of all threads */

static void count_up_and_down(unsigned number)
{
    (void) number;
    for (int round = 0; round < 2000; round++) {
        for (int i = 0; i < HELD; i++)
            pl_filter_add((void *) 0x9000);
        for (int i = 0; i < HELD; i++)
            pl_filter_drop((void *) 0x9000);
    }
}

static void concurrent_updates_of_the_filter_lose_no_count(void **state)
{
    (void) state;
    run_threads(THREADS, count_up_and_down);
    assert_int_equal(filter_at(0x9000), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_record_comes_out_unchanged_and_only_once, empty_tables),
        cmocka_unit_test_setup(null_is_in_no_table, empty_tables),
        cmocka_unit_test_setup(blocks_eight_bytes_apart_are_different_blocks, empty_tables),
        cmocka_unit_test_setup(a_block_and_the_link_map_in_it_are_taken_together, empty_tables),
        cmocka_unit_test_setup(the_filter_counts_the_records_of_the_table, empty_tables),
        cmocka_unit_test_setup(a_lone_sample_excludes_all_other_blocks_of_its_granule, empty_tables),
        cmocka_unit_test_setup(a_filter_byte_that_overflows_says_maybe_for_ever, empty_tables),
        cmocka_unit_test_setup(an_empty_filter_stays_empty, empty_tables),
        cmocka_unit_test_setup(all_blocks_are_found_again_while_the_table_grows, empty_tables),
        cmocka_unit_test_setup(threads_lose_no_record_of_each_other, empty_tables),
        cmocka_unit_test_setup(concurrent_updates_of_the_filter_lose_no_count, empty_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
