/* SPDX-License-Identifier: MIT */
/* test_blocks.c - tests blocks.h: every block has its own slot, wherever it lies; only touched pages cost memory; the
 * filter keeps the mark of every granule that holds a block. */
#include "core_tests.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "core/blocks/blocks.h"
#include "core/blocks/filter.h"
#include "core/memory.h"

#define PAGE 4096u
#define REGION (1ull << PL_REGION_SHIFT)
#define HEAP 0x7f1234000000u /* the start of a region */
#define ALIAS (1ull << PL_FILTER_ALIAS_BITS)
#define OVER_GLIBC 5
#define OVER_OTHERS 3
#define SLOTS_BYTES ((REGION >> OVER_GLIBC) * 8)
#define SLAB_BYTES (SLOTS_BYTES + (REGION >> PL_BLOCK_LARGE_SHIFT) * 8)
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

/* Runs `body` in a child, because it changes the whole process. */
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

static void an_address_has_no_slot_until_one_is_made_and_then_keeps_it(void **state)
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

static void blocks_a_granule_apart_have_different_slots(void **state)
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

static void adjacent_blocks_have_adjacent_slots(void **state)
{
    (void) state;
    for (uintptr_t at = HEAP + 48; at < HEAP + 32000; at += 32)
        assert_ptr_equal(make(at), make(at - 32) + 1); /* glibc's blocks begin 16 bytes into a granule */
    over(OVER_OTHERS);
    for (uintptr_t at = HEAP + 16; at < HEAP + 32000; at += 8)
        assert_ptr_equal(make(at), make(at - 16) + 1);
}

static void addresses_outside_of_user_space_are_refused(void **state)
{
    (void) state;
    const uintptr_t beyond[] = {1ull << PL_ARCH_ADDRESS_BITS, UINTPTR_MAX, 0xffff800000000000u};
    for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) {
        assert_null(pl_block_make(&blocks, beyond[i]));
        assert_null(pl_block_find(&blocks, beyond[i]));
    }
    assert_int_equal(blocks.mapped_bytes, 0);
    make((1ull << 47) - 16);
    make(0x1000);
}

static void the_slot_after_the_last_one_of_a_region_is_unused(void **state)
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

static void blocks_are_found_again_everywhere_in_the_address_space(void **state)
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
    return resident_pages(slab, SLOTS_BYTES) == 4;
}

static void a_slab_costs_only_the_pages_that_are_touched(void **state)
{
    (void) state;
    assert_true(is_sparse());
}

/* The size is in the next slot, as for blocks of exact mode. */
static void put_large_block(uintptr_t address)
{
    make(address);
    uint64_t *slot = pl_block_slot(&blocks, pl_block_slab(&blocks, address), address, PL_BLOCK_LARGE);
    slot[0] = 1ull << PL_BLOCK_TALLY_SHIFT | pl_block_within(address);
    slot[1] = PL_BLOCK_LARGE;
    pl_filter_mark_exact((void *) address);
}

static void large_blocks_take_a_sixteenth_of_the_heap(void **state)
{
    (void) state;
    const uint32_t shifts[] = {OVER_GLIBC, OVER_OTHERS};
    for (size_t i = 0; i < 2; i++) {
        over(shifts[i]);
        for (uintptr_t at = HEAP; at < HEAP + REGION; at += 272)
            put_large_block(at);
        const uint64_t *slab = pl_block_slab(&blocks, HEAP);
        assert_in_range(resident_pages(slab - PL_BLOCK_LARGE_SLOTS, PL_BLOCK_LARGE_SLOTS * 8), 1,
                        REGION / 16 / PAGE + 1);
        assert_int_equal(resident_pages(slab, SLOTS_BYTES), 0);
    }
}

static void each_large_block_is_found_at_its_address_and_no_other(void **state)
{
    (void) state;
    const uint32_t shifts[] = {OVER_GLIBC, OVER_OTHERS};
    bool large;
    for (size_t i = 0; i < 2; i++)
        for (uintptr_t step = 256; step < 700; step += 144) {
            over(shifts[i]);
            const uintptr_t start = HEAP + REGION - 100 * step;
            for (uintptr_t at = start; at < HEAP + REGION + 100 * step; at += step)
                put_large_block(at);
            for (uintptr_t at = start; at < HEAP + REGION + 100 * step; at += 8)
                assert_int_equal(pl_block_known(&blocks, at, &large) != NULL, (at - start) % step == 0);
        }
}

/* A raw system call: sanitizers turn mlockall() into nothing. */
static bool is_sparse_when_all_is_locked(void)
{
    return syscall(SYS_mlockall, MCL_FUTURE) != 0 || is_sparse();
}

static void a_slab_costs_no_more_when_the_program_locks_its_memory(void **state)
{
    (void) state;
    in_child(is_sparse_when_all_is_locked);
}

/* The limit does not apply to root, so the test becomes a user without privileges. */
static bool is_sparse_when_little_may_be_locked(void)
{
    const struct rlimit little = {1 << 20, 1 << 20};
    if (syscall(SYS_mlockall, MCL_FUTURE) != 0 || setrlimit(RLIMIT_MEMLOCK, &little))
        return true;
    return (geteuid() != 0 || setuid(65534) == 0) && is_sparse();
}

static void a_slab_can_be_mapped_even_if_it_exceeds_the_limit_of_locked_memory(void **state)
{
    (void) state;
    NEEDS_KERNEL();
    in_child(is_sparse_when_little_may_be_locked);
}

static uint64_t *held; /* like a slot held by a visit in which a signal handler forks */

static bool child_knows_nothing(void)
{
    return !pl_block_find(&blocks, HEAP) && *held == 0;
}

static void a_child_has_no_blocks_and_can_still_read_an_old_slot(void **state)
{
    (void) state;
    NEEDS_KERNEL();
    held = make(HEAP);
    *held = 1;
    in_child(child_knows_nothing);
    assert_int_equal(*held, 1);
}

static bool child_may_go_on(void)
{
    pl_block_abandon(); /* as a child does that starts to record */
    return *held == 0;
}

static void a_child_that_records_can_still_read_a_slot_of_its_parent(void **state)
{
    (void) state;
    NEEDS_KERNEL();
    held = make(HEAP);
    *held = 1;
    in_child(child_may_go_on);
}

static bool is_mapped(const uint64_t *slot)
{
    uint8_t resident;
    return mincore((void *) ((uintptr_t) slot & -(uintptr_t) PAGE), PAGE, &resident) == 0;
}

static bool grandchild_has_unmapped(void)
{
    pl_block_abandon();
    return !is_mapped(held);
}

static bool child_has_a_child(void)
{
    pl_block_abandon();
    in_child(grandchild_has_unmapped);
    return is_mapped(held);
}

static void slabs_of_ancestors_do_not_add_up(void **state)
{
    (void) state;
    held = make(HEAP);
    in_child(child_has_a_child);
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
    for (int i = 0; i < 2000; i++) /* after a failure it does not retry on every call */
        if (pl_block_make(&blocks, HEAP + REGION))
            return i > 100;
    return false;
}

static void a_slab_that_could_not_be_mapped_is_mapped_later(void **state)
{
    (void) state;
    NEEDS_KERNEL();
    make(HEAP);
    in_child(is_refused_until_there_is_room);
}

/* The limit is larger than what sanitizers map. Most of our share counts as used already. */
static bool leaves_most_to_the_program(void)
{
    const uint64_t limit = 1ull << 46;
    blocks.mapped_bytes = limit / 8 - SLAB_BYTES * 3 / 2;
    return limit_address_space(limit) && pl_block_make(&blocks, HEAP) && !pl_block_make(&blocks, HEAP + REGION);
}

static void slabs_take_at_most_an_eighth_of_a_limited_address_space(void **state)
{
    (void) state;
    NEEDS_KERNEL();
    in_child(leaves_most_to_the_program);
}

static void in_a_sandbox_the_reserved_slabs_are_used(void **state)
{
    (void) state;
    make(HEAP);
    pl_block_reserve(&blocks);
    pl_block_reserve(&blocks); /* does not reserve more than PL_BLOCK_SPARES */
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

/* The tables that lead to slabs span 32 GiB each: the heap may begin in one and go on in the next. */
static void in_a_sandbox_blocks_near_the_end_of_a_table_are_followed(void **state)
{
    (void) state;
    const uintptr_t spanned = (uintptr_t) 1 << 35, mib = 1 << 20,
                    reserved[] = {2 * spanned - mib, 4 * spanned + mib, 3 * mib};
    pl_block_reserve(&blocks);
    for (unsigned i = 0; i < 3; i++)
        pl_block_reserve_near(&blocks, reserved[i]);
    pl_memory_frozen = 1;
    assert_non_null(pl_block_make(&blocks, 2 * spanned + mib));
    assert_non_null(pl_block_make(&blocks, 4 * spanned - mib));
    assert_non_null(pl_block_make(&blocks, 4 * mib));
}

/* In seccomp's strict mode any system call but this exit kills. */
static bool asks_nobody(void)
{
    bool right = true;
    pl_memory_frozen = 1;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
        return true;
    for (uintptr_t i = 1; i <= PL_BLOCK_SPARES + 2; i++)
        right &= (pl_block_make(&blocks, HEAP + i * REGION) != NULL) == (i <= PL_BLOCK_SPARES);
    pl_filter_mark_exact((void *) HEAP);
    pl_block_sift(&blocks, HEAP);
    syscall(SYS_exit, right ? 0 : 1);
    return false;
}

static void in_a_sandbox_no_system_call_is_made(void **state)
{
    (void) state;
    make(HEAP);
    pl_block_reserve(&blocks);
    in_child(asks_nobody);
}

/* ---- threads ---- */

#define TOGETHER (PL_BLOCK_SPARES - THREADS + 1) /* regions: each other thread may hold a spare slab meanwhile */

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
        assert_int_equal(blocks.mapped_bytes / SLAB_BYTES, TOGETHER + spares()); /* no slab is lost */
    }
}

static void threads_in_a_sandbox_agree_on_a_slab(void **state)
{
    (void) state;
    make(HEAP - REGION); /* the table of slabs must exist already */
    pl_block_reserve(&blocks);
    pl_memory_frozen = 1;
    run_threads(THREADS, make_the_same);
    they_saw_the_same();
    assert_int_equal(spares(), PL_BLOCK_SPARES - TOGETHER);
}

/* ---- the filter ---- */

#define GRANULE (1u << PL_FILTER_SHIFT)
#define PART (1u << PL_BLOCK_MASK_SHIFT)
#define A_BLOCK (1ull << PL_BLOCK_TALLY_SHIFT | 40)

static unsigned filter_at(uintptr_t address)
{
    return load_relaxed(pl_filter_byte((const void *) address));
}

/* As exact mode does it, and a free after exact mode has ended. */
static void put_block(uintptr_t address)
{
    *make(address) = A_BLOCK;
    pl_filter_mark_exact((void *) address);
}

static void take_block(uintptr_t address)
{
    *make(address) = 0;
    if (filter_at(address) == PL_FILTER_MASKED)
        pl_block_unmask(&blocks, address);
}

static bool may_be_at(uintptr_t address)
{
    unsigned byte = filter_at(address);
    return byte == PL_FILTER_MASKED ? pl_block_may_be_left(&blocks, address) : byte >= PL_FILTER_EXACT;
}

static void a_mask_excludes_all_of_its_granule_but_its_blocks(void **state)
{
    (void) state;
    const uint32_t shifts[] = {OVER_GLIBC, OVER_OTHERS};
    const uintptr_t at = HEAP + 5 * GRANULE;
    for (size_t i = 0; i < 2; i++) {
        over(shifts[i]);
        for (uintptr_t place = at; place < at + GRANULE; place += 8) {
            put_block(place);
            pl_block_sift(&blocks, at + GRANULE / 2);
            assert_int_equal(filter_at(at), PL_FILTER_MASKED);
            for (uintptr_t other = at; other < at + GRANULE; other += 8)
                assert_int_equal(may_be_at(other), other / PART == place / PART);
            assert_true(filter_at(at - 1) == 0 && filter_at(at + GRANULE) == 0);
            take_block(place);
            assert_int_equal(filter_at(at), 0);
        }
    }
}

/* With slots of 8 bytes, four blocks share a bit. */
static void a_bit_stays_until_its_last_block_is_gone(void **state)
{
    (void) state;
    over(OVER_OTHERS);
    for (uintptr_t at = HEAP; at < HEAP + PART; at += 8)
        put_block(at);
    pl_block_sift(&blocks, HEAP);
    for (uintptr_t at = HEAP; at < HEAP + PART; at += 8) {
        assert_true(may_be_at(at));
        take_block(at);
        assert_int_equal(filter_at(HEAP), at + 8 < HEAP + PART ? PL_FILTER_MASKED : 0);
    }
}

/* The second slot of a large block holds its size. */
static void the_size_of_a_large_block_is_not_a_block(void **state)
{
    (void) state;
    put_block(HEAP);
    make(HEAP)[1] = 1ull << 40;
    pl_block_sift(&blocks, HEAP);
    assert_true(may_be_at(HEAP) && !may_be_at(HEAP + PART));
}

static void take_large_block(uintptr_t address)
{
    bool large;
    uint64_t *slot = pl_block_known(&blocks, address, &large);
    assert_true(slot && large);
    slot[0] = slot[1] = 0;
    if (filter_at(address) == PL_FILTER_MASKED)
        pl_block_unmask(&blocks, address);
}

static void a_mask_has_large_blocks_too(void **state)
{
    (void) state;
    const uint32_t shifts[] = {OVER_GLIBC, OVER_OTHERS};
    const uintptr_t at = HEAP + 5 * GRANULE;
    for (size_t i = 0; i < 2; i++) {
        over(shifts[i]);
        for (uintptr_t place = at; place < at + GRANULE; place += 16) {
            put_large_block(place);
            pl_block_sift(&blocks, at + GRANULE / 2);
            for (uintptr_t other = at; other < at + GRANULE; other += 8)
                assert_int_equal(may_be_at(other), other / PART == place / PART);
            take_large_block(place);
            assert_int_equal(filter_at(at), 0);
        }
    }
}

/* Over other allocators, a small block and a large one may share a bit. */
static void a_bit_stays_for_the_large_block_when_the_small_one_is_gone(void **state)
{
    (void) state;
    over(OVER_OTHERS);
    for (int small_first = 0; small_first < 2; small_first++) {
        put_block(HEAP);
        put_large_block(HEAP + 16);
        pl_block_sift(&blocks, HEAP);
        if (small_first)
            take_block(HEAP);
        else
            take_large_block(HEAP + 16);
        assert_true(may_be_at(HEAP) && filter_at(HEAP) == PL_FILTER_MASKED);
        if (small_first)
            take_large_block(HEAP + 16);
        else
            take_block(HEAP);
        assert_int_equal(filter_at(HEAP), 0);
    }
}

static void granules_that_share_a_filter_byte_each_have_a_mask(void **state)
{
    (void) state;
    const uintptr_t far[] = {HEAP + ALIAS, HEAP - 3 * ALIAS, HEAP % ALIAS, HEAP % ALIAS + 0x550000000000u};
    for (size_t i = 0; i < sizeof far / sizeof *far; i++) {
        empty_table(NULL);
        put_block(HEAP);
        put_block(far[i] + PART);
        put_block(HEAP + GRANULE);
        put_block(HEAP + REGION);
        pl_block_sift(&blocks, HEAP);
        assert_true(may_be_at(HEAP) && may_be_at(far[i] + PART));
        assert_true(!may_be_at(HEAP + PART) && !may_be_at(far[i]));
        assert_true(filter_at(HEAP + GRANULE) == PL_FILTER_EXACT && filter_at(HEAP + REGION) == PL_FILTER_EXACT);
        take_block(HEAP);
        assert_int_equal(filter_at(HEAP), PL_FILTER_MASKED);
        take_block(far[i] + PART);
        assert_int_equal(filter_at(HEAP), 0);
    }
}

static void a_block_added_after_a_sift_is_seen_and_so_are_the_older_ones(void **state)
{
    (void) state;
    put_block(HEAP);
    put_block(HEAP + 4 * PART);
    pl_block_sift(&blocks, HEAP);
    take_block(HEAP + 4 * PART);
    put_block(HEAP + 8 * PART); /* exact mode has returned */
    assert_true(may_be_at(HEAP) && may_be_at(HEAP + 8 * PART));
    pl_block_sift(&blocks, HEAP); /* and was left again */
    assert_true(may_be_at(HEAP) && may_be_at(HEAP + 8 * PART) && !may_be_at(HEAP + 4 * PART));
}

static void the_filter_keeps_samples(void **state)
{
    (void) state;
    make(HEAP);
    pl_filter_add((void *) HEAP);
    pl_block_sift(&blocks, HEAP);
    assert_int_equal(filter_at(HEAP), pl_filter_place((void *) HEAP));
    pl_filter_mark_exact((void *) HEAP);
    pl_block_sift(&blocks, HEAP);
    assert_int_equal(filter_at(HEAP), PL_FILTER_PLACES + 1); /* its place in the granule is lost, the count is kept */
    put_block(HEAP + PART);
    pl_block_sift(&blocks, HEAP);
    assert_int_equal(filter_at(HEAP), PL_FILTER_EXACT + 1); /* both tables must be asked */
}

#define SHARED 64 /* granules: each part of them has a block of one of the threads */

static uint64_t hidden;

static void sift_and_take(unsigned number)
{
    uint64_t wrong = 0;
    for (uintptr_t at = HEAP + number * PART; at < HEAP + SHARED * GRANULE; at += THREADS * PART) {
        pl_block_sift(&blocks, at);
        wrong += !may_be_at(at);
        take_block(at);
    }
    fetch_add(&hidden, wrong);
}

static void no_block_is_hidden_while_threads_sift_and_free_beside_it(void **state)
{
    (void) state;
    hidden = 0;
    for (int round = 0; round < 20; round++) {
        for (uintptr_t at = HEAP; at < HEAP + SHARED * GRANULE; at += PART)
            put_block(at);
        run_threads(THREADS, sift_and_take);
        assert_int_equal(hidden, 0);
        for (uintptr_t at = HEAP; at < HEAP + SHARED * GRANULE; at += GRANULE) {
            pl_block_sift(&blocks, at);
            assert_int_equal(filter_at(at), 0);
        }
    }
}

static uint64_t *mask_of_parent;
static bool starts_without_masks(void)
{
    return load_relaxed(mask_of_parent) == 0;
}

static void fork_wipes_masks(void **state)
{
    (void) state;
    NEEDS_KERNEL();
    put_block(HEAP);
    pl_block_sift(&blocks, HEAP);
    mask_of_parent = pl_block_mask(pl_block_slab(&blocks, HEAP), HEAP);
    assert_int_equal(load_relaxed(mask_of_parent), 1);
    in_child(starts_without_masks);
}

/* ---- times ---- */

#define UNITS_PER_HOUR (3600ull * 1000000 * 10 / 16) /* about: a unit takes some 1.6 us */

static void a_time_is_stored_exactly_for_three_hours(void **state)
{
    (void) state;
    for (uint64_t units = 0; units < 3 * UNITS_PER_HOUR; units += units / 7 + 1)
        assert_int_equal(pl_block_time_units(pl_block_time_stored(units)), units);
}

static void a_time_does_not_wrap_for_years_and_is_never_later(void **state)
{
    (void) state;
    uint64_t before = 0;
    for (uint64_t units = 1; units < 5 * 365 * 24 * UNITS_PER_HOUR; units += units / 7 + 1) {
        uint64_t stored = pl_block_time_stored(units), again = pl_block_time_units(stored);
        assert_true(stored <= PL_BLOCK_TIME_MASK);
        assert_true(again <= units && units - again <= units >> PL_BLOCK_TIME_DIGITS);
        assert_true(stored > before);
        assert_int_equal(pl_block_time_stored(again), stored); /* a failed realloc stores it again */
        before = stored;
    }
    assert_int_equal(pl_block_time_stored(UINT64_MAX), PL_BLOCK_TIME_MASK);
}

/* Where the representation changes. */
static void times_around_a_power_of_two_are_in_order(void **state)
{
    (void) state;
    for (unsigned bits = 30; bits < 47; bits++) {
        uint64_t power = 1ull << bits;
        assert_int_equal(pl_block_time_units(pl_block_time_stored(power)), power);
        assert_true(pl_block_time_stored(power - 1) < pl_block_time_stored(power));
        assert_int_equal(pl_block_time_units(pl_block_time_stored(power - 1)) >> 16, (power - 1) >> 16);
    }
}

/* ---- giving back ---- */

static bool is_resident(const uint64_t *slot)
{
    uint8_t resident = 0;
    assert_int_equal(mincore((void *) ((uintptr_t) slot & -(uintptr_t) PAGE), PAGE, &resident), 0);
    return resident & 1;
}

/* Enough calls for every slab that this process has ever mapped. */
static void give_all_back(void)
{
    for (unsigned i = 0; i < 2048u * 20; i++)
        pl_block_give_back(&blocks);
}

static void pages_of_slots_without_a_block_are_given_back(void **state)
{
    (void) state;
    NEEDS_KERNEL();
    const uintptr_t step = 512 * 32; /* the heap of a page of slots */
    for (uintptr_t at = HEAP; at < HEAP + REGION; at += step)
        put_block(at + 32 * (at / step % 512));
    for (uintptr_t at = HEAP; at < HEAP + REGION; at += step)
        if (at / step % 3)
            *make(at + 32 * (at / step % 512)) = 0;
    give_all_back();
    for (uintptr_t at = HEAP; at < HEAP + REGION; at += step) {
        uint64_t *slot = make(at + 32 * (at / step % 512));
        assert_int_equal(is_resident(slot), at / step % 3 == 0);
        assert_int_equal(*slot, at / step % 3 ? 0 : A_BLOCK);
    }
    put_block(HEAP + 32 * 600); /* a page that was given back can be used again */
    assert_int_equal(*make(HEAP + 32 * 600), A_BLOCK);
}

/* malloc calls madvise(), so a filter that a service is started with allows it; other calls may kill. */
static bool gives_back_by_madvise_alone(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    put_block(HEAP);
    *make(HEAP) = 0;
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        return true;
    give_all_back();
    syscall(SYS_exit_group, 0);
    return false;
}

static void only_madvise_is_called_to_give_back(void **state)
{
    (void) state;
    in_child(gives_back_by_madvise_alone);
}

static void masks_are_kept_when_slots_are_given_back(void **state)
{
    (void) state;
    put_block(HEAP);
    pl_block_sift(&blocks, HEAP);
    give_all_back();
    assert_true(may_be_at(HEAP) && filter_at(HEAP) == PL_FILTER_MASKED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_address_has_no_slot_until_one_is_made_and_then_keeps_it, empty_table),
        cmocka_unit_test_setup(blocks_a_granule_apart_have_different_slots, empty_table),
        cmocka_unit_test_setup(adjacent_blocks_have_adjacent_slots, empty_table),
        cmocka_unit_test_setup(addresses_outside_of_user_space_are_refused, empty_table),
        cmocka_unit_test_setup(the_slot_after_the_last_one_of_a_region_is_unused, empty_table),
        cmocka_unit_test_setup(blocks_are_found_again_everywhere_in_the_address_space, empty_table),
        cmocka_unit_test_setup(a_slab_costs_only_the_pages_that_are_touched, empty_table),
        cmocka_unit_test_setup(large_blocks_take_a_sixteenth_of_the_heap, empty_table),
        cmocka_unit_test_setup(each_large_block_is_found_at_its_address_and_no_other, empty_table),
        cmocka_unit_test_setup(a_slab_costs_no_more_when_the_program_locks_its_memory, empty_table),
        cmocka_unit_test_setup(a_slab_can_be_mapped_even_if_it_exceeds_the_limit_of_locked_memory, empty_table),
        cmocka_unit_test_setup(a_child_has_no_blocks_and_can_still_read_an_old_slot, empty_table),
        cmocka_unit_test_setup(a_child_that_records_can_still_read_a_slot_of_its_parent, empty_table),
        cmocka_unit_test_setup(slabs_of_ancestors_do_not_add_up, empty_table),
        cmocka_unit_test_setup(a_slab_that_could_not_be_mapped_is_mapped_later, empty_table),
        cmocka_unit_test_setup(slabs_take_at_most_an_eighth_of_a_limited_address_space, empty_table),
        cmocka_unit_test_setup(in_a_sandbox_the_reserved_slabs_are_used, empty_table),
        cmocka_unit_test_setup(in_a_sandbox_blocks_near_the_end_of_a_table_are_followed, empty_table),
        cmocka_unit_test_setup(in_a_sandbox_no_system_call_is_made, empty_table),
        cmocka_unit_test_setup(threads_agree_on_a_slab, empty_table),
        cmocka_unit_test_setup(threads_in_a_sandbox_agree_on_a_slab, empty_table),
        cmocka_unit_test_setup(a_mask_excludes_all_of_its_granule_but_its_blocks, empty_table),
        cmocka_unit_test_setup(a_bit_stays_until_its_last_block_is_gone, empty_table),
        cmocka_unit_test_setup(the_size_of_a_large_block_is_not_a_block, empty_table),
        cmocka_unit_test_setup(a_mask_has_large_blocks_too, empty_table),
        cmocka_unit_test_setup(a_bit_stays_for_the_large_block_when_the_small_one_is_gone, empty_table),
        cmocka_unit_test_setup(granules_that_share_a_filter_byte_each_have_a_mask, empty_table),
        cmocka_unit_test_setup(a_block_added_after_a_sift_is_seen_and_so_are_the_older_ones, empty_table),
        cmocka_unit_test_setup(the_filter_keeps_samples, empty_table),
        cmocka_unit_test_setup(no_block_is_hidden_while_threads_sift_and_free_beside_it, empty_table),
        cmocka_unit_test_setup(fork_wipes_masks, empty_table),
        cmocka_unit_test(a_time_is_stored_exactly_for_three_hours),
        cmocka_unit_test(a_time_does_not_wrap_for_years_and_is_never_later),
        cmocka_unit_test(times_around_a_power_of_two_are_in_order),
        cmocka_unit_test_setup(pages_of_slots_without_a_block_are_given_back, empty_table),
        cmocka_unit_test_setup(masks_are_kept_when_slots_are_given_back, empty_table),
        cmocka_unit_test_setup(only_madvise_is_called_to_give_back, empty_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
