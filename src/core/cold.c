/* SPDX-License-Identifier: MIT */
/* cold.c - see cold.h. */
#include "cold.h"

#include "arch.h"
#include "clock.h"
#include "eras.h"
#include "filter.h"
#include "process.h"
#include "rows.h"
#include "scopes.h"
#include "settings.h"
#include "sys.h"
#include "tallies.h"

#define SLEEP_OFF (64ull << 10)   /* switched off, or paused: look at the control words this often */
#define SLEEP_NESTED (1ull << 16) /* a nested visit must not come back at once */
#define SLEEP_LONG (1ull << 62)   /* nothing to do, ever */
#define UNMARK_AFTER (1ull << 30) /* ticks: some 0.4 s */

/* ---- entering and leaving ---- */

static bool on_own_stack(const struct pl_thread *thread, uintptr_t sp)
{
    return sp >= thread->walk.own.lo && sp < thread->walk.own.hi;
}

/* A handler's own stack may be an array in a frame of the very stack it interrupts: only the kernel can tell. */
static bool on_signal_stack(const struct pl_process *process)
{
    return process->sandboxed || pl_sys_on_signal_stack();
}

/* Is the visit that set `busy` still on the stack below us? On the same stack, an abandoned one lies deeper than we are
 * now. On another stack (a handler's own, a coroutine's) nothing can be told, so it is taken to be there. */
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

/* Not now: the next visit comes after `charge`. What was spent until now moves to where exact totals find it. */
static void put_off(struct pl_tls *tls, uint64_t charge)
{
    fetch_add(&tls->charge_aside, charge - exchange(&tls->charge_left, charge));
    if (pl_thread_mine(tls))
        store_relaxed(&tls->thread->slept, 1);
}

/* NULL: there is nothing to do but forward, and the countdown has been set accordingly. */
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
            put_off(tls, load_relaxed(&process->counting) ? 0 : SLEEP_NESTED); /* exact mode knows how many it lost */
            pl_file_lost(&process->file, PL_LOSS_NESTED);
            return NULL;
        }
        pl_file_lost(&process->file, PL_LOSS_STALE_BUSY);
    }
    pl_thread_enter(thread, tls, sp);
    return thread;
}

struct pl_thread *pl_cold_begin(struct pl_process *process, struct pl_tls *tls)
{
    uintptr_t sp = pl_stack_pointer();
    if (unlikely(!pl_process_on(process)))
        return NULL;
    struct pl_thread *thread = my_thread(process, tls);
    if (!thread || (thread->busy && still_busy(process, thread, sp)))
        return NULL;
    pl_thread_enter(thread, tls, sp);
    return thread;
}

/* ---- the countdown ---- */

/* Exact mode, when all is there that it takes. */
static bool counts_all(struct pl_process *process, struct pl_thread *thread)
{
    if (unlikely(!process->file.base) && pl_config.mode != PL_MODE_SAMPLED && !pl_config.off)
        pl_process_open(process); /* in a forked child the first allocation is worth a file */
    if (!load_relaxed(&process->counting))
        return false;
    pl_thread_attach(process, thread);
    return pl_tracker_ready(process, thread);
}

/* From here on everything is counted: the countdown stays at 0. A gap that was running ends as gaps do, and if it does
 * not end in this allocation, then that was its chance to be seen. */
static double begin_counting(struct pl_process *process, struct pl_thread *thread, uint64_t charge, uint64_t left,
                             uint64_t *countdown)
{
    struct pl_sampler *sampler = &thread->sampler;
    pl_scope_mute(process, thread, PL_TAG_AT_ROOT);
    /* Of the changes that it has taken note of: should there be another by now, it will find itself with an old one. */
    thread->ticket = thread->changes << PL_TICKET_SHIFT | (load_relaxed(&process->counting) & PL_TICKET_MASK);
    double weight = sampler->armed ? pl_sampler_end(sampler, charge, left) : PL_WEIGHT_EXACT;
    *countdown = pl_sampler_sleep(sampler, 0);
    return weight;
}

/* In auto mode long gaps are counted down in parts, so that T can follow a program that allocates less and less. */
static double meet(struct pl_sampler *sampler, uint64_t charge, uint64_t left, uint64_t interval, uint64_t *countdown)
{
    return pl_config.mode == PL_MODE_AUTO ? pl_sampler_meet(sampler, charge, left, interval, countdown)
                                          : pl_sampler_visit(sampler, charge, interval, countdown);
}

/* What is allocated now is not recorded. */
static uint64_t fall_asleep(struct pl_process *process, struct pl_thread *thread)
{
    pl_scope_mute(process, thread, pl_tls.paused ? PL_TAG_AT_PAUSED : PL_TAG_AT_OFF);
    thread->ticket = PL_TICKET_NONE;
    return pl_sampler_sleep(&thread->sampler, SLEEP_OFF);
}

/* What is left in charge_left, once the charge is taken, is less than nothing. */
static double decide(struct pl_process *process, struct pl_thread *thread, uint64_t charge, uint64_t *countdown)
{
    struct pl_sampler *sampler = &thread->sampler;
    uint64_t left = load_relaxed(&pl_tls.charge_left) + charge;
    if (left >= charge) /* a handler's calls were taken off it too */
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
        return meet(sampler, charge, left, interval, countdown);
    }
    *countdown = fall_asleep(process, thread);
    return 0;
}

/* Sets the next countdown before anything else is done, so that a visit that is thrown out by longjmp does not leave
 * the thread deaf. The exchange keeps what a signal handler may be counting at this moment. Returns what was left. */
static uint64_t settle(struct pl_thread *thread, struct pl_tls *tls, uint64_t countdown)
{
    uint64_t left = exchange(&tls->charge_left, countdown);
    fetch_add(&thread->charge_spent, thread->countdown - left);
    thread->countdown = countdown;
    return left;
}

/* The gap that was running is over: a nested visit has put the next one off, or what is wanted has changed. Gaps have
 * no memory: a new one will do. Whoever is to count or to rest does so from its next visit on, which comes at once. */
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

/* A handler may still come at the last moment: then the visit is not over yet. */
static void leave(struct pl_process *process, struct pl_thread *thread, struct pl_tls *tls)
{
    for (uintptr_t sp = thread->busy;; thread->busy = sp) {
        if (unlikely(load_relaxed(&thread->slept)))
            rearm(process, thread, tls);
        pl_thread_leave(thread, tls);
        if (likely(!load_relaxed(&thread->slept)))
            return;
    }
}

void pl_cold_wake(struct pl_process *process, struct pl_thread *thread)
{
    struct pl_fp_state fp;
    pl_fp_enter(&fp);
    thread->busy = pl_stack_pointer();
    leave(process, thread, &pl_tls);
    pl_fp_leave(&fp);
}

void pl_cold_obey(struct pl_process *process, struct pl_thread *thread)
{
    struct pl_tls *tls = &pl_tls;
    struct pl_fp_state fp;
    pl_fp_enter(&fp);
    pl_process_obey(process);
    pl_thread_catch_up(process, thread);
    if (tls->paused || !pl_process_interval(process))
        settle(thread, tls, fall_asleep(process, thread));
    else {
        pl_scope_mute(process, thread, PL_TAG_AT_ROOT);
        rearm(process, thread, tls);
    }
    pl_live_tell(process, thread);
    pl_fp_leave(&fp);
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
        pl_live_tell(process, thread);
        if (moment)
            pl_timeline_take(process, pl_timeline_now(process), true); /* in the visit: handlers keep out */
    }
    if (thread)
        pl_cold_end(process, thread, tls);
    if (there && !process->sandboxed)
        pl_thread_book_all(process);
    return there;
}

/* ---- a sample ---- */

/* An address that is in the table already was freed in a way we cannot see. */
static COLD void forget_missed(struct pl_process *process, struct pl_thread *thread, void *block)
{
    struct pl_known missed;
    if (!load_relaxed(pl_filter_byte(block)) || !pl_cold_take(block, &missed))
        return;
    if (missed.exact.word)
        pl_exact_missed(process, thread, &missed.exact);
    if (missed.sampled.row) {
        pl_row_freed(process, thread, &missed.sampled, true);
        pl_file_lost(&process->file, PL_LOSS_MISSED_FREE);
    }
}

static void remember(struct pl_process *process, struct pl_thread *thread, void *block, const struct pl_record *record)
{
    forget_missed(process, thread, block);
    pl_row_allocated(process, thread, record);
    if (!pl_live_insert(&process->live, (uintptr_t) block, record)) {
        /* Its free will not be seen, so it must not seem to live for ever. */
        pl_row_freed(process, thread, record, true);
        pl_file_lost(&process->file, PL_LOSS_LIVE_FULL);
    }
}

/* The stacks of some sizes are not wanted. */
static uint32_t find_row(struct pl_process *process, struct pl_thread *thread, uint64_t size,
                         const struct pl_start *start)
{
    if (unlikely(size - thread->size_from > thread->size_span))
        return pl_row_other(process, thread);
    pl_stack_walk(process, thread, start);
    return pl_row_number(process, thread);
}

static void sample(struct pl_process *process, struct pl_thread *thread, uint64_t size, void *block, double weight,
                   const struct pl_start *start)
{
    if (!pl_process_open(process))
        return;
    pl_thread_attach(process, thread);
    if (unlikely(!thread->record)) { /* the file is full: a row without an owner would be everybody's */
        pl_file_lost(&process->file, PL_LOSS_THREADS);
        return;
    }
    uint32_t row = find_row(process, thread, size, start);
    if (!row)
        return;
    uint64_t calls, bytes;
    pl_thread_totals(thread, &pl_tls, &calls, &bytes);
    struct pl_record record = {
        .size = size,
        .weight = weight,
        .row = row,
        .thread = thread->record,
        .calls = calls,
        .units = pl_timeline_now(process),
    };
    remember(process, thread, block, &record);
    pl_live_tell(process, thread);
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

/* Most visits in auto mode are ends of parts of a gap, at which nothing has changed: on to the next part. Computes with
 * whole numbers only. */
static bool go_on(struct pl_process *process, struct pl_thread *thread, struct pl_tls *tls, uint64_t charge)
{
    struct pl_sampler *sampler = &thread->sampler;
    const struct pl_budget *budget = &process->budget;
    uint64_t left = load_relaxed(&tls->charge_left) + charge, countdown;
    if (!sampler->armed || sampler->rest + left < charge || left >= charge || load_relaxed(&thread->slept) ||
        load_relaxed(&process->counting) || pl_process_interval(process) != sampler->interval || tls->paused ||
        load_relaxed(&process->changes) != thread->changes ||
        pl_clock() - load_relaxed(&budget->looked_at) >= load_relaxed(&budget->rest))
        return false;
    pl_sampler_meet(sampler, charge, left, sampler->interval, &countdown);
    settle(thread, tls, countdown);
    leave(process, thread, tls);
    return true;
}

double pl_cold_due(enum pl_function function, uint64_t size)
{
    struct pl_process *process = pl_process;
    struct pl_tls *tls = &pl_tls;
    pl_cold_uncount(function, size);
    struct pl_thread *thread = enter(process, tls, pl_stack_pointer());
    if (!thread)
        return 0;
    if (pl_config.mode == PL_MODE_AUTO && go_on(process, thread, tls, size + PL_CALL_CHARGE))
        return 0;
    struct pl_fp_state fp;
    uint64_t countdown, began = pl_clock();
    pl_fp_enter(&fp);
    pl_process_obey(process);
    bool in_step = thread->ticket != PL_TICKET_NONE;
    double weight = decide(process, thread, size + PL_CALL_CHARGE, &countdown);
    uint64_t left = settle(thread, tls, countdown);
    /* More was charged than this call. (After a reset in decide() the record is a new one, and knows of no loss.) */
    if (weight < 0 && in_step && left + size + PL_CALL_CHARGE)
        pl_exact_unseen(process, thread);
    else if (weight <= 0)
        pl_thread_book(process, thread, tls);
    if (weight == 0 && process->file.base)
        pl_live_tell(process, thread);
    leave(process, thread, tls);
    pl_fp_leave(&fp);
    if (weight == 0)
        pl_budget_charge(process, pl_clock() - began, 1);
    return weight;
}

/* In exact mode also calls that are lost are in the thread's record (pl_exact_unseen). */
static void count_unseen(const struct pl_process *process, const struct pl_tls *tls, enum pl_function function,
                         uint64_t size)
{
    struct pl_thread *thread = pl_thread_mine(tls);
    if (load_relaxed(&process->counting) && thread && thread->tracker && thread->record_at)
        pl_thread_step(thread->record_at, function, size);
}

void pl_cold_allocated(enum pl_function function, uint64_t size, void *block, double weight,
                       const struct pl_start *start)
{
    struct pl_process *process = pl_process;
    struct pl_tls *tls = &pl_tls;
    if (!block)
        return;
    count(tls, function, size, 1);
    if (weight == 0)
        count_unseen(process, tls, function, size);
    struct pl_thread *thread = weight > 0 ? enter(process, tls, pl_stack_pointer()) : NULL;
    if (!thread)
        return;
    struct pl_fp_state fp;
    uint64_t began = pl_clock();
    pl_fp_enter(&fp);
    sample(process, thread, size, block, weight, start);
    pl_thread_book(process, thread, tls);
    uint64_t ticks = pl_clock() - began;
    uint64_t now = pl_timeline_now(process);
    if (process->file.base && now >= load_relaxed(&process->timeline.due))
        pl_timeline_take(process, now, false);
    leave(process, thread, tls);
    pl_fp_leave(&fp);
    pl_budget_charge(process, ticks, PL_BUDGET_SAMPLE);
}

void pl_cold_thrown(uintptr_t to)
{
    struct pl_tls *tls = &pl_tls;
    struct pl_process *process = pl_process;
    struct pl_thread *thread = pl_thread_mine(tls);
    if (unlikely(load_relaxed(&process->copying) == pl_thread_pointer() && to > process->copying_from))
        store_release(&process->copying, 0);     /* out of plimsoll_write(), and the like */
    if (unlikely(tls->charge_left > SLEEP_LONG)) /* the countdown has run out, and the next has not been set */
        put_off(tls, 0);
    if (likely(!thread || !thread->busy) || !on_own_stack(thread, to))
        return;
    if (to > thread->busy || !on_own_stack(thread, thread->busy)) {
        thread->busy = 0;
        pl_file_lost(&process->file, PL_LOSS_STALE_BUSY);
    }
}

/* ---- frees ---- */

bool pl_cold_take(void *block, struct pl_known *known)
{
    struct pl_process *process = pl_process;
    struct pl_live_found found;
    uint8_t byte = load_relaxed(pl_filter_byte(block));
    known->exact.word = known->sampled.row = 0;
    if (!block) /* an address that is in no table, but looks like an empty place in all of them */
        return false;
    if (pl_filter_is_exact(byte))
        pl_exact_take(block, &known->exact);
    if (byte != PL_FILTER_EXACT && pl_live_take(&process->live, (uintptr_t) block, &found)) {
        if (found.link_map)
            pl_process_unloaded(process);
        if (found.block)
            known->sampled = found.record;
    }
    return known->exact.word || known->sampled.row;
}

/* When exact mode is left, its marks stay in the filter. Once no allocation that began in it can be under way any more,
 * every so many frees look whether one is still needed. */
void pl_cold_unknown(const void *block)
{
    struct pl_process *process = pl_process;
    if (!pl_filter_is_exact(load_relaxed(pl_filter_byte(block))) || load_relaxed(&process->counting))
        return;
    if (pl_clock() - load_relaxed(&process->left_exact) > UNMARK_AFTER)
        pl_block_forget_near(&process->blocks, (uintptr_t) block);
}

static void sample_freed(struct pl_process *process, const struct pl_record *record, bool moved)
{
    struct pl_thread *thread = pl_thread_mine(&pl_tls);
    struct pl_fp_state fp;
    if (unlikely(load_acquire(&process->state) == PL_PROCESS_ENDING))
        pl_process_start(process);
    /* A handler's free inside our own visit may be changing the very row that the visit is changing: go the others'
     * way. */
    if (thread && thread->busy)
        thread = NULL;
    pl_fp_enter(&fp);
    if (thread) {
        thread->busy = pl_stack_pointer();
        signal_fence();
    }
    pl_row_freed(process, thread, record, moved);
    if (thread)
        leave(process, thread, &pl_tls);
    pl_fp_leave(&fp);
}

void pl_cold_freed(const void *block, const struct pl_known *known)
{
    if (known->exact.word)
        pl_exact_freed(block, &known->exact);
    if (known->sampled.row)
        sample_freed(pl_process, &known->sampled, !block);
}

void pl_cold_restore(void *block, const struct pl_known *known)
{
    struct pl_process *process = pl_process;
    if (known->exact.word)
        pl_exact_restore(block, &known->exact);
    if (known->sampled.row && !pl_live_insert(&process->live, (uintptr_t) block, &known->sampled)) {
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
    if (byte != PL_FILTER_EXACT && pl_live_find(&process->live, (uintptr_t) block, &record)) {
        struct pl_fp_state fp;
        pl_fp_enter(&fp);
        pl_row_realloc(process, &record, old_bytes, moved);
        pl_fp_leave(&fp);
    }
}
