/* SPDX-License-Identifier: MIT */
/* mappings.c - see mappings.h. */
#include "core/mappings.h"

#include "core/clock.h"
#include "core/cold.h"
#include "core/process.h"
#include "core/python/python.h"
#include "core/records/heaps.h"
#include "core/records/stacks.h"

static uintptr_t whole_pages(size_t bytes)
{
    uintptr_t page = pl_front.page_bytes() - 1u;
    return (bytes + page) & ~page;
}

/* The lock, if this process records mappings at all. A child of vfork runs in its parent's memory, and is recorded as
 * its parent. */
static bool lock(struct pl_process *process, uint64_t *signals)
{
    if (pl_config.no_mappings || load_relaxed(&process->state) != PL_PROCESS_ON)
        return false;
    if (pl_lock_take(&process->heaps.lock, signals))
        return true;
    pl_file_lost(&process->file, PL_LOSS_MAPPINGS);
    return false;
}

/* ---- leaving ---- */

pl_leaving pl_mapping_leaves(uintptr_t at, size_t bytes)
{
    struct pl_process *process = pl_process;
    struct pl_heaps *heaps = &process->heaps;
    uintptr_t to = at + whole_pages(bytes);
    uint64_t signals;
    pl_leaving leaving = 0;
    if (!load_relaxed(&heaps->ranges.made) || to <= at || !lock(process, &signals))
        return 0;
    if (pl_range_reserve(&heaps->ranges, PL_RANGE_NEED))
        leaving = pl_range_detach(&heaps->ranges, &heaps->mapped, at, to);
    else
        pl_file_lost(&process->file, PL_LOSS_MEMORY);
    pl_lock_give(&heaps->lock, signals);
    return leaving;
}

static void book_left(struct pl_process *process, pl_leaving leaving)
{
    struct pl_range piece;
    bool last;
    uint64_t now = pl_timeline_now(process);
    while (pl_range_pop(&process->heaps.ranges, &leaving, &piece, &last)) {
        const struct pl_ledger_entry entry = {
            .ledger = piece.ledger, .bytes = piece.to - piece.from, .units = piece.units, .last = last};
        pl_ledger_freed(process, &entry, now);
    }
}

void pl_mapping_left(pl_leaving leaving, bool really)
{
    struct pl_process *process = pl_process;
    struct pl_heaps *heaps = &process->heaps;
    uint64_t signals;
    if (really)
        pl_python_unmapped();
    if (!leaving || !lock(process, &signals))
        return;
    if (really)
        book_left(process, leaving);
    else
        pl_range_attach(&heaps->ranges, &heaps->mapped, leaving);
    pl_lock_give(&heaps->lock, signals);
}

size_t pl_mapping_bytes(uintptr_t at)
{
    struct pl_process *process = pl_process;
    uint64_t signals;
    if (!load_relaxed(&process->heaps.ranges.made) || !lock(process, &signals))
        return 0;
    uintptr_t end = pl_range_end(&process->heaps.ranges, &process->heaps.mapped, at);
    pl_lock_give(&process->heaps.lock, signals);
    return end ? end - at : 0;
}

/* ---- making ---- */

static bool put(struct pl_process *process, const struct pl_mapping *mapping, uint32_t ledger)
{
    struct pl_heaps *heaps = &process->heaps;
    uint64_t bytes = whole_pages(mapping->bytes), now = pl_timeline_now(process), signals;
    struct pl_range range = {.from = mapping->at, .to = mapping->at + bytes, .units = now, .ledger = ledger};
    if (!lock(process, &signals))
        return false;
    bool room = pl_range_reserve(&heaps->ranges, PL_RANGE_NEED + 1);
    if (room) {
        pl_leaving missed = pl_range_detach(&heaps->ranges, &heaps->mapped, range.from, range.to);
        book_left(process, missed);
        pl_range_put(&heaps->ranges, &heaps->mapped, &range);
        const struct pl_ledger_entry entry = {.ledger = ledger, .bytes = bytes, .units = now};
        pl_ledger_allocated(process, &entry);
        if (mapping->before)
            pl_ledger_moved(process, ledger, 0, mapping->before < bytes ? mapping->before : bytes, mapping->moved);
    } else {
        pl_file_lost(&process->file, PL_LOSS_MEMORY);
    }
    pl_lock_give(&heaps->lock, signals);
    return room;
}

static void record(struct pl_process *process, struct pl_thread *thread, const struct pl_mapping *mapping,
                   const struct pl_start *start)
{
    if (!pl_process_open(process))
        return;
    pl_thread_catch_up(process, thread);
    pl_thread_attach(process, thread);
    if (!thread->record) {
        pl_file_lost(&process->file, PL_LOSS_THREADS);
        return;
    }
    pl_stack_walk(process, thread, start);
    uint32_t stack = pl_stack_number(process, thread), heap = pl_heap_find(process, mapping->heap, NULL);
    uint32_t ledger = heap ? pl_ledger_find(process, thread, heap, stack) : 0;
    if (ledger)
        put(process, mapping, ledger);
}

/* The figures of mappings come from the same clock as malloc's, but not from its floating point: a visit of this kind
 * uses none. */
void pl_mapping_made(const struct pl_mapping *mapping, const struct pl_start *start)
{
    struct pl_process *process = pl_process;
    struct pl_tls *tls = &pl_tls;
    if (!mapping->bytes || !pl_process_on(process) || pl_config.no_mappings || tls->paused ||
        !pl_process_interval(process))
        return;
    uint64_t began = pl_clock();
    struct pl_thread *thread = pl_cold_begin(process, tls);
    if (!thread) {
        pl_file_lost(&process->file, PL_LOSS_MAPPINGS);
        return;
    }
    record(process, thread, mapping, start);
    pl_cold_end(process, thread, tls);
    pl_meter_spend(process, pl_clock() - began, 1);
}
