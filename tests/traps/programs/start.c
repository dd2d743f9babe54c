/* SPDX-License-Identifier: MIT */
/* start.c - prints the state in which main finds the process. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>

#include "trap.h"

static void print_descriptors(void)
{
    for (int fd = 0; fd < 100; fd++)
        if (dup2(fd, fd) == fd)
            dprintf(1, "descriptor %d\n", fd);
}

static void print_signals(void)
{
    sigset_t blocked;
    struct sigaction action;
    sigprocmask(SIG_SETMASK, NULL, &blocked);
    for (int i = 1; i < NSIG; i++)
        if (sigaction(i, NULL, &action) == 0 && (sigismember(&blocked, i) == 1 || action.sa_handler != SIG_DFL))
            dprintf(1, "signal %d\n", i);
}

int main(int argc, char **argv)
{
    int error = errno;
    const char *loader_says = dlerror();
    dprintf(1, "errno %d\ndlerror %s\n", error, loader_says ? loader_says : "nothing");
    for (int i = 1; i < argc; i++)
        dprintf(1, "argument %s\n", argv[i]);
    print_descriptors();
    print_signals();
    return 0;
}
