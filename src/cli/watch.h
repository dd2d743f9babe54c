/* SPDX-License-Identifier: MIT */
/*
 * watch.h - `plimsoll run --snapshot-every`: snapshots of every process of a run, at an interval, while it runs.
 */
#ifndef PL_WATCH_H
#define PL_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct pl_watch_options {
    const char *directory; /* where the run's profiles live */
    uint64_t every_ns;
    uint64_t keep;  /* 0: all */
    pid_t main_pid; /* with a plain name, snapshots of others have their pid in the name; 0: there is no such name */
    bool no_symbols;
};

struct pl_watch;

/* Starts a thread that does nothing else; it takes no signals if its caller has blocked them. NULL, with errno: no
 * thread. */
struct pl_watch *pl_watch_start(const struct pl_watch_options *options);

/* Waits until the snapshot that is being taken is complete. */
void pl_watch_end(struct pl_watch *watch);

/* The last words: how many there are, and where. */
void pl_watch_say(const struct pl_watch *watch);
void pl_watch_free(struct pl_watch *watch);

#endif
