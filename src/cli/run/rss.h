/* SPDX-License-Identifier: MIT */
/*
 * rss.h - what the RSS of each process of a run consists of, at intervals and when it exits (`run --memory`);
 * and how much of what each site holds is resident (`run --resident`).
 *
 * Readings of a process are appended to a file in the directory of live profiles, from here while it runs and from the
 * lookout when it exits. When it has ended, they become records of its profile.
 */
#ifndef PL_RSS_H
#define PL_RSS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "reader/profile.h"

#define PL_RSS_EVERY_MIN_NS 10000000ull
#define PL_RSS_READINGS_MAX 512 /* of one process, in its profile */

enum pl_rss_kind {
    PL_RSS_PARTS, /* struct pl_footprint_record */
    PL_RSS_SITES, /* struct pl_resident_record */
};

/* Starts a thread that reads at intervals. When it has done that PL_RSS_READINGS_MAX times, the interval doubles. NULL:
 * there is none; errno says why. */
struct pl_rss;
struct pl_rss *pl_rss_start(const char *directory, uint64_t every_ns, enum pl_rss_kind kind);
void pl_rss_end(struct pl_rss *rss);

/* Reads once. `live` is the profile of the process. */
void pl_rss_note(const char *directory, pid_t pid, const char *live, enum pl_rss_kind kind);

/* Stores the readings in the profile of a process that has ended. False: there are none, and `why` is "", or says why
 * they could not be stored. */
bool pl_rss_store(const char *directory, const char *profile, enum pl_rss_kind kind, char why[PL_WHY_BYTES]);

#endif
