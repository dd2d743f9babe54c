/* SPDX-License-Identifier: MIT */
/*
 * test_fold.c - reading correct records: duplicates are merged, frees are matched, and sums are right.
 */
#include <math.h>

#include "forged_profile.h"

static void an_empty_profile_has_no_sites_and_all_its_strings(void **state)
{
    (void) state;
    struct pl_profile *profile = load_scenario("empty");
    assert_int_equal(profile->sites, 0);
    assert_int_equal(profile->stacks, 0);
    assert_int_equal(profile->threads, 1);
    assert_int_equal(profile->damage, 0);
    assert_string_equal(profile->comm, "example");
    assert_string_equal(profile->executable, "/opt/example/bin/example");
    assert_string_equal(profile->directory, "/home/someone");
    assert_true(profile->total[PL_METRIC_ALLOC_OBJECTS].value == 0);
    assert_true(profile->total[PL_METRIC_INUSE_SPACE].value == 0);
    assert_true(fabs(profile->duration_s - 12.8) < 1e-6);
    assert_false(profile->running);
    pl_profile_close(profile);
}

static void the_command_line_is_split_into_its_words(void **state)
{
    (void) state;
    struct pl_profile *profile = load_scenario("empty");
    assert_string_equal(profile->argv[0], "./example");
    assert_string_equal(profile->argv[1], "--rows");
    assert_string_equal(profile->argv[2], " 12");
    assert_null(profile->argv[3]);
    pl_profile_close(profile);
}

static void an_empty_word_of_the_command_line_is_kept(void **state)
{
    (void) state;
    struct forge *forge = forge_build("empty");
    forge_header(forge)->command = forge_text(forge, "a\0\0b", 4); /* the last word has no NUL */
    struct pl_profile *profile = forge_load(forge);
    assert_string_equal(profile->argv[0], "a");
    assert_string_equal(profile->argv[1], "");
    assert_string_equal(profile->argv[2], "b");
    assert_null(profile->argv[3]);
    pl_profile_close(profile);
    forge_free(forge);
}

static void records_published_twice_are_merged(void **state)
{
    (void) state;
    struct pl_profile *profile = load_scenario("duplicates");
    assert_int_equal(profile->modules, 2); /* the unknown one, and the example */
    assert_int_equal(profile->frames, 2);
    assert_int_equal(profile->stacks, 1);
    assert_int_equal(profile->sites, 1);
    assert_int_equal(unpack_site(&profile->site[0])->figures.allocated.sampled.samples, 40);
    assert_true(unpack_site(&profile->site[0])->figures.allocated.sampled.space == 4000);
    assert_int_equal(profile->damage, 0);
    pl_profile_close(profile);
}

static void builds_with_the_same_path_stay_separate(void **state)
{
    (void) state;
    struct forge *forge = forge_build("empty");
    forge_module(forge, "/bin/app", 1);
    forge_module(forge, "/bin/app", 2);
    forge_module(forge, "/bin/app", 1);
    uint32_t other = forge_module(forge, "/bin/app", 1);
    ((struct pl_module *) forge_record(forge, PL_KIND_MODULE, other))->fingerprint = 99;
    struct pl_profile *profile = forge_load(forge);
    assert_int_equal(profile->modules, 4);
    assert_string_equal(profile->module[0].path, "");
    assert_string_equal(profile->module[1].build_id, "0101010101010101010101010101010101010101");
    assert_string_equal(profile->module[2].build_id, "0202020202020202020202020202020202020202");
    assert_int_equal(profile->module[3].fingerprint, 99);
    pl_profile_close(profile);
    forge_free(forge);
}

static void a_module_without_a_name_is_not_the_unknown_one(void **state)
{
    (void) state;
    struct forge *forge = forge_build("empty");
    uint32_t nameless = forge_module(forge, "", 0);
    uint32_t unknown_frame = forge_frame(forge, 0, PL_MODULE_UNKNOWN, 0x1000);
    uint32_t frame = forge_frame(forge, unknown_frame, nameless, 0x1000);
    forge_sample(&forge_row_at(forge, forge_row(forge, forge_site(forge, frame), 1))->allocated, 8, 1, 1);
    struct pl_profile *profile = forge_load(forge);
    assert_int_equal(profile->modules, 2);
    assert_int_equal(profile->frames, 2);
    pl_profile_close(profile);
    forge_free(forge);
}

static void a_stack_is_innermost_first(void **state)
{
    (void) state;
    struct forge *forge = forge_build("empty");
    uint32_t module = forge_module(forge, "/bin/app", 1), frame = 0;
    for (uint64_t i = 0; i < 5; i++)
        frame = forge_frame(forge, frame, module, 0x100 * i | (i == 3 ? PL_FRAME_EXACT : 0));
    forge_sample(&forge_row_at(forge, forge_row(forge, forge_site(forge, frame), 1))->allocated, 8, 1, 1);
    struct pl_profile *profile = forge_load(forge);
    const struct pl_stack_view *stack = &profile->stack[profile->site[0].stack];
    assert_int_equal(stack->frames, 5);
    for (uint32_t i = 0; i < 5; i++) {
        const struct pl_frame_view *view = &profile->frame[stack->frame[i]];
        assert_int_equal(view->address, 0x100 * (4 - i));
        assert_int_equal(view->flags, i == 1 ? PL_FRAME_EXACT : 0);
        assert_string_equal(profile->module[view->module].path, "/bin/app");
    }
    pl_profile_close(profile);
    forge_free(forge);
}

static void frames_that_no_row_uses_are_left_out(void **state)
{
    (void) state;
    struct forge *forge = forge_build("duplicates");
    uint32_t module = forge_module(forge, "/bin/other", 9);
    forge_site(forge, forge_frame(forge, 0, module, 0x7777));
    struct pl_profile *profile = forge_load(forge);
    assert_int_equal(profile->frames, 2);
    assert_int_equal(profile->stacks, 1);
    pl_profile_close(profile);
    forge_free(forge);
}

static void rows_of_one_site_and_two_threads_are_two_shares(void **state)
{
    (void) state;
    struct pl_profile *profile = load_scenario("threads");
    assert_int_equal(profile->threads, 300);
    assert_int_equal(profile->stacks, 1);
    assert_int_equal(profile->sites, 300);
    assert_int_equal(profile->thread[299].threads, 100000);
    assert_string_equal(profile->thread[7].name, "thread 7");
    assert_int_equal(profile->thread[7].start_ns, 7000000000);
    assert_int_equal(profile->thread[7].end_ns, 7500000000);
    assert_true(profile->thread[0].alive);
    assert_int_equal(profile->thread[0].end_ns, 0);
    pl_profile_close(profile);
}

static void total_allocations_are_the_exact_counts_of_the_threads(void **state)
{
    (void) state;
    struct pl_profile *profile = load_scenario("leak");
    const struct pl_estimate *calls = &profile->total[PL_METRIC_ALLOC_OBJECTS];
    assert_true(calls->value == 413919 && calls->low == calls->value && calls->high == calls->value);
    assert_true(calls->error == 0);
    assert_true(profile->total[PL_METRIC_ALLOC_SPACE].value == 100768153 + (8 << 20) + 64000);
    assert_int_equal(profile->samples, 101);
    assert_int_equal(profile->samples_live, 41);
    pl_profile_close(profile);
}

static void live_is_allocated_minus_freed_by_any_thread(void **state)
{
    (void) state;
    struct pl_profile *profile = load_scenario("leak");
    const struct pl_site_view *leak = largest_site(profile, PL_METRIC_INUSE_SPACE);
    const struct pl_stack_view *stack = &profile->stack[leak->stack];
    assert_string_equal(profile->frame[stack->frame[0]].place[0].function, "index_add_term");
    double expected = 40 * 1648 * (512.0 * 1024 / (1648 + 64));
    assert_true(fabs(pl_site_value(leak, PL_METRIC_INUSE_SPACE) - expected) < 1e-6 * expected);
    pl_profile_close(profile);
}

static void when_every_sample_is_freed_nothing_is_live(void **state)
{
    (void) state;
    struct forge *forge = forge_build("empty");
    uint32_t stack = forge_frame(forge, 0, forge_module(forge, "/bin/app", 1), 0x1000);
    struct pl_row *row = forge_row_at(forge, forge_row(forge, forge_site(forge, stack), 1));
    for (int i = 1; i <= 1000; i++) /* the same samples, added in opposite orders */
        forge_sample(&row->allocated, i, 1000.1 / i, 1);
    for (int i = 1000; i >= 1; i--)
        forge_sample(i % 2 ? &row->freed : &row->remote, i, 1000.1 / i, 1);
    assert_true(row->allocated.space != row->freed.space + row->remote.space);
    struct pl_profile *profile = forge_load(forge);
    assert_int_equal(profile->sites, 1);
    for (int metric = PL_METRIC_INUSE_OBJECTS; metric <= PL_METRIC_INUSE_SPACE; metric++) {
        assert_true(pl_site_value(&profile->site[0], metric) == 0);
        assert_true(profile->total[metric].value == 0);
    }
    assert_int_equal(profile->in_flight, 0);
    pl_profile_close(profile);
    forge_free(forge);
}

static void frees_beyond_the_allocations_are_discarded_and_counted(void **state)
{
    (void) state;
    struct forge *forge = forge_build("empty");
    uint32_t stack = forge_frame(forge, 0, forge_module(forge, "/bin/app", 1), 0x1000);
    struct pl_row *row = forge_row_at(forge, forge_row(forge, forge_site(forge, stack), 1));
    forge_sample(&row->allocated, 100, 10, 3);
    forge_sample(&row->remote, 100, 10, 4); /* the fourth allocation has not been read yet */
    struct pl_profile *profile = forge_load(forge);
    assert_true(pl_site_value(&profile->site[0], PL_METRIC_INUSE_SPACE) == 0);
    assert_int_equal(profile->samples_live, 0);
    assert_int_equal(profile->in_flight, 1);
    assert_int_equal(profile->damage, 0);
    pl_profile_close(profile);
    forge_free(forge);
}

static void rows_without_a_sample_are_left_out(void **state)
{
    (void) state;
    struct forge *forge = forge_build("leak");
    forge_row(forge, 2, 2);
    forge_append(forge, PL_KIND_ROW, 1); /* reserved, never published */
    struct pl_profile *profile = forge_load(forge);
    assert_int_equal(profile->sites, 3);
    assert_int_equal(profile->damage, 0);
    pl_profile_close(profile);
    forge_free(forge);
}

static void the_overflow_site_has_no_stack(void **state)
{
    (void) state;
    struct pl_profile *profile = load_scenario("losses");
    uint32_t without = 0;
    for (uint32_t i = 0; i < profile->sites; i++) {
        if (profile->site[i].stack == PL_NO_STACK) {
            without++;
            assert_int_equal(unpack_site(&profile->site[i])->figures.allocated.sampled.samples, 12);
        }
    }
    assert_int_equal(without, 1);
    assert_int_equal(profile->damage, 0);
    assert_int_equal(profile->header.losses[PL_LOSS_DEAD_THREAD], 109);
    pl_profile_close(profile);
}

static void a_row_left_in_the_middle_of_an_update_is_kept_and_counted(void **state)
{
    (void) state;
    struct pl_profile *profile = load_scenario("killed");
    assert_int_equal(profile->in_flight, 1);
    assert_int_equal(profile->sites, 3);
    assert_true(profile->duration_s >= 1); /* its second thread started after one second */
    pl_profile_close(profile);
}

static void a_gap_in_a_deep_stack_is_marked(void **state)
{
    (void) state;
    struct pl_profile *profile = load_scenario("deep");
    assert_int_equal(profile->stack[0].frames, 257);
    assert_int_equal(profile->frame[profile->stack[0].frame[128]].flags, PL_FRAME_GAP);
    assert_int_equal(profile->frames, 6); /* recursion repeats one address */
    pl_profile_close(profile);
}

static void stored_places_are_innermost_first(void **state)
{
    (void) state;
    struct pl_profile *profile = load_scenario("inlined");
    const struct pl_stack_view *stack = &profile->stack[0];
    const struct pl_frame_view *inner = &profile->frame[stack->frame[0]];
    assert_int_equal(inner->places, 2);
    assert_string_equal(inner->place[0].function, "std::vector<Row>::push_back");
    assert_string_equal(inner->place[0].linkage, "_ZNSt6vectorI3RowSaIS0_EE9push_backERKS0_");
    assert_int_equal(inner->place[0].line, 1280);
    assert_true(inner->place[0].inlined);
    assert_string_equal(inner->place[1].function, "Table::add");
    assert_false(inner->place[1].inlined);
    assert_int_equal(profile->frame[stack->frame[1]].places, 0); /* a frame without a name */
    assert_string_equal(profile->frame[stack->frame[2]].place[0].file, "src/main.cpp");
    pl_profile_close(profile);
}

static void symbols_without_the_flag_are_ignored(void **state)
{
    (void) state;
    struct forge *forge = forge_build("inlined");
    forge_header(forge)->flags &= ~(uint32_t) PL_FLAG_SYMBOLS;
    struct pl_profile *profile = forge_load(forge);
    for (uint32_t i = 0; i < profile->frames; i++)
        assert_int_equal(profile->frame[i].places, 0);
    pl_profile_close(profile);
    forge_free(forge);
}

static void symbols_of_duplicate_frames_are_not_duplicated(void **state)
{
    (void) state;
    struct forge *forge = forge_build("duplicates");
    forge_symbol(forge, 2, "inner", "a.c", 1);
    forge_symbol(forge, 4, "inner", "a.c", 1);
    forge_header(forge)->flags |= PL_FLAG_SYMBOLS;
    struct pl_profile *profile = forge_load(forge);
    assert_int_equal(profile->frame[profile->stack[0].frame[0]].places, 1);
    pl_profile_close(profile);
    forge_free(forge);
}

static void names_keep_every_byte(void **state)
{
    (void) state;
    struct pl_profile *profile = load_scenario("hostile-names");
    size_t longest = 0;
    bool newline = false, escape = false;
    for (uint32_t i = 0; i < profile->frames; i++) {
        const char *function = profile->frame[i].place[0].function;
        longest = strlen(function) > longest ? strlen(function) : longest;
        newline |= strcmp(function, "line one\nline two\r\n") == 0;
        escape |= strcmp(function, "\x1b[31mred\x1b[0m") == 0;
    }
    assert_int_equal(longest, 4000);
    assert_true(newline && escape);
    assert_int_equal(strlen(profile->comm), 16); /* a comm without a NUL */
    assert_int_equal(profile->damage, 0);
    pl_profile_close(profile);
}

static double cost_of(uint64_t spent_ns, uint64_t cpu_ns)
{
    struct forge *forge = forge_build("auto");
    forge_header(forge)->automatic.spent_ns = spent_ns;
    forge_header(forge)->automatic.cpu_ns = cpu_ns;
    struct pl_profile *profile = forge_load(forge);
    double cost_s = profile->cost_s;
    pl_profile_close(profile);
    forge_free(forge);
    return cost_s;
}

/* The profiler's CPU time is an estimate, but it is part of the process's. */
static void the_cost_is_at_most_the_cpu_time_of_the_process(void **state)
{
    (void) state;
    assert_true(cost_of(284000000, 91000000) == 0.091);
    assert_true(cost_of(50000000, 91000000) == 0.05);
    assert_true(cost_of(50000000, 0) == 0.05); /* not known */
}

static void a_hundred_thousand_stacks_are_all_read(void **state)
{
    (void) state;
    struct forge *forge = forge_build("100k-stacks");
    struct pl_profile *profile = forge_load(forge);
    uint64_t samples = 0;
    for (uint32_t i = 1; i <= 100000; i++)
        samples += forge_row_at(forge, i)->allocated.samples;
    assert_int_equal(profile->samples, samples);
    assert_int_equal(profile->stacks, 100000);
    assert_int_equal(profile->damage, 0);
    pl_profile_close(profile);
    forge_free(forge);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_profile_has_no_sites_and_all_its_strings),
        cmocka_unit_test(the_command_line_is_split_into_its_words),
        cmocka_unit_test(an_empty_word_of_the_command_line_is_kept),
        cmocka_unit_test(records_published_twice_are_merged),
        cmocka_unit_test(builds_with_the_same_path_stay_separate),
        cmocka_unit_test(a_module_without_a_name_is_not_the_unknown_one),
        cmocka_unit_test(a_stack_is_innermost_first),
        cmocka_unit_test(frames_that_no_row_uses_are_left_out),
        cmocka_unit_test(rows_of_one_site_and_two_threads_are_two_shares),
        cmocka_unit_test(total_allocations_are_the_exact_counts_of_the_threads),
        cmocka_unit_test(live_is_allocated_minus_freed_by_any_thread),
        cmocka_unit_test(when_every_sample_is_freed_nothing_is_live),
        cmocka_unit_test(frees_beyond_the_allocations_are_discarded_and_counted),
        cmocka_unit_test(rows_without_a_sample_are_left_out),
        cmocka_unit_test(the_overflow_site_has_no_stack),
        cmocka_unit_test(a_row_left_in_the_middle_of_an_update_is_kept_and_counted),
        cmocka_unit_test(a_gap_in_a_deep_stack_is_marked),
        cmocka_unit_test(stored_places_are_innermost_first),
        cmocka_unit_test(symbols_without_the_flag_are_ignored),
        cmocka_unit_test(symbols_of_duplicate_frames_are_not_duplicated),
        cmocka_unit_test(names_keep_every_byte),
        cmocka_unit_test(the_cost_is_at_most_the_cpu_time_of_the_process),
        cmocka_unit_test(a_hundred_thousand_stacks_are_all_read),
    };
    return cmocka_run_group_tests_name("fold", tests, NULL, NULL);
}
