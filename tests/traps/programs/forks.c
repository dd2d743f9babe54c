/* SPDX-License-Identifier: MIT */
/*
 * forks.c - makes children in every way.
 *
 *   forks HOW [COUNT]
 *
 * HOW is the way to make children (see the table below). Each child frees and moves blocks that it has inherited,
 * allocates 50 blocks of 48 bytes, frees half of them, and ends with status 7. The parent allocates 200 blocks before
 * and 100 after.
 */
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "trap.h"

pid_t _Fork(void);

#define BEFORE 200
#define AFTER 100
#define IN_CHILD 50

static void *block[BEFORE];
static char **arguments;
static volatile int stop;

static APART void *parent_allocate(void)
{
    return keep(malloc(64));
}

static APART void *child_allocate(void)
{
    return keep(malloc(48));
}

static void be_child(void)
{
    for (int i = 0; i < BEFORE; i += 2)
        free(block[i]);
    for (int i = 1; i < BEFORE; i += 4)
        free(keep(realloc(block[i], 1000)));
    void *mine[IN_CHILD];
    for (int i = 0; i < IN_CHILD; i++)
        CHECK((mine[i] = child_allocate()) != NULL);
    for (int i = 0; i < IN_CHILD; i += 2)
        free(mine[i]);
}

static pid_t end_child(pid_t pid)
{
    if (pid == 0) {
        be_child();
        exit(7);
    }
    return pid;
}

/* ---- ways to make a child ---- */

static pid_t by_fork(void)
{
    return end_child(fork());
}

/* With another name than the one that the process had when it started. */
static pid_t by_renamed_fork(void)
{
    CHECK(prctl(PR_SET_NAME, "renamed") == 0);
    return by_fork();
}

static pid_t by_plain_fork(void)
{
    return end_child(_Fork());
}

static pid_t by_fork_syscall(void)
{
#ifdef SYS_fork
    return end_child((pid_t) syscall(SYS_fork));
#else
    return by_fork(); /* this processor's kernel has no such call */
#endif
}

static pid_t by_clone_syscall(void)
{
    return end_child((pid_t) syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
}

static pid_t by_clone3_syscall(void)
{
    struct clone_args how = {.exit_signal = SIGCHLD};
    return end_child((pid_t) syscall(SYS_clone3, &how, sizeof how));
}

static int clone_body(void *unused)
{
    (void) unused;
    be_child();
    exit(7);
}

static pid_t by_clone(void)
{
    static char stack[256 << 10] __attribute__((aligned(16)));
    return clone(clone_body, stack + sizeof stack, SIGCHLD, NULL);
}

/* Inline, so that no library can intercept it. */
static pid_t by_raw_clone(void)
{
#if defined(__x86_64__)
    long pid;
    register long a4 __asm__("r10") = 0;
    register long a5 __asm__("r8") = 0;
    __asm__ volatile("syscall"
                     : "=a"(pid)
                     : "a"(SYS_clone), "D"(SIGCHLD), "S"(0), "d"(0), "r"(a4), "r"(a5)
                     : "rcx", "r11", "memory");
#else
    register long number __asm__("x8") = SYS_clone;
    register long pid __asm__("x0") = SIGCHLD;
    register long a2 __asm__("x1") = 0, a3 __asm__("x2") = 0, a4 __asm__("x3") = 0, a5 __asm__("x4") = 0;
    __asm__ volatile("svc #0" : "+r"(pid) : "r"(number), "r"(a2), "r"(a3), "r"(a4), "r"(a5) : "memory");
#endif
    return end_child((pid_t) pid);
}

static pid_t by_grandchild(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        int status;
        pid_t grandchild = by_fork();
        CHECK(waitpid(grandchild, &status, 0) == grandchild && WEXITSTATUS(status) == 7);
        be_child();
        exit(7);
    }
    return pid;
}

static void *fork_in_thread(void *pid)
{
    *(pid_t *) pid = by_fork();
    return NULL;
}

static pid_t by_thread(void)
{
    pthread_t thread;
    pid_t pid = -1;
    CHECK(pthread_create(&thread, NULL, fork_in_thread, &pid) == 0 && pthread_join(thread, NULL) == 0);
    return pid;
}

/* The child runs in our memory: what it does there happens to us. */
static pid_t by_vfork(void)
{
    pid_t pid = vfork();
    if (pid == 0) {
        execv(arguments[0], (char *[]){arguments[0], (char *) "child", NULL});
        _exit(8);
    }
    return pid;
}

static pid_t by_failing_vfork(void)
{
    pid_t pid = vfork();
    if (pid == 0) {
        execv("/nonexistent", (char *[]){arguments[0], NULL});
        _exit(7);
    }
    return pid;
}

static pid_t by_spawn(void)
{
    pid_t pid = -1;
    extern char **environ;
    CHECK(posix_spawn(&pid, arguments[0], NULL, NULL, (char *[]){arguments[0], (char *) "child", NULL}, environ) == 0);
    return pid;
}

static pid_t by_cramped_fork(void)
{
    struct rlimit none = {3, 3};
    pid_t pid = fork();
    if (pid == 0)
        CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
    return end_child(pid);
}

static const struct {
    const char *name;
    pid_t (*make)(void);
} ways[] = {
    {"fork", by_fork},
    {"renamed", by_renamed_fork},
    {"_Fork", by_plain_fork},
    {"SYS_fork", by_fork_syscall},
    {"SYS_clone", by_clone_syscall},
    {"SYS_clone3", by_clone3_syscall},
    {"clone", by_clone},
    {"raw", by_raw_clone},
    {"grandchild", by_grandchild},
    {"thread", by_thread},
    {"vfork", by_vfork},
    {"failing-vfork", by_failing_vfork},
    {"spawn", by_spawn},
    {"cramped", by_cramped_fork},
    {"busy", by_fork},  /* while other threads allocate */
    {"crowd", by_fork}, /* all at once */
};

/* ---- the parent ---- */

static void *keep_busy(void *unused)
{
    while (!stop)
        free(keep(malloc(64)));
    return unused;
}

static void wait_for_child(void)
{
    int status;
    CHECK(wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static void make_children(const char *how, int count)
{
    size_t way = 0;
    while (!is(ways[way].name, how))
        CHECK(++way < sizeof ways / sizeof *ways);
    for (int i = 0; i < count; i++) {
        CHECK(ways[way].make() > 0);
        if (!is(how, "crowd"))
            wait_for_child();
    }
    for (int i = 0; i < count && is(how, "crowd"); i++)
        wait_for_child();
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "fork";
    pthread_t busy[3];
    arguments = argv;
    for (int i = 0; i < BEFORE; i++)
        block[i] = parent_allocate();
    if (is(how, "child")) {
        be_child();
        return 7;
    }
    for (int i = 0; i < 3 && is(how, "busy"); i++)
        CHECK(pthread_create(&busy[i], NULL, keep_busy, NULL) == 0);
    make_children(how, argc > 2 ? atoi(argv[2]) : 1);
    for (int i = 0; i < AFTER; i++)
        free(parent_allocate());
    for (int i = 0; i < BEFORE; i++)
        free(block[i]);
    stop = 1;
    for (int i = 0; i < 3 && is(how, "busy"); i++)
        CHECK(pthread_join(busy[i], NULL) == 0);
    return 0;
}
