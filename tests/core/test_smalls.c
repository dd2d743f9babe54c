/* SPDX-License-Identifier: MIT */
/*
 * test_smalls.c - tests what smalls.h and format.h say about small records: a record says of its calls what a tally
 * would say; it grows before it would have to say less; and at any instruction of that, each call counts once.
 *
 * This program includes file.c, so that each test can begin with the tables of a new process, and stats.c, to step
 * through its loops. The tests set era, cohort and time.
 */
#include "core_tests.h"
#include "../lib/step.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "core/process.h"
#include "core/records/eras.h"
#include "core/records/file.c"
#include "core/records/smalls.h"
#include "core/records/sums.h"
#include "core/records/tallies.h"
#include "core/stats.c"

#define LIMIT (64u << 20)
#define SHIFT 11
#define SITE 2
#define THREAD 3

static struct pl_process process;
static struct pl_thread thread;

static struct pl_header *header(void)
{
    return pl_file_header(&process.file);
}

static int start(void **state)
{
    void *at;
    (void) state;
    new_directory();
    memset(&process, 0, sizeof process);
    memset(&chunks, 0, sizeof chunks);
    memset(&thread, 0, sizeof thread);
    thread.record = THREAD;
    process.timeline.shift = SHIFT;
    process.pid = (uint32_t) getpid();
    if (pl_file_create(&process.file, in_directory("x.plim"), LIMIT) != 0)
        return -1;
    pl_file_base = process.file.base;
    pl_file_append(&process.file, PL_KIND_SMALL, &at); /* so that the test's first record is not the first */
    return 0;
}

static int end(void **state)
{
    (void) state;
    munmap(process.file.base, process.file.mapped_bytes);
    inherited.base = NULL;
    pl_file_base = pl_file_nowhere;
    drop_directory();
    return 0;
}

static struct pl_small *new_small(void)
{
    uint32_t place = pl_small_write(&process, &thread, SITE);
    assert_true(place & PL_PLACE_SMALL);
    return pl_small_at(place);
}

/* The record as a tally. */
static struct pl_tally expanded(const struct pl_small *small)
{
    struct pl_tally tally = {0};
    pl_small_expand(small, &tally);
    return tally;
}

static void begin_peak(void)
{
    uint32_t era = process.era + 1;
    process.eras = (uint64_t) era << 32 | era;
}

/* ---- what it says ---- */

static void a_small_record_is_found_where_a_tally_would_have_its_owner(void **state)
{
    (void) state;
    uint32_t place = pl_small_write(&process, &thread, SITE);
    const struct pl_tally *tally = pl_tally_at(place & ~PL_PLACE_SMALL);
    const struct pl_small *small = pl_small_at(place);
    assert_ptr_equal(&tally->owner, &small->site);
    assert_true(tally->owner & PL_SMALL_MARK);
    assert_int_equal(pl_small_site(small), SITE);
    assert_int_equal(small->thread, THREAD);
    assert_int_equal(pl_file_number(&process.file, PL_KIND_SMALL, small), header()->count[PL_KIND_SMALL] - 1);
    assert_int_equal(pl_file_number(&process.file, PL_KIND_TALLY, small), 0);
}

static void a_small_record_says_what_a_tally_would_say(void **state)
{
    (void) state;
    struct pl_small *small = new_small();
    process.timeline.cohort = 1;
    assert_true(pl_small_allocated(&process, small, 40));
    assert_true(pl_small_allocated(&process, small, 0));
    assert_true(pl_small_allocated(&process, small, PL_SMALL_SIZE));
    assert_true(pl_small_freed(&process, small, 40, 5, 32 << SHIFT, true));
    process.exiting = 1;
    assert_true(pl_small_freed(&process, small, PL_SMALL_SIZE, 5, 32 << SHIFT, false));
    struct pl_tally tally = expanded(small);
    assert_int_equal(tally.calls, 3);
    assert_int_equal(tally.bytes, 40 + PL_SMALL_SIZE);
    assert_int_equal(tally.freed_calls, 2);
    assert_int_equal(tally.freed_bytes, 40 + PL_SMALL_SIZE);
    assert_int_equal(tally.smallest, 0);
    assert_int_equal(tally.largest, PL_SMALL_SIZE);
    assert_int_equal(tally.sizes[0], 1);
    assert_int_equal(tally.sizes[pl_sums_size_bucket(40)], 1);
    assert_int_equal(tally.sizes[pl_sums_size_bucket(PL_SMALL_SIZE)], 1);
    assert_int_equal(tally.lives[pl_sums_life_bucket(5)], 2);
    assert_int_equal(tally.made[1], 3);
    assert_int_equal(tally.gone[0], 2); /* 5 units before the second cohort */
    assert_int_equal(tally.temporaries, 1);
    assert_int_equal(tally.exit_calls, 1);
    assert_int_equal(tally.exit_bytes, PL_SMALL_SIZE);
    assert_int_equal(tally.owner, THREAD);
}

static void an_in_place_realloc_is_counted_and_one_that_copies_needs_a_tally(void **state)
{
    (void) state;
    struct pl_small *small = new_small();
    assert_true(pl_small_allocated(&process, small, 40));
    assert_true(pl_small_reallocated(small, false));
    assert_false(pl_small_reallocated(small, true));
    struct pl_tally tally = expanded(small);
    assert_int_equal(tally.realloc_calls, 1);
    assert_int_equal(tally.realloc_in_place, 1);
}

static void what_was_live_at_the_peak_is_saved_before_the_next_change(void **state)
{
    (void) state;
    struct pl_small *small = new_small();
    for (int i = 0; i < 3; i++)
        assert_true(pl_small_allocated(&process, small, 100));
    assert_true(pl_small_freed(&process, small, 100, 1, 10, false));
    begin_peak();
    assert_true(pl_small_freed(&process, small, 100, 1, 10, false));
    assert_true(pl_small_allocated(&process, small, 7));
    struct pl_tally tally = expanded(small);
    assert_int_equal(tally.era, process.era);
    assert_int_equal(tally.freed_era, process.era);
    assert_int_equal(tally.peak_calls - tally.peak_freed_calls, 2);
    assert_int_equal(tally.peak_bytes - tally.peak_freed_bytes, 200);
}

static void cohorts_of_cells_are_joined_when_they_become_longer(void **state)
{
    (void) state;
    struct pl_small *small = new_small();
    for (process.timeline.cohort = 0; process.timeline.cohort < 4; process.timeline.cohort++)
        assert_true(pl_small_allocated(&process, small, 16));
    assert_true(pl_small_freed(&process, small, 16, 0, 3 * (32ull << SHIFT), false));
    process.timeline.shift = SHIFT + 1;
    process.timeline.cohort = 2;
    process.era++;
    assert_true(pl_small_allocated(&process, small, 16));
    struct pl_tally tally = expanded(small);
    assert_int_equal(tally.cohort_shift, SHIFT + 1);
    assert_int_equal(tally.made[0], 2);
    assert_int_equal(tally.made[1], 2);
    assert_int_equal(tally.made[2], 1);
    assert_int_equal(tally.gone[1], 1);
    assert_int_equal(tally.sizes[1], 5);
}

/* ---- when it grows ---- */

static void the_256th_call_needs_a_tally(void **state)
{
    (void) state;
    struct pl_small *small = new_small();
    for (unsigned i = 0; i < PL_SMALL_CALLS; i++)
        assert_true(pl_small_allocated(&process, small, 16));
    struct pl_small before = *small;
    assert_false(pl_small_allocated(&process, small, 16));
    assert_memory_equal(&before, small, sizeof before);
}

static void a_large_block_needs_a_tally(void **state)
{
    (void) state;
    struct pl_small *small = new_small(), before = *small;
    assert_false(pl_small_allocated(&process, small, PL_SMALL_SIZE + 1));
    assert_memory_equal(&before, small, sizeof before);
    const struct pl_tally *tally = pl_small_grow(&process, small);
    assert_int_equal(tally->smallest, UINT32_MAX);
    assert_int_equal(tally->largest, 0);
}

static void a_cell_too_many_needs_a_tally_and_changes_nothing(void **state)
{
    (void) state;
    struct pl_small *small = new_small();
    for (unsigned i = 0; i < PL_SMALL_CELLS - 2; i++) /* one cell is for the cohort, and one stays free */
        assert_true(pl_small_allocated(&process, small, 8ull << i));
    struct pl_small before = *small;
    assert_false(pl_small_freed(&process, small, 8, 1, 1, false)); /* needs two */
    assert_memory_equal(&before, small, sizeof before);
    assert_true(pl_small_allocated(&process, small, 40000));
    before = *small;
    assert_false(pl_small_allocated(&process, small, 20000));
    assert_memory_equal(&before, small, sizeof before);
    assert_true(pl_small_freed_only(&process, small, 8));
    assert_int_equal(small->freed_calls, 1);
    assert_int_equal(small->freed_bytes, 8);
}

static void longer_cohorts_and_frees_by_other_threads_need_a_tally(void **state)
{
    (void) state;
    struct pl_small *small = new_small();
    assert_true(pl_small_allocated(&process, small, 16));
    struct pl_remote *remote = pl_tally_small_remote(&process, small);
    assert_int_equal(remote->tally & ~PL_SMALL_MARK, pl_file_number(&process.file, PL_KIND_SMALL, small));
    assert_true(remote->tally & PL_SMALL_MARK);
    assert_ptr_equal(pl_tally_small_remote(&process, small), remote);
    remote->calls = remote->gone[1] = 1;
    process.timeline.shift = SHIFT + 1;
    process.era++;
    assert_false(pl_small_allocated(&process, small, 16));
    struct pl_tally *tally = pl_small_grow(&process, small);
    assert_int_equal(tally->remote, small->remote);
    pl_era_allocated(&process, tally);
    assert_int_equal(tally->cohort_shift, SHIFT + 1);
    assert_int_equal(tally->gone[0], 1);
    assert_int_equal(remote->gone[1], 0);
}

/* ---- growing ---- */

static void a_record_grows_once_and_keeps_every_figure(void **state)
{
    (void) state;
    struct pl_small *small = new_small();
    for (int i = 0; i < 10; i++)
        assert_true(pl_small_allocated(&process, small, 16 + i));
    assert_true(pl_small_freed(&process, small, 16, 9, 10, true));
    struct pl_tally wanted = expanded(small);
    assert_null(pl_small_grown(&process, small));
    process.timeline.cohort = 5;
    struct pl_tally *tally = pl_small_grow(&process, small);
    assert_ptr_equal(pl_small_grow(&process, small), tally);
    assert_ptr_equal(pl_small_grown(&process, small), tally);
    assert_int_equal(process.grown, 1);
    wanted.site = SITE;
    wanted.number = (uint32_t) header()->count[PL_KIND_TALLY] - 1;
    wanted.cohort = 5; /* of what comes next */
    wanted.owner |= 5u << PL_OWNER_COHORT_SHIFT;
    assert_memory_equal(tally, &wanted, sizeof wanted);
}

static void a_tally_that_was_never_published_does_not_replace_the_record(void **state)
{
    (void) state;
    struct pl_small *small = new_small();
    assert_true(pl_small_allocated(&process, small, 16));
    struct pl_tally *left = pl_small_grow(&process, small);
    left->site = 0; /* as if the thread had left by longjmp before the last store */
    assert_null(pl_small_grown(&process, small));
    assert_true(pl_small_allocated(&process, small, 16));
    struct pl_tally *tally = pl_small_grow(&process, small);
    assert_ptr_not_equal(tally, left);
    assert_int_equal(tally->calls, 2);
    assert_int_equal(left->site, 0);
}

static void a_number_from_outside_leads_nowhere(void **state)
{
    (void) state;
    struct pl_small *small = new_small();
    for (unsigned i = 0; i < 32; i++) {
        small->grown = UINT32_MAX >> i;
        assert_null(pl_small_grown(&process, small));
    }
}

static void a_full_file_leaves_the_record_as_it_is(void **state)
{
    (void) state;
    struct pl_small *small = new_small();
    assert_true(pl_small_allocated(&process, small, 16));
    process.file.limit_bytes = 0;
    while (header()->losses[PL_LOSS_FILE_FULL] == 0)
        pl_small_write(&process, &thread, SITE);
    process.file.full = PL_FULL_BOUND;
    assert_null(pl_small_grow(&process, small));
    assert_null(pl_small_grown(&process, small));
    assert_int_equal(small->calls, 1);
}

/* ---- kill -9 ---- */

/* The calls and frees that a reader would count now. */
static void count_as_a_reader(const struct pl_small *small, uint64_t *calls, uint64_t *freed)
{
    *calls = *freed = 0;
    uint64_t tallies = header()->count[PL_KIND_TALLY];
    bool grown = false;
    for (uint32_t i = 1; i < tallies; i++) {
        const struct pl_tally *tally = pl_file_record(&process.file, PL_KIND_TALLY, i);
        if (!tally->site)
            continue;
        *calls += tally->calls;
        *freed += tally->freed_calls;
        grown |= small->grown == i && tally->site == pl_small_site(small) && tally->thread == small->thread;
    }
    *calls += grown ? 0 : small->calls;
    *freed += grown ? 0 : small->freed_calls;
}

static void a_kill_at_any_instruction_of_growing_counts_every_call_once(void **state)
{
    (void) state;
    int status;
    unsigned steps = 0;
    void *at;
    uint64_t calls, freed;
    struct pl_small *small = new_small();
    for (int i = 0; i < 10; i++)
        assert_true(pl_small_allocated(&process, small, 16));
    for (int i = 0; i < 4; i++)
        assert_true(pl_small_freed(&process, small, 16, 1, 1, false));
    pl_file_append(&process.file, PL_KIND_TALLY, &at); /* the chunk is there */
    assert_int_equal(madvise(&chunks, sizeof chunks & ~4095ul, 19 /* MADV_KEEPONFORK */), 0);
    pid_t pid = fork();
    if (!pid) {
        if (ptrace(PTRACE_TRACEME, 0, 0, 0))
            _exit(1);
        raise(SIGSTOP);
        pl_small_grow(&process, small);
        raise(SIGSTOP);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFSTOPPED(status))
        skip(); /* ptrace is not allowed here */
    ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_EXITKILL);
    do {
        count_as_a_reader(small, &calls, &freed);
        assert_int_equal(calls, 10);
        assert_int_equal(freed, 4);
        assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, 0, 0), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        steps++;
    } while (WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    assert_non_null(pl_small_grown(&process, small));
    assert_true(steps > 100);
}

/* ---- counting while a record grows ---- */

static struct pl_small *growing, before_growing;
static uint64_t tallies_before_growing;
static unsigned reads;

static void grow_meanwhile(void)
{
    pl_small_grow(&process, growing);
}

/* Afterwards the record is again one that has not grown. */
static void count_while_it_grows(void)
{
    struct pl_stats stats = {.exact = 0};
    struct sum sum = {.thread = ANY, .tag = ANY, .to = &stats};
    step_begin();
    add_up(&process, &sum);
    step_end();
    assert_int_equal(stats.freed_blocks, 4 + 3);
    assert_int_equal(stats.live_blocks, 10 + 5 - 4 - 3);
    assert_int_equal(stats.freed_bytes, 16 * (4 + 3));
    assert_int_equal(stats.live_bytes, 16 * (10 + 5 - 4 - 3));
    struct pl_tally *tally = pl_small_grown(&process, growing);
    if (tally)
        memset(tally, 0, sizeof *tally);
    header()->count[PL_KIND_TALLY] = tallies_before_growing;
    *growing = before_growing;
    reads++;
}

static void a_record_that_grows_while_it_is_read_counts_once(void **state)
{
    (void) state;
    void *at;
    struct pl_small *other = new_small();
    growing = new_small();
    pl_file_append(&process.file, PL_KIND_SITE, &at);
    pl_file_append(&process.file, PL_KIND_SITE, &at);
    for (int i = 0; i < 10; i++)
        assert_true(pl_small_allocated(&process, growing, 16) && (i % 2 || pl_small_allocated(&process, other, 16)));
    for (int i = 0; i < 4; i++)
        assert_true(pl_small_freed(&process, growing, 16, 1, 1, false));
    struct pl_remote *remote = pl_tally_small_remote(&process, other);
    remote->calls = 3;
    remote->bytes = 3 * 16;
    assert_non_null(pl_small_grow(&process, other));
    before_growing = *growing;
    tallies_before_growing = header()->count[PL_KIND_TALLY];
    at_each_step(5, ALL_STEPS, grow_meanwhile, count_while_it_grows);
    assert_true(reads > 1 || !STEP_INTERRUPTS);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_small_record_is_found_where_a_tally_would_have_its_owner),
        TEST(a_small_record_says_what_a_tally_would_say),
        TEST(an_in_place_realloc_is_counted_and_one_that_copies_needs_a_tally),
        TEST(what_was_live_at_the_peak_is_saved_before_the_next_change),
        TEST(cohorts_of_cells_are_joined_when_they_become_longer),
        TEST(the_256th_call_needs_a_tally),
        TEST(a_large_block_needs_a_tally),
        TEST(a_cell_too_many_needs_a_tally_and_changes_nothing),
        TEST(longer_cohorts_and_frees_by_other_threads_need_a_tally),
        TEST(a_record_grows_once_and_keeps_every_figure),
        TEST(a_tally_that_was_never_published_does_not_replace_the_record),
        TEST(a_number_from_outside_leads_nowhere),
        TEST(a_full_file_leaves_the_record_as_it_is),
        TEST(a_kill_at_any_instruction_of_growing_counts_every_call_once),
        TEST(a_record_that_grows_while_it_is_read_counts_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
