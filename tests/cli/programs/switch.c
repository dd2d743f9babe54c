/* SPDX-License-Identifier: MIT */
/*
 * switch.c - allocates 20 times, calls the profiler's API, and allocates 5,000 times.
 */
#include <plimsoll.h>
#include <stdlib.h>
#include <string.h>

static void allocate(int times)
{
    for (int i = 0; i < times; i++)
        free(malloc(100));
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    allocate(20);
    if (strcmp(what, "start") == 0)
        plimsoll_start();
    else if (strcmp(what, "stop") == 0)
        plimsoll_stop();
    else if (strcmp(what, "sample") == 0)
        plimsoll_sample(4096);
    else if (strncmp(what, "reset", 5) == 0)
        plimsoll_reset();
    if (strcmp(what, "reset-end") == 0)
        return 0;
    allocate(5000);
    return 0;
}
