/* SPDX-License-Identifier: MIT */
/*
 * bounds.c - which memory a walk may read.
 *
 * The ground of a walk is a range of addresses that are known to be readable. On the thread's own stack it is
 * [own.proven, own.hi), and needs no system call. `hi` is an anchor: for a pthread, its thread pointer, which lies
 * above the stack in the same mapping (glibc and musl both put it there, even if the user supplied the stack); for the
 * main thread, __libc_stack_end (glibc) or pl_bounds_stack_end. `proven` begins at `hi`. It moves down as walks that
 * start deeper probe the pages in between, each page once. A stack never gives back pages that it has grown to, so a
 * proven page stays readable.
 *
 * Other stacks (signal stacks, coroutines) come and go: each walk probes their pages again as it goes up.
 *
 * Invariant: every page of [ground_lo, ground_hi) is part of the thread's own proven stack, or was probed in this walk,
 * or is assumed to be readable (see believe).
 */
#include <errno.h>
#include <sys/syscall.h>

#include "core/unwind/walk.h"

#define PAGE_BYTES 4096ul /* or a part of a larger page: then some pages are probed more than once */
#define PAGE_OF(address) ((address) & ~(PAGE_BYTES - 1))
#define STACK_BYTES (8ul << 20)
#define FRAME_BYTES_MAX (8ul << 20) /* no frame is larger: this also limits how many pages one step may probe */
#define PROOF_BYTES_MAX (1ul << 20) /* a walk that starts this close below the proven stack probes the gap at once */
#define BIRTH_BYTES (64ul << 10)
#define GUARD_PAGES_MAX (16 * (int) (PL_ARCH_PAGE_MOST / PAGE_BYTES))

extern void *__libc_stack_end __attribute__((weak));
uintptr_t pl_bounds_stack_end;

/* The kernel reads the new mask before it checks the operation, and -1 is no valid operation: EFAULT if the address is
 * not readable, EINVAL if it is. */
static long ask_kernel(uintptr_t address)
{
    return pl_arch_syscall(__NR_rt_sigprocmask, -1, (long) address, 0, 8, 0, 0);
}

/* Emulated kernels check the operation first. We detect them with an address that is never readable. */
static bool kernel_answers(void)
{
    static uint8_t answers; /* 0: not asked yet, 1: yes, 2: no */
    uint8_t known = load_relaxed(&answers);
    if (known == 0) {
        known = ask_kernel(8) == -EFAULT ? 1 : 2;
        store_relaxed(&answers, known);
    }
    return known == 1;
}

static bool page_readable(uintptr_t address)
{
    return ask_kernel(PAGE_OF(address)) == -EINVAL;
}

static bool may_ask(const struct pl_walk *walk)
{
    return walk->may_probe && kernel_answers();
}

bool pl_bounds_may_ask(const struct pl_walk *walk)
{
    return may_ask(walk);
}

static bool on_proven(const struct pl_walk *walk, uintptr_t address)
{
    return address >= walk->own.proven && address < walk->own.hi;
}

static bool on_ground(const struct pl_walk *walk, uintptr_t address)
{
    return address >= walk->ground_lo && address < walk->ground_hi;
}

static void stand_on(struct pl_walk *walk, uintptr_t lo, uintptr_t hi)
{
    walk->ground_lo = lo;
    walk->ground_hi = hi;
}

void pl_bounds_find(struct pl_stack_bounds *bounds, uintptr_t sp)
{
    uintptr_t thread = pl_arch_thread_pointer();
    uintptr_t process = &__libc_stack_end != NULL ? (uintptr_t) __libc_stack_end : pl_bounds_stack_end;
    uintptr_t nearest = thread > sp ? thread : process;
    if (process > sp && process < nearest)
        nearest = process;
    bounds->hi = nearest > sp ? nearest & ~7ul : 0;
    bounds->lo = bounds->hi > STACK_BYTES ? bounds->hi - STACK_BYTES : 0;
    bounds->proven = bounds->hi;
}

/* A thread's first walk may happen on a foreign stack and choose the wrong anchor, so the anchor is determined again
 * until a walk has proven a page below it. */
static void find_anchor(struct pl_walk *walk, uintptr_t sp)
{
    if (walk->own.proven == walk->own.hi)
        pl_bounds_find(&walk->own, sp);
}

/*
 * In a sandbox we cannot probe. The kernel keeps a gap of 1 MiB below the main stack free of other mappings, so a stack
 * pointer in there belongs to that stack; for a pthread the same is very likely. A thread that was created in the
 * sandbox has no proven page, only its anchor: its stack pointer has to be closer.
 */
static bool believe(struct pl_walk *walk, uintptr_t sp)
{
    uintptr_t gap = walk->own.proven == walk->own.hi ? BIRTH_BYTES : PROOF_BYTES_MAX;
    if (sp >= walk->own.proven || walk->own.proven - sp > gap)
        return false;
    stand_on(walk, sp, walk->own.hi);
    return true;
}

/* The first readable page from sp upwards: after a stack overflow, sp itself is in the guard pages. */
static uintptr_t first_page(uintptr_t sp)
{
    uintptr_t page = PAGE_OF(sp);
    for (int i = 0; i < GUARD_PAGES_MAX; i++, page += PAGE_BYTES)
        if (page_readable(page))
            return page;
    return 0;
}

/* If the ground has reached the lowest proven page of the own stack, it becomes part of the proven stack, for this walk
 * and all later ones of the thread. */
static void join_own(struct pl_walk *walk)
{
    if (walk->ground_lo >= walk->own.proven || walk->ground_hi < PAGE_OF(walk->own.proven))
        return;
    walk->own.proven = walk->ground_lo;
    walk->ground_hi = walk->own.hi;
}

enum pl_stop pl_bounds_enter(struct pl_walk *walk, uintptr_t sp)
{
    if (sp % 8)
        return PL_STOP_BOUNDS;
    if (on_ground(walk, sp))
        return PL_GO_ON;
    find_anchor(walk, sp);
    if (on_proven(walk, sp)) {
        stand_on(walk, walk->own.proven, walk->own.hi);
        return PL_GO_ON;
    }
    if (!may_ask(walk))
        return believe(walk, sp) ? PL_GO_ON : PL_STOP_FOREIGN;
    uintptr_t page = first_page(sp);
    if (page == 0)
        return PL_STOP_BOUNDS;
    stand_on(walk, page, page + PAGE_BYTES);
    join_own(walk);
    if (page < walk->own.proven && walk->own.proven - page <= PROOF_BYTES_MAX)
        pl_bounds_reach(walk, walk->own.proven);
    return PL_GO_ON;
}

bool pl_bounds_reach(struct pl_walk *walk, uintptr_t end)
{
    if (end <= walk->ground_hi)
        return true;
    if (end - walk->ground_hi > FRAME_BYTES_MAX)
        return false;
    while (walk->ground_hi < end && walk->ground_hi != walk->own.hi) {
        if (!page_readable(walk->ground_hi))
            return false;
        walk->ground_hi += PAGE_BYTES;
        join_own(walk);
    }
    return end <= walk->ground_hi;
}

bool pl_bounds_read(struct pl_walk *walk, uintptr_t address, uint64_t *out)
{
    bool grounded = on_ground(walk, address) && walk->ground_hi - address >= 8;
    if (address % 8)
        return false;
    if (!grounded && !(may_ask(walk) && page_readable(address)))
        return false;
    *out = pl_walk_load(address);
    return true;
}
