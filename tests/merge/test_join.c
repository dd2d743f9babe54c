/* SPDX-License-Identifier: MIT */
/*
 * test_join.c - merged profiles: equal records occur once, figures are added, errors are combined.
 */
#include <math.h>

#include "reader/describe.h"
#include "reader/figures.h"
#include "reader/join/join.h"
#include "forged_profile.h"

static const char *const scenarios[] = {
    "empty", "leak",  "inlined", "losses", "hostile-names", "duplicates",   "killed",   "threads",
    "pools", "exact", "auto",    "tags",   "deep",          "tags-sampled", "snapshot", "reset",
};
#define SCENARIOS (sizeof scenarios / sizeof *scenarios)

static struct pl_profile *sum_of(const struct pl_profile *a, const struct pl_profile *b)
{
    struct pl_profile *sum = pl_join((const struct pl_profile *const[]){a, b}, 2, PL_JOIN_SUM);
    assert_true(pl_profile_valid(sum));
    return sum;
}

static struct pl_profile *difference_of(const struct pl_profile *a, const struct pl_profile *b)
{
    struct pl_profile *difference = pl_join((const struct pl_profile *const[]){a, b}, 2, PL_JOIN_DIFFERENCE);
    assert_true(pl_profile_valid(difference));
    return difference;
}

static void assert_near(double a, double b)
{
    if (!(fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b))))
        fail_msg("%.17g is not %.17g", a, b);
}

/* Totals of samples are limited by the allocations, so they need not be sums. Sites are. */
static double all_sites(const struct pl_profile *profile, int metric)
{
    double sum = 0;
    for (uint32_t i = 0; i < profile->sites; i++)
        sum += pl_site_value(&profile->site[i], metric);
    return sum;
}

/* The sum and the difference of any two profiles must be valid profiles. */
static void any_two_profiles_can_be_joined(void **state)
{
    (void) state;
    for (size_t a = 0; a < SCENARIOS; a++) {
        for (size_t b = 0; b < SCENARIOS; b++) {
            struct pl_profile *left = load_scenario(scenarios[a]), *right = load_scenario(scenarios[b]);
            struct pl_profile *sum = sum_of(left, right), *difference = difference_of(left, right);
            assert_int_equal(sum->merged, 2);
            assert_int_equal(sum->samples, left->samples + right->samples);
            for (int m = 0; m < PL_METRIC_COUNT; m++) {
                assert_near(all_sites(sum, m), all_sites(left, m) + all_sites(right, m));
                assert_near(difference->total[m].value, right->total[m].value - left->total[m].value);
            }
            for (int m = PL_METRIC_ALLOC_OBJECTS; m <= PL_METRIC_ALLOC_SPACE; m++)
                assert_true(sum->total[m].value == left->total[m].value + right->total[m].value);
            assert_int_equal(difference->base_sites, left->sites);
            pl_profile_close(sum);
            pl_profile_close(difference);
            pl_profile_close(left);
            pl_profile_close(right);
        }
    }
}

/* ---- known results ---- */

/* One process of a synthetic program: `calls` blocks of 100 bytes in its main thread, all kept, under a tag; half as
 * many of 10 bytes in a worker, all freed. */
static struct pl_profile *one_run(uint64_t calls, uint8_t build, const char *tag_name, const char *worker_name)
{
    struct forge *forge = forge_build("empty");
    uint32_t module = forge_module(forge, "/bin/app", build);
    uint32_t main_frame = forge_frame(forge, 0, module, 0x1000);
    uint32_t request = forge_tag(forge, 0, "request"), tag = forge_tag(forge, request, tag_name);
    uint32_t worker = forge_thread(forge, worker_name, calls / 2, calls / 2 * 10);
    uint32_t owner = forge_thread(forge, "main", calls, calls * 100);
    forge_scope(forge, owner, tag, calls, calls * 100);
    uint32_t kept =
        forge_tally(forge, forge_tagged_site(forge, forge_frame(forge, main_frame, module, 0x2000), tag), owner);
    uint32_t freed = forge_tally(forge, forge_site(forge, forge_frame(forge, main_frame, module, 0x3000)), worker);
    forge_count(forge_tally_at(forge, kept), calls, 100);
    forge_count(forge_tally_at(forge, freed), calls / 2, 10);
    forge_keep(forge_tally_at(forge, freed), 0, 0);
    struct pl_header *header = forge_header(forge);
    header->mode = PL_MODE_EXACT;
    header->interval_bytes = 0;
    header->pid = (uint32_t) calls;
    struct pl_profile *profile = forge_load(forge);
    forge_free(forge);
    return profile;
}

static uint32_t find_thread(const struct pl_profile *profile, const char *name)
{
    for (uint32_t i = 0; i < profile->threads; i++)
        if (strcmp(profile->thread[i].name, name) == 0)
            return i;
    fail_msg("no thread %s", name);
    return 0;
}

static uint32_t find_tag(const struct pl_profile *profile, const char *path)
{
    for (uint32_t i = 0; i < profile->tags; i++)
        if (strcmp(profile->tag[i].path, path) == 0)
            return i;
    fail_msg("no tag %s", path);
    return 0;
}

static bool is_exactly(const struct pl_estimate *estimate, double value)
{
    return estimate->value == value && estimate->low == value && estimate->high == value && estimate->error == 0;
}

static void equal_records_occur_once_and_counts_are_added(void **state)
{
    (void) state;
    struct pl_profile *a = one_run(100, 1, "parse", "worker"), *b = one_run(40, 1, "parse", "worker");
    struct pl_profile *sum = sum_of(a, b);
    assert_true(sum->exact);
    assert_int_equal(sum->modules, a->modules);
    assert_int_equal(sum->frames, 3);
    assert_int_equal(sum->stacks, 2);
    assert_int_equal(sum->sites, 2);
    assert_int_equal(sum->tags, 3);
    assert_true(is_exactly(&sum->total[PL_METRIC_ALLOC_OBJECTS], 140 + 70));
    assert_true(is_exactly(&sum->total[PL_METRIC_ALLOC_SPACE], 140 * 100 + 70 * 10));
    assert_true(is_exactly(&sum->total[PL_METRIC_INUSE_SPACE], 140 * 100));
    assert_true(is_exactly(&sum->total[PL_METRIC_PEAK_SPACE], 140 * 100));
    assert_true(sum->peak_s == 0); /* a sum of peaks has no time */
    assert_true(is_exactly(&unpack_site(&sum->site[0])->metric[PL_METRIC_INUSE_OBJECTS], 140));
    assert_true(unpack_site(&sum->site[0])->spread.sizes[3] == 140 &&
                unpack_site(&sum->site[0])->spread.largest == 100);
    assert_int_equal(sum->site[0].tag, find_tag(sum, "request/parse"));
    assert_int_equal(sum->thread[find_thread(sum, "worker")].calls[PL_FN_MALLOC], 70);
    assert_int_equal(sum->thread[find_thread(sum, "worker")].threads, 2);
    assert_int_equal(sum->thread[find_thread(sum, "main")].bytes, 140 * 100);
    pl_profile_close(sum);
    pl_profile_close(a);
    pl_profile_close(b);
}

static void different_builds_tags_and_threads_stay_separate(void **state)
{
    (void) state;
    struct pl_profile *a = one_run(100, 1, "parse", "worker-1"), *b = one_run(40, 2, "print", "worker-2");
    struct pl_profile *sum = sum_of(a, b);
    assert_int_equal(sum->modules, a->modules + 1);
    assert_int_equal(sum->frames, 6);
    assert_int_equal(sum->sites, 4);
    assert_int_equal(sum->tag[find_tag(sum, "request/parse")].parent, find_tag(sum, "request"));
    assert_int_equal(sum->tag[find_tag(sum, "request/print")].parent, find_tag(sum, "request"));
    assert_int_equal(sum->thread[find_thread(sum, "worker-1")].calls[PL_FN_MALLOC], 50);
    assert_int_equal(sum->thread[find_thread(sum, "worker-2")].calls[PL_FN_MALLOC], 20);
    pl_profile_close(sum);
    pl_profile_close(a);
    pl_profile_close(b);
}

/* Losses, CPU time, damage: a loss in any part is a loss of the sum. */
static void losses_and_damage_of_the_parts_are_those_of_the_sum(void **state)
{
    (void) state;
    struct pl_profile *a = load_scenario("losses"), *b = load_scenario("killed");
    a->damage = 3;
    struct pl_profile *sum = sum_of(a, b);
    for (int i = 0; i < PL_LOSS_COUNT; i++)
        assert_int_equal(sum->header.losses[i], a->header.losses[i] + b->header.losses[i]);
    assert_int_equal(sum->damage, 3 + b->damage);
    char ending[256];
    pl_describe_ending(sum, ending, sizeof ending);
    assert_string_equal(ending, "ended, exit status unknown");
    pl_profile_close(sum);
    pl_profile_close(a);
    pl_profile_close(b);
}

static void properties_common_to_all_parts_are_kept_and_others_dropped(void **state)
{
    (void) state;
    struct pl_profile *a = one_run(100, 1, "parse", "worker"), *b = one_run(40, 1, "parse", "worker");
    struct pl_profile *same = sum_of(a, b), *more = sum_of(same, a);
    assert_string_equal(same->argv[0], a->argv[0]);
    assert_string_equal(same->executable, a->executable);
    assert_int_equal(same->header.pid, 0);
    assert_int_equal(more->merged, 3);
    b->argv = (const char *[]){"another", NULL};
    b->executable = "/bin/another";
    struct pl_profile *other = sum_of(same, b);
    assert_string_equal(other->argv[0], "3 profiles");
    assert_string_equal(other->executable, "");
    pl_profile_close(other);
    pl_profile_close(more);
    pl_profile_close(same);
    pl_profile_close(a);
    pl_profile_close(b);
}

/* After a kill sites may have calls that no thread has counted. Elsewhere threads have calls that no site has. */
static void calls_that_only_sites_have_are_not_lost_in_the_sum(void **state)
{
    (void) state;
    struct pl_profile *a = one_run(100, 1, "parse", "worker"), *b = one_run(40, 1, "parse", "worker");
    a->scopes = 0;
    for (uint32_t i = 0; i < a->threads; i++)
        memset(a->thread[i].calls, 0, sizeof a->thread[i].calls), a->thread[i].bytes = 0;
    b->thread[0].calls[PL_FN_MALLOC] += 1000;
    b->scope[0].calls[PL_FN_MALLOC] += 1000;
    b->total[PL_METRIC_ALLOC_OBJECTS].value += 1000;
    struct pl_profile *sum = sum_of(a, b);
    assert_true(sum->total[PL_METRIC_ALLOC_OBJECTS].value == 150 + 60 + 1000);
    pl_profile_close(sum);
    pl_profile_close(a);
    pl_profile_close(b);
}

/* ---- samples ---- */

/* `samples` samples of 64 bytes, taken every `interval` bytes on average. */
static struct pl_profile *sampled_run(uint64_t interval, uint64_t samples)
{
    struct forge *forge = forge_build("empty");
    uint32_t frame = forge_frame(forge, 0, forge_module(forge, "/bin/app", 1), 0x1000);
    uint64_t calls = samples > 0 ? samples * interval / 64 : 10;
    uint32_t thread = forge_thread(forge, "main", calls, calls * 64);
    if (samples > 0) {
        struct pl_row *row = forge_row_at(forge, forge_row(forge, forge_site(forge, frame), thread));
        forge_sample(&row->allocated, 64, (double) interval / 64, samples);
    }
    forge_header(forge)->mode = PL_MODE_SAMPLED;
    forge_header(forge)->interval_bytes = interval;
    struct pl_profile *profile = forge_load(forge);
    forge_free(forge);
    return profile;
}

/* 16 runs of 25 samples are as good as one run of 400. */
static void errors_of_repeated_runs_combine_like_those_of_one_long_run(void **state)
{
    (void) state;
    struct pl_profile *part[16];
    for (int i = 0; i < 16; i++)
        part[i] = sampled_run(4096, 25);
    struct pl_profile *sum = pl_join((const struct pl_profile *const *) part, 16, PL_JOIN_SUM);
    struct pl_profile *whole = sampled_run(4096, 400);
    assert_true(pl_profile_valid(sum));
    const struct pl_estimate *a = &unpack_site(&sum->site[0])->metric[PL_METRIC_INUSE_SPACE];
    const struct pl_estimate *b = &unpack_site(&whole->site[0])->metric[PL_METRIC_INUSE_SPACE];
    assert_near(a->value, b->value);
    assert_near(a->error, b->error);
    assert_near(a->low, b->low);
    assert_near(a->high, b->high);
    double one = unpack_site(&part[0]->site[0])->metric[PL_METRIC_INUSE_SPACE].error;
    assert_true(a->error > 3 * one && a->error < 5 * one); /* slightly less than four times, the square root of 16 */
    for (int i = 0; i < 16; i++)
        pl_profile_close(part[i]);
    pl_profile_close(whole);
    pl_profile_close(sum);
}

/* Coarse and fine samples: each has its own weight, and variances are added. */
static void the_variances_of_different_intervals_are_added(void **state)
{
    (void) state;
    struct pl_profile *fine = sampled_run(1024, 100), *coarse = sampled_run(65536, 100), *sum = sum_of(fine, coarse);
    struct pl_figures figures = unpack_site(&fine->site[0])->figures;
    struct pl_estimate metric[PL_METRIC_COUNT];
    pl_figures_add(&figures, &unpack_site(&coarse->site[0])->figures);
    pl_estimate_figures(&figures, metric);
    assert_near(unpack_site(&sum->site[0])->metric[PL_METRIC_INUSE_SPACE].error, metric[PL_METRIC_INUSE_SPACE].error);
    assert_true(metric[PL_METRIC_INUSE_SPACE].error >=
                unpack_site(&coarse->site[0])->metric[PL_METRIC_INUSE_SPACE].error);
    assert_int_equal(sum->header.mode, PL_MODE_AUTO);
    assert_false(sum->exact);
    pl_profile_close(sum);
    pl_profile_close(fine);
    pl_profile_close(coarse);
}

/* A site that only the exact part has seen may be in the sampled part, too. */
static void a_sampled_part_widens_the_interval_of_exact_figures(void **state)
{
    (void) state;
    struct pl_profile *exact = one_run(100, 1, "parse", "worker"), *sampled = sampled_run(65536, 100);
    struct pl_profile *sum = sum_of(exact, sampled);
    const struct pl_estimate *kept = &unpack_site(&sum->site[0])->metric[PL_METRIC_INUSE_SPACE];
    assert_true(kept->value == 10000 && kept->low == 10000);
    assert_true(kept->high > 10000 + 65536);
    pl_profile_close(sum);
    pl_profile_close(exact);
    pl_profile_close(sampled);
}

/* One part has no sample at all: the totals show how much may be there, however many samples the others have. */
static void a_part_without_samples_widens_the_interval_of_totals(void **state)
{
    (void) state;
    struct pl_profile *seen = sampled_run(1024, 400), *blind = sampled_run(1 << 20, 0);
    blind->thread[0].bytes = blind->scope[0].bytes = 100 << 20;
    blind->total[PL_METRIC_ALLOC_SPACE].value = 100 << 20;
    struct pl_profile *sum = sum_of(seen, blind), *again = sum_of(sum, seen);
    assert_true(seen->total[PL_METRIC_INUSE_SPACE].high < 1 << 20);
    assert_true(sum->total[PL_METRIC_INUSE_SPACE].high > 3 << 20); /* three intervals of the part without samples */
    assert_true(again->total[PL_METRIC_INUSE_SPACE].high > sum->total[PL_METRIC_INUSE_SPACE].high);
    pl_profile_close(again);
    pl_profile_close(sum);
    pl_profile_close(seen);
    pl_profile_close(blind);
}

/* ---- times ---- */

/* With a clock of half the speed units are twice as long: its bucket i is the other's bucket i + 1. */
static void lifetimes_by_different_clocks_are_added_to_the_same_bucket(void **state)
{
    (void) state;
    struct pl_profile *a = one_run(100, 1, "parse", "worker"), *b = one_run(40, 1, "parse", "worker");
    a->unit_s = 1e-6;
    b->unit_s = 2e-6;
    struct unpacked_site *of_a = unpack_site(&a->site[0]), *of_b = unpack_site(&b->site[0]);
    of_a->spread.lives[8] = 5;
    of_b->spread.lives[7] = 3;
    of_b->spread.lives[0] = 2;
    of_b->spread.ages[2] = 1;
    pack_site(a->arena, of_a, &a->site[0]);
    pack_site(b->arena, of_b, &b->site[0]);
    struct pl_profile *sum = sum_of(a, b);
    assert_true(unpack_site(&sum->site[0])->spread.lives[8] == 8);
    assert_true(unpack_site(&sum->site[0])->spread.lives[0] == 2);
    assert_true(unpack_site(&sum->site[0])->spread.ages[2] == 0);
    pl_profile_close(sum);
    pl_profile_close(a);
    pl_profile_close(b);
}

/* ---- a difference ---- */

static void a_difference_keeps_both_profiles_and_describes_the_second(void **state)
{
    (void) state;
    struct pl_profile *a = one_run(100, 1, "parse", "old"), *b = one_run(40, 1, "parse", "new");
    struct pl_profile *difference = difference_of(a, b);
    assert_int_equal(difference->base_sites, 2);
    assert_int_equal(difference->sites, 4);
    assert_int_equal(difference->stacks, 2);
    assert_int_equal(difference->site[0].stack, difference->site[2].stack);
    assert_int_equal(difference->site[0].tag, difference->site[2].tag);
    assert_int_equal(difference->site[0].thread, difference->site[2].thread);
    assert_int_equal(difference->site[1].thread, find_thread(difference, "old"));
    assert_int_equal(difference->header.pid, 40);
    assert_true(is_exactly(&difference->total[PL_METRIC_INUSE_SPACE], -6000));
    assert_true(difference->exact);
    pl_profile_close(difference);
    pl_profile_close(a);
    pl_profile_close(b);
}

static void the_error_of_a_difference_combines_both_errors(void **state)
{
    (void) state;
    struct pl_profile *a = sampled_run(4096, 100), *b = sampled_run(4096, 100), *difference = difference_of(a, b);
    const struct pl_estimate *total = &difference->total[PL_METRIC_INUSE_SPACE];
    assert_true(total->value == 0 && total->low < 0 && total->high > 0);
    assert_near(total->error, sqrt(2) * a->total[PL_METRIC_INUSE_SPACE].error);
    pl_profile_close(difference);
    pl_profile_close(a);
    pl_profile_close(b);
}

/* ---- lifetime ---- */

static void a_kept_sum_outlives_its_parts(void **state)
{
    (void) state;
    struct pl_profile *a = load_scenario("tags"), *b = load_scenario("hostile-names"), *sum = sum_of(a, b);
    pl_join_keep(sum);
    pl_profile_close(a);
    pl_profile_close(b);
    assert_true(pl_profile_valid(sum));
    bool named = false;
    for (uint32_t i = 0; i < sum->frames; i++)
        for (uint32_t p = 0; p < sum->frame[i].places; p++)
            named |= strcmp(sum->frame[i].place[p].function, "<script>alert(1)</script>") == 0;
    assert_true(named);
    pl_profile_close(sum);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_two_profiles_can_be_joined),
        cmocka_unit_test(equal_records_occur_once_and_counts_are_added),
        cmocka_unit_test(different_builds_tags_and_threads_stay_separate),
        cmocka_unit_test(losses_and_damage_of_the_parts_are_those_of_the_sum),
        cmocka_unit_test(properties_common_to_all_parts_are_kept_and_others_dropped),
        cmocka_unit_test(calls_that_only_sites_have_are_not_lost_in_the_sum),
        cmocka_unit_test(errors_of_repeated_runs_combine_like_those_of_one_long_run),
        cmocka_unit_test(the_variances_of_different_intervals_are_added),
        cmocka_unit_test(a_sampled_part_widens_the_interval_of_exact_figures),
        cmocka_unit_test(a_part_without_samples_widens_the_interval_of_totals),
        cmocka_unit_test(lifetimes_by_different_clocks_are_added_to_the_same_bucket),
        cmocka_unit_test(a_difference_keeps_both_profiles_and_describes_the_second),
        cmocka_unit_test(the_error_of_a_difference_combines_both_errors),
        cmocka_unit_test(a_kept_sum_outlives_its_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
