/* SPDX-License-Identifier: MIT */
/*
 * holders.h - what holds the heap, as records of a profile (struct pl_holder_record): trees of roots and sites. The
 * page draws them, and `retained FILE` prints them.
 */
#ifndef PL_HOLDERS_H
#define PL_HOLDERS_H

#include "cli/leaks/rootnames.h"
#include "format/format.h"

#define PL_HOLDERS_MOST 2000 /* nodes of blocks; smaller ones are added up below their parent */
#define PL_HOLDERS_SEVERAL "(several roots)"

struct pl_holders {
    struct pl_holder_record *record; /* record 0 is not used */
    uint32_t count;                  /* record 0 included */
};

/* What is known of each block: a number of what allocated it, equal for blocks that are to be one node, and a site. */
struct pl_holders_source {
    const struct pl_census *census;
    const struct pl_retain *retain;
    const struct pl_rootnames *names;
    const uint32_t *group; /* of each block */
    uint32_t (*site_of)(void *context, uint32_t block);
    void *context;
};

struct pl_holders pl_holders_make(const struct pl_holders_source *source);
void pl_holders_free(struct pl_holders *holders);

#endif
