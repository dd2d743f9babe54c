/* SPDX-License-Identifier: MIT */
/*
 * plimsoll.h - a program tells its heap profiler what its memory is for.
 *
 *     #include <plimsoll.h>
 *
 *     void build_index(void)
 *     {
 *         plimsoll_push("index");
 *         ...                        what is allocated here, by whomever, is charged to "index"
 *         plimsoll_pop();
 *     }
 *
 * Nothing needs to be linked. The functions are weak symbols, which libplimsoll.so supplies when it is there: preloaded
 * by `plimsoll run`, or linked with -lplimsoll. Without it each call is one test and a branch that is never taken. Code
 * compiled with -fno-pic cannot see weak symbols of a preloaded library: link it with -lplimsoll-stub, which supplies
 * functions that do nothing, and which the real ones take the place of.
 *
 * Every function but plimsoll_pushf() may be called at any time: before main, in a signal handler, in a forked child,
 * after exit has begun. None allocates, prints, or changes errno; none waits, but for those that write files. Functions
 * that can fail return 0, or a negative error number: -ENOSYS when the profiler is not there, -ENODATA when it records
 * nothing of this process.
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
 * "parse" inside "request" is a tag of its own, "request/parse" in reports. Whatever is allocated in a scope stays
 * charged to it, whoever frees it, wherever and whenever.
 *
 * A name may be any text of any length; it is copied. Equal names are equal tags, however they came about.
 */
PLIMSOLL_API void plimsoll_push(const char *name) PLIMSOLL_NOEXCEPT;

/* Leaves the innermost scope. One too many does nothing, and is counted in the report. */
PLIMSOLL_API void plimsoll_pop(void) PLIMSOLL_NOEXCEPT;

/* The cheaper form, for a tag that is entered often: prepare its name once, enter it many times, leave with
 * plimsoll_pop(). A prepared name is good in every thread, and under every tag. */
typedef const struct plimsoll_name *plimsoll_tag;
PLIMSOLL_API plimsoll_tag plimsoll_prepare(const char *name) PLIMSOLL_NOEXCEPT;
PLIMSOLL_API void plimsoll_enter(plimsoll_tag tag) PLIMSOLL_NOEXCEPT;

/*
 * Work that is handed to another thread takes its tag along, so that it is charged to who asked for it:
 *
 *     job->context = plimsoll_capture();                                   where it is asked for
 *
 *     plimsoll_context before = plimsoll_adopt(job->context);              where it is done
 *     ...
 *     plimsoll_adopt(before);
 *
 * What is pushed between the two must be popped before the second.
 */
typedef uint64_t plimsoll_context;
PLIMSOLL_API plimsoll_context plimsoll_capture(void) PLIMSOLL_NOEXCEPT;
PLIMSOLL_API plimsoll_context plimsoll_adopt(plimsoll_context context) PLIMSOLL_NOEXCEPT;

/* ---- control ----------------------------------------------------------------------------------------------------- */

/* 1: the profiler is in this process (and not a stub). */
PLIMSOLL_API int plimsoll_loaded(void) PLIMSOLL_NOEXCEPT;

/* 1: what this thread allocates now is recorded: loaded, not stopped, not paused. */
PLIMSOLL_API int plimsoll_active(void) PLIMSOLL_NOEXCEPT;

/*
 * Stop and start recording in the whole process. While stopped, calls and bytes are still counted (that is free), under
 * the tag "(off)"; blocks allocated meanwhile are unknown, and frees of known ones are still recorded. The calling
 * thread obeys at once; others when they next look: in exact mode at their next allocation, but when they start again,
 * and always in sampled mode, they may first allocate 64 KiB, or what is left of a sampling interval.
 *
 * With PLIMSOLL_OFF=1 in the environment a program begins stopped.
 */
PLIMSOLL_API void plimsoll_start(void) PLIMSOLL_NOEXCEPT;
PLIMSOLL_API void plimsoll_stop(void) PLIMSOLL_NOEXCEPT;

/* The same for the calling thread only, at once; under the tag "(paused)". They nest: two pauses need two resumes. */
PLIMSOLL_API void plimsoll_pause(void) PLIMSOLL_NOEXCEPT;
PLIMSOLL_API void plimsoll_resume(void) PLIMSOLL_NOEXCEPT;

/* From now on the profile is about what is allocated from now on. What was before is forgotten by reports. Other
 * threads take note when they next enter or leave a tag; in exact mode when they next allocate, and otherwise at their
 * next sample. */
PLIMSOLL_API void plimsoll_reset(void) PLIMSOLL_NOEXCEPT;

/* From now on take a sample every so many bytes on average, whatever mode the profiler was started in. 0: as it was
 * started. -EINVAL: beyond 1 TiB. */
PLIMSOLL_API int plimsoll_sample(uint64_t bytes) PLIMSOLL_NOEXCEPT;

/* Record stacks only of allocations of at least `from` and at most `to` bytes. Others are counted, per thread and tag,
 * in one place named "(other sizes)". 0 and UINT64_MAX: all. -EINVAL: from > to. */
PLIMSOLL_API int plimsoll_sizes(uint64_t from, uint64_t to) PLIMSOLL_NOEXCEPT;

/*
 * Writes a copy of the profile as it is now, which is a profile like any other, beside the one that will be written at
 * the end: app.plim has a snapshot app.NAME.plim. A name that was used before gets a number. NULL: only a number.
 */
PLIMSOLL_API int plimsoll_snapshot(const char *name) PLIMSOLL_NOEXCEPT;

/* The same, numbered, if PLIMSOLL_SNAPSHOT_EVERY is set (500ms, 10s, 5m, 1h) and that much time has passed since the
 * last: for programs that have a loop to call it in. 1: taken. 0: not due. Not due costs some 10 ns. */
PLIMSOLL_API int plimsoll_snapshot_if_due(void) PLIMSOLL_NOEXCEPT;

/* The same to a path of one's own, which must not exist: -EEXIST. One copy is made at a time: -EBUSY when another
 * thread takes long, or was interrupted by this very call. */
PLIMSOLL_API int plimsoll_write(const char *path) PLIMSOLL_NOEXCEPT;

/* 0: leave no profile behind when the program ends. 1: do, as usual. */
PLIMSOLL_API void plimsoll_output(int wanted) PLIMSOLL_NOEXCEPT;

/* ---- statistics -------------------------------------------------------------------------------------------------- */

enum plimsoll_function { /* which calls there were */
                         PLIMSOLL_MALLOC,
                         PLIMSOLL_CALLOC,
                         PLIMSOLL_REALLOC,
                         PLIMSOLL_ALIGNED, /* posix_memalign, aligned_alloc, memalign, valloc, pvalloc */
                         PLIMSOLL_NEW,     /* of an allocator whose operator new does not call malloc */
                         PLIMSOLL_FUNCTIONS
};

struct plimsoll_bucket {
    uint64_t blocks;
    uint64_t bytes;
};

/*
 * sizes[0] is about blocks of up to 15 bytes, [1] 16 to 31, [2] 32 to 63, ... [21] 16 MiB and more.
 *
 * `calls` and `allocated_bytes` are exact. The others are if `exact` is 1, and estimates otherwise. Nobody is stopped
 * for them: of threads that go on meanwhile, the last call may be missing, or be seen under two tags.
 */
#define PLIMSOLL_SIZES 22
struct plimsoll_stats {
    uint64_t calls;
    uint64_t calls_of[PLIMSOLL_FUNCTIONS]; /* enum plimsoll_function */
    uint64_t allocated_bytes;              /* requested */
    uint64_t freed_blocks;                 /* whoever freed them */
    uint64_t freed_bytes;
    uint64_t live_blocks;
    uint64_t live_bytes;
    uint64_t peak_bytes; /* live when the whole heap was largest */
    uint64_t entered;    /* how often its tags were entered */
    uint64_t threads;    /* how many these figures are about, and tags */
    uint64_t tags;
    uint64_t exact;
    uint64_t vm_bytes; /* of the process; 0 in plimsoll_thread_stats() and plimsoll_tag_stats() */
    uint64_t rss_bytes;
    struct plimsoll_bucket allocated_sizes[PLIMSOLL_SIZES]; /* of the process or thread; 0 in plimsoll_tag_stats() */
    struct plimsoll_bucket live_sizes[PLIMSOLL_SIZES];      /* of the process; otherwise 0: a block is nobody's */
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow" /* C++: a function and a struct may share their name */

/* Each fills in the first `bytes` bytes of *out: pass sizeof *out, no more. */
PLIMSOLL_API int plimsoll_stats(struct plimsoll_stats *out, size_t bytes) PLIMSOLL_NOEXCEPT;

#pragma GCC diagnostic pop

/* Of the calling thread; blocks that others free for it are its own. */
PLIMSOLL_API int plimsoll_thread_stats(struct plimsoll_stats *out, size_t bytes) PLIMSOLL_NOEXCEPT;

/* Of a tag that plimsoll_capture() gave, itself and not those below it, in all threads. */
PLIMSOLL_API int plimsoll_tag_stats(plimsoll_context tag, struct plimsoll_stats *out, size_t bytes) PLIMSOLL_NOEXCEPT;

/*
 * Everything as pairs: calls `see` with keys such as
 *
 *     process.calls, process.live_bytes, process.rss_bytes, ...
 *     worker-1.request/parse.calls, worker-1.request/parse.live_bytes, ...       thread.tag.metric
 *
 * for each thread and tag. What was allocated under no tag has the tag "-". Threads of the same name share their keys:
 * add up. `see` returns 0 to go on. Keys are good during the call; one longer than 1,023 bytes is cut in its middle.
 */
typedef int plimsoll_see(void *context, const char *key, uint64_t number);
PLIMSOLL_API int plimsoll_pairs(plimsoll_see *see, void *context) PLIMSOLL_NOEXCEPT;

/* ---- when the profiler is not there ------------------------------------------------------------------------------ */

#ifdef __cplusplus
#define PLIMSOLL_NO_TAG nullptr
#define PLIMSOLL_NO_CONTEXT plimsoll_context(0)
#define PLIMSOLL_SIZE_T(n) static_cast<size_t>(n)
#define PLIMSOLL_CHARS(p) static_cast<char *>(p)
#else
#define PLIMSOLL_NO_TAG ((plimsoll_tag) 0)
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

/* A name made as printf makes it: plimsoll_pushf("%s::%s", class, function). Formats only when there is somebody to
 * read it; not for signal handlers, as vsnprintf() is not. */
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
    size_t room = PLIMSOLL_SIZE_T(bytes < 131072 ? bytes : 131072) + 1; /* of more than 64 KiB not all is kept anyway */
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
