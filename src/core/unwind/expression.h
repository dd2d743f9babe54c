/* SPDX-License-Identifier: MIT */
/*
 * expression.h - DWARF expressions, for rows of call frame information that are more than register + offset.
 */
#ifndef PL_EXPRESSION_H
#define PL_EXPRESSION_H

#include "core/unwind/ehframe.h"

struct pl_walk;

struct pl_registers {
    uint64_t value[PL_ARCH_REGISTERS];
    uint64_t known; /* a bit per register */
};

#define PL_EXPRESSION_DEPTH 64

/* The machine that computes expressions. The caller sets the first three fields, and must not put it on the stack. */
struct pl_machine {
    const struct pl_cfi *cfi; /* the tables that contain the expression */
    const struct pl_registers *registers;
    struct pl_walk *memory; /* reads go through it; NULL: an expression that reads memory fails */

    struct pl_cursor program;
    const uint8_t *start;
    uint32_t depth;
    bool bad;
    uint64_t operand[PL_EXPRESSION_DEPTH];
};

/*
 * Computes the expression whose length is at `at`, with *first (the CFA) as its first operand unless `first` is NULL.
 * False: not understood, too deep, or needs a register that is not known or memory that cannot be read.
 */
bool pl_expression_compute(struct pl_machine *machine, uintptr_t at, const uint64_t *first, uint64_t *out);

/* True if the expression is just `register + offset` or, with `loads`, the word at that address. */
bool pl_expression_is_register(const struct pl_cfi *cfi, uintptr_t at, unsigned number, bool loads, int64_t *offset);

#endif
