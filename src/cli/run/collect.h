/* SPDX-License-Identifier: MIT */
/*
 * collect.h - the private directory of a run's live profiles, and how they are moved out of it.
 */
#ifndef PL_COLLECT_H
#define PL_COLLECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "analysis/filefull.h"
#include "reader/profile.h"

/*
 * Makes `plimsoll-run.PID.XXXXXX` with `.owner` in it, in the first of these directories where that works. As long as
 * .owner exists, the runtime leaves finished profiles there. NULL: it works in none of them; errno is that of the last.
 */
#define PL_COLLECT_PREFIX "plimsoll-run." /* and the pid of `plimsoll run` */
#define PL_COLLECT_OWNER ".owner"         /* exists as long as `run` will collect what is in the directory */
#define PL_COLLECT_TREE ".tree"           /* directory of a folded tree's profiles: `app.tree` beside `app.plim` */
char *pl_collect_make_directory(const char *const *candidates);

/* A name that fits into that of a file. */
#define PL_PROGRAM_NAME_BYTES 64

/* One profile, and where it is now. */
struct pl_collected {
    char *path; /* where it is now, absolute */
    uint64_t file_bytes;
    char *executable;
    char comm[PL_PROGRAM_NAME_BYTES]; /* of the process; of a sum, the executable's */
    char title[200];                  /* of a forked child that has set one; "": none, or a sum */
    uint32_t pid;
    uint32_t end;        /* enum pl_end */
    bool main;           /* it is of the process that we started */
    size_t processes;    /* whose figures it has: 0 of a process that went on as another program */
    double peak_largest; /* of a sum: bytes, of one of its processes; else 0 */
    uint64_t calls, bytes, samples;
    bool exact;                        /* every allocation was counted */
    bool reset;                        /* figures are about what was allocated since a reset */
    bool behind;                       /* calls and bytes may lag: there were at least so many */
    uint64_t exact_calls;              /* number of allocations that were counted */
    uint64_t unrecorded_calls;         /* made while switched off or paused */
    bool other_heaps;                  /* something was recorded in a heap beside malloc's */
    bool linked;                       /* an allocator that is linked in was hooked */
    char bypass[PL_BYPASS_COUNT][384]; /* which allocations were not seen, in words; "": none */
    char elsewhere[256];               /* most of its memory does not come from malloc, in words; "": it does */
    char method[128];                  /* how the figures were obtained, in words */
    char flaws[256];                   /* why exact figures are not complete, in words; "": they are */
    struct pl_estimate inuse_objects, inuse_space, peak_space;
    bool looked; /* when it ended; this and the next are 0 otherwise */
    bool looked_partly;
    struct pl_estimate lost_objects, lost_space;
    uint32_t footprints; /* how often it was read what RSS consisted of */
    char unlooked[512];  /* why nobody could look, in words; "": nobody tried */
    double peak_slack_bytes;
    uint64_t unfollowed;     /* blocks that count as freed at once: peak and live are at least what is known */
    uint64_t interval_bytes; /* of sampling; 0: not sampled */
    bool off;                /* recording was switched off at the end */
    uint64_t lost_threads, lost_records, lost_scopes;                   /* for lack of room */
    char room_cause[PL_FILEFULL_BYTES], room_remedy[PL_FILEFULL_BYTES]; /* of lost_records; "" if there are none */
    double duration_s;
};

struct pl_collection {
    struct pl_collected *profile; /* the one with the plain name first, then by bytes allocated */
    size_t count;
    char *tree;       /* the directory that has all of them; NULL: they are where their processes wanted them */
    size_t processes; /* that have ended */
    size_t dropped;   /* profiles with nothing in them, removed */
    size_t running;   /* processes that are still running */
    size_t failed;    /* profiles that could not be read or moved; an error has been printed for each */
    size_t unwanted;  /* profiles that their programs declined (plimsoll_output(0)), removed */

    char unwanted_comm[17]; /* the first of these */
    uint32_t unwanted_pid;
};

struct pl_collect_options {
    const char *directory;
    bool spread; /* each process has a name of its own; otherwise only one gets exactly the name that was given */
    pid_t main_pid;
    int wait_status;
    bool out_of_memory; /* that is probably why it was killed */
    uint64_t end_ns;
    bool keep_all;
    bool no_symbols;
};

/* Moves every profile whose process has ended to its destination, and stores its names and how it ended. The intake has
 * taken in those that ended before. Processes that are still running will move their own. */
struct pl_intake;
void pl_collect(struct pl_intake *intake, const struct pl_collect_options *options, struct pl_collection *out);

/* The same for one profile whose process has left it there, wherever that is. */
void pl_collect_one(const struct pl_collect_options *options, const char *path, struct pl_collection *out);
void pl_collect_free(struct pl_collection *collection);

#endif
