/* SPDX-License-Identifier: MIT */
/*
 * libc.c - what differs between C libraries (preload/libc.h), for a program that is linked statically.
 *
 * There is no loader: the one module is the program, and the kernel tells where its headers are. Both C libraries run
 * destructors after all exit handlers, so our destructor, which has the lowest priority, ends the profile.
 */
#include "preload/libc.h"
#include "preload/front.h"
#include "preload/linked.h"

#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/auxv.h>

#include "core/arch.h"
#include "core/compiler.h"
#include "core/threads.h"
#include "preload/hooks.h"
#include "preload/next.h"

extern void *__libc_stack_end __attribute__((weak)); /* glibc defines it */

/* ---- the program ---- */

static struct pl_found_module program;
static struct link_map program_map = {.l_name = (char[]){""}};
static uint32_t program_known;

/* The program headers follow the ELF header, in the same page. Whoever comes here twice finds the same. */
static void find_program(void)
{
    uintptr_t at = getauxval(AT_PHDR), first = 0, end = 0;
    const Elf64_Phdr *header = (const Elf64_Phdr *) at;
    const void *tables = NULL;
    unsigned count = at % 4096 == sizeof(Elf64_Ehdr) ? (unsigned) getauxval(AT_PHNUM) : 0;
    uintptr_t start = at - sizeof(Elf64_Ehdr);
    for (unsigned i = count; i-- > 0;)
        if (header[i].p_type == PT_LOAD)
            first = header[i].p_vaddr & ~4095ul;
    uintptr_t bias = start - first;
    for (unsigned i = 0; i < count; i++) {
        if (header[i].p_type == PT_LOAD && header[i].p_vaddr + header[i].p_memsz > end)
            end = header[i].p_vaddr + header[i].p_memsz;
        if (header[i].p_type == PT_GNU_EH_FRAME)
            tables = (const void *) (bias + header[i].p_vaddr);
    }
    program_map.l_addr = bias;
    program = (struct pl_found_module){start, count ? bias + end : 0, bias, tables, &program_map};
    store_release(&program_known, 1);
}

bool pl_find_module(uintptr_t pc, struct pl_found_module *out)
{
    if (unlikely(!load_acquire(&program_known)))
        find_program();
    *out = program;
    return pc >= program.start && pc < program.end;
}

/* ---- the C libraries ---- */

static uintptr_t read_mangled(const void *buffer)
{
    return pl_arch_jump_target(buffer);
}

static uintptr_t read_plain(const void *buffer)
{
    return pl_arch_jump_target_plain(buffer);
}

static const struct pl_libc glibc = {
    .find_module = pl_find_module,
    .jump_target = read_mangled,
    .granule_shift = 3, /* another allocator may be linked in */
};

static const struct pl_libc musl = {
    .find_module = pl_find_module,
    .jump_target = read_plain,
    .granule_shift = 3,
    .nests = true,
    .lacks_tables = true,
};

const struct pl_libc *pl_libc(void)
{
    return &__libc_stack_end ? &glibc : &musl;
}

void pl_libc_learn_modules(void)
{
}

void pl_libc_forget_failures(void)
{
}

bool pl_libc_has(uintptr_t address)
{
    (void) address;
    return true;
}

/* The linker has wrapped all calls of malloc, whichever it is. */
bool pl_front_linked(void)
{
    return false;
}

bool pl_linked_hook(void)
{
    return false;
}

bool pl_linked_is_malloc(void)
{
    return false;
}

bool pl_linked_is_whole(void)
{
    return false;
}

const char *pl_loader_linked(void)
{
    return NULL;
}

extern const char __start_pl_text HIDDEN, __stop_pl_text HIDDEN; /* all of our code is in this section */

bool pl_libc_owns(uintptr_t pc)
{
    return pc >= (uintptr_t) &__start_pl_text && pc < (uintptr_t) &__stop_pl_text;
}

/* ---- handlers ---- */

void pl_libc_at_fork(void (*child)(void))
{
    struct pl_tls before;
    pl_next_hide(&before); /* they may allocate */
    pthread_atfork(NULL, NULL, child);
    pl_next_show(&before);
}

void pl_libc_at_quick_exit(void (*handler)(void))
{
    at_quick_exit(handler);
}

void pl_libc_on_exit(void (*handler)(int status, void *unused))
{
    (void) handler; /* no row has on_exit */
}
