/* SPDX-License-Identifier: MIT */
/*
 * forge_main.c - `forge SCENARIO FILE` writes a synthetic profile; `forge` lists the scenarios.
 */
#include <stdio.h>
#include <string.h>

#include "forge.h"

static int list(void)
{
    puts("usage: forge SCENARIO FILE\n");
    for (const struct forge_scenario *scenario = forge_scenario; scenario->name; scenario++)
        printf("  %-14s %s\n", scenario->name, scenario->help);
    return 2;
}

int main(int argc, char **argv)
{
    const struct forge_scenario *scenario = argc == 3 ? forge_find(argv[1]) : NULL;
    if (!scenario)
        return list();
    struct forge *forge = forge_new();
    scenario->build(forge);
    int result = forge_write(forge, argv[2]);
    if (result != 0)
        fprintf(stderr, "forge: cannot write %s: %s\n", argv[2], strerror(-result));
    forge_free(forge);
    return result != 0;
}
