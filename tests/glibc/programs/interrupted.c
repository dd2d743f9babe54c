/* SPDX-License-Identifier: MIT */
/*
 * interrupted.c - sends signals as fast as possible to threads that only allocate. The handlers do not allocate
 * (glibc's malloc would not survive that) but use stack, change errno, and run on a small stack of their own. Prints
 * how many calls the threads made, of how many bytes, and how many signals arrived.
 *
 *   interrupted THREADS MILLISECONDS
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

#include "../../traps/programs/trap.h"

#define STACK_BYTES 8192
#define SIGNALS_LEAST 20 /* a busy machine delivers only few */

static atomic_int stop, running;
static _Atomic uint64_t calls, bytes, handled;

static void handler(int number)
{
    volatile char used[1024];
    used[number] = 1;
    errno = number + used[number];
    handled++;
}

static APART void *interrupted_allocate(size_t size)
{
    return keep(malloc(size));
}

static void *work(void *argument)
{
    static __thread char stack[STACK_BYTES];
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    uint64_t my_calls = 0, my_bytes = 0;
    (void) argument;
    CHECK(sigaltstack(&alternate, NULL) == 0);
    running++;
    for (size_t size = 1; !stop; size = size % 3000 + 17) {
        char *block = interrupted_allocate(size);
        block[0] = block[size - 1] = (char) size;
        block = keep(realloc(block, size + 700));
        CHECK(block[0] == (char) size && block[size - 1] == (char) size);
        free(block);
        my_calls += 2;
        my_bytes += 2 * size + 700;
    }
    calls += my_calls;
    bytes += my_bytes;
    return NULL;
}

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000 + (uint64_t) now.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    int threads = atoi(argv[1]);
    pthread_t thread[8];
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK | SA_RESTART};
    CHECK(threads > 0 && threads <= 8 && sigaction(SIGUSR1, &action, NULL) == 0);
    for (int i = 0; i < threads; i++)
        CHECK(pthread_create(&thread[i], NULL, work, NULL) == 0);
    while (running < threads)
        ;
    for (uint64_t end = now_ms() + (uint64_t) atoi(argv[2]); now_ms() < end || handled < SIGNALS_LEAST;)
        for (int i = 0; i < threads; i++)
            pthread_kill(thread[i], SIGUSR1);
    stop = 1;
    for (int i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
    printf("%llu %llu %llu\n", (unsigned long long) calls, (unsigned long long) bytes, (unsigned long long) handled);
    return 0;
}
