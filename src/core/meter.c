/* SPDX-License-Identifier: MIT */
/*
 * meter.c - auto mode in a process: adds up what the cold path spends and applies the controller's decisions. See
 * budget.h.
 *
 * Every thread adds to the meter. A thread that finds a look due, with no other thread looking, reads the clocks, asks
 * the controller (budget.c) and publishes the decision; the other threads go on. In a sandbox no clock may be read.
 */
#include "core/budget.h"

#include "core/arch.h"
#include "core/clock.h"
#include "core/cold.h"
#include "core/control.h"
#include "core/process.h"
#include "core/records/eras.h"
#include "core/sys.h"
#include "format/format.h"
#include "format/settings.h"

/* ---- the clocks ---- */

#define LOST_TICKS (1ull << 33) /* some seconds: a look that began longer ago was abandoned by longjmp */
#define NS_PER_TICK 0.4         /* until it can be measured, 5 ms after the start */
#define CALIBRATE_FROM 5000000u
#define CALIBRATED 1000000000u
#define REST_NS 5e7 /* a look is due this long after the last one, even if little was spent */
#define REST_LONGER_MOST 16.0
#define LOOK_NS 1e6 /* a look is due when this much was spent, or the budget of LOOK_SHARE_NS if that is less */
#define LOOK_SHARE_NS 5e7
#define LOOK_NS_LEAST 2e4
#define GIVE_BACK_AFTER (1ull << 30) /* ticks: some 0.4 s */

/* When a machine is suspended or migrated its clocks diverge, so only the first second is used to measure the rate. If
 * the thread was preempted between reading the two clocks, the reading is discarded. */
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

static uint64_t ns_of(const struct pl_budget *budget, uint64_t ticks)
{
    return (uint64_t) (int64_t) ((double) ticks * budget->ns_per_tick);
}

/* Where the program gets only a part of a processor's time, on a busy machine or because it waits, the clock calls for
 * more looks than the program can pay for: then rests are longer. `cpu_ns` is from the look before this one. */
static double rest_ns(const struct pl_budget *budget, uint64_t ticks, uint64_t cpu_ns)
{
    uint64_t since = load_relaxed(&budget->looked_at);
    if (!since || ticks <= since || budget->cpu_ns <= cpu_ns)
        return REST_NS;
    double longer = (double) (int64_t) ns_of(budget, ticks - since) / (double) (int64_t) (budget->cpu_ns - cpu_ns);
    return REST_NS * (longer < 1 ? 1 : longer > REST_LONGER_MOST ? REST_LONGER_MOST : longer);
}

static struct pl_budget_reading read_world(const struct pl_process *process, uint64_t spent_ticks)
{
    uint64_t calls = load_relaxed(&process->totals.calls);
    uint64_t bytes = load_relaxed(&process->totals.bytes);
    return (struct pl_budget_reading){
        .cpu_ns = pl_sys_clock_ns(CLOCK_PROCESS_CPUTIME_ID),
        .spent_ns = ns_of(&process->budget, spent_ticks),
        .calls = calls,
        .charge = bytes + calls * PL_CALL_CHARGE,
        .samples = process->file.base ? load_relaxed(&pl_file_header(&process->file)->visits) : 0,
        .sampling_ns = ns_of(&process->budget, load_relaxed(&process->budget.sample_ticks)),
    };
}

/* ---- outside of visits ---- */

uint64_t pl_meter_begin(const struct pl_process *process)
{
    return load_relaxed(&process->sandboxed) ? 0 : pl_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

void pl_meter_aside(struct pl_process *process, uint64_t began)
{
    uint64_t now = began ? pl_meter_begin(process) : 0;
    if (now > began)
        fetch_add(&process->budget.aside_ns, now - began);
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
    store_relaxed(&to->spent_ns, process->budget.spent_ns + load_relaxed(&process->budget.aside_ns));
    store_relaxed(&to->cpu_ns, process->budget.cpu_ns);
}

void pl_meter_describe(const struct pl_process *process, struct pl_header *header)
{
    struct pl_auto *to = &header->automatic;
    to->overhead_ppm = pl_config.overhead_ppm;
    header->credit_ms = pl_config.credit_ms;
    if (pl_config.mode == PL_MODE_AUTO)
        write_changes(to, &process->budget, process->budget.exact && !pl_config.off);
}

static void tell(struct pl_process *process)
{
    const struct pl_budget *budget = &process->budget;
    if (pl_config.mode == PL_MODE_AUTO && !budget->exact)
        store_relaxed(&process->interval_bytes, budget->interval_bytes);
    pl_process_obey(process);
    /* Switched off or ENDING: nothing is counted then, but that was not the budget's decision. */
    bool on = load_relaxed(&process->state) == PL_PROCESS_ON && pl_process_interval(process) != 0;
    if (pl_config.mode == PL_MODE_AUTO && process->file.base && on)
        write_changes(&pl_file_header(&process->file)->automatic, budget, load_relaxed(&process->counting));
}

/* ---- looking ---- */

static void keep_account(struct pl_process *process, uint64_t spent_ticks, bool ours)
{
    struct pl_budget *budget = &process->budget;
    calibrate(process, budget);
    struct pl_budget_reading reading = read_world(process, spent_ticks);
    bool sampling = !budget->exact;
    if (ours)
        pl_budget_decide(budget, &reading);
    else
        pl_budget_watch(budget, &reading);
    if (sampling && budget->exact && load_acquire(&process->blocks.giving_back))
        budget->exact = false;
    write_account(process);
}

/* A while after exact mode was left: gives memory back that only exact mode needed, a part at each look. Exact mode
 * does not return meanwhile, even if this thread is stopped here and another one looks. */
static OUT_OF_LINE void give_back(struct pl_process *process)
{
    uintptr_t *giving = &process->blocks.giving_back;
    struct pl_thread *thread = pl_thread_mine(&pl_tls);
    if (!thread || pl_config.mode != PL_MODE_AUTO || process->budget.exact || load_relaxed(&process->counting) ||
        pl_clock() - load_relaxed(&process->left_exact) < GIVE_BACK_AFTER ||
        !swap_if(giving, 0, pl_arch_thread_pointer()))
        return;
    bool inside = thread->busy;
    if (!inside) /* a visit, so that pl_cold_thrown() notices a longjmp out of it */
        pl_thread_enter(thread, &pl_tls, pl_arch_stack_pointer());
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* see pl_exact_restore() */
    if (pl_thread_none_counts(process))
        pl_block_give_back(&process->blocks);
    store_release(giving, 0);
    if (!inside)
        pl_cold_end(process, thread, &pl_tls);
}

static void decide(struct pl_process *process, uint64_t ticks, uint64_t spent_ticks)
{
    struct pl_budget *budget = &process->budget;
    uint64_t cpu_ns = budget->cpu_ns;
    keep_account(process, spent_ticks, pl_config.mode == PL_MODE_AUTO && !pl_process_overruled(process));
    give_back(process);
    double pause = pause_ns(budget);
    store_relaxed(&budget->rest, ticks_of(budget, rest_ns(budget, ticks, cpu_ns)));
    store_relaxed(&budget->next_look, spent_ticks + ticks_of(budget, pause));
}

/* In a sandbox, costs cannot be measured. Sampling with the usual T is cheap in most programs. */
static void decide_blindly(struct pl_budget *budget)
{
    if (pl_config.mode != PL_MODE_AUTO || !budget->exact)
        return;
    budget->exact = false;
    budget->interval_bytes = PL_SAMPLE_USUAL;
}

static bool take_turn(struct pl_budget *budget, uint64_t ticks)
{
    uint64_t looking = load_relaxed(&budget->looking);
    if (looking && ticks - looking < LOST_TICKS)
        return false;
    return swap_if(&budget->looking, looking, ticks);
}

/* Publishes what this thread has not told yet: without it the program might seem to be idle. */
static void tell_own(struct pl_process *process)
{
    struct pl_thread *thread = pl_thread_mine(&pl_tls);
    if (thread && thread->busy)
        pl_era_tell(process, thread);
}

static void look(struct pl_process *process, uint64_t ticks, uint64_t spent_ticks)
{
    struct pl_budget *budget = &process->budget;
    struct pl_arch_fp_state fp;
    uint32_t request;
    if (!take_turn(budget, ticks))
        return;
    pl_arch_fp_enter(&fp);
    tell_own(process);
    bool asked = pl_control_pending(process) && pl_control_begin(process, &request);
    if (load_relaxed(&process->sandboxed))
        decide_blindly(budget);
    else
        decide(process, ticks, spent_ticks);
    tell(process);
    if (asked)
        pl_control_end(process, request);
    pl_arch_fp_leave(&fp);
    uint64_t now = pl_clock();
    store_relaxed(&budget->looked_at, now);
    fetch_add(&budget->spent_ticks, now - ticks < PL_BUDGET_TICKS_MOST ? now - ticks : PL_BUDGET_TICKS_MOST);
    store_release(&budget->looking, 0);
    if (asked)
        pl_cold_hurry(&pl_tls);
}

/* In a sandbox the only decision is to leave exact mode. It cannot wait for the clock or for spent_ticks, which may
 * never advance again. */
static bool is_due(const struct pl_process *process, uint64_t ticks, uint64_t spent_ticks)
{
    const struct pl_budget *budget = &process->budget;
    if (pl_control_pending(process))
        return true;
    if (load_relaxed(&process->sandboxed))
        return pl_config.mode == PL_MODE_AUTO && budget->exact;
    return spent_ticks >= load_relaxed(&budget->next_look) ||
           ticks - load_relaxed(&budget->looked_at) >= load_relaxed(&budget->rest);
}

static void spend(struct pl_process *process, uint64_t price)
{
    uint64_t spent = fetch_add(&process->budget.spent_ticks, price) + price;
    uint64_t now = pl_clock();
    if (unlikely(is_due(process, now, spent)))
        look(process, now, spent);
}

void pl_meter_spend(struct pl_process *process, uint64_t ticks, uint64_t times)
{
    spend(process, times * (ticks < PL_BUDGET_TICKS_MOST ? ticks : PL_BUDGET_TICKS_MOST));
}

void pl_meter_sample_rest(struct pl_process *process, uint64_t ticks)
{
    struct pl_budget *budget = &process->budget;
    uint64_t price = pl_budget_price_rest(budget, ticks);
    fetch_add(&budget->sample_ticks, price);
    fetch_add(&budget->spent_ticks, price);
}

void pl_meter_sample(struct pl_process *process, uint64_t ticks)
{
    uint64_t price = pl_budget_price(&process->budget, ticks);
    fetch_add(&process->budget.sample_ticks, price);
    spend(process, price);
}

void pl_meter_missed(struct pl_process *process)
{
    uint32_t ticks = pl_tls.missed_ticks;
    pl_tls.missed_ticks = 0;
    if (load_relaxed(&process->state) == PL_PROCESS_ON)
        spend(process, ticks);
}

void pl_meter_end(struct pl_process *process)
{
    uint64_t ticks = pl_clock();
    struct pl_arch_fp_state fp;
    if (process->sandboxed || !take_turn(&process->budget, ticks))
        return;
    pl_arch_fp_enter(&fp);
    keep_account(process, load_relaxed(&process->budget.spent_ticks), false);
    pl_arch_fp_leave(&fp);
    store_release(&process->budget.looking, 0);
}
