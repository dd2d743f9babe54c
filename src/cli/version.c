/* SPDX-License-Identifier: MIT */
/*
 * version.c - the version command.
 */
#include <stdio.h>

#include "cli/about.h"
#include "cli/option.h"
#include "format/format.h"

static int version_main(int argc, char **argv)
{
    if (argc)
        return pl_say_usage("version takes no arguments; got %s", argv[0]);
    printf("plimsoll %s (profile format %u)\n", PL_ABOUT_VERSION, PL_VERSION);
    return PL_EXIT_OK;
}

static const struct pl_option options[] = {{0}};

const struct pl_command pl_command_version = {
    .name = "version",
    .arguments = "",
    .summary = "print the version of the program and of the file format",
    .details = "Prints the version of Plimsoll and the version of the profile format it writes and reads.",
    .examples = "plimsoll version",
    .options = options,
    .main = version_main,
};
