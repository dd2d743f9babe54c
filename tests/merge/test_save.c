/* SPDX-License-Identifier: MIT */
/*
 * test_save.c - what was saved is what is opened: of profiles that were read, and of those that were put together.
 */
#include <errno.h>
#include <sys/stat.h>

#include "join.h"
#include "narrow.h"
#include "same.h"
#include "save.h"

static const char *const scenarios[] = {
    "empty", "leak",  "inlined", "losses", "hostile-names", "duplicates",   "killed",   "threads",
    "pools", "exact", "auto",    "tags",   "deep",          "tags-sampled", "snapshot", "reset",
};
#define SCENARIOS (sizeof scenarios / sizeof *scenarios)

/* Saves and opens. */
static struct pl_profile *again(const struct pl_profile *profile)
{
    char path[] = "/tmp/plimsoll-save.XXXXXX", why[PL_WHY_BYTES] = "";
    close(mkstemp(path));
    unlink(path); /* a file that replaces another has to wait for the disk */
    if (pl_profile_save(profile, path, why) != 0)
        fail_msg("%s", why);
    struct pl_profile *opened = open_file(path);
    unlink(path);
    return opened;
}

static void a_profile_that_is_saved_and_opened_is_the_same(void **state)
{
    (void) state;
    for (size_t i = 0; i < SCENARIOS; i++) {
        struct pl_profile *first = load_scenario(scenarios[i]), *second = again(first), *third = again(second);
        assert_same_profiles(first, second);
        assert_same_profiles(second, third);
        pl_profile_close(first);
        pl_profile_close(second);
        pl_profile_close(third);
    }
}

static void a_sum_that_is_saved_and_opened_is_the_same(void **state)
{
    (void) state;
    for (size_t a = 0; a < SCENARIOS; a++) {
        for (size_t b = a; b < SCENARIOS; b++) {
            struct pl_profile *left = load_scenario(scenarios[a]), *right = load_scenario(scenarios[b]);
            const struct pl_profile *const parts[] = {left, right, left};
            struct pl_profile *sum = pl_join(parts, 3, PL_JOIN_SUM), *opened = again(sum);
            assert_int_equal(opened->merged, 3);
            assert_same_profiles(sum, opened);
            pl_profile_close(opened);
            pl_profile_close(sum);
            pl_profile_close(left);
            pl_profile_close(right);
        }
    }
}

/* ---- what does not fit into one record ---- */

static struct pl_profile *one_site(struct pl_tally **tally, struct forge **forge)
{
    *forge = forge_build("empty");
    uint32_t frame = forge_frame(*forge, 0, forge_module(*forge, "/bin/app", 1), 0x1000);
    *tally = forge_tally_at(*forge, forge_tally(*forge, forge_site(*forge, frame), 1));
    forge_header(*forge)->mode = PL_MODE_EXACT;
    forge_count(*tally, 10, 100);
    return forge_load(*forge);
}

/* Ten thousand million blocks of one size, of which so many are freed. */
static void make_many(struct pl_site_view *site, double freed, double temporary, double peak)
{
    const double many = 1e10;
    site->figures.allocated = (struct pl_amount){.exact_objects = many, .exact_space = many * 100};
    site->figures.freed = (struct pl_amount){.exact_objects = freed, .exact_space = freed * 100};
    site->figures.peak = (struct pl_amount){.exact_objects = peak, .exact_space = peak * 100};
    site->figures.temporary.exact_objects = temporary;
    site->spread.sizes[3] = many;
    site->spread.lives[4] = freed;
    site->spread.ages[1] = many - freed;
    site->spread.exit_objects = floor(freed / 2);
    site->spread.exit_space = floor(freed / 2) * 100;
}

static void more_blocks_than_a_tally_counts_become_several(void **state)
{
    (void) state;
    static const double cases[][3] = {{0, 0, 1e10},       {1, 1, 1e10},       {1e10 - 1, 1e10 - 1, 1e10 - 1},
                                      {1e10, 1e10, 1e10}, {1e10, 1e10, 1e10}, {5e9, 5e9, 5e9}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct forge *forge;
        struct pl_tally *tally;
        struct pl_profile *profile = one_site(&tally, &forge);
        profile->header.peak = (struct pl_peak){.bytes = UINT64_MAX, .peaks = 1};
        make_many(&profile->site[0], cases[i][0], cases[i][1], cases[i][2]);
        struct pl_profile *opened = again(profile);
        const struct pl_figures *figures = &opened->site[0].figures;
        assert_int_equal(opened->sites, 1);
        assert_int_equal(opened->damage + opened->in_flight, 0);
        assert_memory_equal(&figures->allocated, &profile->site[0].figures.allocated, sizeof figures->allocated);
        assert_memory_equal(&figures->freed, &profile->site[0].figures.freed, sizeof figures->freed);
        assert_memory_equal(&figures->peak, &profile->site[0].figures.peak, sizeof figures->peak);
        assert_memory_equal(&figures->temporary, &profile->site[0].figures.temporary, sizeof figures->temporary);
        assert_same_spread(&opened->site[0].spread, &profile->site[0].spread, true);
        pl_profile_close(opened);
        pl_profile_close(profile);
        forge_free(forge);
    }
}

/* A bound that a file from anywhere must not make us forget. */
static void what_would_not_fit_into_a_file_is_refused_before_it_is_built(void **state)
{
    (void) state;
    struct forge *forge;
    struct pl_tally *tally;
    char path[] = "/tmp/plimsoll-save.XXXXXX", why[PL_WHY_BYTES] = "";
    struct pl_profile *profile = one_site(&tally, &forge);
    struct pl_site_view *site = &profile->site[0];
    site->figures.allocated = (struct pl_amount){.exact_objects = 0x1p53, .exact_space = 0x1p62};
    site->spread.sizes[3] = 1e100;
    close(mkstemp(path));
    unlink(path);
    assert_int_equal(pl_profile_save(profile, path, why), -EFBIG);
    assert_true(strstr(why, "256 MiB") != NULL);
    assert_int_equal(access(path, F_OK), -1);
    pl_profile_close(profile);
    forge_free(forge);
}

static void names_of_tags_may_be_as_long_as_the_runtime_lets_them(void **state)
{
    (void) state;
    static char name[65537];
    for (size_t i = 0; i + 1 < sizeof name; i++)
        name[i] = (char) ('a' + i % 23);
    struct forge *forge = forge_build("exact");
    forge_tag(forge, forge_tag(forge, forge_tag(forge, 0, "above"), name), "below");
    struct pl_profile *profile = forge_load(forge), *opened = again(profile);
    assert_same_profiles(profile, opened);
    assert_string_equal(opened->tag[2].name, name);
    assert_string_equal(opened->tag[3].name, "below");
    pl_profile_close(opened);
    pl_profile_close(profile);
    forge_free(forge);
}

/* Counted first, then sampled: fractions of blocks go to the row, whole ones to the tally. */
static void a_site_that_was_counted_and_sampled_keeps_both(void **state)
{
    (void) state;
    struct forge *forge;
    struct pl_tally *tally;
    pl_profile_close(one_site(&tally, &forge));
    struct pl_row *row = forge_row_at(forge, forge_row(forge, tally->site, tally->thread));
    forge_sample(&row->allocated, 100, 37.3125, 1000);
    row->sizes[3] = 37312.5f;
    row->skew = (struct pl_skew){1e6, 1e12};
    row->smallest = row->largest = 100;
    forge_header(forge)->mode = PL_MODE_AUTO;
    struct pl_profile *profile = forge_load(forge), *opened = again(profile);
    assert_true(profile->site[0].spread.sizes[3] == 10 + 37312.5);
    assert_true(opened->site[0].spread.sizes[3] == 10 + 37312.5);
    assert_same_profiles(profile, opened);
    pl_profile_close(opened);
    pl_profile_close(profile);
    forge_free(forge);
}

/* ---- what the reader makes of a whole ---- */

/* More is live than was at any peak that was written down: it is largest now, whatever the header says. */
static void a_peak_that_is_now_stays_now(void **state)
{
    (void) state;
    struct forge *forge;
    struct pl_tally *tally;
    pl_profile_close(one_site(&tally, &forge));
    struct pl_header *header = forge_header(forge);
    header->peak = (struct pl_peak){.bytes = 1 << 20, .era = 3, .peaks = 3};
    tally->era = 3;
    tally->peak_calls = 5;
    tally->peak_bytes = 500;
    struct pl_profile *profile = forge_load(forge), *opened = again(profile);
    assert_true(profile->peak_s == profile->duration_s && profile->peak_s > 0);
    assert_same_profiles(profile, opened);
    pl_profile_close(opened);
    pl_profile_close(profile);
    forge_free(forge);
}

/* A file may say so, if a process did not: the weight of a block, and no sample that it is of. Found by fuzzing. */
static void weights_without_a_sample_come_to_no_peak_by_being_saved(void **state)
{
    (void) state;
    struct forge *forge = forge_build("empty");
    uint32_t module = forge_module(forge, "/bin/app", 1), frame = forge_frame(forge, 0, module, 0x1000);
    forge_sample(&forge_row_at(forge, forge_row(forge, forge_site(forge, frame), 1))->allocated, 100, 10, 3);
    uint32_t other = forge_site(forge, forge_frame(forge, frame, module, 0x2000));
    struct pl_row *row = forge_row_at(forge, forge_row(forge, other, 1));
    forge_sample(&row->allocated, 100, 30, 1);
    row->allocated.samples = 0;
    uint32_t third = forge_site(forge, forge_frame(forge, frame, module, 0x3000));
    row = forge_row_at(forge, forge_row(forge, third, 1));
    forge_sample(&row->allocated, 100, 30, 5);
    row->freed.space = 4;
    struct pl_profile *profile = forge_load(forge);
    struct pl_profile *sum = pl_join((const struct pl_profile *[]){profile, profile}, 2, PL_JOIN_SUM);
    struct pl_profile *opened = again(sum);
    assert_true(sum->total[PL_METRIC_PEAK_SPACE].value > 0);
    assert_same_profiles(sum, opened);
    pl_profile_close(opened);
    pl_profile_close(sum);
    pl_profile_close(profile);
    forge_free(forge);
}

/* Counting gave way to samples of which none was taken: how much may hide there is asked of the whole, once. */
static void what_parts_may_hide_is_not_counted_twice(void **state)
{
    (void) state;
    struct forge *forge;
    struct pl_tally *tally;
    pl_profile_close(one_site(&tally, &forge));
    forge_thread(forge, "busy", 1 << 20, 100 << 20); /* who may have allocated what hides */
    forge_header(forge)->mode = PL_MODE_AUTO;
    forge_header(forge)->automatic = (struct pl_auto){.left = 1, .interval_bytes = 1 << 16};
    struct pl_profile *part = forge_load(forge);
    assert_true(part->site[0].figures.unseen_interval > 0);
    const struct pl_profile *const parts[] = {part, part};
    struct pl_profile *sum = pl_join(parts, 2, PL_JOIN_SUM), *opened = again(sum);
    assert_same_profiles(sum, opened);
    assert_same_estimates(sum->total, opened->total);
    pl_profile_close(opened);
    pl_profile_close(sum);
    pl_profile_close(part);
    forge_free(forge);
}

/* ---- other profiles ---- */

static void a_part_of_a_profile_can_be_saved(void **state)
{
    (void) state;
    struct pl_profile *whole = load_scenario("tags");
    struct pl_arena *arena = pl_arena_new();
    bool *tag = pl_arena_alloc(arena, whole->tags);
    tag[1] = true;
    const struct pl_profile *part = pl_narrow(whole, &(struct pl_part){.tag = tag}, arena);
    struct pl_profile *opened = again(part);
    assert_true(part->sites > 0 && part->sites < whole->sites);
    assert_same_sites(part, opened);
    assert_same_threads(part, opened);
    assert_same_estimates(part->total, opened->total);
    pl_profile_close(opened);
    pl_arena_free(arena);
    pl_profile_close(whole);
}

/* The file is no longer the one that the process writes to. */
static void of_a_running_process_it_is_a_snapshot(void **state)
{
    (void) state;
    struct pl_profile *profile = load_scenario("leak");
    profile->running = true;
    struct pl_profile *opened = again(profile);
    assert_false(opened->running);
    assert_string_equal(opened->snapshot_name, "");
    assert_within(opened->duration_s, profile->duration_s, 1e-9);
    pl_profile_close(opened);
    pl_profile_close(profile);
}

static void names_are_saved_as_they_were_before_rules_simplified_them(void **state)
{
    (void) state;
    struct pl_profile *profile = load_scenario("inlined");
    struct pl_place place = {.function = "simple", .original = "simple<int>", .linkage = "", .file = ""};
    uint32_t frame = profile->stack[0].frame[0];
    profile->frame[frame].place = &place;
    profile->frame[frame].places = 1;
    struct pl_profile *opened = again(profile);
    assert_string_equal(opened->frame[opened->stack[0].frame[0]].place->function, "simple<int>");
    pl_profile_close(opened);
    pl_profile_close(profile);
}

static void what_was_damaged_stays_so(void **state)
{
    (void) state;
    struct pl_profile *profile = load_scenario("leak");
    profile->damage = 7;
    struct pl_profile *opened = again(profile);
    assert_int_equal(opened->damage, 7);
    pl_profile_close(opened);
    pl_profile_close(profile);
}

/* ---- files from anywhere ---- */

#define MUTANTS 400
#define CHANGES 40

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* Words of the image become small numbers, large ones, or others of its words. */
static struct pl_profile *load_mutant(const char *scenario, uint64_t *random)
{
    struct forge *forge = forge_build(scenario);
    size_t words = forge_bytes(forge) / 8;
    uint64_t *image = (uint64_t *) (void *) forge_image(forge);
    for (int i = 0; i < CHANGES; i++) {
        const uint64_t values[] = {next_random(random) % 64, UINT64_MAX >> next_random(random) % 64,
                                   image[next_random(random) % words], 0x7ff0000000000000};
        size_t at = next_random(random) % words;
        if (at >= 4 && (at < PL_HEADER_BYTES / 8 || at >= PL_CHUNKS_OFFSET / 8))
            image[at] = values[next_random(random) % 4];
    }
    struct pl_profile *profile = NULL;
    char why[PL_WHY_BYTES] = "";
    load_copy(forge_image(forge), forge_bytes(forge), &profile, why);
    forge_free(forge);
    return profile;
}

static void whatever_can_be_opened_can_be_added_up_and_saved(void **state)
{
    (void) state;
    uint64_t random = 20260101;
    unsigned saved = 0;
    for (int i = 0; i < MUTANTS; i++) {
        struct pl_profile *a = load_mutant(scenarios[next_random(&random) % SCENARIOS], &random);
        struct pl_profile *b = load_mutant(scenarios[next_random(&random) % SCENARIOS], &random);
        if (a && b) {
            struct pl_profile *sum = pl_join((const struct pl_profile *const[]){a, b}, 2, PL_JOIN_SUM);
            assert_true(pl_profile_valid(sum));
            struct pl_profile *opened = again(sum), *alone = again(a); /* open_file() checks them */
            pl_profile_close(alone);
            pl_profile_close(opened);
            pl_profile_close(sum);
            saved++;
        }
        pl_profile_close(a);
        pl_profile_close(b);
    }
    assert_true(saved > MUTANTS / 2);
}

/* ---- the file ---- */

static void a_file_is_replaced_as_a_whole_or_not_at_all(void **state)
{
    (void) state;
    char directory[] = "/tmp/plimsoll-save.XXXXXX", path[64], why[PL_WHY_BYTES] = "";
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/there/x.plim", directory);
    struct pl_profile *profile = load_scenario("leak");
    assert_int_equal(pl_profile_save(profile, path, why), -ENOENT);
    assert_true(strstr(why, path) && strstr(why, "No such file"));
    snprintf(path, sizeof path, "%s/x.plim", directory);
    assert_int_equal(pl_profile_save(profile, path, why), 0);
    assert_int_equal(pl_profile_save(profile, path, why), 0);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    unlink(path);
    assert_int_equal(rmdir(directory), 0); /* nothing else was left */
    pl_profile_close(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_profile_that_is_saved_and_opened_is_the_same),
        cmocka_unit_test(a_sum_that_is_saved_and_opened_is_the_same),
        cmocka_unit_test(more_blocks_than_a_tally_counts_become_several),
        cmocka_unit_test(what_would_not_fit_into_a_file_is_refused_before_it_is_built),
        cmocka_unit_test(names_of_tags_may_be_as_long_as_the_runtime_lets_them),
        cmocka_unit_test(a_site_that_was_counted_and_sampled_keeps_both),
        cmocka_unit_test(a_peak_that_is_now_stays_now),
        cmocka_unit_test(weights_without_a_sample_come_to_no_peak_by_being_saved),
        cmocka_unit_test(what_parts_may_hide_is_not_counted_twice),
        cmocka_unit_test(a_part_of_a_profile_can_be_saved),
        cmocka_unit_test(of_a_running_process_it_is_a_snapshot),
        cmocka_unit_test(names_are_saved_as_they_were_before_rules_simplified_them),
        cmocka_unit_test(what_was_damaged_stays_so),
        cmocka_unit_test(whatever_can_be_opened_can_be_added_up_and_saved),
        cmocka_unit_test(a_file_is_replaced_as_a_whole_or_not_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
