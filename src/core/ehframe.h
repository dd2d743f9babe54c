/* SPDX-License-Identifier: MIT */
/*
 * ehframe.h - from an address to its row of call frame information.
 *
 * A compiler describes, for each instruction, where the caller's stack pointer was (the CFA, "canonical frame address")
 * and where the caller's registers are to be found. The description is a little program per function in .eh_frame;
 * running it up to an instruction gives the row for that instruction.
 *
 * Everything a search needs is in struct pl_cfi, which is the caller's, since the cold path has next to no stack.
 * Tables are taken as hostile: nothing outside of the segment they lie in is read, and nothing in them is believed
 * unchecked.
 */
#ifndef PL_EHFRAME_H
#define PL_EHFRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "arch.h"
#include "cursor.h"
#include "find.h"

/* How to get a register of the caller, and what `value` then means. */
enum pl_how {
    PL_HOW_SAME,          /* unchanged */
    PL_HOW_UNDEFINED,     /* lost; for the return address: there is no caller */
    PL_HOW_AT_OFFSET,     /* in memory at CFA + value */
    PL_HOW_OFFSET,        /* is CFA + value */
    PL_HOW_AT_EXPRESSION, /* in memory where the expression says */
    PL_HOW_EXPRESSION,    /* is what the expression says */
    PL_HOW_REGISTER,      /* in register number `value` */
};

struct pl_cfi_row {
    int64_t value[PL_ARCH_REGISTERS]; /* an expression is given by the address of its length */
    int64_t cfa_offset;               /* CFA = cfa_register + cfa_offset, unless cfa_is_expression */
    uintptr_t cfa_expression;
    uint8_t how[PL_ARCH_REGISTERS];
    uint8_t cfa_register;
    bool cfa_is_expression;
};

enum pl_cfi_result {
    PL_CFI_FOUND,
    PL_CFI_NO_MODULE, /* the address belongs to nothing the loader knows: JIT code, or no code at all */
    PL_CFI_NO_FDE,    /* a module, but no description of this address */
    PL_CFI_BAD,       /* a description that is not understood */
};

struct pl_segment {
    uintptr_t start;
    uintptr_t end;
};

#define PL_CFI_SAVED 8 /* nested DW_CFA_remember_state; compilers nest one deep */

struct pl_cfi {
    struct pl_cfi_row row;
    uintptr_t function;       /* the first address that the description is about */
    bool signal_frame;        /* the caller was interrupted: look it up at its pc, not before it */
    struct pl_segment tables; /* what holds the tables: the only memory that is read */
    struct pl_found module;
    struct pl_found holder; /* of the tables, if the loader sees that as another */

    /* the search's own */
    uintptr_t where;
    uintptr_t row_start; /* the address that the row being made begins at */
    uintptr_t entry;     /* of .eh_frame, being looked at */
    bool sorted;         /* no other entry can be it */
    uint64_t code_align;
    int64_t data_align;
    struct pl_cursor cursor;  /* into the header, then an FDE: in the end, its program */
    struct pl_cursor common;  /* into its CIE: in the end, the program's beginning */
    struct pl_cursor letters; /* what the CIE's augmentation is made of */
    uint8_t pointer_encoding;
    bool augmented;
    uint8_t saved_rows;
    struct pl_cfi_row initial; /* after the CIE's part of the program: what DW_CFA_restore restores */
    struct pl_cfi_row saved[PL_CFI_SAVED];
};

/* The row for the instruction that contains `where`. */
enum pl_cfi_result pl_ehframe_find(struct pl_cfi *cfi, uintptr_t where);

/* Reads the tables from `at` on; bad at once if that lies outside of them. */
INLINE struct pl_cursor pl_ehframe_cursor(const struct pl_cfi *cfi, uintptr_t at)
{
    const uint8_t *end = (const uint8_t *) cfi->tables.end;
    bool inside = at >= cfi->tables.start && at <= cfi->tables.end;
    return (struct pl_cursor){inside ? (const uint8_t *) at : end, end, !inside};
}

/* The segment of a module around an address, if it has these flags (PF_R, PF_X). False too if the address is in a hole,
 * or the module does not show its ELF header. */
bool pl_ehframe_segment(const struct pl_found *module, uintptr_t address, uint32_t flags, struct pl_segment *out);

#endif
