/* SPDX-License-Identifier: MIT */
/* next.c - see next.h. */
#include "preload/next.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/blocks/filter.h"
#include "core/compiler.h"
#include "core/memory.h"
#include "core/process.h"
#include "core/sys.h"
#include "core/threads.h"
#include "core/unwind/find.h"

#define UNUSED __attribute__((unused))

/* ---- the pool ---- */

#ifndef MADV_KEEPONFORK
#define MADV_KEEPONFORK 19
#endif

#define HEAD 16u /* bytes before a block of the pool, which hold its size */

uint8_t pl_next_pool[PL_NEXT_POOL_BYTES] PAGE_ALIGNED;
static size_t pool_used;

void *pl_next_pool_alloc(size_t bytes, size_t alignment)
{
    if (alignment < HEAD)
        alignment = HEAD;
    if (bytes > PL_NEXT_POOL_BYTES || alignment > PL_ARCH_PAGE_MOST)
        return NULL;
    size_t old = load_relaxed(&pool_used), at;
    do {
        at = (old + HEAD + alignment - 1) & ~(alignment - 1);
        if (at + bytes > PL_NEXT_POOL_BYTES)
            return NULL;
    } while (!__atomic_compare_exchange_n(&pool_used, &old, at + bytes, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    *(size_t *) (void *) (pl_next_pool + at - HEAD) = bytes;
    pl_filter_stick(pl_next_pool + at);
    return pl_next_pool + at;
}

/* Whole pages of the filter, so marks of other blocks of the parent stay too. For those the child's cold path finds
 * nothing in its tables, and forwards the call. */
void pl_next_pool_keep_on_fork(void)
{
    const uintptr_t page = PL_ARCH_PAGE_MOST;
    uintptr_t first = (uintptr_t) pl_filter_byte(pl_next_pool) & ~(page - 1);
    uintptr_t last = (uintptr_t) pl_filter_byte(pl_next_pool + PL_NEXT_POOL_BYTES - 1) & ~(page - 1);
    if (load_relaxed(&pool_used)) {
        pl_sys_madvise((void *) first, page, MADV_KEEPONFORK);
        pl_sys_madvise((void *) last, page, MADV_KEEPONFORK);
    }
}

size_t pl_next_pool_size(const void *block)
{
    return *(const size_t *) (const void *) ((const uint8_t *) block - HEAD);
}

/* ---- what the pointers initially point to ---- */

static bool look_up_all(void);

static void *no_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

static void *from_pool(size_t bytes, size_t alignment)
{
    void *block = pl_next_pool_alloc(bytes, alignment);
    return block ? block : no_memory();
}

static void *first_malloc(size_t n)
{
    return look_up_all() ? pl_next.malloc(n) : from_pool(n, 16);
}

static void first_free(void *p)
{
    if (look_up_all())
        pl_next.free(p);
}

static void *first_calloc(size_t n, size_t m)
{
    size_t bytes;
    if (look_up_all())
        return pl_next.calloc(n, m);
    return __builtin_mul_overflow(n, m, &bytes) ? no_memory() : from_pool(bytes, 16);
}

static void *first_realloc(void *p, size_t n)
{
    return look_up_all() ? pl_next.realloc(p, n) : p ? no_memory() : from_pool(n, 16);
}

static void *first_reallocarray(void *p, size_t n, size_t m)
{
    return look_up_all() ? pl_next.reallocarray(p, n, m) : no_memory();
}

static int first_posix_memalign(void **out, size_t alignment, size_t n)
{
    if (look_up_all())
        return pl_next.posix_memalign(out, alignment, n);
    void *block = pl_next_pool_alloc(n, alignment);
    if (!block)
        return ENOMEM;
    *out = block;
    return 0;
}

static void *first_aligned_alloc(size_t alignment, size_t n)
{
    return look_up_all() ? pl_next.aligned_alloc(alignment, n) : from_pool(n, alignment);
}

static void *first_memalign(size_t alignment, size_t n)
{
    return look_up_all() ? pl_next.memalign(alignment, n) : from_pool(n, alignment);
}

static void *first_valloc(size_t n)
{
    return look_up_all() ? pl_next.valloc(n) : from_pool(n, PL_ARCH_PAGE_MOST);
}

static void *first_pvalloc(size_t n)
{
    return look_up_all() ? pl_next.pvalloc(n) : from_pool(pl_memory_pages(n), PL_ARCH_PAGE_MOST);
}

/* Correct for every allocator, so these two may wait for pl_next_start(). */
static void none_free_sized(void *p, UNUSED size_t n)
{
    pl_next.free(p);
}

static void none_free_aligned_sized(void *p, UNUSED size_t alignment, UNUSED size_t n)
{
    pl_next.free(p);
}

struct pl_next pl_next = {
    .malloc = first_malloc,
    .free = first_free,
    .calloc = first_calloc,
    .realloc = first_realloc,
    .reallocarray = first_reallocarray,
    .posix_memalign = first_posix_memalign,
    .aligned_alloc = first_aligned_alloc,
    .memalign = first_memalign,
    .valloc = first_valloc,
    .pvalloc = first_pvalloc,
    .free_sized = none_free_sized,
    .free_aligned_sized = none_free_aligned_sized,
};

/* ---- what is called if there is no next definition ---- */

static void *none_reallocarray(void *p, size_t n, size_t m)
{
    size_t bytes;
    return __builtin_mul_overflow(n, m, &bytes) ? no_memory() : pl_next.realloc(p, bytes);
}

static int none_posix_memalign(UNUSED void **out, UNUSED size_t alignment, UNUSED size_t n)
{
    return ENOMEM;
}

static void *none_sized(UNUSED size_t n)
{
    return no_memory();
}

static void *none_aligned(UNUSED size_t alignment, UNUSED size_t n)
{
    return no_memory();
}

static void *none_realloc(UNUSED void *p, UNUSED size_t n)
{
    return no_memory();
}

static void none_free(UNUSED void *p)
{
}

/* ---- looking up ---- */

/* dlsym() allocates if it finds nothing. */
void *pl_next_find(const char *name)
{
    struct pl_tls before;
    pl_next_hide(&before);
    void *found = dlsym(RTLD_NEXT, name);
    pl_next_show(&before);
    return found;
}

/* Asks by calling it: another library's malloc may forward to ours, or be the program's stub for ours. */
bool pl_next_is_asked(const char **module)
{
    struct pl_tls before;
    Dl_info about;
    pl_next_hide(&before);
    void *(*used)(size_t) = (void *(*) (size_t)) dlsym(RTLD_DEFAULT, "malloc");
    void (*freed)(void *) = (void (*)(void *)) dlsym(RTLD_DEFAULT, "free");
    bool ours = !used || !freed || pl_front.owns((uintptr_t) used);
    if (!ours) {
        uint64_t calls = pl_tls.calls[PL_FN_MALLOC];
        freed(used(1));
        ours = pl_tls.calls[PL_FN_MALLOC] != calls;
    }
    pl_next_show(&before);
    *module = !ours && dladdr((void *) used, &about) && about.dli_fname ? about.dli_fname : "";
    return ours;
}

/* malloc, free, calloc and realloc come first: dlsym() itself calls them if a later name is missing. */
#define LOOK_UP(name, none)                                                                                            \
    do {                                                                                                               \
        void *found_ = pl_next_find(#name);                                                                            \
        if (found_)                                                                                                    \
            store_release((void **) (void *) &pl_next.name, found_);                                                   \
        else                                                                                                           \
            pl_next.name = (none);                                                                                     \
    } while (0)

static bool look_up_all(void)
{
    static uint32_t state; /* 0 not yet, 1 in progress, 2 done */
    if (!swap_if(&state, 0, 1))
        return load_acquire(&state) == 2;
    int saved = errno;
    LOOK_UP(malloc, none_sized);
    LOOK_UP(free, none_free);
    LOOK_UP(calloc, none_aligned);
    LOOK_UP(realloc, none_realloc);
    /* Another preloaded library may call dlsym() in its first free(). Let that happen now: if a name is missing,
     * dlsym() stores an error message and frees the last one, and a free() that calls dlsym() then would recurse for
     * ever. */
    pl_next.free(pl_next.malloc(1));
    LOOK_UP(reallocarray, none_reallocarray);
    LOOK_UP(posix_memalign, none_posix_memalign);
    LOOK_UP(aligned_alloc, none_aligned);
    LOOK_UP(memalign, none_aligned);
    LOOK_UP(valloc, none_sized);
    LOOK_UP(pvalloc, none_sized);
    LOOK_UP(malloc_usable_size, NULL);
    if (!pl_find_same_module((uintptr_t) pl_next.malloc_usable_size,
                             (uintptr_t) pl_next.malloc)) /* not about these blocks */
        pl_next.malloc_usable_size = NULL;
    errno = saved;
    store_release(&state, 2);
    return true;
}

/* Most allocators lack the last two. dlsym() frees its last message if it finds nothing, and LeakSanitizer ends the
 * program if something is freed while it starts, perhaps in its own dlsym(). It has started when we get here. */
void pl_next_start(void)
{
    look_up_all();
    pl_next_unnest();
    LOOK_UP(free_sized, none_free_sized);
    LOOK_UP(free_aligned_sized, none_free_aligned_sized);
}
