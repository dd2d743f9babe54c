/* SPDX-License-Identifier: MIT */
/*
 * crew.c - named threads that start threads, blocks that other threads free, and a child that goes on by itself. All
 * calls are determined, so two runs make the same ones. It prints what a profile must have for each function.
 *
 *   crew THREADS ROUNDS
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "../../traps/programs/trap.h"

#define HANDED_OVER 4
#define CHILDS_BLOCKS 500

struct hand {
    int number;
    int rounds;
    void *handed_over[HANDED_OVER];
    pthread_t thread;
};

static uint32_t next(uint32_t *state)
{
    return (*state = *state * 1664525 + 1013904223) >> 12;
}

static APART void *crew_small(uint32_t random)
{
    return keep(malloc(16 + random % 200));
}

static APART void *crew_table(uint32_t random)
{
    return keep(calloc(8 + random % 100, 24));
}

static APART void *crew_aligned(uint32_t random)
{
    void *block = NULL;
    CHECK(posix_memalign(&block, 64, 100 + random % 1000) == 0);
    return keep(block);
}

static APART void *crew_grow(void *block, uint32_t random)
{
    return keep(realloc(block, 300 + random % 5000));
}

static APART char *crew_name(int number)
{
    char text[64];
    snprintf(text, sizeof text, "hand %d of the crew", number);
    return keep(strdup(text));
}

static APART void *crew_left(void)
{
    return keep(malloc(1000));
}

static APART void *crew_child(void)
{
    return keep(malloc(480));
}

/* The rounds of one thread. Its last blocks are for the thread that started it. */
static APART void work(struct hand *hand)
{
    uint32_t state = (uint32_t) hand->number;
    for (int i = 0; i < hand->rounds; i++) {
        void *small = crew_small(next(&state)), *table = crew_table(next(&state));
        void *aligned = crew_aligned(next(&state)), *grown = crew_grow(small, next(&state));
        free(table);
        free(aligned);
        free(crew_grow(grown, next(&state)));
    }
    for (int i = 0; i < HANDED_OVER; i++)
        hand->handed_over[i] = crew_name(hand->number);
}

static void name_self(int number)
{
    char name[16];
    snprintf(name, sizeof name, "hand-%d", number);
    pthread_setname_np(pthread_self(), name);
}

static void *apprentice(void *argument)
{
    name_self(((struct hand *) argument)->number);
    work(argument);
    return NULL;
}

/* Starts another thread, and frees the blocks that it leaves. */
static void *master(void *argument)
{
    struct hand *hand = argument;
    struct hand other = {.number = hand->number + 100, .rounds = hand->rounds / 2};
    name_self(hand->number);
    CHECK(pthread_create(&other.thread, NULL, apprentice, &other) == 0);
    work(hand);
    CHECK(pthread_join(other.thread, NULL) == 0);
    for (int i = 0; i < HANDED_OVER; i++)
        free(other.handed_over[i]);
    return NULL;
}

/* A child frees blocks that it has inherited, allocates, and leaves some. */
static void fork_child(void **inherited, int n)
{
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < n; i++)
            free(inherited[i]);
        for (int i = 0; i < CHILDS_BLOCKS; i++) {
            void *block = crew_child();
            if (i % 2)
                free(block);
        }
        exit(3);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 3);
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    int threads = atoi(argv[1]), rounds = atoi(argv[2]);
    CHECK(threads > 0 && threads <= 16 && rounds > 0);
    struct hand hands[16] = {{0}};
    for (int i = 0; i < threads; i++) {
        hands[i] = (struct hand){.number = i + 1, .rounds = rounds};
        CHECK(pthread_create(&hands[i].thread, NULL, master, &hands[i]) == 0);
    }
    void *left[20];
    for (int i = 0; i < 20; i++)
        left[i] = crew_left();
    for (int i = 0; i < threads; i++) {
        CHECK(pthread_join(hands[i].thread, NULL) == 0);
        fork_child(hands[i].handed_over, HANDED_OVER);
        for (int j = 0; j < HANDED_OVER; j++)
            free(hands[i].handed_over[j]);
    }
    for (int i = 0; i < 10; i++)
        free(left[i]);
    int work_rounds = threads * (rounds + rounds / 2);
    printf("crew_small %d\ncrew_table %d\ncrew_aligned %d\ncrew_grow %d\ncrew_name %d\ncrew_left 20\n", work_rounds,
           work_rounds, work_rounds, 2 * work_rounds, threads * 2 * HANDED_OVER);
    return 0;
}
