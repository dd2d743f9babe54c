/* SPDX-License-Identifier: MIT */
/*
 * mappings.c - hooks the calls by which a program maps and unmaps memory.
 *
 * The C library's own mappings (of malloc, of the loader, of thread stacks) do not come here, because it does not call
 * these functions by their public names. Another allocator does: what it maps is a heap of its own, so that it is not
 * taken for the program's.
 *
 * No hook changes what the call does, or errno. Before our constructor has looked up the real functions, the system
 * calls stand in for them.
 *
 * In a process that was attached to, the entries of these functions lead here (PL_ATTACHED, entries.h). Then the C
 * library's own calls come here, too, and are only forwarded.
 *
 * Built with frame pointers: PL_START_HERE reads the caller from the frame.
 */
#undef _FILE_OFFSET_BITS /* with it, mmap would be another name for mmap64 */
#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#include "core/arch.h"
#include "core/compiler.h"
#include "core/mappings.h"
#include "core/sys.h"
#include "core/unwind/find.h"
#include "preload/front.h"
#include "preload/hooks.h"
#include "preload/libc.h"
#include "preload/next.h"

#ifdef PL_ATTACHED
#include "preload/entries.h"
#define INSIDE() PL_ENTRY_INSIDE(PL_ENTRY_VISIT, PL_DESK_LIBC)
#else
#define INSIDE() ((void) 0)
#endif

/* None passes arguments on the stack: then the compiler would build another kind of frame to realign it, in which
 * PL_START_HERE does not find the caller's stack. */
#define ENTRY EXPORT PL_ARCH_ENTRY OUT_OF_LINE

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

ENTRY void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);
ENTRY void *mmap64(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);
ENTRY int munmap(void *at, size_t bytes);
ENTRY void *mremap(void *at, size_t bytes, size_t new_bytes, int flags, ...);
ENTRY int brk(void *end);
ENTRY void *sbrk(intptr_t bytes);
ENTRY void *shmat(int id, const void *at, int flags);
ENTRY int shmdt(const void *at);

/* ---- the real functions ---- */

static long with_errno(long result)
{
    if ((unsigned long) result <= -4096ul)
        return result;
    errno = (int) -result;
    return -1;
}

static void *first_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    return (void *) with_errno(
        pl_arch_syscall(__NR_mmap, (long) at, (long) bytes, protection, flags, fd, (long) offset));
}

static int first_munmap(void *at, size_t bytes)
{
    return (int) with_errno(pl_sys_munmap(at, bytes));
}

static void *first_mremap(void *at, size_t bytes, size_t new_bytes, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    void *new_at = flags & (MREMAP_FIXED | MREMAP_DONTUNMAP) ? va_arg(rest, void *) : NULL;
    va_end(rest);
    return (void *) with_errno(
        pl_arch_syscall(__NR_mremap, (long) at, (long) bytes, (long) new_bytes, flags, (long) new_at, 0));
}

static void *first_shmat(int id, const void *at, int flags)
{
    return (void *) with_errno(pl_sys3(__NR_shmat, id, (long) at, flags));
}

static int first_shmdt(const void *at)
{
    return (int) with_errno(pl_sys3(__NR_shmdt, (long) at, 0, 0));
}

/* Until then, the break is where it is: the C library remembers it, so the system call would not be enough. */
static int first_brk(void *end)
{
    __typeof__(&brk) found = (__typeof__(&brk)) pl_next_find("brk");
    return found ? found(end) : (errno = ENOMEM, -1);
}

static void *first_sbrk(intptr_t bytes)
{
    __typeof__(&sbrk) found = (__typeof__(&sbrk)) pl_next_find("sbrk");
    return found ? found(bytes) : (errno = ENOMEM, (void *) -1);
}

#define REAL(X)                                                                                                        \
    X(mmap)                                                                                                            \
    X(munmap)                                                                                                          \
    X(mremap)                                                                                                          \
    X(brk)                                                                                                             \
    X(sbrk)                                                                                                            \
    X(shmat)                                                                                                           \
    X(shmdt)

static struct {
#define FIELD(name) __typeof__(&name) name;
    REAL(FIELD)
#undef FIELD
} real = {
#define FIRST(name) .name = first_##name,
    REAL(FIRST)
#undef FIRST
};

#ifdef PL_ATTACHED
uint32_t pl_mappings_list(struct pl_desk_hook *hook, uint32_t hooks)
{
#define ADD(name_, real_)                                                                                              \
    hook[hooks++] = (struct pl_desk_hook){                                                                             \
        .name = #name_, .hook = (uintptr_t) name_, .real = (void *) &real.real_, .family = PL_DESK_LIBC};
#define LIST(name) ADD(name, name)
    REAL(LIST)
    ADD(mmap64, mmap)
#undef LIST
#undef ADD
    return hooks;
}

/* Who sees mappings come but not go knows nothing. */
bool pl_mappings_entered(const struct pl_desk *desk)
{
    uint32_t entered = 0;
    for (uint32_t i = 0; i < desk->hooks; i++)
        entered += desk->patch[i].entry &&
                   (desk->hook[i].hook == (uintptr_t) mmap || desk->hook[i].hook == (uintptr_t) munmap ||
                    desk->hook[i].hook == (uintptr_t) mremap);
    return entered == 3;
}

static bool is_libcs(const struct pl_start *start)
{
    return pl_libc_has(start->pc - 1);
}
#else
void pl_mappings_start(void)
{
    void *found;
#define LOOK_UP(name)                                                                                                  \
    if ((found = pl_next_find(#name)) != NULL)                                                                         \
        store_release((void **) (void *) &real.name, found);
    REAL(LOOK_UP)
#undef LOOK_UP
}

INLINE bool is_libcs(const struct pl_start *start)
{
    (void) start;
    return false;
}
#endif

/* ---- what is recorded ---- */

/* An allocator that is linked into the program cannot be told from it. */
static enum pl_heap_kind heap_of(uintptr_t caller)
{
    uintptr_t allocator = pl_front_allocator();
    bool own = !pl_libc_has(allocator) && !pl_find_same_module(allocator, pl_front_main_header()) &&
               pl_find_same_module(allocator, caller);
    return own ? PL_HEAP_ALLOCATOR : PL_HEAP_MAPPINGS;
}

static void made(struct pl_mapping *mapping, const struct pl_start *start)
{
    mapping->heap = heap_of(start->pc - 1);
    pl_mapping_made(mapping, start);
}

static bool has_failed(const void *at)
{
    return at == MAP_FAILED;
}

/* ---- mmap ---- */

/* MAP_FIXED replaces what is there. */
INLINE void *map(void *at, size_t bytes, int protection, int flags, int fd, off_t offset, const struct pl_start *start)
{
    INSIDE();
    if (is_libcs(start))
        return real.mmap(at, bytes, protection, flags, fd, offset);
    bool replaces = flags & MAP_FIXED && !(flags & MAP_FIXED_NOREPLACE);
    pl_leaving leaving = replaces ? pl_mapping_leaves((uintptr_t) at, bytes) : 0;
    void *mapped = real.mmap(at, bytes, protection, flags, fd, offset);
    if (replaces)
        pl_mapping_left(leaving, !has_failed(mapped));
    if (!has_failed(mapped))
        made(&(struct pl_mapping){.at = (uintptr_t) mapped, .bytes = bytes}, start);
    return mapped;
}

ENTRY void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    if (unlikely(!pl_arch_is_relocated()))
        return (void *) pl_arch_syscall(__NR_mmap, (long) at, (long) bytes, protection, flags, fd, (long) offset);
    struct pl_start start;
    PL_START_HERE(&start);
    return map(at, bytes, protection, flags, fd, offset, &start);
}

/* off_t has 64 bits: this is the same function. */
ENTRY void *mmap64(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    if (unlikely(!pl_arch_is_relocated()))
        return (void *) pl_arch_syscall(__NR_mmap, (long) at, (long) bytes, protection, flags, fd, (long) offset);
    struct pl_start start;
    PL_START_HERE(&start);
    return map(at, bytes, protection, flags, fd, offset, &start);
}

ENTRY int munmap(void *at, size_t bytes)
{
    if (unlikely(!pl_arch_is_relocated()))
        return (int) pl_sys_munmap(at, bytes);
    struct pl_start start;
    PL_START_HERE(&start);
    INSIDE();
    if (is_libcs(&start))
        return real.munmap(at, bytes);
    pl_leaving leaving = pl_mapping_leaves((uintptr_t) at, bytes);
    int result = real.munmap(at, bytes);
    pl_mapping_left(leaving, result == 0);
    return result;
}

/* With an old size of 0 it makes a second mapping of the same pages. With MREMAP_DONTUNMAP the old addresses stay
 * mapped, empty. Otherwise it moves, grows or shrinks the mapping, as realloc does with a block. */
static void *remap(void *at, size_t bytes, size_t new_bytes, int flags, void *new_at, const struct pl_start *start)
{
    INSIDE();
    if (is_libcs(start))
        return real.mremap(at, bytes, new_bytes, flags, new_at);
    bool keeps = bytes == 0 || flags & MREMAP_DONTUNMAP;
    pl_leaving leaving = keeps ? 0 : pl_mapping_leaves((uintptr_t) at, bytes);
    pl_leaving replaced = flags & MREMAP_FIXED ? pl_mapping_leaves((uintptr_t) new_at, new_bytes) : 0;
    void *mapped = real.mremap(at, bytes, new_bytes, flags, new_at);
    pl_mapping_left(leaving, !has_failed(mapped));
    pl_mapping_left(replaced, !has_failed(mapped));
    if (!has_failed(mapped))
        made(
            &(struct pl_mapping){
                .at = (uintptr_t) mapped, .bytes = new_bytes, .before = keeps ? 0 : bytes, .moved = mapped != at},
            start);
    return mapped;
}

ENTRY void *mremap(void *at, size_t bytes, size_t new_bytes, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    void *new_at = flags & (MREMAP_FIXED | MREMAP_DONTUNMAP) ? va_arg(rest, void *) : NULL;
    va_end(rest);
    if (unlikely(!pl_arch_is_relocated()))
        return pl_sys_mremap(at, bytes, new_bytes);
    struct pl_start start;
    PL_START_HERE(&start);
    return remap(at, bytes, new_bytes, flags, new_at, &start);
}

/* ---- the break ---- */

static void break_moved(uintptr_t from, uintptr_t to, pl_leaving leaving, const struct pl_start *start)
{
    pl_mapping_left(leaving, to < from);
    if (to > from)
        made(&(struct pl_mapping){.at = from, .bytes = to - from}, start);
}

/* Where the break would be after this call: the kernel says where it is now. */
static uintptr_t break_now(void)
{
    return (uintptr_t) pl_sys3(__NR_brk, 0, 0, 0);
}

ENTRY int brk(void *end)
{
    struct pl_start start;
    PL_START_HERE(&start);
    INSIDE();
    if (is_libcs(&start))
        return real.brk(end);
    uintptr_t from = break_now(), to = (uintptr_t) end;
    pl_leaving leaving = to < from ? pl_mapping_leaves(to, from - to) : 0;
    int result = real.brk(end);
    break_moved(from, result == 0 ? to : from, leaving, &start);
    return result;
}

ENTRY void *sbrk(intptr_t bytes)
{
    struct pl_start start;
    PL_START_HERE(&start);
    INSIDE();
    if (bytes == 0 || is_libcs(&start))
        return real.sbrk(bytes);
    uintptr_t from = break_now(), to = from + (uintptr_t) bytes;
    pl_leaving leaving = bytes < 0 ? pl_mapping_leaves(to, from - to) : 0;
    void *before = real.sbrk(bytes);
    break_moved(from, has_failed(before) ? from : to, leaving, &start);
    return before;
}

/* ---- System V shared memory ---- */

ENTRY void *shmat(int id, const void *at, int flags)
{
    struct pl_start start;
    PL_START_HERE(&start);
    INSIDE();
    if (is_libcs(&start))
        return real.shmat(id, at, flags);
    struct shmid_ds about = {.shm_segsz = 0};
    pl_sys3(__NR_shmctl, id, IPC_STAT, (long) &about);
    pl_leaving leaving = flags & SHM_REMAP ? pl_mapping_leaves((uintptr_t) at, about.shm_segsz) : 0;
    void *mapped = real.shmat(id, at, flags);
    pl_mapping_left(leaving, !has_failed(mapped));
    if (!has_failed(mapped))
        made(&(struct pl_mapping){.at = (uintptr_t) mapped, .bytes = about.shm_segsz}, &start);
    return mapped;
}

ENTRY int shmdt(const void *at)
{
    struct pl_start start;
    PL_START_HERE(&start);
    INSIDE();
    if (is_libcs(&start))
        return real.shmdt(at);
    pl_leaving leaving = pl_mapping_leaves((uintptr_t) at, pl_mapping_bytes((uintptr_t) at));
    int result = real.shmdt(at);
    pl_mapping_left(leaving, result == 0);
    return result;
}
