/* SPDX-License-Identifier: MIT */
/*
 * test_reset.c - profiles after a reset, snapshots, and how both are described.
 */
#include <math.h>

#include "reader/describe.h"
#include "forged_profile.h"

static struct pl_profile *load_and_free(struct forge *forge)
{
    struct pl_profile *profile = forge_load(forge);
    forge_free(forge);
    return profile;
}

static void assert_words(const struct pl_profile *profile, const char *method, const char *ending)
{
    char words[256];
    pl_describe_method(profile, words, sizeof words);
    assert_string_equal(words, method);
    if (!ending)
        return;
    pl_describe_ending(profile, words, sizeof words);
    assert_string_equal(words, ending);
}

/* ---- resets ---- */

static void everything_before_the_reset_is_discarded(void **state)
{
    (void) state;
    struct pl_profile *profile = load_scenario("reset");
    assert_int_equal(profile->sites, 1);
    assert_int_equal(profile->site[0].thread, 1);
    assert_string_equal(profile->tag[profile->site[0].tag].path, "request/render");
    assert_true(pl_site_value(&profile->site[0], PL_METRIC_INUSE_OBJECTS) == 3);
    assert_int_equal(profile->scopes, 1);
    assert_int_equal(profile->scope[0].tag, profile->site[0].tag);
    assert_int_equal(profile->scope[0].calls[PL_FN_MALLOC], 8);
    assert_int_equal(profile->thread[1].bytes, 8 * 64);
    assert_true(profile->total[PL_METRIC_ALLOC_OBJECTS].value == 8);
    assert_true(profile->total[PL_METRIC_INUSE_SPACE].value == 3 * 64);
    assert_true(fabs(profile->reset_s - 5) < 1e-9);
    assert_true(profile->exact);
    assert_int_equal(profile->damage, 0);
    assert_words(profile, "exact: all 8 allocations since the reset", NULL);
    pl_profile_close(profile);
}

static void rows_from_before_the_reset_are_discarded(void **state)
{
    (void) state;
    struct forge *forge = forge_build("leak");
    forge_reset(forge, 1000000000);
    uint32_t row = forge_row(forge, 2, 1);
    forge_sample(&forge_row_at(forge, row)->allocated, 100, 10, 3);
    struct pl_profile *profile = load_and_free(forge);
    assert_int_equal(profile->sites, 1);
    assert_int_equal(profile->samples, 3);
    assert_words(profile, "sampled every 512 KiB on average: 3 samples since the reset; ± = 95% confidence", NULL);
    pl_profile_close(profile);
}

static void a_thread_that_has_not_seen_the_reset_has_allocated_nothing_since(void **state)
{
    (void) state;
    struct pl_profile *profile = load_scenario("reset");
    assert_int_equal(profile->thread[0].calls[PL_FN_MALLOC], 0);
    assert_int_equal(profile->thread[0].bytes, 0);
    pl_profile_close(profile);
}

/* The peak was before the reset. Since then the heap is largest now. */
static void the_peak_counts_only_blocks_since_the_reset(void **state)
{
    (void) state;
    struct forge *forge = forge_build("reset");
    forge_header(forge)->peak = (struct pl_peak){.bytes = 1 << 30, .units = 1000, .era = 5, .peaks = 3};
    struct pl_tally *tally = forge_tally_at(forge, (uint32_t) forge_header(forge)->count[PL_KIND_TALLY] - 1);
    tally->era = tally->freed_era = 5; /* none of its blocks was live at the peak */
    struct pl_profile *profile = load_and_free(forge);
    assert_true(profile->total[PL_METRIC_PEAK_SPACE].value == 3 * 64);
    assert_true(profile->peak_s == profile->duration_s);
    pl_profile_close(profile);
}

static void a_peak_since_the_reset_is_kept(void **state)
{
    (void) state;
    struct forge *forge = forge_build("reset");
    forge_header(forge)->peak = (struct pl_peak){.bytes = 1 << 30, .units = 1000000, .era = 5, .peaks = 3};
    struct pl_tally *tally = forge_tally_at(forge, (uint32_t) forge_header(forge)->count[PL_KIND_TALLY] - 1);
    tally->freed_era = 5; /* all eight were live */
    struct pl_profile *profile = load_and_free(forge);
    assert_true(profile->total[PL_METRIC_PEAK_SPACE].value == 8 * 64);
    assert_true(profile->peak_s < profile->duration_s);
    pl_profile_close(profile);
}

static void a_tally_stores_the_lower_half_of_the_number_of_resets(void **state)
{
    (void) state;
    struct forge *forge = forge_build("reset");
    forge_header(forge)->resets += 65536;
    forge_thread_at(forge, 2)->reset += 65536;
    struct pl_profile *profile = load_and_free(forge);
    assert_int_equal(profile->sites, 1);
    assert_true(profile->exact_calls == 8);
    pl_profile_close(profile);
}

static void counters_below_their_baseline_are_damage(void **state)
{
    (void) state;
    struct forge *forge = forge_build("reset");
    forge_thread_at(forge, 2)->reset_bytes = UINT64_MAX;
    struct pl_profile *profile = load_and_free(forge);
    assert_int_equal(profile->thread[1].bytes, 0);
    assert_int_equal(profile->damage, 1);
    pl_profile_close(profile);
}

static void history_begins_with_the_reset(void **state)
{
    (void) state;
    struct forge *forge = forge_build("reset");
    struct pl_composition_record *composition = forge_composition(forge, 6000000000ull);
    uint32_t last = (uint32_t) forge_header(forge)->count[PL_KIND_TALLY] - 1;
    forge_holds(composition, 1, 1000, 48000); /* from before the reset */
    forge_holds(composition, last, 3, 192);
    forge_holds(forge_composition(forge, 3000000000ull), 1, 1000, 48000);
    uint64_t before = forge_thread_at(forge, 1)->bytes + forge_thread_at(forge, 2)->reset_bytes +
                      forge_thread_at(forge, 3)->reset_bytes;
    struct pl_profile *profile = load_and_free(forge);
    assert_int_equal(profile->moments, 1);
    assert_true(fabs(profile->moment[0].seconds - 6) < 1e-9);
    assert_true(profile->moment[0].allocated_bytes == (double) ((1 << 30) - before));
    assert_int_equal(profile->compositions, 1);
    assert_int_equal(profile->composition[0].shares, 1);
    assert_true(profile->composition[0].live_bytes == 192 && profile->composition[0].left_out_bytes == 0);
    assert_int_equal(profile->damage, 0);
    pl_profile_close(profile);
}

static void without_a_reset_none_is_mentioned(void **state)
{
    (void) state;
    struct pl_profile *profile = load_scenario("tags");
    assert_true(profile->reset_s == 0);
    assert_words(profile, "exact: all 2,221 allocations, but for 500 more made while Plimsoll was off or paused",
                 "exited 0");
    pl_profile_close(profile);
}

static void switching_off_and_on_does_not_end_exact_mode(void **state)
{
    (void) state;
    struct forge *forge = forge_build("tags");
    struct pl_auto *automatic = &forge_header(forge)->automatic;
    automatic->left = 2; /* the runtime counts this when it is switched off */
    automatic->returned = 1;
    struct pl_profile *profile = forge_load(forge);
    assert_true(profile->exact);
    assert_words(profile, "exact: all 2,221 allocations, but for 500 more made while Plimsoll was off or paused", NULL);
    pl_profile_close(profile);
    automatic->interval_max = 96 << 10;
    profile = load_and_free(forge);
    assert_false(profile->exact);
    pl_profile_close(profile);
}

static void a_profile_of_paused_calls_only_is_described_as_such(void **state)
{
    (void) state;
    struct forge *forge = forge_build("exact");
    uint32_t paused = forge_tag_of_kind(forge, PL_TAG_PAUSED);
    forge_reset(forge, 1);
    struct pl_profile *profile = forge_load(forge);
    assert_words(profile, "exact: nothing was allocated since the reset", NULL);
    pl_profile_close(profile);
    forge_thread_at(forge, 1)->calls[PL_FN_MALLOC] += 12;
    forge_thread_at(forge, 1)->tag = paused;
    profile = load_and_free(forge);
    assert_true(profile->recorded_calls == 0);
    assert_words(profile, "none of 12 allocations since the reset was recorded: Plimsoll was off, or paused", NULL);
    pl_profile_close(profile);
}

/* ---- snapshots ---- */

static void a_snapshot_has_a_name_and_ends_when_it_was_taken(void **state)
{
    (void) state;
    struct pl_profile *profile = load_scenario("snapshot");
    assert_string_equal(profile->snapshot_name, "warmed up");
    assert_true(fabs(profile->snapshot_s - 3.2) < 1e-9);
    assert_true(fabs(profile->duration_s - 3.2) < 1e-9);
    assert_false(profile->running);
    assert_words(profile, "exact: all 2,221 allocations, but for 500 more made while Plimsoll was off or paused",
                 "snapshot `warmed up` after 3.2 s");
    pl_profile_close(profile);
}

static uint64_t own_start_ticks(void)
{
    unsigned long long ticks = 0;
    FILE *file = fopen("/proc/self/stat", "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file,
                            "%*d (%*[^)]) %*c" /* 4 .. 21 */
                            "%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
                            &ticks),
                     1);
    fclose(file);
    return ticks;
}

/* The header has the pid and the start time of this very process. */
static void a_snapshot_of_a_running_process_is_not_running(void **state)
{
    (void) state;
    char path[64];
    struct forge *forge = forge_build("tags");
    forge_header(forge)->pid = (uint32_t) getpid();
    forge_header(forge)->start_ticks = own_start_ticks();
    for (int composition = 0; composition <= 1; composition++) {
        struct pl_profile *profile = NULL;
        char why[PL_WHY_BYTES];
        if (composition)
            forge_make_snapshot(forge, "", 1500000000);
        forge_to_file(forge, path);
        assert_int_equal(pl_profile_open(path, &profile, why), 0);
        assert_int_equal(profile->running, !composition);
        if (composition)
            assert_words(profile,
                         "exact: all 2,221 allocations, but for 500 more made while Plimsoll was off or paused",
                         "snapshot after 1.5 s");
        pl_profile_close(profile);
        unlink(path);
    }
    forge_free(forge);
}

static void a_name_without_the_flag_makes_no_snapshot(void **state)
{
    (void) state;
    struct forge *forge = forge_build("snapshot");
    forge_header(forge)->flags &= ~(uint32_t) PL_FLAG_SNAPSHOT;
    struct pl_profile *profile = load_and_free(forge);
    assert_null(profile->snapshot_name);
    assert_true(profile->snapshot_s == 0);
    pl_profile_close(profile);
}

static void control_characters_in_the_name_of_a_snapshot_are_escaped(void **state)
{
    (void) state;
    char name[200], words[256];
    memset(name, 'n', sizeof name);
    memcpy(name, "\x1b[2J\n", 5);
    memcpy(name + 62, "\u20ac", 3); /* the name is truncated before or after this character */
    name[sizeof name - 1] = 0;
    struct forge *forge = forge_build("tags");
    forge_make_snapshot(forge, name, 1000000000);
    struct pl_profile *profile = load_and_free(forge);
    assert_string_equal(profile->snapshot_name, name);
    pl_describe_ending(profile, words, sizeof words);
    assert_memory_equal(words, "snapshot `?[2J?nnn", 18);
    assert_non_null(strstr(words, "nnn` after 1.0 s"));
    pl_profile_close(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_before_the_reset_is_discarded),
        cmocka_unit_test(rows_from_before_the_reset_are_discarded),
        cmocka_unit_test(a_thread_that_has_not_seen_the_reset_has_allocated_nothing_since),
        cmocka_unit_test(the_peak_counts_only_blocks_since_the_reset),
        cmocka_unit_test(a_peak_since_the_reset_is_kept),
        cmocka_unit_test(a_tally_stores_the_lower_half_of_the_number_of_resets),
        cmocka_unit_test(counters_below_their_baseline_are_damage),
        cmocka_unit_test(history_begins_with_the_reset),
        cmocka_unit_test(without_a_reset_none_is_mentioned),
        cmocka_unit_test(switching_off_and_on_does_not_end_exact_mode),
        cmocka_unit_test(a_profile_of_paused_calls_only_is_described_as_such),
        cmocka_unit_test(a_snapshot_has_a_name_and_ends_when_it_was_taken),
        cmocka_unit_test(a_snapshot_of_a_running_process_is_not_running),
        cmocka_unit_test(a_name_without_the_flag_makes_no_snapshot),
        cmocka_unit_test(control_characters_in_the_name_of_a_snapshot_are_escaped),
    };
    return cmocka_run_group_tests_name("reset", tests, NULL, NULL);
}
