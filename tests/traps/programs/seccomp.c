/* SPDX-License-Identifier: MIT */
/*
 * seccomp.c - goes on allocating from new stacks in a sandbox that kills for any system call that malloc does not need.
 *
 *   seccomp prctl|syscall     a filter, entered in one of two ways
 *   seccomp strict            read, write and exit only: malloc must do with the memory that the heap already has
 *   seccomp first             a filter, entered before the first allocation; one block of 77 bytes is not freed
 *   seccomp worker            a new child enters before it has allocated anything
 *   seccomp forks             forks inside the sandbox
 *   seccomp threads           starts threads inside the sandbox
 *   seccomp exec              tries exec inside the sandbox, also in a child
 *   seccomp probe             only asks whether sandboxes are available, as libraries do
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../../lib/turns.h"
#include "trap.h"

#define STACKS 1500 /* far more than a new file holds */

static const int for_malloc[] = {
    SYS_brk,     SYS_mmap,  SYS_munmap,    SYS_mremap, SYS_mprotect,
    SYS_madvise, SYS_futex, SYS_getrandom, SYS_exit,   SYS_exit_group,
};
static const int for_forks[] = {SYS_clone, SYS_wait4, SYS_set_robust_list, SYS_rt_sigprocmask};
static const int for_exec[] = {SYS_execve, SYS_clone, SYS_wait4, SYS_set_robust_list, SYS_rt_sigprocmask};
static const int for_threads[] = {SYS_clone3,          SYS_clone,          SYS_rseq,
                                  SYS_set_robust_list, SYS_rt_sigprocmask, SYS_rt_sigaction};

struct allowed {
    const int *number;
    size_t count;
};
#define ALLOWED(list) ((struct allowed){list, sizeof(list) / sizeof *(list)})

static void add(struct sock_fprog *program, struct sock_filter instruction)
{
    program->filter[program->len++] = instruction;
}

static void allow(struct sock_fprog *program, struct allowed allowed)
{
    for (size_t i = 0; i < allowed.count; i++) {
        add(program, (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned) allowed.number[i], 0, 1));
        add(program, (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    }
}

static void enter(int by_syscall, struct allowed more)
{
    static struct sock_filter code[100];
    struct sock_fprog program = {0, code};
    add(&program, (struct sock_filter) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
    allow(&program, ALLOWED(for_malloc));
    allow(&program, more);
    add(&program, (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    if (by_syscall)
        CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0);
    else
        CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static APART void seccomp_allocate(void *unused)
{
    (void) unused;
    free(keep(malloc(100)));
}

static void allocate_everywhere(void)
{
    for (unsigned i = 0; i < STACKS; i++)
        descend(i, 12, seccomp_allocate, NULL);
}

static void *thread(void *unused)
{
    allocate_everywhere();
    return unused;
}

static void start_threads(void)
{
    pthread_t threads[20];
    for (int i = 0; i < 20; i++)
        CHECK(pthread_create(&threads[i], NULL, thread, NULL) == 0);
    for (int i = 0; i < 20; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

static void run_child(int sandboxed_already)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        if (!sandboxed_already)
            enter(0, (struct allowed){NULL, 0});
        allocate_everywhere();
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static void try_exec(void)
{
    char *const argv[] = {(char *) "nobody", NULL};
    int status;
    pid_t child = fork();
    CHECK(execve("/nonexistent", argv, argv) == -1 && errno == ENOENT);
    CHECK(execv("/nonexistent", argv) == -1 && errno == ENOENT);
    if (child == 0)
        _exit(0);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

/* Neither a failed query nor a refused filter is a sandbox. */
static void probe(void)
{
    unsigned action = SECCOMP_RET_KILL_PROCESS;
    CHECK(syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) == -1 && errno == EFAULT);
    CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, NULL) == -1 && errno == EFAULT);
    CHECK(prctl(PR_GET_SECCOMP) == 0);
}

static void enter_strict(void)
{
    void *block[STACKS];
    for (int i = 0; i < STACKS; i++)
        block[i] = keep(malloc(100));
    for (int i = 0; i < STACKS; i++)
        free(block[i]);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    if (is(how, "worker")) {
        run_child(0);
        return 0;
    }
    if (is(how, "first")) {
        enter(0, (struct allowed){NULL, 0});
        CHECK(keep(malloc(77)) != NULL);
        allocate_everywhere();
        return 0;
    }
    mallopt(M_ARENA_MAX, 1); /* otherwise the first thread reads the number of processors from /sys */
    allocate_everywhere();
    if (is(how, "strict"))
        enter_strict();
    else if (is(how, "probe"))
        probe();
    else if (is(how, "forks"))
        enter(0, ALLOWED(for_forks));
    else if (is(how, "threads"))
        enter(0, ALLOWED(for_threads));
    else if (is(how, "exec"))
        enter(0, ALLOWED(for_exec));
    else
        enter(is(how, "syscall"), (struct allowed){NULL, 0});
    allocate_everywhere();
    if (is(how, "forks"))
        run_child(1);
    if (is(how, "threads"))
        start_threads();
    if (is(how, "exec"))
        try_exec();
    if (is(how, "strict"))
        syscall(SYS_exit, 0);
    return 0;
}
