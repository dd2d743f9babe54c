/* SPDX-License-Identifier: MIT */
/*
 * test_budget.c - auto mode keeps its budget whatever the program does, and does not oscillate between its modes.
 *
 * The controller is pure arithmetic, so simulated programs drive it: so many calls a second at a given time, of a given
 * size, on a machine where a counted call and a sample cost a given time. The real sampler draws the gaps, and looks
 * happen when the runtime would take them. A simulated minute takes milliseconds. The second part charges invented
 * visits to a process that consists of a header and the real clocks.
 */
#include "core_tests.h"

#include <fenv.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "core/arch.h"
#include "core/process.h"
#include "core/sampler.h"
#include "core/sys.h"
#include "format/settings.h"

#define CREDIT_NS 100000000ull

/* ---- simulated programs ---- */

struct program {
    const char *name;
    double (*calls_per_s)(double t);
    double size;
    double call_ns; /* a counted call and its free */
    double sample_ns;
    double overhead;
    double clock_ns;    /* the CPU clock advances in steps of this */
    unsigned preempted; /* one sample in so many is preempted for 10 ms; 0: none */
    double other;       /* share of own time that the cold path takes for other things than samples */
};

#define SECONDS_MOST 120u
#define STEPS_PER_S 10000u

/* The state of a simulation, and what is recorded of it. */
struct course {
    struct pl_budget budget;
    struct pl_sampler sampler;
    double own_ns, spent_ns, sampling_ns;
    double calls, charge, samples;
    double looked_spent_ns, looked_at_ns;
    double gap;
    double counted;   /* calls in exact mode */
    double left_at_s; /* when exact mode was first left; 0: never */
    unsigned changes; /* between exact and sampled */
    unsigned steps;
    double spent_at[SECONDS_MOST * STEPS_PER_S + 1];
};
static struct course course;

static void look_if_due(const struct program *p, struct course *c)
{
    double pause = p->overhead * 5e7;
    pause = pause < 2e4 ? 2e4 : pause > 1e6 ? 1e6 : pause;
    double cpu = c->own_ns + c->spent_ns;
    if (c->spent_ns - c->looked_spent_ns < pause && cpu - c->looked_at_ns < 5e7)
        return;
    struct pl_budget_reading reading = {
        .cpu_ns = (uint64_t) (p->clock_ns > 0 ? cpu - (double) ((uint64_t) cpu % (uint64_t) p->clock_ns) : cpu),
        .spent_ns = (uint64_t) c->spent_ns,
        .calls = (uint64_t) c->calls,
        .charge = (uint64_t) c->charge,
        .samples = (uint64_t) c->samples,
        .sampling_ns = (uint64_t) c->sampling_ns,
    };
    bool exact = c->budget.exact;
    pl_budget_decide(&c->budget, &reading);
    c->changes += exact != c->budget.exact;
    if (exact && !c->budget.exact && c->left_at_s == 0)
        c->left_at_s = (double) c->steps / STEPS_PER_S;
    c->spent_ns += 1000; /* the look itself */
    c->looked_spent_ns = c->spent_ns;
    c->looked_at_ns = c->own_ns + c->spent_ns;
}

static void count(const struct program *p, struct course *c, double calls)
{
    c->calls += calls;
    c->charge += calls * (p->size + PL_CALL_CHARGE);
}

/* Charges a sample as the meter does, with a clock that ticks every ns. The factor of 1.5 is part of the price. */
static void charge_sample(const struct program *p, struct course *c)
{
    bool preempted = p->preempted && (uint64_t) c->samples % p->preempted == 0;
    double took = p->sample_ns / 1.5 + (preempted ? 1e7 : 0);
    double price = (double) pl_budget_price(&c->budget, (uint64_t) took);
    c->spent_ns += price;
    c->sampling_ns += price;
}

/* Simulates some of the remaining calls: those up to the next visit that is timed, and that visit. */
static double visit(const struct program *p, struct course *c, double calls)
{
    if (c->budget.exact && !c->sampler.armed) {
        double some = calls < PL_BUDGET_EVERY ? calls : PL_BUDGET_EVERY;
        count(p, c, some);
        c->counted += some;
        c->spent_ns += some * p->call_ns;
        return some;
    }
    if (!c->sampler.armed)
        c->gap = (double) pl_sampler_draw(&c->sampler, c->budget.interval_bytes);
    double skipped = (double) (uint64_t) (c->gap / (p->size + PL_CALL_CHARGE));
    if (skipped >= calls) {
        count(p, c, calls);
        c->gap -= calls * (p->size + PL_CALL_CHARGE);
        return 0;
    }
    count(p, c, skipped + 1);
    c->samples++;
    charge_sample(p, c);
    c->sampler.armed = false;
    return skipped + 1;
}

static void run(const struct program *p, unsigned seconds)
{
    struct course *c = &course;
    double owed = 0;
    memset(c, 0, sizeof *c);
    assert_true(seconds <= SECONDS_MOST);
    pl_sampler_seed(&c->sampler, 1, 1);
    pl_budget_start(&c->budget, (uint64_t) (p->overhead * 1e6), CREDIT_NS);
    for (; c->steps < seconds * STEPS_PER_S; c->spent_at[++c->steps] = c->spent_ns) {
        c->own_ns += 1e9 / STEPS_PER_S;
        c->spent_ns += c->budget.exact ? 0 : p->other * 1e9 / STEPS_PER_S;
        owed += p->calls_per_s((double) c->steps / STEPS_PER_S) / STEPS_PER_S;
        while (owed >= 1) {
            double done = visit(p, c, (double) (uint64_t) owed);
            owed -= done > 0 ? done : (double) (uint64_t) owed;
            if (done > 0)
                look_if_due(p, c);
        }
    }
}

/* The largest share of the budget used in any ten seconds after exact mode was left. */
static double worst_window(const struct program *p)
{
    const unsigned ten = 10 * STEPS_PER_S;
    double worst = 0;
    for (unsigned i = (unsigned) (course.left_at_s * STEPS_PER_S) + 1; i + ten <= course.steps; i += 10) {
        double share = (course.spent_at[i + ten] - course.spent_at[i]) / (p->overhead * 10e9);
        worst = share > worst ? share : worst;
    }
    return worst;
}

static double spent_share(const struct program *p, double from_s, double to_s)
{
    double spent =
        course.spent_at[(unsigned) (to_s * STEPS_PER_S)] - course.spent_at[(unsigned) (from_s * STEPS_PER_S)];
    return spent / (p->overhead * (to_s - from_s) * 1e9);
}

static double remainder_of(double t, double period)
{
    return t - period * (double) (uint64_t) (t / period);
}

static double calls_100(double t)
{
    return (void) t, 1e2;
}
static double calls_10k(double t)
{
    return (void) t, 1e4;
}
static double calls_1m(double t)
{
    return (void) t, 1e6;
}
static double calls_20m(double t)
{
    return (void) t, 2e7;
}
static double up_and_down(double t)
{
    return t < 20 ? 2e3 : t < 60 ? 2e7 : 2e3;
}
static double bursts_of_100_ms(double t)
{
    return remainder_of(t, 0.2) < 0.1 ? 1e7 : 1e3;
}
static double bursts_of_1_ms(double t)
{
    return remainder_of(t, 0.02) < 0.001 ? 1e7 : 0;
}
static double a_burst_in_10_s(double t)
{
    return remainder_of(t, 10) < 0.5 ? 1e7 : 1e3;
}
static double busy_then_idle(double t)
{
    return t < 20 ? 2e7 : 1e3;
}
static double busy_then_affordable(double t)
{
    return t < 10 ? 2e7 : 5e4;
}
static double busy_again(double t)
{
    return t < 2 || t > 60 ? 2e7 : 1e3;
}
static double starts_late(double t)
{
    return t < 30 ? 0 : 1e7;
}

#define MACHINE_USUAL .call_ns = 100, .sample_ns = 3000
#define MACHINE_SLOW .call_ns = 1500, .sample_ns = 40000
#define MACHINE_FAST .call_ns = 20, .sample_ns = 400

static const struct program programs[] = {
    {"100 calls a second", calls_100, 100, MACHINE_USUAL, .overhead = 0.02},
    {"10,000 calls a second", calls_10k, 100, MACHINE_USUAL, .overhead = 0.02},
    {"1 million", calls_1m, 100, MACHINE_USUAL, .overhead = 0.02},
    {"1 million, 0.1%", calls_1m, 100, MACHINE_USUAL, .overhead = 0.001},
    {"1 million, 20%", calls_1m, 100, MACHINE_USUAL, .overhead = 0.2},
    {"1 million, slow machine", calls_1m, 100, MACHINE_SLOW, .overhead = 0.02},
    {"1 million, fast machine", calls_1m, 100, MACHINE_FAST, .overhead = 0.02},
    {"1 million, coarse clock", calls_1m, 100, MACHINE_USUAL, .overhead = 0.02, .clock_ns = 1e7},
    {"20 million", calls_20m, 16, MACHINE_USUAL, .overhead = 0.02},
    {"20 million of 16 MiB", calls_20m, 1 << 24, MACHINE_USUAL, .overhead = 0.02},
    {"up and down", up_and_down, 100, MACHINE_USUAL, .overhead = 0.02},
    {"up and down, 0.1%", up_and_down, 100, MACHINE_USUAL, .overhead = 0.001},
    {"up and down, slow machine", up_and_down, 100, MACHINE_SLOW, .overhead = 0.02},
    {"up and down, fast machine", up_and_down, 100, MACHINE_FAST, .overhead = 0.02},
    {"up and down, coarse clock", up_and_down, 100, MACHINE_USUAL, .overhead = 0.02, .clock_ns = 1e7},
    {"bursts of 100 ms", bursts_of_100_ms, 100, MACHINE_USUAL, .overhead = 0.02},
    {"bursts of 100 ms, slow machine", bursts_of_100_ms, 100, MACHINE_SLOW, .overhead = 0.02},
    {"bursts of 1 ms", bursts_of_1_ms, 100, MACHINE_USUAL, .overhead = 0.02},
    {"a burst in 10 s", a_burst_in_10_s, 1000, MACHINE_USUAL, .overhead = 0.02},
    {"busy, then idle", busy_then_idle, 100, MACHINE_USUAL, .overhead = 0.02},
    {"busy, then affordable", busy_then_affordable, 4000, MACHINE_USUAL, .overhead = 0.02},
    {"busy again", busy_again, 100, MACHINE_USUAL, .overhead = 0.02},
    {"starts late", starts_late, 100, MACHINE_USUAL, .overhead = 0.02},
    {"1 million, beside old blocks", calls_1m, 100, MACHINE_USUAL, .overhead = 0.02, .other = 0.008},
};
#define PROGRAMS (sizeof programs / sizeof programs[0])

static const struct program *named(const char *name)
{
    for (unsigned i = 0; i < PROGRAMS; i++)
        if (strcmp(programs[i].name, name) == 0)
            return &programs[i];
    fail_msg("there is no program %s", name);
    return NULL;
}

static void the_budget_holds_at_any_time_and_in_any_ten_seconds(void **state)
{
    (void) state;
    for (unsigned i = 0; i < PROGRAMS; i++) {
        const struct program *p = &programs[i];
        run(p, 90);
        for (unsigned s = 0; s <= course.steps; s++) {
            double may = CREDIT_NS + p->overhead * s * (1e9 / STEPS_PER_S);
            if (course.spent_at[s] > may + 4e6) /* one look, and one more for each step of T */
                fail_msg("%s: %.2f ms over the budget after %.3f s", p->name, (course.spent_at[s] - may) / 1e6,
                         (double) s / STEPS_PER_S);
        }
        if (course.left_at_s > 0 && worst_window(p) > 1)
            fail_msg("%s: %.1f%% of the budget in ten seconds", p->name, 100 * worst_window(p));
    }
}

/* The budget is not kept by spending nothing. */
static void most_of_the_budget_is_used(void **state)
{
    (void) state;
    static const char *const names[] = {
        "1 million",      "1 million, 0.1%",      "1 million, slow machine", "1 million, coarse clock",
        "20 million",     "20 million of 16 MiB", "bursts of 100 ms",        "bursts of 100 ms, slow machine",
        "bursts of 1 ms",
    };
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct program *p = named(names[i]);
        run(p, 60);
        double share = spent_share(p, 30, 60);
        if (share < 0.65 || share > 0.86) /* between looks, a little more than the 0.85 that is paid in */
            fail_msg("%s: %.1f%% of the budget is used", p->name, 100 * share);
    }
}

/* Ideally sampling costs three quarters of the budget: T = charge per ns * cost of a sample / (0.75 * budget). */
static void the_interval_settles_near_its_ideal_value(void **state)
{
    (void) state;
    static const char *const names[] = {"1 million",  "1 million, 0.1%",      "1 million, slow machine",
                                        "20 million", "20 million of 16 MiB", "1 million, coarse clock"};
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct program *p = named(names[i]);
        run(p, 40);
        double rate = p->calls_per_s(40) / 1e9 * (p->size + PL_CALL_CHARGE);
        double ideal = rate * p->sample_ns / (0.75 * p->overhead);
        double ratio = (double) course.budget.interval_bytes / ideal;
        if (course.budget.exact || ratio < 0.9 || ratio > 1.25)
            fail_msg("%s: T is %.0f, %.2f times the ideal value", p->name, (double) course.budget.interval_bytes,
                     ratio);
    }
}

/* On a busy machine, samples that were preempted must not make the others seem dear: T stays near what the budget
 * affords. */
static void preempted_samples_do_not_raise_the_interval(void **state)
{
    (void) state;
    for (unsigned every = 100; every >= 4; every -= every > 20 ? 10 : 1) {
        const struct program p = {"busy machine", calls_1m, 100, MACHINE_USUAL, .overhead = 0.02, .preempted = every};
        run(&p, 10);
        double ideal = 164e-3 * p.sample_ns / (0.75 * p.overhead);
        double ratio = (double) course.budget.interval_bytes / ideal;
        if (course.budget.exact || ratio < 0.9 || ratio > 1.5)
            fail_msg("one in %u preempted: T is %.2f times the ideal value", every, ratio);
    }
}

/* Frees of and near blocks that exact mode has counted leave less of the budget to samples, but do not make samples
 * dearer. */
static void other_costs_are_paid_before_samples(void **state)
{
    (void) state;
    const struct program *p = named("1 million, beside old blocks");
    run(p, 40);
    double ideal = 164e-3 * p->sample_ns / (0.75 * p->overhead - p->other);
    double ratio = (double) course.budget.interval_bytes / ideal;
    assert_true(ratio > 0.9 && ratio < 1.25);
    assert_true(course.budget.sample_ns > 0.9 * p->sample_ns && course.budget.sample_ns < 1.1 * p->sample_ns);
    double share = spent_share(p, 20, 40);
    assert_true(share > 0.65 && share < 0.85);
}

static void the_price_of_a_sample_follows_what_samples_take(void **state)
{
    (void) state;
    static const uint64_t took[] = {2000, 60000, 500, 2000000, 7000};
    struct pl_budget budget;
    pl_budget_start(&budget, PL_OVERHEAD_DEFAULT_PPM, 0);
    for (unsigned i = 0; i < sizeof took / sizeof took[0]; i++) {
        uint64_t seed = 1, sum = 0, charged = 0;
        for (unsigned n = 0; n < 300; n++) {                     /* a factor of 4000 is 71 steps of an eighth */
            uint64_t ticks = took[i] / 2 + draw(&seed, took[i]); /* evenly around took[i] */
            uint64_t price = pl_budget_price(&budget, ticks);
            sum += n < 200 ? 0 : ticks;
            charged += n < 200 ? 0 : price;
        }
        assert_in_range(charged * 100 / sum, 149, 150); /* nothing was cut off */
    }
}

/* The rate of allocations changes by a factor of 10^4, up and down. */
static void the_interval_follows_a_program_up_and_down(void **state)
{
    (void) state;
    const struct program *p = named("up and down");
    run(p, 60);
    assert_false(course.budget.exact);
    assert_in_range(course.budget.interval_bytes, 500 << 10, 900 << 10); /* 3.28 GB/s * 3 us / 1.5% = 656 KB */
    run(p, 90);
    assert_true(course.budget.exact || course.budget.interval_bytes < 16 << 10);
}

static void a_program_that_stays_within_the_credit_is_exact_to_the_end(void **state)
{
    (void) state;
    static const char *const names[] = {"100 calls a second", "10,000 calls a second", "1 million, 20%"};
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        run(named(names[i]), 100);
        assert_true(course.budget.exact);
        assert_int_equal(course.changes, 0);
        assert_true(course.counted == course.calls);
    }
    run(named("20 million"), 0);
    run(&(struct program){"short", calls_1m, 100, MACHINE_USUAL, .overhead = 0.0001}, 1);
    assert_true(course.counted > 0.9 * 1e6); /* 100 ns each: a tenth of a second */
}

static void a_program_that_starts_allocating_late_still_has_its_credit(void **state)
{
    (void) state;
    run(named("starts late"), 40);
    assert_true(course.counted > 0.9 * CREDIT_NS / 100);
    assert_true(course.counted < 1.2 * CREDIT_NS / 100);
}

static void exact_mode_returns_when_a_program_calms_down(void **state)
{
    (void) state;
    run(named("busy, then idle"), 20);
    assert_false(course.budget.exact);
    run(named("busy, then idle"), 90);
    assert_true(course.budget.exact);
    assert_int_equal(course.changes, 2);
    assert_true(course.counted > 1e3 * 30);
}

/* Until then sampling uses its whole share of the budget. */
static void exact_mode_returns_when_it_is_affordable(void **state)
{
    (void) state;
    run(named("busy, then affordable"), 90);
    assert_true(course.budget.exact);
    assert_int_equal(course.changes, 2);
}

/* The credit is granted once, even if the program was calm for a long time. */
static void unused_budget_is_not_saved_up(void **state)
{
    (void) state;
    const struct program *p = named("busy again");
    run(p, 70);
    assert_int_equal(course.changes, 3);
    assert_true(spent_share(p, 60, 62) < 1.5);
}

static void bursts_do_not_make_it_oscillate(void **state)
{
    (void) state;
    static const char *const names[] = {"bursts of 1 ms", "bursts of 100 ms", "bursts of 100 ms, slow machine",
                                        "a burst in 10 s", "1 million, coarse clock"};
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        run(named(names[i]), 100);
        if (course.changes != 1)
            fail_msg("%s: exact mode was entered or left %u times", names[i], course.changes);
    }
}

/* Near the limit of what is affordable the controller decides once and keeps its decision. */
static double calls_at_the_border;
static double at_the_border(double t)
{
    return (void) t, calls_at_the_border;
}

static void no_steady_program_makes_it_oscillate(void **state)
{
    (void) state;
    for (calls_at_the_border = 0.3 * 2e5; calls_at_the_border < 3 * 2e5; calls_at_the_border *= 1.1) {
        run(&(struct program){"border", at_the_border, 100, MACHINE_USUAL, .overhead = 0.02}, 90);
        assert_in_range(course.changes, 0, 1);
    }
}

static void impossible_readings_leave_a_valid_budget(void **state)
{
    (void) state;
    static const uint64_t odd[] = {0, 1, 1000, 1ull << 32, 1ull << 63, UINT64_MAX};
    const unsigned n = sizeof odd / sizeof odd[0];
    struct pl_budget budget;
    pl_budget_start(&budget, PL_OVERHEAD_MIN_PPM, 0);
    uint64_t seed = 1;
    for (unsigned i = 0; i < 100000; i++) {
        struct pl_budget_reading reading = {odd[draw(&seed, n)], odd[draw(&seed, n)], odd[draw(&seed, n)],
                                            odd[draw(&seed, n)], odd[draw(&seed, n)], odd[draw(&seed, n)]};
        if (draw(&seed, 4))
            pl_budget_decide(&budget, &reading);
        else
            pl_budget_watch(&budget, &reading);
        assert_true(budget.exact || (budget.interval_bytes >= 4096 && budget.interval_bytes <= PL_SAMPLE_MAX));
        assert_true(budget.balance_ns == budget.balance_ns && budget.charge_rate >= 0 && budget.other_rate >= 0);
    }
}

/* ---- in a process ---- */

static struct pl_process process;
static union {
    struct pl_header header;
    uint8_t bytes[PL_HEADER_BYTES];
} file;

static struct pl_auto *automatic(void)
{
    return &file.header.automatic;
}

static void begin(enum pl_mode mode)
{
    memset(&process, 0, sizeof process);
    memset(&file, 0, sizeof file);
    pl_config = (struct pl_config){.mode = mode, .overhead_ppm = PL_OVERHEAD_DEFAULT_PPM, .credit_ms = 100};
    process.state = PL_PROCESS_ON;
    process.file.base = file.bytes;
    pl_process_read_clocks(&process);
    process.interval_bytes = 512 << 10;
    process.counting = mode == PL_MODE_SAMPLED ? PL_COUNT_NOTHING : PL_COUNT_ALL;
    pl_budget_start(&process.budget, pl_config.overhead_ppm, CREDIT_NS);
    pl_meter_describe(&process, &file.header);
}

/* Charges visits that count `calls` calls of 100 bytes and take `ms` by a clock of 2.5 GHz. */
static void spend(double ms, uint64_t calls)
{
    const unsigned parts = 100;
    for (unsigned i = 0; i < parts; i++) {
        process.totals.calls += calls / parts;
        process.totals.bytes += 100 * calls / parts;
        pl_meter_spend(&process, (uint64_t) (ms * 2.5e6 / parts / 100), 100);
    }
}

static void exact_mode_is_left_when_the_credit_is_spent_and_the_file_records_it(void **state)
{
    (void) state;
    begin(PL_MODE_AUTO);
    assert_int_equal(automatic()->overhead_ppm, 20000);
    assert_int_equal(file.header.credit_ms, 100);
    assert_int_equal(automatic()->exact, 1);
    spend(20, 200000);
    assert_int_equal(process.counting, PL_COUNT_ALL);
    assert_int_equal(automatic()->left, 0);
    assert_true(automatic()->spent_ns > 5e6 && automatic()->cpu_ns > 0);
    for (unsigned i = 0; i < 100 && process.counting; i++)
        spend(20, 200000);
    assert_int_equal(process.counting, PL_COUNT_NOTHING);
    assert_true(process.interval_bytes >= 4096);
    assert_int_equal(automatic()->exact, 0);
    assert_int_equal(automatic()->left, 1);
    assert_int_equal(automatic()->returned, 0);
    assert_true(automatic()->exact_calls > 200000 && automatic()->exact_calls <= process.totals.calls);
    assert_true(automatic()->exact_ns > 0 && automatic()->exact_ns <= automatic()->cpu_ns);
    assert_int_equal(automatic()->interval_bytes, process.interval_bytes);
    assert_true(automatic()->interval_max >= automatic()->interval_bytes);
    assert_true(automatic()->spent_ns >= CREDIT_NS);
}

/* The account is full and the program idle, but there is no room for what exact mode needs. */
static void where_blocks_cannot_be_followed_sampling_begins_and_exact_mode_does_not_return(void **state)
{
    (void) state;
    begin(PL_MODE_AUTO);
    process.budget.cramped = true;
    process.budget.next_look = 0;
    spend(0.1, 100);
    assert_int_equal(process.counting, PL_COUNT_NOTHING);
    assert_true(process.interval_bytes >= 65536);
    assert_int_equal(automatic()->left, 1);
    for (uint64_t seconds = 1; seconds < 100; seconds++)
        pl_budget_decide(&process.budget, &(struct pl_budget_reading){.cpu_ns = seconds * 1000000000ull});
    assert_false(process.budget.exact);
    assert_true(process.budget.interval_bytes >= 65536);
    process.budget.cramped = false;
    pl_budget_decide(&process.budget, &(struct pl_budget_reading){.cpu_ns = 101ull * 1000000000});
    assert_true(process.budget.exact);
}

static void an_exiting_process_stays_in_exit_mode(void **state)
{
    (void) state;
    begin(PL_MODE_AUTO);
    process.exiting = 1;
    spend(20, 1000);
    assert_int_equal(process.counting, PL_COUNT_EXITING);
}

static void external_control_overrides_the_mode_until_it_is_withdrawn(void **state)
{
    static const enum pl_mode modes[] = {PL_MODE_AUTO, PL_MODE_EXACT};
    (void) state;
    for (unsigned i = 0; i < 2; i++) {
        begin(modes[i]);
        file.header.control.interval_bytes = 64 << 10;
        spend(10, 1000);
        assert_int_equal(process.counting, PL_COUNT_NOTHING);
        file.header.control.interval_bytes = 0;
        file.header.control.off = 1;
        spend(10, 1000);
        assert_int_equal(process.counting, PL_COUNT_NOTHING);
        file.header.control.off = 0;
        spend(10, 1000);
        assert_int_equal(process.counting, PL_COUNT_ALL);
    }
}

/* Time that was spent because external control asked for it is not charged to the budget. */
static void time_spent_on_external_orders_is_not_charged_to_the_budget(void **state)
{
    (void) state;
    begin(PL_MODE_AUTO);
    file.header.control.interval_bytes = 1;
    spend(500, 1000000);
    file.header.control.interval_bytes = 0;
    spend(10, 1000);
    assert_int_equal(process.counting, PL_COUNT_ALL);
}

static void other_modes_record_their_cost_and_change_nothing(void **state)
{
    static const enum pl_mode modes[] = {PL_MODE_EXACT, PL_MODE_SAMPLED};
    (void) state;
    for (unsigned i = 0; i < 2; i++) {
        begin(modes[i]);
        uint32_t counting = process.counting;
        spend(1000, 10000000);
        assert_int_equal(process.counting, counting);
        assert_int_equal(process.interval_bytes, 512 << 10);
        assert_true(automatic()->spent_ns > CREDIT_NS && automatic()->cpu_ns > 0);
        assert_int_equal(automatic()->left, 0);
    }
}

static void a_preempted_visit_is_charged_little(void **state)
{
    (void) state;
    begin(PL_MODE_AUTO);
    pl_meter_spend(&process, 0, 1);
    pl_meter_spend(&process, 1ull << 40, 1); /* minutes */
    pl_meter_spend(&process, (uint64_t) -5, 1);
    assert_true(process.budget.spent_ticks < 4u << 17);
    assert_int_equal(process.counting, PL_COUNT_ALL);
}

static void preempted_samples_are_charged_like_slow_ones(void **state)
{
    (void) state;
    begin(PL_MODE_AUTO);
    for (unsigned i = 0; i < 1000; i++)
        pl_meter_sample(&process, i % 10 ? 6000 : 1ull << 40);
    pl_meter_sample_rest(&process, 1ull << 40);
    assert_true(process.budget.sample_ticks > 1000 * 6000 && process.budget.sample_ticks < 2 * 1000 * 9000);
    assert_true(process.budget.spent_ticks >= process.budget.sample_ticks);
}

static void frees_beside_recorded_blocks_are_charged_together(void **state)
{
    (void) state;
    begin(PL_MODE_AUTO);
    pl_tls.missed_ticks = 0;
    for (unsigned i = 0; i < PL_BUDGET_MISSED_MOST / PL_BUDGET_MISS - 1; i++)
        pl_process_missed(&process, PL_BUDGET_MISS);
    assert_int_equal(process.budget.spent_ticks, 0);
    pl_process_missed(&process, PL_BUDGET_MISS);
    assert_true(process.budget.spent_ticks >= PL_BUDGET_MISSED_MOST);
    assert_int_equal(process.budget.sample_ticks, 0);
    assert_int_equal(pl_tls.missed_ticks, 0);
}

static void a_thread_that_has_not_seen_the_end_of_exact_mode_still_counts(void **state)
{
    (void) state;
    begin(PL_MODE_AUTO);
    struct pl_thread last = {.state = PL_THREAD_ALIVE, .ticket = PL_TICKET_NONE};
    struct pl_thread first = {.state = PL_THREAD_ALIVE, .ticket = PL_TICKET_NEW, .next = &last};
    process.threads = &first;
    assert_true(pl_thread_none_counts(&process));
    last.ticket = PL_TICKET_OF(5u << PL_COUNT_BITS | PL_COUNT_ALL);
    assert_false(pl_thread_none_counts(&process));
    last.state = PL_THREAD_DEAD;
    assert_true(pl_thread_none_counts(&process));
}

/* Otherwise looks take the whole budget where 60 processes share two cores. */
static void a_program_that_gets_little_of_a_processor_is_looked_at_less_often(void **state)
{
    struct pl_budget *budget = &process.budget;
    (void) state;
    begin(PL_MODE_AUTO);
    pl_meter_spend(&process, 1, 1); /* the first look */
    uint64_t usual = budget->rest, second = 20 * usual;
    budget->looked_at = pl_arch_ticks() - second; /* of which the CPU clock knows nothing */
    budget->next_look = 0;
    pl_meter_spend(&process, 1, 1);
    assert_in_range(budget->rest, 5 * usual, 32 * usual); /* the clock may be calibrated meanwhile */
    budget->looked_at = pl_arch_ticks() - second;
    budget->cpu_ns = 0; /* all that this program has used, and it has used more than a second, falls into this one */
    budget->next_look = 0;
    pl_meter_spend(&process, 1, 1);
    assert_in_range(budget->rest, usual / 2, 2 * usual);
}

static void an_abandoned_look_does_not_block_later_looks(void **state)
{
    (void) state;
    begin(PL_MODE_AUTO);
    process.budget.looking = pl_arch_ticks();
    spend(500, 1000000);
    assert_int_equal(process.counting, PL_COUNT_ALL); /* the look may still be in progress */
    process.budget.looking = pl_arch_ticks() - (1ull << 34);
    spend(500, 1000000);
    assert_int_equal(process.counting, PL_COUNT_NOTHING);
}

static void a_very_short_program_has_its_cost_recorded_at_its_end(void **state)
{
    (void) state;
    begin(PL_MODE_AUTO);
    process.budget.spent_ticks = 250000;
    pl_meter_end(&process);
    assert_true(automatic()->spent_ns >= 50000 && automatic()->spent_ns < 1000000);
    assert_true(automatic()->cpu_ns > 0);
    assert_int_equal(process.counting, PL_COUNT_ALL);
}

/* A program may have unmasked floating-point exceptions. An inexact result would then kill it. */
static void the_floating_point_environment_does_not_matter_and_stays_unchanged(void **state)
{
    (void) state;
    struct pl_arch_fp_state before, strict;
    begin(PL_MODE_AUTO);
    pl_arch_fp_enter(&before);
    fesetround(FE_TOWARDZERO);
    feenableexcept(FE_ALL_EXCEPT);
    pl_arch_fp_enter(&strict);
    pl_arch_fp_leave(&strict);
    for (unsigned i = 0; i < 100; i++)
        pl_meter_spend(&process, 1 << 16, 64);
    struct pl_arch_fp_state after;
    pl_arch_fp_enter(&after);
    pl_arch_fp_leave(&before);
    assert_memory_equal(&after, &strict, sizeof after);
    assert_int_equal(automatic()->left, 1);
}

/* After this any system call but exit kills. */
static void forbid_system_calls(void)
{
    struct sock_filter only_exit[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof only_exit / sizeof only_exit[0], only_exit};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        pl_sys3(SYS_exit, 2, 0, 0);
}

static void in_a_sandbox_no_system_call_is_made(void **state)
{
    (void) state;
    NEEDS_KERNEL();
    begin(PL_MODE_AUTO);
    pid_t child = fork();
    if (child == 0) {
        process.sandboxed = 1;
        forbid_system_calls();
        process.interval_bytes = 1;
        pl_meter_spend(&process, 0, 1);
        bool good = process.counting == PL_COUNT_NOTHING && process.interval_bytes == 512 << 10;
        spend(10, 1000);
        pl_meter_end(&process);
        pl_sys3(SYS_exit, good ? 0 : 1, 0, 0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void charge_from_a_thread(unsigned number)
{
    (void) number;
    for (unsigned i = 0; i < 200000; i++)
        pl_meter_spend(&process, 250, 1);
}

static void threads_lose_no_charge_and_one_looks_at_a_time(void **state)
{
    (void) state;
    begin(PL_MODE_AUTO);
    run_threads(4, charge_from_a_thread);
    assert_true(process.budget.spent_ticks >= 4 * 200000ull * 250);
    assert_int_equal(process.budget.looking, 0);
    assert_true(automatic()->spent_ns > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_budget_holds_at_any_time_and_in_any_ten_seconds),
        cmocka_unit_test(most_of_the_budget_is_used),
        cmocka_unit_test(the_interval_settles_near_its_ideal_value),
        cmocka_unit_test(preempted_samples_do_not_raise_the_interval),
        cmocka_unit_test(other_costs_are_paid_before_samples),
        cmocka_unit_test(the_price_of_a_sample_follows_what_samples_take),
        cmocka_unit_test(the_interval_follows_a_program_up_and_down),
        cmocka_unit_test(a_program_that_stays_within_the_credit_is_exact_to_the_end),
        cmocka_unit_test(a_program_that_starts_allocating_late_still_has_its_credit),
        cmocka_unit_test(exact_mode_returns_when_a_program_calms_down),
        cmocka_unit_test(exact_mode_returns_when_it_is_affordable),
        cmocka_unit_test(unused_budget_is_not_saved_up),
        cmocka_unit_test(bursts_do_not_make_it_oscillate),
        cmocka_unit_test(no_steady_program_makes_it_oscillate),
        cmocka_unit_test(impossible_readings_leave_a_valid_budget),
        cmocka_unit_test(exact_mode_is_left_when_the_credit_is_spent_and_the_file_records_it),
        cmocka_unit_test(where_blocks_cannot_be_followed_sampling_begins_and_exact_mode_does_not_return),
        cmocka_unit_test(an_exiting_process_stays_in_exit_mode),
        cmocka_unit_test(external_control_overrides_the_mode_until_it_is_withdrawn),
        cmocka_unit_test(time_spent_on_external_orders_is_not_charged_to_the_budget),
        cmocka_unit_test(other_modes_record_their_cost_and_change_nothing),
        cmocka_unit_test(a_preempted_visit_is_charged_little),
        cmocka_unit_test(preempted_samples_are_charged_like_slow_ones),
        cmocka_unit_test(frees_beside_recorded_blocks_are_charged_together),
        cmocka_unit_test(a_thread_that_has_not_seen_the_end_of_exact_mode_still_counts),
        cmocka_unit_test(a_program_that_gets_little_of_a_processor_is_looked_at_less_often),
        cmocka_unit_test(an_abandoned_look_does_not_block_later_looks),
        cmocka_unit_test(a_very_short_program_has_its_cost_recorded_at_its_end),
        cmocka_unit_test(the_floating_point_environment_does_not_matter_and_stays_unchanged),
        cmocka_unit_test(in_a_sandbox_no_system_call_is_made),
        cmocka_unit_test(threads_lose_no_charge_and_one_looks_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
