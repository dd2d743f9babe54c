/* SPDX-License-Identifier: MIT */
/*
 * oddities.c - frames that only assembler code has: a CFA in any register or from an expression, registers saved in
 * registers, code without unwind tables, generated code.
 */
#include <stdint.h>
#include <sys/mman.h>

#include "allocate.h"

/* Each is: void name(void (*call)(int), int argument), and calls call(argument). */
#define ODDITY(name, body)                                                                                             \
    void name(void (*call)(int), int argument);                                                                        \
    __asm__(".text\n\t.p2align 4\n\t.globl " #name "\n\t.type " #name ", %function\n" #name                            \
            ":\n\t.cfi_startproc\n\t" body "\n\t.cfi_endproc\n\t.size " #name ", .-" #name)

#define UNTABLED(name, body)                                                                                           \
    void name(void (*call)(int), int argument);                                                                        \
    __asm__(".text\n\t.p2align 4\n\t.globl " #name "\n\t.type " #name ", %function\n" #name ":\n\t" body               \
            "\n\t.size " #name ", .-" #name)

#if defined(__x86_64__)
#include "odd_x86_64.h"
#else
#include "odd_aarch64.h"
#endif

static void (*const tabled[])(void (*)(int), int) = {ODD_FRAMES};
#define TABLED (int) (sizeof tabled / sizeof *tabled)

/* One odd frame inside another, in every order, so that registers must be carried through each. */
static NOINLINE void pairs_inside(int n)
{
    if (n >= TABLED)
        tabled[n / TABLED % TABLED](pairs_inside, n / TABLED - 1);
    else
        tabled[n](allocate, n);
    sink++;
}

static NOINLINE void with_vla(int n)
{
    char block[n % 100 + 1];
    memset(block, 1, sizeof block);
    pairs_inside(n);
    sink += block[0];
}

static void odd_frames(int times)
{
    for (int i = 0; i < times; i++)
        with_vla(i % (TABLED * TABLED * TABLED));
}

static void untabled(int times)
{
    for (int i = 0; i < times; i++) {
        untabled_with_fp(allocate, i);
        untabled_with_fp(with_vla, i % TABLED);
        untabled_without_fp(allocate, i);
    }
}

/* Code outside of all modules. */
static void generated(int times)
{
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(memory, generated_code, sizeof generated_code);
    mprotect(memory, 4096, PROT_READ | PROT_EXEC);
    __builtin___clear_cache(memory, (char *) memory + 4096);
    void (*call)(void (*)(int), int) = (void (*)(void (*)(int), int)) memory;
    for (int i = 0; i < times; i++) {
        call(allocate, i);
        call(pairs_inside, i % TABLED);
    }
}

int main(int argc, char **argv)
{
    static const struct scenario scenarios[] = {
        {"odd-frames", odd_frames},
        {"untabled", untabled},
        {"generated", generated},
    };
    return run_scenario(scenarios, sizeof scenarios / sizeof *scenarios, argc, argv);
}
