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

/* Does a thread wait in the kernel, where it does not stop for us? */
bool pl_tracee_is_stuck(struct pl_tracee *tracee);

/* Stops every thread, new ones too, and reads their registers. False: one did not stop in time, or we may not trace
 * (error, culprit); the others stand still until they are released. */
bool pl_tracee_stop(struct pl_tracee *tracee, uint64_t wait_ns);

/* Lets all threads go and forgets them, except `keep` (0: none). A thread that does not stop cannot be let go. */
void pl_tracee_release(struct pl_tracee *tracee, pid_t keep);

struct pl_tracee_thread *pl_tracee_find(struct pl_tracee *tracee, pid_t tid);

bool pl_tracee_has_ended(const struct pl_tracee *tracee, pid_t tid);

/* Lets one thread go and forgets it; or only forgets it. */
void pl_tracee_let_go(struct pl_tracee *tracee, pid_t tid);
void pl_tracee_forget(struct pl_tracee *tracee, pid_t tid);

/* Lets a stopped thread go on to its next system call. */
bool pl_tracee_step(pid_t tid);

enum pl_tracee_wait {
    PL_TRACEE_CALL,    /* it is before or after a system call */
    PL_TRACEE_STOPPED, /* by SIGSTOP or the like: it comes no further before SIGCONT */
    PL_TRACEE_LATE,
    PL_TRACEE_GONE,
};

/* Waits until it is there. Passes signals on. If `signals` is not NULL, the thread blocks only these from now on. */
enum pl_tracee_wait pl_tracee_wait_call(pid_t tid, uint64_t until_ns, const uint64_t *signals);

/* Waits until a thread that was interrupted has stopped; *signal is what it must get when it goes on, or 0. */
bool pl_tracee_wait_stop(pid_t tid, uint64_t until_ns, int *signal);

bool pl_tracee_read(const struct pl_tracee *tracee, uint64_t at, void *to, size_t bytes);
bool pl_tracee_write(const struct pl_tracee *tracee, uint64_t at, const void *from, size_t bytes);

/* What can be read of it, from the beginning on, in bytes. */
size_t pl_tracee_read_some(const struct pl_tracee *tracee, uint64_t at, void *to, size_t bytes);

/* A text of at most `bytes`, its end included; "" if it cannot be read. */
void pl_tracee_text(const struct pl_tracee *tracee, uint64_t at, char *to, size_t bytes);

uint64_t pl_tracee_now_ns(void);

#endif
