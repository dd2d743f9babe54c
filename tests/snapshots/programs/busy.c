/* SPDX-License-Identifier: MIT */
/*
 * busy.c - two threads that change everything in a profile as fast as possible, forever: `busy`.
 *
 * Every call path through descend() is a different stack. New paths come all the time, so the file keeps growing. Each
 * thread frees the other's blocks. Tags are entered and left.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../lib/turns.h"
#include "plimsoll.h"

#define DEPTH 10
#define SHELF 4096
#define TURNS_PER_STACK 64

static _Atomic(void *) shelf[SHELF];

static void exchange(void *argument)
{
    uint32_t path = *(uint32_t *) argument;
    void *block = malloc(16 + path % 1000);
    free(atomic_exchange(&shelf[path * 2654435761u % SHELF], block));
}

static void take_turns(uint32_t thread, uint32_t i)
{
    uint32_t path = i / TURNS_PER_STACK % (1u << DEPTH), half = path / 2;
    plimsoll_pushf("tag %u.%u", thread, path % 500);
    descend(path, DEPTH, exchange, &path);
    plimsoll_push("inner");
    descend(half, DEPTH, exchange, &half);
    plimsoll_pop();
    plimsoll_pop();
}

static void *work(void *context)
{
    for (uint32_t i = 0;; i++)
        take_turns((uint32_t) (uintptr_t) context, i);
    return NULL;
}

int main(void)
{
    pthread_t other;
    for (uint32_t i = 0; i < 10 * TURNS_PER_STACK; i++)
        take_turns(0, i);
    pthread_create(&other, NULL, work, (void *) 1);
    puts("up");
    fflush(stdout);
    work((void *) 2);
}
