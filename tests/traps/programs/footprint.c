/* SPDX-License-Identifier: MIT */
/*
 * footprint.c - allocates from a few hundred places, keeps some small blocks, and says on stdout how many KiB are
 * resident.
 *
 *   footprint plain|mlock BLOCKS
 */
#include <sys/mman.h>

#include "turns.h"

static void footprint_allocate(void *unused)
{
    (void) unused;
    free(keep(malloc(1000)));
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "plain";
    if (is(how, "mlock"))
        CHECK(mlockall(MCL_CURRENT | MCL_FUTURE) == 0);
    for (unsigned i = 0; i < 300; i++)
        turn(i, 12, footprint_allocate, NULL);
    for (int i = argc > 2 ? atoi(argv[2]) : 0; i > 0; i--)
        CHECK(keep(malloc(16)) != NULL);
    printf("%ld\n", resident_kib());
    return 0;
}
