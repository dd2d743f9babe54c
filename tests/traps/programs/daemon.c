/* SPDX-License-Identifier: MIT */
/*
 * daemon.c - gives up its directory, root, user, namespaces and descriptors. Then it opens files that get the numbers
 * of the old descriptors, and allocates from so many stacks that the profile has to grow.
 *
 *   daemon WHAT...      of: close, reuse, chdir=DIR, chroot=DIR, user, unshare, fork; list: it prints its descriptors
 */
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../../lib/turns.h"
#include "trap.h"

#define STACKS 2000

static int own[2000];
static int owned;

static void close_all(void)
{
    CHECK(syscall(SYS_close_range, 0, ~0u, 0) == 0);
}

/* A runtime that still used an old descriptor number would write into these files. */
static void open_own(void)
{
    for (owned = 0; owned < 2000; owned++) {
        char name[32];
        snprintf(name, sizeof name, "/proc/self/fd/%d", owned);
        own[owned] = open("own", O_RDWR | O_CREAT, 0600);
        if (own[owned] < 0)
            break;
    }
}

static void check_own(void)
{
    struct stat status;
    CHECK(owned > 0);
    for (int i = 0; i < owned; i++) {
        CHECK(own[i] == i);
        CHECK(fstat(own[i], &status) == 0 && status.st_size == 0);
    }
}

static void leave(const char *what)
{
    if (is(what, "close"))
        close_all();
    else if (is(what, "reuse"))
        open_own();
    else if (strncmp(what, "chdir=", 6) == 0)
        CHECK(chdir(what + 6) == 0);
    else if (strncmp(what, "chroot=", 7) == 0)
        CHECK(chroot(what + 7) == 0 && chdir("/") == 0);
    else if (is(what, "user"))
        CHECK(setgid(65534) == 0 && setuid(65534) == 0);
    else if (is(what, "unshare"))
        CHECK(unshare(CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS) == 0);
    else
        CHECK(!"a known word");
}

static void list_descriptors(void)
{
    for (int fd = 0; fd < 4096; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            printf("%d\n", fd);
}

static APART void daemon_allocate(void *unused)
{
    (void) unused;
    free(keep(malloc(100)));
}

static int be_daemon(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (!is(argv[i], "fork") && !is(argv[i], "list"))
            leave(argv[i]);
    for (unsigned i = 0; i < STACKS; i++)
        descend(i, 12, daemon_allocate, NULL);
    if (owned)
        check_own();
    if (is(argv[argc - 1], "list"))
        list_descriptors();
    return 0;
}

int main(int argc, char **argv)
{
    int status;
    free(keep(malloc(100)));
    if (argc < 2 || !is(argv[1], "fork"))
        return be_daemon(argc, argv);
    pid_t child = fork();
    if (child == 0)
        return be_daemon(argc, argv);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    return 0;
}
