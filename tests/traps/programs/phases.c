/* SPDX-License-Identifier: MIT */
/*
 * phases.c - allocates at two sites in turn. Whenever it changes the site it changes the sampling interval in its own
 * profile, so that most gaps begin with one interval and end with the other.
 */
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>

#include "trap.h"

#define CONTROL_AT 832 /* struct pl_header, control.interval_bytes */
#define TURNS 400
#define CALLS 200

static APART void *fine_allocate(void)
{
    return keep(malloc(100));
}

static APART void *coarse_allocate(void)
{
    return keep(malloc(101));
}

/* The profile is a file that this process has mapped. Without a profile this returns a word that nothing reads. */
static volatile uint64_t *find_interval(void)
{
    static volatile uint64_t nobody;
    static char line[5000], path[4096];
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(maps != NULL);
    while (fgets(line, sizeof line, maps))
        if (sscanf(line, "%*s %*s %*s %*s %*s %4095s", path) == 1 && strstr(path, ".plim"))
            break;
    fclose(maps);
    int fd = strstr(path, ".plim") ? open(path, O_RDWR) : -1;
    if (fd < 0)
        return &nobody;
    char *header = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(header != MAP_FAILED && close(fd) == 0);
    return (volatile uint64_t *) (void *) (header + CONTROL_AT);
}

int main(void)
{
    volatile uint64_t *interval = find_interval();
    for (int turn = 0; turn < TURNS; turn++) {
        *interval = turn % 2 ? 64 << 10 : 1 << 10;
        for (int i = 0; i < CALLS; i++)
            free(turn % 2 ? coarse_allocate() : fine_allocate());
    }
    return 0;
}
