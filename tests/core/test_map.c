/* SPDX-License-Identifier: MIT */
/* test_map.c - tests map.h: one slot for a hash and one id for a slot, with any number of threads and keys. */
#include "core_tests.h"

#include <sys/mman.h>

#include "core/hash.h"
#include "core/map.h"
#include "core/memory.h"

#define KEYS 200000
#define THREADS 4
#define SHARED 30000

static struct pl_map map;

static int empty_map(void **state)
{
    (void) state;
    memset(&map, 0, sizeof map); /* leaks its memory: a map never releases any */
    return 0;
}

static void a_hash_has_one_slot(void **state)
{
    (void) state;
    struct pl_slot *slot = pl_map_slot(&map, 77);
    assert_non_null(slot);
    assert_ptr_equal(pl_map_slot(&map, 77), slot);
    assert_ptr_not_equal(pl_map_slot(&map, 78), slot);
    assert_int_equal(slot->id, 0);
}

static void an_id_is_set_only_once(void **state)
{
    (void) state;
    struct pl_slot *slot = pl_map_slot(&map, 77);
    assert_int_equal(pl_map_settle(slot, 5), 5);
    assert_int_equal(pl_map_settle(slot, 6), 5);
    assert_int_equal(pl_map_slot(&map, 77)->id, 5);
}

static void a_slot_left_without_an_id_gets_one_from_the_next_caller(void **state)
{
    (void) state;
    pl_map_slot(&map, 77); /* and abandoned before it gets an id */
    assert_int_equal(pl_map_settle(pl_map_slot(&map, 77), 9), 9);
}

static void every_key_is_found_again_while_the_map_grows(void **state)
{
    (void) state;
    for (uint32_t i = 1; i <= KEYS; i++)
        assert_int_equal(pl_map_settle(pl_map_slot(&map, pl_hash(i, 1)), i), i);
    for (uint32_t i = 1; i <= KEYS; i++)
        assert_int_equal(pl_map_slot(&map, pl_hash(i, 1))->id, i);
    assert_non_null(map.level[3]);
}

/* A thread may die between setting a slot's hash and its tag. */
static void keys_without_a_tag_are_found(void **state)
{
    (void) state;
    for (uint32_t i = 1; i <= KEYS / 10; i++)
        pl_map_settle(pl_map_slot(&map, pl_hash(i, 1)), i);
    for (unsigned i = 0; i < 1024; i++)
        map.level[0][i].tags &= ~(0xffu << i % 4 * 8);
    for (uint32_t i = 1; i <= KEYS / 10; i++)
        assert_int_equal(pl_map_slot(&map, pl_hash(i, 1))->id, i);
}

static void a_full_group_is_known_by_its_tags(void **state)
{
    (void) state;
    for (uint64_t i = 1; i <= 8; i++)
        pl_map_slot(&map, i << 57);
    struct pl_slot *group = map.level[0];
    assert_int_equal(group[0].tags, 0x84838281);
    assert_int_equal(group[1].tags, 0x88878685);
}

/* Hashes that agree in their low bits share a group on every level. */
static void keys_that_share_a_group_on_every_level_run_out_of_room_without_mix_up(void **state)
{
    (void) state;
    uint32_t found = 0;
    for (uint64_t i = 1; i <= 100; i++) {
        struct pl_slot *slot = pl_map_slot(&map, i << 40);
        if (!slot)
            break;
        assert_int_equal(pl_map_settle(slot, (uint32_t) i), i);
        found++;
    }
    assert_int_equal(found, 8 * PL_MAP_LEVELS);
    for (uint64_t i = 1; i <= found; i++)
        assert_int_equal(pl_map_slot(&map, i << 40)->id, i);
}

static void in_a_sandbox_only_the_reserved_room_is_available(void **state)
{
    (void) state;
    unsigned found = 0;
    pl_map_reserve(&map, 2);
    pl_memory_frozen = 1;
    for (uint64_t i = 1; i <= 100; i++)
        found += pl_map_slot(&map, i << 40) != NULL;
    pl_memory_frozen = 0;
    assert_int_equal(found, 16);
}

static uint32_t seen[THREADS][SHARED];

/* All threads use the same keys, in different orders, and each offers its own id for them. */
static void settle_shared(unsigned number)
{
    for (uint32_t i = 0; i < SHARED; i++) {
        uint32_t key = (i * 7919 + number * (SHARED / THREADS)) % SHARED;
        struct pl_slot *slot = pl_map_slot(&map, pl_hash(key, 2));
        seen[number][key] = slot ? pl_map_settle(slot, 1 + number * SHARED + key) : 0;
    }
}

static void threads_agree_on_every_id(void **state)
{
    (void) state;
    run_threads(THREADS, settle_shared);
    for (uint32_t key = 0; key < SHARED; key++) {
        assert_int_not_equal(seen[0][key], 0);
        assert_int_equal((seen[0][key] - 1) % SHARED, key);
        for (unsigned i = 1; i < THREADS; i++)
            assert_int_equal(seen[i][key], seen[0][key]);
    }
}

/* A kernel for AArch64 has pages of 4 KiB, or larger ones. */
static void a_table_that_is_expected_touches_no_memory_beside_it(void **state)
{
    (void) state;
    enum { PAGES = 48, FIRST = 17, COUNT = 2 };
    size_t page = (size_t) sysconf(_SC_PAGESIZE);
    unsigned char resident[PAGES];
    uint8_t *at = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(at, MAP_FAILED);
    pl_memory_keep_small(at, PAGES * page);
    pl_memory_expect(at + FIRST * page, COUNT * page);
    assert_int_equal(mincore(at, PAGES * page, resident), 0);
    for (unsigned i = 0; i < PAGES; i++)
        if (i < FIRST || i >= FIRST + COUNT)
            assert_false(resident[i] & 1);
    munmap(at, PAGES * page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_hash_has_one_slot, empty_map),
        cmocka_unit_test_setup(an_id_is_set_only_once, empty_map),
        cmocka_unit_test_setup(a_slot_left_without_an_id_gets_one_from_the_next_caller, empty_map),
        cmocka_unit_test_setup(every_key_is_found_again_while_the_map_grows, empty_map),
        cmocka_unit_test_setup(keys_without_a_tag_are_found, empty_map),
        cmocka_unit_test_setup(a_full_group_is_known_by_its_tags, empty_map),
        cmocka_unit_test_setup(keys_that_share_a_group_on_every_level_run_out_of_room_without_mix_up, empty_map),
        cmocka_unit_test_setup(in_a_sandbox_only_the_reserved_room_is_available, empty_map),
        cmocka_unit_test_setup(threads_agree_on_every_id, empty_map),
        cmocka_unit_test(a_table_that_is_expected_touches_no_memory_beside_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
