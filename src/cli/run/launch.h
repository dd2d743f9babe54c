/* SPDX-License-Identifier: MIT */
/*
 * launch.h - runs a program as if we were not there: with the same streams, signals and terminal.
 */
#ifndef PL_LAUNCH_H
#define PL_LAUNCH_H

#include <stdint.h>
#include <sys/types.h>

struct pl_launch {
    pid_t pid;
    int unprepared;     /* what hooks->prepare returned, if that is why the program did not run */
    int exec_error;     /* errno of the exec or of hooks->prepare, whichever failed; 0: the program ran */
    int wait_status;    /* as waitpid() gave it */
    uint64_t rss_bytes; /* the most that the program, or a descendant that has ended, had */
    uint64_t end_ns;    /* CLOCK_MONOTONIC */
};

/* `prepare` runs in the child before exec, in a copy of our memory; `started` runs in our process after exec. Signals
 * are blocked in both. `prepare` returns 0, or with errno the step that failed: then the program does not run. It may
 * be NULL, and should be if there is nothing to do: copying takes time. */
struct pl_launch_hooks {
    int (*prepare)(void *context);
    void (*started)(void *context, pid_t pid);
    void *context;
};

/* Runs argv; `file` is the file for execvpe(). Returns when the program has ended. 0 or -errno. */
int pl_launch(const char *file, char **argv, char **environment, const struct pl_launch_hooks *hooks,
              struct pl_launch *out);

/* Our own exit status: the program's, or 128 + the signal that ended it. */
int pl_launch_status(int wait_status);

#endif
