/* SPDX-License-Identifier: MIT */
/* pools.c - see pools.h. */
#include "core/pools.h"

#include "core/arch.h"
#include "core/clock.h"
#include "core/cold.h"
#include "core/hash.h"
#include "core/memory.h"
#include "core/process.h"
#include "core/records/heaps.h"
#include "core/records/stacks.h"
#include "core/records/tags.h"

struct pl_pool {
    const struct pl_tag_name *name;
    struct pl_pool *parent, *child, *next; /* `next`: the parent's next child, or the next free one */
    uint64_t recorded;                     /* blocks and chunks in the two lists */
    uint32_t pid;                          /* whose lists these are */
    uint32_t heap;                         /* number of the record; 0: not known yet */
    struct pl_range_list blocks;
    struct pl_range_list chunks;
};

/* Pools that were destroyed. Each change is one store, so that a child finds a list that is whole, whenever it was
 * forked. */
static struct pl_pool *spare;

#define POOLS_BYTES 16384u

/* In the place of a ledger's number: the block has no bytes. Its range has one. */
#define NO_BYTES (1u << 31)

void pl_pool_forget_all(void)
{
    spare = NULL;
}

static bool lock(struct pl_process *process, uint64_t *signals)
{
    if (pl_lock_take(&process->heaps.lock, signals))
        return true;
    pl_file_lost(&process->file, PL_LOSS_MAPPINGS);
    return false;
}

static void unlock(struct pl_process *process, uint64_t signals)
{
    pl_lock_give(&process->heaps.lock, signals);
}

/* ---- marks: which addresses may be recorded ---- */

static void set_mark(struct pl_process *process, uintptr_t address)
{
    uint8_t *mark = pl_pool_mark_of(process, address);
    if (*mark < UINT8_MAX)
        store_relaxed(mark, (uint8_t) (*mark + 1));
}

static void clear_mark(struct pl_process *process, uintptr_t address)
{
    uint8_t *mark = pl_pool_mark_of(process, address);
    if (*mark && *mark < UINT8_MAX) /* a mark that is full stays */
        store_relaxed(mark, (uint8_t) (*mark - 1));
}

/* ---- leaving: all with the lock ---- */

static uint64_t size_of(const struct pl_range *range)
{
    return range->to - range->from;
}

static void book_gone(struct pl_process *process, struct pl_pool *pool, uint32_t chain)
{
    struct pl_range block;
    bool last;
    uint64_t now = chain ? pl_timeline_now(process) : 0;
    while (pl_range_pop(&process->heaps.ranges, &chain, &block, &last)) {
        const struct pl_ledger_entry entry = {.ledger = block.ledger & ~NO_BYTES,
                                              .weight = block.weight,
                                              .bytes = block.ledger & NO_BYTES ? 0 : size_of(&block),
                                              .units = block.units,
                                              .last = last};
        pl_ledger_freed(process, &entry, now);
        clear_mark(process, block.from);
        pool->recorded--;
    }
}

static void give_back(struct pl_process *process, struct pl_pool *pool, uint32_t chain)
{
    struct pl_range chunk;
    bool last;
    while (pl_range_pop(&process->heaps.ranges, &chain, &chunk, &last)) {
        pl_heap_holds(process, pool->heap, -(int64_t) size_of(&chunk));
        pool->recorded--;
    }
}

/* A block begins where it is freed. What only overlaps is not this block. */
static uint32_t take_out(struct pl_process *process, struct pl_range_list *list, uintptr_t at)
{
    uintptr_t end = pl_range_end(&process->heaps.ranges, list, at);
    return end ? pl_range_detach(&process->heaps.ranges, list, at, end) : 0;
}

/* In a child, the tables of its parent are gone. */
static void adopt(struct pl_process *process, struct pl_pool *pool)
{
    if (likely(pool->pid == process->pid))
        return;
    pool->blocks = pool->chunks = (struct pl_range_list){{0}};
    pool->recorded = 0;
    pool->heap = 0;
    pool->pid = process->pid;
}

/* ---- pools ---- */

static struct pl_pool *more_pools(void)
{
    struct pl_pool *pools = pl_memory_kept(POOLS_BYTES);
    for (uint32_t i = 1; pools && i + 1 < POOLS_BYTES / sizeof *pools; i++)
        pools[i].next = &pools[i + 1];
    if (pools) {
        pools[POOLS_BYTES / sizeof *pools - 1].next = spare;
        store_release(&spare, &pools[1]);
    }
    return pools;
}

static struct pl_pool *unused_pool(void)
{
    struct pl_pool *pool = spare;
    if (!pool)
        return more_pools();
    store_release(&spare, pool->next);
    return pool;
}

struct pl_pool *pl_pool_new(const char *name, struct pl_pool *parent)
{
    struct pl_process *process = pl_process;
    uint64_t signals;
    const struct pl_tag_name *known = pl_process_on(process) ? pl_tag_name_of(process, name) : NULL;
    if (!known || !lock(process, &signals))
        return NULL;
    struct pl_pool *pool = unused_pool();
    if (pool) {
        *pool = (struct pl_pool){.name = known, .parent = parent, .pid = process->pid};
        if (parent) {
            pool->next = parent->child;
            store_release(&parent->child, pool);
        }
    }
    unlock(process, signals);
    return pool;
}

static void empty(struct pl_process *process, struct pl_pool *pool)
{
    adopt(process, pool);
    if (!pool->recorded)
        return;
    book_gone(process, pool, pl_range_detach(&process->heaps.ranges, &pool->blocks, 0, UINTPTR_MAX));
    give_back(process, pool, pl_range_detach(&process->heaps.ranges, &pool->chunks, 0, UINTPTR_MAX));
}

static void unlink_pool(struct pl_pool *pool)
{
    struct pl_pool **link = pool->parent ? &pool->parent->child : NULL;
    while (link && *link && *link != pool)
        link = &(*link)->next;
    if (link && *link)
        store_release(link, pool->next);
}

static void discard(struct pl_pool *pool)
{
    unlink_pool(pool);
    pool->next = spare;
    store_release(&spare, pool);
}

/* The pools below it go first, the deepest one first. */
void pl_pool_clear(struct pl_pool *pool, bool destroy)
{
    struct pl_process *process = pl_process;
    struct pl_arch_fp_state fp;
    uint64_t signals;
    if (!pl_process_on(process) || !lock(process, &signals))
        return;
    pl_arch_fp_enter(&fp);
    while (pool->child) {
        struct pl_pool *leaf = pool->child;
        while (leaf->child)
            leaf = leaf->child;
        empty(process, leaf);
        discard(leaf);
    }
    empty(process, pool);
    if (destroy)
        discard(pool);
    pl_arch_fp_leave(&fp);
    unlock(process, signals);
}

/* ---- allocating ---- */

/* Sets the countdown. What it has no room for becomes a part of the gap that is counted down later. */
static void count_down(struct pl_thread *thread, uint64_t countdown)
{
    uint64_t later = countdown > PL_POOL_LARGE ? countdown - PL_POOL_LARGE : 0;
    thread->pools.rest += later;
    thread->tls->pool_left = (uint32_t) (countdown - later);
}

/* Is this allocation recorded, and with which weight? 0: it is counted. False: it is not. `left` is what was left of
 * the countdown before it. */
static bool due(struct pl_process *process, struct pl_thread *thread, uint64_t charge, uint64_t left, float *weight)
{
    if (unlikely(!process->file.base) && pl_config.mode != PL_MODE_SAMPLED && !pl_config.off)
        pl_process_open(process); /* in a forked child, this decides whether everything is counted */
    uint64_t interval = pl_process_interval(process), countdown = left - charge;
    *weight = 0;
    if (load_relaxed(&process->counting) || !interval) {
        count_down(thread, pl_sampler_sleep(&thread->pools, 0));
        return interval != 0;
    }
    if (!thread->pools.armed || left < charge)
        *weight = (float) pl_sampler_meet(&thread->pools, charge, left, interval, &countdown);
    count_down(thread, countdown);
    return *weight > 0;
}

/* The blocks that a new one overlaps were freed unseen, all of each. */
static void forget_missed(struct pl_process *process, struct pl_pool *pool, const struct pl_range *new)
{
    struct pl_range old;
    while (pl_range_find(&process->heaps.ranges, &pool->blocks, new->from, &old) && old.from < new->to) {
        book_gone(process, pool, pl_range_detach(&process->heaps.ranges, &pool->blocks, old.from, old.to));
        pl_file_lost(&process->file, PL_LOSS_MISSED_FREE);
    }
}

static void put(struct pl_process *process, struct pl_pool *pool, const struct pl_ledger_entry *entry, uintptr_t at,
                bool moves, bool moved)
{
    struct pl_ranges *ranges = &process->heaps.ranges;
    struct pl_range range = {
        .from = at, .to = at + entry->bytes, .units = entry->units, .weight = entry->weight, .ledger = entry->ledger};
    uint64_t signals;
    if (!entry->bytes) {
        range.to++;
        range.ledger |= NO_BYTES;
    }
    if (!lock(process, &signals))
        return;
    adopt(process, pool);
    if (range.to > range.from && pl_range_reserve(ranges, PL_RANGE_NEED + 1)) {
        forget_missed(process, pool, &range);
        pl_range_put(ranges, &pool->blocks, &range);
        set_mark(process, at);
        pool->recorded++;
        pl_ledger_allocated(process, entry);
        if (moves)
            pl_ledger_moved(process, entry->ledger, entry->weight, entry->bytes, moved);
    } else {
        pl_file_lost(&process->file, PL_LOSS_MEMORY);
    }
    unlock(process, signals);
}

static uint32_t heap_of(struct pl_process *process, struct pl_pool *pool)
{
    if (likely(pool->pid == process->pid && load_relaxed(&pool->heap)))
        return pool->heap;
    uint32_t heap = pl_heap_find(process, PL_HEAP_NAMED, pool->name);
    uint64_t signals;
    if (!heap || !lock(process, &signals))
        return 0;
    adopt(process, pool);
    store_relaxed(&pool->heap, heap);
    unlock(process, signals);
    return heap;
}

static uint32_t find_ledger(struct pl_process *process, struct pl_thread *thread, struct pl_pool *pool,
                            const struct pl_start *start)
{
    if (!pl_process_open(process))
        return 0;
    pl_thread_attach(process, thread);
    uint32_t heap = thread->record ? heap_of(process, pool) : 0;
    if (!heap) {
        pl_file_lost(&process->file, PL_LOSS_THREADS);
        return 0;
    }
    pl_stack_walk(process, thread, start);
    return pl_ledger_find(process, thread, heap, pl_stack_number(process, thread));
}

static void record(struct pl_process *process, struct pl_thread *thread, struct pl_pool *pool, const void *old,
                   const void *block, struct pl_ledger_entry *entry, const struct pl_start *start)
{
    entry->ledger = find_ledger(process, thread, pool, start);
    entry->units = pl_timeline_now(process);
    if (entry->ledger)
        put(process, pool, entry, (uintptr_t) block, old != NULL, block != old);
}

/* Until the next countdown is set, it is 0: whatever happens before that, the next allocation comes here. What
 * pl_pool_passes() has taken is given back first. */
void pl_pool_met(struct pl_pool *pool, const void *old, const void *block, uint64_t bytes, const struct pl_start *start)
{
    struct pl_process *process = pl_process;
    struct pl_tls *tls = &pl_tls;
    struct pl_ledger_entry entry = {.bytes = bytes};
    struct pl_arch_fp_state fp;
    uint64_t began = pl_clock(), charge = bytes + PL_CALL_CHARGE;
    uint32_t left = exchange(&tls->pool_left, 0) + (uint32_t) charge;
    struct pl_thread *thread = pl_cold_begin(process, tls);
    if (!thread) {
        if (block && load_relaxed(&process->state) == PL_PROCESS_ON)
            pl_file_lost(&process->file, PL_LOSS_MAPPINGS);
        return;
    }
    pl_thread_catch_up(process, thread);
    pl_arch_fp_enter(&fp);
    bool recorded = due(process, thread, charge, left, &entry.weight) && block && !tls->paused;
    if (recorded)
        record(process, thread, pool, old, block, &entry, start);
    pl_arch_fp_leave(&fp);
    pl_cold_end(process, thread, tls);
    if (recorded)
        pl_meter_spend(process, pl_clock() - began, 1);
}

/* What happens to most allocations needs few registers: so the rest is a function of its own, and is jumped to. */
void pl_pool_allocated(struct pl_pool *pool, const void *old, const void *block, uint64_t bytes,
                       const struct pl_start *start)
{
    if (unlikely(old != NULL))
        pl_pool_freed(pool, old);
    if (!block || pl_tls.paused || !pl_process_on(pl_process))
        return;
    if (unlikely(!pl_pool_passes(bytes) || load_relaxed(&pl_process->counting) || bytes >= PL_POOL_LARGE))
        pl_pool_met(pool, old, block, bytes, start);
}

/* ---- freeing ---- */

static OUT_OF_LINE COLD void let_go(struct pl_pool *pool, const void *block)
{
    struct pl_process *process = pl_process;
    struct pl_arch_fp_state fp;
    uint64_t signals;
    uint64_t began = pl_clock();
    if (!pl_process_on(process) || !lock(process, &signals))
        return;
    adopt(process, pool);
    pl_arch_fp_enter(&fp);
    if (pl_range_reserve(&process->heaps.ranges, PL_RANGE_NEED))
        book_gone(process, pool, take_out(process, &pool->blocks, (uintptr_t) block));
    pl_arch_fp_leave(&fp);
    unlock(process, signals);
    pl_meter_spend(process, pl_clock() - began, 1);
}

void pl_pool_freed(struct pl_pool *pool, const void *block)
{
    if (block && load_relaxed(&pool->recorded) && pl_pool_may_have(block))
        let_go(pool, block);
}

/* ---- chunks ---- */

void pl_pool_took(struct pl_pool *pool, const void *chunk, uint64_t bytes)
{
    struct pl_process *process = pl_process;
    struct pl_range range = {.from = (uintptr_t) chunk, .to = (uintptr_t) chunk + bytes};
    uint64_t signals;
    struct pl_thread *thread = pl_process_on(process) && chunk && bytes ? pl_cold_begin(process, &pl_tls) : NULL;
    if (!thread)
        return;
    uint32_t heap = pl_process_interval(process) && pl_process_open(process) ? heap_of(process, pool) : 0;
    if (heap && range.to > range.from && lock(process, &signals)) {
        if (pl_range_reserve(&process->heaps.ranges, PL_RANGE_NEED + 1)) {
            give_back(process, pool, pl_range_detach(&process->heaps.ranges, &pool->chunks, range.from, range.to));
            pl_range_put(&process->heaps.ranges, &pool->chunks, &range);
            pl_heap_holds(process, heap, (int64_t) bytes);
            pool->recorded++;
        }
        unlock(process, signals);
    }
    pl_cold_end(process, thread, &pl_tls);
}

void pl_pool_gave(struct pl_pool *pool, const void *chunk)
{
    struct pl_process *process = pl_process;
    uint64_t signals;
    if (!chunk || !load_relaxed(&pool->recorded) || !pl_process_on(process) || !lock(process, &signals))
        return;
    adopt(process, pool);
    if (pl_range_reserve(&process->heaps.ranges, PL_RANGE_NEED))
        give_back(process, pool, take_out(process, &pool->chunks, (uintptr_t) chunk));
    unlock(process, signals);
}
