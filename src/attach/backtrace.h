/* SPDX-License-Identifier: MIT */
/*
 * backtrace.h - the stack of a stopped thread of another process, by its unwind tables.
 *
 * The tables of a module are copied, with its ELF header, to where they lie relative to each other, so the runtime's
 * own parser reads them (core/unwind/ehframe.h). A stack that cannot be followed to its end counts as unknown.
 */
#ifndef PL_BACKTRACE_H
#define PL_BACKTRACE_H

#include "attach/loaded.h"

#define PL_BACKTRACE_FRAMES 512

struct pl_backtrace_frame {
    uint64_t pc;
    uint64_t function; /* the first address of the function */
    struct pl_loaded_module *module;
};

struct pl_backtrace {
    struct pl_backtrace_frame frame[PL_BACKTRACE_FRAMES]; /* innermost first */
    size_t frames;
    bool complete;
};

void pl_backtrace(const struct pl_tracee *tracee, struct pl_loaded *loaded,
                  const struct pl_machine_registers *registers, struct pl_backtrace *out);

/* Gives the copies back. */
void pl_backtrace_free(struct pl_loaded *loaded);

#endif
