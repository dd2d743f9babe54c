/* SPDX-License-Identifier: MIT */
/*
 * alone.c - calls a function of libc where any system call but its own kills, in a seccomp filter that libc does not
 * know of, as if it had been inherited.
 *
 *   alone execv|execvp|_exit
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "../../traps/programs/trap.h"

static char *const nothing[] = {"nothing", NULL};

static void call_execv(void)
{
    execv("/nonexistent/nothing", nothing);
}

static void call_execvp(void)
{
    execvp("nothing", nothing);
}

static void call_exit(void)
{
    _exit(0);
}

static const struct {
    const char *name;
    void (*call)(void);
} functions[] = {{"execv", call_execv}, {"execvp", call_execvp}, {"_exit", call_exit}};

static long system_call(long number, long a, long b, long c)
{
#ifdef __aarch64__
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
#else
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
#endif
}

static void enter(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execve, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(system_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long) &program) == 0);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2 && setenv("PATH", "/nonexistent/1:/nonexistent/2", 1) == 0);
    free(keep(malloc(100)));
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (is(argv[1], functions[i].name)) {
            enter();
            functions[i].call();
            _exit(errno == ENOENT ? 0 : 1);
        }
    return 2;
}
