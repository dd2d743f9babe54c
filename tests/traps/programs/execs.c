/* SPDX-License-Identifier: MIT */
/*
 * execs.c - executes itself again by one of the exec functions; or makes calls of exec that fail.
 *
 *   execs HOW STEPS     executes itself STEPS times, then ends
 *   execs failing       a dozen calls of exec that fail, with allocations in between
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include "trap.h"

extern char **environ;

static APART void *execs_allocate(void)
{
    return keep(malloc(64));
}

static void turn_into_self(const char *path, const char *how, const char *steps)
{
    char *const argv[] = {(char *) path, (char *) how, (char *) steps, NULL};
    if (is(how, "execve"))
        execve(path, argv, environ);
    else if (is(how, "execv"))
        execv(path, argv);
    else if (is(how, "execvp"))
        execvp(path, argv);
    else if (is(how, "execvpe"))
        execvpe(path, argv, environ);
    else if (is(how, "execl"))
        execl(path, path, how, steps, NULL);
    else if (is(how, "execlp"))
        execlp(path, path, how, steps, NULL);
    else if (is(how, "execle"))
        execle(path, path, how, steps, NULL, environ);
    else if (is(how, "fexecve"))
        fexecve(open(path, O_RDONLY), argv, environ);
#ifdef __GLIBC__ /* musl has no such function */
    else if (is(how, "execveat"))
        execveat(AT_FDCWD, path, argv, environ, 0);
#endif
    dprintf(2, "%s: %m\n", how);
    exit(1);
}

static void fail(const char *path)
{
    char *const argv[] = {(char *) path, NULL};
    errno = 0;
    CHECK(execve("/nonexistent", argv, environ) == -1 && errno == ENOENT);
    errno = 0;
    CHECK(execve("/dev/null", argv, environ) == -1 && errno == EACCES);
    errno = 0;
    CHECK(execvp("no-such-program", argv) == -1 && errno == ENOENT);
    errno = 0;
    CHECK(execl("/nonexistent", "x", NULL) == -1 && errno == ENOENT);
    errno = 0;
    CHECK(fexecve(99, argv, environ) == -1 && errno == EBADF);
    errno = 0;
    CHECK(execve("./text", argv, environ) == -1 && errno == ENOEXEC);
}

int main(int argc, char **argv)
{
    CHECK(argc > 1);
    for (int i = 0; i < 30; i++)
        free(execs_allocate());
    if (is(argv[1], "failing")) {
        int text = open("./text", O_WRONLY | O_CREAT, 0700); /* has the permission, but is no program */
        CHECK(text >= 0 && write(text, "rubbish\n", 8) == 8 && close(text) == 0);
        for (int i = 0; i < 3; i++) {
            fail(argv[0]);
            free(execs_allocate());
        }
        if (argc > 2)
            raise(SIGKILL);
        return 0;
    }
    int steps = argc > 2 ? atoi(argv[2]) : 0;
    char left[20];
    snprintf(left, sizeof left, "%d", steps - 1);
    if (steps > 0)
        turn_into_self(argv[0], argv[1], left);
    return 0;
}
