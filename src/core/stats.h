/* SPDX-License-Identifier: MIT */
/*
 * stats.h - the profile's figures, for the program that is being profiled.
 *
 * They are added up from the records in the file, as a reader does it, when the program asks; no totals are kept for
 * this. Other threads go on meanwhile, so figures are from about the same time, not from one instant. Functions return
 * 0 or a negative errno.
 */
#ifndef PL_STATS_H
#define PL_STATS_H

#include "core/process.h"

/* Allocation calls and requested bytes: exact in every mode. */
struct pl_counted {
    uint64_t calls;
    uint64_t calls_of[PL_FN_COUNT];
    uint64_t bytes;
};

/* The fields of struct plimsoll_stats. */
struct pl_stats {
    struct pl_counted counted;
    uint64_t freed_blocks;
    uint64_t freed_bytes;
    uint64_t live_blocks;
    uint64_t live_bytes;
    uint64_t peak_bytes;
    uint64_t entered;
    uint64_t threads;
    uint64_t tags;
    uint64_t exact;
    uint64_t vm_bytes;
    uint64_t rss_bytes;
    struct pl_bucket allocated_sizes[PL_SIZE_BUCKETS];
    struct pl_bucket live_sizes[PL_SIZE_BUCKETS];
};

int pl_stats_process(struct pl_process *process, struct pl_stats *out);
int pl_stats_thread(struct pl_process *process, struct pl_stats *out);
int pl_stats_tag(struct pl_process *process, uint32_t tag, struct pl_stats *out);

/* Calls `see` with each figure, until `see` returns a value other than 0, which is then returned. */
int pl_stats_pairs(struct pl_process *process, int (*see)(void *context, const char *key, uint64_t number),
                   void *context);

#endif
