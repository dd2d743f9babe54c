/* SPDX-License-Identifier: MIT */
/* sandbox.c - see sandbox.h. */
#include "core/sandbox.h"

#include <linux/prctl.h>
#include <sys/syscall.h>

#include "core/clock.h"
#include "core/cold.h"
#include "core/memory.h"
#include "core/process.h"
#include "core/records/tallies.h"

#define MODE_STRICT 1 /* of PR_SET_SECCOMP */
#define SET_STRICT 0  /* operations of seccomp(2); the others only query */
#define SET_FILTER 1

#define SANDBOX_THREADS 32
#define SANDBOX_LEVELS 5 /* levels that are never touched only cost address space */
#define SANDBOX_FILE_BYTES (2u << 20)

/* ---- which calls ---- */

static bool enters(long number, long a)
{
    return (number == __NR_seccomp && (a == SET_STRICT || a == SET_FILTER)) ||
           (number == __NR_prctl && a == PR_SET_SECCOMP);
}

/* After such a call, reading the processor's clock faults. */
static bool stops_clock(long number, long a, long b)
{
    return (number == __NR_seccomp && a == SET_STRICT) ||
           (number == __NR_prctl &&
            ((a == PR_SET_SECCOMP && b == MODE_STRICT) || (a == PR_SET_TSC && b == PR_TSC_SIGSEGV)));
}

/* ---- what to do about them ---- */

/* What a thread's first allocation would do. If it has not allocated yet, that would be too late. */
static void prepare_to_count(struct pl_process *process)
{
    struct pl_thread *thread = pl_cold_begin(process, &pl_tls);
    if (!thread)
        return;
    if (load_relaxed(&process->counting)) {
        pl_thread_attach(process, thread);
        pl_tally_ready(process, thread);
        if (!process->blocks.granule_shift)
            process->blocks.granule_shift = pl_front.granule_shift();
    }
    pl_cold_end(process, thread, &pl_tls);
}

/* Reserves what cannot be obtained inside a sandbox: room in the file, tables, blocks for new threads. */
static void stock_up(struct pl_process *process)
{
    if (!pl_process_open(process))
        return;
    prepare_to_count(process);
    pl_thread_spare(process, SANDBOX_THREADS);
    pl_map_reserve(&process->map, SANDBOX_LEVELS);
    pl_live_reserve(&process->live, SANDBOX_LEVELS);
    if (process->counting && process->blocks.granule_shift)
        pl_block_reserve(&process->blocks);
    pl_cold_bring_up_to_date(process, true);
    pl_file_reserve(&process->file, SANDBOX_FILE_BYTES);
}

static void confine(struct pl_process *process, bool inside)
{
    store_relaxed(&pl_memory_frozen, inside);
    store_relaxed(&process->sandboxed, inside);
    pl_file_freeze(&process->file, inside);
    for (struct pl_thread *t = load_acquire(&process->threads); t; t = t->next)
        t->walk.may_probe = !inside;
    uint32_t *flags = process->file.base ? &pl_file_header(&process->file)->flags : NULL;
    if (flags && inside)
        __atomic_fetch_or(flags, PL_FLAG_SANDBOXED, __ATOMIC_RELAXED);
    else if (flags)
        __atomic_fetch_and(flags, ~PL_FLAG_SANDBOXED, __ATOMIC_RELAXED);
}

/* The program is about to enter seccomp: from now on we make no system call, since each may kill the program. True if
 * this is new: then it is undone if the kernel refuses. */
static bool enter(struct pl_process *process)
{
    if (load_relaxed(&pl_memory_frozen))
        return false;
    bool on = pl_process_start(process);
    if (on && process->pid != pl_sys_getpid()) /* a vfork child shares our memory, but only the child is confined */
        return false;
    if (on)
        stock_up(process);
    confine(process, true);
    return true;
}

struct pl_confining pl_sandbox_before(long number, long a, long b)
{
    struct pl_confining confining = {
        .entering = enters(number, a) && enter(pl_process),
        .stopping = stops_clock(number, a, b),
    };
    if (confining.stopping)
        pl_clock_stop();
    return confining;
}

void pl_sandbox_after(struct pl_confining confining, bool refused)
{
    if (confining.entering && refused)
        confine(pl_process, false);
    if (confining.stopping && refused)
        pl_clock_go_on();
}
