/* SPDX-License-Identifier: MIT */
/*
 * sandbox.h - system calls by which a program gives up system calls (seccomp), or the processor's clock.
 *
 * From then on each of ours may kill it. So the runtime has to know beforehand; and to go on as before if the program
 * was not let in.
 */
#ifndef PL_SANDBOX_H
#define PL_SANDBOX_H

#include <stdbool.h>

struct pl_confining {
    bool entering; /* seccomp */
    bool stopping; /* the clock */
};

/* Before the call: its number and its first two arguments. Nearly every call is none of these. */
struct pl_confining pl_sandbox_before(long number, long a, long b);

/* After it. */
void pl_sandbox_after(struct pl_confining confining, bool refused);

#endif
