/* SPDX-License-Identifier: MIT */
/*
 * test_order.c - pairs of threads through the words that one publishes and the other trusts: docs/decisions/
 * memory-order.md. A missing release or acquire shows on processors that reorder.
 */
#include "core_tests.h"

#include <signal.h>
#include <sys/time.h>

#include "core/map.h"
#include "core/memory.h"
#include "core/process.h"
#include "core/threads.h"

#define ROUNDS 100000u

static struct pl_map map;
static uint64_t body[ROUNDS + 1][4];
static uint64_t wrong;

/* A record is filled in, then its number settled in the map: whoever finds the number finds the record. */
static void publish_or_trust(unsigned number)
{
    for (uint32_t i = 1; i <= ROUNDS; i++) {
        struct pl_slot *slot = pl_map_slot(&map, i * 0x9e3779b97f4a7c15ull);
        if (!slot) {
            wrong++;
        } else if (number == 0) {
            for (unsigned k = 0; k < 4; k++)
                body[i][k] = i + k;
            pl_map_settle(slot, i);
        } else {
            uint32_t id = load_acquire(&slot->id);
            for (unsigned k = 0; k < 4 && id; k++)
                wrong += body[id][k] != id + k;
        }
    }
}

static void whoever_finds_a_number_finds_its_record(void **state)
{
    (void) state;
    run_threads(2, publish_or_trust);
    assert_int_equal(wrong, 0);
    assert_int_equal(pl_map_slot(&map, ROUNDS * 0x9e3779b97f4a7c15ull)->id, ROUNDS);
}

/* A visit: busy is set, both words change, busy is cleared. The sum of the two never changes outside of a visit. */
static struct pl_thread watched;
static struct pl_tls watched_tls;
static uint32_t finished;

static void visit_or_watch(unsigned number)
{
    if (number == 0) {
        for (uint64_t i = 1; i <= ROUNDS; i++) {
            pl_thread_enter(&watched, &watched_tls, 1);
            __atomic_thread_fence(__ATOMIC_RELEASE);
            exchange(&watched_tls.charge_left, i);
            store_relaxed(&watched.countdown, -i);
            pl_thread_leave(&watched, &watched_tls);
        }
        store_release(&finished, 1);
        return;
    }
    while (!load_acquire(&finished)) {
        uint64_t countdown = load_acquire(&watched.countdown);
        uintptr_t busy = load_acquire(&watched.busy);
        uint64_t left = load_acquire(&watched_tls.charge_left);
        busy |= load_acquire(&watched.busy);
        wrong += !busy && countdown == load_acquire(&watched.countdown) && left + countdown != 0;
    }
}

static void whoever_sees_no_visit_sees_no_half_of_one(void **state)
{
    (void) state;
    run_threads(2, visit_or_watch);
    assert_int_equal(wrong, 0);
    assert_int_equal(watched.countdown + watched_tls.charge_left, 0);
}

/* Counters of the hot path: a handler of the same thread may come between any two instructions. */
static uint64_t counted;
static volatile sig_atomic_t handled;

static void count_in_handler(int signal)
{
    (void) signal;
    pl_arch_add(&counted, 1);
    handled++;
}

static void no_count_of_a_signal_handler_is_lost(void **state)
{
    (void) state;
    struct sigaction action = {.sa_handler = count_in_handler};
    struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
    uint64_t own = 0;
    while (handled < 200)
        for (unsigned i = 0; i < 1000; i++, own++)
            pl_arch_add(&counted, 1);
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    assert_int_equal(counted, own + (uint64_t) handled);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whoever_finds_a_number_finds_its_record),
        cmocka_unit_test(whoever_sees_no_visit_sees_no_half_of_one),
        cmocka_unit_test(no_count_of_a_signal_handler_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
