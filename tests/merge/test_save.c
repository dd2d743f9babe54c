/* SPDX-License-Identifier: MIT */
/*
 * test_save.c - profiles read back as they were saved: those that were read, and those that were merged.
 */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "analysis/narrow.h"
#include "reader/join/join.h"
#include "reader/write/save.h"
#include "same.h"

static const char *const scenarios[] = {
    "empty", "leak",  "inlined", "losses", "hostile-names", "duplicates",   "killed",   "threads",
    "pools", "exact", "auto",    "tags",   "deep",          "tags-sampled", "snapshot", "reset",
};
#define SCENARIOS (sizeof scenarios / sizeof *scenarios)

/* Saves a profile and opens the file. */
static struct pl_profile *again(const struct pl_profile *profile)
{
    char path[] = "/tmp/plimsoll-save.XXXXXX", why[PL_WHY_BYTES] = "";
    close(mkstemp(path));
    unlink(path); /* replacing an existing file would have to wait for the disk */
    if (pl_save(profile, path, why) != 0)
        fail_msg("%s", why);
    struct pl_profile *opened = open_file(path);
    unlink(path);
    return opened;
}

static void a_saved_profile_reads_back_the_same(void **state)
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

static void a_saved_sum_reads_back_the_same(void **state)
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

/* ---- more than one record can hold ---- */

static struct pl_profile *one_site(struct pl_tally **tally, struct forge **forge)
{
    *forge = forge_build("empty");
    uint32_t frame = forge_frame(*forge, 0, forge_module(*forge, "/bin/app", 1), 0x1000);
    *tally = forge_tally_at(*forge, forge_tally(*forge, forge_site(*forge, frame), 1));
    forge_header(*forge)->mode = PL_MODE_EXACT;
    forge_count(*tally, 10, 100);
    return forge_load(*forge);
}

/* Ten thousand million blocks of one size, of which `freed` are freed. */
static void make_many(struct pl_profile *profile, double freed, double temporary, double peak)
{
    const double many = 1e10;
    struct unpacked_site *site = unpack_site(&profile->site[0]);
    site->figures.allocated = (struct pl_amount){.exact_objects = many, .exact_space = many * 100};
    site->figures.freed = (struct pl_amount){.exact_objects = freed, .exact_space = freed * 100};
    site->figures.peak = (struct pl_amount){.exact_objects = peak, .exact_space = peak * 100};
    site->figures.temporary.exact_objects = temporary;
    site->spread.sizes[3] = many;
    site->spread.lives[4] = freed;
    site->spread.ages[1] = many - freed;
    site->spread.exit_objects = floor(freed / 2);
    site->spread.exit_space = floor(freed / 2) * 100;
    pack_site(profile->arena, site, &profile->site[0]);
}

static void more_blocks_than_a_tally_can_count_become_several_tallies(void **state)
{
    (void) state;
    static const double cases[][3] = {{0, 0, 1e10},       {1, 1, 1e10},       {1e10 - 1, 1e10 - 1, 1e10 - 1},
                                      {1e10, 1e10, 1e10}, {1e10, 1e10, 1e10}, {5e9, 5e9, 5e9}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct forge *forge;
        struct pl_tally *tally;
        struct pl_profile *profile = one_site(&tally, &forge);
        profile->header.peak = (struct pl_peak){.bytes = UINT64_MAX, .peaks = 1};
        make_many(profile, cases[i][0], cases[i][1], cases[i][2]);
        struct pl_profile *opened = again(profile);
        const struct unpacked_site *before = unpack_site(&profile->site[0]), *after = unpack_site(&opened->site[0]);
        const struct pl_figures *figures = &after->figures;
        assert_int_equal(opened->sites, 1);
        assert_int_equal(opened->damage + opened->in_flight, 0);
        assert_memory_equal(&figures->allocated, &before->figures.allocated, sizeof figures->allocated);
        assert_memory_equal(&figures->freed, &before->figures.freed, sizeof figures->freed);
        assert_memory_equal(&figures->peak, &before->figures.peak, sizeof figures->peak);
        assert_memory_equal(&figures->temporary, &before->figures.temporary, sizeof figures->temporary);
        assert_same_spread(&after->spread, &before->spread, true);
        pl_profile_close(opened);
        pl_profile_close(profile);
        forge_free(forge);
    }
}

/* Files from anywhere must not get around this limit. */
static void a_profile_too_large_for_a_file_is_refused_before_it_is_built(void **state)
{
    (void) state;
    struct forge *forge;
    struct pl_tally *tally;
    char path[] = "/tmp/plimsoll-save.XXXXXX", why[PL_WHY_BYTES] = "";
    struct pl_profile *profile = one_site(&tally, &forge);
    struct unpacked_site *site = unpack_site(&profile->site[0]);
    site->figures.allocated = (struct pl_amount){.exact_objects = 0x1p53, .exact_space = 0x1p62};
    site->spread.sizes[3] = 1e100;
    pack_site(profile->arena, site, &profile->site[0]);
    close(mkstemp(path));
    unlink(path);
    assert_int_equal(pl_save(profile, path, why), -EFBIG);
    assert_true(strstr(why, "256 MiB") != NULL);
    assert_int_equal(access(path, F_OK), -1);
    pl_profile_close(profile);
    forge_free(forge);
}

static void the_limit_on_file_sizes_is_not_taken_for_that_of_profiles(void **state)
{
    (void) state;
    char path[] = "/tmp/plimsoll-save.XXXXXX", why[PL_WHY_BYTES] = "";
    struct pl_profile *profile = load_scenario("leak");
    close(mkstemp(path));
    unlink(path);
    struct rlimit old, tight;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    tight = (struct rlimit){.rlim_cur = 4096, .rlim_max = old.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    int result = pl_save(profile, path, why);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(result, -EFBIG);
    assert_null(strstr(why, "256 MiB"));
    assert_non_null(strstr(why, "ulimit -f"));
    assert_int_equal(access(path, F_OK), -1);
    pl_profile_close(profile);
}

static void names_of_tags_may_be_as_long_as_the_runtime_allows(void **state)
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

/* Counted first, then sampled: fractions of blocks go to the row, whole blocks to the tally. */
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
    assert_true(unpack_site(&profile->site[0])->spread.sizes[3] == 10 + 37312.5);
    assert_true(unpack_site(&opened->site[0])->spread.sizes[3] == 10 + 37312.5);
    assert_same_profiles(profile, opened);
    pl_profile_close(opened);
    pl_profile_close(profile);
    forge_free(forge);
}

/* ---- figures that the reader computes ---- */

/* More is live than at any recorded peak: the peak is now, whatever the header says. */
static void a_peak_at_the_end_stays_at_the_end(void **state)
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

/* A file, though not a process, may have weight without samples. Found by fuzzing. */
static void weight_without_samples_adds_nothing_to_a_saved_peak(void **state)
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

/* Exact mode ended, and no sample was taken since. How much may be unseen is computed once, for the whole. */
static void the_unseen_share_is_not_counted_twice(void **state)
{
    (void) state;
    struct forge *forge;
    struct pl_tally *tally;
    pl_profile_close(one_site(&tally, &forge));
    forge_thread(forge, "busy", 1 << 20, 100 << 20); /* the thread whose allocations may be unseen */
    forge_header(forge)->mode = PL_MODE_AUTO;
    forge_header(forge)->automatic = (struct pl_auto){.left = 1, .interval_bytes = 1 << 16};
    struct pl_profile *part = forge_load(forge);
    assert_true(unpack_site(&part->site[0])->figures.unseen_interval > 0);
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

/* The saved file is not the one that the process writes to. */
static void a_saved_profile_of_a_running_process_is_a_snapshot(void **state)
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

static void names_are_saved_without_the_rules_for_names(void **state)
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

static void damage_is_kept(void **state)
{
    (void) state;
    struct pl_profile *profile = load_scenario("leak");
    profile->damage = 7;
    struct pl_profile *opened = again(profile);
    assert_int_equal(opened->damage, 7);
    pl_profile_close(opened);
    pl_profile_close(profile);
}

/* ---- files from any source ---- */

#define MUTANTS 400
#define CHANGES 40

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* Replaces words of the image by small numbers, large ones, or others of its words. */
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

static void every_profile_that_can_be_opened_can_be_added_and_saved(void **state)
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
            struct pl_profile *opened = again(sum), *alone = again(a); /* again() checks that they are valid */
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

static void a_file_is_replaced_completely_or_not_at_all(void **state)
{
    (void) state;
    char directory[] = "/tmp/plimsoll-save.XXXXXX", path[64], why[PL_WHY_BYTES] = "";
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/there/x.plim", directory);
    struct pl_profile *profile = load_scenario("leak");
    assert_int_equal(pl_save(profile, path, why), -ENOENT);
    assert_true(strstr(why, path) && strstr(why, "No such file"));
    snprintf(path, sizeof path, "%s/x.plim", directory);
    assert_int_equal(pl_save(profile, path, why), 0);
    assert_int_equal(pl_save(profile, path, why), 0);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    unlink(path);
    assert_int_equal(rmdir(directory), 0); /* it is empty */
    pl_profile_close(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_saved_profile_reads_back_the_same),
        cmocka_unit_test(a_saved_sum_reads_back_the_same),
        cmocka_unit_test(more_blocks_than_a_tally_can_count_become_several_tallies),
        cmocka_unit_test(a_profile_too_large_for_a_file_is_refused_before_it_is_built),
        cmocka_unit_test(the_limit_on_file_sizes_is_not_taken_for_that_of_profiles),
        cmocka_unit_test(names_of_tags_may_be_as_long_as_the_runtime_allows),
        cmocka_unit_test(a_site_that_was_counted_and_sampled_keeps_both),
        cmocka_unit_test(a_peak_at_the_end_stays_at_the_end),
        cmocka_unit_test(weight_without_samples_adds_nothing_to_a_saved_peak),
        cmocka_unit_test(the_unseen_share_is_not_counted_twice),
        cmocka_unit_test(a_part_of_a_profile_can_be_saved),
        cmocka_unit_test(a_saved_profile_of_a_running_process_is_a_snapshot),
        cmocka_unit_test(names_are_saved_without_the_rules_for_names),
        cmocka_unit_test(damage_is_kept),
        cmocka_unit_test(every_profile_that_can_be_opened_can_be_added_and_saved),
        cmocka_unit_test(a_file_is_replaced_completely_or_not_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
