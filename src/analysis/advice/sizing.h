/* SPDX-License-Identifier: MIT */
/*
 * sizing.h - how much memory a block really takes up, by the rule of its allocator.
 */
#ifndef PL_SIZING_H
#define PL_SIZING_H

#include "reader/profile.h"

#define PL_SIZING_MOST (64u << 10) /* larger blocks are rounded to pages; the rules do not cover them */

struct pl_sizing {
    const char *name; /* "glibc" */
    const char *rule; /* in words */
    const char *file; /* how the name of its library begins; NULL: an unknown allocator */
    uint64_t header;  /* bytes before every block, which the program cannot use */
    uint64_t mapped;  /* from this size on, the kernel may move a block in realloc without copying it; 0: never */
    uint64_t (*taken)(uint64_t bytes);
};

/* The rule of the allocator that the process used. An unknown allocator has a rule that answers 0. */
const struct pl_sizing *pl_sizing_of(const struct pl_profile *profile);
const struct pl_sizing *pl_sizing_named(const char *name); /* NULL: there is none */

/* taken: the memory that a block of this size takes up; 0: not known. below: the largest size that takes up less; 0:
 * none does. */
uint64_t pl_sizing_taken(const struct pl_sizing *sizing, uint64_t bytes);
uint64_t pl_sizing_below(const struct pl_sizing *sizing, uint64_t bytes);

#endif
