/* SPDX-License-Identifier: MIT */
/*
 * test_cold.c - the cold path as a front end uses it: what it counts, what it takes back, and what remains of an
 * interrupted visit.
 *
 * All tests share one process and one file. Each compares with the figures at its start.
 */
#include "core_tests.h"

#include <pthread.h>
#include <sys/auxv.h>

#include "core/blocks/filter.h"
#include "core/clock.h"
#include "core/process.h"
#include "core/records/rows.h"
#include "core/records/smalls.h"
#include "core/visit.h"
#include "format/settings.h"

#define BLOCKS 3000

static uintptr_t next_address = 0x7f1200000000;

/* ---- a front end ---- */

/* Like the hot path. */
static bool charge(enum pl_function function, uint64_t size)
{
    uint64_t before = pl_tls.charge_left;
    pl_tls.calls[function]++;
    pl_tls.charge_left = before - (size + PL_CALL_CHARGE);
    return before < size + PL_CALL_CHARGE;
}

static __attribute__((noinline)) void visit(uint64_t size, void *block)
{
    struct pl_start start;
    PL_START_HERE(&start);
    struct pl_cold_plan plan = pl_cold_due(PL_FN_MALLOC, size);
    pl_cold_allocated(PL_FN_MALLOC, size, block, plan, &start);
}

static void *allocate(uint64_t size)
{
    void *block = (void *) (next_address += 16);
    if (charge(PL_FN_MALLOC, size))
        visit(size, block);
    return block;
}

static void release(void *block)
{
    struct pl_cold_known known;
    if (*pl_filter_byte(block) && pl_cold_take(block, &known))
        pl_cold_freed(block, &known);
}

/* ---- figures in the file ---- */

static struct pl_header *header(void)
{
    return pl_file_header(&pl_process->file);
}

static void set_interval(uint64_t bytes)
{
    header()->control.interval_bytes = bytes;
    pl_tls.charge_left = 0; /* the rest of the last gap belongs to another interval */
    pl_tls.thread->countdown = 0;
    pl_tls.thread->slept = 1;
}

struct figures {
    uint64_t calls, bytes;
    struct pl_sums allocated, freed, remote;
};

static void add(struct pl_sums *to, const struct pl_sums *from)
{
    to->objects += from->objects;
    to->space += from->space;
    to->objects_variance += from->objects_variance;
    to->space_variance += from->space_variance;
    to->samples += from->samples;
}

static struct figures figures_now(void)
{
    struct figures now = {0};
    pl_thread_book_all(pl_process);
    for (uint32_t n = 1; n < header()->count[PL_KIND_THREAD]; n++) {
        const struct pl_thread_record *thread = pl_file_record(&pl_process->file, PL_KIND_THREAD, n);
        for (int i = 0; i < PL_FN_COUNT; i++)
            now.calls += thread->calls[i];
        now.bytes += thread->bytes;
    }
    for (uint32_t n = 1; n < header()->count[PL_KIND_ROW]; n++) {
        const struct pl_row *row = pl_file_record(&pl_process->file, PL_KIND_ROW, n);
        assert_int_equal(row->sequence % 2, 0);
        add(&now.allocated, &row->allocated);
        add(&now.freed, &row->freed);
        add(&now.remote, &row->remote);
    }
    return now;
}

static uint64_t losses(enum pl_loss loss)
{
    return header()->losses[loss];
}

static int start_process(void **state)
{
    (void) state;
    static char live_dir[100];
    static char *environment[] = {live_dir, "PLIMSOLL_SAMPLE=1", "PLIMSOLL_SEED=1", NULL};
    snprintf(live_dir, sizeof live_dir, "PLIMSOLL_LIVE_DIR=%s", new_directory());
    core_environment = environment;
    if (!pl_process_start(pl_process))
        return -1;
    allocate(10);
    return pl_tls.thread ? 0 : -1;
}

static int end_process(void **state)
{
    (void) state;
    drop_directory();
    return 0;
}

/* ---- tests ---- */

static void freeing_a_sampled_block_returns_its_exact_weight(void **state)
{
    (void) state;
    static void *block[BLOCKS];
    uint64_t random = 5;
    for (unsigned interval = 1; interval < 100000; interval *= 30) {
        set_interval(interval);
        struct figures before = figures_now();
        for (int i = 0; i < BLOCKS; i++)
            block[i] = allocate(draw(&random, 5000));
        struct figures full = figures_now();
        assert_true(full.allocated.samples > before.allocated.samples);
        for (int i = 0; i < BLOCKS; i++)
            release(block[i]);
        struct figures after = figures_now();
        assert_int_equal(after.freed.samples - before.freed.samples, full.allocated.samples - before.allocated.samples);
        assert_true(after.allocated.objects == after.freed.objects + (before.allocated.objects - before.freed.objects));
    }
}

static void a_second_free_of_a_block_is_not_counted(void **state)
{
    (void) state;
    set_interval(1);
    void *block = allocate(100);
    release(block);
    struct figures before = figures_now();
    release(block);
    release(NULL);
    struct figures after = figures_now();
    assert_int_equal(after.freed.samples, before.freed.samples);
}

static void calls_and_bytes_are_exact_at_every_interval(void **state)
{
    (void) state;
    uint64_t random = 6, bytes = 0;
    struct figures before = figures_now();
    for (int i = 0; i < BLOCKS; i++) {
        uint64_t size = draw(&random, 3000);
        if (i % 500 == 0)
            set_interval(1ull << (i / 200));
        bytes += size;
        allocate(size);
    }
    struct figures after = figures_now();
    assert_int_equal(after.calls - before.calls, BLOCKS);
    assert_int_equal(after.bytes - before.bytes, bytes);
}

static void a_failed_call_is_not_counted(void **state)
{
    (void) state;
    set_interval(1);
    struct figures before = figures_now();
    assert_true(charge(PL_FN_MALLOC, UINT64_MAX / 2));
    visit(UINT64_MAX / 2, NULL);
    struct figures after = figures_now();
    assert_int_equal(after.calls, before.calls);
    assert_int_equal(after.bytes, before.bytes);
    assert_int_equal(after.allocated.samples, before.allocated.samples);
}

static void a_call_abandoned_by_an_exception_is_not_counted_and_the_thread_is_still_sampled(void **state)
{
    (void) state;
    set_interval(1);
    struct figures before = figures_now();
    assert_true(charge(PL_FN_MALLOC, 1000));
    pl_cold_due(PL_FN_MALLOC, 1000); /* the real call throws */
    allocate(30);
    struct figures after = figures_now();
    assert_int_equal(after.calls - before.calls, 1);
    assert_int_equal(after.bytes - before.bytes, 30);
    assert_int_equal(after.allocated.samples - before.allocated.samples, 1);
}

static void a_block_restored_after_a_failed_realloc_is_still_live(void **state)
{
    (void) state;
    set_interval(1);
    struct pl_cold_known known;
    void *block = allocate(100);
    struct figures before = figures_now();
    assert_true(pl_cold_take(block, &known));
    pl_cold_restore(block, &known); /* the realloc failed */
    assert_int_equal(figures_now().freed.samples, before.freed.samples);
    release(block);
    assert_int_equal(figures_now().freed.samples, before.freed.samples + 1);
}

static void an_address_that_is_allocated_again_counts_its_first_block_as_freed(void **state)
{
    (void) state;
    set_interval(1);
    void *block = allocate(100);
    struct figures before = figures_now();
    uint64_t missed = losses(PL_LOSS_MISSED_FREE);
    next_address -= 16;
    assert_ptr_equal(allocate(200), block);
    struct figures after = figures_now();
    assert_int_equal(losses(PL_LOSS_MISSED_FREE), missed + 1);
    assert_int_equal(after.freed.samples, before.freed.samples + 1);
    assert_int_equal(after.allocated.samples, before.allocated.samples + 1);
}

/* A signal handler allocates during a visit: `busy` is a stack pointer above its own. */
static void a_nested_visit_loses_its_sample_but_no_bytes(void **state)
{
    (void) state;
    set_interval(1);
    struct figures before = figures_now();
    uint64_t nested = losses(PL_LOSS_NESTED);
    pl_tls.thread->busy = (uintptr_t) __builtin_frame_address(0);
    for (int i = 0; i < 10; i++)
        allocate(100000);
    pl_tls.thread->busy = 0;
    struct figures inside = figures_now();
    assert_int_equal(inside.allocated.samples, before.allocated.samples);
    assert_int_equal(inside.calls - before.calls, 10);
    assert_int_equal(inside.bytes - before.bytes, 1000000);
    assert_true(losses(PL_LOSS_NESTED) > nested);
    for (int i = 0; i < 2000; i++)
        allocate(1000);
    struct figures after = figures_now();
    assert_int_equal(after.bytes - before.bytes, 3000000);
    assert_true(after.allocated.samples - before.allocated.samples >= 1900);
}

static void a_visit_abandoned_deeper_in_the_stack_is_recognised(void **state)
{
    (void) state;
    set_interval(1);
    struct figures before = figures_now();
    uint64_t stale = losses(PL_LOSS_STALE_BUSY);
    pl_tls.thread->busy = (uintptr_t) __builtin_frame_address(0) - 20000;
    allocate(100);
    assert_int_equal(losses(PL_LOSS_STALE_BUSY), stale + 1);
    assert_int_equal(figures_now().allocated.samples, before.allocated.samples + 1);
    assert_int_equal(pl_tls.thread->busy, 0);
}

static void a_jump_out_of_a_visit_ends_it_and_a_jump_inside_a_handler_does_not(void **state)
{
    (void) state;
    uintptr_t here = (uintptr_t) __builtin_frame_address(0);
    pl_tls.thread->busy = here - 5000;
    pl_cold_thrown(here - 9000);
    assert_int_equal(pl_tls.thread->busy, here - 5000);
    pl_cold_thrown(here);
    assert_int_equal(pl_tls.thread->busy, 0);
}

static void a_jump_between_two_countdowns_does_not_stop_sampling(void **state)
{
    (void) state;
    set_interval(1);
    struct figures before = figures_now();
    assert_true(charge(PL_FN_MALLOC, 500)); /* then a jump abandons the call */
    pl_cold_thrown((uintptr_t) __builtin_frame_address(0));
    allocate(100);
    struct figures after = figures_now();
    assert_int_equal(after.allocated.samples, before.allocated.samples + 1);
    assert_int_equal(after.bytes - before.bytes, 600);
}

static void a_row_abandoned_during_a_write_is_consistent_after_the_next_write(void **state)
{
    (void) state;
    set_interval(1);
    void *block = allocate(100);
    struct pl_cold_known known;
    assert_true(pl_cold_take(block, &known));
    struct pl_row *row = pl_file_record(&pl_process->file, PL_KIND_ROW, known.sampled.row);
    row->sequence |= 1;
    uint32_t odd = row->sequence;
    pl_cold_freed(block, &known);
    assert_int_equal(row->sequence % 2, 0);
    assert_true(row->sequence > odd);
}

static void *release_in_thread(void *block)
{
    release(block);
    return NULL;
}

static void a_free_by_another_thread_is_counted_in_the_remote_part_of_the_row(void **state)
{
    (void) state;
    set_interval(1);
    pthread_t thread;
    void *block = allocate(100);
    struct figures before = figures_now();
    assert_int_equal(pthread_create(&thread, NULL, release_in_thread, block), 0);
    pthread_join(thread, NULL);
    struct figures after = figures_now();
    assert_int_equal(after.remote.samples, before.remote.samples + 1);
    assert_int_equal(after.freed.samples, before.freed.samples);
}

/* ---- what exact mode leaves behind ---- */

#define NEVER (1ull << 40)
#define HEAP 0x7f5540000000u
#define LEFT 512 /* blocks */

/* A control word overrules exact mode, as auto mode's budget does. */
static void count_exactly(bool exactly)
{
    pl_config.mode = PL_MODE_EXACT;
    set_interval(exactly ? 0 : NEVER);
    pl_process_obey(pl_process);
    assert_int_equal(pl_process->counting != PL_COUNT_NOTHING, exactly);
    pl_process->left_exact = pl_clock() - (1ull << 40); /* long ago */
}

static __attribute__((noinline)) void allocate_bytes_at(uintptr_t address, uint64_t size)
{
    struct pl_start start;
    PL_START_HERE(&start);
    if (charge(PL_FN_MALLOC, size)) {
        struct pl_cold_plan plan = pl_visit_due(PL_FN_MALLOC, size);
        pl_visit_allocated(PL_FN_MALLOC, size, (void *) address, plan, &start);
    }
}

static void allocate_at(uintptr_t address)
{
    allocate_bytes_at(address, 40);
}

static void free_at(uintptr_t address)
{
    if (*pl_filter_byte((void *) address))
        pl_visit_freeing((void *) address);
}

/* Blocks that exact mode has counted and that were not freed. */
static int64_t still_counted(void)
{
    int64_t live = 0;
    for (uint32_t n = 1; n < header()->count[PL_KIND_TALLY]; n++) {
        const struct pl_tally *tally = pl_file_record(&pl_process->file, PL_KIND_TALLY, n);
        live += (int64_t) (tally->calls - tally->freed_calls);
    }
    for (uint32_t n = 1; n < header()->count[PL_KIND_SMALL]; n++) {
        const struct pl_small *small = pl_file_record(&pl_process->file, PL_KIND_SMALL, n);
        live += pl_small_grown(pl_process, small) ? 0 : small->calls - small->freed_calls;
    }
    for (uint32_t n = 1; n < header()->count[PL_KIND_REMOTE]; n++) {
        const struct pl_remote *remote = pl_file_record(&pl_process->file, PL_KIND_REMOTE, n);
        live -= (int64_t) remote->calls;
    }
    return live;
}

static uintptr_t left_block(unsigned i)
{
    return HEAP + i * 96u;
}

static uint8_t filter_of(unsigned i)
{
    return *pl_filter_byte((void *) left_block(i));
}

/* Allocates blocks between those that exact mode has left, and frees them again. */
static void churn_beside(void)
{
    for (unsigned i = 0; i < LEFT; i++)
        allocate_at(left_block(i) + 32);
    for (unsigned i = 0; i < LEFT; i++)
        free_at(left_block(i) + 32);
}

static void leave_blocks(void)
{
    count_exactly(true);
    for (unsigned i = 0; i < LEFT; i++)
        allocate_at(left_block(i));
    count_exactly(false);
    churn_beside();
    for (unsigned i = 0; i < LEFT; i++)
        assert_int_equal(filter_of(i), PL_FILTER_MASKED);
}

static void free_from_another_thread(unsigned number)
{
    (void) number;
    for (unsigned i = 1; i < LEFT; i += 2)
        free_at(left_block(i));
}

static void blocks_of_exact_mode_are_freed_exactly_once_after_it_was_left(void **state)
{
    (void) state;
    int64_t before = still_counted();
    leave_blocks();
    churn_beside();
    assert_int_equal(still_counted() - before, LEFT);
    run_threads(1, free_from_another_thread);
    assert_int_equal(still_counted() - before, LEFT / 2);
    for (int twice = 0; twice < 2; twice++)
        for (unsigned i = 0; i < LEFT; i++)
            free_at(left_block(i));
    assert_int_equal(still_counted(), before);
    for (unsigned i = 0; i < LEFT; i++)
        assert_int_equal(filter_of(i), 0);
}

static void a_realloc_finds_blocks_that_exact_mode_left_and_no_others(void **state)
{
    (void) state;
    struct pl_cold_known known;
    int64_t before = still_counted();
    leave_blocks();
    for (unsigned i = 0; i < LEFT; i++) {
        assert_false(pl_cold_take((void *) (left_block(i) + 32), &known));
        assert_true(pl_cold_take((void *) left_block(i), &known));
        assert_int_equal(pl_cold_known_size(&known), 40);
        if (i % 2)
            pl_cold_restore((void *) left_block(i), &known); /* the realloc failed */
        else
            pl_cold_freed(NULL, &known);
    }
    assert_int_equal(still_counted() - before, LEFT / 2);
    churn_beside();
    for (unsigned i = 0; i < LEFT; i++)
        free_at(left_block(i));
    assert_int_equal(still_counted(), before);
}

static void blocks_are_freed_exactly_once_when_exact_mode_comes_and_goes(void **state)
{
    (void) state;
    int64_t before = still_counted();
    leave_blocks();
    for (unsigned turn = 0; turn < 4; turn++) {
        count_exactly(true);
        for (unsigned i = turn; i < LEFT; i += 4)
            allocate_at(left_block(i) + 32); /* in granules with a mask */
        for (unsigned i = turn; i < LEFT; i += 8)
            free_at(left_block(i));
        count_exactly(false);
        for (unsigned i = 0; i < LEFT; i++)
            free_at(left_block(i) + 64); /* not a block of ours: sifts */
    }
    assert_int_equal(still_counted() - before, LEFT + LEFT / 2);
    for (unsigned i = 0; i < LEFT; i++) {
        free_at(left_block(i));
        free_at(left_block(i) + 32);
    }
    assert_int_equal(still_counted(), before);
}

/* Blocks that lie as close together as glibc puts them, around the sizes from which on a size has a slot of its own
 * (63) and a block is large (256). */
static const uint64_t close_sizes[] = {40, 300, 24, 255, 256, 10, 257, 62, 63, 2000, 64, 1000, 100, 511, 24};
#define CLOSE (4 * sizeof close_sizes / sizeof *close_sizes)

static uint64_t close_size(unsigned i)
{
    return close_sizes[i % (CLOSE / 4)];
}

static uintptr_t close_block(unsigned i)
{
    uintptr_t address = HEAP + 16;
    for (unsigned n = 0; n < i; n++)
        address += ((close_size(n) + 8 + 15) & ~15ull) < 32 ? 32 : (close_size(n) + 8 + 15) & ~15ull;
    return address;
}

static void allocate_closely(void)
{
    count_exactly(true);
    for (unsigned i = 0; i < CLOSE; i++)
        allocate_bytes_at(close_block(i), close_size(i));
}

static void small_and_large_blocks_side_by_side_are_each_found_with_their_size(void **state)
{
    (void) state;
    struct pl_cold_known known, gone;
    for (int left = 0; left < 2; left++) {
        int64_t before = still_counted();
        uint64_t missed = losses(PL_LOSS_MISSED_FREE);
        allocate_closely();
        assert_int_equal(still_counted() - before, CLOSE);
        if (left) {
            count_exactly(false);
            free_at(close_block(CLOSE) + 32); /* not a block of ours: sifts */
        }
        for (unsigned i = 0; i < CLOSE; i++) {
            uintptr_t address = close_block(i * 7 % CLOSE);
            assert_true(pl_cold_take((void *) address, &known));
            assert_int_equal(pl_cold_known_size(&known), close_size(i * 7 % CLOSE));
            assert_false(pl_cold_take((void *) address, &gone));
            if (i % 2)
                pl_cold_restore((void *) address, &known); /* the realloc failed */
            else
                pl_cold_freed(NULL, &known);
        }
        assert_int_equal(still_counted() - before, CLOSE / 2);
        for (unsigned i = 0; i < CLOSE; i++)
            free_at(close_block(i));
        assert_int_equal(still_counted(), before);
        assert_int_equal(losses(PL_LOSS_MISSED_FREE), missed);
    }
    count_exactly(false);
}

/* A module that we do not see has freed the first block. */
static void a_block_of_another_size_at_an_old_address_counts_the_old_one_as_freed(void **state)
{
    (void) state;
    static const struct {
        uint64_t size, later_by, later_size;
    } cases[] = {{40, 0, 40}, {40, 0, 300}, {300, 0, 40}, {300, 0, 300}, {300, 64, 300}, {5000, 32, 256}};
    count_exactly(true);
    int64_t before = still_counted();
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t missed = losses(PL_LOSS_MISSED_FREE);
        uintptr_t later = HEAP + cases[i].later_by;
        allocate_bytes_at(HEAP, cases[i].size);
        allocate_bytes_at(later, cases[i].later_size);
        assert_int_equal(losses(PL_LOSS_MISSED_FREE), missed + 1);
        assert_int_equal(still_counted(), before + 1);
        free_at(later);
        assert_int_equal(still_counted(), before);
    }
    count_exactly(false);
}

/* A large block and a small one in the same 128 bytes: both live. */
static void a_large_block_beside_a_new_small_one_is_not_taken_for_freed(void **state)
{
    (void) state;
    count_exactly(true);
    int64_t before = still_counted();
    uint64_t missed = losses(PL_LOSS_MISSED_FREE);
    allocate_bytes_at(HEAP + 96, 400);
    allocate_bytes_at(HEAP + 16, 40);
    allocate_bytes_at(HEAP + 64, 24);
    assert_int_equal(still_counted(), before + 3);
    assert_int_equal(losses(PL_LOSS_MISSED_FREE), missed);
    for (uintptr_t at = 16; at < 128; at += 16)
        free_at(HEAP + at);
    assert_int_equal(still_counted(), before);
    count_exactly(false);
}

static void frames_of_a_module_that_did_not_fit_have_addresses_instead_of_offsets(void **state)
{
    (void) state;
    static struct pl_module_cache cache;
    uintptr_t loader = getauxval(AT_BASE); /* in no stack so far */
    uint64_t count = header()->count[PL_KIND_MODULE];
    header()->count[PL_KIND_MODULE] = PL_CHUNK_BYTES / sizeof(struct pl_module) * PL_CHUNKS_MAX; /* the table is full */
    const struct pl_module_entry *entry = pl_modules_find(pl_process, &cache, loader);
    header()->count[PL_KIND_MODULE] = count;
    assert_int_equal(entry->id, PL_MODULE_UNKNOWN);
    assert_int_equal(entry->bias, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_of_a_module_that_did_not_fit_have_addresses_instead_of_offsets),
        cmocka_unit_test(freeing_a_sampled_block_returns_its_exact_weight),
        cmocka_unit_test(a_second_free_of_a_block_is_not_counted),
        cmocka_unit_test(calls_and_bytes_are_exact_at_every_interval),
        cmocka_unit_test(a_failed_call_is_not_counted),
        cmocka_unit_test(a_call_abandoned_by_an_exception_is_not_counted_and_the_thread_is_still_sampled),
        cmocka_unit_test(a_block_restored_after_a_failed_realloc_is_still_live),
        cmocka_unit_test(an_address_that_is_allocated_again_counts_its_first_block_as_freed),
        cmocka_unit_test(a_nested_visit_loses_its_sample_but_no_bytes),
        cmocka_unit_test(a_visit_abandoned_deeper_in_the_stack_is_recognised),
        cmocka_unit_test(a_jump_out_of_a_visit_ends_it_and_a_jump_inside_a_handler_does_not),
        cmocka_unit_test(a_jump_between_two_countdowns_does_not_stop_sampling),
        cmocka_unit_test(a_row_abandoned_during_a_write_is_consistent_after_the_next_write),
        cmocka_unit_test(a_free_by_another_thread_is_counted_in_the_remote_part_of_the_row),
        cmocka_unit_test(blocks_of_exact_mode_are_freed_exactly_once_after_it_was_left),
        cmocka_unit_test(a_realloc_finds_blocks_that_exact_mode_left_and_no_others),
        cmocka_unit_test(blocks_are_freed_exactly_once_when_exact_mode_comes_and_goes),
        cmocka_unit_test(small_and_large_blocks_side_by_side_are_each_found_with_their_size),
        cmocka_unit_test(a_block_of_another_size_at_an_old_address_counts_the_old_one_as_freed),
        cmocka_unit_test(a_large_block_beside_a_new_small_one_is_not_taken_for_freed),
    };
    return cmocka_run_group_tests(tests, start_process, end_process);
}
