/* SPDX-License-Identifier: MIT */
/* cold.c - see cold.h. */
#include "core/cold.h"

#include "core/arch.h"
#include "core/blocks/filter.h"
#include "core/clock.h"
#include "core/probe.h"
#include "core/process.h"
#include "core/records/eras.h"
#include "core/records/rows.h"
#include "core/records/scopes.h"
#include "core/records/tallies.h"
#include "core/sys.h"
#include "format/settings.h"

#define SLEEP_OFF (64ull << 10)   /* charge between checks of the control words while switched off or paused */
#define SLEEP_NESTED (1ull << 16) /* charge until the next visit after a nested one: it must not come at once */
#define SLEEP_LONG (1ull << 62)   /* practically never */
#define TRACKED_AFTER 128         /* samples: a thread that draws more of them recognizes stacks as exact mode does */
#define SIFT_AFTER (1ull << 22)   /* ticks: some 1.6 ms */
#define SIFT_EVERY 16             /* one in so many frees that find nothing sifts, in a granule that stays marked */

/* ---- entering and leaving ---- */

static bool on_own_stack(const struct pl_thread *thread, uintptr_t sp)
{
    return sp >= thread->walk.own.lo && sp < thread->walk.own.hi;
}

/* A handler's alternate stack may lie inside the stack that it interrupts: only the kernel can tell. */
static bool on_signal_stack(const struct pl_process *process)
{
    return process->sandboxed || pl_sys_on_signal_stack();
}

/* Is the visit that set `busy` still in progress, in a frame further out than ours? If both are on the thread's own
 * stack, an abandoned visit lies deeper than we are now. If one is on another stack (a signal stack, a coroutine's),
 * stack pointers say nothing, so we assume that it is. */
static bool still_busy(const struct pl_process *process, const struct pl_thread *thread, uintptr_t sp)
{
    bool both_own = on_own_stack(thread, sp) && on_own_stack(thread, thread->busy);
    return !both_own || sp < thread->busy || on_signal_stack(process);
}

static struct pl_thread *my_thread(struct pl_process *process, struct pl_tls *tls)
{
    struct pl_thread *thread = pl_thread_mine(tls);
    return likely(thread != NULL) ? thread : pl_thread_register(process, tls);
}

/* Postpones the next visit until `charge` is used up. What the old countdown had used up moves to charge_aside, so that
 * exact totals still include it. */
static void put_off(struct pl_tls *tls, uint64_t charge)
{
    fetch_add(&tls->charge_aside, charge - exchange(&tls->charge_left, charge));
    if (pl_thread_mine(tls)) {
        store_relaxed(&tls->thread->slept, 1);
        store_relaxed(&tls->thread->untimed, 0); /* the end of a visit of exact mode looks at this only */
    }
}

/* The thread has left a visit by longjmp. */
static void abandoned(struct pl_process *process)
{
    swap_if(&process->blocks.giving_back, pl_arch_thread_pointer(), 0);
    pl_file_lost(&process->file, PL_LOSS_STALE_BUSY);
}

/* NULL: the caller only forwards the call; the countdown has been set. */
static struct pl_thread *enter(struct pl_process *process, struct pl_tls *tls, uintptr_t sp)
{
    if (unlikely(!pl_process_on(process))) {
        put_off(tls, load_relaxed(&process->state) == PL_PROCESS_IGNORED ? SLEEP_LONG : 0);
        return NULL;
    }
    struct pl_thread *thread = my_thread(process, tls);
    if (unlikely(!thread)) {
        put_off(tls, SLEEP_LONG);
        return NULL;
    }
    if (unlikely(thread->busy)) {
        if (still_busy(process, thread, sp)) {
            put_off(tls, load_relaxed(&process->counting) ? 0 : SLEEP_NESTED); /* exact mode counts each loss */
            pl_file_lost(&process->file, PL_LOSS_NESTED);
            return NULL;
        }
        abandoned(process);
    }
    pl_thread_enter(thread, tls, sp);
    return thread;
}

struct pl_thread *pl_cold_begin(struct pl_process *process, struct pl_tls *tls)
{
    uintptr_t sp = pl_arch_stack_pointer();
    if (unlikely(!pl_process_on(process)))
        return NULL;
    struct pl_thread *thread = my_thread(process, tls);
    if (!thread || (thread->busy && still_busy(process, thread, sp)))
        return NULL;
    pl_thread_enter(thread, tls, sp);
    return thread;
}

/* ---- the countdown ---- */

/* True if exact mode is on and the thread has its record and tracker, which are made here if they are missing. */
static bool counts_all(struct pl_process *process, struct pl_thread *thread)
{
    if (unlikely(!process->file.base) && pl_config.mode != PL_MODE_SAMPLED && !pl_config.off)
        pl_process_open(process); /* a forked child makes its file at its first allocation */
    if (!load_relaxed(&process->counting))
        return false;
    pl_thread_attach(process, thread);
    return pl_tally_ready(process, thread);
}

static const struct pl_cold_plan skipped = {PL_COLD_SKIPPED, 0}, counted = {PL_COLD_COUNTED, 0};

/* The sampler gives the weight of a sample, 0 for an allocation that is none. */
static struct pl_cold_plan plan_for(double weight)
{
    return weight > 0 ? (struct pl_cold_plan){PL_COLD_SAMPLED, weight} : skipped;
}

/* From here on every allocation is counted: the countdown stays at 0. A gap that was running gets its normal end: if it
 * runs out in this allocation, this is a sample, with its weight; if not, this allocation is not recorded. */
static struct pl_cold_plan begin_counting(struct pl_process *process, struct pl_thread *thread, uint64_t charge,
                                          uint64_t left, uint64_t *countdown)
{
    struct pl_sampler *sampler = &thread->sampler;
    pl_scope_mute(process, thread, PL_TAG_AT_ROOT);
    /* From thread->changes, not process->changes: if settings have changed again by now, the ticket is out of date and
     * the thread's next allocation comes back here. */
    thread->ticket =
        PL_TICKET_OF(thread->changes << PL_COUNT_BITS | (load_relaxed(&process->counting) & PL_COUNT_MASK));
    struct pl_cold_plan plan = sampler->armed ? plan_for(pl_sampler_end(sampler, charge, left)) : counted;
    *countdown = pl_sampler_sleep(sampler, 0);
    return plan;
}

/* In auto mode long gaps are counted down in parts, so that a thread soon notices that T has become smaller. */
static double meet(struct pl_sampler *sampler, uint64_t charge, uint64_t left, uint64_t interval, uint64_t *countdown)
{
    return pl_config.mode == PL_MODE_AUTO ? pl_sampler_meet(sampler, charge, left, interval, countdown)
                                          : pl_sampler_visit(sampler, charge, interval, countdown);
}

/* Switched off or paused: allocations are not recorded. */
static uint64_t fall_asleep(struct pl_process *process, struct pl_thread *thread)
{
    pl_scope_mute(process, thread, pl_tls.paused ? PL_TAG_AT_PAUSED : PL_TAG_AT_OFF);
    thread->ticket = PL_TICKET_NONE;
    return pl_sampler_sleep(&thread->sampler, SLEEP_OFF);
}

/* The hot path has subtracted the charge from charge_left, which went below 0 and wrapped. Adding it again gives what
 * was left before. */
static struct pl_cold_plan decide(struct pl_process *process, struct pl_thread *thread, uint64_t charge,
                                  uint64_t *countdown)
{
    struct pl_sampler *sampler = &thread->sampler;
    uint64_t left = load_relaxed(&pl_tls.charge_left) + charge;
    if (left >= charge) /* a signal handler's calls were subtracted too */
        left = 0;
    if (__atomic_exchange_n(&thread->slept, 0, __ATOMIC_RELAXED))
        sampler->armed = false;
    pl_thread_catch_up(process, thread);
    bool paused = pl_tls.paused;
    if (!paused && counts_all(process, thread))
        return begin_counting(process, thread, charge, left, countdown);
    uint64_t interval = paused ? 0 : pl_process_interval(process);
    if (interval) {
        pl_scope_mute(process, thread, PL_TAG_AT_ROOT);
        thread->ticket = PL_TICKET_NONE;
        return plan_for(meet(sampler, charge, left, interval, countdown));
    }
    *countdown = fall_asleep(process, thread);
    return skipped;
}

/* Sets the next countdown, before anything else is done: if the visit is left by longjmp, the thread must still have a
 * valid countdown. The exchange is atomic, so that a signal handler's charges are not lost. Returns the old value. */
static uint64_t settle(struct pl_thread *thread, struct pl_tls *tls, uint64_t countdown)
{
    __atomic_thread_fence(__ATOMIC_RELEASE); /* whoever sees a new countdown also sees that the thread is busy */
    uint64_t left = exchange(&tls->charge_left, countdown);
    fetch_add(&thread->charge_spent, thread->countdown - left);
    thread->countdown = countdown;
    return left;
}

/* Discards the gap that was running, because a nested visit has replaced the countdown or because settings have
 * changed. Gaps have no memory, so a new one is as good. A thread that is to count exactly or not at all gets a
 * countdown of 0: its next allocation visits, and decides. */
static void rearm(struct pl_process *process, struct pl_thread *thread, struct pl_tls *tls)
{
    uint64_t interval = tls->paused ? 0 : pl_process_interval(process);
    bool counts = load_relaxed(&process->counting);
    struct pl_sampler *sampler = &thread->sampler;
    store_relaxed(&thread->slept, 0);
    if (!interval || !counts)
        thread->ticket = PL_TICKET_NONE;
    settle(thread, tls, counts || !interval ? pl_sampler_sleep(sampler, 0) : pl_sampler_draw(sampler, interval));
}

/* A signal handler may postpone the next visit until the very end of this one: then set the countdown once more. */
static void leave(struct pl_process *process, struct pl_thread *thread, struct pl_tls *tls)
{
    for (uintptr_t sp = thread->busy;; pl_thread_enter(thread, tls, sp)) {
        if (unlikely(load_relaxed(&thread->slept)))
            rearm(process, thread, tls);
        pl_thread_leave(thread, tls);
        if (likely(!load_relaxed(&thread->slept)))
            return;
    }
}

void pl_cold_wake(struct pl_process *process, struct pl_thread *thread)
{
    struct pl_arch_fp_state fp;
    pl_arch_fp_enter(&fp);
    pl_thread_enter(thread, &pl_tls, pl_arch_stack_pointer());
    leave(process, thread, &pl_tls);
    pl_arch_fp_leave(&fp);
}

void pl_cold_obey(struct pl_process *process, struct pl_thread *thread)
{
    struct pl_tls *tls = &pl_tls;
    struct pl_arch_fp_state fp;
    pl_arch_fp_enter(&fp);
    pl_process_obey(process);
    pl_thread_catch_up(process, thread);
    if (tls->paused || !pl_process_interval(process))
        settle(thread, tls, fall_asleep(process, thread));
    else {
        pl_scope_mute(process, thread, PL_TAG_AT_ROOT);
        rearm(process, thread, tls);
    }
    pl_era_tell(process, thread);
    pl_arch_fp_leave(&fp);
}

void pl_cold_hurry(struct pl_tls *tls)
{
    put_off(tls, 0);
}

bool pl_cold_bring_up_to_date(struct pl_process *process, bool moment)
{
    struct pl_tls *tls = &pl_tls;
    struct pl_thread *thread = pl_cold_begin(process, tls);
    bool there = process->file.base || (thread && pl_process_open(process));
    if (thread && there) {
        pl_thread_catch_up(process, thread);
        pl_scope_settle(process, thread, tls);
        pl_thread_book(process, thread, tls);
        pl_era_tell(process, thread);
        if (moment)
            pl_timeline_take(process, pl_timeline_now(process), true); /* inside the visit: handlers stay out */
    }
    if (thread)
        pl_cold_end(process, thread, tls);
    if (there && !process->sandboxed)
        pl_thread_book_all(process);
    return there;
}

/* ---- a sample ---- */

/* Was the block a sample, and not only for the probes? */
static bool is_in_row(const struct pl_cold_known *known)
{
    return known->sampled.row && known->sampled.row != PL_ROW_PROBED;
}

/* If a table already has the new block's address, an earlier block there was freed without our seeing it. */
static COLD void forget_missed(struct pl_process *process, struct pl_thread *thread, void *block)
{
    struct pl_cold_known missed;
    if (!load_relaxed(pl_filter_byte(block)) || !pl_cold_take(block, &missed))
        return;
    if (missed.exact.word)
        pl_exact_missed(process, thread, &missed.exact);
    if (is_in_row(&missed)) {
        pl_row_freed(process, thread, &missed.sampled, true);
        pl_file_lost(&process->file, PL_LOSS_MISSED_FREE);
    }
}

/* A function of its own: otherwise the record is on the stack while a new stack is written, which goes deepest. */
static COLD void remember(struct pl_process *process, struct pl_thread *thread, uint64_t size, void *block,
                          double weight, uint32_t row)
{
    uint64_t now = pl_timeline_now(process);
    if (now >= load_relaxed(&process->timeline.due))
        pl_timeline_turn(process, now);
    const struct pl_record record = {
        .size = size,
        .weight = weight,
        .row = row,
        .thread = thread->record,
        .charge = pl_thread_charge(thread, &pl_tls),
        .units = now,
    };
    forget_missed(process, thread, block);
    pl_row_allocated(process, thread, &record);
    if (!pl_live_insert(&process->live, (uintptr_t) block, &record)) {
        /* We will not see its free, so book it as freed now: otherwise it would look like a leak. */
        pl_row_freed(process, thread, &record, true);
        pl_file_lost(&process->file, PL_LOSS_LIVE_FULL);
    }
    if (thread->headroom != thread->headroom_told || thread->objects) /* not told yet, for a peak */
        pl_era_tell(process, thread);
}

/* Outside of the recorded sizes, no stack is recorded. */
static uint32_t find_row(struct pl_process *process, struct pl_thread *thread, uint64_t size,
                         const struct pl_start *start)
{
    if (unlikely(size - thread->size_from > thread->size_span))
        return pl_row_other(process, thread);
    return pl_row_number(process, thread, start);
}

/* A function of its own, so that the frame below is small while the thread is registered. */
static COLD void sample(struct pl_process *process, struct pl_thread *thread, uint64_t size, void *block, double weight,
                        const struct pl_start *start)
{
    if (!pl_process_open(process))
        return;
    pl_thread_attach(process, thread);
    if (unlikely(!thread->record)) { /* the file is full: a row without an owner would be shared */
        pl_file_lost(&process->file, PL_LOSS_THREADS);
        return;
    }
    if (unlikely(!thread->tracker) && ++thread->sampled == TRACKED_AFTER)
        pl_tally_track(process, thread);
    uint32_t row = find_row(process, thread, size, start);
    if (row)
        remember(process, thread, size, block, weight, row);
}

/* Tells a listener about a block, if it is a sample. */
static COLD void announce(const void *block)
{
    struct pl_record record;
    struct pl_arch_fp_state fp;
    if (!pl_live_find(&pl_process->live, (uintptr_t) block, &record))
        return;
    pl_arch_fp_enter(&fp);
    uint64_t weighted_bytes = pl_probe_bytes(record.size, record.weight);
    pl_arch_fp_leave(&fp);
    pl_probe_alloc(block, record.size, weighted_bytes);
}

/* ---- allocations ---- */

static void count(struct pl_tls *tls, enum pl_function function, uint64_t size, uint64_t calls)
{
    fetch_add(&tls->calls[function], calls);
    fetch_add(&tls->charge_aside, calls * (size + PL_CALL_CHARGE));
}

void pl_cold_uncount(enum pl_function function, uint64_t size)
{
    count(&pl_tls, function, size, (uint64_t) -1);
}

/* Most visits in auto mode come at the end of a part of a gap, and nothing has changed: continues with the next part.
 * Uses no floating point, so the environment need not be saved. */
static bool go_on(struct pl_process *process, struct pl_thread *thread, struct pl_tls *tls, uint64_t charge,
                  uint64_t began)
{
    struct pl_sampler *sampler = &thread->sampler;
    const struct pl_budget *budget = &process->budget;
    uint64_t left = load_relaxed(&tls->charge_left) + charge, countdown;
    if (!sampler->armed || sampler->rest + left < charge || left >= charge || load_relaxed(&thread->slept) ||
        load_relaxed(&process->counting) || pl_process_interval(process) != sampler->interval || tls->paused ||
        load_relaxed(&process->changes) != thread->changes ||
        began - load_relaxed(&budget->looked_at) >= load_relaxed(&budget->rest))
        return false;
    pl_sampler_meet(sampler, charge, left, sampler->interval, &countdown);
    settle(thread, tls, countdown);
    leave(process, thread, tls);
    pl_meter_sample_rest(process, pl_clock_after() - began);
    return true;
}

struct pl_cold_plan pl_cold_due(enum pl_function function, uint64_t size)
{
    struct pl_process *process = pl_process;
    struct pl_tls *tls = &pl_tls;
    pl_cold_uncount(function, size);
    struct pl_thread *thread = enter(process, tls, pl_arch_stack_pointer());
    if (!thread)
        return skipped;
    uint64_t countdown, began = pl_clock();
    if (pl_config.mode == PL_MODE_AUTO && go_on(process, thread, tls, size + PL_CALL_CHARGE, began))
        return skipped;
    struct pl_arch_fp_state fp;
    pl_arch_fp_enter(&fp);
    pl_process_obey(process);
    bool in_step = thread->ticket != PL_TICKET_NONE;
    struct pl_cold_plan plan = decide(process, thread, size + PL_CALL_CHARGE, &countdown);
    uint64_t left = settle(thread, tls, countdown);
    /* More was charged than this call: a signal handler has allocated. (After a reset in decide() the thread's record
     * has just been brought up to date, so no loss is found.) */
    if (plan.how == PL_COLD_COUNTED && in_step && left + size + PL_CALL_CHARGE)
        pl_exact_unseen();
    else if (plan.how != PL_COLD_SAMPLED)
        pl_thread_book(process, thread, tls);
    if (plan.how == PL_COLD_SKIPPED && process->file.base)
        pl_era_tell(process, thread);
    leave(process, thread, tls);
    pl_arch_fp_leave(&fp);
    if (plan.how == PL_COLD_SKIPPED)
        pl_meter_spend(process, pl_clock() - began, 1);
    else if (plan.how == PL_COLD_SAMPLED)
        pl_meter_sample_rest(process, pl_clock_after() - began);
    return plan;
}

/* In exact mode the thread's record counts lost calls too: see pl_exact_unseen(). */
static void count_unseen(const struct pl_process *process, const struct pl_tls *tls, enum pl_function function,
                         uint64_t size)
{
    struct pl_thread *thread = pl_thread_mine(tls);
    if (load_relaxed(&process->counting) && thread && thread->tracker && thread->record_at)
        pl_thread_step(thread->record_at, function, size);
}

static COLD void take_moment(struct pl_process *process, uint64_t now)
{
    uint64_t began = pl_meter_begin(process);
    pl_timeline_take(process, now, false);
    pl_meter_aside(process, began);
}

void pl_cold_allocated(enum pl_function function, uint64_t size, void *block, struct pl_cold_plan plan,
                       const struct pl_start *start)
{
    struct pl_process *process = pl_process;
    struct pl_tls *tls = &pl_tls;
    if (!block)
        return;
    count(tls, function, size, 1);
    if (plan.how == PL_COLD_SKIPPED)
        count_unseen(process, tls, function, size);
    struct pl_thread *thread = plan.how == PL_COLD_SAMPLED ? enter(process, tls, pl_arch_stack_pointer()) : NULL;
    if (!thread)
        return;
    struct pl_arch_fp_state fp;
    uint64_t began = pl_clock();
    pl_arch_fp_enter(&fp);
    sample(process, thread, size, block, plan.weight, start);
    pl_thread_book(process, thread, tls);
    uint64_t ticks = pl_clock_after() - began;
    uint64_t now = pl_timeline_now(process);
    if (process->file.base && now >= load_relaxed(&process->timeline.due))
        take_moment(process, now);
    leave(process, thread, tls);
    pl_arch_fp_leave(&fp);
    pl_meter_sample(process, ticks);
    if (pl_probe_is_heard())
        announce(block);
}

void pl_cold_thrown(uintptr_t to)
{
    struct pl_tls *tls = &pl_tls;
    struct pl_process *process = pl_process;
    struct pl_thread *thread = pl_thread_mine(tls);
    if (unlikely(load_relaxed(&process->copying) == pl_arch_thread_pointer() && to > process->copying_from))
        store_release(&process->copying, 0);     /* leaves plimsoll_write() or another function that copies */
    if (unlikely(tls->charge_left > SLEEP_LONG)) /* the countdown has run out, and the next has not been set */
        put_off(tls, 0);
    if (likely(!thread || !thread->busy) || !on_own_stack(thread, to))
        return;
    if (to > thread->busy || !on_own_stack(thread, thread->busy)) {
        pl_thread_leave(thread, tls);
        abandoned(process);
    }
}

/* ---- frees ---- */

bool pl_cold_take(void *block, struct pl_cold_known *known)
{
    struct pl_process *process = pl_process;
    struct pl_live_found found;
    uint8_t byte = load_relaxed(pl_filter_byte(block));
    known->exact.word = known->sampled.row = 0;
    if (!block) /* NULL would match the empty slots of the tables */
        return false;
    if (pl_filter_is_exact(byte))
        pl_exact_take(block, &known->exact);
    if (!pl_filter_is_only_exact(byte) && pl_live_take(&process->live, (uintptr_t) block, &found)) {
        if (found.link_map)
            pl_process_unloaded(process);
        if (found.block) {
            known->sampled = found.record;
            if (pl_probe_is_heard())
                pl_probe_free(block);
        }
    }
    return known->exact.word || known->sampled.row;
}

/* When exact mode is left, its marks stay in the filter, until a free finds nothing and sifts the granule. Exact mode
 * stores a block's slot before it looks at the mark. The store reaches other threads long before SIFT_AFTER has passed;
 * an allocation that stores later finds what we did to the mark, and marks again. Beside a sample, the mark stays as
 * long as there is a block, so not every free sifts. */
void pl_cold_unknown(const void *block)
{
    struct pl_process *process = pl_process;
    uint8_t byte = load_relaxed(pl_filter_byte(block));
    if (!pl_filter_is_exact(byte) || load_relaxed(&process->counting))
        return;
    if (!pl_filter_is_only_exact(byte) && ++pl_tls.unknown % SIFT_EVERY)
        return;
    if (pl_clock() - load_relaxed(&process->left_exact) > SIFT_AFTER)
        pl_block_sift(&process->blocks, (uintptr_t) block);
}

static void sample_freed(struct pl_process *process, const struct pl_record *record, bool moved)
{
    struct pl_thread *thread = pl_thread_mine(&pl_tls);
    struct pl_arch_fp_state fp;
    if (unlikely(load_acquire(&process->state) == PL_PROCESS_ENDING))
        pl_process_start(process);
    uint64_t began = pl_clock();
    /* We may be in a signal handler that interrupted a visit of this thread, which may be changing the same row: then
     * book as if another thread freed the block. */
    if (thread && thread->busy)
        thread = NULL;
    pl_arch_fp_enter(&fp);
    if (thread)
        pl_thread_enter(thread, &pl_tls, pl_arch_stack_pointer());
    pl_row_freed(process, thread, record, moved);
    if (thread)
        leave(process, thread, &pl_tls);
    pl_arch_fp_leave(&fp);
    pl_meter_sample_rest(process, pl_clock_after() - began);
}

void pl_cold_freed(const void *block, const struct pl_cold_known *known)
{
    if (known->exact.word)
        pl_exact_freed(block, &known->exact);
    if (is_in_row(known))
        sample_freed(pl_process, &known->sampled, !block);
}

void pl_cold_free(void *block)
{
    struct pl_cold_known known;
    if (pl_filter_excludes(block)) {
        pl_process_missed(pl_process, PL_BUDGET_MISS);
    } else if (pl_cold_take(block, &known)) {
        pl_cold_freed(block, &known);
    } else {
        pl_process_missed(pl_process, PL_BUDGET_MISS_SEARCH);
        pl_cold_unknown(block);
    }
}

void pl_cold_restore(void *block, const struct pl_cold_known *known)
{
    struct pl_process *process = pl_process;
    if (known->exact.word)
        pl_exact_restore(block, &known->exact);
    if (!known->sampled.row)
        return;
    if (pl_live_insert(&process->live, (uintptr_t) block, &known->sampled)) {
        if (pl_probe_is_heard())
            announce(block); /* it was announced as freed */
    } else if (is_in_row(known)) {
        sample_freed(process, &known->sampled, true);
        pl_file_lost(&process->file, PL_LOSS_LIVE_FULL);
    }
}

void pl_cold_moved(void *block, uint64_t old_bytes, bool moved)
{
    struct pl_process *process = pl_process;
    struct pl_record record;
    uint8_t byte = load_relaxed(pl_filter_byte(block));
    if (pl_filter_is_exact(byte))
        pl_exact_realloc(block, old_bytes, moved);
    if (!pl_filter_is_only_exact(byte) && pl_live_find(&process->live, (uintptr_t) block, &record) &&
        record.row != PL_ROW_PROBED) {
        struct pl_arch_fp_state fp;
        pl_arch_fp_enter(&fp);
        pl_row_realloc(process, &record, old_bytes, moved);
        pl_arch_fp_leave(&fp);
    }
}
