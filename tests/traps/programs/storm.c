/* SPDX-License-Identifier: MIT */
/*
 * storm.c - threads that allocate while signals arrive as fast as the kernel sends them. The handler allocates, frees
 * and moves blocks, also those of the code that it interrupts. Prints how many calls and bytes it requested, and how
 * often the handler ran.
 *
 *   storm THREADS MS
 *
 * The real allocator must be reentrant: reentrant.c is.
 */
#include <pthread.h>
#include <stdint.h>

#include "handlers.h"

static __thread uint64_t calls, bytes, handled;
static __thread void *volatile shared;
static uint64_t all_calls, all_bytes, all_handled;
static long lifetime_ms;

static APART void *storm_allocate(size_t n)
{
    calls++;
    bytes += n;
    return keep(malloc(n));
}

static APART void *storm_move(void *block, size_t n)
{
    calls++;
    bytes += n;
    return keep(realloc(block, n));
}

static void *take(void)
{
    return __atomic_exchange_n(&shared, NULL, __ATOMIC_ACQ_REL);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void) number, (void) info, (void) context;
    handled++;
    free(take());
    void *block = storm_move(storm_allocate(50), 90);
    free(__atomic_exchange_n(&shared, block, __ATOMIC_ACQ_REL));
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void *work(void *unused)
{
    timer_t timer = start_timer(SIGUSR1, 100000);
    int64_t end = now_ms() + lifetime_ms;
    for (unsigned i = 0; i % 1024 || now_ms() < end; i++) {
        free(__atomic_exchange_n(&shared, storm_allocate(i % 300), __ATOMIC_ACQ_REL));
        void *block = take();
        free(block ? storm_move(block, 200) : NULL);
    }
    timer_delete(timer);
    free(take());
    __atomic_add_fetch(&all_calls, calls, __ATOMIC_RELAXED);
    __atomic_add_fetch(&all_bytes, bytes, __ATOMIC_RELAXED);
    __atomic_add_fetch(&all_handled, handled, __ATOMIC_RELAXED);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread[16];
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    lifetime_ms = argc > 2 ? atol(argv[2]) : 100;
    handle(SIGUSR1, on_signal, 0);
    for (int i = 0; i < threads; i++)
        CHECK(pthread_create(&thread[i], NULL, work, NULL) == 0);
    for (int i = 0; i < threads; i++)
        CHECK(pthread_join(thread[i], NULL) == 0);
    printf("%lu %lu %lu\n", all_calls, all_bytes, all_handled);
    return 0;
}
