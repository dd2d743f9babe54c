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

static struct allocator real; /* of MEM and OBJ */
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

/* After pl_pool_passes(). `old`, unless NULL, is the block that this one takes the place of. */
static OUT_OF_LINE COLD void announce(const void *old, const void *block, size_t bytes, const struct pl_start *start)
{
    struct pl_pool *pool = python_heap();
    if (!pool)
        return;
    if (old && block)
        pl_pool_freed(pool, old);
    pl_pool_met(pool, old, bytes <= IN_ARENAS ? block : NULL, bytes, start);
}

/* A hook jumps here, so that the caller is that of the hook. */
ENTRY COLD void *take_due(void *context, size_t bytes)
{
    struct pl_start start;
    PL_START_HERE(&start);
    void *block = real.malloc(context, bytes);
    announce(NULL, block, bytes, &start);
    return block;
}

ENTRY COLD void *take_zeroed_due(void *context, size_t count, size_t bytes)
{
    struct pl_start start;
    PL_START_HERE(&start);
    void *block = real.calloc(context, count, bytes);
    announce(NULL, block, count * bytes, &start);
    return block;
}

/* The interpreter's lock is held from before the call until after it, so nobody gets the old address meanwhile. */
ENTRY COLD void *resize_due(void *context, void *old, size_t bytes)
{
    struct pl_start start;
    PL_START_HERE(&start);
    void *block = real.realloc(context, old, bytes);
    announce(old, block, bytes, &start);
    return block;
}

static COLD void release_due(void *context, void *block)
{
    struct pl_pool *pool = load_acquire(&heap);
    if (pool)
        pl_pool_freed(pool, block);
    real.free(context, block);
}

/* Most objects are not sampled: a subtraction, a branch, and a jump to CPython's own function, which finds the context
 * that it knows. CPython lets no product of count and bytes overflow. */
static HOT void *take_object(void *context, size_t bytes)
{
    if (unlikely(!pl_pool_passes(bytes)))
        return take_due(context, bytes);
    return real.malloc(context, bytes);
}

static HOT void *take_zeroed_object(void *context, size_t count, size_t bytes)
{
    if (unlikely(!pl_pool_passes(count * bytes)))
        return take_zeroed_due(context, count, bytes);
    return real.calloc(context, count, bytes);
}

static HOT void *resize_object(void *context, void *old, size_t bytes)
{
    bool passes = pl_pool_passes(bytes);
    if (unlikely(!passes || pl_pool_may_have(old)))
        return resize_due(context, old, bytes);
    return real.realloc(context, old, bytes);
}

static HOT void release_object(void *context, void *block)
{
    if (unlikely(pl_pool_may_have(block)))
        release_due(context, block);
    else
        real.free(context, block);
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
static bool has_arenas(const struct allocator *raw, const struct allocator *mem, const struct allocator *object)
{
    return mem->malloc == object->malloc && mem->calloc == object->calloc && mem->realloc == object->realloc &&
           mem->free == object->free && object->malloc != raw->malloc;
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
    struct allocator known[DOMAIN_OBJ + 1];
    for (enum domain domain = DOMAIN_RAW; domain <= DOMAIN_OBJ; domain++)
        get(domain, &known[domain]);
    get_arenas(&real_arenas);
    if (!has_arenas(&known[DOMAIN_RAW], &known[DOMAIN_MEM], &known[DOMAIN_OBJ]))
        return;
    real = known[DOMAIN_OBJ];
    for (enum domain domain = DOMAIN_MEM; domain <= DOMAIN_OBJ; domain++)
        set(domain,
            &(struct allocator){known[domain].context, take_object, take_zeroed_object, resize_object, release_object});
    set_arenas(&(struct arenas){NULL, take_arena, give_arena});
}
