/* SPDX-License-Identifier: MIT */
/*
 * coroutines.c - stacks other than the thread's own: mapped between guard pages, allocated, static; with signals on
 * them.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "allocate.h"

#define COROUTINES 4
#define STACK_BYTES 65536

struct group {
    ucontext_t scheduler;
    ucontext_t coroutine[COROUTINES];
    int times;
};
static __thread struct group *group;

static NOINLINE void in_vla(int n)
{
    char block[n];
    memset(block, n, (size_t) n);
    allocate(n);
    sink += block[n / 2];
}

static NOINLINE void recursive(int depth)
{
    if (depth > 0)
        recursive(depth - 1);
    in_vla(20 + depth);
}

/* On the last page of the stack and far from it. */
static NOINLINE void far_down(int n)
{
    volatile char block[30000];
    block[n] = 1;
    allocate(n);
    sink += block[n];
}

static void run_coroutine(int self)
{
    for (int i = 0; i < group->times; i++) {
        in_vla(20 + self);
        recursive(i % 7);
        far_down(i & 255);
        raise(SIGUSR1);
        swapcontext(&group->coroutine[self], &group->scheduler);
    }
}

static void handler(int number)
{
    allocate(number);
}

static void run_group(void *(*make_stack)(void), int times)
{
    struct group here;
    here.times = times;
    group = &here;
    signal(SIGUSR1, handler);
    for (int i = 0; i < COROUTINES; i++) {
        getcontext(&here.coroutine[i]);
        here.coroutine[i].uc_stack.ss_sp = make_stack();
        here.coroutine[i].uc_stack.ss_size = STACK_BYTES;
        here.coroutine[i].uc_link = &here.scheduler;
        makecontext(&here.coroutine[i], (void (*)(void)) run_coroutine, 1, i);
    }
    for (int round = 0; round < times; round++) {
        for (int i = 0; i < COROUTINES; i++)
            swapcontext(&here.scheduler, &here.coroutine[i]);
        allocate(round);
    }
}

static void *between_guards(void)
{
    char *memory = mmap(NULL, STACK_BYTES + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(memory + 4096, STACK_BYTES, PROT_READ | PROT_WRITE);
    return memory + 4096;
}

static void *on_heap(void)
{
    return malloc(STACK_BYTES);
}

static void mapped(int times)
{
    run_group(between_guards, times);
}

static void heap(int times)
{
    run_group(on_heap, times);
}

static void *thread(void *argument)
{
    run_group(between_guards, *(int *) argument);
    return NULL;
}

static void in_threads(int times)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, thread, &times);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
    static const struct scenario scenarios[] = {
        {"mapped", mapped},
        {"heap", heap},
        {"threads", in_threads},
    };
    return run_scenario(scenarios, sizeof scenarios / sizeof *scenarios, argc, argv);
}
