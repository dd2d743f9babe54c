/* SPDX-License-Identifier: MIT */
/* moment.c - see moment.h. */
#include "attach/moment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "attach/backtrace.h"
#include "attach/visitor.h"

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

/* Calls in which a thread may wait for long. Allocators and the loader do not make them, except for futex. */
static const long waits[] = {
    SYS_read,         SYS_ppoll,         SYS_pselect6,        SYS_epoll_pwait, SYS_accept,
    SYS_accept4,      SYS_recvfrom,      SYS_recvmsg,         SYS_recvmmsg,    SYS_wait4,
    SYS_waitid,       SYS_rt_sigsuspend, SYS_rt_sigtimedwait, SYS_nanosleep,   SYS_clock_nanosleep,
    SYS_connect,      SYS_sendto,        SYS_sendmsg,         SYS_write,       SYS_semop,
    SYS_semtimedop,   SYS_msgrcv,        SYS_flock,           SYS_futex,       SYS_restart_syscall,
    SYS_epoll_pwait2,
#ifdef SYS_poll /* other processors have only the newer ones */
    SYS_poll,         SYS_select,        SYS_epoll_wait,      SYS_pause,
#endif
};

/* Functions of libc that wait for a futex that is not malloc's or the loader's lock. And those that wait for some time:
 * if such a call was interrupted before, it is called restart_syscall now, as is that of a futex. */
static const char *const quiet_waits[] = {
    "poll",
    "ppoll",
    "__poll_chk",
    "nanosleep",
    "clock_nanosleep",
    "sleep",
    "usleep",
    "thrd_sleep",
    "sigtimedwait",
    "pthread_cond_wait",
    "pthread_cond_timedwait",
    "pthread_cond_clockwait",
    "pthread_join",
    "pthread_timedjoin_np",
    "sem_wait",
    "sem_timedwait",
    "sem_clockwait",
    "pthread_barrier_wait",
    "syscall",
};

static const char *const allocating[] = {
    "malloc",  "free",      "calloc",   "realloc",     "posix_memalign", "aligned_alloc", "memalign", "valloc",
    "pvalloc", "mallinfo2", "mallinfo", "malloc_trim", "malloc_info",    "malloc_stats",  "mallopt",  "reallocarray",
};

/* Functions of libc that call other code, or wait, with a lock in their hands: their own, the loader's, or that which a
 * fork handler of the allocator has taken. What they call must not be interrupted. */
static const char *const holding[] = {
    "fork",      "_Fork",  "vfork",   "posix_spawn", "posix_spawnp", "exit",     "quick_exit", "dl_iterate_phdr",
    "dlopen",    "dlsym",  "dlmopen", "dlclose",     "dladdr",       "dlinfo",   "dlvsym",     "pthread_create",
    "setuid",    "setgid", "seteuid", "setegid",     "setreuid",     "setregid", "setresuid",  "setresgid",
    "setgroups",
};

struct look {
    struct pl_tracee *tracee;
    struct pl_loaded *loaded;
    const struct pl_loaded_module *libc, *allocator;
    uint64_t quiet_wait[sizeof quiet_waits / sizeof *quiet_waits];
    uint64_t allocates[sizeof allocating / sizeof *allocating];
    uint64_t holds[sizeof holding / sizeof *holding];
    struct pl_backtrace stack;
};

static bool is_among(uint64_t function, const uint64_t *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (list[i] && list[i] == function)
            return true;
    return false;
}

#define AMONG(function, list) is_among(function, list, sizeof(list) / sizeof *(list))

static bool is_wait(long call)
{
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
        if (waits[i] == call)
            return true;
    return false;
}

static bool is_loader(const struct look *look, const struct pl_loaded_module *module)
{
    return module->start == look->loaded->loader;
}

/* ---- one thread ---- */

static bool touches_loader(const struct look *look)
{
    for (size_t i = 0; i < look->stack.frames; i++)
        if (is_loader(look, look->stack.frame[i].module))
            return true;
    return false;
}

/* Anywhere on the stack: an allocator may call the program back, with its lock. The program itself may be the
 * allocator, with one that is linked into it. */
static bool touches_allocator(const struct look *look)
{
    bool apart = look->allocator != look->libc && look->allocator != look->loaded->module;
    for (size_t i = 0; i < look->stack.frames; i++)
        if (AMONG(look->stack.frame[i].function, look->allocates) ||
            (apart && look->stack.frame[i].module == look->allocator))
            return true;
    return false;
}

static bool may_hold_lock(const struct look *look)
{
    for (size_t i = 0; i < look->stack.frames; i++)
        if (AMONG(look->stack.frame[i].function, look->holds))
            return true;
    return false;
}

/* Which function of libc has code outside of libc called? */
static size_t outermost_of_libc(const struct look *look)
{
    size_t i = 0;
    while (i + 1 < look->stack.frames && look->stack.frame[i + 1].module == look->libc)
        i++;
    return i;
}

static bool waits_in_libc(const struct look *look, long call)
{
    size_t last = outermost_of_libc(look);
    const struct pl_backtrace_frame *caller = last + 1 < look->stack.frames ? &look->stack.frame[last + 1] : NULL;
    bool by_allocator = caller && look->allocator != look->libc && caller->module == look->allocator;
    bool unclear = call == SYS_futex || call == SYS_restart_syscall;
    bool quiet = !unclear || AMONG(look->stack.frame[last].function, look->quiet_wait);
    bool sleeps = unclear || call == SYS_nanosleep || call == SYS_clock_nanosleep;
    return is_wait(call) && quiet && !(by_allocator && sleeps);
}

/* In a restartable sequence, which would have to be restarted, a thread must not be disturbed. The address of the last
 * sequence stays when it has ended. */
static bool in_sequence(const struct pl_tracee *tracee, const struct pl_tracee_thread *thread)
{
#ifdef PTRACE_GET_RSEQ_CONFIGURATION
    struct __ptrace_rseq_configuration at;
    struct {
        uint32_t version, flags;
        uint64_t start, bytes, abort;
    } sequence;
    uint64_t current = 0;
    const uint64_t offset = 8; /* of rseq_cs */
    if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, thread->tid, sizeof at, &at) != sizeof at || !at.rseq_abi_pointer)
        return false;
    return pl_tracee_read(tracee, at.rseq_abi_pointer + offset, &current, sizeof current) && current &&
           (!pl_tracee_read(tracee, current, &sequence, sizeof sequence) ||
            pl_machine_pc(&thread->registers) - sequence.start < sequence.bytes);
#else
    (void) tracee, (void) thread;
    return true;
#endif
}

static enum pl_moment_obstacle judge(struct look *look, const struct pl_tracee_thread *thread)
{
    long call = pl_machine_call(&thread->registers);
    if (!look->stack.complete || !look->stack.frames)
        return PL_MOMENT_UNKNOWN;
    if (touches_loader(look))
        return PL_MOMENT_LOADER;
    if (touches_allocator(look) || may_hold_lock(look))
        return PL_MOMENT_INSIDE;
    const struct pl_loaded_module *module = look->stack.frame[0].module;
    bool safe = module == look->libc ? waits_in_libc(look, call)
                                     : module != look->allocator && !in_sequence(look->tracee, thread);
    safe = safe && pl_machine_can_restore(&thread->registers);
    return safe ? PL_MOMENT_NONE : PL_MOMENT_INSIDE;
}

/* ---- all threads ---- */

static void prepare(struct look *look, struct pl_tracee *tracee, struct pl_loaded *loaded)
{
    uint64_t address;
    *look = (struct look){.tracee = tracee, .loaded = loaded};
    for (size_t i = 0; i < loaded->count && !look->libc; i++)
        if (pl_loaded_is(&loaded->module[i], "libc.so") || pl_loaded_is(&loaded->module[i], "libc-2."))
            look->libc = &loaded->module[i];
    look->allocator = pl_loaded_first(loaded, tracee, "malloc", &address, NULL);
    for (size_t i = 0; look->libc && i < sizeof quiet_waits / sizeof *quiet_waits; i++)
        look->quiet_wait[i] = pl_loaded_find(tracee, look->libc, quiet_waits[i], NULL);
    for (size_t i = 0; look->libc && i < sizeof holding / sizeof *holding; i++)
        look->holds[i] = pl_loaded_find(tracee, look->libc, holding[i], NULL);
    for (size_t i = 0; i < sizeof allocating / sizeof *allocating; i++)
        pl_loaded_first(loaded, tracee, allocating[i], &look->allocates[i], NULL);
}

/* Every stack is looked at, even if the first one is safe: another thread may hold the loader's lock and wait. */
static struct pl_tracee_thread *search(struct look *look, enum pl_moment_obstacle *why)
{
    struct pl_tracee_thread *best = NULL;
    bool best_waits = false, loader_busy = false;
    *why = PL_MOMENT_UNKNOWN;
    for (size_t i = 0; i < look->tracee->count; i++) {
        struct pl_tracee_thread *thread = &look->tracee->thread[i];
        if (thread->gone)
            continue;
        pl_backtrace(look->tracee, look->loaded, &thread->registers, &look->stack);
        bool waiting = pl_machine_call(&thread->registers) >= 0;
        loader_busy |= touches_loader(look);
        enum pl_moment_obstacle obstacle = thread->group ? PL_MOMENT_INSIDE : judge(look, thread);
        if (obstacle == PL_MOMENT_NONE && (!best || (waiting && !best_waits))) {
            best = thread;
            best_waits = waiting;
        }
        if (!best && obstacle != PL_MOMENT_UNKNOWN)
            *why = obstacle;
    }
    if (loader_busy)
        *why = PL_MOMENT_LOADER;
    return loader_busy ? NULL : best;
}

struct pl_tracee_thread *pl_moment_find(struct pl_tracee *tracee, struct pl_loaded *loaded,
                                        enum pl_moment_obstacle *why)
{
    static struct look look;
    prepare(&look, tracee, loaded);
    if (!look.libc || !pl_loaded_consistent(loaded, tracee)) {
        *why = PL_MOMENT_LOADER;
        return NULL;
    }
    return search(&look, why);
}

struct pl_tracee_thread *pl_moment_any(struct pl_tracee *tracee, const struct pl_loaded *loaded)
{
    for (size_t i = 0; i < tracee->count; i++) {
        struct pl_tracee_thread *thread = &tracee->thread[i];
        if (!thread->gone && !thread->group && !in_sequence(tracee, thread) &&
            pl_machine_can_restore(&thread->registers) && !pl_visitor_is_out(tracee, loaded, thread))
            return thread;
    }
    return NULL;
}
