/* SPDX-License-Identifier: MIT */
/* tracee.c - see tracee.h. */
#include "attach/tracee.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 64 /* of looking for threads that were started meanwhile */
#define NAP_NS 20000

uint64_t pl_tracee_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec;
}

static void nap(void)
{
    nanosleep(&(struct timespec){0, NAP_NS}, NULL);
}

bool pl_tracee_open(struct pl_tracee *tracee, pid_t pid)
{
    char path[64];
    *tracee = (struct pl_tracee){.pid = pid};
    snprintf(path, sizeof path, "/proc/%d/mem", pid);
    tracee->memory = open(path, O_RDWR | O_CLOEXEC);
    tracee->error = errno;
    return tracee->memory >= 0;
}

void pl_tracee_close(struct pl_tracee *tracee)
{
    if (tracee->memory >= 0)
        close(tracee->memory);
    free(tracee->thread);
    *tracee = (struct pl_tracee){.memory = -1};
}

/* ---- memory ---- */

bool pl_tracee_read(const struct pl_tracee *tracee, uint64_t at, void *to, size_t bytes)
{
    return pread(tracee->memory, to, bytes, (off_t) at) == (ssize_t) bytes;
}

bool pl_tracee_write(const struct pl_tracee *tracee, uint64_t at, const void *from, size_t bytes)
{
    return pwrite(tracee->memory, from, bytes, (off_t) at) == (ssize_t) bytes;
}

void pl_tracee_text(const struct pl_tracee *tracee, uint64_t at, char *to, size_t bytes)
{
    size_t n = 0;
    for (; n + 1 < bytes && pl_tracee_read(tracee, at + n, to + n, 1) && to[n]; n++)
        ;
    to[n] = 0;
}

/* ---- threads ---- */

static bool is_stop_signal(int signal)
{
    return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

static struct pl_tracee_thread *find(struct pl_tracee *tracee, pid_t tid)
{
    for (size_t i = 0; i < tracee->count; i++)
        if (tracee->thread[i].tid == tid)
            return &tracee->thread[i];
    return NULL;
}

/* A thread that has ended but is still listed cannot be traced, and need not be. */
static bool has_ended(pid_t pid, pid_t tid)
{
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", pid, tid);
    FILE *file = fopen(path, "re");
    if (!file)
        return true;
    size_t n = fread(text, 1, sizeof text - 1, file);
    text[n] = 0;
    fclose(file);
    const char *end = strrchr(text, ')');
    return !end || strchr("ZXx", end[2]);
}

static bool seize(struct pl_tracee *tracee, pid_t tid)
{
    bool seized = ptrace(PTRACE_SEIZE, tid, NULL, (void *) PTRACE_O_TRACESYSGOOD) == 0;
    int error = errno;
    if (!seized && (error == ESRCH || has_ended(tracee->pid, tid)))
        return true;
    if (!seized) {
        tracee->error = error;
        tracee->culprit = tid;
        return false;
    }
    struct pl_tracee_thread *more = realloc(tracee->thread, (tracee->count + 1) * sizeof *more);
    if (!more) {
        tracee->error = ENOMEM;
        ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
        return false;
    }
    tracee->thread = more;
    tracee->thread[tracee->count++] = (struct pl_tracee_thread){.tid = tid};
    ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
    return true;
}

/* Seizes and interrupts threads that are not seized yet. */
static bool seize_new(struct pl_tracee *tracee, bool *found)
{
    char path[64];
    bool good = true;
    snprintf(path, sizeof path, "/proc/%d/task", tracee->pid);
    DIR *tasks = opendir(path);
    *found = false;
    if (!tasks) {
        tracee->error = errno;
        return false;
    }
    for (struct dirent *entry; good && (entry = readdir(tasks));) {
        pid_t tid = atoi(entry->d_name);
        if (tid <= 0 || find(tracee, tid))
            continue;
        size_t before = tracee->count;
        good = seize(tracee, tid);
        *found |= tracee->count > before;
    }
    closedir(tasks);
    return good;
}

/* What a status of waitpid() says about a thread that we have interrupted. A signal is passed on, and the thread stops
 * again for us. */
static void take_status(struct pl_tracee_thread *thread, int status)
{
    if (!WIFSTOPPED(status)) {
        thread->gone = true;
    } else if (status >> 16 == PTRACE_EVENT_STOP) {
        thread->stopped = true;
        thread->group = is_stop_signal(WSTOPSIG(status));
    } else if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
        thread->stopped = true;
    } else {
        ptrace(PTRACE_CONT, thread->tid, NULL, (void *) (long) WSTOPSIG(status));
    }
}

static bool await_stops(struct pl_tracee *tracee, uint64_t until_ns)
{
    for (size_t i = 0; i < tracee->count; i++) {
        struct pl_tracee_thread *thread = &tracee->thread[i];
        while (!thread->stopped && !thread->gone) {
            int status;
            pid_t got = waitpid(thread->tid, &status, __WALL | WNOHANG);
            if (got == thread->tid)
                take_status(thread, status);
            else if (got < 0 && errno != EINTR)
                thread->gone = true;
            else if (pl_tracee_now_ns() > until_ns) {
                tracee->error = ETIMEDOUT;
                tracee->culprit = thread->tid;
                return false;
            } else
                nap();
        }
    }
    return true;
}

static bool stop_all(struct pl_tracee *tracee, uint64_t until_ns)
{
    bool found = true;
    for (int round = 0; found && round < ROUNDS; round++)
        if (!seize_new(tracee, &found) || !await_stops(tracee, until_ns))
            return false;
    tracee->error = EAGAIN; /* it starts threads faster than we can stop them */
    return !found;
}

bool pl_tracee_stop(struct pl_tracee *tracee, uint64_t wait_ns)
{
    tracee->stopped_at_ns = pl_tracee_now_ns();
    tracee->error = 0;
    tracee->culprit = 0;
    bool stopped = stop_all(tracee, tracee->stopped_at_ns + wait_ns);
    for (size_t i = 0; stopped && i < tracee->count; i++) {
        struct pl_tracee_thread *thread = &tracee->thread[i];
        if (!thread->gone && !pl_machine_read(thread->tid, &thread->registers))
            thread->gone = true;
    }
    if (!stopped)
        pl_tracee_release(tracee, 0);
    return stopped;
}

/* A thread can only be let go while it is stopped. One that does not stop is waited for no longer: it stays ours until
 * we exit, when the kernel lets it go. */
static void let_go(struct pl_tracee_thread *thread)
{
    int status;
    uint64_t until_ns = pl_tracee_now_ns() + 20000000u;
    while (!thread->stopped && !thread->gone && pl_tracee_now_ns() < until_ns) {
        pid_t got = waitpid(thread->tid, &status, __WALL | WNOHANG);
        if (got == thread->tid)
            take_status(thread, status);
        else if (got < 0)
            thread->gone = true;
        else
            nap();
    }
    if (thread->stopped)
        ptrace(PTRACE_DETACH, thread->tid, NULL, NULL);
}

void pl_tracee_release(struct pl_tracee *tracee, pid_t keep)
{
    size_t kept = 0;
    for (size_t i = 0; i < tracee->count; i++)
        if (tracee->thread[i].tid == keep)
            tracee->thread[kept++] = tracee->thread[i];
        else
            let_go(&tracee->thread[i]);
    tracee->count = kept;
    if (tracee->stopped_at_ns)
        tracee->still_ns += pl_tracee_now_ns() - tracee->stopped_at_ns;
    tracee->stopped_at_ns = 0;
}

/* ---- one thread ---- */

bool pl_tracee_step(pid_t tid)
{
    return ptrace(PTRACE_SYSCALL, tid, NULL, NULL) == 0;
}

/* True: it is before or after a system call. */
static bool pass_on(pid_t tid, int status)
{
    if (WSTOPSIG(status) == (SIGTRAP | 0x80))
        return true;
    if (status >> 16 == PTRACE_EVENT_STOP && is_stop_signal(WSTOPSIG(status)))
        ptrace(PTRACE_LISTEN, tid, NULL, NULL); /* it stays stopped until SIGCONT */
    else
        ptrace(PTRACE_SYSCALL, tid, NULL, (void *) (long) (status >> 16 ? 0 : WSTOPSIG(status)));
    return false;
}

enum pl_tracee_wait pl_tracee_wait_call(struct pl_tracee *tracee, pid_t tid, uint64_t wait_ns)
{
    uint64_t until_ns = pl_tracee_now_ns() + wait_ns;
    (void) tracee;
    for (unsigned spins = 0;; spins++) {
        int status;
        pid_t got = waitpid(tid, &status, __WALL | WNOHANG);
        if (got == tid && !WIFSTOPPED(status))
            return PL_TRACEE_GONE;
        if (got == tid && pass_on(tid, status))
            return PL_TRACEE_CALL;
        if (got < 0 && errno != EINTR)
            return PL_TRACEE_GONE;
        if (got == 0 && pl_tracee_now_ns() > until_ns)
            return PL_TRACEE_LATE;
        if (got == 0 && spins > 20)
            nap();
        else if (got == 0)
            sched_yield();
    }
}
