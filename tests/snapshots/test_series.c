/* SPDX-License-Identifier: MIT */
/*
 * test_series.c - when snapshots are due, and which ones are kept when there are too many.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/snapshot/series.h"

#define EVERY 10u
#define FIRST 1000u
#define NOBODY "/nonexistent/"

/* Takes every snapshot that is due up to a time, and returns those that are kept then, as "1 3 5". */
static const char *take_until(struct pl_series *series, uint64_t end)
{
    static char list[4096];
    char path[64];
    for (uint64_t now = pl_series_next_ns(series); now < end; now = pl_series_next_ns(series)) {
        uint64_t place = pl_series_due(series, now);
        snprintf(path, sizeof path, NOBODY "%llu", (unsigned long long) place);
        if (place)
            pl_series_add(series, place, path);
        assert_true(pl_series_next_ns(series) > now);
        assert_true(!series->keep || series->count <= series->keep);
    }
    list[0] = 0;
    for (size_t i = 0; i < series->count; i++)
        sprintf(list + strlen(list), "%s%llu", i ? " " : "", (unsigned long long) series->taken[i].place);
    return list;
}

static uint64_t after(unsigned places)
{
    return FIRST + places * EVERY;
}

static void a_series_has_one_per_interval_and_the_first_at_its_start(void **state)
{
    (void) state;
    struct pl_series series = pl_series_new(EVERY, 0, FIRST);
    assert_int_equal(pl_series_due(&series, FIRST - 1), 0);
    assert_int_equal(pl_series_next_ns(&series), FIRST);
    assert_string_equal(take_until(&series, after(6)), "1 2 3 4 5 6");
    assert_int_equal(series.taken_in_all, 6);
    pl_series_free(&series);
}

static void no_snapshot_is_due_twice(void **state)
{
    (void) state;
    struct pl_series series = pl_series_new(EVERY, 0, FIRST);
    assert_int_equal(pl_series_due(&series, FIRST), 1);
    assert_int_equal(pl_series_due(&series, FIRST + EVERY - 1), 0);
    assert_int_equal(pl_series_due(&series, FIRST + EVERY), 2);
    pl_series_free(&series);
}

static void after_a_long_pause_one_snapshot_is_taken_instead_of_all_that_were_missed(void **state)
{
    (void) state;
    struct pl_series series = pl_series_new(EVERY, 0, FIRST);
    assert_int_equal(pl_series_due(&series, after(100)), 101);
    assert_int_equal(pl_series_due(&series, after(100)), 0);
    assert_int_equal(pl_series_next_ns(&series), after(101));
    pl_series_free(&series);
}

static void a_full_series_removes_every_second_snapshot_and_doubles_its_spacing(void **state)
{
    (void) state;
    struct pl_series series = pl_series_new(EVERY, 4, FIRST);
    assert_string_equal(take_until(&series, after(4)), "1 2 3 4");
    assert_string_equal(take_until(&series, after(5)), "1 3 5");
    assert_string_equal(take_until(&series, after(8)), "1 3 5 7");
    assert_string_equal(take_until(&series, after(9)), "1 5 9");
    assert_string_equal(take_until(&series, after(16)), "1 5 9 13");
    assert_string_equal(take_until(&series, after(17)), "1 9 17");
    pl_series_free(&series);
}

static void for_any_number_to_keep_at_least_half_are_kept_evenly_spaced(void **state)
{
    (void) state;
    for (uint64_t keep = 2; keep < 12; keep++) {
        struct pl_series series = pl_series_new(EVERY, keep, FIRST);
        for (unsigned places = 1; places < 300; places++) {
            take_until(&series, after(places));
            assert_int_equal(series.taken[0].place, 1);
            for (size_t i = 1; i < series.count; i++)
                assert_int_equal(series.taken[i].place - series.taken[i - 1].place, series.spacing);
            assert_true(series.count >= (places < keep ? places : keep / 2));
        }
        pl_series_free(&series);
    }
}

static void a_snapshot_that_was_not_taken_leaves_a_gap(void **state)
{
    (void) state;
    struct pl_series series = pl_series_new(EVERY, 0, FIRST);
    take_until(&series, after(2));
    assert_int_equal(pl_series_due(&series, after(2)), 3);
    assert_string_equal(take_until(&series, after(5)), "1 2 4 5");
    pl_series_free(&series);
}

static void a_series_with_gaps_is_thinned_until_there_is_room(void **state)
{
    (void) state;
    struct pl_series series = pl_series_new(EVERY, 2, FIRST);
    pl_series_due(&series, after(0));
    pl_series_add(&series, 1, NOBODY);
    pl_series_due(&series, after(4)); /* 2 to 4 were missed: 1 and 5 fit a spacing of 2, and of 4 */
    pl_series_add(&series, 5, NOBODY);
    assert_string_equal(take_until(&series, after(17)), "1 17");
    pl_series_free(&series);
}

static void only_snapshots_that_are_not_kept_are_removed(void **state)
{
    (void) state;
    char directory[] = "/tmp/plimsoll-series.XXXXXX", path[64];
    assert_non_null(mkdtemp(directory));
    struct pl_series series = pl_series_new(EVERY, 4, FIRST);
    for (unsigned i = 1; i <= 5; i++) {
        uint64_t place = pl_series_due(&series, after(i - 1));
        snprintf(path, sizeof path, "%s/%u", directory, i);
        FILE *file = fopen(path, "we");
        assert_non_null(file);
        fclose(file);
        pl_series_add(&series, place, path);
    }
    for (unsigned i = 1; i <= 5; i++) {
        snprintf(path, sizeof path, "%s/%u", directory, i);
        assert_int_equal(access(path, F_OK) == 0, i % 2 == 1);
        unlink(path);
    }
    pl_series_free(&series);
    rmdir(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_series_has_one_per_interval_and_the_first_at_its_start),
        cmocka_unit_test(no_snapshot_is_due_twice),
        cmocka_unit_test(after_a_long_pause_one_snapshot_is_taken_instead_of_all_that_were_missed),
        cmocka_unit_test(a_full_series_removes_every_second_snapshot_and_doubles_its_spacing),
        cmocka_unit_test(for_any_number_to_keep_at_least_half_are_kept_evenly_spaced),
        cmocka_unit_test(a_snapshot_that_was_not_taken_leaves_a_gap),
        cmocka_unit_test(a_series_with_gaps_is_thinned_until_there_is_room),
        cmocka_unit_test(only_snapshots_that_are_not_kept_are_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
