/* SPDX-License-Identifier: MIT */
/*
 * linked.c - see linked.h.
 *
 *   read the symbols of /proc/self/exe ─ which allocator is it? ─ where are its functions? ─ plan (core/arch/…_entry.h)
 * ─ write the room near them ─ change their first bytes
 *
 * Nothing is changed before everything is planned, and nothing at all if a function that frees or moves blocks cannot
 * be hooked, if malloc calls our own hooks (a wrapper of libc's), or if there are other threads, which might be inside
 * the bytes.
 */
#include "preload/linked.h"

#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/compiler.h"
#include "core/memory.h"
#include "core/process.h"
#include "core/sys.h"
#include "core/threads.h"
#include "format/desk.h"
#include "format/linked.h"
#include "preload/entries.h"
#include "preload/front.h"
#include "preload/hooks.h"
#include "preload/next.h"

#ifdef __x86_64__
#include "core/arch/x86_64_entry.h"
#else
#include "core/arch/aarch64_entry.h"
#endif

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#define HOOKS_MAX 96u
#define FUNCTION_MAX (64u << 10)
#define ROOM_STEP (64u << 10)
#define ROOM_TRIES 4096u

static struct {
    uint32_t state; /* 0 not searched, 1 being searched, 2 searched */
    bool there;
    bool whole;
    bool exported;
    uintptr_t bias, code, code_end;
    uint32_t hooks;
    struct pl_desk_hook hook[HOOKS_MAX];
    struct {
        uintptr_t at;
        unsigned bytes;
    } function[HOOKS_MAX];
} linked;

/* ---- the program ---- */

static const ElfW(Phdr) * program_headers(unsigned *count)
{
    *count = (unsigned) getauxval(AT_PHNUM);
    return (const ElfW(Phdr) *) getauxval(AT_PHDR);
}

static bool find_code(void)
{
    unsigned count;
    const ElfW(Phdr) *header = program_headers(&count);
    for (unsigned i = 0; header && i < count; i++)
        if (header[i].p_type == PT_PHDR)
            linked.bias = (uintptr_t) header - header[i].p_vaddr;
    for (unsigned i = 0; header && i < count; i++)
        if (header[i].p_type == PT_LOAD && header[i].p_flags & PF_X) {
            linked.code = linked.bias + header[i].p_vaddr;
            linked.code_end = linked.code + header[i].p_filesz;
        }
    return linked.code != 0;
}

/* ---- its symbols ---- */

static struct pl_linked_image map_program(void)
{
    struct pl_linked_image image = {NULL, 0};
    int fd = (int) pl_sys_open("/proc/self/exe", O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return image;
    long bytes = pl_sys3(__NR_lseek, fd, 0, SEEK_END);
    image.at = bytes > 0 ? pl_sys_mmap(NULL, (size_t) bytes, MAP_PRIVATE | MAP_NORESERVE, fd) : NULL;
    image.bytes = (uint64_t) bytes;
    pl_sys_close(fd);
    return image;
}

static void note_function(void *context, const char *name, const ElfW(Sym) * symbol, bool exported)
{
    const char *prefix = context;
    uintptr_t at = linked.bias + symbol->st_value;
    unsigned bytes = symbol->st_size < FUNCTION_MAX ? (unsigned) symbol->st_size : FUNCTION_MAX;
    if (at < linked.code || at + bytes + PL_ARCH_ENTRY_SLACK > linked.code_end || !bytes)
        return;
    for (uint32_t i = 0; i < linked.hooks; i++)
        if (pl_linked_is_called(linked.hook[i].name, prefix, name)) {
            linked.function[i].at = at;
            linked.function[i].bytes = bytes;
            linked.exported |= exported && i == 0 && !*prefix;
        }
}

static bool search(void)
{
    if (!find_code())
        return false;
    struct pl_linked_image image = map_program();
    if (!image.at)
        return false;
    const char *prefix = pl_linked_find(&image);
    if (prefix) {
        linked.hooks = pl_entries_list_linked(linked.hook, 0);
        pl_linked_each(&image, note_function, (void *) (uintptr_t) prefix);
    }
    pl_sys_munmap((void *) (uintptr_t) image.at, image.bytes);
    return prefix != NULL;
}

/* Looks at the symbols of the program's file once. Neither allocates nor asks the loader. Another thread may ask while
 * we search: then, as if there were none. Only the first threads of libraries could. */
bool pl_front_linked(void)
{
    if (swap_if(&linked.state, 0, 1)) {
        linked.there = search();
        store_release(&linked.state, 2);
    }
    return load_acquire(&linked.state) == 2 && linked.there;
}

bool pl_linked_is_malloc(void)
{
    return linked.exported;
}

bool pl_linked_is_whole(void)
{
    return linked.whole;
}

/* ---- hooking it ---- */

static bool is_alone(void)
{
    struct stat tasks;
    return !stat("/proc/self/task", &tasks) && tasks.st_nlink == 3; /* . and .., and one thread */
}

/* A malloc that calls ours is a wrapper: each of its calls comes to us in any case. */
static bool calls_ours(void)
{
    struct pl_tls before;
    if (!linked.function[0].at || !linked.function[1].at)
        return false;
    pl_next_hide(&before);
    uint64_t calls = pl_tls.calls[PL_FN_MALLOC];
    void *block = ((void *(*) (size_t)) linked.function[0].at)(1);
    ((void (*)(void *)) linked.function[1].at)(block);
    bool ours = pl_tls.calls[PL_FN_MALLOC] != calls;
    pl_next_show(&before);
    return ours;
}

/* Below the program, as near as possible: what lies above it is often the start of the heap, which grows. */
static uint8_t *map_room(size_t bytes)
{
    uintptr_t at = (linked.code - bytes) & ~(uintptr_t) (ROOM_STEP - 1);
    for (unsigned i = 0; i < ROOM_TRIES && at > ROOM_STEP; i++, at -= ROOM_STEP) {
        void *got = pl_sys_mmap((void *) at, bytes, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1);
        if (got == (void *) at)
            return got;
        if (got)
            pl_sys_munmap(got, bytes);
    }
    return NULL;
}

static bool is_same_as_before(uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (linked.function[k].at == linked.function[i].at)
            return true;
    return false;
}

/* The plans, in the order of the functions. A function with jump == 0 is not hooked. */
static struct pl_arch_entry plan[HOOKS_MAX];

static bool make_plans(uint8_t *room)
{
    linked.whole = true;
    for (uint32_t i = 0; i < linked.hooks; i++) {
        const struct pl_desk_hook *hook = &linked.hook[i];
        uintptr_t at = linked.function[i].at;
        if (!at || !hook->hook || is_same_as_before(i))
            continue;
        uint8_t *here = room + i * PL_ARCH_ENTRY_ROOM;
        if (pl_arch_plan_entry((const uint8_t *) at, linked.function[i].bytes, (uintptr_t) here, hook->hook,
                               &plan[i])) {
            pl_memory_copy(here, plan[i].room, PL_ARCH_ENTRY_ROOM);
            continue;
        }
        plan[i].jump = 0;
        linked.whole = false;
        if (hook->needed)
            return false;
    }
    return true;
}

static void set_reals(void)
{
    for (uint32_t i = 0; i < linked.hooks; i++) {
        uint32_t first = 0;
        while (linked.function[first].at != linked.function[i].at)
            first++;
        *linked.hook[i].real = plan[first].jump ? plan[first].body : linked.function[i].at;
    }
}

/* Not libc's function: the program's mappings may be hooked, too, and this is not one of them. */
static bool protect(const void *at, size_t bytes, int how)
{
    return pl_sys3(__NR_mprotect, (long) at, (long) bytes, how) == 0;
}

static bool change_code(void)
{
    const uintptr_t page = pl_front_page_bytes();
    uintptr_t from = linked.code & ~(page - 1), end = (linked.code_end + page - 1) & ~(page - 1);
    if (!protect((void *) from, end - from, PROT_READ | PROT_WRITE | PROT_EXEC))
        return false;
    for (uint32_t i = 0; i < linked.hooks; i++)
        if (plan[i].jump) {
            pl_memory_copy((void *) plan[i].jump, plan[i].after, PL_ARCH_ENTRY_BYTES);
            pl_arch_entry_changed(plan[i].jump, PL_ARCH_ENTRY_BYTES);
        }
    protect((void *) from, end - from, PROT_READ | PROT_EXEC);
    return true;
}

bool pl_linked_hook(void)
{
    const size_t bytes = HOOKS_MAX * PL_ARCH_ENTRY_ROOM;
    if (!pl_front_linked() || !is_alone() || calls_ours())
        return false;
    uint8_t *room = map_room(bytes);
    if (!room)
        return false;
    if (make_plans(room) && protect(room, bytes, PROT_READ | PROT_EXEC)) {
        pl_arch_entry_changed((uintptr_t) room, bytes);
        set_reals();
        pl_entries_start();
        if (change_code())
            return true;
    }
    pl_sys_munmap(room, bytes);
    return false;
}
