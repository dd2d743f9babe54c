/* SPDX-License-Identifier: MIT */
/*
 * lifecycle.c - hooks the calls by which a program starts main, forks, execs, exits, jumps out of frames, renames a
 * thread or enters a sandbox.
 *
 * No hook changes what the call does. A vfork child runs in its parent's memory: the core recognises it by the pid and
 * changes nothing.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/arch.h"
#include "core/cold.h"
#include "core/compiler.h"
#include "core/process.h"
#include "core/sandbox.h"
#include "core/sys.h"
#include "core/text.h"
#include "format/desk.h"
#include "preload/hooks.h"
#include "preload/libc.h"
#include "preload/next.h"

#define NORETURN __attribute__((noreturn))

typedef int main_function(int argc, char **argv, char **environment);

EXPORT int __libc_start_main(main_function *main, int argc, char **argv, void (*init)(void), void (*fini)(void),
                             void (*rtld_fini)(void), void *stack_end);
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
/* void * instead of setjmp.h's own types: pl_arch_jump_target() reads one word of the buffer. */
EXPORT NORETURN void longjmp(void *to, int value);
EXPORT NORETURN void _longjmp(void *to, int value);
EXPORT NORETURN void siglongjmp(void *to, int value);
EXPORT NORETURN void __longjmp_chk(void *to, int value);
EXPORT int pthread_setname_np(pthread_t thread, const char *name);
EXPORT int prctl(int option, ...);
EXPORT long syscall(long number, ...);

/*
 * The real functions. Our constructor looks them up. Later another thread may hold the loader's lock and wait for the
 * caller: for example a constructor, inside dlopen(), that starts a thread and waits for it. And a signal handler,
 * which may call longjmp, must not call dlsym().
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
    X(longjmp)                                                                                                         \
    X(_longjmp)                                                                                                        \
    X(siglongjmp)                                                                                                      \
    X(__longjmp_chk)                                                                                                   \
    X(pthread_setname_np)                                                                                              \
    X(prctl)                                                                                                           \
    X(syscall)

static struct {
#define FIELD(name) __typeof__(&name) name;
    BEHIND(FIELD)
#undef FIELD
} next;

/* The next definition of `name`. If it is called before our constructor has run, looks it up now. */
#define NEXT(name)                                                                                                     \
    ({                                                                                                                 \
        if (unlikely(!next.name))                                                                                      \
            next.name = (__typeof__(&name)) pl_next_find(#name);                                                       \
        next.name;                                                                                                     \
    })

/* ---- main ---- */

/*
 * Blocks that exit handlers free are reported separately from blocks that the program freed itself, so we must notice
 * when main returns, before any exit handler runs. Handlers run in the reverse order of their registration: no handler
 * of ours could be sure to run first. Therefore we call main ourselves. Our own frames are left out of recorded stacks
 * (pl_front.owns).
 */
static main_function *program_main;
int pl_lifecycle_status;

static int call_main(int argc, char **argv, char **environment)
{
    pl_lifecycle_status = program_main(argc, argv, environment);
    pl_process_exiting(pl_process);
    return pl_lifecycle_status;
}

/* The same, where the code that calls main has no unwind tables: tells the unwinder that stacks end here. */
static int call_main_outermost(int argc, char **argv, char **environment)
{
    PL_ARCH_OUTERMOST();
    int status = call_main(argc, argv, environment);
    __asm__ volatile("" : "+r"(status)); /* not a tail call: this frame must be there */
    return status;
}

int __libc_start_main(main_function *main, int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*rtld_fini)(void), void *stack_end)
{
    __typeof__(&__libc_start_main) start = (__typeof__(start)) pl_next_find("__libc_start_main");
    program_main = main;
    return start(pl_libc()->lacks_tables ? call_main_outermost : call_main, argc, argv, init, fini, rtld_fini,
                 stack_end);
}

/* ---- fork ---- */

pid_t _Fork(void)
{
    pid_t pid = NEXT(_Fork) ? next._Fork() : fork();
    if (pid == 0) /* _Fork runs no fork handlers */
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
    pl_lifecycle_status = status;
    pl_process_exiting(pl_process);
    NEXT(exit)(status);
    __builtin_unreachable();
}

static int quick_status;

/* Registered before the program's own handlers, so called after them. */
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
    pl_libc_at_quick_exit(end_quickly);
}

/* ---- exec ---- */

/* The next definition is looked up before pl_process_exec(): from then on other threads wait for us, and one of them
 * may hold the loader's lock. */
#define EXEC(path, name, ...)                                                                                          \
    do {                                                                                                               \
        __typeof__(&name) next_name_ = NEXT(name);                                                                     \
        bool copied_ = pl_process_exec(pl_process, path);                                                              \
        int result_ = next_name_(__VA_ARGS__);                                                                         \
        pl_process_exec_failed(pl_process, copied_);                                                                   \
        return result_;                                                                                                \
    } while (0)

/* A process that was attached to was started without our variables. The new environment is on the stack: a vfork child
 * has no other memory of its own, and that of posix_spawn() has 32 KiB. */
#define FOLLOW_BYTES_MOST 12288u
#define LIBRARIES "LD_PRELOAD"
char *const *pl_lifecycle_follow;

static size_t count_of(char *const *list)
{
    size_t n = 0;
    while (list && list[n])
        n++;
    return n;
}

static const char *value_of(const char *entry, const char *name)
{
    while (*name && *name == *entry)
        name++, entry++;
    return !*name && *entry == '=' ? entry + 1 : NULL;
}

static const char *libraries_of(char *const *list)
{
    const char *value = NULL;
    for (; list && *list && !value; list++)
        value = value_of(*list, LIBRARIES);
    return value ? value : "";
}

/* Room for the environment; 0: nothing is to be added, or there is too much. */
static size_t follow_bytes(char *const *envp)
{
    if (!pl_lifecycle_follow)
        return 0;
    size_t entries = count_of(envp) + count_of(pl_lifecycle_follow) + 1;
    size_t bytes = entries * sizeof *envp + sizeof LIBRARIES + 2 + pl_text_bytes(libraries_of(envp)) +
                   pl_text_bytes(libraries_of(pl_lifecycle_follow));
    return bytes <= FOLLOW_BYTES_MOST ? bytes : 0;
}

static bool is_ours(const char *entry)
{
    for (char *const *each = pl_lifecycle_follow; *each; each++) {
        size_t name = 0;
        while ((*each)[name] != '=' && (*each)[name] == entry[name])
            name++;
        if ((*each)[name] == '=' && entry[name] == '=')
            return true;
    }
    return false;
}

/* Our library comes before those that the program preloads itself. */
static char *join_libraries(char *to, char *const *envp)
{
    const char *theirs = libraries_of(envp);
    struct pl_text_line line = pl_text_line_in(to, FOLLOW_BYTES_MOST);
    pl_text_line_text(&line, LIBRARIES "=");
    pl_text_line_text(&line, libraries_of(pl_lifecycle_follow));
    pl_text_line_text(&line, *theirs ? ":" : "");
    pl_text_line_text(&line, theirs);
    return to;
}

static char *const *follow(char *const *envp, char **room)
{
    size_t n = 0, entries = count_of(envp) + count_of(pl_lifecycle_follow) + 1;
    for (char *const *each = pl_lifecycle_follow; *each; each++)
        room[n++] = value_of(*each, LIBRARIES) ? join_libraries((char *) (room + entries), envp) : *each;
    for (; envp && *envp; envp++)
        if (!is_ours(*envp))
            room[n++] = *envp;
    room[n] = NULL;
    return room;
}

#define FOLLOW(envp)                                                                                                   \
    do {                                                                                                               \
        size_t bytes_ = follow_bytes(envp);                                                                            \
        if (unlikely(bytes_))                                                                                          \
            envp = follow(envp, __builtin_alloca(bytes_));                                                             \
    } while (0)

int execve(const char *path, char *const argv[], char *const envp[])
{
    FOLLOW(envp);
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
    FOLLOW(envp);
    EXEC(NULL, fexecve, fd, argv, envp);
}

int execveat(int directory, const char *path, char *const argv[], char *const envp[], int flags)
{
    FOLLOW(envp);
    EXEC(NULL, execveat, directory, path, argv, envp, flags);
}

/* libc's own execl functions do not call our hooks: they collect the arguments and call an internal function. So we
 * collect the arguments ourselves. */
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

/* ---- longjmp ---- */

/* A signal handler may use it to leave one of our hooks. The interrupted visit will then never end by itself. And if it
 * had not yet set the next countdown, the thread would not visit the cold path again. pl_cold_thrown() repairs both. */
#define JUMP(name)                                                                                                     \
    void name(void *to, int value)                                                                                     \
    {                                                                                                                  \
        __typeof__(&name) next_name_ = NEXT(name);                                                                     \
        pl_cold_thrown(pl_libc()->jump_target(to));                                                                    \
        if (pl_front.thrown)                                                                                           \
            pl_front.thrown(pl_libc()->jump_target(to));                                                               \
        next_name_(to, value);                                                                                         \
        __builtin_unreachable();                                                                                       \
    }
JUMP(longjmp)
JUMP(_longjmp)
JUMP(siglongjmp)
JUMP(__longjmp_chk)

/* ---- names ---- */

/* A pthread_t is the address of a thread's control block. Our thread-local storage has the same distance from it in all
 * threads. */
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

#ifndef SYS_fork
#define SYS_fork SYS_clone /* newer processors have only clone */
#endif

static bool forks(long number)
{
    return number == SYS_fork || number == SYS_clone || number == SYS_clone3;
}

/* glibc has no wrapper for seccomp(2), so programs call it through syscall(). Programs may also fork this way, without
 * fork handlers. In a child with a copy of our memory, fork has wiped the state to NEW; in one that shares our memory,
 * it has not. */
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

/* ---- for a process that was attached to ---- */

/* libc's functions call each other by their entries: all of exec's end in these three, and all of exit's in _exit. */
#define ENTERED(X)                                                                                                     \
    X(_Fork)                                                                                                           \
    X(exit)                                                                                                            \
    X(execve)                                                                                                          \
    X(execveat)                                                                                                        \
    X(fexecve)                                                                                                         \
    X(longjmp)                                                                                                         \
    X(_longjmp)                                                                                                        \
    X(siglongjmp)                                                                                                      \
    X(__longjmp_chk)                                                                                                   \
    X(pthread_setname_np)                                                                                              \
    X(prctl)                                                                                                           \
    X(syscall)

uint32_t pl_lifecycle_list(struct pl_desk_hook *hook, uint32_t hooks)
{
#define ADD(name_)                                                                                                     \
    hook[hooks++] = (struct pl_desk_hook){                                                                             \
        .name = #name_, .hook = (uintptr_t) name_, .real = (void *) &next.name_, .family = PL_DESK_LIBC};
    ENTERED(ADD)
#undef ADD
    return hooks;
}
