/* SPDX-License-Identifier: MIT */
/*
 * collect.h - the private directory in which a run's profiles live, and how they leave it.
 */
#ifndef PL_COLLECT_H
#define PL_COLLECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "profile.h"

/*
 * Makes `plimsoll-run.PID.XXXXXX` with `.owner` in it, in the first of these directories that takes it. As long as
 * .owner exists the runtime leaves finished profiles there. NULL: none of them does, and errno says why the last did
 * not.
 */
#define PL_COLLECT_PREFIX "plimsoll-run." /* and the pid of `plimsoll run` */
char *pl_collect_make_directory(const char *const *candidates);

/* What has become of one profile. */
struct pl_collected {
    char *path; /* where it is now, absolute */
    uint64_t file_bytes;
    char comm[17];
    uint32_t pid;
    uint32_t end; /* enum pl_end */
    bool main;    /* of the process that we started */
    uint64_t calls, bytes, samples;
    bool exact;                /* every allocation was counted */
    uint64_t exact_calls;      /* so many were, one by one */
    uint64_t unrecorded_calls; /* made while switched off or paused */
    char method[128];          /* how the figures were obtained, in words */
    struct pl_estimate inuse_objects, inuse_space, peak_space;
    double peak_slack_bytes;
    uint64_t interval_bytes;                          /* of the samples; 0: none were to be taken */
    bool off;                                         /* it is, at the end */
    uint64_t lost_threads, lost_records, lost_scopes; /* that found no room */
    double duration_s;
};

struct pl_collection {
    struct pl_collected *profile; /* the one with the plain name first, then by bytes allocated */
    size_t count;
    size_t processes; /* that have ended */
    size_t dropped;   /* profiles with little to show, removed */
    size_t running;   /* processes that live on */
    size_t failed;    /* could not be read, or not be moved; a line has been said for each */
    size_t unwanted;  /* profiles that their programs did not want to leave, removed */

    char unwanted_comm[17]; /* the first of these */
    uint32_t unwanted_pid;
};

struct pl_collect_options {
    const char *directory;
    const char *pattern; /* as given: without a % in it, only one process has the name to itself */
    pid_t main_pid;
    int wait_status;
    uint64_t end_ns;
    bool keep_all;
    bool no_symbols;
};

/* Moves every profile whose process has ended to where it belongs, with its names and its ending in it, and gives up
 * the directory: those still running will move their own. */
void pl_collect(const struct pl_collect_options *options, struct pl_collection *out);
void pl_collect_free(struct pl_collection *collection);

#endif
