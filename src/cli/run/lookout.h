/* SPDX-License-Identifier: MIT */
/*
 * lookout.h - looks at the processes of a run when they end, to find what they have lost (`run --leaks`) and what their
 * RSS consists of (`run --memory`).
 *
 * A process that is about to exit connects to the socket `.look` in the directory of live profiles and waits
 * (core/look.h). The lookout is a process of its own, because a tracer gets the exit status of what it traces: it stops
 * the process, follows its pointers, writes what it has found to a file in that directory, and lets it go.
 */
#ifndef PL_LOOKOUT_H
#define PL_LOOKOUT_H

#include <stdbool.h>
#include <sys/types.h>

#define PL_LOOKOUT_FOUND ".look-" /* files in that directory begin with it, and go on with the inode of the profile */

struct pl_lookout {
    char *directory;
    pid_t pid;
    int control; /* it ends when this is closed */
};

/* False: there is none; errno says why. Call it before there are threads. */
struct pl_lookout_tasks {
    bool leaks;    /* finds what is lost */
    bool memory;   /* reads what RSS consists of (rss.h) */
    bool resident; /* and how much of what each site holds is resident */
};
bool pl_lookout_start(struct pl_lookout *lookout, const char *directory, struct pl_lookout_tasks tasks);

/* Ends it. What it has found stays. */
void pl_lookout_end(struct pl_lookout *lookout);

/* Removes what nobody has stored. */
void pl_lookout_sweep(const char *directory);

/* Stores what was found in the profile of a process that has ended, if it is not there yet. False: nothing was found;
 * `why` says why, or is "" if nobody asked for a look. */
#define PL_LOOKOUT_WHY 512
bool pl_lookout_store(const char *directory, const char *profile, char why[PL_LOOKOUT_WHY]);

#endif
