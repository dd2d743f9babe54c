/* SPDX-License-Identifier: MIT */
/*
 * reference.h - the same stack, unwound by libgcc.
 *
 * It is a separate file because <unwind.h> is libgcc's here and ours elsewhere.
 */
#ifndef REFERENCE_H
#define REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REFERENCE_HALF 128 /* as many frames as a walk keeps at either end */

struct reference {
    uintptr_t start_sp;
    bool started;
    size_t count;
    uintptr_t inner[REFERENCE_HALF];
    uintptr_t outer[REFERENCE_HALF];  /* a ring: frame n is at n % REFERENCE_HALF */
    bool inner_exact[REFERENCE_HALF]; /* the frame was interrupted, it did not call */
    bool outer_exact[REFERENCE_HALF];
};

/* Walks outwards from the frame whose stack pointer is start_sp. False: there is no such frame. */
bool reference_walk(struct reference *reference, uintptr_t start_sp);

/* Frame `number`, counted from the innermost; false if it does not exist or was not kept. */
bool reference_frame(const struct reference *reference, size_t number, uintptr_t *pc, bool *exact);

#endif
