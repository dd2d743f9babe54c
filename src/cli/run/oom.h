/* SPDX-License-Identifier: MIT */
/*
 * oom.h - tells whether the kernel killed a program for lack of memory. To its parent that looks like any SIGKILL.
 */
#ifndef PL_OOM_H
#define PL_OOM_H

#include <stdbool.h>
#include <stdint.h>

/* What the kernel says at one time. */
struct pl_oom {
    uint64_t cgroup_kills;  /* for lack of memory, in our cgroup and below */
    uint64_t machine_kills; /* on the whole machine */
    uint64_t limit_bytes;   /* of our cgroup and those above it; 0: none, or not known */
    uint64_t usage_bytes;   /* the most that the cgroup with this limit used; 0: not known */
    bool cgroup_known, machine_known;
};

/* `root` is where /proc and /sys are: "", except in tests. */
struct pl_oom pl_oom_read(const char *root);

/*
 * Why a program that ended by SIGKILL was probably killed by the kernel: "probably out of memory (OOM killer): cgroup
 * limit 400 MiB, usage at most 400 MiB, RSS at most 398 MiB". NULL: nothing hints at it. `rss_bytes` is the most that
 * the program had. The caller frees it.
 */
char *pl_oom_why(const struct pl_oom *before, const struct pl_oom *after, uint64_t rss_bytes);

#endif
