/* SPDX-License-Identifier: MIT */
/*
 * launch.c - runs a program as if we were not there.
 *
 * The child stays in our process group, so both are one job of the terminal: its signals (^C, ^\, ^Z, a hang-up) reach
 * the child directly, and si_code tells us that they came from the kernel. A signal that a process sent to us with
 * kill() is meant for the program and is passed on. When the child stops, we stop too, because the shell would wait for
 * us otherwise; SIGCONT then comes to the whole group, or only to us and is passed on.
 *
 * All signals are blocked and received one at a time with sigwaitinfo(), so there are no handlers and no races.
 */
#include "cli/run/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/proc.h"

/* Faults of our own process: not for the program, and not for sigwaitinfo(). */
static const int own_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

struct inherited {
    sigset_t mask;
    struct sigaction on_child;
};

/* --- before and after the fork --- */

/* Sets SIGCHLD to its default: if the parent left it ignored, the kernel would discard the exit status. */
static void take_signals(struct inherited *inherited)
{
    sigset_t all;
    struct sigaction plain = {.sa_handler = SIG_DFL};
    sigfillset(&all);
    for (size_t i = 0; i < sizeof own_signals / sizeof *own_signals; i++)
        sigdelset(&all, own_signals[i]);
    sigprocmask(SIG_SETMASK, &all, &inherited->mask);
    sigaction(SIGCHLD, &plain, &inherited->on_child);
}

/* Pending signals were meant for the program (^C reaches us too), and must not end us before we are done. */
static void drop_pending(void)
{
    sigset_t all;
    sigfillset(&all);
    while (sigtimedwait(&all, NULL, &(struct timespec){0}) > 0)
        ;
}

static void give_back_signals(const struct inherited *inherited)
{
    sigaction(SIGCHLD, &inherited->on_child, NULL);
    sigprocmask(SIG_SETMASK, &inherited->mask, NULL);
}

/* Why the program does not run; sent by the child to its parent. */
struct failure {
    int unprepared;
    int error;
};

__attribute__((noreturn)) static void give_up(int report, int unprepared)
{
    struct failure failure = {unprepared, errno};
    ssize_t ignored = write(report, &failure, sizeof failure);
    (void) ignored;
    _exit(127);
}

struct command {
    const char *file;
    char **argv, **environment;
};

/* After vfork() this runs in the parent's memory: it must change nothing there. There are no handlers for the signals
 * that it lets through. */
__attribute__((noreturn)) static void become(const struct command *command, const struct pl_launch_hooks *hooks,
                                             const struct inherited *inherited, int report)
{
    int unprepared = hooks->prepare ? hooks->prepare(hooks->context) : 0;
    if (unprepared)
        give_up(report, unprepared);
    give_back_signals(inherited);
    execvpe(command->file, command->argv, command->environment);
    give_up(report, 0);
}

/* Returns when exec has succeeded or failed: a successful exec closes the pipe. */
static struct failure await_program(int report)
{
    struct failure failure;
    return read(report, &failure, sizeof failure) == (ssize_t) sizeof failure ? failure : (struct failure){0};
}

/* --- while it runs --- */

static pid_t parent_of(pid_t pid)
{
    char path[64], line[512], *end;
    pid_t parent = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *stat = fopen(path, "re");
    /* The command, in parentheses, may itself contain parentheses and blanks: the last `)` ends it. */
    if (stat && fgets(line, sizeof line, stat) && (end = strrchr(line, ')')))
        sscanf(end + 1, " %*c %d", &parent);
    if (stat)
        fclose(stat);
    return parent;
}

/* A descendant that signals its whole process group has reached the program already: do not pass the signal on. */
static bool is_descendant(pid_t pid)
{
    for (int depth = 0; pid > 1 && depth < 1000; depth++, pid = parent_of(pid))
        if (pid == getpid())
            return true;
    return false;
}

static void pass_on(pid_t child, const siginfo_t *info)
{
    bool from_somebody = info->si_code <= 0; /* SI_USER, SI_QUEUE, SI_TKILL; codes of the kernel are positive */
    if (!from_somebody || is_descendant(info->si_pid))
        return;
    if (info->si_code == SI_QUEUE)
        sigqueue(child, info->si_signo, info->si_value);
    else
        kill(child, info->si_signo);
}

static bool on_terminal(void)
{
    int fd = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* Stops our process with the signal that stopped the child, so that the shell shows the reason. */
static void stop_likewise(int number)
{
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, number);
    raise(number);
    if (number != SIGSTOP) { /* SIGTSTP, SIGTTIN and SIGTTOU are blocked: deliver it now */
        sigprocmask(SIG_UNBLOCK, &one, NULL);
        sigprocmask(SIG_BLOCK, &one, NULL);
    }
}

/* True when the child has ended. */
static bool child_changed(pid_t child, int *status, struct rusage *usage)
{
    if (wait4(child, status, WUNTRACED | WNOHANG, usage) != child)
        return false;
    if (!WIFSTOPPED(*status))
        return true;
    if (on_terminal())
        stop_likewise(WSTOPSIG(*status));
    return false;
}

static int wait_for(pid_t child, struct rusage *usage)
{
    sigset_t all;
    siginfo_t info;
    int status;
    sigfillset(&all);
    while (!child_changed(child, &status, usage))
        if (sigwaitinfo(&all, &info) > 0 && info.si_signo != SIGCHLD)
            pass_on(child, &info);
    return status;
}

int pl_launch(const char *file, char **argv, char **environment, const struct pl_launch_hooks *hooks,
              struct pl_launch *out)
{
    int report[2];
    struct inherited inherited;
    const struct command command = {file, argv, environment};
    if (pipe2(report, O_CLOEXEC))
        return -errno;
    take_signals(&inherited);
    pid_t child = hooks->prepare ? fork() : vfork();
    if (child == 0)
        become(&command, hooks, &inherited, report[1]);
    int error = child < 0 ? errno : 0;
    close(report[1]);
    struct failure failure = child > 0 ? await_program(report[0]) : (struct failure){0};
    out->unprepared = failure.unprepared;
    out->exec_error = failure.error;
    close(report[0]);
    if (child > 0 && !out->exec_error)
        hooks->started(hooks->context, child);
    struct rusage usage = {0};
    if (child > 0)
        out->wait_status = wait_for(child, &usage);
    out->rss_bytes = (uint64_t) usage.ru_maxrss << 10;
    out->end_ns = pl_proc_now_ns();
    out->pid = child;
    drop_pending();
    give_back_signals(&inherited);
    return -error;
}

int pl_launch_status(int wait_status)
{
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}
