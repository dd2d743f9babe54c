/* SPDX-License-Identifier: MIT */
/*
 * test_exact.c - exact mode: tallies and remote frees as figures without errors, the peak, ages, and how the counted
 * and sampled parts of one site are combined.
 *
 * Most tests use the scenario "exact": 1,000 terms of 48 bytes that are never freed, 5,000 strings of 24 bytes that are
 * all freed, and a table of 8 MiB, grown by realloc, that was live at the peak and has been freed.
 */
#include <math.h>

#include "reader/describe.h"
#include "forged_profile.h"

#define TERMS 0
#define STRINGS 1
#define ROWS 2
#define MIB8 ((double) (8 << 20))

static bool is_exactly(const struct pl_estimate *estimate, double value)
{
    return estimate->value == value && estimate->low == value && estimate->high == value && estimate->error == 0;
}

static struct pl_tally *tally_at(struct forge *forge, uint32_t site)
{
    return forge_tally_at(forge, site + 1);
}

/* An image with one tally of 10 blocks of 100 bytes. */
static struct forge *one_tally(void)
{
    struct forge *forge = forge_build("empty");
    uint32_t frame = forge_frame(forge, 0, forge_module(forge, "/bin/app", 1), 0x1000);
    forge_count(forge_tally_at(forge, forge_tally(forge, forge_site(forge, frame), 1)), 10, 100);
    forge_header(forge)->mode = PL_MODE_EXACT;
    forge_header(forge)->interval_bytes = 0;
    return forge;
}

static void every_figure_of_an_exact_profile_is_exact(void **state)
{
    (void) state;
    struct pl_profile *profile = load_scenario("exact");
    assert_true(profile->exact);
    assert_int_equal(profile->samples, 0);
    assert_true(profile->exact_calls == 6014);
    assert_true(is_exactly(&profile->total[PL_METRIC_ALLOC_OBJECTS], 6014));
    assert_true(is_exactly(&profile->total[PL_METRIC_INUSE_OBJECTS], 1000));
    assert_true(is_exactly(&profile->total[PL_METRIC_INUSE_SPACE], 48000));
    assert_true(is_exactly(&profile->total[PL_METRIC_PEAK_SPACE], MIB8 + 48000));
    assert_true(is_exactly(&profile->total[PL_METRIC_TEMP_OBJECTS], 3500));
    assert_true(is_exactly(&unpack_site(&profile->site[STRINGS])->metric[PL_METRIC_ALLOC_OBJECTS], 5000));
    assert_true(is_exactly(&unpack_site(&profile->site[STRINGS])->metric[PL_METRIC_INUSE_OBJECTS], 0));
    assert_int_equal(profile->damage + profile->in_flight, 0);
    pl_profile_close(profile);
}

static void frees_by_other_threads_are_counted(void **state)
{
    (void) state;
    struct forge *forge = forge_build("exact");
    struct pl_remote *remote = forge_record(forge, PL_KIND_REMOTE, 1);
    remote->calls -= 10;
    remote->bytes -= 240;
    remote->gone[0] -= 10;
    struct pl_profile *profile = forge_load(forge);
    assert_true(is_exactly(&unpack_site(&profile->site[STRINGS])->metric[PL_METRIC_INUSE_OBJECTS], 10));
    assert_true(is_exactly(&unpack_site(&profile->site[STRINGS])->metric[PL_METRIC_INUSE_SPACE], 240));
    assert_true(unpack_site(&profile->site[STRINGS])->spread.ages[0] == 10);
    pl_profile_close(profile);
    forge_free(forge);
}

static void tallies_of_one_site_are_added(void **state)
{
    (void) state;
    struct forge *forge = one_tally();
    forge_count(forge_tally_at(forge, forge_tally(forge, 2, 1)), 5, 7);
    struct pl_profile *profile = forge_load(forge);
    assert_int_equal(profile->sites, 1);
    assert_true(is_exactly(&unpack_site(&profile->site[0])->metric[PL_METRIC_ALLOC_OBJECTS], 15));
    assert_true(is_exactly(&unpack_site(&profile->site[0])->metric[PL_METRIC_ALLOC_SPACE], 1035));
    assert_int_equal(unpack_site(&profile->site[0])->spread.smallest, 7);
    assert_int_equal(unpack_site(&profile->site[0])->spread.largest, 100);
    pl_profile_close(profile);
    forge_free(forge);
}

/* An image with one small record of 3 blocks, one of them freed after 2 units. */
static struct forge *one_small(void)
{
    struct forge *forge = forge_build("empty");
    uint32_t frame = forge_frame(forge, 0, forge_module(forge, "/bin/app", 1), 0x1000);
    struct pl_small *small = forge_small_at(forge, forge_small(forge, forge_site(forge, frame), 1));
    forge_count_small(small, 10);
    forge_count_small(small, 100);
    forge_count_small(small, 100);
    forge_free_small(small, 100, 2);
    forge_header(forge)->mode = PL_MODE_EXACT;
    forge_header(forge)->interval_bytes = 0;
    return forge;
}

static void a_small_record_is_read_as_the_tally_that_it_stands_for(void **state)
{
    (void) state;
    struct forge *forge = one_small();
    struct pl_small *small = forge_small_at(forge, 1);
    small->exit_bytes = 100;
    small->cell[5] = PL_CELL_TEMPORARIES << 8 | 1;
    small->cell[6] = PL_CELL_EXIT_CALLS << 8 | 1;
    small->cell[7] = PL_CELL_REALLOC_CALLS << 8 | 2;
    small->cell[8] = PL_CELL_REALLOC_IN_PLACE << 8 | 2;
    struct pl_profile *profile = forge_load(forge);
    assert_int_equal(profile->sites, 1);
    const struct unpacked_site *site = unpack_site(&profile->site[0]);
    assert_true(is_exactly(&site->metric[PL_METRIC_ALLOC_OBJECTS], 3));
    assert_true(is_exactly(&site->metric[PL_METRIC_ALLOC_SPACE], 210));
    assert_true(is_exactly(&site->metric[PL_METRIC_INUSE_OBJECTS], 2));
    assert_true(is_exactly(&site->metric[PL_METRIC_INUSE_SPACE], 110));
    assert_true(is_exactly(&site->metric[PL_METRIC_TEMP_OBJECTS], 1));
    assert_int_equal(site->spread.smallest, 10);
    assert_int_equal(site->spread.largest, 100);
    assert_true(site->spread.sizes[0] == 1 && site->spread.sizes[3] == 2);
    assert_true(site->spread.lives[2] == 1);
    assert_true(site->spread.ages[0] == 2);
    assert_true(site->spread.exit_objects == 1 && site->spread.exit_space == 100);
    assert_true(site->spread.realloc_calls == 2 && site->spread.realloc_in_place == 2);
    assert_int_equal(profile->damage + profile->in_flight, 0);
    pl_profile_close(profile);
    forge_free(forge);
}

static void a_small_record_counts_until_its_tally_is_published(void **state)
{
    (void) state;
    struct forge *forge = one_small();
    uint32_t number = forge_tally(forge, 2, 1);
    forge_count(forge_tally_at(forge, number), 300, 10);
    forge_tally_at(forge, number)->site = 0;
    forge_small_at(forge, 1)->grown = number;
    struct pl_profile *profile = forge_load(forge);
    assert_true(is_exactly(&profile->total[PL_METRIC_ALLOC_OBJECTS], 3));
    pl_profile_close(profile);
    forge_tally_at(forge, number)->site = 2;
    profile = forge_load(forge);
    assert_int_equal(profile->sites, 1);
    assert_true(is_exactly(&profile->total[PL_METRIC_ALLOC_OBJECTS], 300));
    assert_int_equal(profile->damage + profile->in_flight, 0);
    pl_profile_close(profile);
    forge_small_at(forge, 1)->grown = 4711; /* not a tally */
    profile = forge_load(forge);
    assert_true(is_exactly(&profile->total[PL_METRIC_ALLOC_OBJECTS], 303));
    pl_profile_close(profile);
    forge_free(forge);
}

static void frees_by_others_follow_a_small_record_that_grows(void **state)
{
    (void) state;
    struct forge *forge = one_small();
    struct pl_remote *remote = forge_record(forge, PL_KIND_REMOTE, forge_append(forge, PL_KIND_REMOTE, 1));
    *remote = (struct pl_remote){.tally = 1 | PL_SMALL_MARK, .calls = 1, .bytes = 10};
    struct pl_profile *profile = forge_load(forge);
    assert_true(is_exactly(&profile->total[PL_METRIC_INUSE_OBJECTS], 1));
    assert_true(is_exactly(&profile->total[PL_METRIC_INUSE_SPACE], 100));
    pl_profile_close(profile);
    uint32_t number = forge_tally(forge, 2, 1);
    forge_count(forge_tally_at(forge, number), 300, 10);
    forge_small_at(forge, 1)->grown = number;
    profile = forge_load(forge);
    assert_true(is_exactly(&profile->total[PL_METRIC_INUSE_OBJECTS], 299));
    assert_int_equal(profile->damage + profile->in_flight, 0);
    pl_profile_close(profile);
    forge_free(forge);
}

static void what_a_small_record_held_at_the_peak_is_believed_since_the_peak(void **state)
{
    (void) state;
    struct forge *forge = one_small();
    struct pl_small *small = forge_small_at(forge, 1);
    forge_header(forge)->peak = (struct pl_peak){.bytes = 200, .era = 5, .peaks = 1};
    small->peak_calls = 2;
    small->peak_bytes = 200;
    for (small->era = 4; small->era < 6; small->era++) {
        struct pl_profile *profile = forge_load(forge);
        assert_true(
            is_exactly(&unpack_site(&profile->site[0])->metric[PL_METRIC_PEAK_SPACE], small->era < 5 ? 110 : 200));
        pl_profile_close(profile);
    }
    forge_free(forge);
}

static void cells_that_nobody_writes_are_damage(void **state)
{
    (void) state;
    const uint16_t strange[] = {PL_CELL_END << 8 | 1, 255 << 8 | 255, 7};
    for (unsigned i = 0; i < sizeof strange / sizeof *strange; i++) {
        struct forge *forge = one_small();
        forge_small_at(forge, 1)->cell[8] = strange[i];
        struct pl_profile *profile = forge_load(forge);
        assert_true(is_exactly(&profile->total[PL_METRIC_ALLOC_OBJECTS], 3));
        assert_int_equal(profile->damage, 1);
        pl_profile_close(profile);
        forge_free(forge);
    }
}

static void without_live_blocks_there_are_no_live_bytes(void **state)
{
    (void) state;
    struct forge *forge = one_tally();
    forge_tally_at(forge, 1)->freed_calls = 10; /* the bytes of the last free are not written yet */
    forge_tally_at(forge, 1)->freed_bytes = 900;
    struct pl_profile *profile = forge_load(forge);
    assert_true(is_exactly(&profile->total[PL_METRIC_INUSE_SPACE], 0));
    pl_profile_close(profile);
    forge_free(forge);
}

static void sites_that_counted_more_than_their_threads_are_believed(void **state)
{
    (void) state;
    struct forge *forge = one_tally(); /* killed before the thread counted: its counters are 0 */
    struct pl_profile *profile = forge_load(forge);
    assert_true(is_exactly(&profile->total[PL_METRIC_ALLOC_OBJECTS], 10));
    assert_true(is_exactly(&profile->total[PL_METRIC_ALLOC_SPACE], 1000));
    pl_profile_close(profile);
    forge_free(forge);
}

/* ---- the peak ---- */

static void figures_that_changed_after_the_peak_are_taken_from_their_saved_values(void **state)
{
    (void) state;
    struct pl_profile *profile = load_scenario("exact");
    assert_true(is_exactly(&unpack_site(&profile->site[ROWS])->metric[PL_METRIC_PEAK_SPACE], MIB8));
    assert_true(is_exactly(&unpack_site(&profile->site[ROWS])->metric[PL_METRIC_INUSE_SPACE], 0));
    assert_true(is_exactly(&unpack_site(&profile->site[TERMS])->metric[PL_METRIC_PEAK_OBJECTS], 1000));
    assert_true(is_exactly(&unpack_site(&profile->site[STRINGS])->metric[PL_METRIC_PEAK_OBJECTS], 0));
    assert_true(fabs(profile->peak_s - 3 * 32 * 65536 * (4096 / 3e9)) < 1e-9);
    assert_true(profile->peak_slack_bytes == 2 * 65536);
    pl_profile_close(profile);
}

/* Threads of 300 bytes each beside the main thread, which start one after the other and end `life_ns` later. */
static double slack_of_threads(unsigned threads, uint64_t life_ns, uint32_t batch_bytes)
{
    struct forge *forge = one_tally();
    uint64_t start_ns = forge_header(forge)->start_monotonic_ns;
    forge_header(forge)->batch_bytes = batch_bytes;
    for (unsigned i = 0; i < threads; i++) {
        uint32_t number = forge_thread(forge, "worker", 3, 300); /* may move the records */
        struct pl_thread_record *thread = forge_thread_at(forge, number);
        thread->alive = 0;
        thread->start_ns = start_ns + 1000 * (i + 1);
        thread->end_ns = thread->start_ns + life_ns;
    }
    struct pl_profile *profile = forge_load(forge);
    double slack = profile->peak_slack_bytes;
    pl_profile_close(profile);
    forge_free(forge);
    return slack;
}

static void only_threads_at_the_same_time_make_the_peak_uncertain(void **state)
{
    (void) state;
    assert_true(slack_of_threads(2000, 500, 128) == 2 * 128);  /* the main thread, and one at a time */
    assert_true(slack_of_threads(2000, 2500, 128) == 4 * 128); /* three at a time */
    assert_true(slack_of_threads(3, 100000, 65536) == 1000);   /* more cannot be in doubt than was allocated */
    assert_true(slack_of_threads(0, 0, 65536) == 0);
}

static void allocations_and_frees_of_a_tally_have_their_own_eras(void **state)
{
    (void) state;
    struct forge *forge = forge_build("exact");
    struct pl_tally *terms = tally_at(forge, TERMS), *strings = tally_at(forge, STRINGS);
    struct pl_remote *remote = forge_record(forge, PL_KIND_REMOTE, 1);
    terms->era = 8; /* 100 were allocated after the peak */
    terms->peak_calls = 900;
    terms->peak_bytes = 900 * 48;
    strings->era = 6; /* none was allocated after it; 20 frees by the owner and 30 by others came later */
    strings->freed_era = 7;
    strings->peak_freed_calls = 3980;
    strings->peak_freed_bytes = 3980 * 24;
    remote->era = 9;
    remote->peak_calls = 970;
    remote->peak_bytes = 970 * 24;
    struct pl_profile *profile = forge_load(forge);
    assert_true(is_exactly(&unpack_site(&profile->site[TERMS])->metric[PL_METRIC_PEAK_SPACE], 900 * 48));
    assert_true(is_exactly(&unpack_site(&profile->site[STRINGS])->metric[PL_METRIC_PEAK_OBJECTS], 50));
    assert_true(is_exactly(&unpack_site(&profile->site[STRINGS])->metric[PL_METRIC_PEAK_SPACE], 50 * 24));
    pl_profile_close(profile);
    forge_free(forge);
}

static void eras_wrap_around(void **state)
{
    (void) state;
    struct forge *forge = forge_build("exact");
    forge_header(forge)->peak.era = UINT32_MAX - 1;
    for (uint32_t i = 0; i < 3; i++)
        tally_at(forge, i)->era = tally_at(forge, i)->freed_era = UINT32_MAX - 2;
    ((struct pl_remote *) forge_record(forge, PL_KIND_REMOTE, 1))->era = UINT32_MAX - 2;
    tally_at(forge, ROWS)->freed_era = 1;
    struct pl_profile *profile = forge_load(forge);
    assert_true(is_exactly(&profile->total[PL_METRIC_PEAK_SPACE], MIB8 + 48000));
    pl_profile_close(profile);
    forge_free(forge);
}

static void a_row_saves_its_figures_and_remote_frees_separately(void **state)
{
    (void) state;
    struct forge *forge = forge_build("empty");
    uint32_t frame = forge_frame(forge, 0, forge_module(forge, "/bin/app", 1), 0x1000);
    struct pl_row *row = forge_row_at(forge, forge_row(forge, forge_site(forge, frame), 1));
    forge_header(forge)->peak = (struct pl_peak){.bytes = 1 << 20, .era = 5, .peaks = 2};
    forge_sample(&row->allocated, 100, 10, 30);
    forge_sample(&row->freed, 100, 10, 12);
    forge_sample(&row->remote, 100, 10, 6);
    forge_sample(&row->peak, 100, 10, 20);
    forge_sample(&row->peak_remote, 100, 10, 4);
    static const struct {
        uint32_t era, remote_era;
        double samples;
    } cases[] = {{4, 4, 12}, {5, 4, 14}, {4, 5, 14}, {9, 9, 16}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        row->era = cases[i].era;
        row->remote_era = cases[i].remote_era;
        struct pl_profile *profile = forge_load(forge);
        assert_true(pl_site_value(&profile->site[0], PL_METRIC_PEAK_OBJECTS) == 10 * cases[i].samples);
        assert_true(pl_site_value(&profile->site[0], PL_METRIC_PEAK_SPACE) == 1000 * cases[i].samples);
        assert_true(unpack_site(&profile->site[0])->metric[PL_METRIC_PEAK_SPACE].error > 0);
        pl_profile_close(profile);
    }
    forge_free(forge);
}

static void a_heap_that_never_shrank_has_its_peak_now(void **state)
{
    (void) state;
    struct forge *forge = forge_build("exact");
    tally_at(forge, TERMS)->bytes += 100 << 20; /* more than at any time before */
    for (int peaks = 0; peaks < 2; peaks++) {
        forge_header(forge)->peak.peaks = (uint32_t) peaks;
        struct pl_profile *profile = forge_load(forge);
        for (uint32_t i = 0; i < profile->sites; i++) {
            const struct pl_estimate *metric = unpack_site(&profile->site[i])->metric;
            assert_true(metric[PL_METRIC_PEAK_SPACE].value == metric[PL_METRIC_INUSE_SPACE].value);
        }
        assert_true(profile->total[PL_METRIC_PEAK_SPACE].value == profile->total[PL_METRIC_INUSE_SPACE].value);
        assert_true(profile->peak_s == profile->duration_s);
        pl_profile_close(profile);
    }
    forge_free(forge);
}

/* With several threads the peak that the writer recorded may be far above the real one. */
static void a_peak_is_never_below_the_live_bytes(void **state)
{
    (void) state;
    struct forge *forge = forge_build("exact");
    struct pl_tally *terms = tally_at(forge, TERMS);
    terms->era = terms->freed_era = forge_header(forge)->peak.era; /* it held nothing at the peak, and has saved that */
    terms->peak_calls = terms->peak_bytes = terms->peak_freed_calls = terms->peak_freed_bytes = 0;
    terms->bytes += 100 << 20;
    forge_header(forge)->peak.bytes = 1ull << 40;
    struct pl_profile *profile = forge_load(forge);
    assert_true(profile->total[PL_METRIC_PEAK_SPACE].value == profile->total[PL_METRIC_INUSE_SPACE].value);
    pl_profile_close(profile);
    forge_free(forge);
}

/* ---- distributions ---- */

static void sizes_lifetimes_and_reallocs_come_from_the_tally_and_its_remotes(void **state)
{
    (void) state;
    struct pl_profile *profile = load_scenario("exact");
    const struct pl_spread *strings = &unpack_site(&profile->site[STRINGS])->spread,
                           *rows = &unpack_site(&profile->site[ROWS])->spread;
    assert_true(strings->sizes[1] == 5000); /* 16 to 31 bytes */
    assert_true(strings->lives[0] == 3500 && strings->lives[3] == 500 && strings->lives[20] == 1000);
    assert_true(strings->exit_objects == 30 && strings->exit_space == 720);
    assert_int_equal(rows->smallest, 1 << 10);
    assert_int_equal(rows->largest, 8 << 20);
    assert_true(rows->realloc_calls == 13 && rows->realloc_in_place == 2);
    assert_true(rows->realloc_moved == MIB8 - 3072);
    assert_int_equal(profile->spread.smallest, 24);
    assert_int_equal(profile->spread.largest, 8 << 20);
    assert_true(profile->spread.sizes[2] == 1000 && profile->spread.sizes[20] == 1);
    pl_profile_close(profile);
}

static void buckets_begin_where_the_format_defines(void **state)
{
    (void) state;
    assert_true(pl_size_bucket_from(0) == 0 && pl_size_bucket_from(1) == 16 && pl_size_bucket_from(21) == 16 << 20);
    assert_true(pl_life_bucket_from(0) == 0 && pl_life_bucket_from(1) == 1 && pl_life_bucket_from(3) == 4);
    assert_true(pl_life_bucket_from(31) == 1 << 30);
}

static double all_ages(const struct pl_spread *spread)
{
    double sum = 0;
    for (unsigned i = 0; i < PL_COHORTS; i++)
        sum += spread->ages[i];
    return sum;
}

static void ages_are_those_of_live_blocks(void **state)
{
    (void) state;
    struct pl_profile *profile = load_scenario("exact");
    for (unsigned i = 0; i < PL_COHORTS; i++)
        assert_true(unpack_site(&profile->site[TERMS])->spread.ages[i] == (i < 5 ? 200 : 0));
    for (uint32_t i = 0; i < profile->sites; i++)
        assert_true(all_ages(&unpack_site(&profile->site[i])->spread) ==
                    pl_site_value(&profile->site[i], PL_METRIC_INUSE_OBJECTS));
    double class_s = 32 * 65536 * (4096 / 3e9);
    for (unsigned i = 0; i < PL_COHORTS; i++)
        assert_true(fabs(profile->age[i] - fmin((i + 1) * class_s, 12.8)) < 1e-9);
    assert_true(fabs(profile->unit_s - 4096 / 3e9) < 1e-15);
    assert_true(fabs(profile->exit_s - 12.7) < 1e-9);
    pl_profile_close(profile);
}

static void the_last_age_class_extends_to_the_end(void **state)
{
    (void) state;
    struct forge *forge = forge_build("exact");
    forge_header(forge)->end_monotonic_ns += 100000000000; /* idle for 100 s, so no moment was recorded */
    struct pl_profile *profile = forge_load(forge);
    assert_true(profile->age[6] < 21 && fabs(profile->age[7] - 112.8) < 1e-6);
    pl_profile_close(profile);
    forge_free(forge);
}

static void a_free_booked_to_the_wrong_cohort_is_compensated(void **state)
{
    (void) state;
    static const uint32_t gone[][5] = {{0, 0, 207}, {200, 0, 200, 0, 7}, {207}};
    static const double expected[][PL_COHORTS] = {
        {200, 193, 0, 200, 200}, {0, 200, 0, 200, 193}, {0, 193, 200, 200, 200}};
    for (int i = 0; i < 3; i++) {
        struct forge *forge = forge_build("exact");
        struct pl_tally *terms = tally_at(forge, TERMS);
        memcpy(terms->gone, gone[i], sizeof gone[i]);
        for (int c = 0; c < 5; c++)
            terms->gone_calls += gone[i][c];
        terms->freed_calls = terms->gone_calls;
        terms->freed_bytes = 48 * terms->freed_calls;
        struct pl_profile *profile = forge_load(forge);
        assert_memory_equal(unpack_site(&profile->site[TERMS])->spread.ages, expected[i], sizeof expected[i]);
        assert_true(all_ages(&profile->spread) == profile->total[PL_METRIC_INUSE_OBJECTS].value);
        pl_profile_close(profile);
        forge_free(forge);
    }
}

static void shorter_cohorts_are_merged_in_pairs(void **state)
{
    (void) state;
    static const double expected[5][PL_COHORTS] = {
        {200, 200, 200, 200, 200}, {400, 400, 200}, {800, 200}, {1000}, {1000}};
    for (uint32_t behind = 0; behind < 5; behind++) {
        struct forge *forge = forge_build("exact");
        tally_at(forge, TERMS)->cohort_shift -= behind;
        struct pl_profile *profile = forge_load(forge);
        assert_memory_equal(unpack_site(&profile->site[TERMS])->spread.ages, expected[behind], sizeof expected[behind]);
        pl_profile_close(profile);
        forge_free(forge);
    }
}

static void rows_have_ages_too(void **state)
{
    (void) state;
    struct forge *forge = forge_build("empty");
    uint32_t frame = forge_frame(forge, 0, forge_module(forge, "/bin/app", 1), 0x1000);
    struct pl_row *row = forge_row_at(forge, forge_row(forge, forge_site(forge, frame), 1));
    forge_sample(&row->allocated, 100, 10, 30);
    forge_sample(&row->remote, 100, 10, 6);
    row->made[0] = row->made[1] = row->made[4] = 100;
    row->gone[1] = 60;
    row->cohort_shift = 9;
    forge_header(forge)->timeline_shift = 10;
    struct pl_profile *profile = forge_load(forge);
    assert_true(unpack_site(&profile->site[0])->spread.ages[0] == 140 &&
                unpack_site(&profile->site[0])->spread.ages[2] == 100);
    assert_true(all_ages(&profile->spread) == 240);
    pl_profile_close(profile);
    forge_free(forge);
}

/* ---- counted and sampled ---- */

static void counted_and_sampled_parts_of_a_site_are_added(void **state)
{
    (void) state;
    struct pl_profile *profile = load_scenario("auto");
    double weight = 96.0 * 1024 / 112;
    const struct pl_estimate *metric = unpack_site(&profile->site[0])->metric;
    assert_int_equal(profile->sites, 1);
    assert_false(profile->exact);
    assert_true(fabs(metric[PL_METRIC_ALLOC_OBJECTS].value - (400000 + 1800 * weight)) < 1e-6);
    assert_true(fabs(metric[PL_METRIC_INUSE_OBJECTS].value - (1000 + 100 * weight)) < 1e-6);
    assert_true(fabs(metric[PL_METRIC_TEMP_OBJECTS].value - (100000 + 425 * weight)) < 1e-6);
    for (int m = 0; m < PL_METRIC_LOST_OBJECTS; m++)
        assert_true(metric[m].low < metric[m].value && metric[m].value < metric[m].high && metric[m].error > 0);
    assert_true(metric[PL_METRIC_ALLOC_OBJECTS].low > 400000);
    assert_true(metric[PL_METRIC_INUSE_OBJECTS].low >= 1000 + 100); /* counted blocks and sampled blocks */
    assert_true(profile->total[PL_METRIC_ALLOC_OBJECTS].error == 0);
    pl_profile_close(profile);
}

static void the_error_is_that_of_the_sampled_part_alone(void **state)
{
    (void) state;
    struct pl_figures sampled = {0}, mixed;
    struct pl_estimate alone[PL_METRIC_COUNT], with[PL_METRIC_COUNT];
    forge_sample(&sampled.allocated.sampled, 48, 800, 100);
    forge_sample(&sampled.freed.sampled, 48, 800, 60);
    mixed = sampled;
    mixed.allocated.exact_objects = 1e6;
    mixed.allocated.exact_space = 48e6;
    pl_estimate_figures(&sampled, alone);
    pl_estimate_figures(&mixed, with);
    for (int m = PL_METRIC_ALLOC_OBJECTS; m <= PL_METRIC_INUSE_SPACE; m++) {
        double exact = m % 2 ? 48e6 : 1e6;
        assert_true(fabs(with[m].value - alone[m].value - exact) < 1e-6);
        assert_true(fabs(with[m].low - alone[m].low - exact) < 1e-6);
        assert_true(fabs(with[m].error - alone[m].error) < 1e-6);
    }
}

/* Most of the variance comes from samples ten times as heavy as the mean. They may be among the live ones. */
static void samples_of_uneven_weight_raise_the_upper_end(void **state)
{
    (void) state;
    struct forge *forge = forge_build("auto");
    struct pl_row *row = forge_row_at(forge, 1);
    struct pl_profile *even = forge_load(forge);
    row->skew.objects = 10 * row->allocated.objects_variance * row->allocated.objects_variance / row->allocated.objects;
    row->skew.space = 10 * row->allocated.space_variance * row->allocated.space_variance / row->allocated.space;
    struct pl_profile *uneven = forge_load(forge);
    for (int m = 0; m < PL_METRIC_COUNT; m++) {
        const struct pl_estimate *before = &unpack_site(&even->site[0])->metric[m],
                                 *after = &unpack_site(&uneven->site[0])->metric[m];
        assert_true(after->value == before->value && after->low == before->low && after->high > before->high);
    }
    struct pl_figures sum = unpack_site(&uneven->site[0])->figures;
    pl_figures_add(&sum, &unpack_site(&uneven->site[0])->figures);
    assert_true(sum.skew.objects == 2 * row->skew.objects && sum.skew.space == 2 * row->skew.space);
    pl_profile_close(even);
    pl_profile_close(uneven);
    forge_free(forge);
}

/* Three samples may have been missed. Each stands for the calls that together charge one gap: a call charges the size
 * of its block and what the file says. */
static void what_may_be_unseen_depends_on_the_charge_in_the_file(void **state)
{
    (void) state;
    struct forge *forge = forge_build("auto-charge");
    static const uint32_t charges[] = {64, 256};
    for (size_t i = 0; i < 2; i++) {
        forge_header(forge)->call_charge = charges[i];
        struct pl_profile *profile = forge_load(forge);
        bool sampled = unpack_site(&profile->site[0])->figures.allocated.sampled.samples > 0;
        const struct unpacked_site *site = unpack_site(&profile->site[sampled]);
        const struct pl_estimate *calls = &site->metric[PL_METRIC_ALLOC_OBJECTS];
        double gap = fmin(site->figures.unseen_interval, (double) forge_header(forge)->automatic.interval_max);
        double missed = 3 * gap / (48 + charges[i]);
        assert_true(site->figures.unseen_interval > 0 && site->figures.allocated.sampled.samples == 0);
        assert_true(calls->value == 1000 && fabs(calls->high - 1000 - missed) < 0.01 * missed);
        pl_profile_close(profile);
    }
    forge_free(forge);
}

static void temporary_allocations_have_their_share_of_the_variance(void **state)
{
    (void) state;
    struct pl_profile *profile = load_scenario("auto");
    const struct pl_figures *figures = &unpack_site(&profile->site[0])->figures;
    const struct pl_sums *all = &figures->allocated.sampled, *some = &figures->temporary.sampled;
    assert_int_equal(some->samples, 425);
    assert_true(fabs(some->objects_variance / all->objects_variance - 425.0 / 1800) < 1e-9);
    pl_profile_close(profile);
}

static void a_sampled_profile_without_samples_is_not_exact(void **state)
{
    (void) state;
    struct forge *forge = forge_build("auto");
    memset(&forge_row_at(forge, 1)->allocated, 0, sizeof(struct pl_sums));
    struct pl_profile *profile = forge_load(forge);
    const struct pl_estimate *live = &profile->total[PL_METRIC_INUSE_SPACE];
    assert_false(profile->exact);
    assert_true(live->value == 1000 * 48 && live->low == live->value);
    assert_true(live->high > live->value + 2.9 * (96 << 10) && live->high < live->value + 3.1 * (96 << 10));
    pl_profile_close(profile);
    forge_free(forge);
}

/* ---- the method in words ---- */

static void assert_method(struct forge *forge, const char *expected)
{
    char words[256];
    struct pl_profile *profile = forge_load(forge);
    pl_describe_method(profile, words, sizeof words);
    assert_string_equal(words, expected);
    pl_profile_close(profile);
}

static void the_method_is_described_in_words(void **state)
{
    (void) state;
    struct forge *forge = forge_build("exact");
    assert_method(forge, "exact: all 6,014 allocations");
    forge_header(forge)->losses[PL_LOSS_NESTED] = 11;
    forge_header(forge)->losses[PL_LOSS_TABLE_FULL] = 1;
    assert_method(forge, "exact, but for 12 lost allocations");
    forge_header(forge)->losses[PL_LOSS_MISSED_FREE] = 1;
    assert_method(forge, "exact, but for 12 lost allocations and 1 block whose free was not seen");
    forge_free(forge);

    forge = forge_build("auto");
    assert_method(forge,
                  "exact for the first 400,000 allocations, then sampled about every 96 KiB; ± = 95% confidence");
    forge_header(forge)->automatic.returned = 1;
    assert_method(
        forge, "exact for 400,000 of 2,000,000 allocations, the rest sampled about every 96 KiB; ± = 95% confidence");
    forge_free(forge);

    forge = forge_build("leak");
    assert_method(forge, "sampled every 512 KiB on average: 101 samples; ± = 95% confidence");
    forge_free(forge);
}

static void calls_that_were_not_counted_are_not_called_exact(void **state)
{
    (void) state;
    struct forge *forge = one_tally();
    ((struct pl_thread_record *) forge_record(forge, PL_KIND_THREAD, 1))->calls[PL_FN_MALLOC] = 2000;
    assert_method(forge, "exact for 10 of 2,000 allocations; the rest failed, or were made while Plimsoll was off");
    forge_free(forge);
}

static void a_program_that_was_never_counted_is_not_called_exact(void **state)
{
    (void) state;
    struct forge *forge = forge_build("empty");
    struct pl_header *header = forge_header(forge);
    header->mode = PL_MODE_AUTO;
    header->interval_bytes = header->control.interval_bytes = 0;
    forge_thread(forge, "example", 3000, 64);
    assert_method(forge, "none of 3,000 allocations was recorded: they failed, or were made while Plimsoll was off");
    header->control.off = 1;
    assert_method(forge, "none of 3,000 allocations was recorded: Plimsoll was off");
    forge_free(forge);
}

static void a_damaged_file_is_not_called_exact(void **state)
{
    (void) state;
    struct forge *forge = one_tally();
    forge_tally_at(forge, 1)->site = 4711;
    assert_method(forge, "from a damaged file: 10 counted allocations could be read, and more may be missing");
    forge_free(forge);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_figure_of_an_exact_profile_is_exact),
        cmocka_unit_test(frees_by_other_threads_are_counted),
        cmocka_unit_test(tallies_of_one_site_are_added),
        cmocka_unit_test(a_small_record_is_read_as_the_tally_that_it_stands_for),
        cmocka_unit_test(a_small_record_counts_until_its_tally_is_published),
        cmocka_unit_test(frees_by_others_follow_a_small_record_that_grows),
        cmocka_unit_test(what_a_small_record_held_at_the_peak_is_believed_since_the_peak),
        cmocka_unit_test(cells_that_nobody_writes_are_damage),
        cmocka_unit_test(without_live_blocks_there_are_no_live_bytes),
        cmocka_unit_test(sites_that_counted_more_than_their_threads_are_believed),
        cmocka_unit_test(figures_that_changed_after_the_peak_are_taken_from_their_saved_values),
        cmocka_unit_test(only_threads_at_the_same_time_make_the_peak_uncertain),
        cmocka_unit_test(allocations_and_frees_of_a_tally_have_their_own_eras),
        cmocka_unit_test(eras_wrap_around),
        cmocka_unit_test(a_row_saves_its_figures_and_remote_frees_separately),
        cmocka_unit_test(a_heap_that_never_shrank_has_its_peak_now),
        cmocka_unit_test(a_peak_is_never_below_the_live_bytes),
        cmocka_unit_test(sizes_lifetimes_and_reallocs_come_from_the_tally_and_its_remotes),
        cmocka_unit_test(buckets_begin_where_the_format_defines),
        cmocka_unit_test(ages_are_those_of_live_blocks),
        cmocka_unit_test(the_last_age_class_extends_to_the_end),
        cmocka_unit_test(a_free_booked_to_the_wrong_cohort_is_compensated),
        cmocka_unit_test(shorter_cohorts_are_merged_in_pairs),
        cmocka_unit_test(rows_have_ages_too),
        cmocka_unit_test(counted_and_sampled_parts_of_a_site_are_added),
        cmocka_unit_test(the_error_is_that_of_the_sampled_part_alone),
        cmocka_unit_test(samples_of_uneven_weight_raise_the_upper_end),
        cmocka_unit_test(what_may_be_unseen_depends_on_the_charge_in_the_file),
        cmocka_unit_test(temporary_allocations_have_their_share_of_the_variance),
        cmocka_unit_test(a_sampled_profile_without_samples_is_not_exact),
        cmocka_unit_test(the_method_is_described_in_words),
        cmocka_unit_test(calls_that_were_not_counted_are_not_called_exact),
        cmocka_unit_test(a_program_that_was_never_counted_is_not_called_exact),
        cmocka_unit_test(a_damaged_file_is_not_called_exact),
    };
    return cmocka_run_group_tests_name("exact", tests, NULL, NULL);
}
