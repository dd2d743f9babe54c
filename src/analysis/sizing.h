/* SPDX-License-Identifier: MIT */
/*
 * sizing.h - what allocators make of a size: how much memory a block really takes up.
 */
#ifndef PL_SIZING_H
#define PL_SIZING_H

#include "profile.h"

#define PL_SIZING_MOST (64u << 10) /* larger blocks are a matter of pages: nothing is claimed about them */

struct pl_sizing {
    const char *name; /* "glibc" */
    const char *rule; /* in words */
    const char *file; /* how the name of its library begins; NULL: an allocator that is not known */
    uint64_t header;  /* what every block has in front of it, and its owner cannot use */
    uint64_t mapped;  /* from this size on realloc may have the kernel move a block, which copies nothing; 0: never */
    uint64_t (*taken)(uint64_t bytes);
};

/* That of the allocator in charge; of one that is not known, nothing is. */
const struct pl_sizing *pl_sizing_of(const struct pl_profile *profile);
const struct pl_sizing *pl_sizing_named(const char *name); /* NULL: there is none */

/* What a block of so many bytes takes up, and the largest that takes up less. 0: not known; none does. */
uint64_t pl_sizing_taken(const struct pl_sizing *sizing, uint64_t bytes);
uint64_t pl_sizing_below(const struct pl_sizing *sizing, uint64_t bytes);

#endif
