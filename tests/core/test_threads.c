/* SPDX-License-Identifier: MIT */
/*
 * test_threads.c - tests how threads get their blocks (threads.h).
 *
 * This program includes threads.c to reach its statics.
 */
#include "core_tests.h"

#include "core/compiler.h"

/* In a test, another thread is faster: it takes the block that this thread is about to take. */
static bool others_are_faster;
#undef swap_if
#define swap_if(word, from, to)                                                                                        \
    (__extension__({                                                                                                   \
        __typeof__(*(word)) expected_ = (from);                                                                        \
        bool won_ = __atomic_compare_exchange_n(word, &expected_, to, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);          \
        won_ && !others_are_faster;                                                                                    \
    }))

/* In a test, a signal handler that allocates comes while the thread is being registered. */
static void (*interrupt)(void);
#include "core/records/tallies.h"
static void forget_and_interrupt(struct pl_thread *thread)
{
    pl_tally_forget(thread);
    void (*handler)(void) = interrupt;
    interrupt = NULL;
    if (handler)
        handler();
}
#define pl_tally_forget forget_and_interrupt

#include "core/threads.c"

static struct pl_process process;

static void a_thread_that_maps_blocks_gets_one_even_if_others_take_the_rest(void **state)
{
    (void) state;
    memset(&process, 0, sizeof process);
    others_are_faster = true;
    assert_non_null(new_block(&process));
    assert_non_null(new_block(&process));
    others_are_faster = false;
    assert_int_equal(process.thread_count, 2);
}

static void no_two_threads_get_the_same_block(void **state)
{
    (void) state;
    memset(&process, 0, sizeof process);
    const struct pl_thread *got[4 * BLOCKS_AT_ONCE];
    for (unsigned i = 0; i < 4 * BLOCKS_AT_ONCE; i++) {
        got[i] = new_block(&process);
        assert_non_null(got[i]);
        for (unsigned j = 0; j < i; j++)
            assert_ptr_not_equal(got[i], got[j]);
    }
    assert_null(take_spare(&process)); /* each mapping was used up before the next */
}

static void handler(void)
{
    assert_non_null(pl_thread_register(&process, &pl_tls));
}

static void a_thread_that_a_handler_registers_meanwhile_has_one_block(void **state)
{
    (void) state;
    unsigned blocks = 0;
    memset(&process, 0, sizeof process);
    process.state = PL_PROCESS_ON;
    process.pid = (uint32_t) getpid();
    interrupt = handler;
    const struct pl_thread *thread = pl_thread_register(&process, &pl_tls);
    for (const struct pl_thread *t = process.threads; t; t = t->next)
        blocks += t->tls == &pl_tls; /* each of them would be booked with all of the thread's calls */
    assert_int_equal(blocks, 1);
    assert_ptr_equal(thread, pl_tls.thread);
    pl_tls = (struct pl_tls){0};
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_maps_blocks_gets_one_even_if_others_take_the_rest),
        cmocka_unit_test(no_two_threads_get_the_same_block),
        cmocka_unit_test(a_thread_that_a_handler_registers_meanwhile_has_one_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
