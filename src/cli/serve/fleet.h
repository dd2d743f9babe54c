/* SPDX-License-Identifier: MIT */
/*
 * fleet.h - the processes that are being profiled on this machine, for a server that is asked about them again and
 * again.
 *
 * A process is looked at when somebody asks, and not before; there is no polling. Who has come is noticed at the next
 * question, as `ls` does.
 */
#ifndef PL_FLEET_H
#define PL_FLEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/names.h"
#include "export/digest.h"
#include "format/format.h"
#include "reader/profile.h"
#include "reader/symbols/namecache.h"

/* What is kept open of a process, so that its last figures and its end can be read when it has ended. */
struct pl_held {
    int file;    /* of its profile; -1: not held */
    int process; /* a pidfd; -1: none */
    char *kills; /* the file in which the kernel counts what it killed for lack of memory */
    uint64_t killed;
    bool ended;
    char ending[64]; /* "exited 0", "killed by SIGSEGV" */
};

struct pl_member {
    pid_t pid;
    struct pl_header header; /* as it was read last */
    char *path;              /* of the profile */
    char *root;              /* root directory of the process; NULL: the same as ours */
    char *service;           /* $OTEL_SERVICE_NAME of the process, or the name of its program */
    char *attributes;        /* its $OTEL_RESOURCE_ATTRIBUTES; NULL: none */
    char *container;         /* the id of its container; NULL: it is in none */
    struct pl_namecache *known;
    struct pl_digest_part *last; /* what had been allocated when it was last asked for a delta, by key; NULL: never */
    uint32_t last_parts, last_resets;
    uint64_t last_ns; /* CLOCK_REALTIME, then */
    bool here;        /* it was found the last time */
    struct pl_held held;
};

struct pl_fleet {
    struct pl_member *member; /* by pid */
    size_t count;
    uint64_t looked_ns;
    struct pl_simplify *rules; /* for names; NULL: none */

    /* For those who send: the profiles of processes are held, and processes that began later than `since_ns`
     * (CLOCK_REALTIME) have been told nothing of, so that all of their allocations are new. */
    bool holds;
    pid_t only; /* look at no other process; 0: at all */
    uint64_t since_ns;
    struct pl_member *gone; /* those that have ended, and were held; whoever sends takes them out */
    size_t gone_count;
    struct pl_forgotten *forgotten; /* a ring of the last of them: their profiles may appear under another name */
    size_t forgotten_next;
};

/* Finds who has come and forgets who has gone, unless that was done a moment ago. */
void pl_fleet_look(struct pl_fleet *fleet);
void pl_fleet_free(struct pl_fleet *fleet);

/* Forgets a process that has gone, except that its profile is not taken again. */
void pl_fleet_forget(struct pl_fleet *fleet, struct pl_member *gone);

/* Takes a profile that was opened when it appeared: if its process has ended before anybody looked, it is among those
 * that have gone, and the fleet has the descriptor from now on. */
enum pl_late {
    PL_LATE_TAKEN,
    PL_LATE_RUNS,
    PL_LATE_OTHER
}; /* OTHER: the process is known, or the file is none of one */
enum pl_late pl_fleet_late(struct pl_fleet *fleet, int file);

/* Has anything been told of it, or is everything that it allocated new? */
bool pl_fleet_is_new(const struct pl_fleet *fleet, const struct pl_member *member);

/* One process; NULL: there is none with this pid. */
struct pl_member *pl_fleet_find(const struct pl_fleet *fleet, pid_t pid);

/* Reads the profile of a process, with names if `names`. False: it has just ended, or its profile cannot be read. */
bool pl_fleet_read(struct pl_member *member, bool names, struct pl_profile **out);

/* A digest of its profile as it is now, with names. NULL: as above. */
struct pl_digest *pl_fleet_digest(const struct pl_fleet *fleet, struct pl_member *member);

/* Rows of a digest with only what was allocated since the process was last asked: the first time nothing, unless
 * pl_fleet_is_new(). What is live
 * stays. `since_ns` gets the time at which that begins. The caller frees the rows. */
struct pl_digest_row *pl_fleet_delta(const struct pl_fleet *fleet, struct pl_member *member,
                                     const struct pl_digest *digest, uint64_t now_ns, uint64_t *since_ns);

/* What a process has told by now, to take back a delta that reached nobody. */
struct pl_told {
    struct pl_digest_part *last;
    uint32_t last_parts, last_resets;
    uint64_t last_ns;
};
struct pl_told pl_fleet_told(const struct pl_member *member);
void pl_fleet_untell(struct pl_member *member, struct pl_told *told);

uint64_t pl_fleet_now_ns(void); /* CLOCK_REALTIME */

#endif
