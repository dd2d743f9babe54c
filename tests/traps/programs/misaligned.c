/* SPDX-License-Identifier: MIT */
/*
 * misaligned.c - allocates with a stack that is aligned to 8 bytes only, as assembly and some compilers leave it.
 *
 *   misaligned N     N times malloc, realloc, calloc, free
 *
 * C libraries do not mind, because their malloc stores no 16 bytes at once.
 */
#include "trap.h"

/* Calls function(a, b) with a stack pointer that is 8 bytes off. */
void *off_by_8(void *function, size_t a, size_t b);
__asm__(".globl off_by_8\n"
        ".type off_by_8, @function\n"
        "off_by_8:\n\t"
        ".cfi_startproc\n\t"
        "push %rbp\n\t"
        ".cfi_adjust_cfa_offset 8\n\t"
        ".cfi_rel_offset %rbp, 0\n\t"
        "mov %rsp, %rbp\n\t"
        ".cfi_def_cfa_register %rbp\n\t"
        "sub $8, %rsp\n\t"
        "mov %rdi, %rax\n\t"
        "mov %rsi, %rdi\n\t"
        "mov %rdx, %rsi\n\t"
        "call *%rax\n\t"
        "leave\n\t"
        ".cfi_def_cfa %rsp, 8\n\t"
        "ret\n\t"
        ".cfi_endproc\n\t"
        ".size off_by_8, . - off_by_8");

static APART void misaligned_allocate(unsigned i)
{
    void *block = off_by_8((void *) malloc, i % 5000, 0);
    block = off_by_8((void *) realloc, (size_t) block, i % 7000 + 1);
    off_by_8((void *) free, (size_t) block, 0);
    off_by_8((void *) free, (size_t) off_by_8((void *) calloc, 10, 10), 0);
}

int main(int arguments, char **argument)
{
    CHECK(arguments == 2);
    for (unsigned i = 0; i < (unsigned) atoi(argument[1]); i++)
        misaligned_allocate(i);
    puts("done");
    return 0;
}
