/* SPDX-License-Identifier: MIT */
/*
 * shapes.c - frames of every kind that compilers make: fixed, growing, realigned, deep; on all kinds of thread stacks.
 */
#include <alloca.h>
#include <pthread.h>
#include <sys/mman.h>

#include "allocate.h"

static NOINLINE void with_vla(int n)
{
    char block[n];
    memset(block, n, (size_t) n);
    sink += block[n / 2];
    allocate(n);
    sink += block[0];
}

static NOINLINE void with_alloca(int n)
{
    char *block = alloca((size_t) n);
    memset(block, 1, (size_t) n);
    for (int i = 0; i < 3; i++) {
        block = alloca((size_t) (16 * i + 16));
        *block = 1;
        allocate(n);
    }
    sink += *block;
}

static NOINLINE void realigned(int n)
{
    char block[128] __attribute__((aligned(128)));
    memset(block, n, sizeof block);
    allocate(n);
    sink += block[n & 63];
    with_vla(n);
    sink += block[3];
}

static NOINLINE void realigned_and_growing(int n)
{
    char block[64] __attribute__((aligned(64)));
    char *more = alloca((size_t) n);
    *more = 1;
    memset(block, n, sizeof block);
    allocate(n);
    sink += block[n & 63] + *more;
}

/* More arguments than registers, and an alignment: the compiler must keep access to both. */
static NOINLINE int realigned_with_arguments(int a, int b, int c, int d, int e, int f, int g, int h)
{
    char block[256] __attribute__((aligned(256)));
    memset(block, a, sizeof block);
    allocate(b + h);
    return block[c & 127] + d + e + f + g + h;
}

static NOINLINE void large_frame(int n)
{
    volatile char block[40000];
    block[n] = 1;
    allocate(n);
    sink += block[n];
}

static NOINLINE void recursive(int depth, int n)
{
    if (depth % 2)
        with_vla(n);
    if (depth)
        recursive(depth - 1, n + depth);
    else
        realigned_and_growing(n | 1);
    sink++;
}

static int compare_allocating(const void *a, const void *b)
{
    allocate(5);
    return *(const int *) a - *(const int *) b;
}

static void all_shapes(int i)
{
    int n = 1 + i * 7919 % 300;
    int numbers[] = {5, 3, 9, 1, n, 7, 2};
    with_vla(n);
    with_alloca(n);
    realigned(n);
    realigned_and_growing(n);
    sink += realigned_with_arguments(n, 2, 3, 4, 5, 6, 7, 8);
    large_frame(n);
    qsort(numbers, 7, sizeof *numbers, compare_allocating);
    recursive(i % 23, n);
}

static void shapes(int times)
{
    for (int i = 0; i < times; i++)
        all_shapes(i);
}

static NOINLINE void descend(int depth)
{
    if (depth > 0)
        descend(depth - 1);
    else
        allocate(1);
    sink++; /* not a tail call */
}

/* Each depth around the number of frames that a walk keeps, then the requested depth. */
static void deep(int depth)
{
    for (int i = 0; i < 600; i++)
        descend(i);
    descend(depth);
}

static void *thread_shapes(void *argument)
{
    shapes(*(int *) argument);
    return NULL;
}

static void *thread_deep(void *argument)
{
    deep(*(int *) argument);
    return NULL;
}

static void run_thread(void *(*run)(void *), int times, const pthread_attr_t *attributes)
{
    pthread_t thread;
    if (pthread_create(&thread, attributes, run, &times) != 0)
        abort();
    pthread_join(thread, NULL);
}

/* Stacks from the library, from the program, and in the middle of other memory of the program. */
static void threads(int times)
{
    pthread_attr_t attributes;
    pthread_t together[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&together[i], NULL, thread_shapes, &times);
    for (int i = 0; i < 4; i++)
        pthread_join(together[i], NULL);

    pthread_attr_init(&attributes);
    size_t bytes = 1 << 20;
    void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_setstack(&attributes, mapped, bytes);
    run_thread(thread_shapes, times, &attributes);
    munmap(mapped, bytes);

    static char within_program[1 << 20] __attribute__((aligned(4096)));
    pthread_attr_setstack(&attributes, within_program, sizeof within_program);
    run_thread(thread_shapes, times, &attributes);
    pthread_attr_destroy(&attributes);
}

/* The first allocation of a thread may be its deepest. */
static void deep_threads(int depth)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 << 20);
    run_thread(thread_deep, depth, &attributes);
    pthread_attr_destroy(&attributes);
}

int main(int argc, char **argv)
{
    static const struct scenario scenarios[] = {
        {"shapes", shapes},
        {"deep", deep},
        {"threads", threads},
        {"deep-threads", deep_threads},
    };
    return run_scenario(scenarios, sizeof scenarios / sizeof *scenarios, argc, argv);
}
