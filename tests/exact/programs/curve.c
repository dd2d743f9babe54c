/* SPDX-License-Identifier: MIT */
/*
 * curve.c - a heap that grows and shrinks by a script.
 *
 *   curve LEDGER one      one thread; the peak is neither the first maximum nor the end
 *   curve LEDGER four     four threads, each with its own script; they meet at the peak
 *   curve LEDGER grow     one site grows for more than a second while others stay constant or change
 */
#include "../../lib/patience.h"
#include "ledger.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SITES(X) X(base) X(index) X(cache) X(texts) X(pages) X(queue) X(leak) X(churn)
LEDGER_DECLARE(SITES);

#define KEPT_MAX 6000
#define THREADS 4
#define PAUSE_EVERY_BYTES (256u << 10)
#define GROW_NS 1500000000u
#define GROW_TURNS 200u /* on a busy machine it has few turns in that time */

/* A stack of blocks for each site of a thread. */
struct heap {
    unsigned number;
    struct {
        struct block block[KEPT_MAX];
        unsigned count;
    } kept[SITE_COUNT];
    size_t since_pause;
};

static struct heap heaps[THREADS + 1];
static pthread_barrier_t barrier;

SITES(LEDGER_MALLOC_SITE)
static struct block (*const sites[])(size_t) = {SITES(LEDGER_FUNCTION)};

/* Time passes with each change of the heap. Each pause is a point of the curve. */
static void pause_after(struct heap *heap, size_t bytes)
{
    heap->since_pause += bytes;
    if (heap->since_pause < PAUSE_EVERY_BYTES)
        return;
    heap->since_pause = 0;
    if (heap->number == 0)
        ledger_mark_point();
    ledger_sleep_ms(2);
    if (heap->number == 0)
        ledger_mark_point();
}

static void rise(struct heap *heap, unsigned site, unsigned blocks, size_t bytes)
{
    for (unsigned i = 0; i < blocks; i++) {
        struct block block = sites[site](bytes + i % 7 * (bytes / 8));
        memset(block.address, 1, block.bytes); /* makes it resident */
        heap->kept[site].block[heap->kept[site].count++] = block;
        pause_after(heap, block.bytes);
    }
}

static void fall(struct heap *heap, unsigned site, unsigned blocks)
{
    while (blocks-- && heap->kept[site].count) {
        struct block block = heap->kept[site].block[--heap->kept[site].count];
        ledger_free(block);
        pause_after(heap, block.bytes);
    }
}

static void fall_all(struct heap *heap)
{
    for (unsigned site = 0; site < SITE_COUNT; site++)
        fall(heap, site, KEPT_MAX);
}

/* ---- the scripts ---- */

/* `bytes` 0: that many blocks are freed. Sizes vary between `bytes` and 1.75 times that. */
struct step {
    unsigned site, blocks;
    size_t bytes;
};

static const struct step mountains[] = {
    {SITE_base, 1000, 800},   {SITE_index, 4000, 300}, {SITE_cache, 900, 2000}, {SITE_index, 2500, 0},
    {SITE_texts, 50, 40000},  {SITE_texts, 45, 0}, /* a first maximum */
    {SITE_cache, 300, 0},     {SITE_queue, 1500, 64},  {SITE_queue, 1400, 0},   {SITE_texts, 30, 50000},
    {SITE_pages, 1000, 4096}, /* the peak */
    {SITE_pages, 800, 0},     {SITE_cache, 600, 0},    {SITE_queue, 3000, 100}, {SITE_base, 100, 0},
};

/* After the first steps it only grows, so the peak is at the end of the script. */
static const struct step slopes[THREADS][4] = {
    {{SITE_base, 500, 600}, {SITE_base, 400, 0}, {SITE_index, 3000, 300}, {SITE_pages, 300, 4096}},
    {{SITE_queue, 2000, 60}, {SITE_queue, 1990, 0}, {SITE_cache, 1000, 900}, {SITE_texts, 40, 50000}},
    {{SITE_texts, 4, 50000}, {SITE_texts, 3, 0}, {SITE_base, 4000, 100}, {SITE_queue, 5000, 24}},
    {{SITE_cache, 10, 900}, {SITE_cache, 9, 0}, {SITE_pages, 500, 4096}, {SITE_index, 2000, 300}},
};

static void follow(struct heap *heap, const struct step *step, size_t steps)
{
    for (const struct step *end = step + steps; step < end; step++)
        if (step->bytes)
            rise(heap, step->site, step->blocks, step->bytes);
        else
            fall(heap, step->site, step->blocks);
}

static void run_one(void)
{
    ledger_follow_peak();
    follow(&heaps[0], mountains, sizeof mountains / sizeof *mountains);
    ledger_mark_point();
}

static void *run_slope(void *argument)
{
    struct heap *heap = argument;
    ledger_thread(heap->number);
    follow(heap, slopes[heap->number - 1], 4);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier); /* main marks the peak in between */
    fall_all(heap);
    return NULL;
}

static void run_four(void)
{
    pthread_t thread[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    for (unsigned i = 0; i < THREADS; i++) {
        heaps[i + 1].number = i + 1;
        if (pthread_create(&thread[i], NULL, run_slope, &heaps[i + 1]))
            _exit(3);
    }
    pthread_barrier_wait(&barrier);
    ledger_mark_peak();
    pthread_barrier_wait(&barrier);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
}

static void run_grow(void)
{
    struct heap *heap = &heaps[0];
    rise(heap, SITE_base, 500, 2000);
    rise(heap, SITE_cache, 100, 4096);
    uint64_t start = ledger_now_ns();
    for (unsigned turn = 0; turn < GROW_TURNS || ledger_now_ns() - start < GROW_NS; turn++) {
        rise(heap, SITE_leak, 10, 1000);
        rise(heap, SITE_churn, 10, 500);
        fall(heap, SITE_churn, 10);
        ledger_mark_point();
        ledger_sleep_ms(3);
        ledger_mark_point();
    }
}

static const struct {
    const char *name;
    void (*run)(void);
} modes[] = {{"one", run_one}, {"four", run_four}, {"grow", run_grow}};

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    alarm(PATIENCE_S);
    ledger_open(argv[1], site_names, SITE_COUNT);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (strcmp(argv[2], modes[i].name) == 0)
            modes[i].run();
    return 0;
}
