/* SPDX-License-Identifier: MIT */
/*
 * budget.h - auto mode: exact while that is affordable, then sampled so that it costs what it may.
 *
 * Visits to the cold path are timed (in exact mode one in PL_BUDGET_EVERY, in ticks of the processor's clock, clamped
 * against preemption) and charged here. Every so often there is a look: the sum is compared with the CPU time that the
 * program itself has used, which is the process's less what was spent here.
 *
 *   spent  <=  credit + overhead * own
 *
 * An account holds the difference. It opens with the credit, own CPU time pays in, visits are paid out of it, and it
 * never holds more than a second's worth of the budget (before exact mode is first left: than the credit), so the
 * budget holds in every stretch of some seconds and not only in the long run. As long as there is anything in it, every
 * allocation is counted. When it is overdrawn, the mean gap T rises to where the charge now allocated per second,
 * divided by T, times the cost of a sample, is within the budget; from then on T follows, up and down, and what was
 * overdrawn is paid back. If the program has for a while allocated so little that counting everything fits into half
 * of the budget, exact mode returns.
 *
 *   worked: 2%, 100 ns for an allocation and its free, 1 million of them a second, 100 bytes each. Exact costs 10%, and
 *   the credit of 0.1 s lasts 1.2 s. Then, at 3 us a sample and aiming at 1.5%: T = 164 MB/s * 3 us / 1.5% = 32 KiB.
 *
 * A change of T is seen by each thread at its next visit. Whoever draws a gap keeps the T it was drawn with
 * (sampler.h), so samples taken under different T add up without bias.
 */
#ifndef PL_BUDGET_H
#define PL_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler.h"

/* A prime: programs repeat themselves, and every 64th visit of a loop would always be its malloc, or always its free.
 */
#define PL_BUDGET_EVERY 61

/* A sample costs three times as much again, outside of the part that is timed: before the real allocation, when its
 * block is freed, and in frees of its neighbours, which the filter lets through while it lives. */
#define PL_BUDGET_SAMPLE 4

/* T of those who know nothing of the program. */
#define PL_BUDGET_INTERVAL (512u << 10)

struct pl_process;
struct pl_header;

/* What the controller knows. Pure numbers: the tests drive it without a process. */
struct pl_budget {
    /* The meter: who is to look, and when. All in ticks. */
    uint64_t spent_ticks; /* added to by anyone */
    uint64_t next_look;   /* spent_ticks at which to look again */
    uint64_t looked_at;   /* when that was last done, and how long it may rest */
    uint64_t rest;
    uint64_t looking; /* when the look that is under way began; 0: there is none */
    double ns_per_tick;
    uint64_t calibrated_ns; /* since the start of the process, when that was measured */

    /* The decision. */
    bool exact;
    uint64_t interval_bytes; /* in force when not exact */

    /* Everything below belongs to whoever is looking. */
    double overhead; /* 0.02 is 2% */
    double balance_ns;
    double most_ns; /* that the account may hold */

    uint64_t cpu_ns; /* at the last look, as the next five */
    uint64_t own_ns;
    uint64_t spent_ns;
    uint64_t calls;
    uint64_t charge;
    uint64_t samples;

    double charge_rate; /* per ns of own CPU time, over the last second or so */
    double calls_worst; /* calls per ns, the highest rate of the last few seconds */
    double sample_ns;   /* what a sample costs, and what a call does when all are counted */
    double call_ns;
};

/* A reading of the world at a look. */
struct pl_reading {
    uint64_t cpu_ns;   /* of the process */
    uint64_t spent_ns; /* by the cold path, in all */
    uint64_t calls;    /* made by the program, in all, and their charge */
    uint64_t charge;
    uint64_t samples; /* taken, in all; what was counted in exact mode is not among them */
};

void pl_budget_start(struct pl_budget *budget, uint64_t overhead_ppm, uint64_t credit_ns);

/* Decides anew: sets exact and interval_bytes. */
void pl_budget_decide(struct pl_budget *budget, const struct pl_reading *reading);

/* Somebody else decides at present, and the account is not ours: only keeps up. */
void pl_budget_watch(struct pl_budget *budget, const struct pl_reading *reading);

/* ---- in a process: meter.c ---- */

/* A visit took this long: charges it, `times` over, and looks at the clocks when that is due; what was decided reaches
 * the threads through process->counting and process->interval_bytes. Called at the end of a visit. In a process that is
 * not in auto mode it keeps the account, and lets somebody outside overrule exact mode. */
void pl_budget_charge(struct pl_process *process, uint64_t ticks, uint64_t times);

/* The account at the end of the process, however short it was. */
void pl_budget_end(struct pl_process *process);

/* What a new file says of auto mode before the first look. */
void pl_budget_describe(const struct pl_process *process, struct pl_header *header);

#endif
