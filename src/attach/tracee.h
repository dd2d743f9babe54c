/* SPDX-License-Identifier: MIT */
/*
 * tracee.h - a process that we trace: its threads, stopped or running, and its memory.
 *
 * Threads are seized, never attached to by a signal, so nobody else notices. No breakpoint, no single step and no
 * option that outlives us is used: if we are killed, the kernel lets every thread go on.
 */
#ifndef PL_TRACEE_H
#define PL_TRACEE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/machine.h"

struct pl_tracee_thread {
    pid_t tid;
    bool gone;
    bool stopped;
    bool group;                            /* stopped by SIGSTOP or the like: it must stay so */
    struct pl_machine_registers registers; /* while it is stopped */
};

struct pl_tracee {
    pid_t pid;
    int memory; /* /proc/PID/mem */
    struct pl_tracee_thread *thread;
    size_t count;
    uint64_t stopped_at_ns;
    uint64_t still_ns; /* how long all threads stood still, in all */
    int error;         /* errno of the last failure */
    pid_t culprit;     /* the thread that it is about */
};

bool pl_tracee_open(struct pl_tracee *tracee, pid_t pid);
void pl_tracee_close(struct pl_tracee *tracee);

/* Stops every thread, new ones too, and reads their registers. False: one did not stop in time, or we may not trace
 * (error, culprit); all of them run. */
bool pl_tracee_stop(struct pl_tracee *tracee, uint64_t wait_ns);

/* Lets all threads go and forgets them, except `keep` (0: none). */
void pl_tracee_release(struct pl_tracee *tracee, pid_t keep);

/* Waits until the one thread that is still traced stops before or after a system call. Passes signals on. */
enum pl_tracee_wait {
    PL_TRACEE_CALL, /* it is before or after a system call */
    PL_TRACEE_LATE,
    PL_TRACEE_GONE,
};
enum pl_tracee_wait pl_tracee_wait_call(struct pl_tracee *tracee, pid_t tid, uint64_t wait_ns);

/* Lets that thread go on to its next system call. */
bool pl_tracee_step(pid_t tid);

bool pl_tracee_read(const struct pl_tracee *tracee, uint64_t at, void *to, size_t bytes);
bool pl_tracee_write(const struct pl_tracee *tracee, uint64_t at, const void *from, size_t bytes);

/* A text of at most `bytes`, its end included; "" if it cannot be read. */
void pl_tracee_text(const struct pl_tracee *tracee, uint64_t at, char *to, size_t bytes);

uint64_t pl_tracee_now_ns(void);

#endif
