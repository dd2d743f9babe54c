/* SPDX-License-Identifier: MIT */
/*
 * unwind.c - walks from a hook's caller outwards, frame by frame.
 *
 * climb() is the loop for nearly every frame: look up a rule, compute the caller's stack pointer, check it, load two
 * words. All other cases (signal frames, realigned frames, code without tables, the edge of the ground) leave the loop
 * for one step.
 *
 * Invariant: sp only grows from step to step and stays on the ground (bounds.c), so only words that are known to be
 * readable are read, and no walk loops for ever. Steps that lead to another stack are counted and limited (TURNS_MAX).
 */
#include "core/unwind/unwind.h"

#include "core/unwind/rules.h"
#include "core/unwind/walk.h"

#define HALF (PL_WALK_FRAMES / 2)
#define STEPS_MAX (1u << 20)
#define CLIMB_BYTES (16ul << 20) /* one call of climb() covers at most this much, so that follow() can count steps */
#define TURNS_MAX 64
#define GUESS_BYTES_MAX (8ul << 20)
#define LOWEST_CODE 0x10000ul

/* The first half of frame[] is filled in order. The second half is a ring, so that the outermost frames remain. */
INLINE unsigned slot_of(uint32_t number)
{
    return likely(number < PL_WALK_FRAMES) ? number : HALF + number % HALF;
}

/* Where a plain rule leads. */
INLINE struct pl_arch_stride stride_of(uint32_t rule, uintptr_t sp, uintptr_t fp)
{
    return pl_arch_stride(rule, rule & PL_RULE_FP ? fp : sp);
}

/* Are the words that it reads, and the caller's stack pointer, between `floor` and `hi`? */
INLINE bool is_inside(const struct pl_arch_stride *stride, uintptr_t floor, uintptr_t hi)
{
    if (PL_ARCH_CALL_PUSHES) /* then fp_at <= pc_at < cfa, and they are near each other */
        return (intptr_t) (stride->fp_at - floor) >= 0 && stride->cfa <= hi && stride->cfa % 8 == 0;
    uintptr_t room = hi - floor;
    return stride->cfa - floor <= room && stride->pc_at - floor < room && stride->fp_at - floor < room &&
           stride->cfa % 8 == 0;
}

/*
 * Follows plain rules. Returns the first rule that is not plain or leads too far; its frame is recorded already. Calls
 * no function, so that everything stays in registers.
 */
static uint32_t climb(struct pl_walk *walk, struct pl_walk_place *place)
{
    struct pl_walk_place at = *place;
    uintptr_t hi = walk->ground_hi - at.sp > CLIMB_BYTES ? at.sp + CLIMB_BYTES : walk->ground_hi;
    uint32_t walked = walk->walked;
    uint32_t rule;
    for (;;) {
        rule = pl_rule_recall(at.where);
        if (unlikely(PL_RULE_BASE(rule) > PL_RULE_FP))
            break;
        struct pl_arch_stride stride = stride_of(rule, at.sp, at.fp);
        if (unlikely(!is_inside(&stride, at.floor, hi)))
            break;
        walk->frame[slot_of(walked++)] = at.pc | at.flags; /* it has a rule, so it is an address without other bits */
        uintptr_t fp = pl_walk_load(stride.fp_at);
        at.pc = pl_arch_code(pl_walk_load(stride.pc_at));
        at.fp = stride.fp_at != stride.pc_at ? fp : at.fp;
        at.sp = at.floor = stride.cfa;
        at.where = at.pc - 1;
        at.flags = 0;
    }
    walk->frame[slot_of(walked++)] = (at.pc & PL_FRAME_ADDRESS_MASK) | at.flags;
    *place = at;
    walk->walked = walked;
    return rule;
}

/* Moves up the same stack: the caller's frame begins at cfa. */
static enum pl_stop arrive(struct pl_walk_place *place, uintptr_t cfa, uintptr_t pc_at, uintptr_t fp)
{
    place->pc = pl_arch_code(pl_walk_load(pc_at));
    place->sp = place->floor = cfa;
    place->fp = fp;
    place->where = place->pc - 1;
    place->flags = 0;
    return PL_GO_ON;
}

/* Steps by a plain rule whose frame ends beyond the ground, or whose saved fp lies below the frame. */
static enum pl_stop step_edge(struct pl_walk *walk, struct pl_walk_place *place, uint32_t rule)
{
    struct pl_arch_stride stride = stride_of(rule, place->sp, place->fp);
    if (stride.cfa % 8 || stride.cfa <= place->floor || !pl_bounds_reach(walk, stride.cfa) ||
        stride.pc_at - place->floor >= stride.cfa - place->floor)
        return PL_STOP_BOUNDS;
    /* Epilogues pop fp without describing it: if the slot is below sp, fp is in its register again. */
    bool popped = stride.fp_at - place->floor >= stride.cfa - place->floor;
    bool unchanged = popped || stride.fp_at == stride.pc_at;
    return arrive(place, stride.cfa, stride.pc_at, unchanged ? place->fp : pl_walk_load(stride.fp_at));
}

static enum pl_stop step_realigned(struct pl_walk *walk, struct pl_walk_place *place, uint32_t rule)
{
    uintptr_t cfa_at = place->fp + 8 * (uintptr_t) (intptr_t) PL_RULE_A(rule);
    uintptr_t fp_at = place->fp + 8 * (uintptr_t) (intptr_t) PL_RULE_B(rule);
    uintptr_t last = cfa_at > fp_at ? cfa_at : fp_at;
    if (place->fp % 8 || cfa_at < place->floor || fp_at < place->floor || last > UINTPTR_MAX - 8 ||
        !pl_bounds_reach(walk, last + 8))
        return PL_STOP_BOUNDS;
    uintptr_t cfa = pl_walk_load(cfa_at);
    if (cfa % 8 || cfa <= place->sp || cfa <= place->floor || !pl_bounds_reach(walk, cfa))
        return PL_STOP_BOUNDS;
    return arrive(place, cfa, cfa - PL_ARCH_CALL_PUSHES, pl_walk_load(fp_at));
}

enum pl_stop pl_unwind_turn(struct pl_walk *walk, struct pl_walk_place *place, bool interrupted)
{
    if (++pl_walk_scratch(walk)->turns > TURNS_MAX)
        return PL_STOP_BOUNDS;
    enum pl_stop stop = pl_bounds_enter(walk, place->sp);
    if (stop != PL_GO_ON)
        return stop;
    uintptr_t lowest = interrupted ? place->sp - PL_ARCH_RED_ZONE : place->sp;
    place->floor = lowest > walk->ground_lo ? lowest : walk->ground_lo;
    place->where = interrupted ? place->pc : place->pc - 1;
    place->flags = interrupted ? PL_FRAME_EXACT : 0;
    return PL_GO_ON;
}

enum pl_stop pl_unwind_leave_signal(struct pl_walk *walk, struct pl_walk_place *place)
{
    uintptr_t frame = place->sp;
    if (frame < walk->ground_lo || !pl_bounds_reach(walk, frame + PL_ARCH_SIGNAL_BYTES))
        return PL_STOP_BOUNDS;
    place->pc = pl_walk_load(frame + pl_arch_signal_at(PL_ARCH_PC));
    place->sp = pl_walk_load(frame + pl_arch_signal_at(PL_ARCH_SP));
    place->fp = pl_walk_load(frame + pl_arch_signal_at(PL_ARCH_FP));
    return pl_unwind_turn(walk, place, true);
}

/* Does the return address lead into a module or, for generated code, does the chain of frame pointers go upwards? */
static bool plausible(struct pl_walk *walk, uintptr_t pc, uintptr_t fp, uintptr_t next_fp)
{
    if (pc < LOWEST_CODE || pc >> PL_ARCH_ADDRESS_BITS)
        return false;
    return (next_fp > fp && next_fp - fp < GUESS_BYTES_MAX && next_fp % 8 == 0) ||
           pl_find_module(pc - 1, &pl_walk_scratch(walk)->cfi.module);
}

/* The stack pointer of a caller that was found by its frame pointer. If a call pushes, it is behind the return address.
 * If not, the frame record that was followed may be anywhere in the frame: but then the caller's fp points to its own
 * record, and its rule says how far above its stack pointer that is. */
static COLD uintptr_t sp_after_guess(struct pl_walk *walk, uintptr_t pc, uintptr_t record, uintptr_t next_fp)
{
    uintptr_t least = record + 16;
    if (PL_ARCH_CALL_PUSHES)
        return least;
    uint32_t rule = pl_rule_learn(pc - 1, pl_walk_scratch(walk));
    if (PL_RULE_BASE(rule) != PL_RULE_SP || !PL_RULE_SAVES_FP(rule))
        return least;
    uintptr_t sp = next_fp - pl_arch_stride(rule, 0).fp_at;
    return sp % 8 == 0 && sp > least && sp - least < GUESS_BYTES_MAX && pl_bounds_reach(walk, sp) ? sp : least;
}

/* An emulator's signal trampoline, which is in no module. */
static COLD bool is_stray_trampoline(struct pl_walk *walk, uintptr_t pc)
{
    static const char code[] = PL_ARCH_SIGRETURN;
    union {
        uint64_t word[2];
        char byte[16];
    } is = {{0, 0}};
    if (!PL_ARCH_SIGRETURN_ANYWHERE || !pl_bounds_may_ask(walk) || !pl_bounds_read(walk, pc & ~7ul, &is.word[0]))
        return false;
    if (pc % 8)
        pl_bounds_read(walk, (pc & ~7ul) + 8, &is.word[1]);
    for (unsigned i = 0; i < sizeof code - 1; i++)
        if (pc % 8 + i >= sizeof is || is.byte[pc % 8 + i] != code[i])
            return false;
    return true;
}

bool pl_unwind_is_signal(struct pl_walk *walk, uintptr_t pc, uint32_t rule)
{
    return rule == PL_RULE_MAKE_SPECIAL(PL_SPECIAL_SIGNAL) ||
           (rule == PL_RULE_MAKE_SPECIAL(PL_SPECIAL_NO_MODULE) && is_stray_trampoline(walk, pc));
}

enum pl_stop pl_unwind_guess(struct pl_walk *walk, struct pl_walk_place *place)
{
    uintptr_t fp = place->fp;
    if (fp == 0) /* the ABI's mark of the outermost frame */
        return PL_STOP_END;
    if (fp % 8 || fp < place->floor || fp > UINTPTR_MAX - 16 || !pl_bounds_reach(walk, fp + 16))
        return PL_STOP_NO_CFI;
    uintptr_t next_fp = pl_walk_load(fp);
    uintptr_t pc = pl_arch_code(pl_walk_load(fp + 8));
    if (!plausible(walk, pc, fp, next_fp))
        return PL_STOP_NO_CFI;
    arrive(place, sp_after_guess(walk, pc, fp, next_fp), fp + 8, next_fp);
    place->flags = PL_FRAME_GUESS;
    return PL_GO_ON;
}

static enum pl_stop step_special(struct pl_walk *walk, struct pl_walk_place *place, uint32_t rule)
{
    if (pl_unwind_is_signal(walk, place->pc, rule))
        return pl_unwind_leave_signal(walk, place);
    switch (PL_RULE_CODE(rule)) {
    case PL_SPECIAL_END:
        return PL_STOP_END;
    case PL_SPECIAL_SIGNAL:
        break;
    case PL_SPECIAL_REGISTERS:
        return pl_registers_step(walk, place);
    case PL_SPECIAL_NO_TABLE:
    case PL_SPECIAL_NO_MODULE:
        return pl_unwind_guess(walk, place);
    case PL_SPECIAL_BAD:
    case PL_SPECIAL_UNKNOWN:
        break;
    }
    return PL_STOP_BAD_CFI;
}

static COLD enum pl_stop step(struct pl_walk *walk, struct pl_walk_place *place, uint32_t rule)
{
    switch (PL_RULE_BASE(rule)) {
    case PL_RULE_REALIGNED:
        return step_realigned(walk, place, rule);
    case PL_RULE_SPECIAL:
        return step_special(walk, place, rule);
    default:
        return step_edge(walk, place, rule);
    }
}

/* Can this be a return address, although no unwind table has it? That is so in generated code and in assembly. Tables
 * that are wrong may lead to any word of the stack: without this test each stack would end in another nonsensical
 * frame. */
static COLD bool follows_call(struct pl_walk *walk, uintptr_t pc)
{
    union {
        uint64_t word[2];
        uint8_t byte[16];
    } code = {{0, 0}};
    uintptr_t from = (pc - 8) & ~7ul;
    if (pc < LOWEST_CODE || pc >> PL_ARCH_ADDRESS_BITS)
        return false;
    if (!pl_bounds_may_ask(walk))
        return true;
    pl_bounds_read(walk, from, &code.word[0]); /* may fail if the code begins at a page */
    if (pc % 8)
        pl_bounds_read(walk, from + 8, &code.word[1]);
    return pl_arch_ends_with_call(code.byte + pc % 8);
}

/* A frame that the tables have led to. The first frame is given, an interrupted one is the kernel's, and guesses have
 * been checked. */
static bool is_astray(struct pl_walk *walk, const struct pl_walk_place *place, uint32_t rule)
{
    bool unknown =
        rule == PL_RULE_MAKE_SPECIAL(PL_SPECIAL_NO_MODULE) || rule == PL_RULE_MAKE_SPECIAL(PL_SPECIAL_NO_TABLE);
    return unknown && walk->walked > 1 && !place->flags && !follows_call(walk, place->pc) &&
           !pl_unwind_is_signal(walk, place->pc, rule);
}

/* The frame is in no module: records which code that is. False: frame pointers have led to where no code can be. */
static COLD bool mark_generated(struct pl_walk *walk, const struct pl_walk_place *place)
{
    uint64_t version;
    bool readable = pl_generated_version(walk, place->pc, &version);
    walk->frame[slot_of(walk->walked - 1)] |= version << PL_FRAME_VERSION_SHIFT;
    return readable || place->flags != PL_FRAME_GUESS;
}

static enum pl_stop follow(struct pl_walk *walk, struct pl_walk_place *place)
{
    while (walk->walked < STEPS_MAX) {
        uint32_t rule = climb(walk, place);
        if (place->pc == 0) {
            walk->walked--; /* not a frame */
            return PL_STOP_ZERO;
        }
        if (rule == PL_RULE_MAKE_SPECIAL(PL_SPECIAL_UNKNOWN))
            rule = pl_rule_learn(place->where, pl_walk_scratch(walk));
        if (unlikely(is_astray(walk, place, rule))) {
            walk->walked--;
            return PL_STOP_ASTRAY;
        }
        if (unlikely(rule == PL_RULE_MAKE_SPECIAL(PL_SPECIAL_NO_MODULE)) && !mark_generated(walk, place)) {
            walk->walked--;
            return PL_STOP_NO_CFI;
        }
        enum pl_stop stop = step(walk, place, rule);
        if (stop != PL_GO_ON)
            return stop;
    }
    return PL_STOP_DEPTH;
}

/* Puts the outer half in order, after a gap. */
static void mark_gap(struct pl_walk *walk)
{
    uint64_t *ordered = walk->scratch;
    for (unsigned i = 0; i < HALF; i++)
        ordered[i] = walk->frame[slot_of(walk->walked + i)];
    for (unsigned i = 0; i < HALF; i++)
        walk->frame[HALF + 1 + i] = ordered[i];
    walk->frame[HALF] = PL_FRAME_GAP;
}

static void finish(struct pl_walk *walk, enum pl_stop stop)
{
    bool deep = walk->walked > PL_WALK_FRAMES;
    if (deep)
        mark_gap(walk);
    walk->frames = deep ? PL_WALK_FRAMES + 1 : walk->walked;
    if (stop != PL_STOP_END && walk->frames > 0)
        walk->frame[walk->frames - 1] |= PL_FRAME_CUT;
    walk->stop = deep ? PL_STOP_DEPTH : stop;
}

void pl_unwind(struct pl_walk *walk, const struct pl_start *start)
{
    struct pl_scratch *scratch = pl_walk_scratch(walk);
    scratch->place = (struct pl_walk_place){start->pc, start->sp, start->fp, start->pc - 1, start->sp, 0};
    scratch->turns = 0;
    scratch->registers_known = false;
    walk->ground_lo = walk->ground_hi = 0;
    walk->walked = 0;
    enum pl_stop stop = pl_bounds_enter(walk, start->sp);
    if (stop == PL_GO_ON) {
        stop = follow(walk, &scratch->place);
    } else {
        walk->frame[0] = start->pc & PL_FRAME_ADDRESS_MASK;
        walk->walked = 1;
    }
    finish(walk, stop);
}
