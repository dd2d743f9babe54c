/* SPDX-License-Identifier: MIT */
/*
 * chaos.c - everything at the same time: threads that begin and end in tags, while others reset, stop and start, change
 * what is recorded, take copies, ask for statistics and fork.
 *
 *   chaos ACCOUNT MILLISECONDS DIRECTORY
 *
 * The figures cannot be predicted. The profiles must be consistent, and the program must end.
 */
#include "../../lib/patience.h"
#include "account.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORKERS 3
#define SLOTS 64
#define DEPTH 4
#define COPIES_MIN 8u /* on a busy machine they take longer than the time */

static int enough;
static unsigned copies;
static const char *directory;
static void *slot[SLOTS];

static bool go_on(void)
{
    return !__atomic_load_n(&enough, __ATOMIC_RELAXED);
}

/* All threads share the blocks. */
static void change_block(uint64_t *random)
{
    void *mine = malloc(1 + draw(random, 2000));
    free(__atomic_exchange_n(&slot[draw(random, SLOTS)], mine, __ATOMIC_ACQ_REL));
}

static void *live_briefly(void *argument)
{
    static const char *const names[] = {"a", "b", "c", "longer than the others", ""};
    uint64_t random = (uint64_t) (uintptr_t) argument;
    int depth = 0;
    for (unsigned i = 0; i < 400; i++) {
        bool down = depth < DEPTH && draw(&random, 2);
        if (down)
            plimsoll_push(names[draw(&random, 5)]);
        else
            plimsoll_pop();
        depth += down ? 1 : depth ? -1 : 0;
        change_block(&random);
    }
    return NULL;
}

static void *keep_beginning(void *argument)
{
    uint64_t random = (uint64_t) (uintptr_t) argument;
    while (go_on()) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, live_briefly, (void *) (uintptr_t) draw(&random, 1000000)) == 0)
            pthread_join(thread, NULL);
    }
    return NULL;
}

static int see(void *context, const char *key, uint64_t number)
{
    *(uint64_t *) context += number + (unsigned char) key[0];
    return 0;
}

static void fork_one(uint64_t *random)
{
    pid_t child = fork();
    if (child == 0) {
        live_briefly((void *) (uintptr_t) draw(random, 1000));
        plimsoll_output((int) draw(random, 2));
        exit(0);
    }
    if (child > 0)
        waitpid(child, NULL, 0);
}

static void write_one(uint64_t *random)
{
    char path[512];
    snprintf(path, sizeof path, "%s/copy.%u.plim", directory, draw(random, 40));
    plimsoll_write(path);
    __atomic_fetch_add(&copies, 1, __ATOMIC_RELAXED);
}

static void meddle(uint64_t *random)
{
    struct plimsoll_stats stats;
    uint64_t sum = 0;
    unsigned what = draw(random, 40);
    if (what == 0)
        plimsoll_reset();
    else if (what == 1)
        fork_one(random);
    else if (what == 2)
        write_one(random);
    else if (what == 3)
        plimsoll_pairs(see, &sum);
    else if (what < 6)
        plimsoll_sample(draw(random, 2) ? 0 : 1 + draw(random, 100000));
    else if (what < 8)
        plimsoll_sizes(draw(random, 500), draw(random, 2) ? UINT64_MAX : 1000);
    else if (what < 16)
        what % 2 ? plimsoll_stop() : plimsoll_start();
    else if (what < 24)
        what % 2 ? plimsoll_pause() : plimsoll_resume();
    else if (what < 26)
        plimsoll_stats(&stats, sizeof stats);
    else
        live_briefly((void *) (uintptr_t) draw(random, 1000000));
}

static void *keep_meddling(void *argument)
{
    uint64_t random = (uint64_t) (uintptr_t) argument;
    while (go_on())
        meddle(&random);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread[WORKERS + 1];
    if (argc != 4)
        return 2;
    struct timespec time = {atoi(argv[2]) / 1000, atol(argv[2]) % 1000 * 1000000};
    directory = argv[3];
    alarm(PATIENCE_S);
    account_open(argv[1]);
    for (uintptr_t i = 0; i <= WORKERS; i++)
        REQUIRE(pthread_create(&thread[i], NULL, i ? keep_beginning : keep_meddling, (void *) (i + 1)) == 0);
    nanosleep(&time, NULL);
    while (__atomic_load_n(&copies, __ATOMIC_RELAXED) < COPIES_MIN)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    __atomic_store_n(&enough, 1, __ATOMIC_RELAXED);
    for (unsigned i = 0; i <= WORKERS; i++)
        pthread_join(thread[i], NULL);
    return 0;
}
