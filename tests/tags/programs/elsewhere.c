/* SPDX-License-Identifier: MIT */
/*
 * elsewhere.c - blocks that are freed or moved under another tag or in another thread. The free is counted for the tag
 * that allocated the block. A moved block belongs to the tag that moved it.
 *
 *   elsewhere ACCOUNT frees      in another thread, in another tag, after the scope, after the thread has ended
 *   elsewhere ACCOUNT reallocs   in place, moved, to zero, failed
 *   elsewhere ACCOUNT peak       several threads fill the heap, pause, and free each other's blocks
 */
#include "account.h"

#include <pthread.h>
#include <stdint.h>

#define BLOCKS 100
#define TURNS 40
#define PEAK_THREADS 3
#define PEAK_BLOCKS 2000
#define PEAK_BLOCK_BYTES 1000

static struct held kept[4][BLOCKS];

static void make(struct held *blocks, size_t bytes)
{
    for (unsigned i = 0; i < BLOCKS; i++)
        blocks[i] = take((enum account_function)(i % ACCOUNT_FUNCTIONS), bytes + i);
}

static void release(struct held *blocks, unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++)
        give(blocks[i]);
}

/* Thread 1 allocates and ends. Thread 2 and main free its blocks. */
static void make_in_thread(unsigned number)
{
    (void) number;
    push("maker");
    make(kept[0], 50);
    push("inner");
    make(kept[1], 500);
    pop();
    pop();
    make(kept[2], 5000);
}

static void free_in_thread(unsigned number)
{
    (void) number;
    release(kept[0], 0, 30);
    push("reaper");
    release(kept[1], 0, 40);
    release(kept[2], 0, 50);
    make(kept[3], 70);
    pop();
}

static void free_elsewhere(void)
{
    crew_run(1, 1, make_in_thread);
    crew_run(2, 1, free_in_thread);
    push("main");
    release(kept[0], 30, 60);
    release(kept[1], 40, 60);
    release(kept[3], 0, 60);
    make(kept[2], 300);
    pop();
    release(kept[2], 0, 20);
    push("other");
    release(kept[2], 20, 40);
    pop();
}

/* A block with free memory behind it can grow in place. One with a neighbour cannot. */
static unsigned grow(struct held block, const char *tag, size_t bytes)
{
    void *before = block.address;
    push(tag);
    struct held after = take_again(block, bytes);
    pop();
    REQUIRE(after.address != NULL);
    unsigned moved = after.address != before;
    if (bytes % 3)
        give(after);
    return moved;
}

static void realloc_elsewhere(void)
{
    unsigned moved = 0, stayed = 0;
    account_follow_peak();
    for (unsigned i = 0; i < TURNS; i++) {
        push("old");
        struct held alone = take(BY_MALLOC, 1000 + i), followed = take(BY_MALLOC, 700 + i),
                    neighbour = take(BY_MALLOC, 40);
        struct held shrinks = take(BY_CALLOC, 3000), vanishes = take(BY_MALLOC, 60 + i), fails = take(BY_MALLOC, 90);
        pop();
        unsigned far = grow(followed, "new", 9000 + i);
        moved += far;
        stayed += !far;
        unsigned near = grow(shrinks, "smaller", 200 + i);
        moved += near;
        stayed += !near;
        moved += grow(alone, "new", 1001 + i); /* mostly in the same chunk */
        push("to zero");
        take_again(vanishes, 0);
        push("in vain");
        struct held same = take_again(fails, SIZE_MAX / 4);
        REQUIRE(same.address == fails.address);
        REQUIRE(take(BY_MALLOC, SIZE_MAX / 4).address == NULL && take(BY_CALLOC, SIZE_MAX / 2).address == NULL);
        pop();
        give(take_again((struct held){0}, 33));
        pop();
        give(neighbour);
        if (i % 2)
            give(same);
    }
    REQUIRE(moved && stayed);
}

static struct held heap[PEAK_THREADS][PEAK_BLOCKS];
static pthread_barrier_t step;

static void fill_and_empty(unsigned number)
{
    struct held *mine = heap[number - 1], *others = heap[number % PEAK_THREADS];
    for (unsigned i = 0; i < PEAK_BLOCKS; i++) {
        push(i % 2 ? "odd" : "even");
        mine[i] = take(BY_MALLOC, PEAK_BLOCK_BYTES);
        pop();
    }
    pthread_barrier_wait(&step);
    if (number == 1)
        account_mark_peak();
    pthread_barrier_wait(&step);
    for (unsigned i = 0; i < PEAK_BLOCKS; i++)
        give(others[i]);
}

static void reach_peak(void)
{
    pthread_barrier_init(&step, NULL, PEAK_THREADS);
    crew_run(1, PEAK_THREADS, fill_and_empty);
}

static const struct account_mode modes[] = {
    {"frees", free_elsewhere},
    {"reallocs", realloc_elsewhere},
    {"peak", reach_peak},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    return account_main(argc, argv, modes);
}
