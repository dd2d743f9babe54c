/* SPDX-License-Identifier: MIT */
/* remote.c - see remote.h. */
#include "attach/remote.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "attach/backtrace.h"
#include "attach/moment.h"

#define STOP_LEAST_NS 50000000ull /* in which all threads must have stopped; then twice that, and so on */
#define STOP_MOST_NS 1000000000ull
#define CALL_NS 60000000000ull
#define PAUSE_LEAST_NS 200000ull
#define PAUSE_MOST_NS 20000000ull

static bool fail(struct pl_remote *remote, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(remote->problem, sizeof remote->problem, format, list);
    va_end(list);
    return false;
}

void pl_remote_pause(uint64_t *pause_ns)
{
    uint64_t ns = *pause_ns > PAUSE_LEAST_NS ? *pause_ns : PAUSE_LEAST_NS;
    *pause_ns = 2 * ns < PAUSE_MOST_NS ? 2 * ns : PAUSE_MOST_NS;
    ns += (uint64_t) rand() % ns; /* not in step with the program */
    nanosleep(&(struct timespec){(time_t) (ns / 1000000000u), (long) (ns % 1000000000u)}, NULL);
}

void pl_remote_hold_interrupts(sigset_t *before)
{
    sigset_t interrupts;
    sigemptyset(&interrupts);
    sigaddset(&interrupts, SIGINT);
    sigaddset(&interrupts, SIGTERM);
    sigaddset(&interrupts, SIGHUP);
    sigprocmask(SIG_BLOCK, &interrupts, before);
}

bool pl_remote_open(struct pl_remote *remote, pid_t pid)
{
    *remote = (struct pl_remote){.problem = ""};
    return pl_tracee_open(&remote->tracee, pid) ||
           fail(remote, "its memory cannot be opened: %s", strerror(remote->tracee.error));
}

void pl_remote_close(struct pl_remote *remote)
{
    pl_remote_go(remote);
    pl_visitor_dismiss(&remote->visitor, &(const char *){NULL});
    pl_tracee_release(&remote->tracee, 0);
    pl_backtrace_free(&remote->loaded);
    pl_loaded_free(&remote->loaded);
    pl_tracee_close(&remote->tracee);
}

bool pl_remote_read_loaded(struct pl_remote *remote)
{
    pl_backtrace_free(&remote->loaded);
    pl_loaded_free(&remote->loaded);
    return pl_loaded_read(&remote->loaded, &remote->tracee) ||
           fail(remote, "its loader has not finished yet; try again");
}

/* ---- all threads ---- */

static bool explain(struct pl_remote *remote)
{
    const struct pl_tracee *tracee = &remote->tracee;
    if (tracee->error == ETIMEDOUT)
        return fail(remote, "thread %d of it does not stop: it waits in the kernel, for a disk or for a vfork child",
                    tracee->culprit);
    if (tracee->error == EPERM || tracee->error == EACCES)
        return fail(remote, "the kernel does not let us trace it (%s)", strerror(tracee->error));
    if (tracee->error == ESRCH || tracee->error == ENOENT)
        return fail(remote, "it has ended");
    return fail(remote, "its threads cannot be stopped: %s", strerror(tracee->error));
}

/* While one thread waits in the kernel, the others would stand still as long as we wait for it. So that is looked at
 * first; but some processes always have such a thread. If they are only slow to stop, the next try takes longer. */
bool pl_remote_stop(struct pl_remote *remote, uint64_t wait_ns)
{
    uint64_t until_ns = pl_tracee_now_ns() + wait_ns, pause_ns = 0;
    for (uint64_t limit_ns = remote->stop_ns ? remote->stop_ns : STOP_LEAST_NS;;) {
        bool stuck = pl_tracee_is_stuck(&remote->tracee);
        if (!stuck || pause_ns >= PAUSE_MOST_NS) {
            if (pl_tracee_stop(&remote->tracee, limit_ns)) {
                remote->threads = (uint32_t) remote->tracee.count;
                remote->stop_ns = limit_ns;
                return true;
            }
            pl_remote_go(remote);
            if (pl_tracee_now_ns() >= until_ns || remote->tracee.error != ETIMEDOUT)
                return explain(remote);
            limit_ns = stuck || limit_ns >= STOP_MOST_NS ? limit_ns : limit_ns * 2;
        }
        pl_remote_pause(&pause_ns);
    }
}

void pl_remote_go(struct pl_remote *remote)
{
    pl_tracee_release(&remote->tracee, remote->visitor.tid);
}

/* ---- one thread ---- */

static const char *const obstacles[] = {
    [PL_MOMENT_NONE] = "its threads are at work for another command, or stopped",
    [PL_MOMENT_LOADER] = "it was loading or unloading a library all the time",
    [PL_MOMENT_INSIDE] = "all of its threads were inside libc or the allocator whenever we looked",
    [PL_MOMENT_UNKNOWN] = "no stack of its threads could be followed to its end",
};

static bool send(struct pl_remote *remote, const struct pl_tracee_thread *thread)
{
    const char *why;
    return pl_visitor_send(&remote->visitor, &remote->tracee, &remote->loaded, thread, &why) || fail(remote, "%s", why);
}

bool pl_remote_borrow(struct pl_remote *remote, enum pl_remote_need need, uint64_t wait_ns)
{
    uint64_t until_ns = pl_tracee_now_ns() + wait_ns, pause_ns = 0;
    enum pl_moment_obstacle why = PL_MOMENT_NONE;
    while (!remote->looks || pl_tracee_now_ns() < until_ns) {
        remote->looks++;
        if (!pl_remote_stop(remote, wait_ns))
            return false;
        bool read = pl_remote_read_loaded(remote);
        struct pl_tracee_thread *thread = !read ? NULL
                                          : need == PL_NEED_LOCKS
                                              ? pl_moment_find(&remote->tracee, &remote->loaded, &why)
                                              : pl_moment_any(&remote->tracee, &remote->loaded);
        if (thread)
            return send(remote, thread);
        pl_remote_go(remote);
        if (!read)
            return false;
        pl_remote_pause(&pause_ns);
    }
    return fail(remote, "there was no safe moment in %.0f s: %s; try again, or give it more time with --wait",
                (double) wait_ns / 1e9, obstacles[why]);
}

bool pl_remote_give_back(struct pl_remote *remote)
{
    const char *why;
    return pl_visitor_dismiss(&remote->visitor, &why) || fail(remote, "%s", why);
}

static bool call(struct pl_remote *remote, uint64_t function, const uint64_t argument[PL_VISITOR_ARGUMENTS],
                 uint64_t *result)
{
    pid_t tid = remote->visitor.tid;
    return pl_visitor_call(&remote->visitor, function, argument, CALL_NS, result) ||
           fail(remote, "its thread %d did not return from the call that we made; it goes on", tid);
}

bool pl_remote_call(struct pl_remote *remote, uint64_t function, const uint64_t argument[6], uint64_t *result)
{
    uint64_t all[PL_VISITOR_ARGUMENTS] = {0};
    memcpy(all, argument, 6 * sizeof *all);
    return call(remote, function, all, result);
}

bool pl_remote_system_call(struct pl_remote *remote, long number, const uint64_t argument[6], uint64_t *result)
{
    uint64_t all[PL_VISITOR_ARGUMENTS] = {(uint64_t) number};
    memcpy(all + 1, argument, 6 * sizeof *all);
    return call(remote, pl_machine_system_call(remote->visitor.visit), all, result);
}

/* ---- a copy ---- */

bool pl_remote_keep(struct pl_remote *remote, const struct pl_machine_range *range, size_t count)
{
    struct pl_visitor *visitor = &remote->visitor;
    const struct pl_machine_range end = {0, 0};
    const size_t bytes = count * sizeof *range;
    uint64_t text = pl_visitor_text(visitor), result;
    if (count > PL_MACHINE_RANGES || !pl_tracee_write(&remote->tracee, text, range, bytes) ||
        !pl_tracee_write(&remote->tracee, text + bytes, &end, sizeof end) ||
        !pl_visitor_if_abandoned(visitor, pl_machine_wiper(visitor->visit)))
        return fail(remote, "it has too much memory that is wiped when it forks");
    for (size_t i = 0; i < count; i++) {
        const uint64_t argument[6] = {range[i].address, range[i].bytes, MADV_KEEPONFORK};
        if (!pl_remote_system_call(remote, SYS_madvise, argument, &result) || result)
            return pl_remote_keep_no_more(remote), false;
    }
    return true;
}

bool pl_remote_keep_no_more(struct pl_remote *remote)
{
    uint64_t result;
    const uint64_t none[6] = {0};
    return pl_remote_call(remote, pl_machine_wiper(remote->visitor.visit), none, &result) &&
           pl_visitor_if_abandoned(&remote->visitor, 0);
}

/* A child without a signal for its end: only wait4() with __WALL sees it. CLONE_PTRACE makes it ours, and it stops
 * before it executes anything. It shares the table of open files, so that what the process closes meanwhile is closed.
 */
pid_t pl_remote_copy(struct pl_remote *remote)
{
    const uint64_t flags[PL_VISITOR_ARGUMENTS] = {CLONE_PTRACE | CLONE_FILES | CLONE_FS};
    uint64_t result;
    int status;
    if (!call(remote, pl_machine_copier(remote->visitor.visit), flags, &result))
        return -1;
    pid_t copy = (pid_t) result;
    if ((int64_t) result <= 0)
        return fail(remote, "it cannot be copied: %s", strerror((int) -(int64_t) result)), -1;
    if (waitpid(copy, &status, __WALL) != copy || !WIFSTOPPED(status) ||
        ptrace(PTRACE_SETOPTIONS, copy, NULL, (void *) PTRACE_O_EXITKILL))
        return fail(remote, "its copy cannot be traced: %s", strerror(errno)), -1;
    return copy;
}

void pl_remote_end_copy(pid_t copy)
{
    int status;
    kill(copy, SIGKILL);
    while (waitpid(copy, &status, __WALL) == copy && WIFSTOPPED(status))
        ;
}

bool pl_remote_forget_copy(struct pl_remote *remote, pid_t copy)
{
    const uint64_t argument[6] = {(uint64_t) copy, 0, __WALL, 0};
    uint64_t result;
    return remote->visitor.tid && pl_remote_system_call(remote, SYS_wait4, argument, &result);
}
