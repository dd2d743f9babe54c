/* SPDX-License-Identifier: MIT */
/*
 * leap.c - a preload whose clocks are ahead of the real ones, by as many seconds as the file $LEAP says: tests
 * need not wait, nor be quick.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *ahead_s;

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("LEAP");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *at = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *ahead_s, PROT_READ, MAP_SHARED, file, 0);
    if (at != MAP_FAILED)
        ahead_s = at;
    if (file >= 0)
        close(file);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    long failed = syscall(SYS_clock_gettime, clock, now);
    if (!failed && ahead_s && (clock == CLOCK_MONOTONIC || clock == CLOCK_REALTIME))
        now->tv_sec += *ahead_s;
    return (int) failed;
}
