/* SPDX-License-Identifier: MIT */
/*
 * program.c - allocates from sites whose figures are all known, and prints what it did.
 *
 * A site is a function. check.py finds it in a profile by its name. When it has finished, it prints one line:
 *
 *     <function> <calls> <bytes> <live blocks> <live bytes>
 *
 * One block in three is never freed. The same thread frees the others, or another thread if the name says so.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SITE static __attribute__((noinline, used))

struct ledger {
    uint64_t calls, bytes, live, live_bytes;
};

static void *volatile sink; /* keeps the compiler from removing pairs of malloc and free */

static void *checked(void *block)
{
    if (!block)
        abort();
    sink = block;
    return block;
}

static bool stays(uint64_t i)
{
    return i % 3 == 0;
}

static void book(struct ledger *ledger, size_t size, bool live)
{
    ledger->calls++;
    ledger->bytes += size;
    ledger->live += live;
    ledger->live_bytes += live ? size : 0;
}

static void report(const char *site, const struct ledger *l)
{
    printf("%s %llu %llu %llu %llu\n", site, (unsigned long long) l->calls, (unsigned long long) l->bytes,
           (unsigned long long) l->live, (unsigned long long) l->live_bytes);
}

SITE void site_small(void)
{
    struct ledger ledger = {0};
    for (uint64_t i = 0; i < 200000; i++) {
        void *block = checked(malloc(16));
        book(&ledger, 16, stays(i));
        if (!stays(i))
            free(block);
    }
    report(__func__, &ledger);
}

SITE void site_mixed(void)
{
    static const size_t sizes[] = {24, 200, 40, 96, 16, 64, 1000, 32, 48, 8, 120, 64, 300, 72, 24, 56};
    struct ledger ledger = {0};
    for (uint64_t i = 0; i < 60000; i++) {
        size_t size = sizes[i % (sizeof(sizes) / sizeof(sizes[0]))];
        void *block = checked(calloc(1, size));
        book(&ledger, size, stays(i));
        if (!stays(i))
            free(block);
    }
    report(__func__, &ledger);
}

SITE void site_large(void)
{
    struct ledger ledger = {0};
    for (uint64_t i = 0; i < 600; i++) {
        void *block = checked(malloc(64 << 10));
        book(&ledger, 64 << 10, stays(i));
        if (!stays(i))
            free(block);
    }
    report(__func__, &ledger);
}

/* A buffer that doubles: each realloc is a call of the full new size, and frees the old block. */
SITE void site_grow(void)
{
    struct ledger ledger = {0};
    for (uint64_t i = 0; i < 4000; i++) {
        void *block = NULL;
        for (size_t size = 64; size <= 2048; size *= 2) {
            block = checked(realloc(block, size));
            book(&ledger, size, size == 2048 && stays(i));
        }
        if (!stays(i))
            free(block);
    }
    report(__func__, &ledger);
}

/* ---- freed by another thread ---- */

#define CROSSED 100000
static void *crossed[CROSSED];

static void *free_crossed(void *unused)
{
    for (uint64_t i = 0; i < CROSSED; i++)
        if (!stays(i))
            free(crossed[i]);
    return unused;
}

SITE void site_crossed(void)
{
    struct ledger ledger = {0};
    for (uint64_t i = 0; i < CROSSED; i++) {
        crossed[i] = checked(malloc(48));
        book(&ledger, 48, stays(i));
    }
    report(__func__, &ledger);
}

/* ---- threads that allocate ten times and end ---- */

#define THREADS 2000
#define PER_THREAD 10

SITE void *site_threads(void *argument)
{
    struct ledger *ledger = argument;
    for (uint64_t i = 0; i < PER_THREAD; i++) {
        bool live = stays(ledger->calls);
        void *block = checked(malloc(100));
        book(ledger, 100, live);
        if (!live)
            free(block);
    }
    return NULL;
}

static void run_thread(void *(*body)(void *), void *argument)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, body, argument) || pthread_join(thread, NULL))
        abort();
}

int main(void)
{
    struct ledger ledger = {0};
    setvbuf(stdout, NULL, _IONBF, 0);
    site_small();
    site_mixed();
    site_large();
    site_grow();
    site_crossed();
    run_thread(free_crossed, NULL);
    for (unsigned i = 0; i < THREADS; i++)
        run_thread(site_threads, &ledger);
    report("site_threads", &ledger);
    return 0;
}
