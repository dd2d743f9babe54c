/* SPDX-License-Identifier: MIT */
/* spawns.c - fails to start another program in a sandbox (the child ends at once, in our memory), and returns 5. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <spawn.h>
#include <sys/prctl.h>

#include "../../traps/programs/trap.h"

static APART void *spawns_allocate(void)
{
    return keep(malloc(100));
}

int main(void)
{
    struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {1, code};
    char *words[] = {"nothing", NULL};
    pid_t child;
    free(spawns_allocate());
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
    CHECK(posix_spawn(&child, "/nonexistent/nothing", NULL, NULL, words, words + 1) == ENOENT);
    for (int i = 0; i < 99; i++)
        free(spawns_allocate());
    return 5;
}
