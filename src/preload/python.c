/* SPDX-License-Identifier: MIT */
/*
 * python.c - sees the objects of CPython, which its own allocator takes from arenas: they become blocks of heap
 * `python`, and the arenas its chunks.
 *
 * PyMem_SetAllocator() may be called before the interpreter is initialised; it then only stores pointers. So our
 * constructor calls it, when nothing of Python has run yet: no interpreter, no other thread, no lock to hold. That is
 * possible where the program or a library that it is linked with exports it, which all builds of CPython do.
 *
 * CPython passes requests of more than 512 bytes on to malloc: these are blocks of malloc's heap, and not of this one.
 * Without arenas (PYTHONMALLOC=malloc or debug, free-threaded builds) everything is left as it is.
 *
 * Built with frame pointers: PL_START_HERE reads the caller from the frame.
 */
#include <dlfcn.h>

#include "core/arch.h"
#include "core/compiler.h"
#include "core/pools.h"
#include "core/process.h"
#include "core/unwind/unwind.h"
#include "preload/next.h"

#define ENTRY static PL_ARCH_ENTRY OUT_OF_LINE

/* PyMemAllocatorEx and PyObjectArenaAllocator of CPython 3.5 and later. */
struct allocator {
    void *context;
    void *(*malloc)(void *context, size_t bytes);
    void *(*calloc)(void *context, size_t count, size_t bytes);
    void *(*realloc)(void *context, void *block, size_t bytes);
    void (*free)(void *context, void *block);
};
struct arenas {
    void *context;
    void *(*alloc)(void *context, size_t bytes);
    void (*free)(void *context, void *arena, size_t bytes);
};
enum domain { DOMAIN_RAW, DOMAIN_MEM, DOMAIN_OBJ };

typedef void access_domain(enum domain domain, struct allocator *allocator);
typedef void access_arenas(struct arenas *arenas);

#define IN_ARENAS 512u /* SMALL_REQUEST_THRESHOLD: requests of up to so many bytes */

static struct allocator real[DOMAIN_OBJ + 1]; /* those of MEM and OBJ */
static struct arenas real_arenas;
static struct pl_pool *heap;

/* NULL: the process is not profiled. */
static struct pl_pool *python_heap(void)
{
    struct pl_pool *known = load_acquire(&heap);
    if (likely(known != NULL))
        return known;
    struct pl_pool *made = pl_pool_new("python", NULL), *none = NULL;
    if (made && !__atomic_compare_exchange_n(&heap, &none, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        pl_pool_clear(made, true);
        return none;
    }
    return made;
}

/* ---- objects ---- */

/* `old`, unless NULL, is the block that this one takes the place of. */
INLINE void announce_object(const void *old, const void *block, size_t bytes, const struct pl_start *start)
{
    struct pl_pool *pool = python_heap();
    if (!pool || !block)
        return;
    if (bytes <= IN_ARENAS)
        pl_pool_allocated(pool, old, block, bytes, start);
    else if (old)
        pl_pool_freed(pool, old); /* it has moved to malloc's heap */
}

/* Most objects are not sampled: nothing else is done for them. */
INLINE bool is_quick(const void *block, size_t bytes)
{
    return likely(block && bytes <= IN_ARENAS && !pl_tls.paused && pl_process_on(pl_process) && pl_pool_passes(bytes));
}

ENTRY void *take_object(void *context, size_t bytes)
{
    const struct allocator *next = context;
    void *block = next->malloc(next->context, bytes);
    if (is_quick(block, bytes))
        return block;
    struct pl_start start;
    PL_START_HERE(&start);
    announce_object(NULL, block, bytes, &start);
    return block;
}

ENTRY void *take_zeroed_object(void *context, size_t count, size_t bytes)
{
    struct pl_start start;
    PL_START_HERE(&start);
    const struct allocator *next = context;
    void *block = next->calloc(next->context, count, bytes);
    announce_object(NULL, block, count * bytes, &start); /* if that overflows, there is no block */
    return block;
}

/* The interpreter's lock is held from before the call until after it, so nobody gets the old address meanwhile. */
ENTRY void *resize_object(void *context, void *old, size_t bytes)
{
    struct pl_start start;
    PL_START_HERE(&start);
    const struct allocator *next = context;
    void *block = next->realloc(next->context, old, bytes);
    announce_object(old, block, bytes, &start);
    return block;
}

static void release_object(void *context, void *block)
{
    const struct allocator *next = context;
    struct pl_pool *pool = load_acquire(&heap);
    if (block && likely(pool != NULL) && unlikely(pl_pool_may_have(block)))
        pl_pool_freed(pool, block);
    next->free(next->context, block);
}

/* ---- arenas ---- */

static void *take_arena(void *context, size_t bytes)
{
    (void) context;
    void *arena = real_arenas.alloc(real_arenas.context, bytes);
    struct pl_pool *pool = arena ? python_heap() : NULL;
    if (pool)
        pl_pool_took(pool, arena, bytes);
    return arena;
}

static void give_arena(void *context, void *arena, size_t bytes)
{
    (void) context;
    struct pl_pool *pool = load_acquire(&heap);
    if (pool)
        pl_pool_gave(pool, arena);
    real_arenas.free(real_arenas.context, arena, bytes);
}

/* ---- begin ---- */

/* From the whole program: RTLD_NEXT would not search the executable. */
static void *find_in_program(const char *name)
{
    struct pl_tls before;
    pl_next_hide(&before);
    void *found = dlsym(RTLD_DEFAULT, name);
    pl_next_show(&before);
    return found;
}

/* MEM and OBJ are one allocator with arenas, and RAW is malloc. */
static bool python_has_arenas(void)
{
    return real[DOMAIN_MEM].malloc == real[DOMAIN_OBJ].malloc && real[DOMAIN_OBJ].malloc != real[DOMAIN_RAW].malloc;
}

/* After the constructor of start.c. */
__attribute__((constructor(102))) static void watch_python(void)
{
    if (!pl_config.python_objects || !pl_process_on(pl_process))
        return;
    access_domain *get = (access_domain *) find_in_program("PyMem_GetAllocator");
    access_domain *set = (access_domain *) find_in_program("PyMem_SetAllocator");
    access_arenas *get_arenas = (access_arenas *) find_in_program("PyObject_GetArenaAllocator");
    access_arenas *set_arenas = (access_arenas *) find_in_program("PyObject_SetArenaAllocator");
    if (!get || !set || !get_arenas || !set_arenas)
        return;
    for (enum domain domain = DOMAIN_RAW; domain <= DOMAIN_OBJ; domain++)
        get(domain, &real[domain]);
    get_arenas(&real_arenas);
    if (!python_has_arenas())
        return;
    for (enum domain domain = DOMAIN_MEM; domain <= DOMAIN_OBJ; domain++)
        set(domain, &(struct allocator){&real[domain], take_object, take_zeroed_object, resize_object, release_object});
    set_arenas(&(struct arenas){NULL, take_arena, give_arena});
}
