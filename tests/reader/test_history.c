/* SPDX-License-Identifier: MIT */
/*
 * test_history.c - moments and snapshots: in order, each once, and by site.
 */
#include <math.h>

#include "support.h"

static void moments_are_in_order_and_each_is_there_once(void **state)
{
    (void) state;
    static const uint64_t times[] = {500, 0, 100, 300, 100, 0, 200, 500};
    struct forge *forge = forge_build("empty");
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        forge_moment(forge, times[i] * 1000000)->live_bytes = times[i];
    struct pl_profile *profile = forge_load(forge);
    assert_int_equal(profile->moments, 4);
    static const double expected[] = {100, 200, 300, 500};
    for (uint32_t i = 0; i < profile->moments; i++) {
        assert_true(fabs(profile->moment[i].seconds - expected[i] / 1000) < 1e-12);
        assert_true(profile->moment[i].live_bytes == expected[i]);
    }
    assert_int_equal(profile->damage, 0);
    pl_profile_close(profile);
    forge_free(forge);
}

static void a_moment_says_all_that_was_written(void **state)
{
    (void) state;
    struct pl_profile *profile = load_scenario("exact");
    assert_int_equal(profile->moments, 16);
    const struct pl_moment_view *moment = &profile->moment[4];
    assert_true(moment->seconds == 4.0 && moment->live_objects == 300 && moment->live_bytes == 15000 + (8 << 20));
    assert_true(moment->allocated_calls == 1875 && moment->allocated_bytes == 52500 + (16 << 20));
    assert_true(moment->rss_bytes == moment->live_bytes + (2 << 20));
    assert_int_equal(moment->interval_bytes, 0);
    pl_profile_close(profile);
}

static void figures_below_zero_are_no_moment(void **state)
{
    (void) state;
    struct forge *forge = forge_build("exact");
    ((struct pl_moment *) forge_record(forge, PL_KIND_MOMENT, 3))->live_bytes = (uint64_t) -4096;
    struct pl_profile *profile = forge_load(forge);
    assert_int_equal(profile->moments, 15);
    assert_int_equal(profile->damage, 1);
    pl_profile_close(profile);
    forge_free(forge);
}

static void snapshots_name_sites_the_largest_first(void **state)
{
    (void) state;
    struct pl_profile *profile = load_scenario("exact");
    assert_int_equal(profile->snapshots, 3);
    const struct pl_snapshot_view *snapshot = &profile->snapshot[1];
    assert_true(snapshot->seconds == 8.0);
    assert_int_equal(snapshot->shares, 2);
    assert_true(snapshot->share[0].bytes == 8 << 20 && snapshot->share[1].bytes == 28800);
    assert_true(snapshot->share[1].objects == 600);
    const struct pl_stack_view *stack = &profile->stack[profile->site[snapshot->share[0].site].stack];
    assert_string_equal(profile->frame[stack->frame[0]].place[0].function, "rows_grow");
    assert_true(snapshot->left_out_bytes == 0);
    pl_profile_close(profile);
}

static void rows_and_tallies_of_a_site_are_one_share(void **state)
{
    (void) state;
    struct forge *forge = forge_build("auto");
    struct pl_snapshot_record *snapshot = forge_snapshot(forge, 1000000000);
    forge_holds(snapshot, 1, 10, 480);
    forge_holds(snapshot, 1 | PL_SNAPSHOT_ROW, 20, 960);
    snapshot->live_bytes += 100;
    snapshot->left_out = 3;
    struct pl_profile *profile = forge_load(forge);
    assert_int_equal(profile->snapshot[0].shares, 1);
    assert_true(profile->snapshot[0].share[0].objects == 30 && profile->snapshot[0].share[0].bytes == 1440);
    assert_true(profile->snapshot[0].left_out_bytes == 100);
    pl_profile_close(profile);
    forge_free(forge);
}

static void entries_of_a_site_need_not_be_neighbours(void **state)
{
    (void) state;
    struct forge *forge = forge_build("exact");
    struct pl_snapshot_record *snapshot = forge_snapshot(forge, 1000000000);
    for (uint32_t i = 0; i < 6; i++)
        forge_holds(snapshot, 1 + i % 3, 1, 100 * (1 + i % 3));
    struct pl_profile *profile = forge_load(forge);
    assert_int_equal(profile->snapshot[0].shares, 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_true(profile->snapshot[0].share[i].bytes == 200 * (3 - i));
    pl_profile_close(profile);
    forge_free(forge);
}

static void entries_for_what_is_not_there_are_left_out(void **state)
{
    (void) state;
    static const uint32_t nonsense[] = {0, 4, 1u << 30, PL_SNAPSHOT_ROW, PL_SNAPSHOT_ROW | 1, UINT32_MAX};
    struct forge *forge = forge_build("exact");
    struct pl_snapshot_record *snapshot = forge_record(forge, PL_KIND_SNAPSHOT, 1);
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++)
        forge_holds(snapshot, nonsense[i], 1, 10);
    struct pl_profile *profile = forge_load(forge);
    assert_int_equal(profile->snapshot[0].shares, 1);
    assert_true(profile->snapshot[0].left_out_bytes == 60);
    assert_int_equal(profile->damage, 6);
    pl_profile_close(profile);
    snapshot->entries = PL_SNAPSHOT_ENTRIES + 1;
    profile = forge_load(forge);
    assert_int_equal(profile->snapshots, 2);
    pl_profile_close(profile);
    forge_free(forge);
}

static void records_beyond_the_slots_are_not_looked_at(void **state)
{
    (void) state;
    struct forge *forge = forge_build("empty");
    for (uint64_t i = 1; i <= 1000; i++) {
        forge_moment(forge, i);
        forge_snapshot(forge, i);
    }
    struct pl_profile *profile = forge_load(forge);
    assert_int_equal(profile->moments, PL_MOMENTS);
    assert_int_equal(profile->snapshots, PL_SNAPSHOTS);
    pl_profile_close(profile);
    forge_free(forge);
}

static void a_run_lasted_at_least_until_its_last_moment(void **state)
{
    (void) state;
    struct forge *forge = forge_build("killed");
    forge_moment(forge, 77000000000);
    struct pl_profile *profile = forge_load(forge);
    assert_true(profile->duration_s == 77);
    pl_profile_close(profile);
    forge_free(forge);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moments_are_in_order_and_each_is_there_once),
        cmocka_unit_test(a_moment_says_all_that_was_written),
        cmocka_unit_test(figures_below_zero_are_no_moment),
        cmocka_unit_test(snapshots_name_sites_the_largest_first),
        cmocka_unit_test(rows_and_tallies_of_a_site_are_one_share),
        cmocka_unit_test(entries_of_a_site_need_not_be_neighbours),
        cmocka_unit_test(entries_for_what_is_not_there_are_left_out),
        cmocka_unit_test(records_beyond_the_slots_are_not_looked_at),
        cmocka_unit_test(a_run_lasted_at_least_until_its_last_moment),
    };
    return cmocka_run_group_tests_name("history", tests, NULL, NULL);
}
