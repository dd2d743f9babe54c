/* SPDX-License-Identifier: MIT */
/*
 * attach.h - begins and ends the profiling of a process that is running already.
 *
 *   find a safe thread (moment) ─ it loads the runtime and starts it (visitor) ─ stop all threads ─ make the entries of
 *   malloc, free and so on lead to the runtime (hooking) ─ let all threads go
 *
 * At any instant at which we may be killed, the process goes on, as it was or attached.
 */
#ifndef PL_ATTACH_H
#define PL_ATTACH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct pl_attach_options {
    const char *library;  /* libplimsoll-attach.so, as the process can open it */
    const char *settings; /* NAME=VALUE, each followed by a zero; an empty one ends the list */
    size_t settings_bytes;
    uint64_t wait_ns;     /* how long to wait for a safe moment */
    bool hold_interrupts; /* from the safe moment on, Ctrl-C and the like wait: the caller looks for them */
};

struct pl_attach_report {
    uint64_t still_ns;    /* how long all threads stood still, in all */
    uint64_t borrowed_ns; /* how long one thread worked for us */
    uint32_t threads;
    uint32_t looks;    /* how often we looked for a safe moment */
    bool left;         /* for detach: the process was not attached to, or has ended */
    char problem[512]; /* after a failure: what is in the way and what to do, for people */
};

bool pl_attach(pid_t pid, const struct pl_attach_options *options, struct pl_attach_report *out);
bool pl_detach(pid_t pid, uint64_t wait_ns, struct pl_attach_report *out);

#endif
