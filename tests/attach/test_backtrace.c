/* SPDX-License-Identifier: MIT */
/*
 * test_backtrace.c - stacks of processes that lie: headers and unwind tables in their memory are anything. Root may
 * look at processes of others, so nothing may be read or written beyond the copies of tables. The process is this one.
 */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach/backtrace.h"

#define PAGE 4096u
#define PAGES 3u /* of the module, as it seemed to be when it was found */
#define HEADERS 4u
#define TIMES 4000u

static struct pl_tracee tracee;
static uint8_t *memory; /* the module, and as much before and behind it */

static void set_pc(struct pl_machine_registers *registers, uint64_t pc)
{
#ifdef __x86_64__
    registers->user.rip = pc;
#else
    registers->user.pc = pc;
#endif
}

static struct pl_loaded_module module_of(uint8_t *start)
{
    uint64_t at = (uintptr_t) start;
    return (struct pl_loaded_module){.bias = at, .start = at, .end = at + PAGES * PAGE, .unwind_header = at + 0x400};
}

static Elf64_Phdr *write_headers(uint8_t *start)
{
    Elf64_Ehdr elf = {.e_ident = ELFMAG, .e_phoff = sizeof elf, .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = HEADERS};
    memcpy(start, &elf, sizeof elf);
    Elf64_Phdr *header = memset(start + sizeof elf, 0, HEADERS * sizeof *header);
    for (unsigned i = 0; i < HEADERS; i++)
        header[i] = (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = PAGE, .p_memsz = PAGE};
    return header;
}

static size_t look(struct pl_loaded_module *module, uint64_t pc)
{
    static struct pl_backtrace stack;
    struct pl_loaded loaded = {.module = module, .count = 1};
    struct pl_machine_registers registers = {0};
    set_pc(&registers, pc);
    pl_backtrace(&tracee, &loaded, &registers, &stack);
    return stack.frames;
}

static int begin(void **state)
{
    (void) state;
    memory = mmap(NULL, 3 * PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED || !pl_tracee_open(&tracee, getpid());
}

static int end(void **state)
{
    (void) state;
    munmap(memory, 3 * PAGES * PAGE);
    pl_tracee_close(&tracee);
    return 0;
}

static void segments_beyond_the_module_are_not_copied_nor_believed(void **state)
{
    (void) state;
    uint8_t *start = memory + PAGES * PAGE;
    memset(memory, 0x5a, 3 * PAGES * PAGE);
    Elf64_Phdr *header = write_headers(start);
    header[0].p_filesz = 2 * PAGES * PAGE; /* ends behind it */
    header[1].p_vaddr = -(uint64_t) PAGE;  /* begins before it */
    header[1].p_filesz = 2 * PAGE;
    header[2].p_filesz = UINT64_MAX - (uintptr_t) start; /* ends where addresses end */
    struct pl_loaded_module module = module_of(start);
    assert_int_equal(look(&module, module.start + 0x800), 0);
    const uint8_t *copy = module.shadow;
    const Elf64_Phdr *copied = (const void *) (copy + sizeof(Elf64_Ehdr));
    const unsigned expected[HEADERS] = {PT_NULL, PT_NULL, PT_NULL, PT_LOAD};
    assert_non_null(copy);
    for (unsigned i = 0; i < HEADERS; i++)
        assert_int_equal(copied[i].p_type, expected[i]);
    assert_memory_equal(copy + 0x400, start + 0x400, PAGE - 0x400);
    assert_memory_equal(copy + PAGE, start + PAGE, (PAGES - 1) * PAGE);
    assert_int_equal(copy[PAGES * PAGE], 0); /* nothing from behind it */
    pl_backtrace_free(&(struct pl_loaded){.module = &module, .count = 1});
}

static void tables_outside_of_the_module_are_not_looked_for(void **state)
{
    (void) state;
    uint8_t *start = memory + PAGES * PAGE;
    write_headers(start);
    const uint64_t wrong[] = {0, 1, (uintptr_t) start - 8, (uintptr_t) start + PAGES * PAGE, UINT64_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct pl_loaded_module module = module_of(start);
        module.unwind_header = wrong[i];
        assert_int_equal(look(&module, module.start + 0x800), 0);
        assert_null(module.shadow);
    }
    struct pl_loaded_module backwards = module_of(start);
    backwards.end = backwards.start - PAGE;
    assert_int_equal(look(&backwards, backwards.start + 0x800), 0);
}

/* Half of the bytes of headers and tables are random, the others what they should be. */
static void anything_in_headers_and_tables_is_survived(void **state)
{
    (void) state;
    uint8_t *start = memory + PAGES * PAGE;
    srand(20);
    for (unsigned n = 0; n < TIMES; n++) {
        Elf64_Phdr *header = write_headers(start);
        for (size_t i = 0x400; i < PAGES * PAGE; i++)
            start[i] = (uint8_t) rand();
        const uint8_t sorted[] = {1, 0x1b, 3, 0x3b}; /* what linkers write */
        if (n % 2)
            memcpy(start + 0x400, sorted, sizeof sorted);
        for (unsigned i = 0; i < HEADERS; i++) {
            header[i].p_vaddr = (uint64_t) rand() % (4 * PAGES * PAGE) - (n % 3 ? 0 : PAGES * PAGE);
            header[i].p_filesz = (uint64_t) rand() << rand() % 20;
        }
        if (n % 5 == 0)
            ((Elf64_Ehdr *) start)->e_phoff = (uint64_t) rand() << (rand() % 34) | 7;
        if (n % 7 == 0)
            ((Elf64_Ehdr *) start)->e_phnum = (uint16_t) rand();
        struct pl_loaded_module module = module_of(start);
        look(&module, module.start + (uint64_t) rand() % (PAGES * PAGE));
        pl_backtrace_free(&(struct pl_loaded){.module = &module, .count = 1});
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segments_beyond_the_module_are_not_copied_nor_believed),
        cmocka_unit_test(tables_outside_of_the_module_are_not_looked_for),
        cmocka_unit_test(anything_in_headers_and_tables_is_survived),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
