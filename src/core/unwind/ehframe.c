/* SPDX-License-Identifier: MIT */
/*
 * ehframe.c - finds the description of a function in .eh_frame and runs it up to an address.
 *
 *   .eh_frame_hdr ── sorted table of functions ──► FDE (one function: its range, its program)
 *                                                   └─► CIE (shared by many functions: the first part of the program)
 *
 * Called when the rule cache misses, and for each frame of the rare walks that need all registers.
 */
#include "core/unwind/ehframe.h"

#include <elf.h>

#include "core/compiler.h"
#include "core/unwind/cursor.h"

#define ENCODING_OMIT 0xff
#define ENCODING_FORM(encoding) ((encoding) &0x0f)
#define ENCODING_BASE(encoding) ((encoding) &0xf0) /* with the bit for "indirect", which we do not accept */
#define BASE_ABSOLUTE 0x00
#define BASE_HERE 0x10
#define BASE_HEADER 0x30
#define FORM_ULEB 1
#define FORM_SLEB 9
#define SORTED_TABLE 0x3b /* signed 4-byte offsets from the header: what every linker writes */

#define PAGE_BYTES 4096

/* Widths of the fixed forms of a pointer; negative: signed. */
static const int8_t form_bytes[16] = {
    [0x0] = 8, [0x2] = 2, [0x3] = 4, [0x4] = 8, [0xa] = -2, [0xb] = -4, [0xc] = -8,
};

static COLD uint64_t take_number(struct pl_cursor *cursor, uint8_t form)
{
    int bytes = form_bytes[form];
    if (form == FORM_ULEB)
        return pl_cursor_uleb(cursor);
    if (form == FORM_SLEB)
        return (uint64_t) pl_cursor_sleb(cursor);
    if (bytes == 0)
        pl_cursor_fail(cursor);
    if (bytes >= 0)
        return pl_cursor_fixed(cursor, (unsigned) bytes);
    return (uint64_t) pl_cursor_sign_extend(pl_cursor_fixed(cursor, (unsigned) -bytes), 8 * (unsigned) -bytes);
}

static COLD uintptr_t take_pointer(struct pl_cursor *cursor, uint8_t encoding, uintptr_t header)
{
    uintptr_t here = (uintptr_t) cursor->at;
    uintptr_t value = take_number(cursor, ENCODING_FORM(encoding));
    switch (ENCODING_BASE(encoding)) {
    case BASE_ABSOLUTE:
        return value;
    case BASE_HERE:
        return value + here;
    case BASE_HEADER:
        return value + header;
    default:
        pl_cursor_fail(cursor);
        return 0;
    }
}

/* The program headers, if they are in the first page of the module. It may be smaller than a page, as qemu's vDSO is.
 */
static const Elf64_Phdr *program_headers(const struct pl_found_module *module, unsigned *count)
{
    const Elf64_Ehdr *elf = (const Elf64_Ehdr *) module->start;
    uintptr_t bytes = module->end - module->start;
    if (bytes > PAGE_BYTES)
        bytes = PAGE_BYTES;
    if (module->start % PAGE_BYTES || bytes < sizeof(Elf64_Ehdr))
        return NULL;
    if (elf->e_ident[0] != ELFMAG0 || elf->e_ident[1] != ELFMAG1 || elf->e_ident[2] != ELFMAG2 ||
        elf->e_ident[3] != ELFMAG3 || elf->e_phentsize != sizeof(Elf64_Phdr))
        return NULL;
    if (elf->e_phoff % 8 || elf->e_phoff > bytes || elf->e_phnum > (bytes - elf->e_phoff) / sizeof(Elf64_Phdr))
        return NULL;
    *count = elf->e_phnum;
    return (const Elf64_Phdr *) (module->start + elf->e_phoff);
}

bool pl_ehframe_segment(const struct pl_found_module *module, uintptr_t address, uint32_t flags, struct pl_segment *out)
{
    unsigned count = 0;
    const Elf64_Phdr *program = program_headers(module, &count);
    for (unsigned i = 0; program != NULL && i < count; i++) {
        uintptr_t start = program[i].p_vaddr + module->bias;
        if (program[i].p_type != PT_LOAD || address - start >= program[i].p_filesz)
            continue;
        out->start = start;
        out->end = start + program[i].p_filesz;
        return (program[i].p_flags & flags) == flags;
    }
    return false;
}

/*
 * A module may have holes between its segments, so we read the tables only within their segment, if the segment is
 * known. Where segments lie apart, the loader only reports the mapping around the address: then we ask it again, for
 * the mapping that contains the tables.
 */
static bool bound_tables(struct pl_cfi *cfi)
{
    uintptr_t header = (uintptr_t) cfi->module.eh_frame_hdr;
    struct pl_found_module *holder = &cfi->module;
    if (pl_ehframe_segment(holder, header, PF_R, &cfi->tables))
        return true;
    if (header < holder->start || header >= holder->end) {
        holder = &cfi->holder;
        if (!pl_find_module(header, holder))
            return false;
    }
    cfi->tables.start = holder->start;
    cfi->tables.end = holder->end;
    return true;
}

/*
 * An entry of .eh_frame begins with its length and a word: 0 for a CIE; for an FDE, the distance from the word back to
 * its CIE. Leaves *body after the word.
 */
static COLD bool open_entry(const struct pl_cfi *cfi, uintptr_t at, struct pl_cursor *body, uint32_t *word)
{
    *body = pl_ehframe_cursor(cfi, at);
    uint64_t bytes = pl_cursor_fixed(body, 4);
    if (body->bad || bytes < 4 || bytes > pl_cursor_left(body)) /* 64-bit lengths (all ones) end here too */
        return false;
    body->end = body->at + bytes;
    *word = (uint32_t) pl_cursor_fixed(body, 4);
    return true;
}

/* The letters after 'z' in a CIE's augmentation say what its data holds. */
static COLD void take_augmentation(struct pl_cfi *cfi, struct pl_cursor *data)
{
    for (uint8_t letter; (letter = pl_cursor_byte(&cfi->letters)) != 0;) {
        uint8_t encoding;
        switch (letter) {
        case 'R':
            cfi->pointer_encoding = pl_cursor_byte(data);
            break;
        case 'P': /* personality: skipped */
            encoding = pl_cursor_byte(data);
            if (encoding != ENCODING_OMIT)
                take_number(data, ENCODING_FORM(encoding));
            break;
        case 'L':
            pl_cursor_byte(data);
            break;
        case 'S':
            cfi->signal_frame = true;
            break;
        case 'B': /* AArch64: return addresses are signed with the B key; the frame has memory tags */
        case 'G':
            break;
        default: /* the caller knows the length, so the rest can be skipped */
            return;
        }
    }
}

/* Reads the fixed part of a CIE. Leaves the cursor after it, and `letters` at the augmentation string. */
static COLD bool open_cie(struct pl_cfi *cfi, uintptr_t at)
{
    struct pl_cursor *cursor = &cfi->common;
    uint32_t word;
    if (!open_entry(cfi, at, cursor, &word) || word != 0)
        return false;
    uint8_t version = pl_cursor_byte(cursor);
    cfi->letters = *cursor;
    while (pl_cursor_byte(cursor) != 0)
        ;
    if (version == 4 && pl_cursor_fixed(cursor, 2) != sizeof(uintptr_t)) /* address size 8, no segments */
        return false;
    cfi->code_align = pl_cursor_uleb(cursor);
    cfi->data_align = pl_cursor_sleb(cursor);
    uint64_t return_register = version == 1 ? pl_cursor_byte(cursor) : pl_cursor_uleb(cursor);
    return return_register == PL_ARCH_RETURN && (version == 1 || version == 3 || version == 4) && !cursor->bad;
}

/* Reads the rest of the CIE, up to its program. */
static COLD bool augment_cie(struct pl_cfi *cfi)
{
    struct pl_cursor *cursor = &cfi->common;
    cfi->pointer_encoding = BASE_ABSOLUTE;
    cfi->signal_frame = false;
    uint8_t first = pl_cursor_byte(&cfi->letters);
    cfi->augmented = first == 'z';
    if (!cfi->augmented)
        return first == 0;
    uint64_t bytes = pl_cursor_uleb(cursor);
    const uint8_t *data = cursor->at;
    take_augmentation(cfi, cursor);
    if (cursor->bad || (uint64_t) (cursor->end - data) < bytes)
        return false;
    cursor->at = data + bytes;
    return true;
}

/* Reads the FDE at `at`. If it covers the address, leaves the cursor at its program. */
static COLD enum pl_cfi_result open_fde(struct pl_cfi *cfi, uintptr_t at)
{
    struct pl_cursor *cursor = &cfi->cursor;
    uint32_t word;
    if (!open_entry(cfi, at, cursor, &word) || word == 0 || !open_cie(cfi, at + 4 - word) || !augment_cie(cfi))
        return PL_CFI_BAD;
    uintptr_t start = take_pointer(cursor, cfi->pointer_encoding, 0);
    uintptr_t bytes = take_number(cursor, ENCODING_FORM(cfi->pointer_encoding));
    if (cfi->augmented)
        pl_cursor_skip(cursor, pl_cursor_uleb(cursor));
    cfi->function = cfi->row_start = start;
    cfi->function_end = start + bytes;
    if (cursor->bad)
        return PL_CFI_BAD;
    return cfi->where - start < bytes ? PL_CFI_FOUND : PL_CFI_NO_FDE;
}

/* One half of a pair of the sorted table. The table may not be aligned. */
static int64_t table_offset(const uint8_t *table, uint64_t number)
{
    struct offset {
        int32_t value;
    } __attribute__((packed));
    return ((const struct offset *) table)[number].value;
}

/* Pairs of (function, FDE), sorted by function, both as offsets from the header. 0: before the first function. */
static COLD uintptr_t search_table(const struct pl_cfi *cfi, uint64_t count)
{
    uintptr_t header = (uintptr_t) cfi->module.eh_frame_hdr;
    const uint8_t *table = cfi->cursor.at;
    int64_t wanted = (int64_t) (cfi->where - header);
    uint64_t low = 0;
    uint64_t high = pl_cursor_left(&cfi->cursor) / 8;
    if (count < high)
        high = count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (table_offset(table, 2 * middle) <= wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? header + (uintptr_t) table_offset(table, 2 * low - 1) : 0;
}

/*
 * Sets the entry at which to begin. A header with a sorted table gives the only FDE that can match (0: none); without
 * one, all entries have to be tried, from the first.
 */
static COLD bool search_header(struct pl_cfi *cfi)
{
    uintptr_t header = (uintptr_t) cfi->module.eh_frame_hdr;
    struct pl_cursor *cursor = &cfi->cursor;
    *cursor = pl_ehframe_cursor(cfi, header);
    uint32_t encodings = (uint32_t) pl_cursor_fixed(cursor, 4); /* the first byte is the version */
    uint8_t count_encoding = (uint8_t) (encodings >> 16);
    cfi->entry = take_pointer(cursor, (uint8_t) (encodings >> 8), header);
    cfi->sorted = count_encoding != ENCODING_OMIT && encodings >> 24 == SORTED_TABLE;
    if (cfi->sorted) {
        uint64_t count = take_pointer(cursor, count_encoding, header);
        cfi->entry = search_table(cfi, count);
    }
    return !cursor->bad && (uint8_t) encodings == 1;
}

/* Moves to the entry after the current one. False: there is none, or no other entry can match. */
static COLD bool next_entry(struct pl_cfi *cfi)
{
    uint32_t word;
    if (cfi->sorted || !open_entry(cfi, cfi->entry, &cfi->cursor, &word))
        return false;
    cfi->entry = (uintptr_t) cfi->cursor.end;
    return true;
}

static enum pl_cfi_result find_fde(struct pl_cfi *cfi)
{
    enum pl_cfi_result result = PL_CFI_NO_FDE;
    if (!search_header(cfi))
        return PL_CFI_BAD;
    if (cfi->entry == 0)
        return PL_CFI_NO_FDE;
    do {
        result = open_fde(cfi, cfi->entry);
    } while (result != PL_CFI_FOUND && next_entry(cfi));
    return cfi->sorted || result == PL_CFI_FOUND ? result : PL_CFI_NO_FDE;
}

/* Copied by hand: for an assignment the compiler would call memcpy. */
static COLD void copy_row(struct pl_cfi_row *to, const struct pl_cfi_row *from)
{
    for (int i = 0; i < PL_ARCH_REGISTERS; i++) {
        to->value[i] = from->value[i];
        to->how[i] = from->how[i];
    }
    to->cfa_offset = from->cfa_offset;
    to->cfa_expression = from->cfa_expression;
    to->cfa_register = from->cfa_register;
    to->cfa_is_expression = from->cfa_is_expression;
}

static COLD void clear_row(struct pl_cfi_row *row)
{
    for (int i = 0; i < PL_ARCH_REGISTERS; i++) {
        row->value[i] = 0;
        row->how[i] = PL_HOW_SAME;
    }
    row->cfa_offset = 0;
    row->cfa_expression = 0;
    row->cfa_register = PL_ARCH_SP;
    row->cfa_is_expression = false;
}

/*
 * The instructions as a table: what each does, and how its operands are written. Three of them carry their first
 * operand in the low six bits of the opcode (COMPACT).
 */
enum action {
    UNKNOWN,
    NOTHING,
    ADVANCE,
    MOVE_TO,
    SET,
    RESTORE,
    REMEMBER,
    RECALL,
    CFA,
    CFA_REGISTER,
    CFA_OFFSET,
    CFA_EXPRESSION,
};

enum operand {
    NONE,
    COMPACT,
    BYTES_1,
    BYTES_2,
    BYTES_4,
    POINTER,
    ULEB,
    ULEB_FACTORED, /* times the CIE's data alignment */
    SLEB_FACTORED,
    ULEB_NEGATED,
    BLOCK,
};

struct instruction {
    uint8_t action;
    uint8_t first;
    uint8_t second;
    uint8_t how;
};

static const struct instruction extended[0x40] = {
    [0x00] = {NOTHING, NONE, NONE, 0},
    [0x01] = {MOVE_TO, POINTER, NONE, 0},
    [0x02] = {ADVANCE, BYTES_1, NONE, 0},
    [0x03] = {ADVANCE, BYTES_2, NONE, 0},
    [0x04] = {ADVANCE, BYTES_4, NONE, 0},
    [0x05] = {SET, ULEB, ULEB_FACTORED, PL_HOW_AT_OFFSET},
    [0x06] = {RESTORE, ULEB, NONE, 0},
    [0x07] = {SET, ULEB, NONE, PL_HOW_UNDEFINED},
    [0x08] = {SET, ULEB, NONE, PL_HOW_SAME},
    [0x09] = {SET, ULEB, ULEB, PL_HOW_REGISTER},
    [0x0a] = {REMEMBER, NONE, NONE, 0},
    [0x0b] = {RECALL, NONE, NONE, 0},
    [0x0c] = {CFA, ULEB, ULEB, 0},
    [0x0d] = {CFA_REGISTER, ULEB, NONE, 0},
    [0x0e] = {CFA_OFFSET, NONE, ULEB, 0},
    [0x0f] = {CFA_EXPRESSION, NONE, BLOCK, 0},
    [0x10] = {SET, ULEB, BLOCK, PL_HOW_AT_EXPRESSION},
    [0x11] = {SET, ULEB, SLEB_FACTORED, PL_HOW_AT_OFFSET},
    [0x12] = {CFA, ULEB, SLEB_FACTORED, 0},
    [0x13] = {CFA_OFFSET, NONE, SLEB_FACTORED, 0},
    [0x14] = {SET, ULEB, ULEB_FACTORED, PL_HOW_OFFSET},
    [0x15] = {SET, ULEB, SLEB_FACTORED, PL_HOW_OFFSET},
    [0x16] = {SET, ULEB, BLOCK, PL_HOW_EXPRESSION},
    [0x2c] = {PL_ARCH_SIGNS_CODE ? NOTHING : UNKNOWN, NONE, NONE,
              0}, /* the return address is signed from here on, or no */
    [0x2d] = {PL_ARCH_SIGNS_CODE ? NOTHING : UNKNOWN, NONE, NONE, 0}, /* longer: we remove signatures in any case */
    [0x2e] = {NOTHING, ULEB, NONE, 0},                                /* size of the arguments pushed */
    [0x2f] = {SET, ULEB, ULEB_NEGATED, PL_HOW_AT_OFFSET},
};

static const struct instruction compact[4] = {
    [1] = {ADVANCE, COMPACT, NONE, 0},
    [2] = {SET, COMPACT, ULEB_FACTORED, PL_HOW_AT_OFFSET},
    [3] = {RESTORE, COMPACT, NONE, 0},
};

static uint64_t take_block(struct pl_cursor *cursor)
{
    uint64_t at = (uintptr_t) cursor->at;
    pl_cursor_skip(cursor, pl_cursor_uleb(cursor));
    return at;
}

static COLD uint64_t take_operand(const struct pl_cfi *cfi, struct pl_cursor *cursor, uint8_t operand, uint8_t opcode)
{
    switch ((enum operand) operand) {
    case NONE:
        return 0;
    case COMPACT:
        return opcode & 0x3f;
    case BYTES_1:
        return pl_cursor_fixed(cursor, 1);
    case BYTES_2:
        return pl_cursor_fixed(cursor, 2);
    case BYTES_4:
        return pl_cursor_fixed(cursor, 4);
    case POINTER:
        return take_pointer(cursor, cfi->pointer_encoding, 0);
    case ULEB:
        return pl_cursor_uleb(cursor);
    case ULEB_FACTORED:
        return pl_cursor_uleb(cursor) * (uint64_t) cfi->data_align;
    case SLEB_FACTORED:
        return (uint64_t) pl_cursor_sleb(cursor) * (uint64_t) cfi->data_align;
    case ULEB_NEGATED:
        return -(pl_cursor_uleb(cursor) * (uint64_t) cfi->data_align);
    case BLOCK:
        return take_block(cursor);
    }
    return 0;
}

/* The same, without a call for the usual operands: none, a part of the opcode, or a number of one byte. */
INLINE uint64_t operand_of(const struct pl_cfi *cfi, struct pl_cursor *cursor, uint8_t operand, uint8_t opcode)
{
    if (operand == NONE)
        return 0;
    if (operand == COMPACT)
        return opcode & 0x3f;
    bool is_uleb = operand == ULEB || operand == ULEB_FACTORED;
    if (!is_uleb || cursor->at >= cursor->end || *cursor->at >= 0x80)
        return take_operand(cfi, cursor, operand, opcode);
    uint64_t number = *cursor->at++;
    return operand == ULEB ? number : number * (uint64_t) cfi->data_align;
}

/* Ignores registers that no walk needs (vector registers). */
static void set_register(struct pl_cfi_row *row, uint64_t number, uint8_t how, uint64_t value)
{
    if (number >= PL_ARCH_REGISTERS)
        return;
    row->how[number] = how;
    row->value[number] = (int64_t) value;
}

static bool set_cfa_register(struct pl_cfi_row *row, uint64_t number)
{
    if (number >= PL_ARCH_REGISTERS)
        return false;
    row->cfa_register = (uint8_t) number;
    row->cfa_is_expression = false;
    return true;
}

static bool remember_row(struct pl_cfi *cfi)
{
    if (cfi->saved_rows == PL_CFI_SAVED)
        return false;
    copy_row(&cfi->saved[cfi->saved_rows++], &cfi->row);
    return true;
}

static bool recall_row(struct pl_cfi *cfi)
{
    if (cfi->saved_rows == 0)
        return false;
    copy_row(&cfi->row, &cfi->saved[--cfi->saved_rows]);
    return true;
}

/* False: an instruction that is not understood. */
static COLD bool apply(struct pl_cfi *cfi, const struct instruction *instruction, uint64_t first, uint64_t second)
{
    struct pl_cfi_row *row = &cfi->row;
    switch ((enum action) instruction->action) {
    case UNKNOWN:
        return false;
    case NOTHING:
        return true;
    case ADVANCE:
        cfi->row_start += first * cfi->code_align;
        return true;
    case MOVE_TO:
        cfi->row_start = first;
        return true;
    case SET:
        set_register(row, first, instruction->how, second);
        return true;
    case RESTORE:
        if (first < PL_ARCH_REGISTERS)
            set_register(row, first, cfi->initial.how[first], (uint64_t) cfi->initial.value[first]);
        return true;
    case REMEMBER:
        return remember_row(cfi);
    case RECALL:
        return recall_row(cfi);
    case CFA:
        row->cfa_offset = (int64_t) second;
        return set_cfa_register(row, first);
    case CFA_REGISTER:
        return set_cfa_register(row, first);
    case CFA_OFFSET:
        row->cfa_offset = (int64_t) second;
        return true;
    case CFA_EXPRESSION:
        row->cfa_expression = second;
        row->cfa_is_expression = true;
        return true;
    }
    return false;
}

#define COMPACT_ADVANCE 0x40 /* and the distance in the low six bits */
#define ADVANCE_1 0x02
#define CFA_OFFSET_ULEB 0x0e

/* Follows the instructions that move on, or change how far away the CFA is, with operands of one byte: the program of a
 * large function has thousands of them. Stops before the first other one. */
INLINE void run_usual(struct pl_cfi *cfi, struct pl_cursor *program)
{
    const uint8_t *at = program->at, *end = program->end;
    uintptr_t row_start = cfi->row_start, where = cfi->where;
    int64_t cfa_offset = cfi->row.cfa_offset;
    for (; end - at >= 2 && row_start <= where; at++) {
        if ((*at & 0xc0) == COMPACT_ADVANCE)
            row_start += (*at & 0x3f) * cfi->code_align;
        else if (*at == CFA_OFFSET_ULEB && at[1] < 0x80)
            cfa_offset = *++at;
        else if (*at == ADVANCE_1)
            row_start += *++at * cfi->code_align;
        else
            break;
    }
    program->at = at;
    cfi->row_start = row_start;
    cfi->row.cfa_offset = cfa_offset;
}

/* Runs a program until its end, or until the next row would begin after the address. */
static __attribute__((noinline)) bool run(struct pl_cfi *cfi, struct pl_cursor *program)
{
    for (;;) {
        run_usual(cfi, program);
        if (program->at >= program->end || cfi->row_start > cfi->where)
            break;
        uint8_t opcode = *program->at++;
        const struct instruction *instruction = opcode >> 6 ? &compact[opcode >> 6] : &extended[opcode];
        uint64_t first = operand_of(cfi, program, instruction->first, opcode);
        uint64_t second = operand_of(cfi, program, instruction->second, opcode);
        if (program->bad || !apply(cfi, instruction, first, second))
            return false;
    }
    return true;
}

COLD enum pl_cfi_result pl_ehframe_find(struct pl_cfi *cfi, uintptr_t where)
{
    if (!pl_find_module(where, &cfi->module))
        return PL_CFI_NO_MODULE;
    if (cfi->module.eh_frame_hdr == NULL)
        return PL_CFI_NO_FDE;
    cfi->where = where;
    enum pl_cfi_result result = bound_tables(cfi) ? find_fde(cfi) : PL_CFI_BAD;
    if (result != PL_CFI_FOUND)
        return result;

    cfi->saved_rows = 0;
    clear_row(&cfi->initial);
    clear_row(&cfi->row);
    if (!run(cfi, &cfi->common))
        return PL_CFI_BAD;
    copy_row(&cfi->initial, &cfi->row);
    return run(cfi, &cfi->cursor) ? PL_CFI_FOUND : PL_CFI_BAD;
}
