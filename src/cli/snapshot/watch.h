/* SPDX-License-Identifier: MIT */
/*
 * watch.h - `plimsoll run --snapshot-every`: takes snapshots of every process of a run, at an interval.
 */
#ifndef PL_WATCH_H
#define PL_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct pl_watch_options {
    const char *directory; /* of the run's live profiles */
    uint64_t every_ns;
    uint64_t keep;  /* 0: all */
    pid_t main_pid; /* --output has no %, so snapshots of other processes get their pid in the name; 0: it has */
    bool no_symbols;
};

struct pl_watch;

/* Starts a thread for this. It receives no signals if the caller has blocked them. NULL, with errno: that failed. */
struct pl_watch *pl_watch_start(const struct pl_watch_options *options);

/* Ends the thread. Waits until the snapshot that is being taken is complete. */
void pl_watch_end(struct pl_watch *watch);

/* Prints how many snapshots there are, and where. */
void pl_watch_say(const struct pl_watch *watch);
void pl_watch_free(struct pl_watch *watch);

#endif
