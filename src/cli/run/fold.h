/* SPDX-License-Identifier: MIT */
/*
 * fold.h - one profile for each program of a tree: the sum of its processes that have ended.
 */
#ifndef PL_FOLD_H
#define PL_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/run/collect.h"
#include "cli/sum.h"

#define PL_FOLD_PREFIX "sum-"   /* of the files with sums, in the directory of live profiles */
#define PL_FOLD_PROGRAMS_MAX 64 /* the processes of further programs share one sum */

/* A program, and its processes that were added up. */
struct pl_fold_program {
    char *executable;                 /* "" in the sum of further programs */
    char name[PL_PROGRAM_NAME_BYTES]; /* of the executable */
    size_t processes;
    uint64_t first_ns;   /* when the first of them started */
    double peak_largest; /* bytes, of one process */
    char *path;          /* where the sum is saved */
    char *destination;   /* of the first of them */
    struct pl_sum sum;
    bool changed; /* since it was saved */
};

struct pl_fold {
    const char *directory; /* where sums are saved, so that they survive us */
    struct pl_fold_program *program;
    size_t count;
    bool failed; /* a sum could not be saved, and that has been said: from now on they are only in memory */
};

/* The profile belongs to the sum from now on. */
void pl_fold_add(struct pl_fold *fold, struct pl_profile *profile);

/* Saves the sums that have changed. Afterwards the files of their processes are no longer needed. */
void pl_fold_save(struct pl_fold *fold);
void pl_fold_free(struct pl_fold *fold);

#endif
