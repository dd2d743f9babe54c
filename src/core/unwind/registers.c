/* SPDX-License-Identifier: MIT */
/*
 * registers.c - steps with all registers, out of frames that a rule cannot describe.
 *
 * Rules only track pc, sp and fp. A few frames need another register: lazy binding keeps its CFA in rbx, some assembler
 * code in any free register. To find the registers of such a frame we walk to it a second time: from here, outwards
 * through our own frames and those that the rules have already passed, restoring every register on the way.
 *
 * This second walk stops behind that frame, and its state is kept in the scratch space. Rules are used again from there
 * on, and the next such frame further out resumes the second walk where it stopped, so it visits no frame twice.
 */
#include "core/unwind/rules.h"

#define OWN_FRAMES_MAX 32 /* between here and the hook's caller */

static bool known(const struct pl_registers *registers, unsigned number)
{
    return number < PL_ARCH_REGISTERS && (registers->known >> number & 1);
}

static void set(struct pl_registers *registers, unsigned number, uint64_t value)
{
    registers->value[number] = value;
    registers->known |= 1ull << number;
}

static COLD bool compute(struct pl_walk *walk, uintptr_t at, const uint64_t *first, uint64_t *out)
{
    struct pl_scratch *scratch = pl_walk_scratch(walk);
    scratch->machine.cfi = &scratch->cfi;
    scratch->machine.registers = &scratch->registers;
    scratch->machine.memory = walk;
    return pl_expression_compute(&scratch->machine, at, first, out);
}

static COLD bool compute_cfa(struct pl_walk *walk)
{
    struct pl_scratch *scratch = pl_walk_scratch(walk);
    const struct pl_cfi_row *row = &scratch->cfi.row;
    if (row->cfa_is_expression)
        return compute(walk, row->cfa_expression, NULL, &scratch->cfa);
    if (!known(&scratch->registers, row->cfa_register))
        return false;
    scratch->cfa = scratch->registers.value[row->cfa_register] + (uint64_t) row->cfa_offset;
    return true;
}

/* One register of the caller. False: it cannot be determined. */
static COLD bool restore(struct pl_walk *walk, unsigned number, uint64_t *out)
{
    struct pl_scratch *scratch = pl_walk_scratch(walk);
    uint64_t value = (uint64_t) scratch->cfi.row.value[number];
    switch ((enum pl_how) scratch->cfi.row.how[number]) {
    case PL_HOW_SAME:
    case PL_HOW_UNDEFINED:
        *out = number == PL_ARCH_SP ? scratch->cfa : scratch->registers.value[number];
        return number == PL_ARCH_SP || known(&scratch->registers, number);
    case PL_HOW_AT_OFFSET:
        return pl_bounds_read(walk, scratch->cfa + value, out);
    case PL_HOW_OFFSET:
        *out = scratch->cfa + value;
        return true;
    case PL_HOW_AT_EXPRESSION:
        return compute(walk, value, &scratch->cfa, out) && pl_bounds_read(walk, *out, out);
    case PL_HOW_EXPRESSION:
        return compute(walk, value, &scratch->cfa, out);
    case PL_HOW_REGISTER:
        if (value >= PL_ARCH_REGISTERS || !known(&scratch->registers, (unsigned) value))
            return false;
        *out = scratch->registers.value[value];
        return true;
    }
    return false;
}

static COLD void restore_all(struct pl_walk *walk)
{
    struct pl_scratch *scratch = pl_walk_scratch(walk);
    scratch->next.known = 0;
    for (unsigned i = 0; i < PL_ARCH_REGISTERS; i++)
        if (restore(walk, i, &scratch->next.value[i]))
            scratch->next.known |= 1ull << i;
    for (unsigned i = 0; i < PL_ARCH_REGISTERS; i++)
        scratch->registers.value[i] = scratch->next.value[i];
    scratch->registers.known = scratch->next.known;
    if (PL_ARCH_PC == PL_ARCH_RETURN)
        return;
    scratch->registers.known &= ~(1ull << PL_ARCH_PC);
    if (known(&scratch->registers, PL_ARCH_RETURN))
        set(&scratch->registers, PL_ARCH_PC, pl_arch_code(scratch->registers.value[PL_ARCH_RETURN]));
}

static COLD enum pl_stop step_row(struct pl_walk *walk)
{
    struct pl_scratch *scratch = pl_walk_scratch(walk);
    struct pl_walk_place *here = &scratch->here;
    if (pl_ehframe_find(&scratch->cfi, here->where) != PL_CFI_FOUND || !compute_cfa(walk))
        return PL_STOP_BAD_CFI;
    bool interrupted = scratch->cfi.signal_frame;
    bool turns = interrupted || scratch->cfi.row.how[PL_ARCH_SP] > PL_HOW_UNDEFINED;
    bool leaf = !PL_ARCH_CALL_PUSHES && here->flags & PL_FRAME_EXACT; /* interrupted, and perhaps without a frame */
    if (!turns && (scratch->cfa + leaf <= here->sp || scratch->cfa % 8 || !pl_bounds_reach(walk, scratch->cfa)))
        return PL_STOP_BOUNDS;
    restore_all(walk);
    const uint64_t needed = 1ull << PL_ARCH_PC | 1ull << PL_ARCH_SP;
    if ((scratch->registers.known & needed) != needed)
        return PL_STOP_BAD_CFI;
    here->pc = scratch->registers.value[PL_ARCH_PC];
    here->sp = scratch->registers.value[PL_ARCH_SP];
    here->fp = known(&scratch->registers, PL_ARCH_FP) ? scratch->registers.value[PL_ARCH_FP] : 0;
    if (turns)
        return pl_unwind_turn(walk, here, interrupted);
    here->floor = here->sp;
    here->where = here->pc - 1;
    here->flags = 0;
    return PL_GO_ON;
}

static COLD enum pl_stop step_signal(struct pl_walk *walk)
{
    struct pl_scratch *scratch = pl_walk_scratch(walk);
    scratch->registers.known = 0;
    for (unsigned i = 0; i < PL_ARCH_REGISTERS; i++)
        if (pl_bounds_read(walk, scratch->here.sp + pl_arch_signal_at(i), &scratch->registers.value[i]))
            scratch->registers.known |= 1ull << i;
    return pl_unwind_leave_signal(walk, &scratch->here);
}

/* After a guess only pc, sp and fp are known. */
static COLD enum pl_stop step_guess(struct pl_walk *walk)
{
    struct pl_scratch *scratch = pl_walk_scratch(walk);
    enum pl_stop stop = pl_unwind_guess(walk, &scratch->here);
    scratch->registers.known = 0;
    set(&scratch->registers, PL_ARCH_PC, scratch->here.pc);
    set(&scratch->registers, PL_ARCH_SP, scratch->here.sp);
    set(&scratch->registers, PL_ARCH_FP, scratch->here.fp);
    return stop;
}

static COLD enum pl_stop step_by(struct pl_walk *walk, uint32_t rule)
{
    if (pl_unwind_is_signal(walk, pl_walk_scratch(walk)->here.pc, rule))
        return step_signal(walk);
    switch (rule) {
    case PL_RULE_MAKE_SPECIAL(PL_SPECIAL_NO_TABLE):
    case PL_RULE_MAKE_SPECIAL(PL_SPECIAL_NO_MODULE):
        return step_guess(walk);
    default:
        return step_row(walk);
    }
}

static enum pl_stop step(struct pl_walk *walk)
{
    struct pl_scratch *scratch = pl_walk_scratch(walk);
    return step_by(walk, pl_rule_learn(scratch->here.where, scratch));
}

/* Begins the walk in the function that this is inlined into. That function must not have returned before the walk has
 * passed it. */
INLINE enum pl_stop start_here(struct pl_walk *walk)
{
    struct pl_scratch *scratch = pl_walk_scratch(walk);
    pl_arch_capture(scratch->registers.value);
    scratch->registers.known = PL_ARCH_CAPTURED;
    scratch->here.pc = scratch->registers.value[PL_ARCH_PC];
    scratch->here.sp = scratch->registers.value[PL_ARCH_SP];
    scratch->here.fp = scratch->registers.value[PL_ARCH_FP];
    scratch->registers_known = true;
    return pl_unwind_turn(walk, &scratch->here, true);
}

COLD enum pl_stop pl_registers_step(struct pl_walk *walk, struct pl_walk_place *place)
{
    struct pl_scratch *scratch = pl_walk_scratch(walk);
    enum pl_stop stop = PL_GO_ON;
    if (!scratch->registers_known)
        stop = start_here(walk);
    else
        stop = pl_bounds_enter(walk, scratch->here.sp);
    for (uint32_t steps = 0; stop == PL_GO_ON; steps++) {
        bool arrived = scratch->here.sp == place->sp && scratch->here.pc == place->pc;
        stop = step(walk);
        if (arrived)
            break;
        if (steps > walk->walked + OWN_FRAMES_MAX)
            return PL_STOP_BAD_CFI;
    }
    *place = scratch->here;
    return stop;
}
