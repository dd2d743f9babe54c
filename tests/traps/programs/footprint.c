/* SPDX-License-Identifier: MIT */
/*
 * footprint.c - allocates from a few hundred stacks and keeps some small blocks. It prints how many KiB are resident,
 * or its mappings.
 *
 *   footprint mlock|smaps BLOCKS
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../lib/turns.h"
#include "trap.h"

static void footprint_allocate(void *unused)
{
    (void) unused;
    free(keep(malloc(1000)));
}

static void show_mappings(void)
{
    static char part[65536]; /* the kernel shows each mapping as it is when its part is read */
    int fd = open("/proc/self/smaps", O_RDONLY);
    CHECK(fd >= 0);
    for (ssize_t n; (n = read(fd, part, sizeof part)) > 0;)
        CHECK(write(STDOUT_FILENO, part, (size_t) n) == n);
    close(fd);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    if (is(how, "mlock"))
        CHECK(mlockall(MCL_CURRENT | MCL_FUTURE) == 0);
    for (unsigned i = 0; i < 300; i++)
        descend(i, 12, footprint_allocate, NULL);
    for (int i = argc > 2 ? atoi(argv[2]) : 0; i > 0; i--)
        CHECK(keep(malloc(16)) != NULL);
    if (is(how, "smaps"))
        show_mappings();
    else
        printf("%ld\n", resident_kib());
    return 0;
}
