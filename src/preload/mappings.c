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
#include "core/mapping_calls.h"
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

static enum pl_heap_kind heap_of(uintptr_t caller);

static struct pl_mapping_calls real = {.heap = heap_of,
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

/* ---- the calls ---- */

/* An allocator that is linked into the program cannot be told from it. */
static enum pl_heap_kind heap_of(uintptr_t caller)
{
    uintptr_t allocator = pl_front_allocator();
    bool own = !pl_libc_has(allocator) && !pl_find_same_module(allocator, pl_front_main_header()) &&
               pl_find_same_module(allocator, caller);
    return own ? PL_HEAP_ALLOCATOR : PL_HEAP_MAPPINGS;
}

INLINE void *map(void *at, size_t bytes, int protection, int flags, int fd, off_t offset, const struct pl_start *start)
{
    INSIDE();
    return is_libcs(start) ? real.mmap(at, bytes, protection, flags, fd, offset)
                           : pl_mapping_map(&real, at, bytes, protection, flags, fd, offset, start);
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
    return is_libcs(&start) ? real.munmap(at, bytes) : pl_mapping_unmap(&real, at, bytes);
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
    INSIDE();
    return is_libcs(&start) ? real.mremap(at, bytes, new_bytes, flags, new_at)
                            : pl_mapping_remap(&real, at, bytes, new_bytes, flags, new_at, &start);
}

ENTRY int brk(void *end)
{
    struct pl_start start;
    PL_START_HERE(&start);
    INSIDE();
    return is_libcs(&start) ? real.brk(end) : pl_mapping_set_break(&real, end, &start);
}

ENTRY void *sbrk(intptr_t bytes)
{
    struct pl_start start;
    PL_START_HERE(&start);
    INSIDE();
    return is_libcs(&start) ? real.sbrk(bytes) : pl_mapping_move_break(&real, bytes, &start);
}

ENTRY void *shmat(int id, const void *at, int flags)
{
    struct pl_start start;
    PL_START_HERE(&start);
    INSIDE();
    return is_libcs(&start) ? real.shmat(id, at, flags) : pl_mapping_attach(&real, id, at, flags, &start);
}

ENTRY int shmdt(const void *at)
{
    struct pl_start start;
    PL_START_HERE(&start);
    INSIDE();
    return is_libcs(&start) ? real.shmdt(at) : pl_mapping_detach(&real, at);
}
