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

size_t pl_tracee_read_some(const struct pl_tracee *tracee, uint64_t at, void *to, size_t bytes)
{
    ssize_t got = pread(tracee->memory, to, bytes, (off_t) at);
    return got > 0 ? (size_t) got : 0;
}

bool pl_tracee_write(const struct pl_tracee *tracee, uint64_t at, const void *from, size_t bytes)
{
    return pwrite(tracee->memory, from, bytes, (off_t) at) == (ssize_t) bytes;
}

/* What lies behind a text may not be readable. */
void pl_tracee_text(const struct pl_tracee *tracee, uint64_t at, char *to, size_t bytes)
{
    size_t n = pl_tracee_read_some(tracee, at, to, bytes - 1);
    to[n] = 0;
}

/* ---- threads ---- */

static bool is_stop_signal(int signal)
{
    return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

struct pl_tracee_thread *pl_tracee_find(struct pl_tracee *tracee, pid_t tid)
{
    for (size_t i = 0; i < tracee->count; i++)
        if (tracee->thread[i].tid == tid)
            return &tracee->thread[i];
    return NULL;
}

/* What /proc/PID/task/TID/stat says: the state of a thread, and flags of the kernel. */
static char state_of(pid_t pid, pid_t tid, unsigned *flags)
{
    char path[64], text[512], state = 'X';
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", pid, tid);
    FILE *file = fopen(path, "re");
    size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
    text[n] = 0;
    if (file)
        fclose(file);
    const char *end = strrchr(text, ')');
    *flags = 0;
    if (end)
        sscanf(end + 1, " %c %*d %*d %*d %*d %*d %u", &state, flags);
    return state;
}

/* A thread that has ended but is still listed cannot be traced, and need not be. Nor can the kernel's own threads,
 * which io_uring and vhost show among the process's: they never execute its code. */
static bool runs_no_code(pid_t pid, pid_t tid)
{
    const unsigned worker = 0x10 | 0x4000, of_kernel = 0x200000; /* PF_IO_WORKER, PF_USER_WORKER, PF_KTHREAD */
    unsigned flags;
    return strchr("ZXx", state_of(pid, tid, &flags)) || flags & (worker | of_kernel);
}

static bool seize(struct pl_tracee *tracee, pid_t tid)
{
    bool seized = ptrace(PTRACE_SEIZE, tid, NULL, (void *) PTRACE_O_TRACESYSGOOD) == 0;
    int error = errno;
    if (!seized && (error == ESRCH || runs_no_code(tracee->pid, tid)))
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

static pid_t next_task(DIR *tasks)
{
    for (struct dirent *entry; (entry = readdir(tasks));)
        if (atoi(entry->d_name) > 0)
            return atoi(entry->d_name);
    return 0;
}

static DIR *open_tasks(const struct pl_tracee *tracee)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", tracee->pid);
    return opendir(path);
}

bool pl_tracee_is_stuck(struct pl_tracee *tracee)
{
    unsigned flags;
    DIR *tasks = open_tasks(tracee);
    bool stuck = false;
    for (pid_t tid; tasks && !stuck && (tid = next_task(tasks));)
        if ((stuck = state_of(tracee->pid, tid, &flags) == 'D'))
            tracee->culprit = tid;
    if (tasks)
        closedir(tasks);
    return stuck;
}

/* Seizes and interrupts threads that are not seized yet. */
static bool seize_new(struct pl_tracee *tracee, bool *found)
{
    bool good = true;
    DIR *tasks = open_tasks(tracee);
    *found = false;
    if (!tasks) {
        tracee->error = errno;
        return false;
    }
    for (pid_t tid; good && (tid = next_task(tasks));) {
        if (pl_tracee_find(tracee, tid))
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

bool pl_tracee_has_ended(const struct pl_tracee *tracee, pid_t tid)
{
    unsigned flags;
    return strchr("ZXx", state_of(tracee->pid, tid, &flags)) != NULL;
}

/* The leader of a process with other threads ends without a word. */
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
            else if (pl_tracee_now_ns() <= until_ns)
                nap();
            else if (!(thread->gone = pl_tracee_has_ended(tracee, thread->tid))) {
                tracee->error = ETIMEDOUT;
                tracee->culprit = thread->tid;
                return false;
            }
        }
    }
    return true;
}

/* A directory of threads from which one disappears may be read with a gap. So it is read until nothing new was in it
 * twice. */
static bool stop_all(struct pl_tracee *tracee, uint64_t until_ns)
{
    int quiet = 0;
    for (int round = 0; quiet < 2 && round < ROUNDS; round++) {
        bool found;
        if (!seize_new(tracee, &found) || !await_stops(tracee, until_ns))
            return false;
        quiet = found ? 0 : quiet + 1;
    }
    tracee->error = EAGAIN; /* it starts threads faster than we can stop them */
    return quiet == 2;
}

bool pl_tracee_stop(struct pl_tracee *tracee, uint64_t wait_ns)
{
    tracee->stopped_at_ns = pl_tracee_now_ns();
    tracee->error = 0;
    tracee->culprit = 0;
    for (size_t i = 0; i < tracee->count; i++)
        if (!tracee->thread[i].stopped) /* it could not be let go */
            ptrace(PTRACE_INTERRUPT, tracee->thread[i].tid, NULL, NULL);
    bool stopped = stop_all(tracee, tracee->stopped_at_ns + wait_ns);
    for (size_t i = 0; stopped && i < tracee->count; i++) {
        struct pl_tracee_thread *thread = &tracee->thread[i];
        if (!thread->gone && !pl_machine_read(thread->tid, &thread->registers))
            thread->gone = true;
    }
    return stopped;
}

/* A thread can only be let go while it is stopped. One that does not stop soon stays ours, and runs, until we stop it
 * or exit, when the kernel lets it go. */
static bool let_go(struct pl_tracee_thread *thread)
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
    return thread->stopped || thread->gone;
}

void pl_tracee_forget(struct pl_tracee *tracee, pid_t tid)
{
    struct pl_tracee_thread *thread = pl_tracee_find(tracee, tid);
    if (thread)
        *thread = tracee->thread[--tracee->count];
}

void pl_tracee_let_go(struct pl_tracee *tracee, pid_t tid)
{
    struct pl_tracee_thread *thread = pl_tracee_find(tracee, tid);
    if (thread && let_go(thread))
        pl_tracee_forget(tracee, tid);
}

void pl_tracee_release(struct pl_tracee *tracee, pid_t keep)
{
    size_t kept = 0;
    for (size_t i = 0; i < tracee->count; i++)
        if (tracee->thread[i].tid == keep || !let_go(&tracee->thread[i]))
            tracee->thread[kept++] = tracee->thread[i];
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

/* One look at a thread, then a nap. 0: it has not stopped. -1: it has ended, or we are too late (errno). */
static int look(pid_t tid, uint64_t until_ns, unsigned looks, int *status)
{
    pid_t got = waitpid(tid, status, __WALL | WNOHANG);
    if (got == tid && WIFSTOPPED(*status))
        return 1;
    errno = got == tid ? ESRCH : got < 0 ? errno : 0;
    if (errno && errno != EINTR)
        return -1;
    if (pl_tracee_now_ns() > until_ns) {
        errno = ETIMEDOUT;
        return -1;
    }
    looks > 20 ? nap() : (void) sched_yield();
    return 0;
}

/* LATE: it is on its way. */
static enum pl_tracee_wait pass_on(pid_t tid, int status, const uint64_t *signals)
{
    bool event = status >> 16 != 0;
    if (WSTOPSIG(status) == (SIGTRAP | 0x80))
        return PL_TRACEE_CALL;
    if (event && signals)
        ptrace(PTRACE_SETSIGMASK, tid, (void *) sizeof *signals, signals);
    if (event && is_stop_signal(WSTOPSIG(status))) {
        ptrace(PTRACE_LISTEN, tid, NULL, NULL); /* it stays stopped until SIGCONT */
        return PL_TRACEE_STOPPED;
    }
    ptrace(PTRACE_SYSCALL, tid, NULL, (void *) (long) (event ? 0 : WSTOPSIG(status)));
    return PL_TRACEE_LATE;
}

enum pl_tracee_wait pl_tracee_wait_call(pid_t tid, uint64_t until_ns, const uint64_t *signals)
{
    if (signals)
        ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
    for (unsigned looks = 0;; looks++) {
        int status = 0, seen = look(tid, until_ns, looks, &status);
        enum pl_tracee_wait how = seen > 0 ? pass_on(tid, status, signals) : PL_TRACEE_LATE;
        if (how != PL_TRACEE_LATE)
            return how;
        if (seen < 0)
            return errno == ETIMEDOUT ? PL_TRACEE_LATE : PL_TRACEE_GONE;
    }
}

bool pl_tracee_wait_stop(pid_t tid, uint64_t until_ns, int *signal)
{
    for (unsigned looks = 0;; looks++) {
        int status = 0, seen = look(tid, until_ns, looks, &status);
        *signal = seen > 0 && !(status >> 16) ? WSTOPSIG(status) : 0;
        if (seen)
            return seen > 0;
    }
}
