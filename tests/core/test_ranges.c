/* SPDX-License-Identifier: MIT */
/*
 * test_ranges.c - tests what ranges.h says: after any sequence of blocks, partial frees and frees that failed, each
 * page belongs to the block that a plain array says, and a block is gone with its last page.
 */
#include "core_tests.h"

#include "core/blocks/ranges.h"
#include "core/lock.h"

#define PAGES 512
#define BLOCKS 20000
#define BASE 0x1000000u

static struct pl_ranges ranges;
static struct pl_range_list list;
static uint32_t owner[PAGES]; /* the array: which block has this page; 0: none */
static uint32_t pages_of[BLOCKS];

static uintptr_t address_of(uint32_t page)
{
    return BASE + page * 4096u;
}

static uint64_t state_of_draws = 1;

static uint32_t random_below(uint32_t below)
{
    return (uint32_t) draw(&state_of_draws, below);
}

static int forget(void **state)
{
    (void) state;
    memset(&ranges, 0, sizeof ranges);
    memset(&list, 0, sizeof list);
    memset(owner, 0, sizeof owner);
    memset(pages_of, 0, sizeof pages_of);
    return 0;
}

/* What the table says belongs to each page, by detaching all of it, and attaching it again. */
static void the_table_agrees(void)
{
    uint32_t seen[PAGES] = {0};
    assert_true(pl_range_reserve(&ranges, PL_RANGE_NEED));
    uint32_t chain = pl_range_detach(&ranges, &list, 0, UINTPTR_MAX);
    pl_range_attach(&ranges, &list, chain);
    for (uint32_t page = 0; page < PAGES; page++) {
        assert_true(pl_range_reserve(&ranges, PL_RANGE_NEED));
        chain = pl_range_detach(&ranges, &list, address_of(page), address_of(page + 1));
        if (!chain)
            continue;
        for (unsigned i = 0; i < PL_RANGE_CHUNKS && ranges.chunk[i]; i++)
            if (chain + 64 < (128u << i)) {
                seen[page] = ranges.chunk[i][chain + 64 - (64u << i)].ledger;
                break;
            }
        pl_range_attach(&ranges, &list, chain);
    }
    assert_memory_equal(seen, owner, sizeof seen);
}

static void free_pages(uint32_t from, uint32_t to)
{
    struct pl_range piece;
    bool last;
    assert_true(pl_range_reserve(&ranges, PL_RANGE_NEED));
    uint32_t chain = pl_range_detach(&ranges, &list, address_of(from), address_of(to));
    while (pl_range_pop(&ranges, &chain, &piece, &last)) {
        for (uintptr_t at = piece.from; at < piece.to; at += 4096) {
            uint32_t page = (uint32_t) (at - BASE) / 4096;
            assert_in_range(page, from, to - 1);
            assert_int_equal(owner[page], piece.ledger);
            owner[page] = 0;
            pages_of[piece.ledger]--;
        }
        assert_int_equal(last, pages_of[piece.ledger] == 0);
    }
    for (uint32_t page = from; page < to; page++)
        assert_int_equal(owner[page], 0);
}

static void put_block(uint32_t from, uint32_t to, uint32_t block)
{
    free_pages(from, to);
    assert_true(pl_range_reserve(&ranges, 1));
    pl_range_put(&ranges, &list, &(struct pl_range){.from = address_of(from), .to = address_of(to), .ledger = block});
    assert_int_equal(pl_range_end(&ranges, &list, address_of(from)), address_of(to));
    for (uint32_t page = from; page < to; page++)
        owner[page] = block;
    pages_of[block] = to - from;
}

static void fail_to_free(uint32_t from, uint32_t to)
{
    assert_true(pl_range_reserve(&ranges, PL_RANGE_NEED));
    pl_range_attach(&ranges, &list, pl_range_detach(&ranges, &list, address_of(from), address_of(to)));
}

static void every_page_belongs_to_the_block_that_was_put_there_last(void **state)
{
    (void) state;
    for (uint32_t block = 1; block < BLOCKS; block++) {
        uint32_t from = random_below(PAGES), to = from + 1 + random_below(PAGES - from < 40 ? PAGES - from : 40);
        uint32_t what = random_below(3);
        if (what == 0)
            put_block(from, to, block);
        else if (what == 1)
            free_pages(from, to);
        else
            fail_to_free(from, to);
        if (block % 1000 == 0)
            the_table_agrees();
    }
}

static void nodes_of_freed_blocks_are_used_again(void **state)
{
    (void) state;
    for (uint32_t round = 0; round < 1000; round++) {
        put_block(0, 100, 1);
        for (uint32_t page = 0; page < 100; page += 2) /* 50 holes */
            free_pages(page, page + 1);
        free_pages(0, PAGES);
    }
    assert_in_range(ranges.made, 50, 100);
    the_table_agrees();
}

static void many_ranges_are_found(void **state)
{
    const uint32_t many = 100000;
    (void) state;
    for (uint32_t i = 0; i < many; i++) {
        uint32_t at = i * 7919u % many; /* in no order */
        assert_true(pl_range_reserve(&ranges, 1));
        pl_range_put(&ranges, &list,
                     &(struct pl_range){.from = address_of(2 * at), .to = address_of(2 * at + 1), .ledger = at});
    }
    for (uint32_t at = 0; at < many; at++) {
        assert_int_equal(pl_range_end(&ranges, &list, address_of(2 * at)), address_of(2 * at + 1));
        assert_int_equal(pl_range_end(&ranges, &list, address_of(2 * at + 1)), 0);
    }
}

/* Nobody waits here, because somebody has waited already. */
static void a_lock_that_was_held_too_long_is_a_lock_again_when_it_is_given_back(void **state)
{
    struct pl_lock lock = {.owner = 1, .slow = 1};
    uint64_t signals = 0, others = 0;
    (void) state;
    assert_false(pl_lock_take(&lock, &signals));
    pl_lock_give(&lock, signals);
    for (int i = 0; i < 2; i++) {
        assert_true(pl_lock_take(&lock, &signals));
        assert_false(pl_lock_take(&lock, &others)); /* its owner cannot have it twice */
        pl_lock_give(&lock, signals);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_page_belongs_to_the_block_that_was_put_there_last, forget),
        cmocka_unit_test_setup(nodes_of_freed_blocks_are_used_again, forget),
        cmocka_unit_test_setup(many_ranges_are_found, forget),
        cmocka_unit_test(a_lock_that_was_held_too_long_is_a_lock_again_when_it_is_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
