/* SPDX-License-Identifier: MIT */
/*
 * again.c - checks that a saved profile reads back the same: `again FILE COPY` reports differences and fails.
 */
#include "reader/write/save.h"
#include "same.h"

static char **argument;

static void the_copy_is_the_same(void **state)
{
    (void) state;
    char why[PL_WHY_BYTES] = "";
    struct pl_profile *profile = open_file(argument[1]);
    if (pl_save(profile, argument[2], why) != 0)
        fail_msg("%s", why);
    struct pl_profile *copy = open_file(argument[2]);
    assert_same_profiles(profile, copy);
    pl_profile_close(copy);
    pl_profile_close(profile);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_copy_is_the_same)};
    argument = argv;
    return argc == 3 ? cmocka_run_group_tests(tests, NULL, NULL) : 2;
}
