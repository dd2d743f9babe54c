/* SPDX-License-Identifier: MIT */
/*
 * budget.c - the controller of auto mode: arithmetic on struct pl_budget, without a process. See budget.h.
 *
 * Invariant: over any period the cold path spends at most what the account held, plus PAY_IN of the period's budget,
 * plus what is spent between two looks. Over ten seconds: the account holds at most 1 s of the budget and PAY_IN adds
 * 8.5 s of it, which leaves 0.5 s of it for what is spent between looks.
 */
#include "core/budget.h"

#include "core/maths.h"
#include "format/settings.h"

/* Shares of the budget. */
#define PAY_IN 0.85    /* what own CPU time adds to the account */
#define AIM 0.75       /* what sampling should cost: less than PAY_IN, or the account would never fill up */
#define AIM_LEAST 0.1  /* lower limit of the aim while a debt is paid back */
#define EXACT_MOST 0.5 /* exact mode returns if it would cost less than this */

#define SECOND 1e9
#define MOST_HELD SECOND        /* the account holds at most the budget of this time */
#define DEBT_MOST (10 * SECOND) /* and owes at most the budget of this time */
#define PAY_BACK (2 * SECOND)   /* a debt is paid back over this time */
#define FOLLOW SECOND           /* rates are means over about this time */
#define REMEMBER (4 * SECOND)   /* the highest rate of calls decays over this time */
#define FORGIVE (30 * SECOND)   /* while sampling, the measured cost of exact mode returns to CALL_NS over this time */
#define COST_SAMPLES 64         /* the cost of a sample is a mean over about so many samples */
#define COST_CALLS 65536        /* the cost of a counted call is a mean over about so many calls */
#define SAMPLE_NS 3000.0        /* assumed cost of a sample, before it is measured */
#define SAMPLE_NS_LEAST 200.0
#define CALL_NS 150.0 /* assumed cost of a call and its free in exact mode, before it is measured */
#define CALL_NS_LEAST 60.0

#define USUAL_TICKS 8192 /* assumed median of samples, before it is known */
#define USUAL_TICKS_LEAST 256
#define USUAL_TICKS_MOST (1u << 24)
#define USUAL_STEP 8 /* the median moves by one part in so many with every sample */

#define STEP_MOST 8.0         /* T changes by at most this factor at a look */
#define INTERVAL_LEAST 4096.0 /* with a smaller T, counting everything would cost no more */
#define CRAMPED_LEAST 65536.0 /* the same, if memory is scarce: each live sample needs some */
#define INTERVAL_MOST ((double) PL_SAMPLE_MAX)

/* ---- arithmetic ---- */

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double between(double low, double value, double high)
{
    return smaller(larger(low, value), high);
}

/* Other threads write these counters, so a reading may be lower than the one before: that counts as 0. */
static double step(uint64_t now, uint64_t before)
{
    return now > before ? (double) (now - before) : 0;
}

/* The share of a decaying mean over `memory` to replace after another `part`. */
static double fresh(double part, double memory)
{
    return pl_maths_one_minus_exp_neg(part / memory);
}

static double mix(double old, double new, double share)
{
    return old + (new - old) * share;
}

/* ---- the account ---- */

/* What happened since the last look. */
struct stretch {
    double own_ns;
    double spent_ns;
    double calls;
    double charge;
    double samples;
    double sampling_ns;
};

static struct stretch advance(struct pl_budget *b, const struct pl_budget_reading *now)
{
    uint64_t own = now->cpu_ns > now->spent_ns ? now->cpu_ns - now->spent_ns : 0;
    struct stretch s = {
        .own_ns = step(own, b->own_ns),
        .spent_ns = step(now->spent_ns, b->spent_ns),
        .calls = step(now->calls, b->calls),
        .charge = step(now->charge, b->charge),
        .samples = step(now->samples, b->samples),
        .sampling_ns = step(now->sampling_ns, b->sampling_ns),
    };
    b->cpu_ns = now->cpu_ns;
    b->own_ns = own > b->own_ns ? own : b->own_ns;
    b->spent_ns = now->spent_ns > b->spent_ns ? now->spent_ns : b->spent_ns;
    b->calls = now->calls;
    b->charge = now->charge;
    b->samples = now->samples;
    b->sampling_ns = now->sampling_ns;
    return s;
}

static void book(struct pl_budget *b, const struct stretch *s)
{
    double balance = b->balance_ns + PAY_IN * b->overhead * s->own_ns - s->spent_ns;
    b->balance_ns = between(-DEBT_MOST * b->overhead, balance, b->most_ns);
}

/* The CPU clock may not have advanced since the last look: no stretch is taken to be shorter than this. */
static double length(const struct stretch *s)
{
    return larger(s->own_ns, s->spent_ns / 16 + 1);
}

static void learn_rates(struct pl_budget *b, const struct stretch *s)
{
    double ns = length(s);
    double so_far = larger((double) b->own_ns, ns);
    double share = larger(fresh(ns, FOLLOW), ns / so_far); /* at first, the plain mean since the start */
    b->charge_rate = mix(b->charge_rate, s->charge / ns, share);
    b->calls_worst = larger(mix(b->calls_worst, 0, fresh(ns, REMEMBER)), s->calls / ns);
}

static void learn_costs(struct pl_budget *b, const struct stretch *s)
{
    if (b->exact && s->calls > 0)
        b->call_ns = mix(b->call_ns, s->spent_ns / s->calls, fresh(s->calls, COST_CALLS));
    if (b->exact)
        return;
    if (s->samples > 0)
        b->sample_ns = mix(b->sample_ns, s->sampling_ns / s->samples, fresh(s->samples, COST_SAMPLES));
    b->call_ns = mix(b->call_ns, CALL_NS, fresh(length(s), FORGIVE));
    b->other_rate = mix(b->other_rate, larger(s->spent_ns - s->sampling_ns, 0) / length(s), fresh(length(s), FOLLOW));
}

/* ---- the decision ---- */

static double least_interval(const struct pl_budget *b)
{
    return load_relaxed(&b->cramped) ? CRAMPED_LEAST : INTERVAL_LEAST;
}

/* The T at which sampling this much charge per ns costs what it may. */
static double interval_for(const struct pl_budget *b, double charge_rate)
{
    double overdrawn = smaller(b->balance_ns, 0) / PAY_BACK;
    double may_cost = larger(AIM * b->overhead - b->other_rate + overdrawn, AIM_LEAST * b->overhead);
    double interval = charge_rate * larger(b->sample_ns, SAMPLE_NS_LEAST) / may_cost;
    return between(least_interval(b), interval, INTERVAL_MOST);
}

static void leave_exact(struct pl_budget *b, const struct stretch *s)
{
    double rate = larger(b->charge_rate, s->charge / length(s));
    b->exact = false;
    b->most_ns = b->overhead * MOST_HELD;
    b->interval_bytes = (uint64_t) (int64_t) (rate > 0 ? interval_for(b, rate) : (double) PL_SAMPLE_USUAL);
}

/* The balance recovers after a burst, but the worst rate remembers the burst: both conditions must hold. */
static bool exact_fits(const struct pl_budget *b)
{
    double cost = b->calls_worst * larger(b->call_ns, CALL_NS_LEAST);
    return cost < EXACT_MOST * b->overhead && b->balance_ns >= b->most_ns / 2 && !load_relaxed(&b->cramped);
}

/* With a positive balance, T falls as soon as the program allocates less and rises only with the mean rate. In debt, T
 * rises at once and falls only with the mean rate. */
static double rate_to_follow(const struct pl_budget *b, const struct stretch *s)
{
    double now = s->charge / length(s);
    return b->balance_ns < 0 ? larger(b->charge_rate, now) : smaller(b->charge_rate, now);
}

static void follow(struct pl_budget *b, const struct stretch *s)
{
    double old = (double) b->interval_bytes;
    double new = between(old / STEP_MOST, interval_for(b, rate_to_follow(b, s)), old * STEP_MOST);
    b->interval_bytes = (uint64_t) (int64_t) between(least_interval(b), new, INTERVAL_MOST);
}

void pl_budget_start(struct pl_budget *budget, uint64_t overhead_ppm, uint64_t credit_ns)
{
    *budget = (struct pl_budget){
        .overhead = (double) (int64_t) overhead_ppm / 1e6,
        .balance_ns = (double) (int64_t) credit_ns,
        .most_ns = (double) (int64_t) credit_ns,
        .exact = true,
        .usual_ticks = USUAL_TICKS,
        .sample_ns = SAMPLE_NS,
        .call_ns = CALL_NS,
    };
}

/* While exact mode was never left, the account may hold the credit of the start, and otherwise what it holds of the
 * smaller budget. */
void pl_budget_allow(struct pl_budget *budget, uint64_t overhead_ppm)
{
    budget->overhead = (double) (int64_t) overhead_ppm / 1e6;
    budget->most_ns =
        budget->exact ? larger(budget->most_ns, budget->overhead * MOST_HELD) : budget->overhead * MOST_HELD;
    budget->balance_ns = between(-DEBT_MOST * budget->overhead, budget->balance_ns, budget->most_ns);
}

static uint64_t with_unseen(uint64_t ticks)
{
    return ticks + ticks / 2;
}

uint64_t pl_budget_price_rest(const struct pl_budget *budget, uint64_t ticks)
{
    uint64_t usual = load_relaxed(&budget->usual_ticks);
    return with_unseen(ticks < usual ? ticks : usual);
}

/* The median of a stream: up by a step if this is above it, down if it is below. Threads may overwrite each other's
 * steps. */
uint64_t pl_budget_price(struct pl_budget *budget, uint64_t ticks)
{
    uint64_t usual = load_relaxed(&budget->usual_ticks), part = usual / USUAL_STEP;
    uint64_t next = ticks > usual ? usual + part : usual - part;
    if (next >= USUAL_TICKS_LEAST && next <= USUAL_TICKS_MOST)
        store_relaxed(&budget->usual_ticks, next);
    return with_unseen(ticks <= PL_BUDGET_PREEMPTED * usual ? ticks : PL_BUDGET_SLOW * usual);
}

void pl_budget_watch(struct pl_budget *budget, const struct pl_budget_reading *reading)
{
    struct stretch s = advance(budget, reading);
    learn_rates(budget, &s);
}

void pl_budget_decide(struct pl_budget *budget, const struct pl_budget_reading *reading)
{
    struct stretch s = advance(budget, reading);
    book(budget, &s);
    learn_rates(budget, &s);
    learn_costs(budget, &s);
    if (!budget->exact && exact_fits(budget))
        budget->exact = true;
    else if (!budget->exact)
        follow(budget, &s);
    else if (budget->balance_ns < 0 || load_relaxed(&budget->cramped))
        leave_exact(budget, &s);
}
