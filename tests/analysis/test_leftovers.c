/* SPDX-License-Identifier: MIT */
/*
 * test_leftovers.c - the verdicts on blocks that were never freed: leaks are suspected, everything else is not.
 */
#include <math.h>

#include "analysis/leaks/families.h"
#include "analysis/leaks/leftovers.h"
#include "analysis/leaks/rise.h"
#include "model.h"

#define LIBC "/lib/x86_64-linux-gnu/libc.so.6"
#define APP "/opt/app/server"

static void end_as_killed(struct model *model)
{
    model->profile.header.flags = PL_FLAG_WAITED;
    model->profile.header.wait_status = 9;
}

static void end_as_exited(struct model *model)
{
    model->profile.header.end = PL_END_EXIT;
}

static struct pl_leftovers *judge(struct model *model)
{
    return pl_leftovers_new(model_pack(model), NULL, NULL, 0);
}

/* The verdict on the only site of a profile. */
static struct pl_leftover judge_only(struct model *model)
{
    struct pl_leftovers *leftovers = judge(model);
    assert_int_equal(leftovers->count, 1);
    struct pl_leftover item = leftovers->item[0];
    assert_int_equal(leftovers->suspected, item.verdict == PL_LEFT_SUSPECTED);
    pl_leftovers_free(leftovers);
    return item;
}

static bool near(double value, double expected)
{
    return fabs(value - expected) <= 0.1 * expected;
}

static void a_site_with_live_blocks_of_all_ages_is_suspected(void **state)
{
    (void) state;
    struct model *model = model_new(8, 8);
    end_as_exited(model);
    SITE(model, STACK(model, APP, "add_term", APP, "main"), 1000, 0, 100, 100, 100, 100, 100, 100, 100, 100);
    struct pl_leftover item = judge_only(model);
    assert_int_equal(item.verdict, PL_LEFT_SUSPECTED);
    assert_true(near(item.growth.bytes_per_s, 100000));
    assert_true(near(item.growth.seconds, 7));
    assert_false(item.growth.seen);
    assert_true(item.freed == 0);
    assert_true(near(item.old_objects, 600));
    assert_true(item.metric[PL_METRIC_INUSE_OBJECTS].value == 800);
    model_free(model);
}

static void a_leak_beside_many_frees_is_suspected(void **state)
{
    (void) state;
    struct model *model = model_new(8, 5);
    end_as_exited(model);
    uint32_t site = SITE(model, STACK(model, APP, "handle", APP, "main"), 64, 99000, 200, 210, 190, 200, 40);
    model->site[site].spread.lives[10] = 99000;
    struct pl_leftover item = judge_only(model);
    assert_int_equal(item.verdict, PL_LEFT_SUSPECTED);
    assert_true(item.freed > 0.99 && item.freed < 1);
    assert_true(item.life_s > 0 && item.life_s < 0.01);
    model_free(model);
}

static void the_request_of_a_killed_server_is_not_suspected(void **state)
{
    (void) state;
    struct model *model = model_new(10, 8);
    end_as_killed(model);
    uint32_t request = STACK(model, APP, "read_body", APP, "main"), slow = STACK(model, APP, "log_line", APP, "main");
    SITE(model, request, 1 << 20, 5000, 0, 0, 0, 0, 0, 0, 0, 3);
    SITE(model, slow, 100, 0, 2, 3, 2, 2, 3, 2, 2, 1);
    struct pl_leftovers *leftovers = judge(model);
    assert_int_equal(leftovers->ending, PL_ENDING_KILLED);
    assert_int_equal(leftovers->suspected, 1);
    assert_int_equal(leftovers->item[0].stack, slow); /* the suspected site comes first, although it is smaller */
    assert_int_equal(leftovers->item[1].stack, request);
    assert_int_equal(leftovers->item[1].verdict, PL_LEFT_YOUNG);
    assert_true(near(leftovers->item[1].first_s, 8.75));
    pl_leftovers_free(leftovers);
    model_free(model);
}

static void a_request_that_began_before_the_last_age_class_is_young(void **state)
{
    (void) state;
    struct model *model = model_new(10, 8);
    end_as_killed(model);
    SITE(model, STACK(model, APP, "read_body", APP, "main"), 4096, 5000, 0, 0, 0, 0, 0, 0, 2, 1);
    assert_int_equal(judge_only(model).verdict, PL_LEFT_YOUNG);
    model_free(model);
}

static void young_blocks_of_a_running_process_are_in_use(void **state)
{
    (void) state;
    struct model *model = model_new(10, 8);
    model->profile.running = true;
    SITE(model, STACK(model, APP, "read_body", APP, "main"), 4096, 0, 0, 0, 0, 0, 0, 0, 0, 1);
    struct pl_leftovers *leftovers = judge(model);
    assert_int_equal(leftovers->ending, PL_ENDING_RUNNING);
    assert_int_equal(leftovers->item[0].verdict, PL_LEFT_YOUNG);
    pl_leftovers_free(leftovers);
    model_free(model);
}

static void a_snapshot_is_judged_like_a_running_process(void **state)
{
    (void) state;
    struct model *model = model_new(10, 8);
    model->profile.snapshot_name = "";
    SITE(model, STACK(model, APP, "read_body", APP, "main"), 4096, 0, 0, 0, 0, 0, 0, 0, 0, 1);
    struct pl_leftovers *leftovers = judge(model);
    assert_int_equal(leftovers->ending, PL_ENDING_RUNNING);
    pl_leftovers_free(leftovers);
    model_free(model);
}

static void tables_made_at_the_start_are_not_suspected(void **state)
{
    (void) state;
    struct model *model = model_new(10, 8);
    end_as_exited(model);
    SITE(model, STACK(model, APP, "load_tables", APP, "main"), 4096, 0, 5000, 0, 0, 0, 0, 0, 0, 0);
    assert_int_equal(judge_only(model).verdict, PL_LEFT_ONCE);
    model_free(model);
}

static void a_single_block_is_made_once_at_any_time(void **state)
{
    (void) state;
    struct model *model = model_new(10, 8);
    end_as_exited(model);
    SITE(model, STACK(model, APP, "lazy", APP, "main"), 4096, 0, 0, 0, 0, 1, 0, 0, 0, 0);
    struct pl_leftover item = judge_only(model);
    assert_int_equal(item.verdict, PL_LEFT_ONCE);
    assert_true(near(item.first_s, 3.75) && near(item.last_s, 5));
    model_free(model);
}

static void a_cache_that_has_filled_up_is_not_suspected(void **state)
{
    (void) state;
    struct model *model = model_new(10, 8);
    end_as_killed(model);
    SITE(model, STACK(model, APP, "cache_put", APP, "main"), 4096, 0, 300, 500, 500, 200, 0, 0, 0, 0);
    struct pl_leftover item = judge_only(model);
    assert_int_equal(item.verdict, PL_LEFT_STOPPED);
    assert_false(item.turnover);
    assert_true(near(item.last_s, 5));
    model_free(model);
}

static void a_cache_that_replaces_its_entries_is_not_suspected(void **state)
{
    (void) state;
    struct model *model = model_new(10, 8);
    double level[PL_COMPOSITIONS];
    end_as_killed(model);
    uint32_t site =
        SITE(model, STACK(model, APP, "cache_put", APP, "main"), 1000, 400, 0, 60, 80, 100, 120, 160, 200, 280);
    for (uint32_t i = 0; i < PL_COMPOSITIONS; i++)
        level[i] = 1000000 + (i % 3 ? 4000 : -8000);
    model_seen(model, site, level, PL_COMPOSITIONS);
    struct pl_leftover item = judge_only(model);
    assert_int_equal(item.verdict, PL_LEFT_STOPPED);
    assert_true(item.turnover);
    model_free(model);
}

static void a_few_heap_compositions_are_enough_to_see_turnover(void **state)
{
    (void) state;
    struct model *model = model_new(10, 8);
    static const double level[] = {640000, 800000, 800000, 800000};
    end_as_killed(model);
    uint32_t site =
        SITE(model, STACK(model, APP, "cache_put", APP, "main"), 1000, 400, 0, 100, 100, 100, 100, 100, 150, 150);
    model_seen(model, site, level, 4);
    assert_true(judge_only(model).turnover);
    model_free(model);
}

static void a_full_cache_of_constant_size_has_stopped_without_turnover(void **state)
{
    (void) state;
    struct model *model = model_new(10, 8);
    double level[PL_COMPOSITIONS];
    end_as_killed(model);
    uint32_t site = SITE(model, STACK(model, APP, "cache_put", APP, "main"), 1000, 0, 300, 300, 200, 200, 100);
    for (uint32_t i = 0; i < PL_COMPOSITIONS; i++)
        level[i] = fmin(1100000, 130000 * (i + 1));
    model_seen(model, site, level, PL_COMPOSITIONS);
    struct pl_leftover item = judge_only(model);
    assert_int_equal(item.verdict, PL_LEFT_STOPPED);
    assert_false(item.turnover);
    model_free(model);
}

/* One block that doubles at these times, in twentieths of the run of 10 s; the sizes before are freed. */
static struct pl_leftover judge_doubling(const uint32_t *step, uint32_t steps)
{
    struct model *model = model_new(10, 8);
    double ages[PL_COHORTS] = {0}, bytes = 1 << 20;
    end_as_killed(model);
    ages[step[steps - 1] * PL_COHORTS / 20] = 1;
    uint32_t site = model_site(model, STACK(model, APP, "push_back", APP, "main"), ages, (1u << 20) << (steps - 1), 20);
    for (uint32_t i = 4; i < 4 + steps; i++)
        model->site[site].spread.sizes[i] = 1;
    for (uint32_t i = 0; i < steps; i++, bytes *= 2) {
        struct pl_composition_view *composition = &model->composition[i];
        composition->seconds = step[i] / 2.0;
        composition->shares = 1;
        model->share[i][0] = (struct pl_composition_share){.site = site, .bytes = bytes, .objects = 1};
        composition->share = model->share[i];
    }
    model->profile.compositions = steps;
    struct pl_leftover item = judge_only(model);
    model_free(model);
    return item;
}

static void a_container_that_doubles_grows_until_its_next_step_is_overdue(void **state)
{
    (void) state;
    static const uint32_t recent[] = {2, 4, 9, 18}, pending[] = {1, 3, 6, 12}, overdue[] = {1, 2, 3, 5};
    struct pl_leftover item = judge_doubling(recent, 4);
    assert_int_equal(item.verdict, PL_LEFT_SUSPECTED);
    assert_true(near(item.steps.last_s, 9));
    item = judge_doubling(pending, 4);
    assert_int_equal(item.verdict, PL_LEFT_UNKNOWN);
    assert_int_equal(item.doubt, PL_DOUBT_STEPS);
    assert_true(near(item.steps.due_s, 12));
    item = judge_doubling(overdue, 4);
    assert_int_equal(item.verdict, PL_LEFT_STOPPED);
}

/* The same without heap compositions: the last of 13 steps was in age class `last`, and no block before it lived longer
 * than 2^`life` units of 4,096 ns or so. */
static struct pl_leftover judge_doubling_alone(uint32_t last, uint32_t life, uint64_t largest)
{
    struct model *model = model_new(10, 8);
    double ages[PL_COHORTS] = {0};
    end_as_killed(model);
    ages[last] = 1;
    uint32_t site = model_site(model, STACK(model, APP, "push_back", APP, "main"), ages, 8u << 20, 12);
    struct pl_spread *spread = &model->site[site].spread;
    for (uint32_t i = 7; i < 7 + 13; i++)
        spread->sizes[i] = 1;
    for (uint32_t i = 0; i < 12; i++)
        spread->lives[life - i] = 1;
    spread->largest = largest;
    model->profile.unit_s = 10.0 / (1 << 20);
    struct pl_leftover item = judge_only(model);
    model_free(model);
    return item;
}

static void a_container_that_doubles_needs_no_heap_compositions(void **state)
{
    (void) state;
    struct pl_leftover item = judge_doubling_alone(6, 19, 8u << 20);
    assert_int_equal(item.verdict, PL_LEFT_SUSPECTED);
    item = judge_doubling_alone(3, 19, 8u << 20); /* up to 5 s; the one before lived at most 5 s */
    assert_int_equal(item.verdict, PL_LEFT_UNKNOWN);
    assert_int_equal(item.doubt, PL_DOUBT_STEPS);
    assert_true(near(item.steps.due_s, 10));      /* twice 5 s: it was filled from the start at the earliest */
    item = judge_doubling_alone(3, 16, 8u << 20); /* at most 0.6 s: the next step is overdue */
    assert_int_equal(item.verdict, PL_LEFT_STOPPED);
    item = judge_doubling_alone(3, 19, 16u << 20); /* it was larger once */
    assert_int_equal(item.verdict, PL_LEFT_STOPPED);
}

/* Estimates may seem level by chance, but then no older block was freed. */
static void a_site_that_frees_nothing_old_does_not_turn_over(void **state)
{
    (void) state;
    static const double level[] = {500000, 790000, 800000, 780000, 790000, 800000};
    for (int freed = 0; freed < 2; freed++) {
        struct model *model = model_new(10, 8);
        end_as_killed(model);
        uint32_t site = SITE(model, STACK(model, APP, "log_line", APP, "main"), 1000, freed ? 5000 : 0, 100, 100, 100,
                             100, 100, 100, 100, 100);
        if (freed)
            model->site[site].spread.lives[2] = 5000; /* at once */
        model_seen(model, site, level, 6);
        struct pl_leftover item = judge_only(model);
        assert_false(item.turnover);
        assert_int_equal(item.verdict, PL_LEFT_SUSPECTED);
        model_free(model);
    }
}

static void growth_is_measured_until_the_program_cleans_up(void **state)
{
    (void) state;
    struct model *model = model_new(10, 8);
    double seen[PL_COMPOSITIONS];
    end_as_exited(model);
    uint32_t site = SITE(model, STACK(model, APP, "cache_put", APP, "main"), 1000, 700, 10, 10, 10, 10, 10, 10, 10, 10);
    for (uint32_t i = 0; i < PL_COMPOSITIONS; i++)
        seen[i] = i < 14 ? 50000.0 * (i + 1) : 80000;
    model_seen(model, site, seen, PL_COMPOSITIONS);
    model->site[site].figures.peak.exact_space = model->profile.total[PL_METRIC_PEAK_SPACE].value = 720000;
    model->site[site].figures.peak.exact_objects = 720;
    model->profile.total[PL_METRIC_INUSE_SPACE].value = 80000;
    model->profile.peak_s = 8.5;
    struct pl_leftover item = judge_only(model);
    assert_int_equal(item.verdict, PL_LEFT_SUSPECTED);
    assert_true(near(item.growth.bytes_per_s, 85000));
    model_free(model);
}

static void a_site_in_no_heap_composition_is_not_suspected_if_older_blocks_are_freed(void **state)
{
    (void) state;
    struct model *model = model_new(10, 8);
    end_as_killed(model);
    SITE(model, STACK(model, APP, "session", APP, "main"), 16, 9000, 0, 2, 4, 8, 16, 32, 64, 128);
    struct pl_leftover item = judge_only(model);
    assert_int_equal(item.verdict, PL_LEFT_UNKNOWN);
    assert_int_equal(item.doubt, PL_DOUBT_PATTERN);
    model_free(model);
}

/* A cache that was filled in the first second, and is freed at the end. Its peak of 8.7 MB was at 9 s. */
static bool rises(double error, double allocated)
{
    static const double level[] = {2.6e6, 7.0e6, 7.1e6, 7.2e6, 7.1e6, 7.2e6};
    struct model *model = model_new(10, 8);
    uint32_t site = SITE(model, STACK(model, APP, "cache_put", APP, "main"), 1000, 8700, 0), group = 0;
    model->site[site].figures.peak.exact_space = 8.7e6;
    model_seen(model, site, level, 6);
    model->profile.peak_s = 9;
    const struct pl_profile *profile = model_pack(model);
    struct pl_estimate metric[PL_METRIC_COUNT] = {
        [PL_METRIC_PEAK_SPACE] = {.value = 8.7e6, .error = error},
        [PL_METRIC_ALLOC_SPACE] = {.value = allocated},
    };
    bool steady = pl_rise_to_peak(profile, &group, 0, metric).steady;
    model_free(model);
    return steady;
}

/* Grew until 4 s, and `after` that. */
static bool rises_early(double after)
{
    double level[] = {1e6, 2e6, 3e6, 4e6, 5e6, 6e6, 7e6, after, after, after, after, after, after, after, after, 0};
    struct model *model = model_new(8.5, 8);
    uint32_t site = SITE(model, STACK(model, APP, "cache_put", APP, "main"), 1000, 8000, 0), group = 0;
    model->site[site].figures.peak.exact_space = 8e6;
    model_seen(model, site, level, 16);
    model->profile.peak_s = 4;
    const struct pl_profile *profile = model_pack(model);
    struct pl_estimate metric[PL_METRIC_COUNT] = {[PL_METRIC_PEAK_SPACE] = {.value = 8e6}};
    bool steady = pl_rise_to_peak(profile, &group, 0, metric).steady;
    model_free(model);
    return steady;
}

static void a_cache_that_stays_full_does_not_grow_any_more(void **state)
{
    (void) state;
    assert_true(rises_early(1e6));
    assert_false(rises_early(7.5e6));
}

static void the_noise_of_samples_is_no_growth(void **state)
{
    (void) state;
    assert_true(rises(0, 52e6));      /* counted: it did grow */
    assert_true(rises(1.5e6, 8.7e6)); /* nothing was replaced: samples can only be added */
    assert_false(rises(1.5e6, 52e6));
}

static void growth_that_slows_down_is_not_suspected(void **state)
{
    (void) state;
    struct model *model = model_new(10, 8);
    end_as_exited(model);
    SITE(model, STACK(model, APP, "learn", APP, "main"), 16, 0, 900, 300, 100, 30, 10, 9, 8, 40);
    assert_int_not_equal(judge_only(model).verdict, PL_LEFT_SUSPECTED);
    model_free(model);
}

static void a_cache_that_has_just_become_full_is_not_suspected(void **state)
{
    (void) state;
    struct model *model = model_new(10, 8);
    double seen[PL_COMPOSITIONS];
    end_as_killed(model);
    uint32_t site =
        SITE(model, STACK(model, APP, "cache_put", APP, "main"), 1000, 250, 0, 125, 125, 125, 125, 125, 125, 125);
    for (uint32_t i = 0; i < PL_COMPOSITIONS; i++)
        seen[i] = fmin(875000, 875000.0 * (i + 1) / 12);
    model_seen(model, site, seen, PL_COMPOSITIONS);
    struct pl_leftover item = judge_only(model);
    assert_int_equal(item.verdict, PL_LEFT_STOPPED);
    assert_true(item.turnover);
    model_free(model);
}

static void the_same_ages_are_suspected_if_heap_compositions_rise(void **state)
{
    (void) state;
    struct model *model = model_new(10, 8);
    double rising[PL_COMPOSITIONS];
    end_as_killed(model);
    uint32_t site =
        SITE(model, STACK(model, APP, "cache_put", APP, "main"), 1000, 400, 0, 60, 80, 100, 120, 160, 200, 280);
    for (uint32_t i = 0; i < PL_COMPOSITIONS; i++)
        rising[i] = 1000000.0 * (i + 1) / (PL_COMPOSITIONS + 1);
    rising[9] = 1; /* one outlier does not matter */
    model_seen(model, site, rising, PL_COMPOSITIONS);
    struct pl_leftover item = judge_only(model);
    assert_int_equal(item.verdict, PL_LEFT_SUSPECTED);
    assert_true(item.growth.seen);
    assert_true(near(item.growth.bytes_per_s, 100000));
    model_free(model);
}

static void a_large_base_from_the_start_does_not_hide_growth(void **state)
{
    (void) state;
    struct model *model = model_new(10, 8);
    double seen[PL_COMPOSITIONS];
    end_as_killed(model);
    uint32_t site =
        SITE(model, STACK(model, APP, "put", APP, "main"), 1000, 0, 100000, 300, 300, 300, 300, 300, 300, 300);
    for (uint32_t i = 0; i < PL_COMPOSITIONS; i++)
        seen[i] = 1e8 + 2.1e6 * (i + 1) / (PL_COMPOSITIONS + 1);
    model_seen(model, site, seen, PL_COMPOSITIONS);
    /* Fewer than one block in forty is younger than the start, but these are thousands. */
    assert_int_equal(judge_only(model).verdict, PL_LEFT_SUSPECTED);
    model_free(model);
}

static void a_short_run_proves_nothing(void **state)
{
    (void) state;
    struct model *model = model_new(0.4, 8);
    end_as_exited(model);
    SITE(model, STACK(model, APP, "add_term", APP, "main"), 1000, 0, 100, 100, 100, 100, 100, 100, 100, 100);
    struct pl_leftover item = judge_only(model);
    assert_int_equal(item.verdict, PL_LEFT_UNKNOWN);
    assert_int_equal(item.doubt, PL_DOUBT_SHORT);
    model_free(model);
}

static void without_ages_nothing_is_suspected(void **state)
{
    (void) state;
    struct model *model = model_new(100, 0);
    end_as_exited(model);
    uint32_t site = SITE(model, STACK(model, APP, "add_term", APP, "main"), 1000, 0, 800);
    memset(model->site[site].spread.ages, 0, sizeof model->site[site].spread.ages);
    struct pl_leftover item = judge_only(model);
    assert_int_equal(item.verdict, PL_LEFT_UNKNOWN);
    assert_int_equal(item.doubt, PL_DOUBT_AGES);
    assert_false(item.aged);
    model_free(model);
}

static void live_blocks_of_scattered_ages_are_not_growth(void **state)
{
    (void) state;
    struct model *model = model_new(10, 8);
    end_as_exited(model);
    SITE(model, STACK(model, APP, "now_and_then", APP, "main"), 1000, 0, 5, 0, 0, 7, 0, 0, 9, 0);
    struct pl_leftover item = judge_only(model);
    assert_int_equal(item.verdict, PL_LEFT_UNKNOWN);
    assert_int_equal(item.doubt, PL_DOUBT_PATTERN);
    model_free(model);
}

static void suspicion_needs_many_samples(void **state)
{
    (void) state;
    struct model *few = model_new(10, 8), *many = model_new(10, 8);
    end_as_exited(few);
    end_as_exited(many);
    SAMPLED(few, STACK(few, APP, "add_term", APP, "main"), 1000, 500, 1, 1, 1, 1, 1, 1, 1, 1);
    SAMPLED(many, STACK(many, APP, "add_term", APP, "main"), 1000, 500, 9, 8, 9, 10, 9, 8, 9, 9);
    struct pl_leftover item = judge_only(few);
    assert_int_equal(item.verdict, PL_LEFT_UNKNOWN);
    assert_int_equal(item.doubt, PL_DOUBT_SAMPLES);
    item = judge_only(many);
    assert_int_equal(item.verdict, PL_LEFT_SUSPECTED);
    assert_true(item.metric[PL_METRIC_INUSE_SPACE].error > 0);
    assert_true(near(item.growth.bytes_per_s, 9 * 500 * 1000 / 1.25));
    model_free(few);
    model_free(many);
}

static struct pl_leftover judge_after_exact(uint64_t samples)
{
    struct model *model = model_new(10, 8);
    static struct pl_moment_view moment[] = {{.seconds = 2}, {.seconds = 3.5, .interval_bytes = 1 << 20}};
    end_as_exited(model);
    model->profile.header.automatic.left = 1;
    model->profile.exact = false;
    model->profile.moment = moment;
    model->profile.moments = 2;
    uint32_t site = SITE(model, STACK(model, APP, "cache_put", APP, "main"), 4096, 0, 300, 500, 500);
    struct pl_figures *figures = &model->site[site].figures;
    forge_sample(&figures->allocated.sampled, 4096, 500, samples);
    forge_sample(&figures->freed.sampled, 4096, 500, samples);
    struct pl_leftover item = judge_only(model);
    model_free(model);
    return item;
}

static void a_site_without_samples_since_exact_mode_ended_is_not_called_stopped(void **state)
{
    (void) state;
    struct pl_leftover item = judge_after_exact(0);
    assert_int_equal(item.verdict, PL_LEFT_UNKNOWN);
    assert_int_equal(item.doubt, PL_DOUBT_UNSEEN);
    assert_true(item.unseen_s == 3.5);
    item = judge_after_exact(7);
    assert_int_equal(item.verdict, PL_LEFT_UNKNOWN);
    assert_int_equal(item.doubt, PL_DOUBT_SAMPLES);
    assert_int_equal(judge_after_exact(8).verdict, PL_LEFT_STOPPED);
}

/* A site that was counted at first, with samples for most of its live blocks. */
static enum pl_leftover_verdict judge_growth(uint64_t samples)
{
    struct model *model = model_new(10, 8);
    end_as_exited(model);
    uint32_t site = SITE(model, STACK(model, APP, "add_term", APP, "main"), 1000, 0, 100);
    model->profile.header.automatic.left = 1;
    forge_sample(&model->site[site].figures.allocated.sampled, 1000, 500, samples);
    for (uint32_t i = 1; i < 8; i++)
        model->site[site].spread.ages[i] = 500.0 * (double) samples / 7;
    struct pl_leftover item = judge_only(model);
    model_free(model);
    return item.verdict;
}

static void counted_blocks_do_not_replace_samples(void **state)
{
    (void) state;
    assert_int_equal(judge_growth(7), PL_LEFT_UNKNOWN);
    assert_int_equal(judge_growth(9), PL_LEFT_SUSPECTED);
}

static void a_few_samples_are_not_enough_to_rule_growth_out(void **state)
{
    (void) state;
    struct model *few = model_new(10, 8), *many = model_new(10, 8);
    SAMPLED(few, STACK(few, APP, "load_tables", APP, "main"), 1000, 500, 7);
    SAMPLED(many, STACK(many, APP, "load_tables", APP, "main"), 1000, 500, 8);
    few->profile.header.interval_bytes = many->profile.header.interval_bytes = 512 << 10;
    assert_int_equal(judge_only(few).doubt, PL_DOUBT_SAMPLES);
    assert_int_equal(judge_only(many).verdict, PL_LEFT_ONCE);
    few->profile.header.mode = PL_MODE_SAMPLED;
    few->profile.header.interval_bytes = 1; /* every allocation is a sample, so seven samples are all allocations */
    assert_int_equal(judge_only(few).verdict, PL_LEFT_ONCE);
    model_free(few);
    model_free(many);
}

static void blocks_freed_by_exit_handlers_are_reported_separately(void **state)
{
    (void) state;
    struct model *model = model_new(10, 8);
    end_as_exited(model);
    SITE(model, STACK(model, APP, "tidy", APP, "main"), 100, 50, 0);
    model->profile.spread.exit_objects = 50;
    model->profile.spread.exit_space = 5000;
    struct pl_leftovers *leftovers = judge(model);
    assert_int_equal(leftovers->count, 0);
    assert_true(leftovers->exit_objects == 50 && leftovers->exit_space == 5000);
    pl_leftovers_free(leftovers);
    model_free(model);
}

static void stacks_of_a_group_are_judged_together(void **state)
{
    (void) state;
    struct model *model = model_new(8, 8);
    end_as_exited(model);
    uint32_t first = STACK(model, APP, "put", APP, "a"), second = STACK(model, APP, "put", APP, "b");
    SITE(model, first, 10, 0, 1, 0, 1, 0, 1, 0, 1, 0);
    SITE(model, second, 20, 0, 0, 1, 0, 1, 0, 1, 0, 1);
    struct pl_leftovers *leftovers = judge(model);
    assert_int_equal(leftovers->count, 2);
    assert_int_equal(leftovers->suspected, 0);
    pl_leftovers_free(leftovers);
    const uint32_t group[] = {5, 5, 0};
    leftovers = pl_leftovers_new(model_pack(model), NULL, group, 6);
    assert_int_equal(leftovers->count, 1);
    assert_int_equal(leftovers->suspected, 1);
    assert_int_equal(leftovers->item[0].group, 5);
    assert_int_equal(leftovers->item[0].stacks, 2);
    assert_int_equal(leftovers->item[0].stack, second); /* the larger one represents both */
    assert_true(leftovers->left_metric[PL_METRIC_INUSE_SPACE].value == 120);
    pl_leftovers_free(leftovers);
    model_free(model);
}

/* --- with suppressions --- */

static struct pl_leftovers *judge_with(struct model *model, struct pl_suppressions *set)
{
    return pl_leftovers_new(model_pack(model), set, NULL, 0);
}

static struct pl_suppressions *builtin(void)
{
    struct pl_suppressions *set = pl_suppressions_new();
    pl_suppressions_add_builtin(set);
    return set;
}

static void suppressed_blocks_are_counted_by_rule(void **state)
{
    (void) state;
    char why[PL_WHY_BYTES];
    struct model *model = model_new(8, 8);
    end_as_exited(model);
    SITE(model, STACK(model, LIBC, "", LIBC, "setlocale", APP, "main"), 100, 0, 12);
    SITE(model, STACK(model, APP, "known_leak", APP, "main"), 1000, 0, 5, 5, 5, 5, 5, 5, 5, 5);
    SITE(model, STACK(model, APP, "other", APP, "main"), 10, 0, 7);
    struct pl_suppressions *set = pl_suppressions_new();
    assert_int_equal(pl_suppressions_parse(set, "a", "leak:unused\nleak:known", 22, why), 0);
    pl_suppressions_add_builtin(set);
    struct pl_leftovers *leftovers = judge_with(model, set);
    assert_int_equal(leftovers->count, 1);
    assert_int_equal(leftovers->suspected, 0);
    assert_true(leftovers->left_metric[PL_METRIC_INUSE_SPACE].value == 70);
    assert_true(leftovers->suppressed_metric[PL_METRIC_INUSE_SPACE].value == 41200);
    assert_true(leftovers->suppressed_metric[PL_METRIC_INUSE_OBJECTS].value == 52);
    assert_int_equal(leftovers->rules, set->count);
    assert_int_equal(leftovers->rules_used, 2);
    assert_int_equal(leftovers->builtin_used, 1);
    assert_true(set->rule[1].blocks == 40 && set->rule[1].bytes == 40000 && set->rule[1].stacks == 1);
    pl_leftovers_free(leftovers);
    pl_suppressions_free(set);
    model_free(model);
}

static void a_built_in_rule_does_not_hide_growth(void **state)
{
    (void) state;
    struct model *model = model_new(8, 8);
    end_as_exited(model);
    SITE(model, STACK(model, LIBC, "", LIBC, "setlocale", APP, "main"), 100, 0, 2, 2, 2, 2, 2, 2, 2, 2);
    struct pl_suppressions *set = builtin();
    struct pl_leftovers *leftovers = judge_with(model, set);
    assert_int_equal(leftovers->suspected, 1);
    assert_int_equal(leftovers->rules_used, 0);
    pl_leftovers_free(leftovers);
    pl_suppressions_free(set);
    model_free(model);
}

static void a_built_in_rule_does_not_hide_many_blocks(void **state)
{
    (void) state;
    struct model *model = model_new(0.1, 1);
    end_as_exited(model);
    SITE(model, STACK(model, LIBC, "_IO_file_doallocate", LIBC, "fprintf", APP, "log"), 4096, 0, 3);
    SITE(model, STACK(model, LIBC, "_IO_file_doallocate", LIBC, "fprintf", APP, "leak_files"), 4096, 0, 400);
    struct pl_suppressions *set = builtin();
    struct pl_leftovers *leftovers = judge_with(model, set);
    assert_int_equal(leftovers->count, 1);
    assert_int_equal(leftovers->item[0].stack, 1);
    assert_int_equal(leftovers->rules_used, 1);
    pl_leftovers_free(leftovers);
    pl_suppressions_free(set);
    model_free(model);
}

/* --- families --- */

struct related {
    struct model *model;
    struct pl_locations *locations;
    struct pl_leftovers *left;
    struct pl_families families;
};

static struct related relate(struct model *model)
{
    static const char *argv[] = {APP, NULL};
    model->profile.executable = APP;
    model->profile.argv = argv;
    model->profile.comm = "server";
    model->profile.directory = "";
    struct related all = {.model = model,
                          .locations = pl_locations_new(model_pack(model), &(struct pl_location_options){0})};
    struct pl_paths paths = pl_paths_new(&model->profile, all.locations, PL_SHAPE_SITE, 6);
    uint32_t *group = pl_paths_of_stacks(&model->profile, &paths);
    end_as_exited(model);
    all.left = pl_leftovers_new(model_pack(model), NULL, group, paths.count);
    all.families = pl_families_new(all.left, &paths, all.locations);
    free(group);
    return all;
}

static void forget(struct related *all)
{
    pl_leftovers_free(all->left);
    pl_locations_free(all->locations);
    model_free(all->model);
}

static void what_a_leaked_object_owns_is_one_leak_with_it(void **state)
{
    (void) state;
    struct model *model = model_new(8, 8);
    SITE(model, STACK(model, APP, "fill", APP, "open", APP, "serve", APP, "main"), 100, 0, 40, 40, 40, 40, 40, 40, 40,
         40);
    SITE(model, STACK(model, APP, "open", APP, "serve", APP, "main"), 1000, 0, 10, 10, 10, 10, 10, 10, 10, 10);
    SITE(model, STACK(model, APP, "log_line", APP, "serve_log", APP, "main"), 10, 0, 10, 10, 10, 10, 10, 10, 10, 10);
    struct related all = relate(model);
    assert_int_equal(all.left->suspected, 3);
    assert_int_equal(all.families.count, 2);
    const struct pl_family *family = &all.families.family[0];
    assert_int_equal(family->count, 2);
    assert_string_equal(all.locations->location[family->owner].name, "open");
    assert_true(family->whole.metric[PL_METRIC_INUSE_SPACE].value == 320 * 100 + 80 * 1000);
    assert_true(near(family->whole.growth.bytes_per_s, 40 * 100 + 10 * 1000));
    assert_int_equal(all.families.family[1].count, 1);
    assert_int_equal(all.families.family[1].owner, PL_PATH_NO_LOCATION);
    forget(&all);
}

static void leaks_that_grow_at_other_times_are_not_related(void **state)
{
    (void) state;
    struct model *model = model_new(8, 8);
    SITE(model, STACK(model, APP, "fill", APP, "open", APP, "serve", APP, "main"), 100, 0, 40, 40, 40, 40, 40, 40, 40,
         40);
    SITE(model, STACK(model, APP, "open", APP, "serve", APP, "main"), 100, 0, 1, 20, 30, 40, 40, 40, 50, 60);
    struct related all = relate(model);
    assert_int_equal(all.left->suspected, 2);
    assert_int_equal(all.families.count, 2);
    forget(&all);
}

/* Everything is called by main. */
static void leaks_that_share_only_main_are_not_related(void **state)
{
    (void) state;
    struct model *model = model_new(8, 8);
    SITE(model, STACK(model, APP, "one", APP, "main"), 100, 0, 40, 40, 40, 40, 40, 40, 40, 40);
    SITE(model, STACK(model, APP, "two", APP, "main"), 100, 0, 40, 40, 40, 40, 40, 40, 40, 40);
    struct related all = relate(model);
    assert_int_equal(all.families.count, 2);
    forget(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_site_with_live_blocks_of_all_ages_is_suspected),
        cmocka_unit_test(a_leak_beside_many_frees_is_suspected),
        cmocka_unit_test(the_request_of_a_killed_server_is_not_suspected),
        cmocka_unit_test(a_request_that_began_before_the_last_age_class_is_young),
        cmocka_unit_test(young_blocks_of_a_running_process_are_in_use),
        cmocka_unit_test(a_snapshot_is_judged_like_a_running_process),
        cmocka_unit_test(tables_made_at_the_start_are_not_suspected),
        cmocka_unit_test(a_single_block_is_made_once_at_any_time),
        cmocka_unit_test(a_cache_that_has_filled_up_is_not_suspected),
        cmocka_unit_test(a_cache_that_replaces_its_entries_is_not_suspected),
        cmocka_unit_test(a_few_heap_compositions_are_enough_to_see_turnover),
        cmocka_unit_test(a_full_cache_of_constant_size_has_stopped_without_turnover),
        cmocka_unit_test(a_container_that_doubles_grows_until_its_next_step_is_overdue),
        cmocka_unit_test(a_container_that_doubles_needs_no_heap_compositions),
        cmocka_unit_test(a_site_that_frees_nothing_old_does_not_turn_over),
        cmocka_unit_test(growth_is_measured_until_the_program_cleans_up),
        cmocka_unit_test(a_site_in_no_heap_composition_is_not_suspected_if_older_blocks_are_freed),
        cmocka_unit_test(a_cache_that_stays_full_does_not_grow_any_more),
        cmocka_unit_test(the_noise_of_samples_is_no_growth),
        cmocka_unit_test(growth_that_slows_down_is_not_suspected),
        cmocka_unit_test(a_cache_that_has_just_become_full_is_not_suspected),
        cmocka_unit_test(the_same_ages_are_suspected_if_heap_compositions_rise),
        cmocka_unit_test(a_large_base_from_the_start_does_not_hide_growth),
        cmocka_unit_test(a_short_run_proves_nothing),
        cmocka_unit_test(without_ages_nothing_is_suspected),
        cmocka_unit_test(live_blocks_of_scattered_ages_are_not_growth),
        cmocka_unit_test(suspicion_needs_many_samples),
        cmocka_unit_test(a_site_without_samples_since_exact_mode_ended_is_not_called_stopped),
        cmocka_unit_test(counted_blocks_do_not_replace_samples),
        cmocka_unit_test(a_few_samples_are_not_enough_to_rule_growth_out),
        cmocka_unit_test(blocks_freed_by_exit_handlers_are_reported_separately),
        cmocka_unit_test(stacks_of_a_group_are_judged_together),
        cmocka_unit_test(suppressed_blocks_are_counted_by_rule),
        cmocka_unit_test(a_built_in_rule_does_not_hide_growth),
        cmocka_unit_test(a_built_in_rule_does_not_hide_many_blocks),
        cmocka_unit_test(what_a_leaked_object_owns_is_one_leak_with_it),
        cmocka_unit_test(leaks_that_grow_at_other_times_are_not_related),
        cmocka_unit_test(leaks_that_share_only_main_are_not_related),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
