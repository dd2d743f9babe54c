/* SPDX-License-Identifier: MIT */
/*
 * launch.h - runs a program as if we were not there: its streams, its signals, its place on the terminal are its own.
 */
#ifndef PL_LAUNCH_H
#define PL_LAUNCH_H

#include <stdint.h>
#include <sys/types.h>

struct pl_launch {
    pid_t pid;
    int unprepared;  /* what hooks->prepare returned, if that is why the program did not run */
    int exec_error;  /* errno of the exec that failed, or of what had to be prepared; 0: the program ran */
    int wait_status; /* as waitpid() gave it */
    uint64_t end_ns; /* CLOCK_MONOTONIC */
};

/* What is done in the child before it becomes the program, and by us when it has; signals are blocked then. The first
 * returns 0, or what it could not do, with errno: then there is no program. */
struct pl_launch_hooks {
    int (*prepare)(void *context);
    void (*started)(void *context, pid_t pid);
    void *context;
};

/* Runs argv; `file` is what execvp() is to look for. Returns when it has ended. 0 or -errno. */
int pl_launch(const char *file, char **argv, const struct pl_launch_hooks *hooks, struct pl_launch *out);

/* What our own exit status must be to say the same: the program's, or 128 + the signal that ended it. */
int pl_launch_status(int wait_status);

#endif
