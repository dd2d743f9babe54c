/* SPDX-License-Identifier: MIT */
/*
 * test_history.c - moments and heap compositions: in order, without duplicates, and by site.
 */
#include <math.h>

#include "forged_profile.h"

static void moments_are_in_order_and_without_duplicates(void **state)
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

static void a_moment_has_all_that_was_written(void **state)
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

static void moments_with_negative_figures_are_dropped(void **state)
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

static void heap_compositions_list_sites_largest_first(void **state)
{
    (void) state;
    struct pl_profile *profile = load_scenario("exact");
    assert_int_equal(profile->compositions, 3);
    const struct pl_composition_view *composition = &profile->composition[1];
    assert_true(composition->seconds == 8.0);
    assert_int_equal(composition->shares, 2);
    assert_true(composition->share[0].bytes == 8 << 20 && composition->share[1].bytes == 28800);
    assert_true(composition->share[1].objects == 600);
    const struct pl_stack_view *stack = &profile->stack[profile->site[composition->share[0].site].stack];
    assert_string_equal(profile->frame[stack->frame[0]].place[0].function, "rows_grow");
    assert_true(composition->left_out_bytes == 0);
    pl_profile_close(profile);
}

static void rows_and_tallies_of_a_site_are_one_entry(void **state)
{
    (void) state;
    struct forge *forge = forge_build("auto");
    struct pl_composition_record *composition = forge_composition(forge, 1000000000);
    forge_holds(composition, 1, 10, 480);
    forge_holds(composition, 1 | PL_COMPOSITION_ROW, 20, 960);
    composition->live_bytes += 100;
    composition->left_out = 3;
    struct pl_profile *profile = forge_load(forge);
    assert_int_equal(profile->composition[0].shares, 1);
    assert_true(profile->composition[0].share[0].objects == 30 && profile->composition[0].share[0].bytes == 1440);
    assert_true(profile->composition[0].left_out_bytes == 100);
    pl_profile_close(profile);
    forge_free(forge);
}

static void entries_of_a_site_need_not_be_adjacent(void **state)
{
    (void) state;
    struct forge *forge = forge_build("exact");
    struct pl_composition_record *composition = forge_composition(forge, 1000000000);
    for (uint32_t i = 0; i < 6; i++)
        forge_holds(composition, 1 + i % 3, 1, 100 * (1 + i % 3));
    struct pl_profile *profile = forge_load(forge);
    assert_int_equal(profile->composition[0].shares, 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_true(profile->composition[0].share[i].bytes == 200 * (3 - i));
    pl_profile_close(profile);
    forge_free(forge);
}

static void entries_for_missing_records_are_left_out(void **state)
{
    (void) state;
    static const uint32_t nonsense[] = {0, 4, 1u << 30, PL_COMPOSITION_ROW, PL_COMPOSITION_ROW | 1, UINT32_MAX};
    struct forge *forge = forge_build("exact");
    struct pl_composition_record *composition = forge_record(forge, PL_KIND_COMPOSITION, 1);
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++)
        forge_holds(composition, nonsense[i], 1, 10);
    struct pl_profile *profile = forge_load(forge);
    assert_int_equal(profile->composition[0].shares, 1);
    assert_true(profile->composition[0].left_out_bytes == 60);
    assert_int_equal(profile->damage, 6);
    pl_profile_close(profile);
    composition->entries = PL_COMPOSITION_ENTRIES + 1;
    profile = forge_load(forge);
    assert_int_equal(profile->compositions, 2);
    pl_profile_close(profile);
    forge_free(forge);
}

static void records_beyond_the_slots_are_ignored(void **state)
{
    (void) state;
    struct forge *forge = forge_build("empty");
    for (uint64_t i = 1; i <= 1000; i++) {
        forge_moment(forge, i);
        forge_composition(forge, i);
    }
    struct pl_profile *profile = forge_load(forge);
    assert_int_equal(profile->moments, PL_MOMENTS);
    assert_int_equal(profile->compositions, PL_COMPOSITIONS);
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
        cmocka_unit_test(moments_are_in_order_and_without_duplicates),
        cmocka_unit_test(a_moment_has_all_that_was_written),
        cmocka_unit_test(moments_with_negative_figures_are_dropped),
        cmocka_unit_test(heap_compositions_list_sites_largest_first),
        cmocka_unit_test(rows_and_tallies_of_a_site_are_one_entry),
        cmocka_unit_test(entries_of_a_site_need_not_be_adjacent),
        cmocka_unit_test(entries_for_missing_records_are_left_out),
        cmocka_unit_test(records_beyond_the_slots_are_ignored),
        cmocka_unit_test(a_run_lasted_at_least_until_its_last_moment),
    };
    return cmocka_run_group_tests_name("history", tests, NULL, NULL);
}
