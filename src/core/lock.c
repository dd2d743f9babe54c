/* SPDX-License-Identifier: MIT */
/* lock.c - see lock.h. */
#include "core/lock.h"

#include "core/arch.h"
#include "core/memory.h"
#include "core/sys.h"

#define SPINS 100u
#define DOZE_NS 50000
#define DOZES 20000u /* one second */

static bool acquire(struct pl_lock *lock, uintptr_t me)
{
    for (uint32_t i = 0; i < SPINS + DOZES; i++) {
        uintptr_t owner = load_relaxed(&lock->owner);
        if (!owner && swap_if(&lock->owner, 0, me))
            return true;
        if (owner == me || load_relaxed(&lock->slow))
            return false;
        if (i < SPINS)
            pl_arch_pause();
        else
            pl_sys_doze(DOZE_NS);
    }
    store_relaxed(&lock->slow, 1);
    return false;
}

bool pl_lock_take(struct pl_lock *lock, uint64_t *signals)
{
    *signals = load_relaxed(&pl_memory_frozen) ? 0 : pl_sys_block_signals();
    bool taken = acquire(lock, pl_arch_thread_pointer());
    if (!taken && !load_relaxed(&pl_memory_frozen))
        pl_sys_unblock_signals(*signals);
    return taken;
}

void pl_lock_give(struct pl_lock *lock, uint64_t signals)
{
    store_relaxed(&lock->slow, 0);
    store_release(&lock->owner, 0);
    if (!load_relaxed(&pl_memory_frozen))
        pl_sys_unblock_signals(signals);
}
