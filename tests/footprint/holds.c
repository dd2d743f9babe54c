/* SPDX-License-Identifier: MIT */
/*
 * holds.c - holds memory of every kind, in amounts that memory.py knows. It prints `ready`, and ends with its input.
 *
 * usage: holds FILE [THREADS [huge | pool]]     FILE: 4 MiB are written to it
 *
 * huge: one byte in each 2 MiB of 32 MiB, where the kernel may use huge pages
 * pool: an announced heap in a chunk of malloc
 */
#include <plimsoll.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MIB (1u << 20)
#define APART __attribute__((noinline, noclone))
#define KEPT 20000
#define RETAINED 8000
#define PINNED 40000
#define PINNING 20 /* of so many blocks, one is kept */

static void *volatile kept[KEPT];
static void *volatile retained[RETAINED];
static void *volatile pinned[PINNED];
static void *volatile others[3]; /* untouched, half touched, behind those that are retained */
static volatile char sum;

static void touch(volatile char *block, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 4096)
        block[i] = 1;
}

APART static void untouched(void)
{
    others[0] = malloc(64 * MIB);
}

APART static void half_touched(void)
{
    others[1] = malloc(16 * MIB);
    touch(others[1], 8 * MIB);
}

APART static void *survivor(size_t bytes)
{
    return malloc(bytes);
}

APART static void *keeper(void)
{
    return malloc(200);
}

APART static void *passing(void)
{
    return malloc(200);
}

/* All blocks are made before any is freed, so that none of them takes the place of another. */
static void make_all(void)
{
    for (int i = 0; i < KEPT; i++)
        touch(kept[i] = survivor(1000), 1000);
    for (int i = 0; i < PINNED; i++)
        touch(pinned[i] = i % PINNING ? passing() : keeper(), 200);
    for (int i = 0; i < RETAINED; i++)
        touch(retained[i] = malloc(2040), 2040);
    others[2] = malloc(2040); /* malloc cannot give back what is before it */
}

/* Every second, so that no page becomes free; all but one on each page; and all. */
static void free_most(void)
{
    for (int i = 0; i < KEPT; i += 2)
        free(kept[i]);
    for (int i = 0; i < PINNED; i++)
        if (i % PINNING)
            free(pinned[i]);
    for (int i = 0; i < RETAINED; i++)
        free(retained[i]);
}

static char *map(size_t bytes, int flags, int file)
{
    char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, file, 0);
    return at == MAP_FAILED ? (perror("holds: mmap"), exit(1), at) : at;
}

static void map_all(const char *path)
{
    static char page[MIB];
    touch(map(12 * MIB, MAP_PRIVATE | MAP_ANONYMOUS, -1), 6 * MIB);
    touch(map(8 * MIB, MAP_SHARED | MAP_ANONYMOUS, -1), 5 * MIB);
    char *zeros = map(10 * MIB, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    madvise(zeros, 10 * MIB, MADV_NOHUGEPAGE);
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    for (int i = 0; i < 4; i++)
        if (write(file, page, sizeof page) != sizeof page)
            exit(1);
    char *mapped = map(4 * MIB, MAP_PRIVATE, file);
    for (size_t i = 0; i < 4 * MIB; i += 4096)
        sum += mapped[i];
    for (size_t i = 0; i < 10 * MIB; i += 4096)
        sum += zeros[i];
    touch(mapped, MIB);
}

static void hold_huge(void)
{
    size_t huge = 2 * MIB;
    char *at = map(34 * MIB, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    at += -(uintptr_t) at % huge;
    madvise(at, 32 * MIB, MADV_HUGEPAGE); /* may fail: memory.py asks the kernel what it gave */
    for (size_t i = 0; i < 32 * MIB; i += huge)
        at[i] = 1;
}

/* 1,000 blocks of 1,000 bytes, of which every second is freed, in the touched half of a chunk of 8 MiB. */
static void hold_pool(void)
{
    plimsoll_heap pool = plimsoll_heap_create("pool", NULL);
    char *chunk = malloc(8 * MIB);
    plimsoll_heap_took(pool, chunk, 8 * MIB);
    touch(chunk, 4 * MIB);
    for (int i = 0; i < 1000; i++)
        plimsoll_heap_allocated(pool, chunk + 1024 * i, 1000);
    for (int i = 0; i < 1000; i += 2)
        plimsoll_heap_freed(pool, chunk + 1024 * i);
}

static void *idle(void *unused)
{
    pause();
    return unused;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    untouched();
    half_touched();
    make_all();
    free_most();
    map_all(argv[1]);
    for (int i = argc > 2 ? atoi(argv[2]) : 0; i > 0; i--) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, idle, NULL))
            return 1;
    }
    if (argc > 3)
        strcmp(argv[3], "huge") ? hold_pool() : hold_huge();
    puts("ready");
    fflush(stdout);
    return getchar() == EOF ? 0 : 1;
}
