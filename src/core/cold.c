/* SPDX-License-Identifier: MIT */
/* cold.c - see cold.h. */
#include "cold.h"

#include "arch.h"
#include "filter.h"
#include "process.h"
#include "rows.h"
#include "settings.h"
#include "sys.h"

#define SLEEP_OFF (64ull << 20)   /* switched off: look at the control words this often */
#define SLEEP_NESTED (1ull << 16) /* a nested visit must not come back at once */
#define SLEEP_LONG (1ull << 62)   /* nothing to do, ever */

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
    struct pl_thread *thread = tls->thread;
    return likely(thread && thread->tls == tls) ? thread : pl_thread_register(process, tls);
}

/* Not now: the next visit comes after `charge`. What was spent until now moves to where exact totals find it. */
static void put_off(struct pl_tls *tls, uint64_t charge)
{
    fetch_add(&tls->charge_aside, charge - exchange(&tls->charge_left, charge));
    if (tls->thread && tls->thread->tls == tls)
        store_relaxed(&tls->thread->slept, 1);
}

/* NULL: there is nothing to do but forward, and the countdown has been set accordingly. */
static struct pl_thread *enter(struct pl_process *process, struct pl_tls *tls, uintptr_t sp)
{
    if (unlikely(load_acquire(&process->state) != PL_PROCESS_ON) && !pl_process_start(process)) {
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
            put_off(tls, SLEEP_NESTED);
            pl_file_lost(&process->file, PL_LOSS_NESTED);
            return NULL;
        }
        pl_file_lost(&process->file, PL_LOSS_STALE_BUSY);
    }
    thread->busy = sp;
    signal_fence();
    return thread;
}

/* ---- the countdown ---- */

/* The mean gap now in force; 0 when switched off. The control words are the only thing read back from the file. */
static uint64_t interval_now(const struct pl_process *process)
{
    if (!process->file.base)
        return pl_config.off ? 0 : process->interval_bytes;
    const struct pl_control *control = &pl_file_header(&process->file)->control;
    uint64_t wanted = load_relaxed(&control->interval_bytes);
    if (load_relaxed(&control->off))
        return 0;
    return wanted >= PL_SAMPLE_MIN && wanted <= PL_SAMPLE_MAX ? wanted : process->interval_bytes;
}

static double decide(const struct pl_process *process, struct pl_thread *thread, uint64_t charge, uint64_t *countdown)
{
    uint64_t interval = interval_now(process);
    if (__atomic_exchange_n(&thread->slept, 0, __ATOMIC_RELAXED))
        thread->sampler.armed = false;
    if (interval)
        return pl_sampler_visit(&thread->sampler, charge, interval, countdown);
    *countdown = pl_sampler_sleep(&thread->sampler, SLEEP_OFF);
    return 0;
}

/* Sets the next countdown before anything else is done, so that a visit that is thrown out by longjmp does not leave
 * the thread deaf. The exchange keeps what a signal handler may be counting at this moment. */
static void settle(struct pl_thread *thread, struct pl_tls *tls, uint64_t countdown)
{
    uint64_t left = exchange(&tls->charge_left, countdown);
    fetch_add(&thread->charge_spent, thread->countdown - left);
    thread->countdown = countdown;
}

/* A nested visit has put the next one off, and with it the gap that was running. Gaps have no memory: a new one will
 * do. */
static void rearm(const struct pl_process *process, struct pl_thread *thread, struct pl_tls *tls)
{
    uint64_t interval = interval_now(process);
    struct pl_sampler *sampler = &thread->sampler;
    store_relaxed(&thread->slept, 0);
    settle(thread, tls, interval ? pl_sampler_draw(sampler, interval) : pl_sampler_sleep(sampler, SLEEP_OFF));
}

/* A handler may still come at the last moment: then the visit is not over yet. */
static void leave(const struct pl_process *process, struct pl_thread *thread, struct pl_tls *tls)
{
    for (uintptr_t sp = thread->busy;; thread->busy = sp) {
        if (unlikely(load_relaxed(&thread->slept)))
            rearm(process, thread, tls);
        signal_fence();
        thread->busy = 0;
        signal_fence();
        if (likely(!load_relaxed(&thread->slept)))
            return;
    }
}

/* ---- a sample ---- */

/* An address that is in the table already was freed in a way we cannot see. */
static void forget_missed(struct pl_process *process, struct pl_thread *thread, void *block)
{
    struct pl_record missed;
    if (load_relaxed(pl_filter_byte(block)) && pl_cold_take(block, &missed)) {
        pl_row_freed(process, thread, &missed);
        pl_file_lost(&process->file, PL_LOSS_MISSED_FREE);
    }
}

static void remember(struct pl_process *process, struct pl_thread *thread, void *block, const struct pl_record *record)
{
    forget_missed(process, thread, block);
    pl_row_allocated(process, record);
    if (!pl_live_insert(&process->live, (uintptr_t) block, record)) {
        /* Its free will not be seen, so it must not seem to live for ever. */
        pl_row_freed(process, thread, record);
        pl_file_lost(&process->file, PL_LOSS_LIVE_FULL);
    }
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
    pl_unwind(&thread->walk, start);
    uint32_t row = pl_row_number(process, thread);
    struct pl_header *header = pl_file_header(&process->file);
    fetch_add(&header->visits, 1);
    fetch_add(&header->frames_walked, thread->walk.walked);
    fetch_add(&header->stops[thread->walk.stop], 1);
    if (!row)
        return;
    struct pl_record record = {.size = size, .weight = weight, .row = row, .thread = thread->record};
    remember(process, thread, block, &record);
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

double pl_cold_due(enum pl_function function, uint64_t size)
{
    struct pl_process *process = pl_process;
    struct pl_tls *tls = &pl_tls;
    pl_cold_uncount(function, size);
    struct pl_thread *thread = enter(process, tls, pl_stack_pointer());
    if (!thread)
        return 0;
    struct pl_fp_state fp;
    uint64_t countdown;
    pl_fp_enter(&fp);
    double weight = decide(process, thread, size + PL_CALL_CHARGE, &countdown);
    settle(thread, tls, countdown);
    if (weight == 0)
        pl_thread_book(process, thread, tls);
    leave(process, thread, tls);
    pl_fp_leave(&fp);
    return weight;
}

void pl_cold_allocated(enum pl_function function, uint64_t size, void *block, double weight,
                       const struct pl_start *start)
{
    struct pl_process *process = pl_process;
    struct pl_tls *tls = &pl_tls;
    if (!block)
        return;
    count(tls, function, size, 1);
    struct pl_thread *thread = weight > 0 ? enter(process, tls, pl_stack_pointer()) : NULL;
    if (!thread)
        return;
    struct pl_fp_state fp;
    pl_fp_enter(&fp);
    sample(process, thread, size, block, weight, start);
    pl_thread_book(process, thread, tls);
    leave(process, thread, tls);
    pl_fp_leave(&fp);
}

void pl_cold_thrown(uintptr_t to)
{
    struct pl_tls *tls = &pl_tls;
    struct pl_thread *thread = tls->thread;
    if (unlikely(tls->charge_left > SLEEP_LONG)) /* the countdown has run out, and the next has not been set */
        put_off(tls, 0);
    if (likely(!thread || thread->tls != tls || !thread->busy) || !on_own_stack(thread, to))
        return;
    if (to > thread->busy || !on_own_stack(thread, thread->busy)) {
        thread->busy = 0;
        pl_file_lost(&pl_process->file, PL_LOSS_STALE_BUSY);
    }
}

/* ---- frees ---- */

bool pl_cold_take(void *block, struct pl_record *record)
{
    struct pl_process *process = pl_process;
    struct pl_live_found found;
    if (!block) /* an address that is in no table, but looks like an empty place in all of them */
        return false;
    if (likely(!pl_live_take(&process->live, (uintptr_t) block, &found)))
        return false;
    if (found.link_map)
        pl_process_unloaded(process);
    *record = found.record;
    return found.block;
}

void pl_cold_freed(const struct pl_record *record)
{
    struct pl_process *process = pl_process;
    struct pl_thread *thread = pl_tls.thread;
    struct pl_fp_state fp;
    if (unlikely(load_acquire(&process->state) == PL_PROCESS_ENDING))
        pl_process_start(process);
    /* A handler's free inside our own visit may be changing the very row that the visit is changing: go the others'
     * way. */
    if (thread && (thread->tls != &pl_tls || thread->busy))
        thread = NULL;
    pl_fp_enter(&fp);
    if (thread) {
        thread->busy = pl_stack_pointer();
        signal_fence();
    }
    pl_row_freed(process, thread, record);
    if (thread)
        leave(process, thread, &pl_tls);
    pl_fp_leave(&fp);
}

void pl_cold_restore(void *block, const struct pl_record *record)
{
    struct pl_process *process = pl_process;
    if (!pl_live_insert(&process->live, (uintptr_t) block, record)) {
        pl_cold_freed(record);
        pl_file_lost(&process->file, PL_LOSS_LIVE_FULL);
    }
}
