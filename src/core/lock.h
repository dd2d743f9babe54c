/* SPDX-License-Identifier: MIT */
/*
 * lock.h - the lock of the tables that cannot do without one: those of ranges (blocks/ranges.h).
 *
 * Who holds it has blocked all signals, so no handler can interrupt it, wait for itself, or leave by longjmp. In a
 * sandbox, where that system call may be forbidden, a handler that comes in between is told that it cannot have the
 * lock. Nobody waits for ever: a thread that was killed while it held the lock makes it useless, and what needs it is
 * counted as lost from then on.
 */
#ifndef PL_LOCK_H
#define PL_LOCK_H

#include <stdbool.h>
#include <stdint.h>

struct pl_lock {
    uintptr_t owner; /* thread pointer; 0: nobody */
    uint32_t broken; /* a thread has waited too long for it */
};

/* False: the caller cannot have it. `signals` is for pl_lock_give(). */
bool pl_lock_take(struct pl_lock *lock, uint64_t *signals);
void pl_lock_give(struct pl_lock *lock, uint64_t signals);

#endif
