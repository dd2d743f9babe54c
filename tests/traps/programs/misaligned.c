/* SPDX-License-Identifier: MIT */
/*
 * misaligned.c - allocates with a stack that is aligned to 8 bytes only, as assembly and some compilers leave it.
 *
 *   misaligned N     N times malloc, realloc, calloc, free; every tenth time mmap, mremap, munmap
 *
 * C libraries do not mind, because their malloc stores no 16 bytes at once.
 */
#include <sys/mman.h>

#include "trap.h"

/* Calls function(a, b, c, d, -1, 0) with a stack pointer that is 8 bytes off. */
void *call_off_by_8(void *function, size_t a, size_t b, size_t c, size_t d);
#define off_by_8(function, a, b) call_off_by_8(function, a, b, 0, 0)
__asm__(".globl call_off_by_8\n"
        ".type call_off_by_8, @function\n"
        "call_off_by_8:\n\t"
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
        "mov %rcx, %rdx\n\t"
        "mov %r8, %rcx\n\t"
        "mov $-1, %r8\n\t"
        "xor %r9d, %r9d\n\t"
        "call *%rax\n\t"
        "leave\n\t"
        ".cfi_def_cfa %rsp, 8\n\t"
        "ret\n\t"
        ".cfi_endproc\n\t"
        ".size call_off_by_8, . - call_off_by_8");

static APART void misaligned_allocate(unsigned i)
{
    void *block = off_by_8((void *) malloc, i % 5000, 0);
    block = off_by_8((void *) realloc, (size_t) block, i % 7000 + 1);
    off_by_8((void *) free, (size_t) block, 0);
    off_by_8((void *) free, (size_t) off_by_8((void *) calloc, 10, 10), 0);
}

static APART void misaligned_map(void)
{
    void *pages = call_off_by_8((void *) mmap, 0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
    CHECK(pages != MAP_FAILED);
    pages = call_off_by_8((void *) mremap, (size_t) pages, 4096, 8192, MREMAP_MAYMOVE);
    CHECK(pages != MAP_FAILED);
    off_by_8((void *) munmap, (size_t) pages, 8192);
}

int main(int arguments, char **argument)
{
    CHECK(arguments == 2);
    for (unsigned i = 0; i < (unsigned) atoi(argument[1]); i++) {
        if (i % 10 == 0)
            misaligned_map();
        misaligned_allocate(i);
    }
    puts("done");
    return 0;
}
