/* SPDX-License-Identifier: MIT */
/* contexts.c - coroutines with small stacks that allocate in turn, free each other's blocks, and end. */
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "trap.h"

#define COROUTINES 20
#define TURNS 100
#define STACK_BYTES 16384

static __thread ucontext_t main_context, context[COROUTINES];
static __thread void *block[COROUTINES];

static APART void *contexts_allocate(void)
{
    return keep(malloc(77));
}

static void coroutine(int number)
{
    for (int i = 0; i < TURNS; i++) {
        free(block[(number + 1) % COROUTINES]);
        block[(number + 1) % COROUTINES] = NULL;
        free(block[number]);
        block[number] = contexts_allocate();
        swapcontext(&context[number], &main_context);
    }
}

static void make(int number)
{
    void *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ucontext_t *made = &context[number];
    CHECK(stack != MAP_FAILED && getcontext(made) == 0);
    made->uc_stack.ss_sp = stack;
    made->uc_stack.ss_size = STACK_BYTES;
    made->uc_link = &main_context;
    makecontext(made, (void (*)(void)) coroutine, 1, number);
}

static void *work(void *unused)
{
    for (int i = 0; i < COROUTINES; i++)
        make(i);
    for (int turn = 0; turn < TURNS + 1; turn++)
        for (int i = 0; i < COROUTINES; i++)
            CHECK(swapcontext(&main_context, &context[i]) == 0);
    for (int i = 0; i < COROUTINES; i++) {
        free(block[i]);
        CHECK(munmap(context[i].uc_stack.ss_sp, STACK_BYTES) == 0);
    }
    return unused;
}

int main(void)
{
    pthread_t thread;
    work(NULL);
    CHECK(pthread_create(&thread, NULL, work, NULL) == 0 && pthread_join(thread, NULL) == 0);
    return 0;
}
