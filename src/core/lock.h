/* SPDX-License-Identifier: MIT */
/*
 * lock.h - the lock of the tables that cannot do without one: those of ranges (blocks/ranges.h).
 *
 * Who holds it has blocked all signals, so no handler can interrupt it, wait for itself, or leave by longjmp. In a
 * sandbox, where that system call may be forbidden, a handler that comes in between is told that it cannot have the
 * lock. Nobody waits for ever: a thread that waited for a second goes without, which is counted as lost, and so do all
 * others, at once, until the owner gives the lock back. An owner may be kept from running by a debugger, or by others
 * if its priority is low.
 */
#ifndef PL_LOCK_H
#define PL_LOCK_H

#include <stdbool.h>
#include <stdint.h>

struct pl_lock {
    uintptr_t owner; /* thread pointer; 0: nobody */
    uint32_t slow;   /* a thread has waited too long for this owner */
};

/* False: the caller cannot have it. `signals` is for pl_lock_give(). */
bool pl_lock_take(struct pl_lock *lock, uint64_t *signals);
void pl_lock_give(struct pl_lock *lock, uint64_t signals);

#endif
