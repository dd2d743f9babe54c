/* SPDX-License-Identifier: MIT */
/*
 * thrown.c - is thrown out of the profiler inside malloc by siglongjmp() from a timer's handler, again and again, and
 * goes on. Only when the signal arrived in the profiler's own code: malloc's would not survive that with or without us.
 *
 *   thrown TIMES START END     the profiler's code, as hexadecimal addresses in libc.so.6
 */
#include <link.h>
#include <setjmp.h>
#include <stdint.h>
#include <ucontext.h>

#include "../../traps/programs/handlers.h"

#define AFTERWARDS 20000

static uintptr_t libc_base, code_start, code_end;
static sigjmp_buf back;
static volatile int thrown, armed;

static int find_libc(struct dl_phdr_info *info, size_t bytes, void *unused)
{
    const char *name = strrchr(info->dlpi_name, '/');
    (void) bytes, (void) unused;
    if (name && is(name, "/libc.so.6"))
        libc_base = info->dlpi_addr;
    return 0;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void) number, (void) info;
    uintptr_t pc = (uintptr_t) ((ucontext_t *) context)->uc_mcontext.gregs[REG_RIP];
    if (armed && pc >= code_start && pc < code_end) {
        thrown++;
        siglongjmp(back, 1);
    }
}

static NOINLINE void *thrown_allocate(int i)
{
    return keep(malloc((size_t) (i % 400)));
}

static NOINLINE void *afterwards_allocate(void)
{
    return keep(malloc(100));
}

static NOINLINE void deeper(int depth, int i)
{
    if (depth > 0)
        deeper(depth - 1, i);
    else
        free(keep(realloc(thrown_allocate(i), 500)));
    __asm__ volatile("");
}

int main(int argc, char **argv)
{
    CHECK(argc == 4);
    int times = atoi(argv[1]);
    dl_iterate_phdr(find_libc, NULL);
    CHECK(libc_base);
    free(thrown_allocate(1)); /* it starts but once, and that is not what is tried here */
    code_start = libc_base + strtoul(argv[2], NULL, 16);
    code_end = libc_base + strtoul(argv[3], NULL, 16);
    handle(SIGUSR1, on_signal, 0);
    timer_t timer = start_timer(SIGUSR1, 50000);
    volatile int calls = 0;
    sigsetjmp(back, 1);
    armed = 1;
    while (thrown < times) {
        calls++;
        deeper(calls % 50, calls);
    }
    armed = 0;
    timer_delete(timer);
    for (int i = 0; i < AFTERWARDS; i++)
        free(afterwards_allocate());
    puts("thrown");
    return 0;
}
