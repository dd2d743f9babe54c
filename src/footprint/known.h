/* SPDX-License-Identifier: MIT */
/*
 * known.h - the live blocks of a running process whose addresses the profiler knows: all of them in exact mode, the
 * samples in sampled mode, both if auto mode has changed over.
 *
 * The process goes on while its tables are read. A block that is freed meanwhile may be there or not; one that moves
 * from one size to another may be there with either.
 */
#ifndef PL_KNOWN_H
#define PL_KNOWN_H

#include "reach/memory/space.h"

struct pl_known_block {
    uint64_t address;
    uint64_t size;
    double weight;  /* stands for so many blocks of its size; 1: itself, counted exactly */
    uint32_t place; /* exact: of its tally, in units of 64 bytes; sampled: the number of its row */
    bool sampled;
    bool vague; /* it begins here, or 16 bytes later */
};

struct pl_known {
    struct pl_known_block *block; /* by address */
    uint32_t count, room;
};

/* Addresses as its profile's header has them; 0: there is no such table. False: they cannot be read. */
bool pl_known_read(struct pl_known *known, struct pl_space *space, uint64_t blocks_at, uint64_t live_at);
void pl_known_free(struct pl_known *known);

/* The first block that begins at this address or later; `count`: none. */
uint32_t pl_known_from(const struct pl_known *known, uint64_t address);

#endif
