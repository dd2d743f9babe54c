/* SPDX-License-Identifier: MIT */
/*
 * rules.c - makes rules from rows of call frame information, and keeps them.
 *
 * Of the described instructions of real programs 99.6% fit into a plain rule; most of the rest is hand-written
 * assembler, marked for registers.c, so that the next walk does not have to find that out again.
 *
 * Invariant: a word of the cache is 0, or the rule of exactly one address, true as long as the module that holds the
 * address is loaded. pl_unwind_forget() is called when one goes.
 */
#include "rules.h"

#include <elf.h>

uint64_t pl_rules[PL_RULE_WORDS] __attribute__((aligned(64)));
static uint32_t generation; /* of the cache: a rule made before a forgetting is not stored after it */

#ifndef PL_STRESS_REGISTERS
#define PL_STRESS_REGISTERS 0 /* 1, in a test: no frame is plain, so that every step goes through registers.c */
#endif

#define N_MAX ((1 << 20) - 1)
#define M_MAX 255
#define WORDS_FIT(offset) ((offset) % 8 == 0 && (offset) / 8 >= -8192 && (offset) / 8 < 8192)

/* Is `number` saved where the kernel's signal frame has it? */
static bool signal_register(const struct pl_cfi *cfi, unsigned number)
{
    int64_t offset;
    return cfi->row.how[number] == PL_HOW_AT_EXPRESSION &&
           pl_expression_is_register(cfi, (uintptr_t) cfi->row.value[number], PL_ARCH_SP, false, &offset) &&
           offset == pl_arch_signal_at[number];
}

static COLD uint32_t compress_signal(const struct pl_cfi *cfi)
{
    int64_t offset;
    bool usual = cfi->row.cfa_is_expression &&
                 pl_expression_is_register(cfi, cfi->row.cfa_expression, PL_ARCH_SP, true, &offset) &&
                 offset == pl_arch_signal_at[PL_ARCH_SP] && signal_register(cfi, PL_ARCH_PC) &&
                 signal_register(cfi, PL_ARCH_FP);
    return PL_RULE_MAKE_SPECIAL(usual ? PL_SPECIAL_SIGNAL : PL_SPECIAL_REGISTERS);
}

/* A frame aligned beyond what the caller promised keeps the CFA in a word of its own. */
static bool compress_realigned(const struct pl_cfi *cfi, uint32_t *rule)
{
    const struct pl_cfi_row *row = &cfi->row;
    int64_t a, b;
    if (row->how[PL_ARCH_FP] != PL_HOW_AT_EXPRESSION ||
        !pl_expression_is_register(cfi, row->cfa_expression, PL_ARCH_FP, true, &a) ||
        !pl_expression_is_register(cfi, (uintptr_t) row->value[PL_ARCH_FP], PL_ARCH_FP, false, &b) || !WORDS_FIT(a) ||
        !WORDS_FIT(b))
        return false;
    *rule = PL_RULE_REALIGNED | ((uint32_t) (a / 8) & 0x3fff) << 2 | ((uint32_t) (b / 8) & 0x3fff) << 16;
    return true;
}

/* The CFA's distance from sp when everything but sp and pc is `filler`. */
static COLD bool distance_from_sp(struct pl_scratch *scratch, uintptr_t where, uint64_t filler, uint64_t *distance)
{
    struct pl_registers *trial = &scratch->next;
    for (int i = 0; i < PL_ARCH_REGISTERS; i++)
        trial->value[i] = filler * (uint64_t) (i + 1);
    trial->value[PL_ARCH_PC] = where;
    trial->known = ~0u;
    scratch->machine.cfi = &scratch->cfi;
    scratch->machine.registers = trial;
    scratch->machine.memory = NULL;
    if (!pl_expression_compute(&scratch->machine, scratch->cfi.row.cfa_expression, NULL, distance))
        return false;
    *distance -= trial->value[PL_ARCH_SP];
    return true;
}

/* PLT stubs: the CFA is computed from sp and pc. Once pc is known it is sp + something, whatever sp is. */
static bool reduce_to_sp(struct pl_scratch *scratch, uintptr_t where, int64_t *offset)
{
    uint64_t one, other;
    if (!distance_from_sp(scratch, where, 0x100000000, &one) || !distance_from_sp(scratch, where, 0x7700000a8, &other))
        return false;
    *offset = (int64_t) one;
    return one == other;
}

/* M for where the caller's fp is; -1 if that does not fit. */
static int compress_fp(const struct pl_cfi_row *row)
{
    int64_t words = row->value[PL_ARCH_FP] / -8 - 1;
    switch (row->how[PL_ARCH_FP]) {
    case PL_HOW_SAME:
    case PL_HOW_UNDEFINED:
        return 0;
    case PL_HOW_AT_OFFSET:
        return row->value[PL_ARCH_FP] % 8 == 0 && words >= 1 && words <= M_MAX ? (int) words : -1;
    default:
        return -1;
    }
}

static COLD uint32_t compress(struct pl_scratch *scratch, uintptr_t where)
{
    const uint32_t registers = PL_RULE_MAKE_SPECIAL(PL_SPECIAL_REGISTERS);
    const struct pl_cfi_row *row = &scratch->cfi.row;
    uint8_t base = row->cfa_register;
    int64_t offset = row->cfa_offset;
    uint32_t rule;
    if (row->how[PL_ARCH_PC] == PL_HOW_UNDEFINED)
        return PL_RULE_MAKE_SPECIAL(PL_SPECIAL_END);
    if (scratch->cfi.signal_frame)
        return compress_signal(&scratch->cfi);
    if (row->how[PL_ARCH_PC] != PL_HOW_AT_OFFSET || row->value[PL_ARCH_PC] != PL_ARCH_RETURN_AT ||
        row->how[PL_ARCH_SP] > PL_HOW_UNDEFINED || PL_STRESS_REGISTERS)
        return registers;
    if (row->cfa_is_expression) {
        if (compress_realigned(&scratch->cfi, &rule))
            return rule;
        if (!reduce_to_sp(scratch, where, &offset))
            return registers;
        base = PL_ARCH_SP;
    }
    int m = compress_fp(row);
    if ((base != PL_ARCH_SP && base != PL_ARCH_FP) || m < 0 || offset < 8 || offset % 8 || offset / 8 > N_MAX)
        return registers;
    return (base == PL_ARCH_FP ? PL_RULE_FP : PL_RULE_SP) | (uint32_t) m << 2 | (uint32_t) (offset / 8) << 10;
}

/* A trampoline that nobody described: musl and Go bring their own. The call to it returns to its first instruction. */
static COLD bool is_sigreturn(const struct pl_found *module, uintptr_t pc)
{
    static const char code[] = PL_ARCH_SIGRETURN;
    const char *at = (const char *) pc;
    struct pl_segment segment;
    if (!pl_ehframe_segment(module, pc, PF_R | PF_X, &segment) || segment.end - pc < sizeof code - 1)
        return false;
    for (unsigned i = 0; i < sizeof code - 1; i++)
        if (at[i] != code[i])
            return false;
    return true;
}

/* A return address that is a function's very first was put there by hand: makecontext ends its stacks like that. */
static bool is_planted(struct pl_scratch *scratch, uintptr_t pc)
{
    return pl_ehframe_find(&scratch->cfi, pc) == PL_CFI_FOUND && scratch->cfi.function == pc;
}

static uint32_t make_rule(uintptr_t where, struct pl_scratch *scratch)
{
    switch (pl_ehframe_find(&scratch->cfi, where)) {
    case PL_CFI_FOUND:
        return compress(scratch, where);
    case PL_CFI_NO_MODULE:
        return PL_RULE_MAKE_SPECIAL(PL_SPECIAL_NO_MODULE);
    case PL_CFI_NO_FDE:
        if (is_sigreturn(&scratch->cfi.module, where + 1))
            return PL_RULE_MAKE_SPECIAL(PL_SPECIAL_SIGNAL);
        if (is_planted(scratch, where + 1))
            return PL_RULE_MAKE_SPECIAL(PL_SPECIAL_END);
        return PL_RULE_MAKE_SPECIAL(PL_SPECIAL_NO_TABLE);
    case PL_CFI_BAD:
        break;
    }
    return PL_RULE_MAKE_SPECIAL(PL_SPECIAL_BAD);
}

static uint64_t tag_of(uintptr_t where)
{
    return pl_rule_mix(where) << PL_RULE_LINE_BITS;
}

/* The i-th word in which an address may be found: its home, then the rest of the line, round. */
static uint64_t *word_of(uintptr_t where, unsigned i)
{
    unsigned home = pl_rule_home(pl_rule_mix(where));
    unsigned line = home - home % PL_RULE_LINE_WORDS;
    return &pl_rules[line + (home + i) % PL_RULE_LINE_WORDS];
}

COLD uint32_t pl_rule_search(uintptr_t where)
{
    for (unsigned i = 0; i < PL_RULE_LINE_WORDS && where >> PL_ARCH_ADDRESS_BITS == 0; i++) {
        uint64_t rule = load_relaxed(word_of(where, i)) ^ tag_of(where);
        if (rule - 1 < (1u << PL_RULE_BITS) - 1)
            return (uint32_t) rule;
    }
    return 0;
}

/* A full line gives up the word that the address would be found in fastest. */
static COLD void keep_rule(uintptr_t where, uint32_t rule)
{
    uint64_t *word = word_of(where, 0);
    for (unsigned i = 0; i < PL_RULE_LINE_WORDS; i++) {
        if (load_relaxed(word_of(where, i)) == 0) {
            word = word_of(where, i);
            break;
        }
    }
    store_relaxed(word, tag_of(where) | rule);
}

COLD uint32_t pl_rule_learn(uintptr_t where, struct pl_scratch *scratch)
{
    if (where >> PL_ARCH_ADDRESS_BITS)
        return PL_RULE_MAKE_SPECIAL(PL_SPECIAL_NO_MODULE);
    uint32_t rule = pl_rule_search(where);
    if (rule != 0)
        return rule;
    uint32_t before = load_acquire(&generation);
    rule = make_rule(where, scratch);
    if (rule != PL_RULE_MAKE_SPECIAL(PL_SPECIAL_NO_MODULE) && load_acquire(&generation) == before)
        keep_rule(where, rule);
    return rule;
}

void pl_unwind_forget(void)
{
    fetch_add(&generation, 1);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    for (unsigned i = 0; i < PL_RULE_WORDS; i++)
        if (load_relaxed(&pl_rules[i]) != 0) /* pages that were never written stay untouched */
            store_relaxed(&pl_rules[i], 0);
}
