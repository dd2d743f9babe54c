/* SPDX-License-Identifier: MIT */
/*
 * sigstack.c - allocates in a handler on an alternate stack of 8 KiB, part of which the kernel uses itself, and checks
 * that nothing was written below it.
 *
 *   sigstack mapped     the stack is a mapping of its own, with a guard page below
 *   sigstack local      the stack is an array in main's frame: above the interrupted frames, in the same mapping
 */
#include <sys/auxv.h>
#include <sys/mman.h>

#include "handlers.h"

#define BYTES 8192
#define SIGNALS 300

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

static volatile int handled;

static APART void *sigstack_allocate(void)
{
    return keep(malloc(100));
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void) number, (void) info, (void) context;
    for (int i = 0; i < 10; i++)
        free(sigstack_allocate());
    handled++;
}

static void *map_stack(size_t bytes)
{
    char *at = mmap(NULL, bytes + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED && mprotect(at, 4096, PROT_NONE) == 0);
    return at + 4096;
}

static APART void *interrupted_allocate(int i)
{
    return keep(malloc((size_t) (i % 500)));
}

static void use_stack(void *at, size_t bytes)
{
    stack_t stack = {.ss_sp = at, .ss_size = bytes};
    CHECK(sigaltstack(&stack, NULL) == 0);
    handle(SIGUSR1, on_signal, SA_ONSTACK);
    for (int i = 0; i < SIGNALS; i++)
        CHECK(raise(SIGUSR1) == 0);
    CHECK(handled == SIGNALS);
    timer_t timer = start_timer(SIGUSR1, 200000);
    for (int i = 0; i < 200000 || handled < SIGNALS + 20; i++)
        free(interrupted_allocate(i));
    CHECK(timer_delete(timer) == 0);
}

int main(int argc, char **argv)
{
    char local[BYTES];
    size_t least = getauxval(AT_MINSIGSTKSZ), bytes = BYTES;
    if (least + 4096 > BYTES) /* a processor with very large registers */
        bytes = least + 4096;
    CHECK(argc > 1);
    if (is(argv[1], "mapped") || bytes > sizeof local)
        use_stack(map_stack(bytes), bytes);
    else
        use_stack(keep(local), sizeof local);
    return 0;
}
