/* SPDX-License-Identifier: MIT */
/*
 * lifecycle.c - the calls by which a process forks, turns into another program, ends, or is renamed or confined.
 *
 * None of them changes what the call does. A vfork child runs in its parent's memory: the core knows by the pid, and
 * leaves everything alone.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "compiler.h"
#include "next.h"
#include "process.h"
#include "sys.h"

#define EXPORT __attribute__((visibility("default")))

/* The next definition of `name`, looked up once. */
#define NEXT(name)                                                                                                     \
    ({                                                                                                                 \
        static void *next_;                                                                                            \
        if (!load_relaxed(&next_))                                                                                     \
            store_relaxed(&next_, pl_next_find(#name));                                                                \
        (__typeof__(&name)) load_relaxed(&next_);                                                                      \
    })

/* ---- fork ---- */

EXPORT pid_t _Fork(void);
pid_t _Fork(void)
{
    pid_t (*next)(void) = NEXT(_Fork);
    pid_t pid = next ? next() : fork();
    if (pid == 0) /* no handlers run */
        pl_process_forked(pl_process, &pl_tls);
    return pid;
}

/* ---- exit ---- */

EXPORT void _exit(int status);
void _exit(int status)
{
    pl_process_end(pl_process, PL_END_QUICK, status);
    for (;;)
        pl_sys3(SYS_exit_group, status, 0, 0);
}

EXPORT void _Exit(int status);
void _Exit(int status)
{
    _exit(status);
}

/* ---- exec ---- */

/* `may` is false for what cannot succeed: shells try one directory of PATH after the other. The next definition is looked
 * up beforehand: from then on other threads wait for us, perhaps with the loader's lock in their hands. */
#define EXEC(may, name, ...)                                                                                           \
    do {                                                                                                               \
        __typeof__(&name) next_name_ = NEXT(name);                                                                     \
        bool copied_ = (may) && pl_process_exec(pl_process);                                                           \
        int result_ = next_name_(__VA_ARGS__);                                                                         \
        pl_process_exec_failed(pl_process, copied_);                                                                   \
        return result_;                                                                                                \
    } while (0)

static bool executable(const char *path)
{
    return pl_sys_access(path, X_OK) == 0;
}

EXPORT int execve(const char *path, char *const argv[], char *const envp[]);
int execve(const char *path, char *const argv[], char *const envp[])
{
    EXEC(executable(path), execve, path, argv, envp);
}

EXPORT int execv(const char *path, char *const argv[]);
int execv(const char *path, char *const argv[])
{
    EXEC(executable(path), execv, path, argv);
}

EXPORT int execvp(const char *file, char *const argv[]);
int execvp(const char *file, char *const argv[])
{
    EXEC(true, execvp, file, argv);
}

EXPORT int execvpe(const char *file, char *const argv[], char *const envp[]);
int execvpe(const char *file, char *const argv[], char *const envp[])
{
    EXEC(true, execvpe, file, argv, envp);
}

EXPORT int fexecve(int fd, char *const argv[], char *const envp[]);
int fexecve(int fd, char *const argv[], char *const envp[])
{
    EXEC(true, fexecve, fd, argv, envp);
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

EXPORT int execl(const char *path, const char *first, ...);
int execl(const char *path, const char *first, ...)
{
    va_list list;
    GATHER(argv, first, list);
    va_end(list);
    return execv(path, argv);
}

EXPORT int execlp(const char *file, const char *first, ...);
int execlp(const char *file, const char *first, ...)
{
    va_list list;
    GATHER(argv, first, list);
    va_end(list);
    return execvp(file, argv);
}

EXPORT int execle(const char *path, const char *first, ...);
int execle(const char *path, const char *first, ...)
{
    va_list list;
    GATHER(argv, first, list);
    char **envp = va_arg(list, char **);
    va_end(list);
    return execve(path, argv, envp);
}

/* ---- names ---- */

static void renamed(const char *name)
{
    struct pl_thread *thread = pl_tls.thread;
    if (pl_process->state == PL_PROCESS_ON && thread && thread->tls == &pl_tls)
        pl_thread_rename(pl_process, thread, name);
}

EXPORT int pthread_setname_np(pthread_t thread, const char *name);
int pthread_setname_np(pthread_t thread, const char *name)
{
    int error = NEXT(pthread_setname_np)(thread, name);
    if (!error && pthread_equal(thread, pthread_self()))
        renamed(name);
    return error;
}

/* ---- sandboxes ---- */

#ifndef SYS_seccomp
#define SYS_seccomp 317
#endif

EXPORT int prctl(int option, ...);
int prctl(int option, ...)
{
    va_list list;
    va_start(list, option);
    unsigned long a = va_arg(list, unsigned long), b = va_arg(list, unsigned long);
    unsigned long c = va_arg(list, unsigned long), d = va_arg(list, unsigned long);
    va_end(list);
    if (option == PR_SET_SECCOMP)
        pl_process_sandbox(pl_process);
    int result = NEXT(prctl)(option, a, b, c, d);
    if (option == PR_SET_NAME && result == 0)
        renamed((const char *) a);
    return result;
}

/* glibc has no wrapper for seccomp(2): those who want it come through here. */
EXPORT long syscall(long number, ...);
long syscall(long number, ...)
{
    va_list list;
    va_start(list, number);
    long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long);
    long d = va_arg(list, long), e = va_arg(list, long), f = va_arg(list, long);
    va_end(list);
    if (number == SYS_seccomp || (number == SYS_prctl && a == PR_SET_SECCOMP))
        pl_process_sandbox(pl_process);
    return NEXT(syscall)(number, a, b, c, d, e, f);
}
