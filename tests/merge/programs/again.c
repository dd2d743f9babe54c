/* SPDX-License-Identifier: MIT */
/*
 * again.c - is a profile that is saved and opened the same? `again FILE COPY` says what is not, and fails.
 */
#include "same.h"
#include "save.h"

static char **argument;

static void the_copy_is_the_same(void **state)
{
    (void) state;
    char why[PL_WHY_BYTES] = "";
    struct pl_profile *profile = open_file(argument[1]);
    if (pl_profile_save(profile, argument[2], why) != 0)
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
