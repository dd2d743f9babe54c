/* SPDX-License-Identifier: MIT */
/*
 * meter.c - auto mode in a process: what the cold path has spent, and what follows from it. See budget.h.
 *
 * Anyone adds to the meter. Whoever finds that a look is due, and that nobody else is looking, reads the clocks, asks
 * the controller (budget.c) and tells the threads; everybody else goes on. In a sandbox there are no clocks to read.
 */
#include "budget.h"

#include "arch.h"
#include "clock.h"
#include "eras.h"
#include "format.h"
#include "process.h"
#include "settings.h"
#include "sys.h"

/* ---- the clocks ---- */

#define TICKS_MOST (1u << 17)   /* a visit: 50 us. What takes longer was preempted */
#define LOST_TICKS (1ull << 33) /* a look that began this long ago, some seconds, was thrown out by longjmp */
#define NS_PER_TICK 0.4         /* before it is measured, which is worth it from 5 ms on */
#define CALIBRATE_FROM 5000000u
#define CALIBRATED 1000000000u
#define REST_NS 5e7
#define LOOK_NS 1e6 /* spent from one look to the next: at most this, and at most the budget of LOOK_SHARE_NS */
#define LOOK_SHARE_NS 5e7
#define LOOK_NS_LEAST 2e4

/* Machines are suspended and moved, and then clocks disagree: the rate is that of the first second. A thread that is
 * preempted between the two clocks has learned nothing. */
static void calibrate(const struct pl_process *process, struct pl_budget *budget)
{
    if (budget->calibrated_ns >= CALIBRATED)
        return;
    uint64_t ticks = pl_clock(), ns = pl_sys_clock_ns(CLOCK_MONOTONIC) - process->start_ns;
    if (!budget->calibrated_ns)
        budget->ns_per_tick = NS_PER_TICK;
    if (ns < CALIBRATE_FROM || ticks <= process->start_ticks || pl_clock() - ticks >= PL_TICKS_AT_ONCE)
        return;
    budget->ns_per_tick = (double) ns / (double) (ticks - process->start_ticks);
    budget->calibrated_ns = ns;
}

static uint64_t ticks_of(const struct pl_budget *budget, double ns)
{
    return (uint64_t) (int64_t) (ns / budget->ns_per_tick);
}

static double pause_ns(const struct pl_budget *budget)
{
    double ns = budget->overhead * LOOK_SHARE_NS;
    return ns < LOOK_NS_LEAST ? LOOK_NS_LEAST : ns > LOOK_NS ? LOOK_NS : ns;
}

static struct pl_reading read_world(const struct pl_process *process, uint64_t spent_ticks)
{
    double spent = (double) spent_ticks * process->budget.ns_per_tick;
    uint64_t calls = load_relaxed(&process->totals.calls);
    uint64_t bytes = load_relaxed(&process->totals.bytes);
    return (struct pl_reading){
        .cpu_ns = pl_sys_clock_ns(CLOCK_PROCESS_CPUTIME_ID),
        .spent_ns = (uint64_t) (int64_t) spent,
        .calls = calls,
        .charge = bytes + calls * PL_CALL_CHARGE,
        .samples = process->file.base ? load_relaxed(&pl_file_header(&process->file)->visits) : 0,
    };
}

/* ---- telling ---- */

static void write_changes(struct pl_auto *to, const struct pl_budget *budget, bool exact)
{
    if (to->exact && !exact && to->left++ == 0) {
        to->exact_calls = budget->calls;
        to->exact_ns = budget->cpu_ns;
    }
    to->returned += exact && !to->exact && to->left;
    to->exact = exact;
    to->interval_bytes = exact ? to->interval_bytes : budget->interval_bytes;
    to->interval_max = to->interval_bytes > to->interval_max ? to->interval_bytes : to->interval_max;
}

static void write_account(const struct pl_process *process)
{
    if (!process->file.base)
        return;
    struct pl_auto *to = &pl_file_header(&process->file)->automatic;
    store_relaxed(&to->spent_ns, process->budget.spent_ns);
    store_relaxed(&to->cpu_ns, process->budget.cpu_ns);
}

void pl_budget_describe(const struct pl_process *process, struct pl_header *header)
{
    struct pl_auto *to = &header->automatic;
    to->overhead_ppm = pl_config.overhead_ppm;
    if (pl_config.mode == PL_MODE_AUTO)
        write_changes(to, &process->budget, process->budget.exact && !pl_config.off);
}

static void tell(struct pl_process *process)
{
    const struct pl_budget *budget = &process->budget;
    if (pl_config.mode == PL_MODE_AUTO && !budget->exact)
        store_relaxed(&process->interval_bytes, budget->interval_bytes);
    pl_process_obey(process);
    /* Switched off, or at the end, nothing is counted, and the budget did not decide that. */
    bool on = load_relaxed(&process->state) == PL_PROCESS_ON && pl_process_interval(process) != 0;
    if (pl_config.mode == PL_MODE_AUTO && process->file.base && on)
        write_changes(&pl_file_header(&process->file)->automatic, budget, load_relaxed(&process->counting));
}

/* ---- looking ---- */

static void keep_account(struct pl_process *process, uint64_t spent_ticks, bool ours)
{
    struct pl_budget *budget = &process->budget;
    calibrate(process, budget);
    struct pl_reading reading = read_world(process, spent_ticks);
    if (ours)
        pl_budget_decide(budget, &reading);
    else
        pl_budget_watch(budget, &reading);
    write_account(process);
}

static void decide(struct pl_process *process, uint64_t spent_ticks)
{
    struct pl_budget *budget = &process->budget;
    keep_account(process, spent_ticks, pl_config.mode == PL_MODE_AUTO && !pl_process_overruled(process));
    double pause = pause_ns(budget);
    store_relaxed(&budget->rest, ticks_of(budget, REST_NS));
    store_relaxed(&budget->next_look, spent_ticks + ticks_of(budget, pause));
}

/* Nobody may ask the time. Sampling at the usual T is cheap in most programs, and nothing else is known of this one. */
static void decide_blindly(struct pl_budget *budget)
{
    if (pl_config.mode != PL_MODE_AUTO || !budget->exact)
        return;
    budget->exact = false;
    budget->interval_bytes = PL_BUDGET_INTERVAL;
}

static bool take_turn(struct pl_budget *budget, uint64_t ticks)
{
    uint64_t looking = load_relaxed(&budget->looking);
    if (looking && ticks - looking < LOST_TICKS)
        return false;
    return swap_if(&budget->looking, looking, ticks);
}

/* What the thread has kept to itself is told first: without it the program would seem to be idle. */
static void tell_own(struct pl_process *process)
{
    struct pl_thread *thread = pl_thread_mine(&pl_tls);
    if (thread && thread->busy)
        pl_live_tell(process, thread);
}

static void look(struct pl_process *process, uint64_t ticks, uint64_t spent_ticks)
{
    struct pl_budget *budget = &process->budget;
    struct pl_fp_state fp;
    if (!take_turn(budget, ticks))
        return;
    pl_fp_enter(&fp);
    tell_own(process);
    if (load_relaxed(&process->sandboxed))
        decide_blindly(budget);
    else
        decide(process, spent_ticks);
    tell(process);
    pl_fp_leave(&fp);
    uint64_t now = pl_clock();
    store_relaxed(&budget->looked_at, now);
    fetch_add(&budget->spent_ticks, now - ticks < TICKS_MOST ? now - ticks : TICKS_MOST);
    store_release(&budget->looking, 0);
}

/* In a sandbox there is one thing to decide, and neither the clock nor what was spent need ever move again. */
static bool is_due(const struct pl_process *process, uint64_t ticks, uint64_t spent_ticks)
{
    const struct pl_budget *budget = &process->budget;
    if (load_relaxed(&process->sandboxed))
        return pl_config.mode == PL_MODE_AUTO && budget->exact;
    return spent_ticks >= load_relaxed(&budget->next_look) ||
           ticks - load_relaxed(&budget->looked_at) >= load_relaxed(&budget->rest);
}

void pl_budget_charge(struct pl_process *process, uint64_t ticks, uint64_t times)
{
    struct pl_budget *budget = &process->budget;
    uint64_t price = times * (ticks < TICKS_MOST ? ticks : TICKS_MOST);
    uint64_t spent = fetch_add(&budget->spent_ticks, price) + price;
    uint64_t now = pl_clock();
    if (unlikely(is_due(process, now, spent)))
        look(process, now, spent);
}

void pl_budget_end(struct pl_process *process)
{
    uint64_t ticks = pl_clock();
    struct pl_fp_state fp;
    if (process->sandboxed || !take_turn(&process->budget, ticks))
        return;
    pl_fp_enter(&fp);
    keep_account(process, load_relaxed(&process->budget.spent_ticks), false);
    pl_fp_leave(&fp);
    store_release(&process->budget.looking, 0);
}
