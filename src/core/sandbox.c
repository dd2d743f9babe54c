/* SPDX-License-Identifier: MIT */
/* sandbox.c - see sandbox.h. */
#include "sandbox.h"

#include <linux/prctl.h>
#include <sys/syscall.h>

#include "clock.h"
#include "process.h"

#ifndef __NR_seccomp
#define __NR_seccomp 317
#endif
#define MODE_STRICT 1 /* of PR_SET_SECCOMP */
#define SET_STRICT 0  /* operations of seccomp(2); the others only ask */
#define SET_FILTER 1

static bool enters(long number, long a)
{
    return (number == __NR_seccomp && (a == SET_STRICT || a == SET_FILTER)) ||
           (number == __NR_prctl && a == PR_SET_SECCOMP);
}

/* From then on reading the processor's clock is a fault. */
static bool stops_clock(long number, long a, long b)
{
    return (number == __NR_seccomp && a == SET_STRICT) ||
           (number == __NR_prctl &&
            ((a == PR_SET_SECCOMP && b == MODE_STRICT) || (a == PR_SET_TSC && b == PR_TSC_SIGSEGV)));
}

struct pl_confining pl_sandbox_before(long number, long a, long b)
{
    struct pl_confining confining = {
        .entering = enters(number, a) && pl_process_sandbox(pl_process),
        .stopping = stops_clock(number, a, b),
    };
    if (confining.stopping)
        pl_clock_stop();
    return confining;
}

void pl_sandbox_after(struct pl_confining confining, bool refused)
{
    if (confining.entering && refused)
        pl_process_sandbox_refused(pl_process);
    if (confining.stopping && refused)
        pl_clock_go_on();
}
