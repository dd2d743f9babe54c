/* SPDX-License-Identifier: MIT */
/* tallies.c - see tallies.h. */
#include "core/records/tallies.h"

#include "core/blocks/blocks.h"
#include "core/hash.h"
#include "core/memory.h"
#include "core/records/rows.h"
#include "core/records/smalls.h"
#include "core/records/stacks.h"

#define KEY_TALLY 0x74616c6c79u

/* ---- the tracker ---- */

#define SEVERAL 8 /* stacks: now the thread is likely to have many */

static uint32_t entries(const struct pl_tracker *tracker)
{
    return 1u << (64 - tracker->shift);
}

static uint32_t home_of(const struct pl_tracker *tracker, uint64_t hash)
{
    return (uint32_t) (hash * 0x9e3779b97f4a7c15u >> tracker->shift);
}

static void clear(struct pl_tracker *tracker)
{
    for (uint32_t i = 0; i < entries(tracker); i++)
        tracker->seen[i].hash = 0;
    tracker->used = tracker->last = tracker->predicted = 0;
}

bool pl_tally_track(struct pl_process *process, struct pl_thread *thread)
{
    if (likely(thread->tracker))
        return true;
    uint64_t began = pl_meter_begin(process);
    size_t own = (sizeof(struct pl_tracker) + 63) & ~(size_t) 63;
    struct pl_tracker *tracker = pl_memory_kept(pl_memory_pages(own + pl_trace_bytes));
    if (!tracker) {
        pl_file_lost(&process->file, PL_LOSS_MEMORY);
        return false;
    }
    tracker->seen = tracker->first;
    tracker->shift = 64 - PL_SEEN_FIRST_LOG2;
    tracker->trace = (struct pl_trace *) (void *) ((uint8_t *) tracker + own);
    signal_fence();
    thread->tracker = tracker;
    pl_meter_aside(process, began);
    return true;
}

bool pl_tally_ready(struct pl_process *process, struct pl_thread *thread)
{
    if (!thread->record || !pl_tally_track(process, thread))
        return false;
    if (unlikely(!thread->overflow_tally))
        pl_tally_overflow(process, thread); /* now, while the file has room */
    return true;
}

void pl_tally_forget(struct pl_thread *thread)
{
    if (thread->tracker)
        pl_trace_forget(thread->tracker->trace);
}

void pl_tally_next_volume(struct pl_thread *thread)
{
    thread->volume++;
    thread->overflow_tally = thread->other_tally = 0;
    if (thread->tracker)
        clear(thread->tracker);
}

/* Returns the index of the hash's entry, or of the empty entry where it belongs. */
static uint32_t probe(const struct pl_tracker *tracker, uint64_t hash)
{
    uint32_t mask = entries(tracker) - 1, i = home_of(tracker, hash);
    while (tracker->seen[i].hash != hash && tracker->seen[i].hash)
        i = (i + 1) & mask;
    return i;
}

static COLD bool grow(struct pl_tracker *tracker)
{
    uint32_t count = entries(tracker);
    struct pl_seen *old = tracker->seen, *new = pl_memory_kept(2 * (size_t) count * sizeof *new);
    if (!new)
        return false;
    pl_memory_expect(new, 2 * (size_t) count * sizeof *new);
    tracker->last = tracker->predicted = 0;
    signal_fence();
    tracker->seen = new; /* if left by longjmp from here on, entries are missing: the slow path will find them again */
    signal_fence();      /* the larger table first, then its size */
    tracker->shift--;
    signal_fence();
    for (uint32_t i = 0; i < count; i++)
        if (old[i].hash)
            new[probe(tracker, old[i].hash)] = (struct pl_seen){old[i].hash, old[i].tally, 0};
    if (old != tracker->first)
        pl_memory_free(old, (size_t) count * sizeof *old);
    return true;
}

/* ---- records ---- */

uint32_t pl_tally_place(const struct pl_process *process, const struct pl_tally *tally)
{
    return (uint32_t) ((uint64_t) ((const uint8_t *) tally - process->file.base) / 64);
}

/* 0 if there is no room. */
static uint32_t write_tally(struct pl_process *process, struct pl_thread *thread, uint32_t site)
{
    void *at;
    uint32_t number = pl_file_append(&process->file, PL_KIND_TALLY, &at);
    struct pl_tally *tally = at;
    if (!number || pl_tally_place(process, at) > PL_BLOCK_TALLY_MAX)
        return 0;
    tally->thread = thread->record;
    tally->number = number;
    tally->smallest = UINT32_MAX;
    tally->era = tally->freed_era = load_relaxed(&process->era);
    pl_tally_begin_cohort(tally, load_relaxed(&process->timeline.cohort));
    tally->cohort_shift = (uint8_t) load_relaxed(&process->timeline.shift);
    tally->reset = (uint16_t) thread->reset;
    store_release(&tally->site, site); /* publish */
    return pl_tally_place(process, tally);
}

bool pl_tally_is_first(const struct pl_process *process, uint32_t site)
{
    const struct pl_site *record = pl_file_record(&process->file, PL_KIND_SITE, site);
    return site == PL_SITE_OVERFLOW || record->kind == PL_SITE_OTHER_SIZES;
}

uint32_t pl_tally_overflow(struct pl_process *process, struct pl_thread *thread)
{
    if (!thread->overflow_tally)
        thread->overflow_tally = write_tally(process, thread, PL_SITE_OVERFLOW);
    return thread->overflow_tally;
}

static struct pl_remote *remote_at(struct pl_process *process, uint32_t *field, uint32_t owner)
{
    void *at;
    uint32_t number = load_acquire(field);
    if (unlikely(!number)) {
        number = pl_file_append(&process->file, PL_KIND_REMOTE, &at);
        if (!number)
            return NULL;
        struct pl_remote *remote = at;
        remote->era = load_relaxed(&process->era);
        store_release(&remote->tally, owner);
        if (!swap_if(field, 0, number)) /* another thread was faster; ours stays empty */
            number = load_acquire(field);
    }
    return pl_file_record(&process->file, PL_KIND_REMOTE, number);
}

struct pl_remote *pl_tally_remote(struct pl_process *process, struct pl_tally *tally)
{
    return remote_at(process, &tally->remote, tally->number);
}

struct pl_remote *pl_tally_small_remote(struct pl_process *process, struct pl_small *small)
{
    uint32_t number = load_relaxed(&small->remote) ? 0 : pl_file_number(&process->file, PL_KIND_SMALL, small);
    return remote_at(process, &small->remote, number | PL_SMALL_MARK);
}

/* ---- finding ---- */

static uint32_t resolve(struct pl_process *process, struct pl_thread *thread, uint32_t stack)
{
    struct pl_slot *slot = NULL;
    if (stack)
        slot = pl_map_slot(&process->map, pl_row_key(thread, stack, KEY_TALLY));
    if (!slot)
        return pl_tally_overflow(process, thread);
    uint32_t place = load_acquire(&slot->id);
    if (place)
        return place;
    uint32_t site = pl_row_site(process, stack, pl_tls.tag);
    if (site == PL_SITE_OVERFLOW)
        return pl_tally_overflow(process, thread);
    place = stack == PL_STACK_OTHER ? write_tally(process, thread, site) : pl_small_write(process, thread, site);
    return place ? pl_map_settle(slot, place) : pl_tally_overflow(process, thread);
}

static OUT_OF_LINE COLD void expect_many(struct pl_tracker *tracker)
{
    pl_memory_expect(tracker, (size_t) ((uint8_t *) tracker->trace - (uint8_t *) tracker) + pl_trace_soon_bytes);
}

/* A hash that this thread has not seen. If the table cannot grow, the hash takes the slow path each time. */
static COLD uint32_t learn(struct pl_process *process, struct pl_thread *thread, struct pl_tracker *tracker,
                           uint64_t hash)
{
    uint32_t tally = resolve(process, thread, pl_stack_number(process, thread));
    if (!tally || tally == thread->overflow_tally)
        return tally;
    if (tracker->used >= entries(tracker) / 2 && !grow(tracker))
        return tally;
    uint32_t i = probe(tracker, hash);
    tracker->seen[i].tally = tally;
    tracker->seen[i].next = i;
    signal_fence();
    tracker->seen[i].hash = hash;
    if (++tracker->used == SEVERAL)
        expect_many(tracker);
    tracker->seen[tracker->last].next = i;
    tracker->last = i;
    tracker->predicted = i;
    return tally;
}

uint32_t pl_tally_search(struct pl_process *process, struct pl_thread *thread, struct pl_tracker *tracker,
                         const struct pl_start *start, uint64_t hash)
{
    uint32_t generation = load_relaxed(&process->generation);
    bool walked = false;
    if (!hash)
        hash = pl_python_with(thread, pl_trace_stack(tracker->trace, &thread->walk, start, generation));
    if (unlikely(!hash)) {
        pl_stack_walk(process, thread, start);
        hash = pl_row_hash(&thread->walk, generation);
        walked = true;
    }
    hash = pl_tally_salted(thread, hash);
    uint32_t i = probe(tracker, hash);
    if (unlikely(!tracker->seen[i].hash)) {
        if (!walked)
            pl_stack_walk(process, thread, start);
        return learn(process, thread, tracker, hash);
    }
    tracker->seen[tracker->last].next = i;
    return pl_tally_expect_next(tracker, i);
}

uint32_t pl_tally_other(struct pl_process *process, struct pl_thread *thread)
{
    if (unlikely(!thread->other_tally || thread->other_tag != pl_tls.tag)) {
        thread->other_tally = resolve(process, thread, PL_STACK_OTHER);
        thread->other_tag = pl_tls.tag;
    }
    return thread->other_tally;
}
