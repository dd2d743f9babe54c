/* SPDX-License-Identifier: MIT */
/*
 * retain.h - which root holds each block, and what would be freed with it.
 *
 * Roots, blocks and the pointers between them are a graph. A root retains what it dominates (dominate.h): the blocks
 * that nothing else leads to. What several roots lead to is retained by none of them alone.
 */
#ifndef PL_RETAIN_H
#define PL_RETAIN_H

#include "reach/roots.h"

/* Gives each place outside of the heap the number of the root that it belongs to: 0, 1, 2, ... in the order in which
 * they are first met. `thread`: it is a register of that thread, or was found by one; else NULL. */
struct pl_retain_namer {
    uint32_t (*root_at)(void *context, const struct pl_space *space, const struct pl_roots *roots,
                        const struct pl_roots_thread *thread, uint64_t at);
    void *context;
};

#define PL_RETAIN_LOST UINT32_MAX /* no root leads to it */
#define PL_RETAIN_SEVERAL                                                                                              \
    (UINT32_MAX - 1) /* several roots do, and no block that one of them retains is on all ways                         \
                      */

struct pl_retain {
    uint32_t roots;
    uint32_t *root;  /* of each block: who retains it, or one of the above */
    uint32_t *above; /* of each block: the nearest block that is on every way to it; PL_CENSUS_NONE: there is none */
    uint32_t *via;   /* of each block: the block before it on a shortest way from a root; PL_CENSUS_NONE: a root is */
    uint32_t *from;  /* of each block: the root at which that way begins; PL_RETAIN_LOST: none */
    uint64_t edges;
};

/* The census must have been settled. False: no memory. */
bool pl_retain_find(struct pl_retain *retain, struct pl_census *census, const struct pl_roots *roots,
                    struct pl_space *space, const struct pl_retain_namer *namer);
void pl_retain_free(struct pl_retain *retain);

#endif
