/* SPDX-License-Identifier: MIT */
/*
 * budget.h - auto mode: counts every allocation while the budget allows it, then samples at the rate that it allows.
 *
 * Visits to the cold path are timed, in ticks of the processor's clock, and charged here. In exact mode one visit in
 * PL_BUDGET_EVERY is timed; of samples, every part: before the real allocation, after it, and the free of the block.
 * Long times are cut off, because they include preemption. Frees that took the cold path for nothing, because a
 * recorded block lies near, are too short to be timed: each is charged a fixed price. From time to time there is a
 * look: the controller compares the time spent with the program's own CPU time, which is the CPU time of the process
 * less the time spent.
 *
 *   spent  <=  credit + overhead * own
 *
 * An account holds the difference. It opens with the credit. Own CPU time pays in, visits pay out. The account never
 * holds more than one second of the budget (before exact mode is first left: than the credit), so the budget holds over
 * any few seconds and not only in the long run. As long as the account is not overdrawn, every allocation is counted.
 * When it is overdrawn, the controller switches to sampling. It chooses the sampling interval T so that the samples per
 * second (charge allocated per second, divided by T) times the cost of a sample fit into what the budget leaves after
 * costs that do not depend on T: looks, and frees of and near blocks that were counted exactly. From then on T
 * follows the program, up and down, and the debt is paid back. Exact mode returns once the program has for a while
 * allocated so little that counting everything would take less than half of the budget.
 *
 *   worked: 2%, 100 ns for an allocation and its free, 1 million of them a second, 100 bytes each. Exact costs 10%, and
 *   the credit of 0.1 s lasts 1.2 s. Then, at 3 us a sample and aiming at 1.5%: T = 164 MB/s * 3 us / 1.5% = 32 KiB.
 *
 * Each thread sees a new T at its next visit. A sample is weighted with the T with which its gap was drawn (sampler.h),
 * so samples taken under different T add up without bias.
 */
#ifndef PL_BUDGET_H
#define PL_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "core/compiler.h"

/* In exact mode one visit in so many is timed. A prime, because programs loop: every 64th visit could always be the
 * same malloc, or always the same free. */
#define PL_BUDGET_EVERY 61

/* A look that took longer was preempted, and counts as this many ticks: some 50 us. One of the timed visits of exact
 * mode stands for PL_BUDGET_EVERY, so its limit is lower: some 10 us. The limit for a sample is pl_budget_price(). */
#define PL_BUDGET_TICKS_MOST (1u << 17)
#define PL_BUDGET_TIMED_TICKS_MOST (1u << 15)

/* The price of a free that took the cold path for nothing, in ticks: if a byte or a bit was enough to know, and if
 * tables were searched. They are charged together once they have reached PL_BUDGET_MISSED_MOST: some 12 us. */
#define PL_BUDGET_MISS 16
#define PL_BUDGET_MISS_SEARCH 80
#define PL_BUDGET_MISSED_MOST (1u << 15)

struct pl_process;
struct pl_header;

/* The controller's state. Only numbers: the tests run it without a process. */
struct pl_budget {
    /* The meter: when the next look is due, and whether one is in progress. All in ticks. */
    uint64_t spent_ticks;  /* any thread adds to it, */
    uint64_t sample_ticks; /* and to this: the part of spent_ticks that samples have cost */
    uint64_t usual_ticks;  /* the median of what samples take; any thread changes it */
    uint64_t next_look;    /* a look is due when spent_ticks reaches this, */
    uint64_t looked_at;    /* or when `rest` has passed since the last one */
    uint64_t rest;
    uint64_t looking;  /* when the look in progress began; 0: there is none */
    uint64_t aside_ns; /* CPU time spent outside of visits: it is reported, but sampling would not make it cheaper, so
                          no decision depends on it; any thread adds to it */
    double ns_per_tick;
    uint64_t calibrated_ns; /* when that was measured, since the start of the process */

    /* The decision. */
    bool exact;
    bool cramped; /* there was no memory to follow a block: exact mode ends, and does not return. Set by any thread */
    uint64_t interval_bytes; /* T, when not exact */

    /* The fields below belong to the thread that is looking. */
    double overhead; /* 0.02 is 2% */
    double balance_ns;
    double most_ns; /* upper limit of the balance */

    uint64_t cpu_ns; /* this and the next six: at the last look */
    uint64_t own_ns;
    uint64_t spent_ns;
    uint64_t sampling_ns;
    uint64_t calls;
    uint64_t charge;
    uint64_t samples;

    double charge_rate; /* per ns of own CPU time, over the last second or so */
    double calls_worst; /* calls per ns, the highest rate of the last few seconds */
    double other_rate;  /* spent per ns while sampling, but not on samples, over the last second or so */
    double sample_ns;   /* cost of a sample */
    double call_ns;     /* cost of a call in exact mode, its free included */
};

/* The input of a look. All figures are totals since the start. */
struct pl_budget_reading {
    uint64_t cpu_ns;   /* of the process */
    uint64_t spent_ns; /* by the cold path */
    uint64_t calls;    /* made by the program, and their charge */
    uint64_t charge;
    uint64_t samples;     /* allocations counted in exact mode are not included */
    uint64_t sampling_ns; /* the part of spent_ns that samples have cost */
};

void pl_budget_start(struct pl_budget *budget, uint64_t overhead_ppm, uint64_t credit_ns);

/* Another budget, while the process runs. What was learned stays, and there is no second credit. */
void pl_budget_allow(struct pl_budget *budget, uint64_t overhead_ppm);

/* Updates the account and decides: sets exact and interval_bytes. */
void pl_budget_decide(struct pl_budget *budget, const struct pl_budget_reading *reading);

/* For when the budget does not decide (another mode, or a control word overrules it): only updates the figures. */
void pl_budget_watch(struct pl_budget *budget, const struct pl_budget_reading *reading);

/* What a sample that took this many ticks is charged. Half of it is added for what no clock shows: the way here and
 * back, and cache lines that the program has to load again.
 *
 * On a busy machine many samples are preempted, for milliseconds: the kernel prefers to do that when a system call or a
 * page fault returns, and samples have more of these than the program. A mean would believe them. So the median is
 * learned, and what takes more than PL_BUDGET_PREEMPTED times as long counts as a slow sample, PL_BUDGET_SLOW times the
 * median. Of samples that were not preempted, few take so long. */
uint64_t pl_budget_price(struct pl_budget *budget, uint64_t ticks);
#define PL_BUDGET_PREEMPTED 6
#define PL_BUDGET_SLOW 2

/* The same for the other parts of its cost. They are shorter, and preempted if they take longer than the median. */
uint64_t pl_budget_price_rest(const struct pl_budget *budget, uint64_t ticks);

/* ---- in a process: meter.c ---- */

/* Charges `times` visits of this length, and looks if a look is due. Threads see the decision in process->counting and
 * process->interval_bytes. Called at the end of a visit. In other modes than auto it keeps the account and applies the
 * control words, which may overrule exact mode. */
void pl_meter_spend(struct pl_process *process, uint64_t ticks, uint64_t times);

/* The same for a sample. And for the rest of its cost, before its allocation and at its free, which does not look. */
void pl_meter_sample(struct pl_process *process, uint64_t ticks);
void pl_meter_sample_rest(struct pl_process *process, uint64_t ticks);

/* Charges the calling thread's frees that took the cold path for nothing. */
void pl_meter_missed(struct pl_process *process);

/* Around work outside of visits: the start, threads that begin and end, moments of the timeline, modules that are
 * unloaded. It is rare, and long enough for a clock that counts CPU time of this thread only. */
uint64_t pl_meter_begin(const struct pl_process *process);
void pl_meter_aside(struct pl_process *process, uint64_t began);

/* Writes the final account to the file when the process ends, even if there was no look before. */
void pl_meter_end(struct pl_process *process);

/* Fills in the header's fields about auto mode, in a new file. */
void pl_meter_describe(const struct pl_process *process, struct pl_header *header);

#endif
