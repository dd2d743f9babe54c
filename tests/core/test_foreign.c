/* SPDX-License-Identifier: MIT */
/*
 * test_foreign.c - tests what foreign.h says about a thread's own records for blocks of other threads: when it gets
 * one, that it never has two for the same tally, and that the process finds them all.
 *
 * This program includes file.c, so that each test can begin with the tables of a new process.
 */
#include "core_tests.h"

#include "core/process.h"
#include "core/records/eras.h"
uint32_t append_really(struct pl_file *file, enum pl_kind kind, void **record);
#define pl_file_append append_really
#include "core/records/file.c"
#undef pl_file_append
#include "core/records/foreign.h"
#include "core/records/tallies.h"

#define LIMIT (64u << 20)
#define OWNER 3
#define SITE 2
#define TALLIES 2000 /* tallies: more than a thread remembers, and more than it may have records for */
#define RECORDS_MOST 256
#define THREADS 200 /* more than a tally may have records */
#define LIST_MOST 128

static struct pl_process process;
static struct pl_thread freeing, other;

static bool leave_at_append;
static jmp_buf left;

/* Takes the place of file.c's, which is renamed: as if a signal handler left by longjmp. */
uint32_t pl_file_append(struct pl_file *file, enum pl_kind kind, void **record)
{
    uint32_t number = append_really(file, kind, record);
    if (!leave_at_append)
        return number;
    leave_at_append = false;
    longjmp(left, 1);
}

static int start(void **state)
{
    (void) state;
    new_directory();
    memset(&process, 0, sizeof process);
    memset(&chunks, 0, sizeof chunks);
    memset(&freeing, 0, sizeof freeing);
    memset(&other, 0, sizeof other);
    freeing.record = 7;
    other.record = 8;
    process.pid = (uint32_t) getpid();
    if (pl_file_create(&process.file, in_directory("x.plim"), LIMIT) != 0)
        return -1;
    pl_file_base = process.file.base;
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

static struct pl_tally *new_tally(void)
{
    void *at;
    uint32_t number = pl_file_append(&process.file, PL_KIND_TALLY, &at);
    struct pl_tally *tally = at;
    assert_true(number);
    *tally = (struct pl_tally){.site = SITE, .thread = OWNER, .number = number};
    return tally;
}

static struct pl_remote *own_of(struct pl_thread *thread, const struct pl_tally *tally)
{
    uint32_t place = pl_foreign_find(&thread->foreigns, pl_tally_place(&process, tally));
    return place ? pl_foreign_at(place) : NULL;
}

/* The record of all threads must exist when a free is noted, and the thread's own when it has freed enough. */
static struct pl_remote *free_many(struct pl_thread *thread, struct pl_tally *tally)
{
    assert_non_null(pl_tally_remote(&process, tally));
    for (unsigned i = 0; i < PL_FOREIGN_AFTER; i++)
        pl_foreign_note(&process, thread, tally);
    return own_of(thread, tally);
}

static uint64_t records(void)
{
    return pl_file_header(&process.file)->count[PL_KIND_REMOTE];
}

static void a_thread_gets_a_record_of_its_own_after_some_frees(void **state)
{
    (void) state;
    struct pl_tally *tally = new_tally(), *rare = new_tally();
    struct pl_remote *all = pl_tally_remote(&process, tally);
    for (unsigned i = 1; i < PL_FOREIGN_AFTER; i++) {
        pl_foreign_note(&process, &freeing, tally);
        assert_null(own_of(&freeing, tally));
    }
    pl_foreign_note(&process, &freeing, tally);
    const struct pl_remote *own = own_of(&freeing, tally);
    assert_non_null(own);
    assert_ptr_not_equal(own, all);
    assert_int_equal(own->tally, tally->number);
    assert_int_equal(own->thread, freeing.record);
    assert_int_equal(all->thread, 0);
    assert_ptr_equal(pl_tally_remote(&process, tally), all); /* others still find that */
    assert_null(own_of(&freeing, rare));
    assert_null(own_of(&other, tally));
}

static void the_process_finds_the_records_of_all_threads(void **state)
{
    (void) state;
    struct pl_tally *tally = new_tally();
    const struct pl_remote *mine = free_many(&freeing, tally), *theirs = free_many(&other, tally);
    const struct pl_remote *at;
    struct pl_foreign_walk walk = {.number = tally->remote};
    unsigned found = 0;
    while ((at = pl_foreign_next(&process.file, &walk)))
        found += at == mine ? 1 : at == theirs ? 10 : 100;
    assert_int_equal(found, 111);
}

static void a_thread_that_has_forgotten_its_record_finds_it_again(void **state)
{
    (void) state;
    struct pl_tally *tally = new_tally();
    const struct pl_remote *own = free_many(&freeing, tally);
    uint64_t before = records();
    memset(&freeing.foreigns, 0, sizeof freeing.foreigns);
    assert_ptr_equal(free_many(&freeing, tally), own);
    assert_int_equal(records(), before);
}

static void cohorts_of_all_records_become_longer_with_those_of_the_tally(void **state)
{
    (void) state;
    struct pl_tally *tally = new_tally();
    struct pl_remote *mine = free_many(&freeing, tally), *theirs = free_many(&other, tally);
    struct pl_remote *all = pl_tally_remote(&process, tally);
    tally->calls = 100;
    all->gone[2] = 1, mine->gone[2] = 10, theirs->gone[3] = 20;
    process.timeline.shift = 1;
    process.era++;
    pl_era_allocated(&process, tally);
    assert_int_equal(tally->gone[1], 31);
    assert_int_equal(all->gone[2] + mine->gone[2] + theirs->gone[3], 0);
}

/* Other processes can write to the file. */
static void a_list_that_is_a_circle_or_leads_out_of_the_file_has_an_end(void **state)
{
    (void) state;
    struct pl_tally *tally = new_tally();
    struct pl_remote *mine = free_many(&freeing, tally), *theirs = free_many(&other, tally);
    uint32_t numbers[] = {tally->remote, UINT32_MAX, 100000};
    struct pl_remote *last = mine->next ? theirs : mine;
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct pl_foreign_walk walk = {.number = tally->remote};
        unsigned found = 0;
        last->next = numbers[i];
        while (pl_foreign_next(&process.file, &walk))
            found++;
        assert_in_range(found, 3, i ? 3 : PL_THREADS_MAX + 1);
    }
}

/* While a record is made, what is remembered must not look like the place of one: that would be in the header. */
static void a_thread_that_leaves_while_its_record_is_made_has_none(void **state)
{
    (void) state;
    struct pl_tally *tally = new_tally();
    assert_non_null(pl_tally_remote(&process, tally));
    leave_at_append = true;
    if (!setjmp(left)) {
        free_many(&freeing, tally);
        fail();
    }
    assert_null(own_of(&freeing, tally));
    assert_non_null(free_many(&freeing, tally));
}

/* Such frees are booked elsewhere, so the record would stay empty. */
static void after_a_reset_and_during_exit_no_record_is_made(void **state)
{
    (void) state;
    struct pl_tally *tally = new_tally();
    pl_tally_remote(&process, tally);
    uint64_t before = records();
    process.resets = 1;
    assert_null(free_many(&freeing, tally));
    process.resets = 0;
    process.exiting = 1;
    assert_null(free_many(&freeing, tally));
    assert_int_equal(records(), before);
}

/* Whatever else a thread frees, its records are bounded, and one tally never has two of them. */
static void a_thread_has_a_bounded_number_of_records(void **state)
{
    (void) state;
    static struct pl_tally *tally[TALLIES];
    unsigned remembered = 0;
    for (unsigned i = 0; i < TALLIES; i++) {
        tally[i] = new_tally();
        pl_tally_remote(&process, tally[i]);
    }
    uint64_t before = records();
    for (unsigned round = 0; round < 100; round++)
        for (unsigned i = 0; i < TALLIES; i++)
            pl_foreign_note(&process, &freeing, tally[i]);
    for (unsigned i = 0; i < TALLIES; i++)
        free_many(&freeing, tally[i]);
    for (unsigned i = 0; i < TALLIES; i++) {
        unsigned own = 0;
        const struct pl_remote *at;
        struct pl_foreign_walk walk = {.number = tally[i]->remote};
        while ((at = pl_foreign_next(&process.file, &walk)))
            own += at->thread == freeing.record;
        assert_in_range(own, 0, 1);
        remembered += own_of(&freeing, tally[i]) != NULL;
    }
    assert_in_range(records() - before, 1, RECORDS_MOST);
    assert_in_range(remembered, 1, PL_FOREIGN_WAYS << PL_FOREIGN_SETS_LOG2);
}

/* A thread that comes later goes on with the record of all threads. */
static void a_tally_has_a_bounded_number_of_records(void **state)
{
    (void) state;
    static struct pl_thread many[THREADS];
    struct pl_tally *tally = new_tally();
    unsigned own = 0;
    memset(many, 0, sizeof many);
    pl_tally_remote(&process, tally);
    uint64_t before = records();
    for (unsigned i = 0; i < THREADS; i++) {
        many[i].record = 10 + i;
        own += free_many(&many[i], tally) != NULL;
    }
    assert_int_equal(own, LIST_MOST);
    assert_int_equal(records() - before, LIST_MOST);
    struct pl_remote *first = free_many(&many[0], tally);
    memset(&many[0].foreigns, 0, sizeof many[0].foreigns);
    assert_ptr_equal(free_many(&many[0], tally), first);
}

static void a_full_file_costs_a_thread_its_record_and_nothing_else(void **state)
{
    (void) state;
    struct pl_tally *tally = new_tally();
    pl_tally_remote(&process, tally);
    process.file.full = PL_FULL_BOUND;
    assert_null(free_many(&freeing, tally));
    assert_int_equal(pl_file_header(&process.file)->losses[PL_LOSS_FILE_FULL], 0);
    process.file.full = PL_FULL_NOT;
    assert_non_null(free_many(&freeing, tally));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)
    const struct CMUnitTest tests[] = {
        TEST(a_thread_gets_a_record_of_its_own_after_some_frees),
        TEST(the_process_finds_the_records_of_all_threads),
        TEST(a_thread_that_has_forgotten_its_record_finds_it_again),
        TEST(cohorts_of_all_records_become_longer_with_those_of_the_tally),
        TEST(a_list_that_is_a_circle_or_leads_out_of_the_file_has_an_end),
        TEST(a_thread_that_leaves_while_its_record_is_made_has_none),
        TEST(after_a_reset_and_during_exit_no_record_is_made),
        TEST(a_thread_has_a_bounded_number_of_records),
        TEST(a_tally_has_a_bounded_number_of_records),
        TEST(a_full_file_costs_a_thread_its_record_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
