/* SPDX-License-Identifier: MIT */
/* test_paths.c - tests paths.h: where a profile goes, also if files are in the way. */
#include "core_tests.h"

#include <time.h>

#include "core/process.h"
#include "core/records/paths.h"

static struct pl_process process;
static char path[PL_PATH_MAX];

static int start(void **state)
{
    (void) state;
    memset(&process, 0, sizeof process);
    process.pid = 4711;
    snprintf(process.comm, sizeof process.comm, "a/b c");
    snprintf(pl_config.directory, sizeof pl_config.directory, "/start/here");
    return 0;
}

static const char *destination(const char *pattern)
{
    return pl_path_destination(&process, pattern, path, sizeof path) ? path : NULL;
}

static const char *final_path(const char *pattern, unsigned attempt)
{
    snprintf(pl_config.out, sizeof pl_config.out, "%s", pattern);
    assert_true(pl_path_destination(&process, pattern, process.destination, sizeof process.destination));
    return pl_path_final(&process, attempt, path, sizeof path) ? path : NULL;
}

static void a_relative_pattern_starts_in_the_first_working_directory(void **state)
{
    (void) state;
    assert_string_equal(destination("x.plim"), "/start/here/x.plim");
    assert_string_equal(destination("a/../x"), "/start/here/a/../x");
    assert_string_equal(destination("/abs/x"), "/abs/x");
    strcpy(pl_config.directory, "/");
    assert_string_equal(destination("x"), "/x");
}

static void without_a_working_directory_only_absolute_patterns_work(void **state)
{
    (void) state;
    pl_config.directory[0] = 0;
    assert_null(destination("x"));
    assert_string_equal(destination("/x"), "/x");
    strcpy(pl_config.directory, "(unreachable)/x");
    assert_null(destination("x"));
}

static void percent_signs_are_expanded(void **state)
{
    (void) state;
    char host[65] = "", expected[200];
    gethostname(host, sizeof host - 1);
    snprintf(expected, sizeof expected, "/4711-a_b c-%s-%%", host);
    assert_string_equal(destination("/%p-%c-%h-%%"), expected);
    assert_string_equal(destination("/%x%"), "/x%");
    uint64_t seconds = strtoull(destination("/%t") + 1, NULL, 10);
    assert_in_range(seconds, (uint64_t) time(NULL) - 5, (uint64_t) time(NULL) + 5);
}

static void a_path_that_is_too_long_is_refused_and_not_truncated(void **state)
{
    (void) state;
    char pattern[PL_PATH_MAX], small[16];
    memset(pattern, 'x', sizeof pattern);
    pattern[0] = '/';
    pattern[sizeof pattern - 1] = 0;
    assert_non_null(destination(pattern));
    pattern[0] = 'x';
    assert_null(destination(pattern));
    for (size_t bytes = 1; bytes <= sizeof small; bytes++) {
        memset(small, '!', sizeof small);
        assert_int_equal(pl_path_destination(&process, "/%p/%p", small, bytes), bytes > 10);
        assert_int_equal(strnlen(small, bytes), bytes > 10 ? 10 : bytes - 1);
        assert_true(bytes == sizeof small || small[bytes] == '!');
    }
}

static void a_plain_name_that_is_taken_gets_the_pid_and_then_a_number(void **state)
{
    (void) state;
    assert_string_equal(final_path("x.plim", 0), "/start/here/x.plim");
    assert_string_equal(final_path("x.plim", 1), "/start/here/x.plim.4711");
    assert_string_equal(final_path("x.plim", 2), "/start/here/x.plim.4711.1");
    assert_string_equal(final_path("x.plim", 3), "/start/here/x.plim.4711.2");
}

static void a_pattern_that_is_taken_gets_a_number(void **state)
{
    (void) state;
    assert_string_equal(final_path("%p.plim", 0), "/start/here/4711.plim");
    assert_string_equal(final_path("%p.plim", 1), "/start/here/4711.plim.1");
    assert_string_equal(final_path("%p.plim", 2), "/start/here/4711.plim.2");
}

static void the_name_of_a_live_file_has_the_command_and_the_pid(void **state)
{
    (void) state;
    assert_true(pl_path_live(&process, "/dev/shm", 0, path, sizeof path));
    assert_string_equal(path, "/dev/shm/plimsoll.a_b c.4711.plim");
    assert_true(pl_path_live(&process, "/dev/shm", 3, path, sizeof path));
    assert_string_equal(path, "/dev/shm/plimsoll.a_b c.4711.3.plim");
    assert_true(pl_path_live(&process, "live", 0, path, sizeof path));
    assert_string_equal(path, "/start/here/live/plimsoll.a_b c.4711.plim");
    assert_false(pl_path_live(&process, "/dev/shm", 0, path, 20));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_relative_pattern_starts_in_the_first_working_directory, start),
        cmocka_unit_test_setup(without_a_working_directory_only_absolute_patterns_work, start),
        cmocka_unit_test_setup(percent_signs_are_expanded, start),
        cmocka_unit_test_setup(a_path_that_is_too_long_is_refused_and_not_truncated, start),
        cmocka_unit_test_setup(a_plain_name_that_is_taken_gets_the_pid_and_then_a_number, start),
        cmocka_unit_test_setup(a_pattern_that_is_taken_gets_a_number, start),
        cmocka_unit_test_setup(the_name_of_a_live_file_has_the_command_and_the_pid, start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
