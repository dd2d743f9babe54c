/* SPDX-License-Identifier: MIT */
/* exact.c - see exact.h. */
#include "exact.h"

#include "arch.h"
#include "clock.h"
#include "cold.h"
#include "eras.h"
#include "settings.h"
#include "tallies.h"

#define UNKNOWN_EVERY 32 /* frees of blocks that are not ours, in a marked granule: then see if it may be unmarked */
#define TALLY_FULL 0xfffffff0u
#define TICKS_MOST (1u << 15) /* a visit: some 10 us. What takes longer was preempted, and stands for 60 others */

/* ---- time ---- */

INLINE uint64_t units_at(const struct pl_process *process, uint64_t ticks)
{
    return (ticks - process->start_ticks) >> PL_UNIT_SHIFT;
}

/* ---- sizes ---- */

/* What was before figures began anew is not to be seen leaving. */
INLINE void count_size(struct pl_bucket *buckets, uint64_t size)
{
    struct pl_bucket *bucket = &buckets[pl_size_bucket(size)];
    bucket->blocks++;
    bucket->bytes += size;
}

static bool is_older(const struct pl_process *process, const struct pl_tally *tally)
{
    uint32_t resets = load_relaxed(&process->resets);
    return unlikely(resets) && tally->reset != (uint16_t) resets;
}

/* Before its figures change: what is freed may have been part of a peak. */
INLINE void shrink(struct pl_process *process, struct pl_thread *thread, const struct pl_tally *tally, uint64_t size)
{
    if (unlikely(is_older(process, tally)))
        return;
    pl_live_shrinks(process, thread, (int64_t) size, 1);
    count_size(thread->gone, size);
}

/* Not on the budget's account: moments become rarer by themselves, and no T makes them cheaper. */
static COLD void take_moment(struct pl_process *process, struct pl_thread *thread)
{
    pl_live_tell(process, thread);
    pl_timeline_take(process, units_at(process, pl_clock()), false);
}

/* The visit that began at `began` is over but for this: now and then it is timed, and a moment of the timeline may be
 * due. */
INLINE void look_at_clock(struct pl_process *process, struct pl_thread *thread, uint64_t began)
{
    if (unlikely(++thread->visits % PL_BUDGET_EVERY == 0)) {
        pl_process_obey(process);
        uint64_t ticks = pl_clock() - began;
        pl_budget_charge(process, ticks < TICKS_MOST ? ticks : TICKS_MOST, PL_BUDGET_EVERY);
    }
    if (unlikely(units_at(process, began) >= load_relaxed(&process->timeline.due)))
        take_moment(process, thread);
}

INLINE void leave(struct pl_process *process, struct pl_thread *thread, uint64_t began)
{
    look_at_clock(process, thread, began);
    pl_cold_end(process, thread, &pl_tls);
}

/* ---- allocating ---- */

void pl_exact_unseen(struct pl_process *process, struct pl_thread *thread)
{
    struct pl_tls *tls = &pl_tls;
    const struct pl_thread_record *record = thread->record_at;
    uint64_t lost, charge;
    if (!record)
        return;
    pl_add(&tls->charge_aside, -exchange(&tls->charge_left, 0));
    do { /* until no handler has counted in between: from here on each of them counts in both */
        charge = pl_thread_charge(thread, tls);
        lost = 0;
        for (int i = 0; i < PL_FN_COUNT; i++)
            lost += thread->base_calls[i] + load_relaxed(&tls->calls[i]) - load_relaxed(&record->calls[i]);
    } while (unlikely(pl_thread_charge(thread, tls) != charge));
    pl_thread_book(process, thread, tls);
    if (lost < UINT32_MAX)
        fetch_add(&pl_file_header(&process->file)->losses[PL_LOSS_NESTED], lost);
}

/* A handler may be counting at this moment: each addition is one instruction. */
INLINE void count_request(struct pl_tls *tls, enum pl_function function, uint64_t size)
{
    pl_add(&tls->calls[function], 1);
    pl_add(&tls->charge_aside, size + PL_CALL_CHARGE);
}

INLINE void count(struct pl_tls *tls, struct pl_thread *thread, enum pl_function function, uint64_t size)
{
    struct pl_thread_record *record = thread->record_at;
    count_request(tls, function, size);
    if (likely(record != NULL)) /* otherwise forked, just now */
        pl_thread_step(record, function, size);
}

INLINE void book(struct pl_process *process, struct pl_tally *tally, uint64_t size)
{
    uint32_t small = size < UINT32_MAX ? (uint32_t) size : UINT32_MAX;
    if (unlikely(tally->era != load_relaxed(&process->era)))
        pl_era_allocated(process, tally);
    tally->calls++;
    tally->bytes += size;
    tally->sizes[pl_size_bucket(size)]++;
    if (unlikely(small < tally->smallest))
        tally->smallest = small;
    if (unlikely(small > tally->largest))
        tally->largest = small;
}

static void book_remotely(struct pl_process *process, struct pl_tally *tally, const struct pl_taken *taken)
{
    struct pl_remote *remote = pl_tally_remote(process, tally);
    if (!remote) {
        pl_file_lost(&process->file, PL_LOSS_MISSED_FREE);
        return;
    }
    uint64_t made = units_at(process, pl_clock()) - taken->units;
    pl_era_remote(process, remote);
    fetch_add(&remote->calls, 1);
    fetch_add(&remote->bytes, taken->size);
    fetch_add(&remote->lives[pl_life_bucket(taken->units)], 1);
    fetch_add(&remote->gone[pl_timeline_cohort(made, tally->cohort_shift)], 1);
    if (unlikely(load_relaxed(&process->exiting))) {
        fetch_add(&remote->exit_calls, 1);
        fetch_add(&remote->exit_bytes, taken->size);
    }
}

static void book_freed(struct pl_process *process, struct pl_tally *tally, const struct pl_taken *taken, uint64_t now,
                       bool temporary)
{
    if (unlikely(tally->freed_era != load_relaxed(&process->era)))
        pl_era_freed(process, tally);
    tally->freed_calls++;
    tally->freed_bytes += taken->size;
    tally->temporaries += temporary;
    tally->lives[pl_life_bucket(taken->units)]++;
    uint32_t cohort = pl_timeline_cohort(now - taken->units, load_relaxed(&process->timeline.shift));
    if (unlikely(cohort != tally->cohort)) {
        tally->gone[cohort]++;
        tally->gone_calls++;
    }
    if (unlikely(load_relaxed(&process->exiting))) {
        tally->exit_calls++;
        tally->exit_bytes += taken->size;
    }
}

INLINE struct pl_tally *tally_of(const struct pl_taken *taken)
{
    return pl_tally_at(taken->word >> PL_BLOCK_TALLY_SHIFT);
}

/* What the table holds is taken out of it. One thread at a time asks about an address: the one it belongs to. */
INLINE bool take(uint64_t *slot, uint64_t now, struct pl_taken *taken)
{
    uint64_t word = *slot;
    if (!word)
        return false;
    slot[0] = 0;
    if (unlikely(!(word >> PL_BLOCK_TALLY_SHIFT))) /* a size, left behind by a block whose free went round us */
        return false;
    taken->word = word;
    taken->size = word & PL_BLOCK_SIZE_NEXT;
    taken->units = (now - (word >> PL_BLOCK_TIME_SHIFT)) & PL_BLOCK_TIME_MASK;
    if (taken->size == PL_BLOCK_SIZE_NEXT) {
        taken->size = slot[1];
        slot[1] = 0;
    }
    return true;
}

/* An address that is in the table already was freed in a way we cannot see. */
void pl_exact_missed(struct pl_process *process, struct pl_thread *thread, const struct pl_taken *missed)
{
    struct pl_tally *tally = tally_of(missed);
    pl_file_lost(&process->file, PL_LOSS_MISSED_FREE);
    shrink(process, thread, tally, missed->size);
    if (tally->owner == thread->record)
        book_freed(process, tally, missed, units_at(process, pl_clock()), false);
    else
        book_remotely(process, tally, missed);
}

static COLD void forget_missed(struct pl_process *process, struct pl_thread *thread, uint64_t *slot, uint64_t now)
{
    struct pl_taken missed;
    if (take(slot, now, &missed))
        pl_exact_missed(process, thread, &missed);
}

static COLD uint64_t *no_slot(struct pl_process *process, void *block)
{
    if (!process->blocks.granule_shift) /* by now there is an allocator to look at */
        process->blocks.granule_shift = pl_front.granule_shift();
    uint64_t *slot = pl_block_make(&process->blocks, (uintptr_t) block);
    if (!slot)
        pl_file_lost(&process->file, PL_LOSS_LIVE_FULL);
    return slot;
}

INLINE void put(uint64_t *slot, uint64_t tally, uint64_t now, uint64_t size)
{
    uint64_t small = size < PL_BLOCK_SIZE_NEXT ? size : PL_BLOCK_SIZE_NEXT;
    if (small == PL_BLOCK_SIZE_NEXT)
        slot[1] = size;
    slot[0] = tally << PL_BLOCK_TALLY_SHIFT | (now & PL_BLOCK_TIME_MASK) << PL_BLOCK_TIME_SHIFT | small;
}

/* Its free would not be seen, so it must not seem to live for ever. */
static COLD void book_unseen(struct pl_process *process, struct pl_thread *thread, struct pl_tally *tally,
                             uint64_t size, uint64_t now)
{
    struct pl_taken taken = {.size = size};
    shrink(process, thread, tally, size);
    book_freed(process, tally, &taken, now, false);
}

void pl_exact_allocated(enum pl_function function, uint64_t size, void *block, const struct pl_start *start)
{
    struct pl_process *process = pl_process;
    struct pl_tls *tls = &pl_tls;
    struct pl_thread *thread = pl_thread_mine(tls);
    uint64_t began = pl_clock(); /* first: it waits for whatever is under way */
    uint64_t *slot = pl_block_find(&process->blocks, (uintptr_t) block);
    struct pl_tracker *tracker = likely(thread != NULL) ? thread->tracker : NULL;
    __builtin_prefetch(slot, 1);
    if (unlikely(!tracker)) { /* a handler has forked inside of the real malloc, and this is the child */
        count_request(tls, function, size);
        return;
    }
    pl_tally_prefetch(tracker);
    count(tls, thread, function, size);
    if (unlikely(thread->busy)) {
        pl_file_lost(&process->file, PL_LOSS_NESTED);
        return;
    }
    pl_thread_enter(thread, tls, pl_stack_pointer());
    uint32_t place = likely(size - thread->size_from <= thread->size_span)
                         ? pl_tally_find(process, thread, tracker, start)
                         : pl_tally_other(process, thread);
    if (likely(place)) {
        uint64_t now = units_at(process, began);
        struct pl_tally *tally = pl_tally_at(place);
        if (unlikely(!slot))
            slot = no_slot(process, block);
        if (unlikely(slot && *slot))
            forget_missed(process, thread, slot, now);
        book(process, tally, size);
        pl_live_grows(process, thread, (int64_t) size, 1);
        count_size(thread->made, size);
        thread->last_block = block;
        if (likely(slot)) {
            put(slot, place, now, size);
            pl_filter_mark_exact(block);
        } else {
            book_unseen(process, thread, tally, size, now);
        }
        if (unlikely(tally->calls >= TALLY_FULL))
            pl_tally_next_volume(thread);
    } else {
        pl_file_lost(&process->file, PL_LOSS_TABLE_FULL);
    }
    leave(process, thread, began);
}

void pl_exact_realloc(const void *block, uint64_t old_bytes, bool moved)
{
    struct pl_process *process = pl_process;
    const uint64_t *slot = pl_block_find(&process->blocks, (uintptr_t) block);
    if (!slot || !*slot)
        return;
    struct pl_tally *tally = pl_tally_at(*slot >> PL_BLOCK_TALLY_SHIFT);
    uint64_t size = *slot & PL_BLOCK_SIZE_NEXT, bytes = size == PL_BLOCK_SIZE_NEXT ? slot[1] : size;
    tally->realloc_calls++;
    if (moved)
        tally->realloc_moved += old_bytes < bytes ? old_bytes : bytes;
    else
        tally->realloc_in_place++;
}

/* ---- freeing ---- */

bool pl_exact_take(void *block, struct pl_taken *taken)
{
    struct pl_process *process = pl_process;
    uint64_t *slot = pl_block_find(&process->blocks, (uintptr_t) block);
    taken->word = 0;
    return slot && block && *slot && take(slot, units_at(process, pl_clock()), taken);
}

/* A handler's free inside our own visit may be changing the very tally that the visit is changing: it goes the others'
 * way. So does a thread without a block. */
INLINE struct pl_thread *able_thread(void)
{
    struct pl_thread *thread = pl_thread_mine(&pl_tls);
    return likely(thread && !thread->busy && thread->record) ? thread : NULL;
}

static void shrink_aside(struct pl_process *process, const struct pl_tally *tally, uint64_t size)
{
    struct pl_bucket *bucket = &process->gone[pl_size_bucket(size)];
    if (is_older(process, tally))
        return;
    pl_live_shrank(process, (int64_t) size, 1);
    fetch_add(&bucket->blocks, 1);
    fetch_add(&bucket->bytes, size);
}

static COLD void freed_by_other(struct pl_process *process, struct pl_tally *tally, const struct pl_taken *taken)
{
    if (unlikely(load_acquire(&process->state) == PL_PROCESS_ENDING))
        pl_process_start(process); /* waits */
    struct pl_thread *thread = able_thread();
    if (!thread) {
        shrink_aside(process, tally, taken->size);
        book_remotely(process, tally, taken);
        return;
    }
    pl_thread_enter(thread, &pl_tls, pl_stack_pointer());
    shrink(process, thread, tally, taken->size);
    book_remotely(process, tally, taken);
    leave(process, thread, pl_clock());
}

INLINE void freed(struct pl_process *process, const void *block, const struct pl_taken *taken, uint64_t began)
{
    struct pl_tally *tally = tally_of(taken);
    struct pl_thread *thread = able_thread();
    if (unlikely(!thread || tally->owner != thread->record || load_relaxed(&process->state) != PL_PROCESS_ON)) {
        freed_by_other(process, tally, taken);
        return;
    }
    pl_thread_enter(thread, &pl_tls, pl_stack_pointer());
    shrink(process, thread, tally, taken->size);
    book_freed(process, tally, taken, units_at(process, began), block && block == thread->last_block);
    leave(process, thread, began);
}

void pl_exact_freed(const void *block, const struct pl_taken *taken)
{
    freed(pl_process, block, taken, pl_clock());
}

void pl_exact_restore(void *block, const struct pl_taken *taken)
{
    struct pl_process *process = pl_process;
    uint64_t *slot = pl_block_find(&process->blocks, (uintptr_t) block);
    if (slot)
        put(slot, taken->word >> PL_BLOCK_TALLY_SHIFT, units_at(process, pl_clock()) - taken->units, taken->size);
    pl_filter_mark_exact(block);
}

bool pl_exact_free(void *block)
{
    struct pl_taken taken;
    if (unlikely(load_relaxed(pl_filter_byte(block)) != PL_FILTER_EXACT))
        return false;
    struct pl_process *process = pl_process; /* not before: we may not be relocated yet */
    uint64_t began = likely(load_relaxed(&process->counting)) ? pl_clock() : 0;
    uint64_t *slot = pl_block_find(&process->blocks, (uintptr_t) block);
    if (unlikely(!slot || !*slot)) {
        if (unlikely(++pl_tls.unknown % UNKNOWN_EVERY == 0))
            pl_cold_unknown(block);
        return true;
    }
    if (unlikely(!began))
        began = pl_clock();
    if (likely(take(slot, units_at(process, began), &taken)))
        freed(process, block, &taken, began);
    return true;
}
