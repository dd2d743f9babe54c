/* SPDX-License-Identifier: MIT */
/*
 * test_model.c - figures and rates of `plimsoll top`, from two readings of a process. There is no terminal.
 *
 * The process has two sites: main -> alpha, and main -> beta -> beta -> gamma. Tests set their figures and put a
 * reading.
 */
#include <math.h>

#include "cli/top/model.h"
#include "forged_profile.h"

struct process {
    struct forge *forge;
    struct pl_model *model;
    uint32_t alpha, gamma, thread, tag;
};

static struct process begin(void)
{
    static const char *const first[] = {"main", "alpha", NULL}, *const second[] = {"main", "beta", "beta", "gamma",
                                                                                   NULL};
    struct process process = {.forge = forge_new(), .model = pl_model_new()};
    uint32_t module = forge_module(process.forge, "/opt/app/app", 1);
    uint32_t one = forge_site(process.forge, forge_stack(process.forge, module, "a.c", first));
    uint32_t two = forge_site(process.forge, forge_stack(process.forge, module, "b.c", second));
    process.thread = forge_thread(process.forge, "worker", 0, 0);
    process.alpha = forge_tally(process.forge, one, process.thread);
    process.gamma = forge_tally(process.forge, two, process.thread);
    forge_header(process.forge)->mode = PL_MODE_EXACT;
    return process;
}

static void end(struct process *process)
{
    pl_model_free(process->model);
    forge_free(process->forge);
}

/* `calls` blocks of `size` bytes were allocated so far, and `freed` of them freed. */
static void set(struct process *process, uint32_t number, uint64_t calls, uint64_t freed, uint64_t size)
{
    struct pl_tally *tally = forge_tally_at(process->forge, number);
    tally->calls = calls;
    tally->bytes = calls * size;
    tally->freed_calls = freed;
    tally->freed_bytes = freed * size;
    uint64_t all_calls =
        forge_tally_at(process->forge, process->alpha)->calls + forge_tally_at(process->forge, process->gamma)->calls;
    uint64_t all_bytes =
        forge_tally_at(process->forge, process->alpha)->bytes + forge_tally_at(process->forge, process->gamma)->bytes;
    forge_thread_at(process->forge, process->thread)->calls[PL_FN_MALLOC] = all_calls;
    forge_thread_at(process->forge, process->thread)->bytes = all_bytes;
}

static void put(struct process *process, double seconds)
{
    pl_model_put(process->model, forge_load(process->forge), true, seconds, 1e6);
}

static const struct pl_model_row *row_of(const struct process *process, const struct pl_model_rows *rows,
                                         const char *name)
{
    for (uint32_t i = 0; i < rows->count; i++)
        if (!strcmp(pl_model_name(process->model, rows->row[i].subject)->name, name))
            return &rows->row[i];
    fail_msg("no row %s", name);
    return NULL;
}

static struct pl_model_rows rows_by(const struct process *process, enum pl_model_by by)
{
    return pl_model_rows(process->model, by, PL_COLUMN_LIVE, false, "");
}

static void assert_value(const struct pl_model_row *row, enum pl_model_column column, double value)
{
    assert_true(fabs(row->value[column] - value) < 1e-9);
}

static void rates_are_differences_of_two_readings_by_second(void **state)
{
    (void) state;
    struct process process = begin();
    set(&process, process.alpha, 100, 0, 10);
    set(&process, process.gamma, 10, 10, 1000);
    put(&process, 50);
    assert_true(pl_model_head(process.model).first);
    set(&process, process.alpha, 300, 150, 10);
    put(&process, 52);
    struct pl_model_rows rows = rows_by(&process, PL_BY_SITE);
    const struct pl_model_row *alpha = row_of(&process, &rows, "alpha"), *gamma = row_of(&process, &rows, "gamma");
    assert_value(alpha, PL_COLUMN_LIVE, 1500);
    assert_value(alpha, PL_COLUMN_CHANGE, 500);
    assert_value(alpha, PL_COLUMN_RATE, 1000);
    assert_value(alpha, PL_COLUMN_CALLS, 100);
    assert_value(alpha, PL_COLUMN_SHARE, 1);
    for (int column = 0; column <= PL_COLUMN_CALLS; column++)
        assert_value(gamma, column, 0);
    assert_true(pl_model_error(process.model, alpha, PL_COLUMN_LIVE) == 0);
    struct pl_model_head head = pl_model_head(process.model);
    assert_true(head.rate == 1000 && head.calls == 100 && head.change == 500 && head.elapsed_s == 2);
    end(&process);
}

static void a_baseline_is_compared_with_until_it_is_given_up(void **state)
{
    (void) state;
    struct process process = begin();
    set(&process, process.alpha, 100, 0, 10);
    put(&process, 1);
    pl_model_set_base(process.model, true);
    for (int i = 2; i <= 5; i++) {
        set(&process, process.alpha, 100 * (uint64_t) i, 0, 10);
        put(&process, i);
    }
    struct pl_model_rows rows = rows_by(&process, PL_BY_SITE);
    assert_value(row_of(&process, &rows, "alpha"), PL_COLUMN_CHANGE, 4000);
    assert_value(row_of(&process, &rows, "alpha"), PL_COLUMN_CALLS, 100);
    assert_true(pl_model_base(process.model) == 1);
    pl_model_set_base(process.model, false);
    rows = rows_by(&process, PL_BY_SITE);
    assert_value(row_of(&process, &rows, "alpha"), PL_COLUMN_CHANGE, 1000);
    end(&process);
}

static void a_reset_ends_the_comparison(void **state)
{
    (void) state;
    struct process process = begin();
    set(&process, process.alpha, 1000, 0, 10);
    put(&process, 1);
    pl_model_set_base(process.model, true);
    forge_header(process.forge)->resets = 1;
    forge_tally_at(process.forge, process.alpha)->reset = 1;
    set(&process, process.alpha, 5, 0, 10);
    put(&process, 2);
    assert_true(pl_model_head(process.model).first && pl_model_base(process.model) == 0);
    end(&process);
}

static void a_function_has_what_it_calls_and_recursion_counts_once(void **state)
{
    (void) state;
    struct process process = begin();
    set(&process, process.alpha, 1, 0, 100);
    set(&process, process.gamma, 1, 0, 1000);
    put(&process, 1);
    struct pl_model_rows rows = rows_by(&process, PL_BY_FUNCTION);
    assert_int_equal(rows.count, 4);
    assert_value(row_of(&process, &rows, "main"), PL_COLUMN_LIVE, 1100);
    assert_value(row_of(&process, &rows, "beta"), PL_COLUMN_LIVE, 1000);
    assert_value(row_of(&process, &rows, "main"), PL_COLUMN_SHARE, 1);
    end(&process);
}

static void threads_and_tags_have_exact_rates(void **state)
{
    (void) state;
    struct process process = begin();
    set(&process, process.alpha, 100, 0, 10);
    put(&process, 1);
    set(&process, process.alpha, 150, 0, 10);
    put(&process, 2);
    for (int by = PL_BY_TAG; by <= PL_BY_THREAD; by++) {
        struct pl_model_rows rows = rows_by(&process, by);
        const struct pl_model_row *row = row_of(&process, &rows, by == PL_BY_TAG ? "(no tag)" : "worker");
        assert_true(row->counted);
        assert_value(row, PL_COLUMN_CALLS, 50);
        assert_value(row, PL_COLUMN_RATE, 500);
    }
    end(&process);
}

static void rows_are_sorted_filtered_and_counted(void **state)
{
    (void) state;
    struct process process = begin();
    set(&process, process.alpha, 1, 0, 100);
    set(&process, process.gamma, 1, 0, 1000);
    put(&process, 1);
    struct pl_model_rows rows = rows_by(&process, PL_BY_SITE);
    assert_string_equal(pl_model_name(process.model, rows.row[0].subject)->name, "gamma");
    rows = pl_model_rows(process.model, PL_BY_SITE, PL_COLUMN_LIVE, true, NULL);
    assert_string_equal(pl_model_name(process.model, rows.row[0].subject)->name, "alpha");
    rows = pl_model_rows(process.model, PL_BY_SITE, PL_COLUMN_NAME, false, "");
    assert_string_equal(pl_model_name(process.model, rows.row[0].subject)->name, "alpha");
    rows = pl_model_rows(process.model, PL_BY_SITE, PL_COLUMN_LIVE, false, "A.C:2");
    assert_int_equal(rows.count, 1);
    assert_int_equal(rows.hidden, 1);
    assert_string_equal(pl_model_name(process.model, rows.row[0].subject)->where, "a.c:20");
    assert_true(fabs(rows.row[0].value[PL_COLUMN_SHARE] - 100 / 1100.0) < 1e-9); /* of all, not of what is shown */
    end(&process);
}

static void a_row_expands_to_its_heaviest_stack(void **state)
{
    (void) state;
    struct process process = begin();
    struct pl_model_detail detail;
    set(&process, process.gamma, 1, 0, 1000);
    put(&process, 1);
    struct pl_model_rows rows = rows_by(&process, PL_BY_SITE);
    pl_model_detail(process.model, PL_BY_SITE, row_of(&process, &rows, "gamma")->subject, PL_COLUMN_LIVE, &detail);
    assert_true(detail.stack && detail.count == 3 && detail.stacks == 1);
    assert_string_equal(pl_model_name(process.model, detail.subject[0])->name, "beta");
    assert_string_equal(pl_model_name(process.model, detail.subject[2])->name, "main");
    rows = rows_by(&process, PL_BY_THREAD);
    pl_model_detail(process.model, PL_BY_THREAD, row_of(&process, &rows, "worker")->subject, PL_COLUMN_LIVE, &detail);
    assert_true(!detail.stack && detail.count >= 1 && detail.value[0] == 1000);
    end(&process);
}

static void samples_have_errors_in_every_column(void **state)
{
    (void) state;
    struct process process = begin();
    uint32_t row = forge_row(process.forge, forge_tally_at(process.forge, process.alpha)->site, process.thread);
    forge_header(process.forge)->mode = PL_MODE_SAMPLED;
    forge_header(process.forge)->interval_bytes = 4096;
    forge_sample(&forge_row_at(process.forge, row)->allocated, 100, 25, 10);
    put(&process, 1);
    forge_sample(&forge_row_at(process.forge, row)->allocated, 100, 25, 10);
    put(&process, 2);
    struct pl_model_rows rows = rows_by(&process, PL_BY_SITE);
    const struct pl_model_row *alpha = row_of(&process, &rows, "alpha");
    assert_value(alpha, PL_COLUMN_RATE, 25000);
    assert_true(pl_model_head(process.model).estimated);
    for (int column = PL_COLUMN_LIVE; column <= PL_COLUMN_CALLS; column++)
        assert_true(pl_model_error(process.model, alpha, column) > 0);
    end(&process);
}

static void a_reading_without_names_is_enough_for_known_stacks(void **state)
{
    (void) state;
    static const char *const third[] = {"main", "delta", NULL};
    struct process process = begin();
    set(&process, process.alpha, 1, 0, 100);
    put(&process, 1);
    struct pl_profile *again = forge_load(process.forge);
    assert_true(pl_model_knows(process.model, again));
    pl_model_put(process.model, again, false, 2, 0);
    struct pl_model_rows rows = rows_by(&process, PL_BY_SITE);
    assert_value(row_of(&process, &rows, "alpha"), PL_COLUMN_LIVE, 100);
    uint32_t site = forge_site(process.forge, forge_stack(process.forge, 2, "c.c", third));
    forge_tally_at(process.forge, forge_tally(process.forge, site, process.thread))->calls = 1;
    struct pl_profile *more = forge_load(process.forge);
    assert_false(pl_model_knows(process.model, more));
    pl_profile_close(more);
    end(&process);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_are_differences_of_two_readings_by_second),
        cmocka_unit_test(a_baseline_is_compared_with_until_it_is_given_up),
        cmocka_unit_test(a_reset_ends_the_comparison),
        cmocka_unit_test(a_function_has_what_it_calls_and_recursion_counts_once),
        cmocka_unit_test(threads_and_tags_have_exact_rates),
        cmocka_unit_test(rows_are_sorted_filtered_and_counted),
        cmocka_unit_test(a_row_expands_to_its_heaviest_stack),
        cmocka_unit_test(samples_have_errors_in_every_column),
        cmocka_unit_test(a_reading_without_names_is_enough_for_known_stacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
