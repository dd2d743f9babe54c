/* SPDX-License-Identifier: MIT */
/* test_hidden.c - intervals allow for blocks of which no sample was taken, and for other moments of the peak. */
#include <math.h>

#include "forged_profile.h"
#include "reader/base/arena.h"
#include "reader/peakrange.h"

#define KIB 1024.0
#define T (16 * KIB)

static struct pl_sums *add_sample(struct pl_sums *sums, double size)
{
    double weight = 1 / -expm1(-(size + 64) / T);
    sums->objects += weight;
    sums->space += weight * size;
    sums->objects_variance += weight * (weight - 1);
    sums->space_variance += weight * (weight - 1) * size * size;
    sums->samples++;
    return sums;
}

static void estimate(struct pl_figures *figures, double smallest, double largest,
                     struct pl_estimate metric[PL_METRIC_COUNT])
{
    figures->call_charge = 64;
    figures->hidden = pl_estimate_hidden(figures, T, smallest, largest);
    pl_estimate_figures(figures, metric);
}

/* A block of 32 T has a weight of exactly 1. One of 8 KiB at the same stack has no sample in 61% of runs. */
static void a_large_block_does_not_hide_a_small_one_at_the_same_stack(void **state)
{
    (void) state;
    struct pl_figures figures = {0};
    struct pl_estimate metric[PL_METRIC_COUNT];
    add_sample(&figures.allocated.sampled, 512 * KIB);
    estimate(&figures, 512 * KIB, 512 * KIB, metric);
    for (int m = PL_METRIC_ALLOC_OBJECTS; m <= PL_METRIC_INUSE_SPACE; m++)
        assert_true(metric[m].error > 0);
    assert_true(metric[PL_METRIC_ALLOC_SPACE].high > 520 * KIB && metric[PL_METRIC_ALLOC_SPACE].high < 564 * KIB);
    assert_true(metric[PL_METRIC_ALLOC_OBJECTS].high >= 2);
}

/* 17 reallocs, from 16 bytes to 1 MiB: those from 8 KiB on were sampled. */
static void a_buffer_that_doubles_may_have_begun_small(void **state)
{
    (void) state;
    struct pl_figures figures = {0};
    struct pl_estimate metric[PL_METRIC_COUNT];
    for (double size = 8 * KIB; size <= 1024 * KIB; size *= 2)
        add_sample(&figures.allocated.sampled, size);
    estimate(&figures, 8 * KIB, 1024 * KIB, metric);
    assert_true(metric[PL_METRIC_ALLOC_OBJECTS].low >= 8 && metric[PL_METRIC_ALLOC_OBJECTS].high > 17);
}

/* Their samples show all of them, and the interval is that of the count. */
static void equal_small_blocks_hide_nothing(void **state)
{
    (void) state;
    struct pl_figures figures = {0};
    struct pl_estimate with[PL_METRIC_COUNT], without[PL_METRIC_COUNT];
    for (int i = 0; i < 10; i++)
        add_sample(&figures.allocated.sampled, 48);
    pl_estimate_figures(&figures, without);
    estimate(&figures, 48, 48, with);
    for (int m = PL_METRIC_ALLOC_OBJECTS; m <= PL_METRIC_ALLOC_SPACE; m++)
        assert_true(with[m].low == without[m].low && with[m].high == without[m].high);
}

static void if_every_allocation_is_sampled_nothing_is_hidden(void **state)
{
    (void) state;
    struct pl_figures figures = {.allocated.sampled = {1, 512 * KIB, 0, 0, 1}, .call_charge = 64};
    struct pl_hidden hidden = pl_estimate_hidden(&figures, 1, 512 * KIB, 512 * KIB);
    assert_true(hidden.objects == 0 && hidden.space == 0);
}

static void a_site_that_was_only_counted_may_have_gone_on(void **state)
{
    (void) state;
    struct pl_figures figures = {.allocated = {.exact_objects = 10, .exact_space = 1000}, .peak = {10, 1000, {0}}};
    struct pl_estimate metric[PL_METRIC_COUNT];
    estimate(&figures, 100, 100, metric);
    for (int m = 0; m < PL_METRIC_COUNT; m++)
        assert_true(metric[m].low == metric[m].value && metric[m].high > metric[m].value + 290 && metric[m].error > 0);
}

/* One live sample, of a large block; thousands of small blocks were counted before. */
static void the_total_of_live_blocks_allows_for_what_was_not_seen_after_counting(void **state)
{
    (void) state;
    struct forge *forge = forge_build("auto");
    struct pl_row *row = forge_row_at(forge, 1);
    uint32_t other = forge_site(forge, forge_frame(forge, 0, forge_module(forge, "/bin/more", 7), 0x99));
    struct pl_tally *tally = forge_tally_at(forge, forge_tally(forge, other, 1));
    tally->calls = tally->sizes[2] = 5000;
    tally->bytes = 5000 * 40;
    tally->smallest = tally->largest = 40;
    row->allocated = row->freed = row->peak = (struct pl_sums){0};
    row->temporaries = 0;
    row->allocated = (struct pl_sums){1, 64e6, 0, 0, 1};
    row->smallest = row->largest = 64000000;
    struct pl_profile *profile = forge_load(forge);
    const struct pl_estimate *live = &profile->total[PL_METRIC_INUSE_OBJECTS];
    assert_int_equal(profile->samples_live, 1);
    assert_true(live->error > 0 && live->high > live->value + 900); /* 3 gaps of 96 KiB, at 40 + 64 bytes */
    pl_profile_close(profile);
    forge_free(forge);
}

/* Samples of large blocks only. Small blocks of other sites may be live: none of them was sampled. */
static void a_total_allows_for_sites_without_a_sample(void **state)
{
    (void) state;
    struct forge *forge = forge_build("leak");
    for (uint32_t number = 1; number <= 3; number++) {
        struct pl_row *row = forge_row_at(forge, number);
        row->freed = row->remote = (struct pl_sums){0};
        row->allocated = (struct pl_sums){3, 24 << 20, 0, 0, 3};
        row->smallest = row->largest = 8 << 20;
    }
    struct pl_profile *profile = forge_load(forge);
    const struct pl_estimate *live = &profile->total[PL_METRIC_INUSE_OBJECTS];
    double gap = (double) profile->header.interval_bytes / profile->header.call_charge;
    assert_int_equal(profile->samples_live, 9);
    assert_true(live->value == 9 && live->high > 9 + 2.9 * gap && live->high < 9 + 3.1 * gap);
    pl_profile_close(profile);
    forge_free(forge);
}

/* A site of another thread, which made `calls` calls of 40 bytes; 500 of them were counted there, and none was sampled.
 */
static struct pl_estimate calls_of_a_thread(uint64_t calls, bool alive)
{
    struct forge *forge = forge_build("auto");
    uint32_t thread = forge_thread(forge, "worker", calls, calls * 40);
    uint32_t site = forge_site(forge, forge_frame(forge, 0, forge_module(forge, "/bin/more", 7), 0x99));
    struct pl_tally *tally = forge_tally_at(forge, forge_tally(forge, site, thread));
    tally->calls = tally->sizes[2] = 500;
    tally->bytes = 500 * 40;
    tally->smallest = tally->largest = 40;
    forge_thread_at(forge, thread)->alive = alive;
    struct pl_profile *profile = forge_load(forge);
    struct pl_figures first = pl_site_figures(&profile->site[0]);
    struct pl_estimate estimate[PL_METRIC_COUNT];
    pl_site_estimate(&profile->site[first.allocated.sampled.samples > 0], estimate);
    pl_profile_close(profile);
    forge_free(forge);
    return estimate[PL_METRIC_ALLOC_OBJECTS];
}

static void a_site_hides_no_more_than_its_thread_has_allocated(void **state)
{
    (void) state;
    struct pl_estimate all_counted = calls_of_a_thread(500, false), ten_not = calls_of_a_thread(510, false);
    assert_true(all_counted.value == 500 && all_counted.error == 0 && all_counted.high == 500);
    assert_true(ten_not.value == 500 && ten_not.high == 510 && ten_not.error > 0);
    struct pl_estimate running = calls_of_a_thread(500, true), many = calls_of_a_thread(1000000, false);
    assert_true(running.high > 500 + 900); /* its last calls are not recorded yet */
    assert_true(many.high > 500 + 900);    /* 3 gaps of 96 KiB, at 40 + 64 bytes */
}

/* ---- the moment of the peak ---- */

/* Two sites. At the peak, the first held `peak`, the second nothing; at another moment it was the second's turn. */
struct turns {
    struct pl_profile profile;
    struct pl_site_view site[2];
    struct pl_composition_view composition;
    struct pl_composition_share share;
    struct pl_figures all;
    struct unpacked_site first;            /* the figures of site[0] */
    struct pl_peak_correction *correction; /* by site; the test frees it */
};

static void find_corrections(struct turns *turns)
{
    struct pl_arena *arena = pl_arena_new();
    turns->profile.site = turns->site;
    turns->all.peak = turns->first.figures.peak;
    pack_site(arena, &turns->first, &turns->site[0]);
    turns->correction = pl_peakrange_fold(&turns->profile, &turns->all, false, T);
    pl_arena_free(arena);
}

static void take_turns(struct turns *turns, double peak, double other)
{
    *turns = (struct turns){.profile = {.sites = 2, .compositions = 1}};
    turns->profile.composition = &turns->composition;
    turns->first.figures.peak.sampled = (struct pl_sums){peak / 100, peak, 1, 1, 9};
    turns->share = (struct pl_composition_share){.site = 1, .objects = other / 100, .bytes = other};
    turns->composition = (struct pl_composition_view){.shares = 1, .share = &turns->share, .live_bytes = other};
    find_corrections(turns);
}

static void a_moment_as_high_as_the_peak_may_have_been_the_peak(void **state)
{
    (void) state;
    struct turns turns;
    take_turns(&turns, 100 * T, 90 * T);
    assert_true(turns.correction[0].range.less_space == 100 * T && turns.correction[0].range.more_space == 0);
    assert_true(turns.correction[1].range.more_space == 90 * T && turns.correction[1].range.less_space == 0);
    assert_true(turns.correction[1].range.more_objects == 90 * T / 100);
    assert_true(turns.all.peakrange.less_space == 10 * T);
    free(turns.correction);
}

/* Everything was counted until this peak; later, when blocks were sampled, the heap may have been higher. */
static void a_peak_that_was_counted_need_not_have_been_the_peak(void **state)
{
    (void) state;
    struct turns turns = {.profile = {.sites = 2}, .first.figures.peak = {1, 5 * KIB, {0}}};
    turns.first.figures.freed.exact_objects = 1;
    turns.first.spread.largest = 1000;
    find_corrections(&turns);
    assert_true(turns.correction[0].range.less_space == 1000 && turns.correction[0].range.more_space == 1000);
    free(turns.correction);
}

static void a_moment_that_was_clearly_lower_was_not_the_peak(void **state)
{
    (void) state;
    struct turns turns;
    take_turns(&turns, 100 * T, 60 * T); /* a fall of 40 T, with a noise of 1.96 sqrt(160) T */
    assert_true(turns.correction[0].range.less_space == 0 && turns.correction[1].range.more_space == 0);
    free(turns.correction);
}

/* The estimate rose to 2 T and fell again, and the runtime took it for noise. */
static void a_heap_without_a_declared_peak_may_have_been_as_large_as_the_slack(void **state)
{
    (void) state;
    struct turns turns = {.profile = {.sites = 1}};
    for (int i = 0; i < 3; i++)
        add_sample(&turns.first.figures.allocated.sampled, 1000);
    turns.first.figures.freed = turns.first.figures.allocated;
    turns.all.allocated = turns.first.figures.allocated;
    turns.all.call_charge = 64;
    find_corrections(&turns);
    assert_true(turns.all.peakrange.more_space == 2 * T);
    assert_true(fabs(turns.all.peakrange.more_objects - 2 * T / 1064) < 1e-9);
    assert_true(turns.correction[0].range.more_space == 0);
    free(turns.correction);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_site_hides_no_more_than_its_thread_has_allocated),
        cmocka_unit_test(a_large_block_does_not_hide_a_small_one_at_the_same_stack),
        cmocka_unit_test(a_buffer_that_doubles_may_have_begun_small),
        cmocka_unit_test(equal_small_blocks_hide_nothing),
        cmocka_unit_test(if_every_allocation_is_sampled_nothing_is_hidden),
        cmocka_unit_test(a_site_that_was_only_counted_may_have_gone_on),
        cmocka_unit_test(the_total_of_live_blocks_allows_for_what_was_not_seen_after_counting),
        cmocka_unit_test(a_total_allows_for_sites_without_a_sample),
        cmocka_unit_test(a_moment_as_high_as_the_peak_may_have_been_the_peak),
        cmocka_unit_test(a_peak_that_was_counted_need_not_have_been_the_peak),
        cmocka_unit_test(a_moment_that_was_clearly_lower_was_not_the_peak),
        cmocka_unit_test(a_heap_without_a_declared_peak_may_have_been_as_large_as_the_slack),
    };
    return cmocka_run_group_tests_name("hidden", tests, NULL, NULL);
}
