/* SPDX-License-Identifier: MIT */
/*
 * budget.c - the controller of auto mode: arithmetic on struct pl_budget, which knows of no process. See budget.h.
 *
 * Invariant: over any stretch the cold path spends at most what the account held plus PAY_IN of the budget, and one
 * look's worth. A second's worth and PAY_IN of ten seconds' leave room for that within the budget of ten seconds.
 */
#include "budget.h"

#include "maths.h"
#include "settings.h"

/* Shares of the budget. */
#define PAY_IN 0.85    /* what own CPU time adds to the account */
#define AIM 0.75       /* what sampling is to cost: less than is paid in, or the account would never fill up */
#define AIM_LEAST 0.1  /* the same, when there is much to pay back */
#define EXACT_MOST 0.5 /* exact mode returns if it would cost less than this */

#define SECOND 1e9
#define MOST_HELD SECOND        /* the account holds at most the budget of this time */
#define DEBT_MOST (10 * SECOND) /* nor does it owe more than that of this time */
#define PAY_BACK (2 * SECOND)   /* what is overdrawn is paid back over this time */
#define FOLLOW SECOND           /* rates are means over about this time */
#define REMEMBER (4 * SECOND)   /* the highest rate of calls fades over this time */
#define FORGIVE (30 * SECOND)   /* and what was bad about exact mode over this */
#define COST_SAMPLES 64         /* costs are means over about so many samples */
#define COST_CALLS 65536        /* and so many counted calls */
#define SAMPLE_NS 3000.0        /* a sample's cost, before it is known */
#define SAMPLE_NS_LEAST 200.0
#define CALL_NS 150.0 /* a call's and its free's cost in exact mode, before it is known */
#define CALL_NS_LEAST 60.0

#define STEP_MOST 8.0         /* T changes by at most this factor at a look */
#define INTERVAL_LEAST 4096.0 /* below, counting everything is as cheap */
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

/* Counters that others write may be caught in the wrong order: a step back is no step. */
static double step(uint64_t now, uint64_t before)
{
    return now > before ? (double) (now - before) : 0;
}

/* How much of a mean over `memory` is to be replaced after another `part`. */
static double fresh(double part, double memory)
{
    return pl_one_minus_exp_neg(part / memory);
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
};

static struct stretch advance(struct pl_budget *b, const struct pl_reading *now)
{
    uint64_t own = now->cpu_ns > now->spent_ns ? now->cpu_ns - now->spent_ns : 0;
    struct stretch s = {
        .own_ns = step(own, b->own_ns),
        .spent_ns = step(now->spent_ns, b->spent_ns),
        .calls = step(now->calls, b->calls),
        .charge = step(now->charge, b->charge),
        .samples = step(now->samples, b->samples),
    };
    b->cpu_ns = now->cpu_ns;
    b->own_ns = own > b->own_ns ? own : b->own_ns;
    b->spent_ns = now->spent_ns > b->spent_ns ? now->spent_ns : b->spent_ns;
    b->calls = now->calls;
    b->charge = now->charge;
    b->samples = now->samples;
    return s;
}

static void book(struct pl_budget *b, const struct stretch *s)
{
    double balance = b->balance_ns + PAY_IN * b->overhead * s->own_ns - s->spent_ns;
    b->balance_ns = between(-DEBT_MOST * b->overhead, balance, b->most_ns);
}

/* The CPU clock may stand still between two ticks of its own: no stretch is taken to be shorter than this. */
static double length(const struct stretch *s)
{
    return larger(s->own_ns, s->spent_ns / 16 + 1);
}

static void learn_rates(struct pl_budget *b, const struct stretch *s)
{
    double ns = length(s);
    double so_far = larger((double) b->own_ns, ns);
    double share = larger(fresh(ns, FOLLOW), ns / so_far); /* a mean over what there is, until there is enough */
    b->charge_rate = mix(b->charge_rate, s->charge / ns, share);
    b->calls_worst = larger(mix(b->calls_worst, 0, fresh(ns, REMEMBER)), s->calls / ns);
}

static void learn_costs(struct pl_budget *b, const struct stretch *s)
{
    if (b->exact && s->calls > 0)
        b->call_ns = mix(b->call_ns, s->spent_ns / s->calls, fresh(s->calls, COST_CALLS));
    if (!b->exact && s->samples > 0)
        b->sample_ns = mix(b->sample_ns, s->spent_ns / s->samples, fresh(s->samples, COST_SAMPLES));
    if (!b->exact)
        b->call_ns = mix(b->call_ns, CALL_NS, fresh(length(s), FORGIVE));
}

/* ---- the decision ---- */

/* T at which this much charge per ns costs what it may. */
static double interval_for(const struct pl_budget *b, double charge_rate)
{
    double overdrawn = smaller(b->balance_ns, 0) / PAY_BACK;
    double may_cost = larger(AIM * b->overhead + overdrawn, AIM_LEAST * b->overhead);
    double interval = charge_rate * larger(b->sample_ns, SAMPLE_NS_LEAST) / may_cost;
    return between(INTERVAL_LEAST, interval, INTERVAL_MOST);
}

static void leave_exact(struct pl_budget *b, const struct stretch *s)
{
    double rate = larger(b->charge_rate, s->charge / length(s));
    b->exact = false;
    b->most_ns = b->overhead * MOST_HELD;
    b->interval_bytes = (uint64_t) (int64_t) (rate > 0 ? interval_for(b, rate) : (double) PL_BUDGET_INTERVAL);
}

/* The account goes up and down with every burst; the worst rate remembers it. Both must be good. */
static bool exact_fits(const struct pl_budget *b)
{
    double cost = b->calls_worst * larger(b->call_ns, CALL_NS_LEAST);
    return cost < EXACT_MOST * b->overhead && b->balance_ns >= b->most_ns / 2;
}

/* With money in the account T falls as soon as the program calms down, and a burst is no reason to hurry; without, it
 * is the other way round. */
static double rate_to_follow(const struct pl_budget *b, const struct stretch *s)
{
    double now = s->charge / length(s);
    return b->balance_ns < 0 ? larger(b->charge_rate, now) : smaller(b->charge_rate, now);
}

static void follow(struct pl_budget *b, const struct stretch *s)
{
    double old = (double) b->interval_bytes;
    double new = between(old / STEP_MOST, interval_for(b, rate_to_follow(b, s)), old * STEP_MOST);
    b->interval_bytes = (uint64_t) (int64_t) between(INTERVAL_LEAST, new, INTERVAL_MOST);
}

void pl_budget_start(struct pl_budget *budget, uint64_t overhead_ppm, uint64_t credit_ns)
{
    *budget = (struct pl_budget){
        .overhead = (double) (int64_t) overhead_ppm / 1e6,
        .balance_ns = (double) (int64_t) credit_ns,
        .most_ns = (double) (int64_t) credit_ns,
        .exact = true,
        .sample_ns = SAMPLE_NS,
        .call_ns = CALL_NS,
    };
}

void pl_budget_watch(struct pl_budget *budget, const struct pl_reading *reading)
{
    struct stretch s = advance(budget, reading);
    learn_rates(budget, &s);
}

void pl_budget_decide(struct pl_budget *budget, const struct pl_reading *reading)
{
    struct stretch s = advance(budget, reading);
    book(budget, &s);
    learn_rates(budget, &s);
    learn_costs(budget, &s);
    if (!budget->exact && exact_fits(budget))
        budget->exact = true;
    else if (!budget->exact)
        follow(budget, &s);
    else if (budget->balance_ns < 0)
        leave_exact(budget, &s);
}
