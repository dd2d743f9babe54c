/* SPDX-License-Identifier: MIT */
/*
 * rules.c - makes rules from rows of call frame information, and caches them.
 *
 * 99.6% of the instructions that unwind tables of real programs describe have a plain rule. Most of the others are in
 * hand-written assembler: their rule says that registers.c must do the step, so that the next walk knows that at once.
 *
 * Invariant: a word of the cache is 0, or the rule of exactly one address, valid as long as the module that holds the
 * address is loaded. pl_rule_forget() is called when a module is unloaded.
 */
#include "core/unwind/rules.h"

#include <elf.h>

uint64_t pl_rules[PL_RULE_WORDS] __attribute__((aligned(64)));
uint64_t pl_rules_aside[PL_RULE_ASIDE_WORDS] __attribute__((aligned(4096)));
static uint32_t generation; /* incremented by pl_rule_forget(): a rule made before that is not stored after it */
static uint64_t written;    /* a bit for each part of pl_rules: it has been written to since it was last forgotten */
static uint32_t forgetting; /* threads that are in pl_rule_forget() */
bool pl_rule_reads_code;
static bool puts_aside;        /* new rules go to pl_rules_aside, as long as there is room */
static uint32_t written_aside; /* a bit for each page of it: even a read of another page would cost a page fault */
static uint32_t found_aside;   /* how often a rule was found there */
#define ASIDE_PAGE_WORDS 512u
_Static_assert(PL_RULE_ASIDE_WORDS / ASIDE_PAGE_WORDS <= 32, "a bit for each page");
#define FOUND_MOST 10000u /* then the process lives long enough to have its rules in pl_rules */
#define PARTS 64
#define PART_WORDS (PL_RULE_WORDS / PARTS)

#ifndef PL_STRESS_REGISTERS
#define PL_STRESS_REGISTERS 0 /* 1, in a test: no frame has a plain rule, so every step goes through registers.c */
#endif

#define WORDS_FIT(offset) ((offset) % 8 == 0 && (offset) / 8 >= -8192 && (offset) / 8 < 8192)

/* Is this a signal trampoline? musl and Go bring their own, without unwind tables. Handlers return to its first
 * instruction. */
static COLD bool is_sigreturn(const struct pl_found_module *module, uintptr_t pc)
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

/* Is `number` saved where the kernel's signal frame has it? */
static bool signal_register(const struct pl_cfi *cfi, unsigned number)
{
    int64_t offset;
    return cfi->row.how[number] == PL_HOW_AT_EXPRESSION &&
           pl_expression_is_register(cfi, (uintptr_t) cfi->row.value[number], PL_ARCH_SP, false, &offset) &&
           offset == pl_arch_signal_at(number);
}

static COLD uint32_t compress_signal(const struct pl_cfi *cfi, uintptr_t pc)
{
    int64_t offset;
    bool usual = cfi->row.cfa_is_expression &&
                 pl_expression_is_register(cfi, cfi->row.cfa_expression, PL_ARCH_SP, true, &offset) &&
                 offset == pl_arch_signal_at(PL_ARCH_SP) && signal_register(cfi, PL_ARCH_PC) &&
                 signal_register(cfi, PL_ARCH_FP);
    usual = usual || is_sigreturn(&cfi->module, pc); /* the kernel's frame, whatever the tables say */
    return PL_RULE_MAKE_SPECIAL(usual ? PL_SPECIAL_SIGNAL : PL_SPECIAL_REGISTERS);
}

/* A function that realigns its stack stores the CFA in a word of its frame. */
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

/* The CFA's distance from sp, if all registers but pc have values made from `filler`. */
static COLD bool distance_from_sp(struct pl_scratch *scratch, uintptr_t where, uint64_t filler, uint64_t *distance)
{
    struct pl_registers *trial = &scratch->next;
    for (int i = 0; i < PL_ARCH_REGISTERS; i++)
        trial->value[i] = filler * (uint64_t) (i + 1);
    trial->value[PL_ARCH_PC] = where;
    trial->known = ~0ull;
    scratch->machine.cfi = &scratch->cfi;
    scratch->machine.registers = trial;
    scratch->machine.memory = NULL;
    if (!pl_expression_compute(&scratch->machine, scratch->cfi.row.cfa_expression, NULL, distance))
        return false;
    *distance -= trial->value[PL_ARCH_SP];
    return true;
}

/* In PLT stubs the CFA is an expression of sp and pc. For one pc it is sp plus a constant: two trials check that. */
static bool reduce_to_sp(struct pl_scratch *scratch, uintptr_t where, int64_t *offset)
{
    uint64_t one, other;
    if (!distance_from_sp(scratch, where, 0x100000000, &one) || !distance_from_sp(scratch, where, 0x7700000a8, &other))
        return false;
    *offset = (int64_t) one;
    return one == other;
}

/* Where the caller's fp is, relative to the CFA: where its pc is, if fp is unchanged. 0: elsewhere. */
static int64_t fp_offset(const struct pl_cfi_row *row)
{
    int64_t pc = row->value[PL_ARCH_RETURN], fp = row->value[PL_ARCH_FP];
    if (row->how[PL_ARCH_FP] <= PL_HOW_UNDEFINED)
        return pc;
    return row->how[PL_ARCH_FP] == PL_HOW_AT_OFFSET && fp != pc ? fp : 0;
}

static COLD uint32_t compress_plain(const struct pl_cfi_row *row, uint8_t base, int64_t offset)
{
    uint32_t rule = pl_arch_rule(offset, row->value[PL_ARCH_RETURN], fp_offset(row));
    if (!rule || (base != PL_ARCH_SP && base != PL_ARCH_FP))
        return PL_RULE_MAKE_SPECIAL(PL_SPECIAL_REGISTERS);
    return rule | (base == PL_ARCH_FP ? PL_RULE_FP : PL_RULE_SP);
}

static COLD uint32_t compress(struct pl_scratch *scratch, uintptr_t where)
{
    const uint32_t registers = PL_RULE_MAKE_SPECIAL(PL_SPECIAL_REGISTERS);
    const struct pl_cfi_row *row = &scratch->cfi.row;
    uint8_t base = row->cfa_register;
    int64_t offset = row->cfa_offset;
    uint32_t rule;
    if (row->how[PL_ARCH_RETURN] == PL_HOW_UNDEFINED)
        return PL_RULE_MAKE_SPECIAL(PL_SPECIAL_END);
    if (scratch->cfi.signal_frame)
        return compress_signal(&scratch->cfi, where + 1);
    if (row->how[PL_ARCH_RETURN] != PL_HOW_AT_OFFSET || row->how[PL_ARCH_SP] > PL_HOW_UNDEFINED || PL_STRESS_REGISTERS)
        return registers;
    if (row->cfa_is_expression) {
        if (PL_ARCH_CALL_PUSHES && row->value[PL_ARCH_RETURN] == -PL_ARCH_CALL_PUSHES &&
            compress_realigned(&scratch->cfi, &rule))
            return rule;
        if (!reduce_to_sp(scratch, where, &offset))
            return registers;
        base = PL_ARCH_SP;
    }
    return compress_plain(row, base, offset);
}

/* A return address that is a function's first address was not stored by a call: makecontext() ends its stacks like
 * that. */
static bool is_planted(struct pl_scratch *scratch, uintptr_t pc)
{
    return pl_ehframe_find(&scratch->cfi, pc) == PL_CFI_FOUND && scratch->cfi.function == pc;
}

/* Is this a return address, or was the code interrupted right before it? */
static bool follows_call(struct pl_segment segment, uintptr_t pc)
{
    uint8_t before[8];
    for (unsigned i = 0; i < 8; i++)
        before[i] = pc - 8 + i >= segment.start ? *(const uint8_t *) (pc - 8 + i) : 0;
    return pl_arch_ends_with_call(before);
}

/* A rule from the code itself. The saved fp is in the frame, or fp is unchanged. */
static COLD uint32_t read_rule(struct pl_scratch *scratch, uintptr_t where)
{
    const uint32_t none = PL_RULE_MAKE_SPECIAL(PL_SPECIAL_NO_TABLE);
    struct pl_segment segment;
    const struct pl_code_path *path = &scratch->code.now;
    if (!pl_ehframe_segment(&scratch->cfi.module, where, PF_R | PF_X, &segment) || where + 1 >= segment.end)
        return none;
    uintptr_t pc = follows_call(segment, where + 1) ? where + 1 : where;
    switch (pl_code_follow(&scratch->code, pc, segment)) {
    case PL_CODE_NEVER:
        return PL_RULE_MAKE_SPECIAL(PL_SPECIAL_END);
    case PL_CODE_UNKNOWN:
        return none;
    case PL_CODE_RETURNS:
        break;
    }
    int64_t cfa = path->sp + 8; /* the return address is at `sp` */
    uint32_t rule = pl_arch_rule(cfa, -8, path->fp_saved ? path->fp_at - cfa : -8);
    return rule ? rule | (path->from_fp ? PL_RULE_FP : PL_RULE_SP) : none;
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
        return pl_rule_reads_code && PL_ARCH_CALL_PUSHES ? read_rule(scratch, where)
                                                         : PL_RULE_MAKE_SPECIAL(PL_SPECIAL_NO_TABLE);
    case PL_CFI_BAD:
        break;
    }
    return PL_RULE_MAKE_SPECIAL(PL_SPECIAL_BAD);
}

static uint64_t tag_of(uintptr_t where)
{
    return pl_rule_mix(where) << PL_RULE_LINE_BITS;
}

/* The i-th word in which an address may be: its home, then the rest of the line, wrapping around. */
static uint64_t *word_of(uintptr_t where, unsigned i)
{
    unsigned home = pl_rule_home(pl_rule_mix(where));
    unsigned line = home - home % PL_RULE_LINE_WORDS;
    return &pl_rules[line + (home + i) % PL_RULE_LINE_WORDS];
}

/* The only word beside the table in which it may be. */
static uint64_t *word_aside(uintptr_t where)
{
    return &pl_rules_aside[pl_rule_home(pl_rule_mix(where)) / PL_RULE_LINE_WORDS];
}

static uint32_t page_aside(const uint64_t *word)
{
    return 1u << (unsigned) (word - pl_rules_aside) / ASIDE_PAGE_WORDS;
}

static uint64_t read_aside(const uint64_t *word)
{
    return load_relaxed(&written_aside) & page_aside(word) ? load_relaxed(word) : 0;
}

/*
 * A module may be unloaded while this thread stores the rule of an address in it, and another one may be loaded there.
 * Each side writes first and looks afterwards, with a full barrier in between: either pl_rule_forget() sees the word,
 * or this thread sees the new generation and takes the word back.
 */
static COLD void store_rule(uint64_t *word, uint64_t value, uint32_t made_in)
{
    store_relaxed(word, value);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (unlikely(load_relaxed(&generation) != made_in))
        swap_if(word, value, 0);
}

/* If the line is full, the rule replaces the address's home word, where it is found fastest. */
static COLD void keep_in_table(uintptr_t where, uint32_t rule, uint32_t made_in)
{
    uint64_t *word = word_of(where, 0);
    for (unsigned i = 0; i < PL_RULE_LINE_WORDS; i++) {
        if (load_relaxed(word_of(where, i)) == 0) {
            word = word_of(where, i);
            break;
        }
    }
    uint64_t part = 1ull << (unsigned) (word - pl_rules) / PART_WORDS;
    fetch_or(&written, part); /* before the store: nobody may find a word in a part that is not to be cleared */
    store_rule(word, tag_of(where) | rule, made_in);
}

static COLD void keep_rule(uintptr_t where, uint32_t rule, uint32_t made_in)
{
    uint64_t *word = word_aside(where);
    if (!load_relaxed(&puts_aside) || read_aside(word)) {
        keep_in_table(where, rule, made_in);
        return;
    }
    fetch_or(&written_aside, page_aside(word));
    store_rule(word, tag_of(where) | rule, made_in);
}

/* A process that lives long has its rules in the table, where they are found fastest. */
static COLD uint32_t search_aside(uintptr_t where)
{
    uint32_t before = load_acquire(&generation);
    uint64_t rule = read_aside(word_aside(where)) ^ tag_of(where);
    if (rule - 1 >= (1u << PL_RULE_BITS) - 1)
        return 0;
    if (unlikely(fetch_add(&found_aside, 1) > FOUND_MOST)) {
        store_relaxed(&puts_aside, false);
        keep_in_table(where, (uint32_t) rule, before);
    }
    return (uint32_t) rule;
}

void pl_rule_put_aside(void)
{
    store_relaxed(&puts_aside, true);
    store_relaxed(&found_aside, 0);
}

COLD uint32_t pl_rule_search(uintptr_t where)
{
    for (unsigned i = 0; i < PL_RULE_LINE_WORDS && where >> PL_ARCH_ADDRESS_BITS == 0; i++) {
        uint64_t rule = load_relaxed(word_of(where, i)) ^ tag_of(where);
        if (rule - 1 < (1u << PL_RULE_BITS) - 1)
            return (uint32_t) rule;
    }
    return load_relaxed(&written_aside) && where >> PL_ARCH_ADDRESS_BITS == 0 ? search_aside(where) : 0;
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
        keep_rule(where, rule, before);
    return rule;
}

/* If another thread is at it, that thread may have taken parts that it has not cleared yet: then clear all of them. */
void pl_rule_forget(void)
{
    fetch_add(&generation, 1);
    bool alone = fetch_add(&forgetting, 1) == 0;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    uint64_t parts = exchange(&written, 0ull);
    for (parts = alone ? parts : ~0ull; parts; parts &= parts - 1) {
        uint64_t *part = pl_rules + (unsigned) __builtin_ctzll(parts) * PART_WORDS;
        for (unsigned i = 0; i < PART_WORDS; i++)
            if (load_relaxed(&part[i]) != 0)
                store_relaxed(&part[i], 0);
    }
    for (unsigned i = 0; load_relaxed(&written_aside) && i < PL_RULE_ASIDE_WORDS; i++)
        if (read_aside(&pl_rules_aside[i]) != 0)
            store_relaxed(&pl_rules_aside[i], 0);
    __atomic_fetch_sub(&forgetting, 1, __ATOMIC_RELEASE); /* what was cleared is visible first */
}
