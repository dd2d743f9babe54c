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
    int exec_error;  /* errno of the exec that failed; 0: the program ran */
    int wait_status; /* as waitpid() gave it */
    uint64_t end_ns; /* CLOCK_MONOTONIC */
};

/* Runs argv with the environment given by `prepare`, which is called in the child. Returns when it has ended. 0 or
 * -errno. */
int pl_launch(char **argv, void (*prepare)(void *context), void *context, struct pl_launch *out);

/* What our own exit status must be to say the same: the program's, or 128 + the signal that ended it. */
int pl_launch_status(int wait_status);

#endif
