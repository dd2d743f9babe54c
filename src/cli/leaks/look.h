/* SPDX-License-Identifier: MIT */
/*
 * look.h - looks at a process, to find what it has lost, and keeps the result for its profile.
 */
#ifndef PL_CLI_LOOK_H
#define PL_CLI_LOOK_H

#include "cli/say.h"
#include "reach/reach.h"
#include "reach/records.h"
#include "reader/write/annotate.h"

struct pl_look_taken {
    struct pl_reach reach; /* how it was done; its census is empty */
    struct pl_records records;
    struct pl_look look; /* what to write to the profile */
    char problem[768];   /* after a failure: a line for people */
};

/* `live` is the profile of the process. The process goes on; if it is `looked` at because it ends, it must wait until
 * this returns. False: see `problem`. */
bool pl_look_take(struct pl_look_taken *taken, pid_t pid, const char *live, enum pl_looked looked);

/* What must be known before the process is looked at, by pl_reach_read(). False: see `problem`. */
bool pl_look_prepare(struct pl_look_taken *taken, pid_t pid, const char *live, struct pl_reach_options *out);

/* In auto mode, a process may have begun to sample just before it was stopped: then unrecorded blocks were taken for
 * free memory. */
bool pl_look_began_to_sample(const struct pl_reach_options *how, const char *live);

void pl_look_free(struct pl_look_taken *taken);

/* Makes the file that --output names, and refuses if there is one. -1: see errno. */
int pl_look_make_file(const char *output);
enum pl_exit pl_look_refuse_file(const char *output);

/* Writes a copy of the profile as it is now, so after the look: it has every stack that a block was allocated from. 0,
 * or a negative errno and a line in `why`. */
int pl_look_copy_profile(const char *live, int fd, const char *path, char why[PL_WHY_BYTES]);

#endif
