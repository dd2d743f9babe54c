/* SPDX-License-Identifier: MIT */
/*
 * stats.h - the profile's figures for the program that makes it.
 *
 * They are added up from the records in the file, as a reader would, when somebody asks: nothing is kept for it. Nobody
 * is stopped meanwhile, so figures that move are of about the same moment. What is returned is 0 or a negative errno.
 */
#ifndef PL_STATS_H
#define PL_STATS_H

#include "process.h"

/* What was asked for: exact in every mode. */
struct pl_counted {
    uint64_t calls;
    uint64_t calls_of[PL_FN_COUNT];
    uint64_t bytes;
};

/* As struct plimsoll_stats. */
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

/* Calls `see` with each figure; until it returns something else than 0, which is then returned. */
int pl_stats_pairs(struct pl_process *process, int (*see)(void *context, const char *key, uint64_t number),
                   void *context);

#endif
