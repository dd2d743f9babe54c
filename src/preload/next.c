/* SPDX-License-Identifier: MIT */
/* next.c - see next.h. */
#include "next.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "bootstrap.h"
#include "compiler.h"
#include "find.h"
#include "threads.h"

static bool look_up_all(void);

/* ---- what the pointers point to at first ---- */

static void *no_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

static void *from_pool(size_t bytes, size_t alignment)
{
    void *block = pl_bootstrap_alloc(bytes, alignment);
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
    void *block = pl_bootstrap_alloc(n, alignment);
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
    return look_up_all() ? pl_next.valloc(n) : from_pool(n, 4096);
}

static void *first_pvalloc(size_t n)
{
    return look_up_all() ? pl_next.pvalloc(n) : from_pool((n + 4095) & ~(size_t) 4095, 4096);
}

static void first_free_sized(void *p, size_t n)
{
    if (look_up_all())
        pl_next.free_sized(p, n);
}

static void first_free_aligned_sized(void *p, size_t alignment, size_t n)
{
    if (look_up_all())
        pl_next.free_aligned_sized(p, alignment, n);
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
    .free_sized = first_free_sized,
    .free_aligned_sized = first_free_aligned_sized,
};

/* ---- where a function is missing behind us ---- */

static void *none_reallocarray(void *p, size_t n, size_t m)
{
    size_t bytes;
    return __builtin_mul_overflow(n, m, &bytes) ? no_memory() : pl_next.realloc(p, bytes);
}

#define UNUSED __attribute__((unused))

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

static void none_free_sized(void *p, UNUSED size_t n)
{
    pl_next.free(p);
}

static void none_free_aligned_sized(void *p, UNUSED size_t alignment, UNUSED size_t n)
{
    pl_next.free(p);
}

/* ---- looking up ---- */

/* dlsym() allocates when it finds nothing. That is not the program's doing: it is neither counted nor sampled. */
void *pl_next_find(const char *name)
{
    struct pl_tls before = pl_tls;
    pl_tls.charge_left = 1ull << 62; /* far from running out, and not run out either */
    void *found = dlsym(RTLD_NEXT, name);
    pl_tls.charge_left = before.charge_left;
    for (int i = 0; i < PL_FN_COUNT; i++)
        pl_tls.calls[i] = before.calls[i];
    return found;
}

/* malloc, free, calloc and realloc come first: dlsym() itself calls them when a later name is missing. */
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
    /* Others behind us look up their own next in their first free(). Let that be now: a missing name leaves a message,
     * dlsym() frees the last one's, and a free() that calls dlsym() then would never end. */
    pl_next.free(pl_next.malloc(1));
    LOOK_UP(reallocarray, none_reallocarray);
    LOOK_UP(posix_memalign, none_posix_memalign);
    LOOK_UP(aligned_alloc, none_aligned);
    LOOK_UP(memalign, none_aligned);
    LOOK_UP(valloc, none_sized);
    LOOK_UP(pvalloc, none_sized);
    LOOK_UP(free_sized, none_free_sized);
    LOOK_UP(free_aligned_sized, none_free_aligned_sized);
    LOOK_UP(malloc_usable_size, NULL);
    if (!pl_module_same((uintptr_t) pl_next.malloc_usable_size,
                        (uintptr_t) pl_next.malloc)) /* not about these blocks */
        pl_next.malloc_usable_size = NULL;
    errno = saved;
    store_release(&state, 2);
    return true;
}

void pl_next_start(void)
{
    look_up_all();
}
