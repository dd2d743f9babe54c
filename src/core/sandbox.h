/* SPDX-License-Identifier: MIT */
/*
 * sandbox.h - recognises system calls by which a program gives up system calls (seccomp) or the processor's clock.
 *
 * After such a call, any system call of ours may kill the program. So the runtime has to know about it before, and has
 * to go on as usual if the kernel refuses it.
 */
#ifndef PL_SANDBOX_H
#define PL_SANDBOX_H

#include <stdbool.h>

struct pl_confining {
    bool entering; /* enters seccomp */
    bool stopping; /* makes reading the clock a fault */
};

/* Call this before a system call, with its number and first two arguments. Nearly all calls are neither. */
struct pl_confining pl_sandbox_before(long number, long a, long b);

/* Call this after the system call. */
void pl_sandbox_after(struct pl_confining confining, bool refused);

#endif
