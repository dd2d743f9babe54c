/* SPDX-License-Identifier: MIT */
/*
 * next.c - the next definitions (preload/next.h), for a program that is linked statically.
 *
 * The program is linked with --wrap: the linker gives every call of malloc() to __wrap_malloc(), which is our hook, and
 * every __real_malloc() to the malloc() that the program has. So nothing is looked up, and no pool is needed.
 */
#include "preload/next.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/types.h>

#include "core/text.h"
#include "core/threads.h"
#include "preload/libc.h"

#define WEAK __attribute__((weak)) /* only some C libraries have it, in the same object as malloc */

void *__real_malloc(size_t n);
void __real_free(void *p);
void *__real_calloc(size_t n, size_t m);
void *__real_realloc(void *p, size_t n);
void *__real_reallocarray(void *p, size_t n, size_t m);
int __real_posix_memalign(void **out, size_t alignment, size_t n);
void *__real_aligned_alloc(size_t alignment, size_t n);
void *__real_memalign(size_t alignment, size_t n);
void *__real_valloc(size_t n);
void *__real_pvalloc(size_t n) WEAK;
void __real_free_sized(void *p, size_t n) WEAK;
void __real_free_aligned_sized(void *p, size_t alignment, size_t n) WEAK;
size_t malloc_usable_size(void *p);

struct pl_next pl_next = {
    .malloc = __real_malloc,
    .free = __real_free,
    .calloc = __real_calloc,
    .realloc = __real_realloc,
    .reallocarray = __real_reallocarray,
    .posix_memalign = __real_posix_memalign,
    .aligned_alloc = __real_aligned_alloc,
    .memalign = __real_memalign,
    .valloc = __real_valloc,
    .pvalloc = __real_pvalloc,
    .free_sized = __real_free_sized,
    .free_aligned_sized = __real_free_aligned_sized,
    .malloc_usable_size = malloc_usable_size,
};

/* ---- functions that the C library lacks ---- */

static void *no_pvalloc(size_t n)
{
    (void) n;
    errno = ENOMEM;
    return NULL;
}

static void free_without_size(void *p, size_t n)
{
    (void) n;
    pl_next.free(p);
}

static void free_without_sizes(void *p, size_t alignment, size_t n)
{
    (void) alignment, (void) n;
    pl_next.free(p);
}

void pl_next_start(void)
{
    if (!pl_next.pvalloc)
        pl_next.pvalloc = no_pvalloc;
    if (!pl_next.free_sized)
        pl_next.free_sized = free_without_size;
    if (!pl_next.free_aligned_sized)
        pl_next.free_aligned_sized = free_without_sizes;
    pl_next_unnest();
}

/* Every call of the program was linked to us. */
bool pl_next_is_asked(const char **module)
{
    *module = "";
    return true;
}

/* ---- what lifecycle.c and mappings.c hook ---- */

int __real___libc_start_main(void *main, int argc, char **argv, void (*init)(void), void (*fini)(void),
                             void (*rtld_fini)(void), void *stack_end);
#define HOOKED(X)                                                                                                      \
    X(mmap)                                                                                                            \
    X(munmap)                                                                                                          \
    X(mremap)                                                                                                          \
    X(brk)                                                                                                             \
    X(sbrk)                                                                                                            \
    X(shmat)                                                                                                           \
    X(shmdt)                                                                                                           \
    X(_Fork)                                                                                                           \
    X(quick_exit)                                                                                                      \
    X(exit)                                                                                                            \
    X(execve)                                                                                                          \
    X(execv)                                                                                                           \
    X(execvp)                                                                                                          \
    X(execvpe)                                                                                                         \
    X(fexecve)                                                                                                         \
    X(longjmp)                                                                                                         \
    X(_longjmp)                                                                                                        \
    X(siglongjmp)                                                                                                      \
    X(pthread_setname_np)                                                                                              \
    X(prctl)                                                                                                           \
    X(syscall)
#define DECLARE(name) void __real_##name(void);
HOOKED(DECLARE)

/* Relative to itself, because __libc_start_main() asks before a static-pie program is relocated. */
void *pl_next_find(const char *name)
{
    if (pl_text_same(name, "__libc_start_main"))
        return (void *) __real___libc_start_main;
#define FIND(each)                                                                                                     \
    if (pl_text_same(name, #each))                                                                                     \
        return (void *) __real_##each;
    HOOKED(FIND)
    return NULL;
}

/* ---- the pool: nothing is ever in it ---- */

uint8_t pl_next_pool[PL_NEXT_POOL_BYTES] PAGE_ALIGNED;

void *pl_next_pool_alloc(size_t bytes, size_t alignment)
{
    (void) bytes, (void) alignment;
    return NULL;
}

size_t pl_next_pool_size(const void *block)
{
    (void) block;
    return 0;
}

void pl_next_pool_keep_on_fork(void)
{
}
