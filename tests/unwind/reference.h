/* SPDX-License-Identifier: MIT */
/*
 * reference.h - the same stack, as libgcc's unwinder sees it.
 *
 * A file of its own, because <unwind.h> is libgcc's here and ours elsewhere.
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
    bool inner_exact[REFERENCE_HALF]; /* interrupted there, not called */
    bool outer_exact[REFERENCE_HALF];
};

/* Walks from the frame whose stack pointer is start_sp outwards. False: there was no such frame. */
bool reference_walk(struct reference *reference, uintptr_t start_sp);

/* Frame `number`, counted from the innermost; false if it does not exist or was not kept. */
bool reference_frame(const struct reference *reference, size_t number, uintptr_t *pc, bool *exact);

#endif
