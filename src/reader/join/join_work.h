/* SPDX-License-Identifier: MIT */
/*
 * join_work.h - what the steps of pl_join() share, each of them a file of its own.
 *
 * They run in this order: process, code, tags, threads, sites. Each fills its part of `out`, and writes to `map` what
 * the indexes of each profile have become, for the steps after it.
 */
#ifndef PL_JOIN_WORK_H
#define PL_JOIN_WORK_H

#include "reader/base/arena.h"
#include "reader/join/join.h"

/* Index in one profile -> index in `out`. */
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

/* Threads and their scopes. In a difference, only the names of the base's threads are used. */
void pl_join_threads(struct pl_join_work *work);

/* Sites; a difference also keeps their metrics, and part[1]'s heap compositions. */
void pl_join_sites(struct pl_join_work *work);

#endif
