/* SPDX-License-Identifier: MIT */
/*
 * lifecycle.c - the calls by which a process forks, turns into another program, ends, or is renamed or confined.
 *
 * None of them changes what the call does. A vfork child runs in its parent's memory: the core knows by the pid, and
 * leaves everything alone.
 */
#include "lifecycle.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "compiler.h"
#include "next.h"
#include "process.h"
#include "sandbox.h"
#include "sys.h"

EXPORT pid_t _Fork(void);
EXPORT void _exit(int status);
EXPORT void _Exit(int status);
EXPORT void quick_exit(int status);
EXPORT void exit(int status);
EXPORT int execve(const char *path, char *const argv[], char *const envp[]);
EXPORT int execv(const char *path, char *const argv[]);
EXPORT int execvp(const char *file, char *const argv[]);
EXPORT int execvpe(const char *file, char *const argv[], char *const envp[]);
EXPORT int execveat(int directory, const char *path, char *const argv[], char *const envp[], int flags);
EXPORT int fexecve(int fd, char *const argv[], char *const envp[]);
EXPORT int execl(const char *path, const char *first, ...);
EXPORT int execlp(const char *file, const char *first, ...);
EXPORT int execle(const char *path, const char *first, ...);
EXPORT int pthread_setname_np(pthread_t thread, const char *name);
EXPORT int prctl(int option, ...);
EXPORT long syscall(long number, ...);

/*
 * What lies behind. It is looked up by our constructor, because later somebody may be waiting for the caller with the
 * loader's lock in hand: a constructor that starts a thread and waits for it, while its dlopen() goes on.
 */
#define BEHIND(X)                                                                                                      \
    X(_Fork)                                                                                                           \
    X(quick_exit)                                                                                                      \
    X(exit)                                                                                                            \
    X(execve)                                                                                                          \
    X(execv)                                                                                                           \
    X(execvp)                                                                                                          \
    X(execvpe)                                                                                                         \
    X(execveat)                                                                                                        \
    X(fexecve)                                                                                                         \
    X(pthread_setname_np)                                                                                              \
    X(prctl)                                                                                                           \
    X(syscall)

static struct {
#define FIELD(name) __typeof__(&name) name;
    BEHIND(FIELD)
#undef FIELD
} next;

/* The next definition of `name`. Whoever comes before our constructor has it looked up at once. */
#define NEXT(name)                                                                                                     \
    ({                                                                                                                 \
        if (unlikely(!next.name))                                                                                      \
            next.name = (__typeof__(&name)) pl_next_find(#name);                                                       \
        next.name;                                                                                                     \
    })

/* ---- fork ---- */

pid_t _Fork(void)
{
    pid_t pid = NEXT(_Fork) ? next._Fork() : fork();
    if (pid == 0) /* no handlers run */
        pl_process_forked(pl_process, &pl_tls);
    return pid;
}

/* ---- exit ---- */

void _exit(int status)
{
    pl_process_end(pl_process, PL_END_QUICK, status);
    for (;;)
        pl_sys3(SYS_exit_group, status, 0, 0);
}

void _Exit(int status)
{
    _exit(status);
}

void exit(int status)
{
    pl_process_exiting(pl_process);
    NEXT(exit)(status);
    __builtin_unreachable();
}

static int quick_status;

/* Registered before any of the program's, so called after them. */
static void end_quickly(void)
{
    pl_process_end(pl_process, PL_END_QUICK, quick_status);
}

void quick_exit(int status)
{
    quick_status = status;
    NEXT(quick_exit)(status);
    __builtin_unreachable();
}

void pl_lifecycle_start(void)
{
#define LOOK_UP(name) (void) NEXT(name);
    BEHIND(LOOK_UP)
#undef LOOK_UP
    at_quick_exit(end_quickly);
}

/* ---- exec ---- */

/* The next definition is looked up beforehand: from then on other threads wait for us, perhaps with the loader's lock
 * in their hands. */
#define EXEC(path, name, ...)                                                                                          \
    do {                                                                                                               \
        __typeof__(&name) next_name_ = NEXT(name);                                                                     \
        bool copied_ = pl_process_exec(pl_process, path);                                                              \
        int result_ = next_name_(__VA_ARGS__);                                                                         \
        pl_process_exec_failed(pl_process, copied_);                                                                   \
        return result_;                                                                                                \
    } while (0)

int execve(const char *path, char *const argv[], char *const envp[])
{
    EXEC(path, execve, path, argv, envp);
}

int execv(const char *path, char *const argv[])
{
    EXEC(path, execv, path, argv);
}

int execvp(const char *file, char *const argv[])
{
    EXEC(NULL, execvp, file, argv);
}

int execvpe(const char *file, char *const argv[], char *const envp[])
{
    EXEC(NULL, execvpe, file, argv, envp);
}

int fexecve(int fd, char *const argv[], char *const envp[])
{
    EXEC(NULL, fexecve, fd, argv, envp);
}

int execveat(int directory, const char *path, char *const argv[], char *const envp[], int flags)
{
    EXEC(NULL, execveat, directory, path, argv, envp, flags);
}

/* The others in libc do not come through here: they collect their arguments and go on where we cannot see them. */
#define GATHER(argv, first, list)                                                                                      \
    size_t count_ = 1;                                                                                                 \
    va_start(list, first);                                                                                             \
    while (va_arg(list, char *))                                                                                       \
        count_++;                                                                                                      \
    va_end(list);                                                                                                      \
    char **argv = __builtin_alloca((count_ + 1) * sizeof *argv);                                                       \
    va_start(list, first);                                                                                             \
    argv[0] = (char *) (uintptr_t) first;                                                                              \
    for (size_t i_ = 1; argv[i_ - 1]; i_++)                                                                            \
    argv[i_] = va_arg(list, char *)

int execl(const char *path, const char *first, ...)
{
    va_list list;
    GATHER(argv, first, list);
    va_end(list);
    return execv(path, argv);
}

int execlp(const char *file, const char *first, ...)
{
    va_list list;
    GATHER(argv, first, list);
    va_end(list);
    return execvp(file, argv);
}

int execle(const char *path, const char *first, ...)
{
    va_list list;
    GATHER(argv, first, list);
    char **envp = va_arg(list, char **);
    va_end(list);
    return execve(path, argv, envp);
}

/* ---- names ---- */

/* A pthread_t is the address of what a thread has of its own, and ours lies at the same distance from all of them. */
static void renamed(pthread_t who, const char *name)
{
    pl_thread_renamed(pl_process, (uintptr_t) who - (uintptr_t) pthread_self(), name);
}

int pthread_setname_np(pthread_t thread, const char *name)
{
    int error = NEXT(pthread_setname_np)(thread, name);
    if (!error)
        renamed(thread, name);
    return error;
}

/* ---- sandboxes ---- */

int prctl(int option, ...)
{
    va_list list;
    va_start(list, option);
    unsigned long a = va_arg(list, unsigned long), b = va_arg(list, unsigned long);
    unsigned long c = va_arg(list, unsigned long), d = va_arg(list, unsigned long);
    va_end(list);
    struct pl_confining confining = pl_sandbox_before(SYS_prctl, option, (long) a);
    int result = NEXT(prctl)(option, a, b, c, d);
    pl_sandbox_after(confining, result < 0);
    if (option == PR_SET_NAME && result == 0)
        renamed(pthread_self(), (const char *) a);
    return result;
}

static bool forks(long number)
{
    return number == SYS_fork || number == SYS_clone || number == SYS_clone3;
}

/* glibc has no wrapper for seccomp(2): those who want it come through here. So do those who fork behind its back. A
 * child that has got a copy of our memory finds it wiped; one that shares it does not. */
long syscall(long number, ...)
{
    va_list list;
    va_start(list, number);
    long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long);
    long d = va_arg(list, long), e = va_arg(list, long), f = va_arg(list, long);
    va_end(list);
    struct pl_confining confining = pl_sandbox_before(number, a, b);
    long result = NEXT(syscall)(number, a, b, c, d, e, f);
    pl_sandbox_after(confining, result < 0);
    if (result == 0 && forks(number) && pl_process->state == PL_PROCESS_NEW)
        pl_process_forked(pl_process, &pl_tls);
    return result;
}
