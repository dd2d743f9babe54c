/* SPDX-License-Identifier: MIT */
/*
 * plimsoll.h - lets a program tell the heap profiler Plimsoll what its memory is for, and control it.
 *
 *     #include <plimsoll.h>
 *
 *     void build_index(void)
 *     {
 *         plimsoll_push("index");
 *         ...                        whatever this thread allocates here, in any function, is charged to "index"
 *         plimsoll_pop();
 *     }
 *
 * Nothing needs to be linked. The functions are weak symbols, defined by libplimsoll.so if it is loaded: preloaded by
 * `plimsoll run`, or linked with -lplimsoll. Without it each call is one test and a branch that is never taken. Code
 * compiled with -fno-pic cannot see weak symbols of a preloaded library: link it with -lplimsoll-stub, which defines
 * functions that do nothing. If libplimsoll.so is loaded too, its functions replace them.
 *
 * Every function but plimsoll_pushf() may be called at any time: before main, in a signal handler, in a forked child,
 * after exit has begun. None allocates, prints, or changes errno. Only functions that write files may wait. Functions
 * that can fail return 0 or a negative error number: -ENOSYS if the profiler is not loaded, -ENODATA if it does not
 * record this process.
 *
 * Requires C99 or C++11. In C++ see also plimsoll.hpp.
 */
#ifndef PLIMSOLL_H
#define PLIMSOLL_H

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#define PLIMSOLL_NOEXCEPT noexcept
#else
#define PLIMSOLL_NOEXCEPT
#endif

#ifdef PLIMSOLL_IMPLEMENTATION /* the runtime itself, and the stub */
#define PLIMSOLL_API __attribute__((visibility("default")))
#else
#define PLIMSOLL_API __attribute__((weak, visibility("default")))
#endif

/* ---- scopes ------------------------------------------------------------------------------------------------------ */

/*
 * Enters a tag: from here to the matching plimsoll_pop(), this thread's allocations are charged to it. Tags nest:
 * "parse" inside "request" is a tag of its own, "request/parse" in reports. A block stays charged to the tag under
 * which it was allocated, no matter where and by which thread it is freed.
 *
 * A name may be any text of any length (more than 64 KiB is cut); it is copied. Under the same tag, equal names are the
 * same tag, wherever the text is stored.
 */
PLIMSOLL_API void plimsoll_push(const char *name) PLIMSOLL_NOEXCEPT;

/* Leaves the innermost scope. A pop without a push does nothing; the report shows how many there were. */
PLIMSOLL_API void plimsoll_pop(void) PLIMSOLL_NOEXCEPT;

/* Cheaper, for a tag that is entered often: prepare its name once, enter it many times, leave with plimsoll_pop(). A
 * prepared name is valid in every thread and under every tag, for ever. */
typedef const struct plimsoll_name *plimsoll_tag;
PLIMSOLL_API plimsoll_tag plimsoll_prepare(const char *name) PLIMSOLL_NOEXCEPT;
PLIMSOLL_API void plimsoll_enter(plimsoll_tag tag) PLIMSOLL_NOEXCEPT;

/*
 * Carry a tag to another thread along with a job, so that the job's allocations are charged to the requester's tag:
 *
 *     job->context = plimsoll_capture();                                   in the thread that requests the job
 *
 *     plimsoll_context before = plimsoll_adopt(job->context);              in the thread that does it
 *     ...
 *     plimsoll_adopt(before);
 *
 * Scopes entered between the two calls of plimsoll_adopt() must be left before the second.
 */
typedef uint64_t plimsoll_context;
PLIMSOLL_API plimsoll_context plimsoll_capture(void) PLIMSOLL_NOEXCEPT;
PLIMSOLL_API plimsoll_context plimsoll_adopt(plimsoll_context context) PLIMSOLL_NOEXCEPT;

/* ---- heaps ------------------------------------------------------------------------------------------------------- */

/*
 * Announces memory that malloc does not know: arenas, pools, slabs, memory of a GPU. Each such heap has a name, and
 * reports show it beside malloc's heap, by call site, tag and thread: `plimsoll report --heap NAME`.
 *
 *     arena->heap = plimsoll_heap_create("arena", NULL);
 *     plimsoll_heap_took(arena->heap, chunk, chunk_bytes);             the arena has got a chunk from malloc
 *     plimsoll_heap_allocated(arena->heap, block, bytes);              the caller of the arena has got a block from it
 *     plimsoll_heap_clear(arena->heap);                                all blocks are gone, and all chunks
 *
 * Heaps of the same name are shown as one: create one for each arena of a kind. Their blocks are counted or sampled as
 * those of malloc are at that time. The caller of the function that announces is the end of the stack.
 *
 * A handle may be used by all threads, is valid in forked children (which know only what they allocate themselves), and
 * is not valid any more when it, or a heap above it, was destroyed. NULL is a handle for which all functions do
 * nothing: plimsoll_heap_create() returns it without the profiler.
 */
typedef struct plimsoll_pool *plimsoll_heap;

/* `above`, unless NULL, is a heap with which this one is destroyed. */
PLIMSOLL_API plimsoll_heap plimsoll_heap_create(const char *name, plimsoll_heap above) PLIMSOLL_NOEXCEPT;

/* All blocks of the heap are freed at once, its chunks given back, and all heaps below it destroyed. Destroyed: it will
 * not be used again. */
PLIMSOLL_API void plimsoll_heap_clear(plimsoll_heap heap) PLIMSOLL_NOEXCEPT;
PLIMSOLL_API void plimsoll_heap_destroy(plimsoll_heap heap) PLIMSOLL_NOEXCEPT;

/* A block was allocated; or takes the place of another one, wherever it is now. A block was freed: to be called before
 * another thread may get its address. A NULL block is ignored. */
PLIMSOLL_API void plimsoll_heap_allocated(plimsoll_heap heap, void *block, size_t bytes) PLIMSOLL_NOEXCEPT;
PLIMSOLL_API void plimsoll_heap_reallocated(plimsoll_heap heap, const void *old, void *block,
                                            size_t bytes) PLIMSOLL_NOEXCEPT;
PLIMSOLL_API void plimsoll_heap_freed(plimsoll_heap heap, const void *block) PLIMSOLL_NOEXCEPT;

/* The heap has taken a chunk from malloc (or from another heap), and given it back. So reports can say how much of the
 * other heap's live memory is this heap's, and how much of that is not in use. */
PLIMSOLL_API void plimsoll_heap_took(plimsoll_heap heap, void *chunk, size_t bytes) PLIMSOLL_NOEXCEPT;
PLIMSOLL_API void plimsoll_heap_gave(plimsoll_heap heap, const void *chunk) PLIMSOLL_NOEXCEPT;

/* ---- control ----------------------------------------------------------------------------------------------------- */

/* 1: the profiler (not the stub) is loaded in this process. */
PLIMSOLL_API int plimsoll_loaded(void) PLIMSOLL_NOEXCEPT;

/* 1: this thread's allocations are being recorded: the profiler is loaded, not stopped, and not paused. */
PLIMSOLL_API int plimsoll_active(void) PLIMSOLL_NOEXCEPT;

/*
 * Stop and start recording in the whole process. While stopped, calls and bytes are still counted (at no cost), under
 * the tag "(off)". Blocks allocated meanwhile are not recorded; frees of blocks recorded before still are. The calling
 * thread stops or starts at once. Other threads stop at their next allocation in exact mode, and in sampled mode after
 * the rest of their sampling interval; they start again after at most 64 KiB of further allocations.
 *
 * With PLIMSOLL_OFF=1 in the environment a program begins stopped.
 */
PLIMSOLL_API void plimsoll_start(void) PLIMSOLL_NOEXCEPT;
PLIMSOLL_API void plimsoll_stop(void) PLIMSOLL_NOEXCEPT;

/* The same for the calling thread only, under the tag "(paused)". Pauses nest: two pauses need two resumes. */
PLIMSOLL_API void plimsoll_pause(void) PLIMSOLL_NOEXCEPT;
PLIMSOLL_API void plimsoll_resume(void) PLIMSOLL_NOEXCEPT;

/* Resets the profile: reports only include what is allocated from now on. Other threads apply the reset when they next
 * enter or leave a tag, in exact mode at their next allocation, and otherwise at their next sample. */
PLIMSOLL_API void plimsoll_reset(void) PLIMSOLL_NOEXCEPT;

/* Sets the sampling interval: from now on one sample per so many bytes on average, whatever mode the profiler was
 * started in. 0: back to the mode it was started in. -EINVAL: more than 1 TiB. */
PLIMSOLL_API int plimsoll_sample(uint64_t bytes) PLIMSOLL_NOEXCEPT;

/* Records stacks only for allocations of `from` to `to` bytes, both included. Other allocations are counted per thread
 * and tag, in one site named "(other sizes)". 0 and UINT64_MAX: all sizes. -EINVAL: from > to. */
PLIMSOLL_API int plimsoll_sizes(uint64_t from, uint64_t to) PLIMSOLL_NOEXCEPT;

/*
 * Takes a snapshot: a copy of the profile as it is now, which is a complete profile, beside the one that will be
 * written at the end. If that is app.plim, the snapshot is app.NAME.plim. If that file exists, a number is added. NULL:
 * only a number.
 */
PLIMSOLL_API int plimsoll_snapshot(const char *name) PLIMSOLL_NOEXCEPT;

/* Takes a numbered snapshot if PLIMSOLL_SNAPSHOT_EVERY is set (500ms, 10s, 5m, 1h) and that much time has passed since
 * the last one. Call it in the program's main loop. Returns 1 if it took one, 0 if none is due, which costs some 10
 * ns. */
PLIMSOLL_API int plimsoll_snapshot_if_due(void) PLIMSOLL_NOEXCEPT;

/* Writes a snapshot to this path, which must not exist: -EEXIST. Only one snapshot is taken at a time: -EBUSY if
 * another thread's takes long, or if a signal handler calls this while its own thread is taking one. */
PLIMSOLL_API int plimsoll_write(const char *path) PLIMSOLL_NOEXCEPT;

/* 0: do not keep the profile when the program ends. 1: keep it, which is the default. */
PLIMSOLL_API void plimsoll_output(int wanted) PLIMSOLL_NOEXCEPT;

/* ---- statistics -------------------------------------------------------------------------------------------------- */

enum plimsoll_function { /* indices of plimsoll_stats.calls_of */
                         PLIMSOLL_MALLOC,
                         PLIMSOLL_CALLOC,
                         PLIMSOLL_REALLOC,
                         PLIMSOLL_ALIGNED, /* posix_memalign, aligned_alloc, memalign, valloc, pvalloc */
                         PLIMSOLL_NEW,     /* operator new, if it does not call malloc */
                         PLIMSOLL_FUNCTIONS
};

struct plimsoll_bucket {
    uint64_t blocks;
    uint64_t bytes;
};

/*
 * Size buckets: [0] is blocks of up to 15 bytes, [1] 16 to 31, [2] 32 to 63, ... [21] 16 MiB and more.
 *
 * `calls` and `allocated_bytes` are always exact. The other figures are exact if `exact` is 1, and estimates otherwise.
 * Other threads are not stopped: the last call of a running thread may be missing, or be counted under two tags.
 */
#define PLIMSOLL_SIZES 22
struct plimsoll_stats {
    uint64_t calls;
    uint64_t calls_of[PLIMSOLL_FUNCTIONS]; /* enum plimsoll_function */
    uint64_t allocated_bytes;              /* requested */
    uint64_t freed_blocks;                 /* by any thread */
    uint64_t freed_bytes;
    uint64_t live_blocks;
    uint64_t live_bytes;
    uint64_t peak_bytes; /* live when the whole heap was largest */
    uint64_t entered;    /* how often tags were entered */
    uint64_t threads;    /* how many threads and tags these figures include */
    uint64_t tags;
    uint64_t exact;
    uint64_t vm_bytes; /* of the process; 0 in plimsoll_thread_stats() and plimsoll_tag_stats() */
    uint64_t rss_bytes;
    struct plimsoll_bucket allocated_sizes[PLIMSOLL_SIZES]; /* of the process or thread; 0 in plimsoll_tag_stats() */
    struct plimsoll_bucket live_sizes[PLIMSOLL_SIZES];      /* of the process; 0 in the other two functions */
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow" /* C++: a function and a struct may share their name */

/* Each of the three fills in the first `bytes` bytes of *out: pass sizeof *out. This one: the whole process. */
PLIMSOLL_API int plimsoll_stats(struct plimsoll_stats *out, size_t bytes) PLIMSOLL_NOEXCEPT;

#pragma GCC diagnostic pop

/* The calling thread. Blocks that it has allocated count as its own even if other threads free them. */
PLIMSOLL_API int plimsoll_thread_stats(struct plimsoll_stats *out, size_t bytes) PLIMSOLL_NOEXCEPT;

/* A tag, as returned by plimsoll_capture(), in all threads; without the tags below it. */
PLIMSOLL_API int plimsoll_tag_stats(plimsoll_context tag, struct plimsoll_stats *out, size_t bytes) PLIMSOLL_NOEXCEPT;

/*
 * All figures as pairs of key and number: calls `see` with keys such as
 *
 *     process.calls, process.live_bytes, process.rss_bytes, ...
 *     worker-1.request/parse.calls, worker-1.request/parse.live_bytes, ...       thread.tag.metric
 *
 * for each thread and tag. Allocations under no tag have the tag "-". Threads of the same name have the same keys: add
 * their numbers up. `see` returns 0 to continue; another value ends the call and is returned. A key is valid only
 * during the call of `see`; if it would be longer than 1,023 bytes, a part in its middle is left out.
 */
typedef int plimsoll_see(void *context, const char *key, uint64_t number);
PLIMSOLL_API int plimsoll_pairs(plimsoll_see *see, void *context) PLIMSOLL_NOEXCEPT;

/* ---- when the profiler is not loaded ----------------------------------------------------------------------------- */

#ifdef __cplusplus
#define PLIMSOLL_NO_TAG nullptr
#define PLIMSOLL_NO_HEAP nullptr
#define PLIMSOLL_NO_CONTEXT plimsoll_context(0)
#define PLIMSOLL_SIZE_T(n) static_cast<size_t>(n)
#define PLIMSOLL_CHARS(p) static_cast<char *>(p)
#else
#define PLIMSOLL_NO_TAG ((plimsoll_tag) 0)
#define PLIMSOLL_NO_HEAP ((plimsoll_heap) 0)
#define PLIMSOLL_NO_CONTEXT ((plimsoll_context) 0)
#define PLIMSOLL_SIZE_T(n) ((size_t) (n))
#define PLIMSOLL_CHARS(p) ((char *) (p))
#endif

#ifndef PLIMSOLL_IMPLEMENTATION
#define plimsoll_push(name) (plimsoll_push ? plimsoll_push(name) : (void) 0)
#define plimsoll_pop() (plimsoll_pop ? plimsoll_pop() : (void) 0)
#define plimsoll_prepare(name) (plimsoll_prepare ? plimsoll_prepare(name) : PLIMSOLL_NO_TAG)
#define plimsoll_enter(tag) (plimsoll_enter ? plimsoll_enter(tag) : (void) 0)
#define plimsoll_capture() (plimsoll_capture ? plimsoll_capture() : PLIMSOLL_NO_CONTEXT)
#define plimsoll_adopt(context) (plimsoll_adopt ? plimsoll_adopt(context) : PLIMSOLL_NO_CONTEXT)
#define plimsoll_heap_create(name, above) (plimsoll_heap_create ? plimsoll_heap_create(name, above) : PLIMSOLL_NO_HEAP)
#define plimsoll_heap_clear(heap) (plimsoll_heap_clear ? plimsoll_heap_clear(heap) : (void) 0)
#define plimsoll_heap_destroy(heap) (plimsoll_heap_destroy ? plimsoll_heap_destroy(heap) : (void) 0)
#define plimsoll_heap_allocated(heap, block, bytes)                                                                    \
    (plimsoll_heap_allocated ? plimsoll_heap_allocated(heap, block, bytes) : (void) 0)
#define plimsoll_heap_reallocated(heap, old, block, bytes)                                                             \
    (plimsoll_heap_reallocated ? plimsoll_heap_reallocated(heap, old, block, bytes) : (void) 0)
#define plimsoll_heap_freed(heap, block) (plimsoll_heap_freed ? plimsoll_heap_freed(heap, block) : (void) 0)
#define plimsoll_heap_took(heap, chunk, bytes) (plimsoll_heap_took ? plimsoll_heap_took(heap, chunk, bytes) : (void) 0)
#define plimsoll_heap_gave(heap, chunk) (plimsoll_heap_gave ? plimsoll_heap_gave(heap, chunk) : (void) 0)
#define plimsoll_loaded() (plimsoll_loaded ? plimsoll_loaded() : 0)
#define plimsoll_active() (plimsoll_active ? plimsoll_active() : 0)
#define plimsoll_start() (plimsoll_start ? plimsoll_start() : (void) 0)
#define plimsoll_stop() (plimsoll_stop ? plimsoll_stop() : (void) 0)
#define plimsoll_pause() (plimsoll_pause ? plimsoll_pause() : (void) 0)
#define plimsoll_resume() (plimsoll_resume ? plimsoll_resume() : (void) 0)
#define plimsoll_reset() (plimsoll_reset ? plimsoll_reset() : (void) 0)
#define plimsoll_sample(bytes) (plimsoll_sample ? plimsoll_sample(bytes) : -ENOSYS)
#define plimsoll_sizes(from, to) (plimsoll_sizes ? plimsoll_sizes(from, to) : -ENOSYS)
#define plimsoll_snapshot(name) (plimsoll_snapshot ? plimsoll_snapshot(name) : -ENOSYS)
#define plimsoll_snapshot_if_due() (plimsoll_snapshot_if_due ? plimsoll_snapshot_if_due() : 0)
#define plimsoll_write(path) (plimsoll_write ? plimsoll_write(path) : -ENOSYS)
#define plimsoll_output(wanted) (plimsoll_output ? plimsoll_output(wanted) : (void) 0)
#define plimsoll_stats(out, bytes) (plimsoll_stats ? plimsoll_stats(out, bytes) : -ENOSYS)
#define plimsoll_thread_stats(out, bytes) (plimsoll_thread_stats ? plimsoll_thread_stats(out, bytes) : -ENOSYS)
#define plimsoll_tag_stats(tag, out, bytes) (plimsoll_tag_stats ? plimsoll_tag_stats(tag, out, bytes) : -ENOSYS)
#define plimsoll_pairs(see, context) (plimsoll_pairs ? plimsoll_pairs(see, context) : -ENOSYS)

/* plimsoll_push() with a formatted name: plimsoll_pushf("%s::%s", class, function). Formats only if the profiler is
 * loaded. Not for signal handlers, because it calls vsnprintf(). */
__attribute__((format(printf, 1, 2), unused)) static inline void plimsoll_pushf(const char *format, ...)
{
    char name[1024];
    va_list list;
    if (!plimsoll_loaded())
        return;
    va_start(list, format);
    int bytes = vsnprintf(name, sizeof name, format, list);
    va_end(list);
    if (bytes < 1024) {
        plimsoll_push(bytes < 0 ? format : name);
        return;
    }
    size_t room = PLIMSOLL_SIZE_T(bytes < 131072 ? bytes : 131072) + 1; /* names are cut to 64 KiB anyway */
    char *longer = PLIMSOLL_CHARS(__builtin_alloca(room));
    va_start(list, format);
    vsnprintf(longer, room, format, list);
    va_end(list);
    plimsoll_push(longer);
}
#endif

#ifdef __cplusplus
}
#endif

#endif
