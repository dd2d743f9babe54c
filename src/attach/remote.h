/* SPDX-License-Identifier: MIT */
/*
 * remote.h - borrows a thread of another process: stops all threads, lets one of them make calls, and gives it back.
 *
 *     struct pl_remote remote;
 *     uint64_t result;
 *     if (pl_remote_open(&remote, pid) && pl_remote_borrow(&remote, PL_NEED_CALLS, wait_ns) &&
 *         pl_remote_system_call(&remote, SYS_getpid, (const uint64_t[6]){0}, &result))
 *         use(remote.tracee.thread[0].registers, result);    // all threads stand still
 *     else
 *         say(remote.problem);
 *     pl_remote_close(&remote);                              // all go on where they were
 *
 * A function returns false if it cannot do its work; `problem` then says why and what to do, for people. After any
 * failure, pl_remote_close() leaves the process as it was. So does a tracer that is killed: the kernel lets the other
 * threads go on, and the borrowed one restores itself (visitor.h). A process that waits for a lock that our call needs
 * is the one danger, so whatever takes a lock needs PL_NEED_LOCKS (moment.h), and pl_remote_go() before.
 */
#ifndef PL_REMOTE_H
#define PL_REMOTE_H

#include "attach/visitor.h"

#define PL_REMOTE_PROBLEM 512

struct pl_remote {
    struct pl_tracee tracee; /* while all threads are stopped: thread[0 ... count - 1] and their registers */
    struct pl_loaded loaded; /* the modules of the process */
    struct pl_visitor visitor;
    uint32_t threads; /* that were stopped last */
    uint32_t looks;   /* how often we looked for a safe moment */
    uint64_t stop_ns; /* in which all threads could be stopped last */
    char problem[PL_REMOTE_PROBLEM];
};

/* While something of ours is in the process: Ctrl-C and the like wait until sigprocmask() restores `before` (or NULL).
 */
void pl_remote_hold_interrupts(sigset_t *before);

/* Between two tries, longer each time, from 0 on: threads that are in the way need time on a processor to go on. */
void pl_remote_pause(uint64_t *pause_ns);

bool pl_remote_open(struct pl_remote *remote, pid_t pid);

/* Lets everything go that is still held. */
void pl_remote_close(struct pl_remote *remote);

/* Reads again which modules are loaded. */
bool pl_remote_read_loaded(struct pl_remote *remote);

/* ---- all threads ---- */

/* Stops all threads, and waits until that can be done quickly. */
bool pl_remote_stop(struct pl_remote *remote, uint64_t wait_ns);

/* Lets them go on, except the borrowed one. */
void pl_remote_go(struct pl_remote *remote);

/* ---- one thread ---- */

enum pl_remote_need {
    PL_NEED_CALLS, /* any thread will do: the calls take no lock that a thread might hold */
    PL_NEED_LOCKS, /* they take locks of the loader and the allocator, as dlopen() does */
};

/* Stops all threads at a moment when one of them can be borrowed. It and all others stand still then. */
bool pl_remote_borrow(struct pl_remote *remote, enum pl_remote_need need, uint64_t wait_ns);

/* Gives it back: it goes on where it was. False: it has ended, or does not get there soon; then it is left alone, and
 * gets there by itself. */
bool pl_remote_give_back(struct pl_remote *remote);

/* It calls a function, or the kernel (result: -errno), with its own stack of 200 KiB and all signals blocked. */
bool pl_remote_call(struct pl_remote *remote, uint64_t function, const uint64_t argument[6], uint64_t *result);
bool pl_remote_system_call(struct pl_remote *remote, long number, const uint64_t argument[6], uint64_t *result);

/*
 * From now on copies have these ranges of memory, which are wiped when the process forks; and no more, before its
 * threads go on. If we are killed in between, the borrowed thread sees to that. False: they are wiped.
 */
bool pl_remote_keep(struct pl_remote *remote, const struct pl_machine_range *range, size_t count);
bool pl_remote_keep_no_more(struct pl_remote *remote);

/*
 * Copies the process as it is now: a child that shares no memory with it, which we trace, and which stands still and
 * ends when we do. The process is not told of it: no signal, and wait() does not see it. Returns its pid.
 */
pid_t pl_remote_copy(struct pl_remote *remote);

/* Ends the copy. The kernel takes its time to free the memory, so no thread should stand still meanwhile. */
void pl_remote_end_copy(pid_t copy);

/* Lets the borrowed thread remove the copy, which has ended, from the process's children. */
bool pl_remote_forget_copy(struct pl_remote *remote, pid_t copy);

#endif
