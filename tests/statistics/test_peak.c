/* SPDX-License-Identifier: MIT */
/*
 * test_peak.c - the height of the peak, though the runtime takes the moment at which the estimate is highest.
 *
 * Simulated programs allocate a block of SIZE bytes at every step, with the real sampler. Each block lives for a number
 * of steps that the program determines, so the true heap is known at every step. Peaks are declared as by
 * core/records/eras.c, halves of the samples find theirs by core/records/halves.c, and the reader corrects the peak:
 * pl_peakrange_fold(), pl_estimate_figures().
 *
 * Tolerances: the mean error in standard deviations of the estimate, over RUNS runs with fixed seeds. Its standard
 * error is 1/sqrt(RUNS) = 0.06. Each limit leaves at least two and a half of these to what was measured.
 * PLIMSOLL_TEST_VERBOSE prints every figure.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "core/records/halves.h"
#include "core/records/sums.h"
#include "core/sampler.h"
#include "format/settings.h"
#include "reader/base/arena.h"
#include "reader/figures.h"
#include "reader/peakrange.h"
#include "reader/site.h"

#define T (16u << 10)
#define SIZE 200u
#define SAMPLE ((double) T * SIZE / (SIZE + PL_CALL_CHARGE)) /* bytes that a sample stands for, nearly */
#define RUNS 250u
#define SITES 2u /* blocks that live to the end, or that come and go */
#define MOMENTS 200u
#define COMPOSITIONS 16u
#define SLACK_SAMPLES 2 /* as in core/records/eras.c */
#define STEP_S 1e-6

/* ---- programs ---- */

/* How many steps block i lives; 0: to the end. */
struct program {
    const char *name;
    uint32_t steps;
    uint32_t (*life)(uint32_t i);
};

/* How many blocks one sample stands for. */
#define PER_SAMPLE (T / (SIZE + PL_CALL_CHARGE))

static uint32_t three_samples(uint32_t i)
{
    return (void) i, 3 * PER_SAMPLE;
}

static uint32_t thirty_samples(uint32_t i)
{
    return (void) i, 30 * PER_SAMPLE;
}

static uint32_t three_hundred_samples(uint32_t i)
{
    return (void) i, 300 * PER_SAMPLE;
}

static uint32_t thirty_beside_a_hundred_that_stay(uint32_t i)
{
    return i < 100 * PER_SAMPLE ? 0 : 30 * PER_SAMPLE;
}

/* A heap of 30 samples is filled and emptied, over and over. */
static uint32_t sawtooth(uint32_t i)
{
    return 30 * PER_SAMPLE - i % (30 * PER_SAMPLE);
}

/* 100 samples, of which 10 come and go, and once 60 more, for a tenth of the run. */
#define SPIKE 300000u
static uint32_t spike(uint32_t i)
{
    if (i < 90 * PER_SAMPLE)
        return 0;
    return i >= SPIKE && i < SPIKE + 60 * PER_SAMPLE ? 60000 : 10 * PER_SAMPLE;
}

static uint32_t growth(uint32_t i)
{
    return i < 40000 ? 50000 - i / 10 : 1;
}

/* 40 samples accumulate, while 3 come and go. At the end all are freed. */
#define GROWN (80 * PER_SAMPLE)
static uint32_t growth_beside_exchange(uint32_t i)
{
    return i < GROWN && i % 2 == 0 ? GROWN + i / 4 - i : 6 * PER_SAMPLE;
}

/* ---- a run ---- */

struct sample {
    double weight;
    uint32_t next; /* the next one that is freed at the same step */
    uint32_t site;
    struct pl_shares share;
};

struct site {
    struct pl_figures figures;
};

struct run {
    const struct program *program;
    uint32_t *freed_at; /* by step: the first sample that is freed then; 0: none */
    struct sample *sample;
    uint32_t samples;
    uint64_t seed;
    struct site site[SITES];
    struct pl_moment_view moment[MOMENTS];
    struct pl_composition_view composition[COMPOSITIONS];
    struct pl_composition_share share[COMPOSITIONS][SITES];
    struct pl_profile profile;
    double live, peak;
};

static struct pl_amount live_of(const struct site *site)
{
    return pl_amount_rest(&site->figures.allocated, &site->figures.freed);
}

static void declare(struct run *run)
{
    run->peak = run->live;
    for (unsigned i = 0; i < SITES; i++)
        run->site[i].figures.peak = live_of(&run->site[i]);
}

static void take_moment(struct run *run, uint32_t step)
{
    struct pl_profile *profile = &run->profile;
    if (profile->moments == MOMENTS || step < profile->moments * (run->program->steps / MOMENTS))
        return;
    run->moment[profile->moments++] = (struct pl_moment_view){.seconds = step * STEP_S, .live_bytes = run->live};
    if (profile->compositions * MOMENTS / COMPOSITIONS >= profile->moments)
        return;
    struct pl_composition_share *share = run->share[profile->compositions];
    for (unsigned i = 0; i < SITES; i++) {
        struct pl_amount live = live_of(&run->site[i]);
        share[i] = (struct pl_composition_share){i, pl_amount_objects(&live), pl_amount_space(&live), 0, 0, false};
    }
    run->composition[profile->compositions++] =
        (struct pl_composition_view){.shares = SITES, .share = share, .live_bytes = run->live};
}

static void change_halves(struct run *run, const struct sample *sample, double live, int sign)
{
    pl_halves_change(run->profile.header.half, &sample->share, (int64_t) (SIZE * sample->weight), (int64_t) live, sign);
}

static void free_sample(struct run *run, const struct sample *sample)
{
    struct site *site = &run->site[sample->site];
    if (run->live > run->peak + SLACK_SAMPLES * T)
        declare(run);
    pl_sums_add(&site->figures.freed.sampled, SIZE, sample->weight);
    run->live -= sample->weight * SIZE;
    change_halves(run, sample, run->live, -1);
}

static void take_sample(struct run *run, uint32_t step, double weight)
{
    uint32_t life = run->program->life(step), number = ++run->samples;
    struct sample *sample = &run->sample[number];
    struct pl_record record = {.size = SIZE, .weight = weight, .charge = step};
    *sample = (struct sample){
        .weight = weight,
        .site = life > 0,
        .share = pl_halves_share(&record, run->seed),
    };
    struct pl_figures *figures = &run->site[sample->site].figures;
    pl_sums_add(&figures->allocated.sampled, SIZE, weight);
    pl_sums_add_skew(&figures->skew, SIZE, weight);
    change_halves(run, sample, run->live, 1);
    run->live += weight * SIZE;
    if (life > 0 && step + life < run->program->steps) {
        sample->next = run->freed_at[step + life];
        run->freed_at[step + life] = number;
    }
    take_moment(run, step);
}

static void go(struct run *run, uint64_t seed)
{
    struct pl_sampler sampler;
    uint64_t left = 0, charge = SIZE + PL_CALL_CHARGE;
    run->seed = seed;
    pl_sampler_seed(&sampler, seed, 1);
    for (uint32_t step = 0; step < run->program->steps; step++) {
        for (uint32_t i = run->freed_at[step]; i; i = run->sample[i].next)
            free_sample(run, &run->sample[i]);
        if (left >= charge) {
            left -= charge;
            continue;
        }
        double weight = pl_sampler_meet(&sampler, charge, left, T, &left);
        if (weight > 0)
            take_sample(run, step, weight);
    }
    if (run->live > run->peak)
        declare(run);
}

/* ---- what the reader makes of it ---- */

/* Folds the peak into `all`. Returns by how much, in bytes, sites were lowered. */
static double fold_peak(struct run *run, bool corrected, bool peak_is_now, struct pl_figures *all)
{
    struct pl_profile *profile = &run->profile;
    struct pl_site_view view[SITES] = {0};
    profile->sites = SITES;
    profile->site = view;
    profile->moment = run->moment;
    profile->composition = run->composition;
    profile->duration_s = run->program->steps * STEP_S;
    profile->unit_s = STEP_S;
    for (unsigned i = 0; i < PL_HALVES && !corrected; i++) /* as in a file from before there were halves */
        profile->header.half[i] = (struct pl_half){0};
    profile->arena = pl_arena_new();
    for (unsigned i = 0; i < SITES; i++) {
        view[i].figures = pl_site_pack_figures(profile->arena, &run->site[i].figures);
        pl_figures_add(all, &run->site[i].figures);
    }
    struct pl_peak_correction *correction = pl_peakrange_fold(profile, all, peak_is_now, T);
    double lowered = 0;
    for (unsigned i = 0; i < SITES; i++)
        lowered += correction[i].space;
    free(correction);
    pl_arena_free(profile->arena);
    return lowered;
}

static struct pl_estimate height(struct run *run, bool corrected)
{
    struct pl_estimate metric[PL_METRIC_COUNT];
    struct pl_figures all = {0};
    fold_peak(run, corrected, false, &all);
    pl_estimate_figures(&all, metric);
    return metric[PL_METRIC_PEAK_SPACE];
}

static double true_peak(const struct program *program)
{
    int32_t *change = calloc(program->steps + 1, sizeof *change), live = 0, peak = 0;
    assert_non_null(change);
    for (uint32_t i = 0; i < program->steps; i++) {
        uint32_t life = program->life(i), end = i + life < program->steps ? i + life : program->steps;
        change[i]++;
        change[life ? end : program->steps]--;
        live += change[i];
        peak = live > peak ? live : peak;
    }
    free(change);
    return (double) peak * SIZE;
}

struct judged {
    double error;   /* the mean, in standard deviations */
    double covered; /* percent */
};

static struct judged judge(const struct program *program, bool corrected)
{
    double truth = true_peak(program), sum = 0, squares = 0, covered = 0;
    struct run *run = malloc(sizeof *run);
    uint32_t *freed_at = malloc(program->steps * sizeof *freed_at);
    struct sample *sample = malloc((program->steps + 1) * sizeof *sample);
    assert_true(run && freed_at && sample);
    for (unsigned seed = 1; seed <= RUNS; seed++) {
        *run = (struct run){.program = program, .freed_at = freed_at, .sample = sample};
        for (uint32_t i = 0; i < program->steps; i++)
            freed_at[i] = 0;
        go(run, seed);
        struct pl_estimate peak = height(run, corrected);
        sum += peak.value - truth;
        squares += (peak.value - truth) * (peak.value - truth);
        covered += peak.low <= truth && truth <= peak.high;
    }
    free(run);
    free(freed_at);
    free(sample);
    double mean = sum / RUNS, deviation = sqrt(squares / RUNS - mean * mean);
    struct judged judged = {.error = mean / deviation, .covered = 100 * covered / RUNS};
    if (getenv("PLIMSOLL_TEST_VERBOSE"))
        print_error("%s%s: peak %.1f samples, error %+.2f samples, %+.2f standard deviations; %.1f%% covered\n",
                    program->name, corrected ? "" : ", not corrected", truth / SAMPLE, mean / SAMPLE, judged.error,
                    judged.covered);
    return judged;
}

/* ---- claims ---- */

/* Errors in standard deviations: at least `before` as recorded, and between `least` and `most` as corrected. At least
 * `covered` percent of the intervals contain the truth. */
struct claim {
    struct program program;
    double before, least, most, covered;
};

static void check(const struct claim *claim)
{
    struct judged recorded = judge(&claim->program, false), corrected = judge(&claim->program, true);
    assert_true(recorded.error >= claim->before);
    assert_true(corrected.error >= claim->least && corrected.error <= claim->most);
    assert_true(corrected.covered >= claim->covered);
}

static void the_peak_of_a_heap_that_is_replaced_over_and_over_is_its_size(void **state)
{
    (void) state;
    static const struct claim claims[] = {
        {{"3 samples, replaced 1,000 times", 3000 * PER_SAMPLE, three_samples}, 4, -1, 1.4, 93},
        {{"30 samples, replaced 300 times", 9000 * PER_SAMPLE, thirty_samples}, 6, -1, 1.6, 93},
        {{"300 samples, replaced 30 times", 9000 * PER_SAMPLE, three_hundred_samples}, 3, -1, 1.3, 87},
    };
    for (unsigned i = 0; i < sizeof claims / sizeof *claims; i++)
        check(&claims[i]);
}

static void blocks_that_stay_are_not_lowered_with_those_that_come_and_go(void **state)
{
    (void) state;
    check(&(struct claim){
        {"30 of 130 come and go", 9000 * PER_SAMPLE, thirty_beside_a_hundred_that_stay}, 1.5, 0, 0.9, 93});
}

static void a_heap_that_is_filled_and_emptied_is_as_large_as_when_it_is_full(void **state)
{
    (void) state;
    check(&(struct claim){{"sawtooth", 9000 * PER_SAMPLE, sawtooth}, 4, 0, 1.1, 88});
}

static void a_peak_that_stands_out_is_not_taken_for_noise(void **state)
{
    (void) state;
    check(&(struct claim){{"a spike", 600000, spike}, 0.5, -0.2, 0.5, 93});
}

static void a_heap_that_only_grows_and_ends_is_left_alone(void **state)
{
    (void) state;
    check(&(struct claim){{"growth", 60000, growth}, -0.2, -0.2, 0.2, 93});
}

static void growth_is_not_taken_for_exchange(void **state)
{
    (void) state;
    check(&(struct claim){{"growth beside exchange", 110 * PER_SAMPLE, growth_beside_exchange}, 0, -0.35, 0.35, 93});
}

static void a_peak_that_is_now_is_left_alone(void **state)
{
    (void) state;
    static const struct program program = {"30 samples, replaced 300 times", 9000 * PER_SAMPLE, thirty_samples};
    struct run run = {.program = &program};
    struct pl_figures before = {0}, now = {0};
    run.freed_at = calloc(program.steps, sizeof *run.freed_at);
    run.sample = malloc((program.steps + 1) * sizeof *run.sample);
    assert_true(run.freed_at && run.sample);
    go(&run, 1);
    assert_true(fold_peak(&run, true, false, &before) > 0);
    assert_true(fold_peak(&run, true, true, &now) == 0);
    assert_true(now.peak.sampled.space > before.peak.sampled.space);
    free(run.freed_at);
    free(run.sample);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_peak_that_is_now_is_left_alone),
        cmocka_unit_test(the_peak_of_a_heap_that_is_replaced_over_and_over_is_its_size),
        cmocka_unit_test(blocks_that_stay_are_not_lowered_with_those_that_come_and_go),
        cmocka_unit_test(a_heap_that_is_filled_and_emptied_is_as_large_as_when_it_is_full),
        cmocka_unit_test(a_peak_that_stands_out_is_not_taken_for_noise),
        cmocka_unit_test(a_heap_that_only_grows_and_ends_is_left_alone),
        cmocka_unit_test(growth_is_not_taken_for_exchange),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
