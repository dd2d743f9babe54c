/* SPDX-License-Identifier: MIT */
/*
 * test_locate.c - the index finds the same blocks as looking at each of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "reach/locate.h"

#define BLOCKS 200
#define REGION (1ull << PL_LOCATE_REGION_SHIFT)

static uint64_t seed = 1;

static uint64_t below(uint64_t limit)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 20) % limit;
}

struct drawn {
    struct pl_locate_block block[BLOCKS];
    uint32_t count;
};

static struct pl_locate_block block_of(const void *context, uint32_t number)
{
    return ((const struct drawn *) context)->block[number];
}

/* Most blocks are small and lie side by side; some fill regions, and some lie regions apart. */
static void draw(struct drawn *drawn, uint64_t align)
{
    uint64_t at = (below(1u << 20) << PL_LOCATE_REGION_SHIFT) + below(REGION / align) * align;
    drawn->count = 1 + (uint32_t) below(BLOCKS);
    for (uint32_t i = 0; i < drawn->count; i++) {
        uint64_t size = below(20) ? below(2000) : below(4 * REGION), gap = below(20) ? below(64) : below(4 * REGION);
        drawn->block[i] = (struct pl_locate_block){at, at + size};
        at = (at + size + gap) / align * align + align;
    }
}

/* Up to which block addresses count, and whether one begins there, by looking at each. */
static uint32_t count_plainly(const struct drawn *drawn, uint64_t address, bool *begins)
{
    uint32_t count = 0;
    *begins = false;
    for (uint32_t i = 0; i < drawn->count; i++) {
        count += drawn->block[i].from <= address;
        *begins |= drawn->block[i].from == address;
    }
    return count;
}

static void compare(const struct drawn *drawn, const struct pl_locate *index, uint64_t address)
{
    bool begins, really;
    uint32_t count = pl_locate_count(index, address, &begins), expected = count_plainly(drawn, address, &really);
    bool inside = expected && address <= drawn->block[expected - 1].to;
    assert_int_equal(begins, really);
    assert_true(count == expected || (count == 0 && !inside));
}

static void look_up(const struct drawn *drawn, const struct pl_locate *index)
{
    for (uint32_t i = 0; i < drawn->count; i++) {
        const struct pl_locate_block *block = &drawn->block[i];
        const uint64_t address[] = {block->from - 1, block->from,
                                    block->from + 1, block->from + 8,
                                    block->to - 1,   block->to,
                                    block->to + 1,   block->from + below(REGION),
                                    block->to + 24,  block->to / REGION * REGION};
        for (size_t k = 0; k < sizeof address / sizeof *address; k++)
            compare(drawn, index, address[k]);
    }
    compare(drawn, index, 0);
    compare(drawn, index, UINT64_MAX);
}

static void an_address_leads_to_the_block_that_has_it(void **state)
{
    static struct drawn drawn;
    (void) state;
    for (int i = 0; i < 300; i++) {
        unsigned shift = 3 + i % 2;
        struct pl_locate index;
        draw(&drawn, 1u << shift);
        assert_true(pl_locate_make(&index, drawn.count, shift, block_of, &drawn));
        look_up(&drawn, &index);
        pl_locate_free(&index);
    }
}

static void without_blocks_nothing_is_found(void **state)
{
    struct pl_locate index;
    bool begins;
    (void) state;
    assert_true(pl_locate_make(&index, 0, 4, block_of, NULL));
    assert_int_equal(pl_locate_count(&index, 4096, &begins), 0);
    pl_locate_free(&index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_leads_to_the_block_that_has_it),
        cmocka_unit_test(without_blocks_nothing_is_found),
    };
    return cmocka_run_group_tests_name("locate", tests, NULL, NULL);
}
