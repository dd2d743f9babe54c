/* SPDX-License-Identifier: MIT */
/*
 * ehframe.h - finds the row of call frame information for an address.
 *
 * A compiler describes, for each instruction, where the caller's stack pointer was (the CFA, "canonical frame address")
 * and where the caller's registers are. The description is a little program per function in .eh_frame; running it up to
 * an instruction gives the row for that instruction.
 *
 * A search keeps all its state in struct pl_cfi, which the caller provides, because the cold path has very little
 * stack. The tables are not trusted: only the segment that contains them is read, and every value in them is checked.
 */
#ifndef PL_EHFRAME_H
#define PL_EHFRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "core/arch.h"
#include "core/unwind/cursor.h"
#include "core/unwind/find.h"

/* How to get a register of the caller, and what `value` then means. */
enum pl_how {
    PL_HOW_SAME,          /* unchanged */
    PL_HOW_UNDEFINED,     /* lost; for the return address: there is no caller */
    PL_HOW_AT_OFFSET,     /* in memory at CFA + value */
    PL_HOW_OFFSET,        /* is CFA + value */
    PL_HOW_AT_EXPRESSION, /* in memory at the address that the expression gives */
    PL_HOW_EXPRESSION,    /* is the value of the expression */
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
    PL_CFI_NO_MODULE, /* the address is in no module that the loader knows: JIT code, or no code at all */
    PL_CFI_NO_FDE,    /* in a module, but the tables do not describe this address */
    PL_CFI_BAD,       /* the tables are not understood */
};

struct pl_segment {
    uintptr_t start;
    uintptr_t end;
};

#define PL_CFI_SAVED 8 /* nested DW_CFA_remember_state; compilers nest one deep */

struct pl_cfi {
    struct pl_cfi_row row;
    uintptr_t function;       /* the first address of the function, or of a part of it that has been moved away */
    uintptr_t function_end;
    bool signal_frame;        /* a signal interrupted the caller: look it up at its pc, not at pc - 1 */
    struct pl_segment tables; /* the segment that contains the tables: no other memory is read */
    struct pl_found_module module;
    struct pl_found_module
        holder; /* the mapping that contains the tables, if the loader reports it as a separate one */

    /* the state of the search */
    uintptr_t where;
    uintptr_t row_start; /* the address at which the current row begins */
    uintptr_t entry;     /* the current entry of .eh_frame */
    bool sorted;         /* there is a sorted table, so no other entry can match */
    uint64_t code_align;
    int64_t data_align;
    struct pl_cursor cursor;  /* in the header, then in an FDE; at the end, at its program */
    struct pl_cursor common;  /* in its CIE; at the end, at the first part of the program */
    struct pl_cursor letters; /* the CIE's augmentation string */
    uint8_t pointer_encoding;
    bool augmented;
    uint8_t saved_rows;
    struct pl_cfi_row initial; /* the row after the CIE's part of the program, which DW_CFA_restore restores */
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

/* The segment of a module that contains an address. False if it lacks one of these flags (PF_R, PF_X), if no segment
 * contains the address, or if the module's ELF header is not mapped where it begins. */
bool pl_ehframe_segment(const struct pl_found_module *module, uintptr_t address, uint32_t flags,
                        struct pl_segment *out);

#endif
