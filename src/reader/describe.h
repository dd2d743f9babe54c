/* SPDX-License-Identifier: MIT */
/*
 * describe.h - facts about a profile in words.
 */
#ifndef PL_DESCRIBE_H
#define PL_DESCRIBE_H

#include "reader/profile.h"

/* The words of a metric. Keys and units are the same for all profiles. But merged processes had their peaks at
 * different times: the peak of a merged profile is a sum of peaks, which was never live at one time. */
const struct pl_metric_info *pl_describe_metric(const struct pl_profile *profile, enum pl_metric metric);

/* What is missing from a profile, in words that follow a count. PL_LOSS_THREADS: "thread that could not be registered",
 * of 2 "threads that ...". */
const char *pl_describe_loss(int loss, uint64_t count);

/* PL_STOP_DEPTH: "deep stack truncated in the middle", of 2 "deep stacks ...". */
const char *pl_describe_stop(int stop, uint64_t count);

/* Which allocations went past the profiler in this way: "malloc is that of libjemalloc.so.2, not Plimsoll's, ...".
 * False: none did. */
bool pl_describe_bypass(const struct pl_profile *profile, enum pl_bypass how, char *out, size_t bytes);

/* Why an exact profile is not complete: "12 lost allocations and 1 block whose free was not seen". False: it is. */
bool pl_describe_flaws(const struct pl_profile *profile, char *out, size_t bytes);

/* A line on how the process ended: "running", "exited 0", "killed by SIGKILL", "ended, exit status unknown", ... */
void pl_describe_ending(const struct pl_profile *profile, char *out, size_t bytes);

/* How a process is being profiled now: "exact", "sampled every 64 KiB", "off". */
void pl_describe_now(const struct pl_header *header, char *out, size_t bytes);
/* "attached 12 m after the start; blocks older than that are not in it (the heap had 31 MiB in use by then)". False: it
 * was profiled from its start. */
bool pl_describe_attached(const struct pl_profile *profile, char *out, size_t bytes);

/* How the figures were obtained, in words: "exact: all 48,213 allocations", "exact for the first 400,000 allocations,
 * then sampled about every 96 KiB; ± = 95% confidence", "sampled every 512 KiB on average: 312 samples; ± = 95%
 * confidence". */
void pl_describe_method(const struct pl_profile *profile, char *out, size_t bytes);

#endif
