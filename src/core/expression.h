/* SPDX-License-Identifier: MIT */
/*
 * expression.h - DWARF expressions: where a row of call frame information has more to say than register + offset.
 */
#ifndef PL_EXPRESSION_H
#define PL_EXPRESSION_H

#include "walk.h"

/* What an expression is computed from. */
struct pl_expression {
    const struct pl_cfi *cfi; /* the tables it lies in */
    uintptr_t at;             /* its length, then its operations */
    const struct pl_registers *registers;
    const uint64_t *first;  /* pushed before it begins (the CFA), or NULL */
    struct pl_walk *memory; /* reads go through it; NULL: an expression that reads memory fails */
    uint64_t *operands;     /* PL_EXPRESSION_DEPTH of them */
};

/* False: not understood, too deep, needs a register that is not known or memory that cannot be read. */
bool pl_expression_compute(const struct pl_expression *expression, uint64_t *out);

/* True if the expression is the lone address `register + offset`, or with `loads`, the word there. */
bool pl_expression_is_register(const struct pl_cfi *cfi, uintptr_t at, unsigned number, bool loads, int64_t *offset);

#endif
