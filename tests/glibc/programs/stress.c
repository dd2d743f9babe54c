/* SPDX-License-Identifier: MIT */
/*
 * stress.c - threads that exchange blocks, resize, move and free them. The contents of each block are known, and every
 * thread that gets a block checks them.
 *
 *   stress THREADS ROUNDS STEPS [fork]
 *
 * There is one table of blocks. A thread takes the block of a slot and puts another one there, without locks, so that
 * threads meet only in the allocator. Each round has new threads. With `fork`, now and then a child continues with the
 * inherited blocks.
 *
 * A marked chunk shares one word with its neighbours, the size. A race there shows as a block with wrong contents, or
 * as an abort of the allocator.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/wait.h>

#include "../../traps/programs/trap.h"

#define SLOTS 2048
#define CHILD_STEPS 400
#define STEPS_PER_FORK 20000

/* The head of every block. The words after it follow from it. */
struct block {
    uint64_t bytes;
    uint64_t seed;
};

static struct block *_Atomic slot[SLOTS];
static _Atomic uint64_t seeds;
static long steps;
static int forks;

static uint64_t scramble(uint64_t x)
{
    x = (x ^ x >> 31) * 0x7fb5d329728ea185;
    x = (x ^ x >> 27) * 0x81dadef4bc2dd44d;
    return x ^ x >> 33;
}

static uint64_t next(uint64_t *state)
{
    return scramble(*state += 0x9e3779b97f4a7c15);
}

/* ---- contents ---- */

static uint64_t *words(struct block *block, size_t *n)
{
    *n = (block->bytes - sizeof *block) / 8;
    return (uint64_t *) (block + 1);
}

static void fill(struct block *block, size_t bytes)
{
    block->bytes = bytes;
    block->seed = atomic_fetch_add(&seeds, 1);
    size_t n;
    uint64_t *word = words(block, &n);
    for (size_t i = 0; i < n; i++)
        word[i] = scramble(block->seed + i);
}

/* Checks the part of a block that is within `bytes`. */
static void check(struct block *block, size_t bytes)
{
    size_t n, most = (bytes - sizeof *block) / 8;
    uint64_t *word = words(block, &n);
    for (size_t i = 0; i < n && i < most; i++)
        CHECK(word[i] == scramble(block->seed + i));
}

/* ---- operations on blocks ---- */

/* Mostly small sizes, which come from the thread's cache; some that are split from free memory; few mapped ones. */
static size_t some_size(uint64_t random)
{
    unsigned kind = random % 100;
    size_t bytes = kind < 60 ? random >> 8 & 0xff : kind < 99 ? random >> 8 & 0x1fff : 130000 + (random >> 8 & 0xffff);
    return sizeof(struct block) + bytes;
}

static struct block *make_plain(size_t bytes)
{
    return malloc(bytes);
}

static struct block *make_zero(size_t bytes)
{
    unsigned char *block = calloc(1, bytes);
    for (size_t i = 0; block && i < bytes; i++)
        CHECK(block[i] == 0);
    return (struct block *) block;
}

static struct block *make_aligned(size_t bytes)
{
    void *block = NULL;
    size_t alignment = (size_t) 32 << bytes % 8;
    CHECK(posix_memalign(&block, alignment, bytes) == 0 && (uintptr_t) block % alignment == 0);
    return block;
}

static struct block *(*const makers[])(size_t) = {make_plain, make_plain, make_plain, make_zero, make_aligned};

static struct block *make(uint64_t random)
{
    size_t bytes = some_size(random);
    struct block *block = makers[(random >> 50) % (sizeof makers / sizeof *makers)](bytes);
    CHECK(block && malloc_usable_size(block) >= bytes);
    fill(block, bytes);
    return block;
}

static struct block *move(struct block *block, uint64_t random)
{
    size_t bytes = some_size(random);
    block = realloc(block, bytes);
    CHECK(block && malloc_usable_size(block) >= bytes);
    check(block, bytes);
    fill(block, bytes);
    return block;
}

static void step(uint64_t *state)
{
    uint64_t random = next(state);
    struct block *mine = NULL;
    struct block *taken = atomic_exchange(&slot[random % SLOTS], NULL);
    if (taken)
        check(taken, taken->bytes);
    if (taken && random >> 60 < 5)
        mine = move(taken, next(state));
    else
        free(taken);
    if (!mine && random >> 60 < 12)
        mine = make(next(state));
    free(atomic_exchange(&slot[next(state) % SLOTS], mine));
}

/* ---- threads and children ---- */

/* A child must not touch what other threads were working on. The blocks in the table are also the child's. */
static void run_child(uint64_t *state)
{
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < CHILD_STEPS; i++)
            step(state);
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static void *run_thread(void *number)
{
    uint64_t state = (uintptr_t) number;
    for (long i = 1; i <= steps; i++) {
        step(&state);
        if (forks && i % STEPS_PER_FORK == 0)
            run_child(&state);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    CHECK(argc >= 4);
    int threads = atoi(argv[1]), rounds = atoi(argv[2]);
    steps = atol(argv[3]);
    forks = argc > 4;
    pthread_t thread[16];
    CHECK(threads > 0 && threads <= 16);
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < threads; i++)
            CHECK(pthread_create(&thread[i], NULL, run_thread, (void *) (uintptr_t) (round * 100 + i + 1)) == 0);
        for (int i = 0; i < threads; i++)
            CHECK(pthread_join(thread[i], NULL) == 0);
    }
    for (int i = 0; i < SLOTS; i++)
        free(slot[i]);
    printf("%llu blocks were what they should be\n", (unsigned long long) seeds);
    return 0;
}
