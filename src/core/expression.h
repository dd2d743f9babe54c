/* SPDX-License-Identifier: MIT */
/*
 * expression.h - DWARF expressions: where a row of call frame information has more to say than register + offset.
 */
#ifndef PL_EXPRESSION_H
#define PL_EXPRESSION_H

#include "ehframe.h"

struct pl_walk;

struct pl_registers {
    uint64_t value[PL_ARCH_REGISTERS];
    uint32_t known; /* a bit per register */
};

#define PL_EXPRESSION_DEPTH 64

/* The machine that computes them. The caller sets the first three, and keeps it off the stack. */
struct pl_machine {
    const struct pl_cfi *cfi; /* the tables the expression lies in */
    const struct pl_registers *registers;
    struct pl_walk *memory; /* reads go through it; NULL: an expression that reads memory fails */

    struct pl_cursor program;
    const uint8_t *start;
    uint32_t depth;
    bool bad;
    uint64_t operand[PL_EXPRESSION_DEPTH];
};

/*
 * Computes the expression whose length is at `at`, with *first (the CFA) as its first operand unless that is NULL.
 * False: not understood, too deep, needs a register that is not known or memory that cannot be read.
 */
bool pl_expression_compute(struct pl_machine *machine, uintptr_t at, const uint64_t *first, uint64_t *out);

/* True if the expression is the lone address `register + offset`, or with `loads`, the word there. */
bool pl_expression_is_register(const struct pl_cfi *cfi, uintptr_t at, unsigned number, bool loads, int64_t *offset);

#endif
