/* SPDX-License-Identifier: MIT */
/*
 * code.h - finds out how a function returns by reading its instructions.
 *
 * musl is built without unwind tables, and many of its functions (strdup, getline, asprintf) allocate for their caller.
 * A function that goes on after a call will return at some time: on any path from the call to a `ret`, the instructions
 * say how far the return address is from the stack pointer now, and where the caller's frame pointer is saved.
 */
#ifndef PL_CODE_H
#define PL_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/unwind/ehframe.h"

/* A path that has not been followed yet, or the one that is being followed. Offsets are from sp at the start. */
struct pl_code_path {
    uintptr_t at;
    int32_t sp;
    int32_t fp_at;     /* where the caller's fp is saved, if fp_saved */
    uint8_t fp_pushed; /* how often this path has pushed fp */
    bool from_fp;      /* `sp`, and `fp_at`, are offsets from the fp at the start */
    bool fp_saved;
};

#define PL_CODE_PATHS 16
#define PL_CODE_SEEN 48

/* Scratch space. */
struct pl_code {
    struct pl_code_path path[PL_CODE_PATHS]; /* still to be followed */
    uintptr_t seen[PL_CODE_SEEN];            /* targets of jumps that were followed */
    struct pl_code_path now;                 /* the one that is followed, and the result */
    unsigned paths;
    unsigned targets;
    unsigned steps;
    bool unsure; /* a path was left before its end */
};

enum pl_code_result {
    PL_CODE_RETURNS, /* `now` is the state just before the `ret` */
    PL_CODE_NEVER,   /* every path was followed, and none returns: the outermost function of a thread */
    PL_CODE_UNKNOWN,
};

/* Follows the code from `pc` on. It does not leave `segment`, which must be readable. */
enum pl_code_result pl_code_follow(struct pl_code *code, uintptr_t pc, struct pl_segment segment);

#endif
