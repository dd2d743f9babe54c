/* SPDX-License-Identifier: MIT */
/* exact.c - see exact.h. */
#include "core/exact_parts.h"
#include "core/exact.h"

#include "core/arch.h"
#include "core/clock.h"
#include "core/cold.h"
#include "core/control.h"
#include "core/hash.h"
#include "core/records/eras.h"
#include "core/records/smalls.h"
#include "format/settings.h"

#define RESTORES_MOST 1000000 /* tens of ms: the other thread may have been stopped */
#define LONE_FREES_LOG2 6     /* at one free in 64, a thread that has not allocated anything gets a block */
#define TALLY_FULL 0xfffffff0u

/* Is a record from before a reset? Frees of its blocks are not counted in live totals and sizes. `reset` is in the
 * record, and read only if there was a reset. */
INLINE bool is_older(const struct pl_process *process, const uint16_t *reset)
{
    uint32_t resets = load_relaxed(&process->resets);
    return unlikely(resets) && *reset != (uint16_t) resets;
}

/* To be called before a record's figures change: the freed block may be part of a peak that is declared here. */
INLINE void shrink(struct pl_process *process, struct pl_thread *thread, uint64_t size)
{
    pl_era_shrinks(process, thread, (int64_t) size, 1);
    pl_exact_count_size(thread->gone, size);
}

static void shrink_unless_older(struct pl_process *process, struct pl_thread *thread, const uint16_t *reset,
                                uint64_t size)
{
    if (!is_older(process, reset))
        shrink(process, thread, size);
}

/* Not charged to the budget: moments become rarer by themselves, and sampling would not make them cheaper. */
static COLD void take_moment(struct pl_process *process, struct pl_thread *thread)
{
    uint64_t began = pl_meter_begin(process);
    pl_era_tell(process, thread);
    pl_timeline_take(process, pl_exact_units(process, pl_clock()), false);
    pl_meter_aside(process, began);
}

/* How often exact mode looks for requests from outside, in units: some 10 ms. A thread that allocates less often looks
 * at each allocation. */
#define ALARM_UNITS (1u << 13)

static COLD void on_alarm(struct pl_process *process, struct pl_thread *thread, uint64_t now)
{
    if (now >= load_relaxed(&process->timeline.due))
        take_moment(process, thread);
    pl_process_obey(process);
    if (pl_control_pending(process))
        pl_meter_spend(process, 0, 1);
    uint64_t due = load_relaxed(&process->timeline.due);
    store_relaxed(&process->alarm, due < now + ALARM_UNITS ? due : now + ALARM_UNITS);
}

void pl_exact_leave_timed(struct pl_thread *thread, uint64_t began)
{
    struct pl_process *process = pl_process;
    bool interrupted = load_relaxed(&thread->slept);
    thread->untimed = interrupted ? PL_BUDGET_EVERY / 2 : PL_BUDGET_EVERY - 1;
    pl_process_obey(process);
    uint64_t ticks = pl_clock_after() - began, most = PL_BUDGET_TIMED_TICKS_MOST;
    if (!interrupted)
        pl_meter_spend(process, ticks < most ? ticks : most, PL_BUDGET_EVERY);
    pl_cold_end(process, thread, &pl_tls);
}

/* Ends a visit that began at `began`. Looks at the timeline and the control words, if it is time for that at `now`, in
 * units. */
static OUT_OF_LINE void leave_at(struct pl_process *process, struct pl_thread *thread, uint64_t began, uint64_t now)
{
    if (unlikely(pl_exact_is_alarmed(process, now)))
        on_alarm(process, thread, now);
    if (pl_exact_is_timed(thread))
        pl_exact_leave_timed(thread, began);
    else
        pl_cold_end(process, thread, &pl_tls);
}

/* ---- allocating ---- */

/* The calling thread, if it may write to its own tallies now. NULL if it has no block or record, or if we are in a
 * signal handler inside one of its visits, which may be changing the same tally: then book as another thread would. */
INLINE struct pl_thread *able_thread(void)
{
    struct pl_thread *thread = pl_thread_mine(&pl_tls);
    return likely(thread && !thread->busy && thread->record) ? thread : NULL;
}

void pl_exact_unseen(void)
{
    struct pl_process *process = pl_process;
    struct pl_tls *tls = &pl_tls;
    struct pl_thread *thread = pl_thread_mine(tls);
    const struct pl_thread_record *record = thread ? thread->record_at : NULL;
    uint64_t lost, charge;
    if (!record)
        return;
    pl_arch_add(&tls->charge_aside, -exchange(&tls->charge_left, 0));
    do { /* until no signal handler has counted in between: from here on, a handler's calls are in both counters */
        charge = pl_thread_charge(thread, tls);
        lost = 0;
        for (int i = 0; i < PL_FN_COUNT; i++)
            lost += thread->base_calls[i] + load_relaxed(&tls->calls[i]) - load_relaxed(&record->calls[i]);
    } while (unlikely(pl_thread_charge(thread, tls) != charge));
    pl_thread_book(process, thread, tls);
    if (lost < UINT32_MAX)
        fetch_add(&pl_file_header(&process->file)->losses[PL_LOSS_NESTED], lost);
}

INLINE void book(struct pl_process *process, struct pl_tally *tally, uint64_t size)
{
    uint32_t small = size < UINT32_MAX ? (uint32_t) size : UINT32_MAX;
    if (unlikely(tally->era != load_relaxed(&process->era)))
        pl_era_allocated(process, tally);
    tally->calls++;
    tally->bytes += size;
    tally->sizes[pl_sums_size_bucket(size)]++;
    if (unlikely(small < tally->smallest))
        tally->smallest = small;
    if (unlikely(small > tally->largest))
        tally->largest = small;
}

/* ---- tallies and small records ---- */

/* The record that a block is counted in: a tally; or a small record that has not grown, and then `tally` is NULL. */
struct counter {
    struct pl_tally *tally;
    struct pl_small *small;
};

static OUT_OF_LINE struct counter counter_at(const struct pl_process *process, uint64_t place)
{
    struct pl_small *small = pl_small_at((uint32_t) place);
    if (load_relaxed(&small->site) & PL_SMALL_MARK)
        return (struct counter){pl_small_grown(process, small), small};
    return (struct counter){pl_tally_at(place), NULL};
}

static uint32_t owner_of(struct counter counter)
{
    return counter.tally ? counter.tally->thread : counter.small->thread;
}

static const uint16_t *reset_of(struct counter counter)
{
    return counter.tally ? &counter.tally->reset : &counter.small->reset;
}

static void book_remotely(struct pl_process *process, struct counter counter, uint64_t size, uint64_t units,
                          uint64_t now)
{
    struct pl_tally *tally = counter.tally;
    struct pl_remote *remote = tally ? pl_tally_remote(process, tally) : pl_tally_small_remote(process, counter.small);
    uint32_t shift = tally ? tally->cohort_shift : counter.small->cohort_shift;
    if (!remote) {
        pl_file_lost(&process->file, PL_LOSS_MISSED_FREE);
        return;
    }
    pl_era_remote(process, remote);
    fetch_add(&remote->calls, 1);
    fetch_add(&remote->bytes, size);
    fetch_add(&remote->lives[pl_sums_life_bucket(units)], 1);
    fetch_add(&remote->gone[pl_timeline_cohort(now - units, shift)], 1);
    if (unlikely(load_relaxed(&process->exiting))) {
        fetch_add(&remote->exit_calls, 1);
        fetch_add(&remote->exit_bytes, size);
    }
}

/* `made`: when the block was allocated, in units. */
INLINE void book_freed(struct pl_process *process, struct pl_tally *tally, const struct pl_taken *taken, uint64_t made,
                       bool temporary)
{
    if (unlikely(tally->freed_era != load_relaxed(&process->era)))
        pl_era_freed(process, tally);
    tally->freed_calls++;
    tally->freed_bytes += taken->size;
    tally->temporaries += temporary;
    tally->lives[pl_sums_life_bucket(taken->units)]++;
    uint32_t cohort = pl_timeline_cohort(made, load_relaxed(&process->timeline.shift));
    if (unlikely(cohort != tally->owner >> PL_OWNER_COHORT_SHIFT)) {
        tally->gone[cohort]++;
        tally->gone_calls++;
    }
}

static OUT_OF_LINE void book_freed_ever(struct pl_process *process, struct pl_tally *tally,
                                        const struct pl_taken *taken, uint64_t now, bool temporary)
{
    book_freed(process, tally, taken, now - taken->units, temporary);
    if (unlikely(load_relaxed(&process->exiting))) {
        tally->exit_calls++;
        tally->exit_bytes += taken->size;
    }
}

/* By the owner. If a small record must grow and the file has no room, a lifetime is lost, and counted as such. */
static OUT_OF_LINE void book_freed_first(struct pl_process *process, struct pl_small *small,
                                         const struct pl_taken *taken, uint64_t now, bool temporary)
{
    if (pl_small_freed(process, small, taken->size, taken->units, now, temporary))
        return;
    struct pl_tally *tally = pl_small_grow(process, small);
    if (tally)
        book_freed_ever(process, tally, taken, now, temporary);
    else if (!pl_small_freed_only(process, small, taken->size))
        book_remotely(process, (struct counter){.small = small}, taken->size, taken->units, now);
}

/* By the owner, inside of a visit. */
static OUT_OF_LINE void book_mine(struct pl_process *process, struct counter counter, const struct pl_taken *taken,
                                  uint64_t now, bool temporary)
{
    if (counter.tally)
        book_freed_ever(process, counter.tally, taken, now, temporary);
    else
        book_freed_first(process, counter.small, taken, now, temporary);
}

/* Takes a block out of its slot, which may be a large one. No lock: only the thread that owns an address asks about it.
 */
INLINE bool take(uint64_t *slot, bool large, uint64_t now, struct pl_taken *taken)
{
    uint64_t word = *slot;
    if (!word)
        return false;
    slot[0] = 0;
    if (unlikely(!(word >> PL_BLOCK_TALLY_SHIFT))) /* the second slot of an older block whose free we did not see */
        return false;
    taken->word = word;
    taken->size = word & PL_BLOCK_SIZE_NEXT;
    uint64_t made = pl_exact_made(word);
    taken->units = likely(now > made) ? now - made : 0;
    if (large || taken->size == PL_BLOCK_SIZE_NEXT) {
        taken->size = slot[1];
        slot[1] = 0;
    }
    return true;
}

void pl_exact_missed(struct pl_process *process, struct pl_thread *thread, const struct pl_taken *missed)
{
    struct counter counter = counter_at(process, missed->word >> PL_BLOCK_TALLY_SHIFT);
    uint64_t now = pl_exact_units(process, pl_clock());
    pl_file_lost(&process->file, PL_LOSS_MISSED_FREE);
    shrink_unless_older(process, thread, reset_of(counter), missed->size);
    if (owner_of(counter) == thread->record)
        book_mine(process, counter, missed, now, false);
    else
        book_remotely(process, counter, missed->size, missed->units, now);
}

/* Does a new block, which will be put into `slot`, lie where the table has one whose free we did not see? In the 128
 * bytes where a large block begins, no other large one can begin; a small one can begin beside it. */
INLINE bool is_taken(const struct pl_blocks *blocks, uint64_t *slab, const uint64_t *slot, uintptr_t address,
                     uint64_t size)
{
    if (unlikely(*slot))
        return true;
    if (unlikely(size >= PL_BLOCK_LARGE))
        return slab[pl_block_index(blocks, address)];
    uint64_t large = load_relaxed(pl_block_large(slab, address));
    return unlikely(large) && pl_block_is_large_at(large, address);
}

static COLD void forget_missed(struct pl_process *process, struct pl_thread *thread, uint64_t *slab, uintptr_t address,
                               uint64_t size, uint64_t now)
{
    struct pl_taken missed;
    uint64_t *large = pl_block_large(slab, address);
    if (take(&slab[pl_block_index(&process->blocks, address)], false, now, &missed))
        pl_exact_missed(process, thread, &missed);
    if ((size >= PL_BLOCK_LARGE || pl_block_is_large_at(*large, address)) && take(large, true, now, &missed))
        pl_exact_missed(process, thread, &missed);
}

/* Auto mode goes on with samples, which need less memory: this visit looks as it ends. */
static void give_up_following(struct pl_process *process, struct pl_thread *thread)
{
    pl_file_lost(&process->file, PL_LOSS_LIVE_FULL);
    if (pl_config.mode != PL_MODE_AUTO || load_relaxed(&process->budget.cramped))
        return;
    store_relaxed(&process->budget.cramped, true);
    store_relaxed(&process->budget.next_look, 0);
    thread->untimed = 0;
}

static COLD uint64_t *no_slab(struct pl_process *process, struct pl_thread *thread, void *block)
{
    if (!process->blocks.granule_shift) /* asked here because the allocator is known by now */
        process->blocks.granule_shift = pl_front.granule_shift();
    if (pl_block_make(&process->blocks, (uintptr_t) block))
        return pl_block_slab(&process->blocks, (uintptr_t) block);
    give_up_following(process, thread);
    return NULL;
}

INLINE void put(uint64_t *slot, uint64_t tally, uint64_t now, uintptr_t address, uint64_t size)
{
    uint64_t low = size < PL_BLOCK_SIZE_NEXT ? size : PL_BLOCK_SIZE_NEXT;
    if (low == PL_BLOCK_SIZE_NEXT)
        slot[1] = size;
    if (size >= PL_BLOCK_LARGE)
        low = pl_block_within(address);
    slot[0] = tally << PL_BLOCK_TALLY_SHIFT | pl_block_time_stored(now) << PL_BLOCK_TIME_SHIFT | low;
    signal_fence(); /* the caller looks at the filter after this, not before: see pl_cold_unknown() */
}

/* We will not see the block's free, so book it as freed now: otherwise it would look like a leak. */
static COLD void book_unseen(struct pl_process *process, struct pl_thread *thread, uint64_t place, uint64_t size,
                             uint64_t now)
{
    struct pl_taken taken = {.size = size};
    struct counter counter = counter_at(process, place);
    shrink_unless_older(process, thread, reset_of(counter), size);
    book_mine(process, counter, &taken, now, false);
}

/* The slot of a new block; NULL if there is no memory for one. What the table still knows there was freed unseen. */
static uint64_t *slot_for(struct pl_process *process, struct pl_thread *thread, void *block, uint64_t size,
                          uint64_t now)
{
    uintptr_t address = (uintptr_t) block;
    uint64_t *slab = pl_block_slab(&process->blocks, address);
    if (!slab)
        slab = no_slab(process, thread, block);
    if (!slab)
        return NULL;
    uint64_t *slot = pl_block_slot(&process->blocks, slab, address, size);
    if (is_taken(&process->blocks, slab, slot, address, size))
        forget_missed(process, thread, slab, address, size, now);
    return slot;
}

/* The block was counted in the record at this place. */
INLINE void enter_block(struct pl_process *process, struct pl_thread *thread, void *block, uint64_t *slot,
                        uint32_t place, uint64_t size, uint64_t now)
{
    pl_era_grows(process, thread, (int64_t) size, 1);
    pl_exact_count_size(thread->made, size);
    thread->last_block = block;
    if (likely(slot)) {
        put(slot, place, now, (uintptr_t) block, size);
        pl_filter_mark_exact(block);
    } else {
        book_unseen(process, thread, place, size, now);
    }
}

INLINE void allocated(struct pl_process *process, struct pl_thread *thread, void *block, uint64_t *slot, uint32_t place,
                      uint64_t size, uint64_t now)
{
    struct pl_tally *tally = pl_tally_at(place);
    book(process, tally, size);
    enter_block(process, thread, block, slot, place, size, now);
    if (unlikely(tally->calls >= TALLY_FULL))
        pl_tally_next_volume(thread);
}

/* The place to go on at, because the small record at `place` has no room: that of the tally that replaces it. */
static OUT_OF_LINE uint32_t grown_place(struct pl_process *process, struct pl_thread *thread, struct pl_small *small,
                                        uint32_t place)
{
    const struct pl_tally *tally = pl_small_grow(process, small);
    if (!tally)
        return pl_tally_overflow(process, thread);
    uint32_t grown = pl_tally_place(process, tally);
    pl_tally_replace(thread->tracker, place, grown);
    return grown;
}

/* The stack has a small record, or had one when its hash was last used. If that must grow and the file has no room, the
 * block goes to the overflow site, as those of stacks without a record do. */
static OUT_OF_LINE void allocated_first(struct pl_process *process, struct pl_thread *thread, void *block,
                                        uint64_t *slot, uint32_t place, uint64_t size, uint64_t now)
{
    struct pl_small *small = pl_small_at(place);
    if (!pl_small_grown(process, small) && pl_small_allocated(process, small, size))
        enter_block(process, thread, block, slot, place & ~PL_PLACE_SMALL, size, now);
    else if ((place = grown_place(process, thread, small, place)) != 0)
        allocated(process, thread, block, slot, place, size, now);
}

/* Nothing is kept for the caller, so that its frame stays small. Place 0: the file has no room for a record, and has
 * counted that. */
void pl_exact_allocated_otherwise(struct pl_thread *thread, void *block, uint32_t place, uint64_t size, uint64_t began)
{
    struct pl_process *process = pl_process;
    uint64_t now = pl_exact_units(process, began);
    if (place) {
        uint64_t *slot = slot_for(process, thread, block, size, now);
        if (unlikely(now >= load_relaxed(&process->timeline.due)))
            pl_timeline_turn(process, now);
        if (place & PL_PLACE_SMALL)
            allocated_first(process, thread, block, slot, place, size, now);
        else
            allocated(process, thread, block, slot, place, size, now);
    }
    leave_at(process, thread, began, now);
}

void pl_exact_leave_forked(enum pl_function function, uint64_t size)
{
    struct pl_tls *tls = &pl_tls;
    tls->ticket = 0;
    pl_exact_count_request(tls, function, size);
}

void pl_exact_allocated_late(enum pl_function function, uint64_t size, void *block, const struct pl_start *start)
{
    struct pl_process *process = pl_process;
    struct pl_tls *tls = &pl_tls;
    struct pl_thread *thread = pl_thread_mine(tls);
    uint64_t began = pl_clock();
    if (!thread || !thread->tracker) { /* a signal handler forked inside of the real malloc, and this is the child */
        pl_exact_count_request(tls, function, size);
        return;
    }
    pl_exact_count(tls, thread->record_at, function, size);
    if (thread->busy) {
        pl_file_lost(&process->file, PL_LOSS_NESTED);
        return;
    }
    pl_thread_enter(thread, tls, pl_arch_stack_pointer());
    uint32_t place = pl_exact_place(process, thread, thread->tracker, start, size);
    pl_exact_allocated_otherwise(thread, block, place, size, began);
}

/* A visit, since the record may grow. Returns the tally to write to: NULL if the small record had room, or cannot be
 * written to. */
static OUT_OF_LINE struct pl_tally *reallocated_first(struct pl_process *process, struct pl_small *small, bool moved)
{
    struct pl_tally *tally = NULL;
    struct pl_thread *thread = able_thread();
    if (!thread || small->thread != thread->record)
        return NULL;
    pl_thread_enter(thread, &pl_tls, pl_arch_stack_pointer());
    if (pl_small_grown(process, small) || !pl_small_reallocated(small, moved))
        tally = pl_small_grow(process, small);
    pl_cold_end(process, thread, &pl_tls);
    return tally;
}

void pl_exact_realloc(const void *block, uint64_t old_bytes, bool moved)
{
    struct pl_process *process = pl_process;
    bool large;
    const uint64_t *slot = pl_block_known(&process->blocks, (uintptr_t) block, &large);
    if (!slot ||
        !(*slot >> PL_BLOCK_TALLY_SHIFT)) /* no block, or the size of an older block whose free we did not see */
        return;
    struct counter counter = counter_at(process, *slot >> PL_BLOCK_TALLY_SHIFT);
    uint64_t size = *slot & PL_BLOCK_SIZE_NEXT, bytes = large || size == PL_BLOCK_SIZE_NEXT ? slot[1] : size;
    struct pl_tally *tally = counter.tally ? counter.tally : reallocated_first(process, counter.small, moved);
    if (!tally)
        return;
    tally->realloc_calls++;
    if (moved)
        tally->realloc_moved += old_bytes < bytes ? old_bytes : bytes;
    else
        tally->realloc_in_place++;
}

/* ---- freeing ---- */

/* Where the filter says PL_FILTER_MASKED: takes a block's slot out of the mask as well, if there was a block. */
INLINE bool take_left(struct pl_process *process, uint8_t byte, void *block, uint64_t *slot, bool large, uint64_t now,
                      struct pl_taken *taken)
{
    bool known = take(slot, large, now, taken);
    if (unlikely(byte == PL_FILTER_MASKED))
        pl_block_unmask(&process->blocks, (uintptr_t) block);
    return known;
}

bool pl_exact_take(void *block, struct pl_taken *taken)
{
    struct pl_process *process = pl_process;
    uint8_t byte = load_relaxed(pl_filter_byte(block));
    bool large;
    uint64_t *slot =
        pl_exact_excludes(block, byte) ? NULL : pl_block_known(&process->blocks, (uintptr_t) block, &large);
    taken->word = 0;
    return slot && block && take_left(process, byte, block, slot, large, pl_exact_units(process, pl_clock()), taken);
}

static OUT_OF_LINE void shrink_aside(struct pl_process *process, const uint16_t *reset, uint64_t size)
{
    struct pl_bucket *bucket = &process->gone[pl_sums_size_bucket(size)];
    if (is_older(process, reset))
        return;
    pl_era_shrank(process, (int64_t) size, 1);
    fetch_add(&bucket->blocks, 1);
    fetch_add(&bucket->bytes, size);
}

/* In a visit of the thread. */
static OUT_OF_LINE void book_otherwise(struct pl_thread *thread, struct counter counter, const void *block,
                                       uint64_t size, uint64_t units, uint64_t now)
{
    struct pl_process *process = pl_process;
    bool on = load_relaxed(&process->state) == PL_PROCESS_ON;
    struct pl_taken taken = {.size = size, .units = units};
    shrink_unless_older(process, thread, reset_of(counter), size);
    if (on && owner_of(counter) == thread->record) {
        book_mine(process, counter, &taken, now, block == thread->last_block);
        return;
    }
    book_remotely(process, counter, size, units, now);
    if (on && counter.tally)
        pl_foreign_note(process, thread, counter.tally);
}

/* A thread that only frees gets a block of its own after a while, so that what it frees need not be booked atomically.
 * By chance, since a counter would need thread-local storage. Its ticket stays PL_TICKET_NEW, so its first allocation
 * takes the cold path. */
static COLD void join_in(struct pl_process *process, uint64_t began)
{
    struct pl_tls *tls = &pl_tls;
    bool chosen = !(pl_hash(process->seed, began) >> (64 - LONE_FREES_LOG2));
    if (chosen && !tls->thread && !tls->goodbyes && !tls->refused && load_relaxed(&process->counting))
        pl_thread_register(process, tls);
}

/* By any thread, also if the block is one of a stack's first, a moment is due, or the program exits. `at` is where the
 * block's tally is, if it has one. The block's figures are passed one by one: the caller keeps them in registers. */
static OUT_OF_LINE void freed(const void *block, const struct pl_tally *at, uint64_t size, uint64_t units,
                              uint64_t began, uint64_t now)
{
    struct pl_process *process = pl_process;
    if (unlikely(load_acquire(&process->state) == PL_PROCESS_ENDING))
        pl_process_start(process); /* waits */
    struct counter counter = counter_at(process, (uint64_t) ((const uint8_t *) at - pl_file_base) / 64);
    struct pl_thread *thread = able_thread();
    if (!thread)
        join_in(process, began);
    if (!thread) {
        shrink_aside(process, reset_of(counter), size);
        book_remotely(process, counter, size, units, now);
        return;
    }
    pl_thread_enter(thread, &pl_tls, pl_arch_stack_pointer());
    pl_thread_catch_up(process, thread); /* after a reset, what the thread frees must not be added to old figures */
    book_otherwise(thread, counter, block, size, units, now);
    leave_at(process, thread, began, now);
}

void pl_exact_freed_otherwise(const void *block, const struct pl_taken *taken, uint64_t began)
{
    uint64_t now = pl_exact_made(taken->word) + taken->units; /* when it was taken */
    freed(block, pl_tally_at(taken->word >> PL_BLOCK_TALLY_SHIFT), taken->size, taken->units, began, now);
}

void pl_exact_restore(void *block, const struct pl_taken *taken)
{
    struct pl_process *process = pl_process;
    uint64_t *slab = pl_block_slab(&process->blocks, (uintptr_t) block);
    uint64_t *slot = slab ? pl_block_slot(&process->blocks, slab, (uintptr_t) block, taken->size) : NULL;
    /* Another thread may be giving this page back, because it was empty without the block: then put it again. The
     * fences ensure that it sees our block, or we see that it is there. */
    for (unsigned i = 0; slot && i < RESTORES_MOST; i++) {
        put(slot, taken->word >> PL_BLOCK_TALLY_SHIFT, pl_exact_units(process, pl_clock()) - taken->units,
            (uintptr_t) block, taken->size);
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        if (likely(!load_relaxed(&process->blocks.giving_back)))
            break;
        pl_arch_pause();
    }
    pl_filter_mark_exact(block);
}

void pl_exact_free_otherwise(void *block, uint64_t began)
{
    struct pl_taken taken;
    struct pl_process *process = pl_process;
    bool large;
    uint64_t *slot = pl_block_known(&process->blocks, (uintptr_t) block, &large);
    if (unlikely(!slot)) {
        pl_process_missed(process, PL_BUDGET_MISS_SEARCH);
        pl_cold_unknown(block);
        return;
    }
    uint8_t byte = load_relaxed(pl_filter_byte(block));
    if (likely(take_left(process, byte, block, slot, large, pl_exact_units(process, began), &taken)))
        pl_exact_freed_otherwise(block, &taken, began);
}
