/* SPDX-License-Identifier: MIT */
/*
 * pipeline.c - producers allocate and consumers free: every free is made by another thread.
 *
 *   pipeline LEDGER PAIRS BLOCKS     each of PAIRS producers gives BLOCKS blocks to a consumer, which keeps one in ten
 */
#include "../../lib/patience.h"
#include "ledger.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#define SITES(X) X(message) X(text)
LEDGER_DECLARE(SITES);

#define RING 64
#define KEEP_EVERY 10

struct pipe {
    unsigned producer, consumer; /* their numbers */
    unsigned long blocks;
    unsigned long written, read;
    struct block ring[RING];
};

static APART struct block site_message(size_t bytes)
{
    return LEDGER_ALLOCATE(SITE_message, bytes, malloc(bytes));
}

static APART struct block site_text(size_t bytes)
{
    return LEDGER_ALLOCATE(SITE_text, bytes, calloc(1, bytes));
}

static void *produce(void *argument)
{
    struct pipe *pipe = argument;
    ledger_thread(pipe->producer);
    for (unsigned long i = 0; i < pipe->blocks; i++) {
        struct block block = i % 3 ? site_message(40 + i % 50) : site_text(1 + i % 3000);
        while (i - __atomic_load_n(&pipe->read, __ATOMIC_ACQUIRE) >= RING)
            sched_yield();
        pipe->ring[i % RING] = block;
        __atomic_store_n(&pipe->written, i + 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

static void *consume(void *argument)
{
    struct pipe *pipe = argument;
    ledger_thread(pipe->consumer);
    for (unsigned long i = 0; i < pipe->blocks; i++) {
        while (__atomic_load_n(&pipe->written, __ATOMIC_ACQUIRE) <= i)
            sched_yield();
        if (i % KEEP_EVERY)
            ledger_free(pipe->ring[i % RING]);
        __atomic_store_n(&pipe->read, i + 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static struct pipe pipes[LEDGER_THREADS / 2];
    pthread_t thread[LEDGER_THREADS];
    if (argc != 4)
        return 2;
    unsigned pairs = (unsigned) atoi(argv[2]);
    alarm(PATIENCE_S);
    ledger_open(argv[1], site_names, SITE_COUNT);
    for (unsigned i = 0; i < pairs; i++) {
        pipes[i] = (struct pipe){.producer = 2 * i + 1, .consumer = 2 * i + 2, .blocks = strtoul(argv[3], NULL, 10)};
        if (pthread_create(&thread[2 * i], NULL, produce, &pipes[i]) ||
            pthread_create(&thread[2 * i + 1], NULL, consume, &pipes[i]))
            return 3;
    }
    for (unsigned i = 0; i < 2 * pairs; i++)
        pthread_join(thread[i], NULL);
    return 0;
}
