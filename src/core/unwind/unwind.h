/* SPDX-License-Identifier: MIT */
/*
 * unwind.h - the unwinder: lists the frames from a hook's caller outwards.
 *
 * Return addresses map to 30-bit rules (rules.h), built once from .eh_frame (ehframe.h) and cached; a walk is then a
 * few loads per frame. No allocation, no lock, no libc call but _dl_find_object. Async-signal-safe. The caller provides
 * all memory: struct pl_walk lies in the thread's block, because the cold path may use at most 1 KiB of stack.
 */
#ifndef PL_UNWIND_H
#define PL_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

#include "core/arch.h"
#include "core/compiler.h"
#include "format/format.h"

#define PL_WALK_FRAMES 256 /* frames kept; deeper stacks keep the inner and outer half, with a PL_FRAME_GAP between */

/* The registers of the hook's caller as they will be just after the hook returns. */
struct pl_start {
    uintptr_t pc;
    uintptr_t sp;
    uintptr_t fp;
};

/* To be expanded in a function with a frame pointer, which the program has called or a hook has jumped to. If that
 * function has realigned the stack, its frame is not right below the caller's. */
#define PL_START_HERE(start)                                                                                           \
    do {                                                                                                               \
        uintptr_t *frame_ = __builtin_frame_address(0);                                                                \
        (start)->fp = frame_[0];                                                                                       \
        (start)->pc = pl_arch_code(frame_[1]);                                                                         \
        (start)->sp = (uintptr_t) __builtin_dwarf_cfa();                                                               \
    } while (0)

/*
 * The thread's own stack. Finding it makes no system call: `hi` is an anchor above sp (the thread pointer, or the main
 * thread's stack end), and `lo` is as far below it as stacks usually go. [proven, hi) may be read without probing: it
 * begins empty, and walks extend it downwards (bounds.c). hi = 0: nothing is known, every walk probes every page.
 */
struct pl_stack_bounds {
    uintptr_t lo;
    uintptr_t hi;
    uintptr_t proven;
};
extern HIDDEN uintptr_t pl_bounds_stack_end; /* of the main thread, if libc does not tell; set by the front end */
void pl_bounds_find(struct pl_stack_bounds *bounds, uintptr_t sp);

/* One walk and its scratch space. Frames are innermost first; each word is a pc with PL_FRAME_* flags in the top byte
 * (a GAP word is the flag alone). */
struct pl_walk {
    struct pl_stack_bounds own;
    bool may_probe; /* false in a sandbox: a stack that is not the thread's own ends the walk */
    uint32_t frames;
    uint32_t walked; /* frames seen, with those not kept */
    enum pl_stop stop;
    uint64_t frame[PL_WALK_FRAMES + 1];
    uintptr_t ground_lo; /* the range around the current frame that this walk may read: see bounds.c */
    uintptr_t ground_hi;
    uint64_t scratch[PL_ARCH_FRAME_WORDS]; /* for the slow path: CFI rows, register files (struct pl_scratch) */
};

void pl_unwind(struct pl_walk *walk, const struct pl_start *start);

/* Asks the kernel what stacks of this machine may have on them. Called once, before the process can be in a sandbox;
 * without it, frames of vector code end a stack. */
void pl_unwind_prepare(void);

/* Discards all cached rules. Called when a module is unloaded, because other code may get its addresses. */
void pl_rule_forget(void);

/* This is a forked child: new rules go where they copy few pages of its parent (rules.h). */
void pl_rule_put_aside(void);

#endif
