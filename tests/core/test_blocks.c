/* SPDX-License-Identifier: MIT */
/* test_blocks.c - what blocks.h promises: every block has a slot of its own, wherever it lies, at the price of the
 * pages that are touched, and the filter forgets no granule that holds one. */
#include "support.h"

#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "blocks.h"
#include "filter.h"
#include "memory.h"

#define PAGE 4096u
#define REGION (1ull << PL_REGION_SHIFT)
#define HEAP 0x7f1234000000u /* where a region begins */
#define ALIAS (1ull << PL_FILTER_ALIAS_BITS)
#define OVER_GLIBC 5
#define OVER_OTHERS 3
#define SLAB_BYTES ((REGION >> OVER_GLIBC) * 8)
#define THREADS 4
#define BLOCKS 100000

static struct pl_blocks blocks;

static int empty_table(void **state)
{
    (void) state;
    memset(&blocks, 0, sizeof blocks);
    memset(pl_filter, 0, sizeof pl_filter);
    blocks.granule_shift = OVER_GLIBC;
    pl_memory_frozen = 0;
    return 0;
}

static uint64_t *make(uintptr_t address)
{
    uint64_t *slot = pl_block_make(&blocks, address);
    assert_non_null(slot);
    return slot;
}

/* What happens to a process as a whole happens to a child. */
static void in_child(bool (*body)(void))
{
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        _exit(body() ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- slots ---- */

static void an_address_has_no_slot_before_one_is_made_and_then_always_the_same(void **state)
{
    (void) state;
    assert_null(pl_block_find(&blocks, HEAP));
    uint64_t *slot = make(HEAP + 0x12340);
    assert_int_equal(*slot, 0);
    assert_ptr_equal(pl_block_find(&blocks, HEAP + 0x12340), slot);
    assert_ptr_equal(make(HEAP + 0x12340), slot);
    assert_null(pl_block_find(&blocks, HEAP + REGION));
    assert_null(pl_block_find(&blocks, HEAP + (REGION << PL_REGION_LOW_BITS)));
}

static void over(uint32_t granule_shift)
{
    empty_table(NULL);
    blocks.granule_shift = granule_shift;
}

static void blocks_a_granule_apart_have_slots_of_their_own(void **state)
{
    (void) state;
    const uint32_t shifts[] = {OVER_GLIBC, OVER_OTHERS};
    for (size_t i = 0; i < 2; i++) {
        over(shifts[i]);
        for (uintptr_t n = 0; n < 20000; n++)
            *make(HEAP + REGION - 10000 * 16 + (n << shifts[i])) = n + 1;
        for (uintptr_t n = 0; n < 20000; n++)
            assert_int_equal(*make(HEAP + REGION - 10000 * 16 + (n << shifts[i])), n + 1);
    }
}

static void blocks_next_to_each_other_have_slots_next_to_each_other(void **state)
{
    (void) state;
    for (uintptr_t at = HEAP + 48; at < HEAP + 32000; at += 32)
        assert_ptr_equal(make(at), make(at - 32) + 1); /* where glibc's begin: 16 bytes into a granule */
    over(OVER_OTHERS);
    for (uintptr_t at = HEAP + 16; at < HEAP + 32000; at += 8)
        assert_ptr_equal(make(at), make(at - 16) + 1);
}

static void addresses_no_program_has_are_refused(void **state)
{
    (void) state;
    const uintptr_t beyond[] = {1ull << 47, UINTPTR_MAX, 0xffff800000000000u};
    for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) {
        assert_null(pl_block_make(&blocks, beyond[i]));
        assert_null(pl_block_find(&blocks, beyond[i]));
    }
    assert_int_equal(blocks.mapped_bytes, 0);
    make((1ull << 47) - 16);
    make(0x1000);
}

static void the_last_slot_of_a_region_has_one_behind_it_that_is_nobody_elses(void **state)
{
    (void) state;
    const uint32_t shifts[] = {OVER_GLIBC, OVER_OTHERS, OVER_OTHERS};
    const uintptr_t ends[] = {16, 16, 8};
    for (size_t i = 0; i < 3; i++) {
        over(shifts[i]);
        uint64_t *last = make(HEAP + REGION - ends[i]);
        last[1] = 1000;
        for (uintptr_t at = HEAP; at < HEAP + 64; at += 8)
            *make(at) = *make(at + REGION) = 7;
        assert_int_equal(last[1], 1000);
        assert_true((uintptr_t) &last[2] - (uintptr_t) make(HEAP) <= blocks.mapped_bytes / 2);
    }
}

static void all_blocks_are_found_again_all_over_the_address_space(void **state)
{
    (void) state;
    uint64_t random = 1;
    static uintptr_t address[BLOCKS];
    for (unsigned i = 0; i < BLOCKS; i++) {
        uintptr_t region = (HEAP & ~(ALIAS * 16 - 1)) + draw(&random, 64) * (REGION << 6) + i % 4 * REGION;
        address[i] = region + (uintptr_t) i * 64 + draw(&random, 2) * 16;
        *make(address[i]) = i + 1;
    }
    for (unsigned i = 0; i < BLOCKS; i++)
        assert_int_equal(*pl_block_find(&blocks, address[i]), i + 1);
}

/* ---- memory ---- */

static long resident_pages(const uint64_t *slab, size_t bytes)
{
    static unsigned char there[SLAB_BYTES / PAGE];
    long pages = 0;
    if (mincore((void *) (uintptr_t) slab, bytes, there))
        return -1;
    for (size_t i = 0; i < bytes / PAGE; i++)
        pages += there[i] & 1;
    return pages;
}

static bool is_sparse(void)
{
    uint64_t *slab = pl_block_make(&blocks, HEAP);
    if (!slab)
        return false;
    for (unsigned i = 0; i < 4; i++)
        *pl_block_find(&blocks, HEAP + i * (REGION / 4)) = 1;
    return resident_pages(slab, SLAB_BYTES) == 4;
}

static void a_slab_takes_the_pages_that_are_touched(void **state)
{
    (void) state;
    assert_true(is_sparse());
}

/* Raw: sanitizers make mlockall do nothing. */
static bool is_sparse_when_all_is_locked(void)
{
    return syscall(SYS_mlockall, MCL_FUTURE) != 0 || is_sparse();
}

static void a_slab_takes_no_more_when_the_program_locks_its_memory(void **state)
{
    (void) state;
    in_child(is_sparse_when_all_is_locked);
}

/* Root may lock what it likes, and nobody else's limit is for us to lift: only a user without rights sees it. */
static bool is_sparse_when_little_may_be_locked(void)
{
    const struct rlimit little = {1 << 20, 1 << 20};
    if (syscall(SYS_mlockall, MCL_FUTURE) != 0 || setrlimit(RLIMIT_MEMLOCK, &little))
        return true;
    return (geteuid() != 0 || setuid(65534) == 0) && is_sparse();
}

static void a_slab_is_to_be_had_where_it_could_not_be_locked(void **state)
{
    (void) state;
    in_child(is_sparse_when_little_may_be_locked);
}

static uint64_t *held; /* as by a signal handler that forked, and returns into the middle of a visit */

static bool child_knows_nothing(void)
{
    return !pl_block_find(&blocks, HEAP) && *held == 0;
}

static void a_child_knows_nothing_and_may_still_read_a_slot(void **state)
{
    (void) state;
    held = make(HEAP);
    *held = 1;
    in_child(child_knows_nothing);
    assert_int_equal(*held, 1);
}

/* ---- no memory ---- */

static bool limit_address_space(uint64_t bytes)
{
    struct rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = bytes;
    return setrlimit(RLIMIT_AS, &limit) == 0;
}

static bool is_refused_until_there_is_room(void)
{
    const uint64_t before = blocks.mapped_bytes;
    if (!limit_address_space(1 << 20) || pl_block_make(&blocks, HEAP + REGION) || blocks.mapped_bytes != before)
        return false;
    if (!limit_address_space(RLIM_INFINITY))
        return false;
    for (int i = 0; i < 2000; i++) /* it does not ask each time */
        if (pl_block_make(&blocks, HEAP + REGION))
            return i > 100;
    return false;
}

static void without_room_there_is_no_slab_and_later_there_is(void **state)
{
    (void) state;
    make(HEAP);
    in_child(is_refused_until_there_is_room);
}

/* More than sanitizers take for themselves; most of our share is taken as used. */
static bool leaves_most_to_the_program(void)
{
    const uint64_t limit = 1ull << 46;
    blocks.mapped_bytes = limit / 8 - SLAB_BYTES * 3 / 2;
    return limit_address_space(limit) && pl_block_make(&blocks, HEAP) && !pl_block_make(&blocks, HEAP + REGION);
}

static void slabs_take_an_eighth_of_a_bounded_address_space(void **state)
{
    (void) state;
    in_child(leaves_most_to_the_program);
}

static void a_sandbox_has_the_slabs_that_were_laid_in(void **state)
{
    (void) state;
    make(HEAP);
    pl_block_reserve(&blocks);
    pl_block_reserve(&blocks); /* no more than there is a place for */
    const uint64_t mapped = blocks.mapped_bytes;
    assert_int_equal(mapped / SLAB_BYTES, 1 + PL_BLOCK_SPARES);
    pl_memory_frozen = 1;
    for (uintptr_t i = 1; i <= PL_BLOCK_SPARES; i++)
        *make(HEAP + i * REGION) = i;
    assert_null(pl_block_make(&blocks, HEAP + (PL_BLOCK_SPARES + 1) * REGION));
    assert_int_equal(blocks.mapped_bytes, mapped);
    for (uintptr_t i = 1; i <= PL_BLOCK_SPARES; i++)
        assert_int_equal(*pl_block_find(&blocks, HEAP + i * REGION), i);
}

/* Strict: any system call but this exit kills. */
static bool asks_nobody(void)
{
    bool right = true;
    pl_memory_frozen = 1;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
        return true;
    for (uintptr_t i = 1; i <= PL_BLOCK_SPARES + 2; i++)
        right &= (pl_block_make(&blocks, HEAP + i * REGION) != NULL) == (i <= PL_BLOCK_SPARES);
    pl_filter_mark_exact((void *) HEAP);
    pl_block_forget_near(&blocks, HEAP);
    syscall(SYS_exit, right ? 0 : 1);
    return false;
}

static void in_a_sandbox_there_is_no_system_call(void **state)
{
    (void) state;
    make(HEAP);
    pl_block_reserve(&blocks);
    in_child(asks_nobody);
}

/* ---- threads ---- */

#define TOGETHER (PL_BLOCK_SPARES - THREADS + 1) /* regions: the others may each have a spare in hand meanwhile */

static uint64_t *seen[THREADS][TOGETHER];

static void make_the_same(unsigned number)
{
    for (uintptr_t i = 0; i < TOGETHER; i++)
        seen[number][i] = pl_block_make(&blocks, HEAP + i * REGION);
}

static void they_saw_the_same(void)
{
    for (unsigned n = 0; n < THREADS; n++)
        for (unsigned i = 0; i < TOGETHER; i++) {
            assert_non_null(seen[n][i]);
            assert_ptr_equal(seen[n][i], seen[0][i]);
        }
}

static unsigned spares(void)
{
    unsigned count = 0;
    for (unsigned i = 0; i < PL_BLOCK_SPARES; i++)
        count += blocks.spare[i] != NULL;
    return count;
}

static void threads_agree_on_a_slab(void **state)
{
    (void) state;
    for (int round = 0; round < 20; round++) {
        empty_table(NULL);
        run_threads(THREADS, make_the_same);
        they_saw_the_same();
        assert_int_equal(blocks.mapped_bytes / SLAB_BYTES, TOGETHER + spares()); /* none is lost */
    }
}

static void threads_in_a_sandbox_agree_on_a_slab(void **state)
{
    (void) state;
    make(HEAP - REGION); /* the table of slabs is there */
    pl_block_reserve(&blocks);
    pl_memory_frozen = 1;
    run_threads(THREADS, make_the_same);
    they_saw_the_same();
    assert_int_equal(spares(), PL_BLOCK_SPARES - TOGETHER);
}

/* ---- the filter ---- */

static bool any(uintptr_t address)
{
    return pl_block_any_near(&blocks, address, PL_FILTER_SHIFT);
}

static void a_block_is_near_all_addresses_of_its_granule_of_the_filter(void **state)
{
    (void) state;
    const uint32_t shifts[] = {OVER_GLIBC, OVER_OTHERS};
    const uintptr_t granule = 1u << PL_FILTER_SHIFT, at = HEAP + 5 * granule;
    for (size_t i = 0; i < 2; i++) {
        over(shifts[i]);
        assert_false(any(at));
        for (uintptr_t place = at; place < at + granule; place += 8) {
            *make(place) = 1;
            assert_true(any(at) && any(at + granule / 2) && any(at + granule - 1));
            assert_false(any(at - 1) || any(at + granule));
            *make(place) = 0;
            assert_false(any(at));
        }
    }
}

static void a_block_that_shares_the_filters_byte_is_near(void **state)
{
    (void) state;
    const uintptr_t far[] = {HEAP + ALIAS, HEAP - 3 * ALIAS, HEAP % ALIAS, HEAP % ALIAS + 0x550000000000u};
    make(HEAP);
    for (size_t i = 0; i < sizeof far / sizeof *far; i++) {
        assert_ptr_equal(pl_filter_byte((void *) far[i]), pl_filter_byte((void *) HEAP));
        *make(far[i] + 64) = 1;
        assert_true(any(HEAP));
        assert_false(any(HEAP + (1u << PL_FILTER_SHIFT)) || any(HEAP + REGION) || any(HEAP + ALIAS / 2));
        *make(far[i] + 64) = 0;
    }
    assert_false(any(HEAP));
}

static unsigned filter_at(uintptr_t address)
{
    return load_relaxed(pl_filter_byte((const void *) address));
}

static void the_filter_forgets_a_granule_when_its_last_block_is_gone(void **state)
{
    (void) state;
    *make(HEAP) = *make(HEAP + 0x400) = *make(HEAP + ALIAS) = 1;
    pl_filter_mark_exact((void *) HEAP);
    const uintptr_t order[] = {HEAP, HEAP + 0x400, HEAP + ALIAS};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        pl_block_forget_near(&blocks, HEAP + 0x200);
        assert_int_equal(filter_at(HEAP), PL_FILTER_EXACT);
        *make(order[i]) = 0;
    }
    pl_block_forget_near(&blocks, HEAP + 0x200);
    assert_int_equal(filter_at(HEAP), 0);
}

static void the_filter_does_not_forget_what_may_be_a_sample(void **state)
{
    (void) state;
    make(HEAP);
    pl_filter_add((void *) HEAP);
    pl_block_forget_near(&blocks, HEAP);
    assert_int_equal(filter_at(HEAP), pl_filter_place((void *) HEAP));
    pl_filter_mark_exact((void *) HEAP);
    pl_block_forget_near(&blocks, HEAP);
    assert_int_equal(filter_at(HEAP), PL_FILTER_PLACES + 1); /* where it was is not known any more */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_address_has_no_slot_before_one_is_made_and_then_always_the_same, empty_table),
        cmocka_unit_test_setup(blocks_a_granule_apart_have_slots_of_their_own, empty_table),
        cmocka_unit_test_setup(blocks_next_to_each_other_have_slots_next_to_each_other, empty_table),
        cmocka_unit_test_setup(addresses_no_program_has_are_refused, empty_table),
        cmocka_unit_test_setup(the_last_slot_of_a_region_has_one_behind_it_that_is_nobody_elses, empty_table),
        cmocka_unit_test_setup(all_blocks_are_found_again_all_over_the_address_space, empty_table),
        cmocka_unit_test_setup(a_slab_takes_the_pages_that_are_touched, empty_table),
        cmocka_unit_test_setup(a_slab_takes_no_more_when_the_program_locks_its_memory, empty_table),
        cmocka_unit_test_setup(a_slab_is_to_be_had_where_it_could_not_be_locked, empty_table),
        cmocka_unit_test_setup(a_child_knows_nothing_and_may_still_read_a_slot, empty_table),
        cmocka_unit_test_setup(without_room_there_is_no_slab_and_later_there_is, empty_table),
        cmocka_unit_test_setup(slabs_take_an_eighth_of_a_bounded_address_space, empty_table),
        cmocka_unit_test_setup(a_sandbox_has_the_slabs_that_were_laid_in, empty_table),
        cmocka_unit_test_setup(in_a_sandbox_there_is_no_system_call, empty_table),
        cmocka_unit_test_setup(threads_agree_on_a_slab, empty_table),
        cmocka_unit_test_setup(threads_in_a_sandbox_agree_on_a_slab, empty_table),
        cmocka_unit_test_setup(a_block_is_near_all_addresses_of_its_granule_of_the_filter, empty_table),
        cmocka_unit_test_setup(a_block_that_shares_the_filters_byte_is_near, empty_table),
        cmocka_unit_test_setup(the_filter_forgets_a_granule_when_its_last_block_is_gone, empty_table),
        cmocka_unit_test_setup(the_filter_does_not_forget_what_may_be_a_sample, empty_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
