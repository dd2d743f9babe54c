/* SPDX-License-Identifier: MIT */
/*
 * mixture.c - allocates from more sites than a heap composition lists, in named threads and under nested tags.
 *
 *   mixture CALLS      calls of each thread in each of its phases
 *
 * Stacks are paths through a call tree, left() or right() at each step. Every third block is kept, the others are
 * freed; few are large. The threads are called odd and even. Each also makes a tenth as many calls while paused.
 */
#include <plimsoll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS 3
#define STEPS 8
#define PHASES 3
#define ROUNDS 12
#define ROUND_US 20000

static long calls;

static void *left(unsigned way, int steps, size_t bytes);

static __attribute__((noinline)) void *right(unsigned way, int steps, size_t bytes)
{
    if (steps == 0)
        return malloc(bytes);
    return (way & 1 ? right : left)(way >> 1, steps - 1, bytes);
}

static __attribute__((noinline)) void *left(unsigned way, int steps, size_t bytes)
{
    if (steps == 0)
        return malloc(bytes);
    return (way & 1 ? right : left)(way >> 1, steps - 1, bytes);
}

static __attribute__((noinline)) void *parse(unsigned way, size_t bytes)
{
    plimsoll_push("parse");
    void *block = right(way, STEPS, bytes);
    plimsoll_pop();
    return block;
}

static __attribute__((noinline)) void *answer(unsigned way, size_t bytes)
{
    plimsoll_push("answer");
    void *block = left(way, STEPS, bytes);
    plimsoll_pop();
    return block;
}

static __attribute__((noinline)) void *remember(unsigned way, size_t bytes)
{
    return right(way, STEPS, bytes);
}

static void make(int phase, long number)
{
    static void *(*const ways[PHASES])(unsigned way, size_t bytes) = {parse, answer, remember};
    size_t bytes = 16 + (size_t) (number * 31 % 400) * (number % 97 == 0 ? 64 : 1);
    void *block = ways[phase]((unsigned) number * 7919u, bytes);
    if (number % 3)
        free(block);
}

static void make_unseen(long blocks)
{
    plimsoll_pause();
    for (long i = 0; i < blocks; i++)
        free(malloc(100));
    plimsoll_resume();
}

static void *work(void *number)
{
    pthread_setname_np(pthread_self(), (uintptr_t) number % 2 ? "odd" : "even");
    for (int phase = 0; phase < PHASES; phase++)
        for (long round = 0; round < ROUNDS; round++) {
            plimsoll_push("request");
            for (long i = calls * round / ROUNDS; i < calls * (round + 1) / ROUNDS; i++)
                make(phase, i);
            plimsoll_pop();
            make_unseen(calls / ROUNDS / 10);
            usleep(ROUND_US);
        }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread[THREADS];
    calls = argc > 1 ? atol(argv[1]) : 1000;
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, work, (void *) i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
}
