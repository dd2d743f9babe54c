/* SPDX-License-Identifier: MIT */
/*
 * intake.h - takes in the profiles of a run as their processes end, while the program runs.
 *
 * A few profiles are kept as they are. When there are more, they are folded: one profile for each program (fold.h), so
 * that the directory of live profiles has, besides those of running processes, at most PL_INTAKE_WAITING files or
 * PL_INTAKE_BYTES that wait for it, and one sum for each program.
 */
#ifndef PL_INTAKE_H
#define PL_INTAKE_H

#include "cli/run/collect.h"
#include "cli/run/fold.h"
#include "cli/run/move.h"

#define PL_INTAKE_FEW 8 /* with more profiles of ended processes than this, they are folded */
#define PL_INTAKE_WAITING 128
#define PL_INTAKE_BYTES (64ull << 20)

/* A profile that is to be moved out of the directory. */
struct pl_leaving {
    struct pl_profile *profile;     /* of the profile that was read last, which is mostly the only one; else NULL */
    struct pl_fold_program *folded; /* it is the sum of these processes; NULL: of one */
    char *path;
    char *destination;
    uint64_t start_ns;
    bool first;    /* it gets exactly the name that was given */
    bool unwanted; /* its program declined it (plimsoll_output(0)) */
    struct pl_collected about;
};

struct pl_intake_options {
    const char *directory;
    pid_t main_pid;
    bool keep_all;
};

/* An executable, and what pl_target_has_allocator() answered. */
struct pl_intake_inspected {
    char *executable;
    bool has;
};

/* Until pl_intake_end() it belongs to its thread. */
struct pl_intake {
    struct pl_intake_options options;
    struct pl_leaving *leaving;
    size_t count;
    struct pl_fold fold;
    bool folding;
    size_t processes; /* that ended, except those in `leaving` */
    size_t dropped, failed, running, unwanted;
    char unwanted_comm[17];
    uint32_t unwanted_pid;
    struct pl_move_taken *taken;           /* where snapshots have been moved to */
    struct pl_intake_inspected *inspected; /* executables that pl_target_has_allocator() was asked about */
    size_t inspected_count;
    char **waiting; /* files that have been added to a sum, which has not been saved since */
    size_t waiting_count;
    uint64_t waiting_bytes;
    char unlooked[512];              /* of the profile that is taken in: why nobody could look at its process */
    struct pl_intake_thread *thread; /* NULL: none */
};

/* Starts the thread. If that fails, everything is taken in at the end. Call it with all signals blocked. */
struct pl_intake *pl_intake_start(const struct pl_intake_options *options);

/* Ends the thread, and takes in what has ended since. Processes that are still running will move their own profiles. */
void pl_intake_end(struct pl_intake *intake);
void pl_intake_free(struct pl_intake *intake);

/* The profile of the process that we started; NULL: it has none. */
struct pl_leaving *pl_intake_main(const struct pl_intake *intake);

/* Fills in what is known from the profile. */
void pl_intake_describe(const struct pl_profile *profile, struct pl_leaving *leaving);
void pl_intake_forget(struct pl_leaving *leaving);

#endif
