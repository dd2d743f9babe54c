/* SPDX-License-Identifier: MIT */
/*
 * mix.c - threads that enter and leave tags, allocate, move and free at random: their own blocks, or blocks in shared
 * slots that any thread allocated under any tag.
 *
 *   mix ACCOUNT THREADS TURNS alone       each thread has its own blocks
 *   mix ACCOUNT THREADS TURNS together    all threads share the blocks
 *
 * With TURNS 0 it runs forever. With one thread main does everything, and the account has the heap at its peak.
 */
#include "../../lib/patience.h"
#include "account.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLOTS 256
#define DEPTH 4
#define NAMES 5

struct slot {
    char taken;
    struct held block;
};

static struct slot common[SLOTS], own[ACCOUNT_THREADS][SLOTS];
static const char *const names[NAMES] = {"parse", "index", "cache", "Func", "FuncLong"};
static plimsoll_tag prepared[NAMES];
static unsigned long turns;
static bool together;

static size_t draw_size(uint64_t *random)
{
    return draw(random, 12) ? 1 + draw(random, 500) : 1 + draw(random, 40000);
}

static void change_tag(uint64_t *random)
{
    unsigned name = draw(random, NAMES);
    if (account_depth() == DEPTH || (account_depth() && draw(random, 2)))
        pop();
    else if (draw(random, 2))
        push(names[name]);
    else
        enter(prepared[name], names[name]);
}

static void change_block(struct slot *slot, uint64_t *random)
{
    unsigned what = draw(random, 10);
    if (what < 3) {
        slot->block = take_again(slot->block, draw_size(random));
    } else {
        give(slot->block);
        slot->block = (struct held){0};
        if (what < 9)
            slot->block = take((enum account_function) draw(random, ACCOUNT_FUNCTIONS), draw_size(random));
    }
}

static void turn(struct slot *slots, uint64_t *random)
{
    struct slot *slot = &slots[draw(random, SLOTS)];
    if (draw(random, 4) == 0)
        change_tag(random);
    while (__atomic_test_and_set(&slot->taken, __ATOMIC_ACQUIRE))
        sched_yield();
    change_block(slot, random);
    __atomic_clear(&slot->taken, __ATOMIC_RELEASE);
}

static void work(unsigned number)
{
    uint64_t random = number + 1;
    for (unsigned long i = 0; !turns || i < turns; i++)
        turn(together ? common : own[number], &random);
    while (account_depth())
        pop();
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    unsigned threads = (unsigned) atoi(argv[2]);
    turns = strtoul(argv[3], NULL, 10);
    together = strcmp(argv[4], "together") == 0;
    alarm(PATIENCE_S);
    account_open(argv[1]);
    for (unsigned i = 0; i < NAMES; i++)
        prepared[i] = plimsoll_prepare(names[i]);
    if (threads > 1) {
        crew_run(1, threads, work);
    } else {
        account_follow_peak();
        work(0);
    }
    return 0;
}
