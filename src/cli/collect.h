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
    bool exact;           /* every allocation was counted */
    uint64_t exact_calls; /* so many were, one by one */
    char method[128];     /* how the figures were obtained, in words */
    struct pl_estimate inuse_objects, inuse_space, peak_space;
    uint64_t interval_bytes; /* of the samples; 0: none were to be taken */
    bool off;                /* switched off from the start */
    double duration_s;
};

struct pl_collection {
    struct pl_collected *profile; /* the one with the plain name first, then by bytes allocated */
    size_t count;
    size_t processes; /* that have ended */
    size_t dropped;   /* profiles with little to show, removed */
    size_t running;   /* processes that live on */
    size_t failed;    /* could not be read, or not be moved; a line has been said for each */
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
