/* SPDX-License-Identifier: MIT */
/*
 * reach.h - which blocks of a running process nothing points to any more.
 *
 *   stop all threads ─ note registers, find the table of live blocks (census) ─ let the process copy itself, with
 *   that table (attach/remote) ─ let all threads go ─ read the table, find roots, follow pointers (verdict) in the copy
 * ─ end the copy
 *
 * Where a copy cannot be had, the process itself is read while it stands still; so is one that is about to end.
 */
#ifndef PL_REACH_H
#define PL_REACH_H

#include "core/blocks/blocks.h"
#include "reach/verdict.h"

#define PL_REACH_LAYOUT PL_BLOCKS_LAYOUT            /* the table of blocks that we can read */
#define PL_REACH_PLACES (PL_BLOCK_TALLY_MAX + 1ull) /* a block's `place` is less */

struct pl_reach {
    struct pl_census census;
    bool complete; /* every live block was known: free memory was not looked at */
    bool sampled;  /* not every block is recorded: verdicts are on samples, and on blocks that were counted */
    uint32_t threads;
    uint64_t still_ns;   /* how long all threads stood still, in all; of that */
    uint64_t copying_ns; /* the kernel took this to copy it: page tables, mostly */
    uint64_t read_bytes; /* of its memory */
    char whole[512];     /* why it was read while it stood still, unless it was ending; "": a copy was read */
    char problem[512];   /* after a failure, for people */
};

struct pl_reach_options {
    pid_t pid;
    uint64_t blocks_at; /* as the header of its profile says */
    uint64_t live_at;   /* the same for its samples; 0: all blocks are recorded */
    uint64_t inode;     /* of its profile */
    bool complete;      /* all blocks since its start are known */
    bool glibc;         /* with live_at: its malloc is that of glibc */
    /* Called in place of pl_verdicts_reach(), if no verdicts are wanted; NULL: they are. False: no memory. */
    bool (*instead)(void *context, struct pl_census *census, const struct pl_roots *roots, struct pl_space *space);
    void *context;
    void (*progress)(void *what, double fraction); /* of what is to be read; NULL: nobody wants to know */
    void *what;
    bool ending; /* it waits to end: it may stand still for as long as we read */
};

/* An interrupt ends it soon, and reaches the caller when the copy has gone. False: see `problem`. */
bool pl_reach_read(struct pl_reach *reach, const struct pl_reach_options *options);
void pl_reach_free(struct pl_reach *reach);

#endif
