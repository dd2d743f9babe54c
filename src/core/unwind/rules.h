/* SPDX-License-Identifier: MIT */
/*
 * rules.h - a rule says, in 30 bits, how to step out of a frame. Rules are cached for each return address.
 *
 *   29                                    2 1    0
 *  ┌───────────────────────────────────────┬──────┐   plain: base 0 is sp, base 1 is fp; the processor's file in arch/
 *  │ CFA, and where pc and fp are saved    │ base │   draws the rest
 *  └───────────────────────────────────────┴──────┘
 *
 *   29           16 15           2 1    0
 *  ┌───────────────┬──────────────┬──────┐            realigned, A and B signed:
 *  │ B             │ A            │ 2    │            CFA = the word at fp + 8A
 *  └───────────────┴──────────────┴──────┘            the caller's pc is at CFA - 8, its fp at fp + 8B (x86_64 only)
 *
 *   29                           2 1    0
 *  ┌──────────────────────────────┬──────┐
 *  │ enum pl_special              │ 3    │
 *  └──────────────────────────────┴──────┘
 *
 * No rule is 0. The cache is 8,192 lines of 8 words. An address of 47 bits (or its instruction's number, on AArch64 of
 * 46) is multiplied by an odd number, which loses nothing modulo 2^47; the upper 13 bits of the product pick the line,
 * the other 34 go into the word beside the rule:
 *
 *   63                       30 29         0
 *  ┌───────────────────────────┬────────────┐
 *  │ rest of the address       │ rule       │       0: empty
 *  └───────────────────────────┴────────────┘
 *
 * So line and word together identify the address exactly, and a hit is one load and one compare. Because an entry is
 * one word, no reader sees half of it: threads and signal handlers read and write entries without a lock.
 */
#ifndef PL_RULES_H
#define PL_RULES_H

#include <stdint.h>

#include "core/compiler.h"
#include "core/unwind/walk.h"

#define PL_RULE_BITS 30
#define PL_RULE_LINE_BITS 13
#define PL_RULE_LINE_WORDS 8u /* a cache line */

enum pl_rule_base {
    PL_RULE_SP = 0,
    PL_RULE_FP = 1,
    PL_RULE_REALIGNED = 2,
    PL_RULE_SPECIAL = 3,
};
#define PL_RULE_BASE(rule) ((rule) &3u)
#define PL_RULE_SAVES_FP(rule) (((rule) &PL_ARCH_RULE_FP) != 0) /* of a plain rule */
#define PL_RULE_A(rule) ((int32_t) ((rule) << 16) >> 18)
#define PL_RULE_B(rule) ((int32_t) ((rule) << 2) >> 18)

enum pl_special {
    PL_SPECIAL_END,       /* the outermost frame */
    PL_SPECIAL_SIGNAL,    /* a signal handler's trampoline: the kernel has saved the registers at sp */
    PL_SPECIAL_REGISTERS, /* needs more than pc, sp and fp: see registers.c */
    PL_SPECIAL_NO_TABLE,  /* in a module, but without unwind tables */
    PL_SPECIAL_NO_MODULE, /* in no module; never cached: code may be loaded there later */
    PL_SPECIAL_BAD,       /* unwind tables that are not understood */
    PL_SPECIAL_UNKNOWN,   /* not in the cache, as far as pl_rule_recall() looks */
};
#define PL_RULE_MAKE_SPECIAL(special) (PL_RULE_SPECIAL | (uint32_t) (special) << 2)
#define PL_RULE_CODE(rule) ((enum pl_special)((rule) >> 2))

#define PL_RULE_WORDS (PL_RULE_LINE_WORDS << PL_RULE_LINE_BITS)
extern HIDDEN uint64_t pl_rules[PL_RULE_WORDS];

/* In a forked child, each new rule in the table would copy a page of its parent's: a few hundred rules copy nearly all
 * of its 128 pages. So the child's first rules go to a smaller table, one word for each line, which is searched last.
 */
#define PL_RULE_ASIDE_WORDS (1u << PL_RULE_LINE_BITS)
extern HIDDEN uint64_t pl_rules_aside[PL_RULE_ASIDE_WORDS];

#define PL_RULE_KEY_BITS (PL_ARCH_ADDRESS_BITS - PL_ARCH_CODE_SHIFT)
_Static_assert(PL_RULE_KEY_BITS <= PL_RULE_LINE_BITS + 64 - PL_RULE_BITS, "line and word identify an address");

INLINE uint64_t pl_rule_mix(uintptr_t where)
{
    return ((where >> PL_ARCH_CODE_SHIFT) * 0x9e3779b97f4a7c15ull) << (64 - PL_RULE_KEY_BITS);
}

/* The index of the word in which an address is looked up first: it gives the line and the place in the line. */
INLINE unsigned pl_rule_home(uint64_t mixed)
{
    return (unsigned) (mixed >> 48);
}

/* Looks in the first word only. PL_SPECIAL_UNKNOWN: not there, call pl_rule_learn(). */
INLINE uint32_t pl_rule_recall(uintptr_t where)
{
    uint64_t mixed = pl_rule_mix(where);
    uint64_t rule = load_relaxed(&pl_rules[pl_rule_home(mixed)]) ^ mixed << PL_RULE_LINE_BITS;
    if (likely(rule - 1 < (1u << PL_RULE_BITS) - 1 && where >> PL_ARCH_ADDRESS_BITS == 0))
        return (uint32_t) rule;
    return PL_RULE_MAKE_SPECIAL(PL_SPECIAL_UNKNOWN);
}

/* Code without unwind tables is read, to find how it returns (code.h). Set by the front end before the first walk. */
extern HIDDEN bool pl_rule_reads_code;

/* Searches the whole cache line of an address, and of the table beside. 0: not there. */
uint32_t pl_rule_search(uintptr_t where);

/* The rule, wherever it is; PL_SPECIAL_UNKNOWN: nowhere. */
INLINE uint32_t pl_rule_known(uintptr_t where)
{
    uint32_t rule = pl_rule_recall(where);
    if (unlikely(rule == PL_RULE_MAKE_SPECIAL(PL_SPECIAL_UNKNOWN)) && (rule = pl_rule_search(where)) == 0)
        rule = PL_RULE_MAKE_SPECIAL(PL_SPECIAL_UNKNOWN);
    return rule;
}

/* Searches the line; if the rule is not there, makes it from the unwind tables and caches it. */
uint32_t pl_rule_learn(uintptr_t where, struct pl_scratch *scratch);

#endif
