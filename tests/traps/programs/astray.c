/* SPDX-License-Identifier: MIT */
/*
 * astray.c - allocates below functions whose unwind tables are wrong, and below generated code, which has none.
 *
 *   astray wrong N       the tables lead to a word that is different each time: a number, data, the stack, nothing
 *   astray generated N   the return address is in a page of code that was made at run time
 */
#include <stdint.h>
#include <sys/mman.h>

#include "trap.h"

static APART void astray_allocate(void)
{
    free(keep(malloc(100)));
}

/* The return address is higher than the tables say; `word` is where they say it is. */
#if defined(__x86_64__)
#define MISLED                                                                                                         \
    "sub $24, %rsp\n\t"                                                                                                \
    "mov %rsi, (%rsp)\n\t"                                                                                             \
    "call *%rdi\n\t"                                                                                                   \
    "add $24, %rsp\n\t"
/* push %rbp; mov %rsp, %rbp; call *%rdi; pop %rbp; ret */
static const uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
#else
#define MISLED                                                                                                         \
    "stp x1, x30, [sp, #-32]!\n\t"                                                                                     \
    ".cfi_def_cfa_offset 16\n\t"                                                                                       \
    ".cfi_offset 30, -16\n\t"                                                                                          \
    "blr x0\n\t"                                                                                                       \
    "ldp x1, x30, [sp], #32\n\t"
/* stp x29, x30, [sp, #-16]!; mov x29, sp; blr x0; ldp x29, x30, [sp], #16; ret */
static const uint32_t code[] = {0xa9bf7bfd, 0x910003fd, 0xd63f0000, 0xa8c17bfd, 0xd65f03c0};
#endif
void misled(void (*function)(void), uintptr_t word);
__asm__(".globl misled\n"
        ".type misled, %function\n"
        "misled:\n\t"
        ".cfi_startproc\n\t" MISLED "ret\n\t"
        ".cfi_endproc\n\t"
        ".size misled, . - misled");

static void allocate_misled(unsigned count)
{
    static char data[1 << 16];
    char local[128] = ""; /* zeros: what precedes a word of it must not look like a call */
    for (unsigned i = 0; i < count; i++) {
        const uintptr_t words[] = {i + 1, (uintptr_t) data + i % sizeof data, (uintptr_t) local + 32 + i % 64,
                                   0x100000000000 + 4096ul * i, UINTPTR_MAX - i};
        misled(astray_allocate, words[i % 5]);
    }
    keep(local);
}

static void allocate_generated(unsigned count)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    memcpy(page, code, sizeof code);
    __builtin___clear_cache(page, (char *) page + sizeof code);
    for (unsigned i = 0; i < count; i++)
        ((void (*)(void (*)(void))) page)(astray_allocate);
}

int main(int argc, char **argv)
{
    unsigned count = argc > 2 ? (unsigned) atoi(argv[2]) : 0;
    if (argc > 1 && is(argv[1], "wrong"))
        allocate_misled(count);
    else
        allocate_generated(count);
    return 0;
}
