/* SPDX-License-Identifier: MIT */
/*
 * join_work.h - what the parts of pl_join() share, each of them a file of its own.
 *
 * They run in this order: process, code, tags, threads, sites. Each fills its part of `out` and says in `map` what the
 * numbers of each profile have become, for those that come after it.
 */
#ifndef PL_JOIN_WORK_H
#define PL_JOIN_WORK_H

#include "arena.h"
#include "join.h"

/* By index in one profile: index in `out`. */
struct pl_join_map {
    uint32_t *module, *frame, *stack, *tag, *thread;
};

struct pl_join_work {
    const struct pl_profile *const *part;
    uint32_t parts;
    enum pl_join_how how;
    struct pl_profile *out;
    struct pl_arena *scratch;
    struct pl_join_map *map; /* of each part */
};

/* Header, command and clock of a sum. */
void pl_join_process(struct pl_join_work *work);

/* Modules, frames and stacks. */
void pl_join_code(struct pl_join_work *work);
void pl_join_tags(struct pl_join_work *work);

/* Threads and their scopes. Of a difference, the base's threads only lend their names. */
void pl_join_threads(struct pl_join_work *work);

/* Sites, without metrics unless it is a difference; and of that one, moments and snapshots. */
void pl_join_sites(struct pl_join_work *work);

#endif
