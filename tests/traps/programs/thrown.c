/* SPDX-License-Identifier: MIT */
/*
 * thrown.c - a timer's handler leaves the runtime by siglongjmp(), thousands of times, and the program goes on. It
 * jumps only when the signal arrived inside of the runtime; otherwise it returns.
 *
 *   thrown RUNTIME TIMES [START END]     RUNTIME is the path of the library to jump out of
 *
 * START and END are hexadecimal addresses in it, for a library of which only a part is the runtime: malloc itself would
 * not survive such a jump. In this case blocks are moved, too.
 *
 * Prints how many calls it made after the last jump, from a function of their own.
 */
#include <link.h>
#include <setjmp.h>
#include <stdbool.h>
#include <ucontext.h>

#include "handlers.h"

#define AFTERWARDS 20000

static uintptr_t base, code_start, code_end;
static bool moves;
static sigjmp_buf back;
static volatile int thrown, armed;

static int find_code(struct dl_phdr_info *info, size_t bytes, void *path)
{
    (void) bytes;
    for (int i = 0; i < info->dlpi_phnum && is(info->dlpi_name, path); i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
            base = info->dlpi_addr;
            code_start = base + info->dlpi_phdr[i].p_vaddr;
            code_end = code_start + info->dlpi_phdr[i].p_memsz;
        }
    return 0;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void) number, (void) info;
#if defined(__x86_64__)
    uintptr_t pc = (uintptr_t) ((ucontext_t *) context)->uc_mcontext.gregs[REG_RIP];
#else
    uintptr_t pc = (uintptr_t) ((ucontext_t *) context)->uc_mcontext.pc;
#endif
    if (armed && pc >= code_start && pc < code_end) {
        thrown++;
        siglongjmp(back, 1);
    }
}

static APART void *thrown_allocate(int i)
{
    return keep(malloc((size_t) (i % 400)));
}

static APART void *afterwards_allocate(void)
{
    return keep(malloc(100));
}

static APART void deeper(int depth, int i)
{
    if (depth > 0)
        deeper(depth - 1, i);
    else
        free(moves ? keep(realloc(thrown_allocate(i), 500)) : thrown_allocate(i));
    __asm__ volatile("");
}

int main(int argc, char **argv)
{
    int times = argc > 2 ? atoi(argv[2]) : 100;
    CHECK(argc > 1);
    dl_iterate_phdr(find_code, argv[1]);
    if (argc > 4) {
        CHECK(base);
        free(thrown_allocate(1)); /* the runtime starts only once, which is not tested here */
        code_start = base + strtoul(argv[3], NULL, 16);
        code_end = base + strtoul(argv[4], NULL, 16);
        moves = true;
    }
    handle(SIGUSR1, on_signal, 0);
    timer_t timer = start_timer(SIGUSR1, 50000);
    volatile int calls = 0;
    sigsetjmp(back, 1);
    armed = 1;
    while (code_start ? thrown < times : calls < 1000) {
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
