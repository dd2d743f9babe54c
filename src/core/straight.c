/* SPDX-License-Identifier: MIT */
/*
 * straight.c - exact mode's usual visit, as a straight line: the thread's own tally, a small block, nothing due.
 *
 * A visit first makes sure that nothing is in its way, and only then begins to book. So it can leave the line until
 * then, for exact.c, which handles every case. The order of the rest matters only to a signal handler that interrupts
 * it: it may fork, allocate (a nested visit, which is not recorded), or leave by longjmp, which loses what has not been
 * booked yet.
 *
 *   ready?   the thread's ticket: see PL_TICKET_OF
 *   enter    from here on a fork by a handler detaches the child from our file, so what goes on there harms nobody
 *   due?     `alarm`, which fork wipes: a child that was forked between the first two steps leaves the line here
 *   book
 *   leave
 */
#include "core/arch.h"
#include "core/blocks/filter.h"
#include "core/clock.h"
#include "core/exact_parts.h"
#include "core/records/eras.h"

#define TALLY_NEARLY_FULL 0x7ffffff0u /* calls: fits into an instruction; from here on exact.c decides */

/* The bucket of a size that is not larger than this. */
#define SIZE_MOST ((1u << (PL_SIZE_BUCKETS + 3)) - 1)
INLINE unsigned bucket_of(uint64_t size)
{
    return 60 - (unsigned) __builtin_clzll(size | 8);
}

INLINE void count_size(struct pl_bucket *buckets, uint64_t size)
{
    struct pl_bucket *bucket = &buckets[bucket_of(size)];
    bucket->blocks++;
    bucket->bytes += size;
}

/* A nested visit has set `untimed` to 0, so the countdown need not be looked at here. */
INLINE void leave(struct pl_thread *thread, struct pl_tls *tls, uint64_t began)
{
    if (pl_exact_is_timed(thread))
        pl_exact_leave_timed(thread, began);
    else
        pl_thread_leave(thread, tls);
}

/* ---- slots ---- */

/*
 * A block has the small slot of its address or the large one, and its size is in the slot or in the next one: see
 * blocks.h. Where a program mixes sizes, neither can be predicted, so both are chosen without a branch.
 */
struct slots {
    uint64_t *small;
    uint64_t *large;
};

INLINE struct slots slots_of(uint64_t *slab, uintptr_t address)
{
    return (struct slots){pl_block_small(&pl_process->blocks, slab, address), pl_block_large(slab, address)};
}

INLINE uint64_t *if_below(uint64_t a, uint64_t b, uint64_t *yes, uint64_t *no)
{
    return (uint64_t *) pl_arch_if_below(a, b, (uintptr_t) yes, (uintptr_t) no);
}

/* ---- allocating ---- */

static COLD void mark(const void *block)
{
    pl_filter_mark_exact(block);
}

/* Is there a slab, and no block known at this address, whose free we did not see? `slot` is where the block goes. In
 * the 128 bytes where a large block begins, no other large one can begin. For a small block only the small slot is
 * asked: the large one is often not in the cache. If it has a block, the next large block there finds that. */
INLINE bool is_new(const uint64_t *slab, const struct slots *slots, const uint64_t *slot)
{
    return slab && likely(!(*slots->small | *slot));
}

INLINE bool is_usual_for(const struct pl_tally *tally, uint64_t size)
{
    return size >= tally->smallest && size <= tally->largest && tally->calls < TALLY_NEARLY_FULL;
}

INLINE void book(struct pl_thread *thread, struct pl_tally *tally, uint64_t size)
{
    if (unlikely(tally->era != load_relaxed(&pl_process->era)))
        pl_era_allocated(pl_process, tally);
    tally->calls++;
    tally->bytes += size;
    tally->sizes[bucket_of(size)]++;
    thread->objects++;
    count_size(thread->made, size);
}

INLINE void put(uint64_t *slot, uint64_t place, uint64_t now, uintptr_t address, uint64_t size)
{
    uint64_t nowhere; /* for a size that fits into the slot */
    uint64_t low = pl_arch_if_below(size, PL_BLOCK_LARGE, PL_BLOCK_SIZE_NEXT, pl_block_within(address));
    *if_below(size, PL_BLOCK_SIZE_NEXT, &nowhere, slot + 1) = size;
    low = pl_arch_if_below(size, PL_BLOCK_SIZE_NEXT, size, low);
    *slot = place << PL_BLOCK_TALLY_SHIFT | pl_block_time_stored(now) << PL_BLOCK_TIME_SHIFT | low;
    signal_fence(); /* the caller looks at the filter after this, not before: see pl_cold_unknown() */
}

void pl_exact_allocated(enum pl_function function, uint64_t size, void *block, const struct pl_start *start)
{
    struct pl_process *process = pl_process;
    struct pl_tls *tls = &pl_tls;
    uint64_t began = pl_clock(); /* first: reading the clock can wait for instructions that are still in flight */
    uint64_t *slab = pl_block_slab(&process->blocks, (uintptr_t) block);
    const struct slots slots = slots_of(slab, (uintptr_t) block);
    uint64_t *slot = if_below(size, PL_BLOCK_LARGE, slots.small, slots.large);
    struct pl_thread *thread = tls->thread;
    if (unlikely(!thread || !pl_exact_is_ready(tls) || !is_new(slab, &slots, slot))) {
        pl_exact_allocated_late(function, size, block, start);
        return;
    }
    pl_thread_enter(thread, tls, pl_arch_stack_pointer());
    struct pl_thread_record *record = load_relaxed(&thread->record_at);
    signal_fence();
    struct pl_tracker *tracker = load_relaxed(&thread->tracker); /* fork wipes both: if there is this, there is that */
    if (unlikely(!tracker)) {
        pl_exact_leave_forked(function, size);
        return;
    }
    pl_tally_prefetch(tracker);
    pl_exact_count(tls, record, function, size);
    uint32_t place = pl_exact_place(process, thread, tracker, start, size);
    struct pl_tally *tally = pl_tally_at(place);
    uint64_t now = pl_exact_units(process, began);
    int64_t headroom = thread->headroom - (int64_t) size;
    if (unlikely((int32_t) place <= 0 || /* none, or PL_PLACE_SMALL */
                 pl_exact_is_alarmed(process, now) || size > SIZE_MOST || !is_usual_for(tally, size) ||
                 headroom < thread->headroom_low)) {
        pl_exact_allocated_otherwise(thread, block, place, size, began);
        return;
    }
    book(thread, tally, size);
    thread->headroom = headroom;
    thread->last_block = block;
    put(slot, place, now, (uintptr_t) block, size);
    if (unlikely(!pl_filter_is_marked(load_relaxed(pl_filter_byte(block)))))
        mark(block);
    leave(thread, tls, began);
}

/* ---- freeing ---- */

/* What the table knows about a block. */
struct known {
    uint64_t size;
    uint64_t made; /* in units */
};

/* Is nothing in the way of booking this free, such as a peak that the block is part of and that has to be declared? */
INLINE bool is_quiet(const struct pl_process *process, const struct pl_thread *thread, const struct known *known,
                     uint64_t now)
{
    return !pl_exact_is_alarmed(process, now) && known->size <= SIZE_MOST && !load_relaxed(&process->special) &&
           known->made <= now && thread->headroom >= 0 &&
           thread->headroom + (int64_t) known->size <= thread->headroom_high;
}

/* The same, and it is the thread's own block. */
INLINE bool is_usual(const struct pl_process *process, const struct pl_thread *thread, const struct pl_tally *tally,
                     const struct known *known, uint64_t now)
{
    return pl_tally_is_owned(tally->owner, thread->record) && is_quiet(process, thread, known, now);
}

/* In the thread's own totals. */
INLINE void shrink(struct pl_thread *thread, const struct known *known)
{
    thread->headroom += (int64_t) known->size;
    thread->objects--;
    count_size(thread->gone, known->size);
}

INLINE void book_freed(struct pl_thread *thread, struct pl_tally *tally, const struct known *known, uint64_t now,
                       bool temporary)
{
    shrink(thread, known);
    if (unlikely(tally->freed_era != load_relaxed(&pl_process->era)))
        pl_era_freed(pl_process, tally);
    tally->freed_calls++;
    tally->freed_bytes += known->size;
    tally->temporaries += temporary;
    tally->lives[pl_sums_life_bucket(now - known->made)]++;
    if (unlikely(known->made < load_relaxed(&pl_process->timeline.begun))) { /* of an older cohort */
        tally->gone[pl_timeline_cohort(known->made, tally->cohort_shift)]++;
        tally->gone_calls++;
    }
}

void pl_exact_freed(const void *block, const struct pl_taken *taken)
{
    struct pl_process *process = pl_process;
    struct pl_tls *tls = &pl_tls;
    struct pl_thread *thread = tls->thread;
    uint64_t began = !thread || !thread->untimed ? pl_clock() : 0;
    if (unlikely(!thread || !pl_exact_is_ready(tls))) {
        pl_exact_freed_otherwise(block, taken, began);
        return;
    }
    pl_thread_enter(thread, tls, pl_arch_stack_pointer());
    const struct known known = {taken->size, pl_exact_made(taken->word)};
    struct pl_tally *tally = pl_tally_at(taken->word >> PL_BLOCK_TALLY_SHIFT);
    uint64_t now = known.made + taken->units;
    if (unlikely(!is_usual(process, thread, tally, &known, now))) {
        pl_thread_leave(thread, tls);
        pl_exact_freed_otherwise(block, taken, began);
        return;
    }
    book_freed(thread, tally, &known, now, block && block == thread->last_block);
    leave(thread, tls, began);
}

/* A block in its slot. */
struct found {
    uint64_t *slot;
    uint64_t *rest; /* where its size is: `slot`, the one after it, or the caller's variable */
    uint64_t word;
    bool elsewhere; /* a large block that begins beside the address */
};

INLINE struct found find(uint64_t *slab, uintptr_t address, uint64_t *inside)
{
    const struct slots slots = slots_of(slab, address);
    __builtin_prefetch(slots.large, 1);
    uint64_t small = *slots.small, *slot = if_below(small, 1, slots.large, slots.small);
    uint64_t word = *slot, low = word & PL_BLOCK_SIZE_NEXT;
    *inside = low;
    uint64_t *rest =
        if_below(pl_arch_if_below(small, 1, PL_BLOCK_SIZE_NEXT, low), PL_BLOCK_SIZE_NEXT, inside, slot + 1);
    return (struct found){slot, rest, word, !small & (low != pl_block_within(address))};
}

INLINE void take_out(const struct found *found)
{
    *found->slot = 0;
    *found->rest = 0;
}

/* `own` is the thread's own record for such blocks, so nothing but `gone` is added to atomically. */
INLINE void book_foreign(struct pl_thread *thread, struct pl_remote *own, const struct pl_tally *tally,
                         const struct known *known, uint64_t now)
{
    shrink(thread, known);
    if (unlikely(own->era != load_relaxed(&pl_process->era)))
        pl_era_remote(pl_process, own);
    own->calls++;
    own->bytes += known->size;
    own->lives[pl_sums_life_bucket(now - known->made)]++;
    fetch_add(&own->gone[pl_timeline_cohort(known->made, tally->cohort_shift)], 1);
}

/* The thread is not ready to count allocations, perhaps because it has none, or the block is another thread's. False:
 * it is not a block that the thread has a record of its own for, or something is in the way. */
static OUT_OF_LINE bool free_foreign(void *block, uint64_t began)
{
    struct pl_process *process = pl_process;
    struct pl_tls *tls = &pl_tls;
    struct pl_thread *thread = pl_thread_mine(tls);
    uint64_t *slab = pl_block_slab(&process->blocks, (uintptr_t) block), inside;
    if (!thread || thread->busy || !slab || !load_relaxed(&process->counting))
        return false;
    pl_thread_enter(thread, tls, pl_arch_stack_pointer());
    struct found found = find(slab, (uintptr_t) block, &inside);
    uint32_t place = (uint32_t) (found.word >> PL_BLOCK_TALLY_SHIFT), own = pl_foreign_find(&thread->foreigns, place);
    const struct known known = {*found.rest, pl_exact_made(found.word)};
    uint64_t now = pl_exact_units(process, began);
    bool is_known = place && own && !found.elsewhere && is_quiet(process, thread, &known, now);
    if (likely(is_known)) {
        take_out(&found);
        book_foreign(thread, pl_foreign_at(own), pl_tally_at(place), &known, now);
        leave(thread, tls, began);
    } else {
        pl_thread_leave(thread, tls);
    }
    return is_known;
}

static OUT_OF_LINE void free_rarely(void *block, uint64_t began)
{
    if (!free_foreign(block, began))
        pl_exact_free_otherwise(block, began);
}

/* The slot and what the allocator keeps at the block are seldom in the cache if blocks are freed in another order than
 * they were allocated in. A visit is longer than what the processor looks ahead, so the first line is prefetched while
 * the visit waits for the slot. */
void pl_exact_free(void *block)
{
    struct pl_process *process = pl_process;
    struct pl_tls *tls = &pl_tls;
    __builtin_prefetch((const uint8_t *) block - sizeof(uint64_t), 1); /* the allocator's words: see below */
    uint64_t began = pl_clock();
    uint64_t *slab = pl_block_slab(&process->blocks, (uintptr_t) block), inside;
    struct pl_thread *thread = tls->thread;
    if (unlikely(!thread || !slab || !pl_exact_is_ready(tls))) {
        free_rarely(block, began);
        return;
    }
    pl_thread_enter(thread, tls, pl_arch_stack_pointer());
    struct found found = find(slab, (uintptr_t) block, &inside);
    const struct known known = {*found.rest, pl_exact_made(found.word)};
    struct pl_tally *tally = pl_tally_at(found.word >> PL_BLOCK_TALLY_SHIFT);
    uint64_t now = pl_exact_units(process, began);
    if (unlikely(!(found.word >> PL_BLOCK_TALLY_SHIFT) || found.elsewhere ||
                 !is_usual(process, thread, tally, &known, now))) {
        pl_thread_leave(thread, tls);
        free_rarely(block, began);
        return;
    }
    take_out(&found);
    book_freed(thread, tally, &known, now, block == thread->last_block);
    leave(thread, tls, began);
}
