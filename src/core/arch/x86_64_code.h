/* SPDX-License-Identifier: MIT */
/*
 * x86_64_code.h - reads one instruction: how long it is, where it leads, and what it does to the stack pointer.
 *
 * For unwind/code.c, which finds out how code without unwind tables returns. Only what compilers write is known;
 * anything else is "unknown", and ends the search on that path.
 */
#ifndef PL_ARCH_X86_64_CODE_H
#define PL_ARCH_X86_64_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/compiler.h"

enum pl_arch_flow {
    PL_FLOW_ON,      /* to the next instruction */
    PL_FLOW_CALL,    /* likewise, after a call */
    PL_FLOW_BRANCH,  /* likewise, or to `target` */
    PL_FLOW_JUMP,    /* to `target` */
    PL_FLOW_RETURN,  /* to the caller, whose pc is at sp */
    PL_FLOW_STOP,    /* nowhere: a trap */
    PL_FLOW_UNKNOWN, /* not known */
};

struct pl_arch_instruction {
    enum pl_arch_flow flow;
    unsigned bytes;
    uintptr_t target;
    int32_t sp_change;
    bool sp_from_fp; /* sp becomes fp + sp_change */
    bool pushes_fp;
    bool pops_fp;        /* the last 8 bytes of sp_change are the saved fp */
    bool pads;           /* nop, or a trap that fills gaps: does nothing */
    uint8_t relative_at; /* where a distance from the next instruction to its data is; 0: there is none */
};

/* What follows an opcode. */
enum pl_arch_operands { NONE = 0, MODRM = 1, BYTE = 2, WORD = 4, BAD = 8 };

static inline uint8_t pl_arch_operands_of(uint8_t op)
{
    uint8_t low = op & 7;
    if (op < 0x40)
        return low < 4 ? MODRM : low == 4 ? BYTE : low == 5 ? WORD : BAD;
    switch (op) {
    case 0x50 ... 0x5f:
    case 0x90 ... 0x99:
    case 0x9b ... 0x9f:
    case 0xa4 ... 0xa7:
    case 0xaa ... 0xaf:
    case 0xc3:
    case 0xc9:
    case 0xcc:
    case 0xf4 ... 0xf5:
    case 0xf8 ... 0xfd:
        return NONE;
    case 0x63:
    case 0x84 ... 0x8f:
    case 0xd0 ... 0xd3:
    case 0xd8 ... 0xdf:
    case 0xf6 ... 0xf7: /* and an immediate value, if it is a test */
    case 0xfe ... 0xff:
        return MODRM;
    case 0x69:
    case 0x81:
    case 0xc7:
        return MODRM | WORD;
    case 0x6b:
    case 0x80:
    case 0x83:
    case 0xc0 ... 0xc1:
    case 0xc6:
        return MODRM | BYTE;
    case 0x6a:
    case 0x70 ... 0x7f:
    case 0xa8:
    case 0xb0 ... 0xb7:
    case 0xcd:
    case 0xe0 ... 0xe3:
    case 0xeb:
        return BYTE;
    case 0x68:
    case 0xa9:
    case 0xb8 ... 0xbf:
    case 0xe8 ... 0xe9:
        return WORD;
    default:
        return BAD;
    }
}

/* The same for opcodes after 0x0f. */
static inline uint8_t pl_arch_operands_of_0f(uint8_t op)
{
    switch (op) {
    case 0x05 ... 0x06:
    case 0x08 ... 0x09:
    case 0x0b:
    case 0x30 ... 0x37:
    case 0x77:
    case 0xa0 ... 0xa2:
    case 0xa8 ... 0xaa:
    case 0xc8 ... 0xcf:
        return NONE;
    case 0x70 ... 0x73:
    case 0xa4:
    case 0xac:
    case 0xba:
    case 0xc2:
    case 0xc4 ... 0xc6:
        return MODRM | BYTE;
    case 0x80 ... 0x8f:
        return WORD;
    default:
        return MODRM;
    }
}

INLINE int32_t pl_arch_code_word(const uint8_t *at)
{
    return (int32_t) ((uint32_t) at[0] | (uint32_t) at[1] << 8 | (uint32_t) at[2] << 16 | (uint32_t) at[3] << 24);
}

/* The bytes of ModRM, SIB and displacement. */
static inline unsigned pl_arch_modrm_bytes(const uint8_t *at)
{
    unsigned mod = at[0] >> 6, rm = at[0] & 7;
    unsigned bytes = mod != 3 && rm == 4 ? 2 : 1;
    if (mod == 2 || (mod == 0 && (rm == 5 || (rm == 4 && (at[1] & 7) == 5))))
        return bytes + 4;
    return bytes + (mod == 1);
}

/* An instruction that has sp as its destination: add, sub, lea and mov are understood. */
static inline void pl_arch_move_sp(uint8_t op, const uint8_t *modrm, struct pl_arch_instruction *out)
{
    enum { SP = 4, FP = 5 };
    unsigned mod = modrm[0] >> 6, reg = modrm[0] >> 3 & 7, rm = modrm[0] & 7;
    bool writes_rm = (op < 0x40 && (op & 7) == 1) || op == 0x81 || op == 0x83 || op == 0x89;
    bool writes_reg = (op < 0x40 && (op & 7) == 3) || op == 0x8b || op == 0x8d;
    bool compares = (op & 0xf8) == 0x38 || ((op == 0x81 || op == 0x83) && reg == 7);
    if (compares || !((writes_rm && mod == 3 && rm == SP) || (writes_reg && reg == SP)))
        return;
    if ((op == 0x81 || op == 0x83) && (reg == 0 || reg == 5)) {
        int32_t value = op == 0x83 ? (int8_t) modrm[1] : pl_arch_code_word(modrm + 1);
        out->sp_change = reg == 0 ? value : -value;
    } else if (op == 0x8d && (mod == 1 || mod == 2) && (rm == FP || (rm == SP && modrm[1] == 0x24))) {
        const uint8_t *at = modrm + (rm == SP ? 2 : 1);
        out->sp_change = mod == 1 ? (int8_t) at[0] : pl_arch_code_word(at);
        out->sp_from_fp = rm == FP;
    } else if ((op == 0x89 && reg == FP) || (op == 0x8b && mod == 3 && rm == FP)) {
        out->sp_from_fp = true;
    } else {
        out->flow = PL_FLOW_UNKNOWN;
    }
}

/* Opcodes of one byte: `at` is behind the opcode, `next` behind the instruction. */
static inline void pl_arch_read_flow(uint8_t rex, uint8_t op, const uint8_t *at, const uint8_t *next,
                                     struct pl_arch_instruction *out)
{
    unsigned reg = at[0] >> 3 & 7;
    switch (op) {
    case 0x50 ... 0x57:
    case 0x68:
    case 0x6a:
        out->sp_change = -8;
        out->pushes_fp = op == 0x55 && !(rex & 1);
        break;
    case 0x58 ... 0x5f:
        out->sp_change = 8;
        out->pops_fp = op == 0x5d && !(rex & 1);
        if (op == 0x5c && !(rex & 1))
            out->flow = PL_FLOW_UNKNOWN;
        break;
    case 0x8f:
        out->sp_change = 8;
        break;
    case 0x90:
        out->pads = true;
        break;
    case 0xc9: /* leave */
        out->sp_from_fp = out->pops_fp = true;
        out->sp_change = 8;
        break;
    case 0xc3:
        out->flow = PL_FLOW_RETURN;
        break;
    case 0xcc:
        out->pads = true;
        out->flow = PL_FLOW_STOP;
        break;
    case 0xf4:
        out->flow = PL_FLOW_STOP;
        break;
    case 0xe8:
        out->flow = PL_FLOW_CALL;
        break;
    case 0xe9:
    case 0xeb:
    case 0x70 ... 0x7f:
    case 0xe0 ... 0xe3:
        out->flow = op == 0xe9 || op == 0xeb ? PL_FLOW_JUMP : PL_FLOW_BRANCH;
        out->target = (uintptr_t) next + (uintptr_t) (intptr_t) (op == 0xe9 ? pl_arch_code_word(at) : (int8_t) at[0]);
        break;
    case 0xff:
        if (reg == 6)
            out->sp_change = -8;
        else if (reg == 2)
            out->flow = PL_FLOW_CALL;
        else if (reg > 2)
            out->flow = PL_FLOW_UNKNOWN; /* a jump to an address in memory or in a register */
        break;
    default:
        if (rex & 8 && !(rex & 5)) /* 64 bits, and neither register is above r7 */
            pl_arch_move_sp(op, at, out);
        break;
    }
}

/* Reads the instruction at `at`. At least 24 bytes from there must be readable. */
static inline struct pl_arch_instruction pl_arch_read_instruction(const uint8_t *at)
{
    struct pl_arch_instruction out = {.flow = PL_FLOW_ON};
    const uint8_t *begin = at;
    bool narrow = false;
    uint8_t rex = 0, operands, op;
    for (; *at == 0x66 || *at == 0x67 || *at == 0xf0 || *at == 0xf2 || *at == 0xf3 || *at == 0x2e || *at == 0x36 ||
           *at == 0x3e || *at == 0x26 || *at == 0x64 || *at == 0x65;
         at++) {
        narrow |= *at == 0x66;
        if (at - begin > 8)
            return (struct pl_arch_instruction){.flow = PL_FLOW_UNKNOWN};
    }
    if ((*at & 0xf0) == 0x40)
        rex = *at++;
    op = *at++;
    bool plain = false;
    if (op == 0x0f && (*at == 0x38 || *at == 0x3a)) {
        operands = *at == 0x3a ? MODRM | BYTE : MODRM;
        at += 2;
    } else if (op == 0x0f) {
        op = *at++;
        operands = pl_arch_operands_of_0f(op);
        out.pads = op == 0x1f;
        if (op == 0x0b)
            out.flow = PL_FLOW_STOP;
        if ((op & 0xf0) == 0x80) {
            out.flow = PL_FLOW_BRANCH;
            out.target = (uintptr_t) at + 4 + (uintptr_t) (intptr_t) pl_arch_code_word(at);
        }
    } else if (op == 0xc5) { /* VEX and EVEX: vector instructions, which do not touch sp */
        operands = pl_arch_operands_of_0f(at[1]);
        at += 2;
    } else if (op == 0xc4 || op == 0x62) {
        unsigned map = at[0] & 7, skip = op == 0xc4 ? 2 : 3;
        operands = map == 3 ? MODRM | BYTE : map == 1 ? pl_arch_operands_of_0f(at[skip]) : MODRM;
        at += skip + 1;
    } else {
        operands = pl_arch_operands_of(op);
        plain = true;
    }
    if (operands & BAD)
        return (struct pl_arch_instruction){.flow = PL_FLOW_UNKNOWN};
    const uint8_t *next = at;
    if (operands & MODRM) {
        next += pl_arch_modrm_bytes(at);
        if ((at[0] & 0xc7) == 5) /* memory, relative to the pc */
            out.relative_at = (uint8_t) (at + 1 - begin);
    }
    if (plain && (op == 0xf6 || op == 0xf7) && (at[0] >> 3 & 7) < 2)
        operands |= op == 0xf6 ? BYTE : WORD;
    bool jumps = plain && (op == 0xe8 || op == 0xe9);
    bool wide = plain && (op & 0xf8) == 0xb8 && rex & 8;
    if (operands & BYTE)
        next += 1;
    if (operands & WORD)
        next += wide ? 8 : narrow && !jumps ? 2 : 4;
    if (plain)
        pl_arch_read_flow(rex, op, at, next, &out);
    out.bytes = (unsigned) (next - begin);
    return out;
}

#endif
