/* SPDX-License-Identifier: MIT */
/*
 * trace.c - see trace.h.
 *
 * A way is one remembered stack. Its frames are numbered from FIRST, the outermost, to `top`, the innermost, so that
 * what two stacks have in common has the same numbers in both. Each frame's return address is kept as a word: where it
 * was found and what it was. Words that a step needs besides (a saved fp, a realigned frame's CFA) are kept in a second
 * list, `other`, but only where they matter further out. Most calls find one of the ways unchanged: a loop over its
 * words, four instructions for each, and its hash is the answer.
 *
 *   number    0                NONE           FIRST         ...   top
 *   returns   ends a search    ends a loop    into _start   ...   into the hook's caller: not read, but given
 *
 * Invariant: a way with a top is a true sentence: whenever a walk begins with the registers of its top, and finds every
 * word as it is remembered, it has these frames. Whether they were ever found together does not matter, so that a
 * single word can be replaced if its new value has the same rule. While a way is being changed its top is 0, which
 * meets no walk: a visit that is thrown out in the middle leaves a way that claims nothing.
 *
 * Calls from one place mostly come by one path: the innermost pc and sp name a slot, and the slot its way. A slot
 * without one takes that of another. Stacks that do not fit into a way have a slot that names one of the deep ways.
 */
#include "trace.h"

#include <stddef.h>

#include "compiler.h"
#include "rules.h"
#include "walk.h"

#define NOINLINE __attribute__((noinline))

#define FIRST 2u
#define NONE 1u

#define WAYS 32u
#define WAYS_AT_FIRST 4u
#define BEGINNING 256u /* changes, after which a thread may use all of its ways */
#define WAY_FRAMES 60u
#define WAY_OTHERS 60u
#define DEEP_WAYS 4u
#define DEEP_FRAMES PL_WALK_FRAMES /* a zero that ends a stack counts as one */
#define DEEP_OTHERS PL_WALK_FRAMES
#define SLOTS 512u
#define DEEP_TRIES 16u /* of so many stacks in a deep way that fit into another, one goes there */

struct word {
    uintptr_t at;
    uintptr_t is;
};

/* What else is known of a frame. */
struct detail {
    uintptr_t fp; /* if it is needed */
    uint32_t rule;
    uint16_t others; /* number of the last of the other words that its step, or one further out, depends on */
    uint16_t bits;
};
#define NEEDS_FP 1u /* its step, or one further out, depends on fp */
#define ANY_M 2u    /* where its rule finds the caller's fp does not matter */

/* A frame on the way out: its registers (sp is 8 above pc.at), and the rule that leads out of it. */
struct step {
    struct word pc;
    uintptr_t fp;
    uint32_t rule;
};

struct way {
    uint32_t top;
    uint32_t generation;
    uint64_t hash;
    uintptr_t fp; /* of the top; where fp_mask is 0 it does not matter */
    uintptr_t fp_mask;
    uint64_t sum;          /* over all frames, of pc times the factor of the frame's number */
    struct word *other;    /* where the returns end */
    struct detail *detail; /* where the others end */
    uint32_t turn;         /* when it was last changed */
    uint16_t others;       /* number of the last */
    uint16_t slot;         /* the slot it is for, plus one */
    struct word returns[];
};

/* The memory of a way. The odd words keep the ways from falling onto the same lines of the processor's cache. */
#define WAY_WORDS(frames, others)                                                                                      \
    ((sizeof(struct way) + (FIRST + (frames)) * (sizeof(struct word) + sizeof(struct detail)) +                        \
      (FIRST + (others)) * sizeof(struct word)) /                                                                      \
         8 +                                                                                                           \
     8)

struct pl_trace {
    uint64_t no_way[WAY_WORDS(0, 0)]; /* is never written */
    uint16_t slots[SLOTS];            /* by innermost pc and sp: where in this struct their way is, in words */
    uint32_t turn;
    struct step steps[DEEP_FRAMES + 1];
    uint64_t ways[WAYS][WAY_WORDS(WAY_FRAMES, WAY_OTHERS)];
    uint64_t deep_ways[DEEP_WAYS][WAY_WORDS(DEEP_FRAMES, DEEP_OTHERS)];
};
#define DEEP_PLACE (offsetof(struct pl_trace, deep_ways) / 8)
_Static_assert(sizeof(struct pl_trace) / 8 <= UINT16_MAX, "a slot cannot name every place");

const uint32_t pl_trace_bytes = sizeof(struct pl_trace);

/* ---- the hash ---- */

/*
 * A sum of products with factors drawn at random: two different stacks have the same sum with a probability of about
 * 2^-64, and a frame that changes changes one product. The factors are the same in every thread and process.
 */
static uint64_t factors[FIRST + DEEP_FRAMES];

static COLD void draw_factors(void)
{
    uint64_t state = 0;
    for (unsigned i = 0; i < FIRST + DEEP_FRAMES; i++) {
        uint64_t x = state += 0x9e3779b97f4a7c15u;
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
        x = (x ^ x >> 27) * 0x94d049bb133111ebu;
        store_release(&factors[i], x ^ x >> 31); /* the last of them says that all are there */
    }
}

/* Every bit of the sum into every bit of the hash, one to one. */
INLINE uint64_t hash_of(uint64_t sum)
{
    uint64_t x = (sum ^ sum >> 32) * 0xd6e8feb86659fd93u;
    x ^= x >> 29;
    return likely(x) ? x : 1;
}

/* ---- words ---- */

INLINE bool changed(const struct word *word)
{
    return pl_ground_load(word->at) != word->is;
}

/* The number of the first word, from `number` down, that has changed, or NONE. */
INLINE unsigned first_change(const struct word *words, unsigned number)
{
    const struct word *word = words + number;
    for (;; word -= 4) {
        if (unlikely(changed(word)))
            return (unsigned) (word - words);
        if (unlikely(changed(word - 1)))
            return (unsigned) (word - 1 - words);
        if (unlikely(changed(word - 2)))
            return (unsigned) (word - 2 - words);
        if (unlikely(changed(word - 3)))
            return (unsigned) (word - 3 - words);
    }
}

/* ---- ways ---- */

INLINE unsigned slot_of(const struct pl_start *start)
{
    return (unsigned) ((start->pc + (start->sp << 20)) * 0x9e3779b97f4a7c15u >> 40) % SLOTS;
}

INLINE struct way *way_at(struct pl_trace *trace, unsigned place)
{
    return (struct way *) (void *) ((uint64_t *) (void *) trace + place);
}

/* `detail` is set last: it says that the rest has been done. */
static COLD void lay_out(struct way *way, unsigned frames, unsigned others)
{
    struct word *other = &way->returns[FIRST + frames];
    struct detail *detail = (struct detail *) (void *) &other[FIRST + others];
    if (load_acquire(&factors[FIRST + DEEP_FRAMES - 1]) == 0)
        draw_factors();
    way->returns[0].at = ~(uintptr_t) 7;                     /* further out than any frame */
    way->returns[NONE].at = (uintptr_t) &way->returns[0].is; /* which is 0 */
    way->returns[NONE].is = 1;
    other[NONE].at = way->returns[NONE].at;
    other[NONE].is = 1;
    detail[NONE].others = NONE;
    way->other = other;
    signal_fence();
    way->detail = detail;
}

INLINE bool is_deep(struct pl_trace *trace, struct way *way)
{
    return (uint64_t *) (void *) way >= trace->deep_ways[0];
}

/* Of two, the way that has not been changed for longer. A thread that has done little makes do with few. */
static struct way *oldest(struct pl_trace *trace, bool deep)
{
    uint32_t turn = trace->turn, random = turn * 0x9e3779b1u >> 16;
    uint32_t count = turn < BEGINNING ? WAYS_AT_FIRST : WAYS;
    void *one = deep ? trace->deep_ways[turn % DEEP_WAYS] : trace->ways[turn % count];
    void *two = deep ? trace->deep_ways[random % DEEP_WAYS] : trace->ways[random % count];
    return ((struct way *) one)->turn <= ((struct way *) two)->turn ? one : two;
}

/* A way for a slot whose own has been taken. */
static NOINLINE struct way *take_way(struct pl_trace *trace, unsigned slot)
{
    bool deep = trace->slots[slot] >= DEEP_PLACE;
    struct way *way = oldest(trace, deep);
    if (unlikely(!way->detail))
        lay_out(way, deep ? DEEP_FRAMES : WAY_FRAMES, deep ? DEEP_OTHERS : WAY_OTHERS);
    trace->slots[slot] = (uint16_t) ((uint64_t *) (void *) way - (uint64_t *) (void *) trace);
    way->slot = (uint16_t) (slot + 1);
    return way;
}

static void forget(uint64_t *memory)
{
    struct way *way = (struct way *) (void *) memory;
    if (way->top)
        way->top = 0;
}

void pl_trace_forget(struct pl_trace *trace)
{
    for (unsigned i = 0; i < WAYS; i++)
        forget(trace->ways[i]);
    for (unsigned i = 0; i < DEEP_WAYS; i++)
        forget(trace->deep_ways[i]);
}

/* ---- out of one frame ---- */

#define STACK_END 0u /* in place of a rule, where there is no return address */

/* Word by word: the compiler would like to move two at once, by way of a stack that may be out of line. */
INLINE void put_step(struct step *step, uintptr_t at, uintptr_t pc, uintptr_t fp, uint32_t rule)
{
    step->pc.at = at;
    step->pc.is = pc;
    step->fp = fp;
    step->rule = rule;
}

INLINE uintptr_t words_of(int32_t words)
{
    return 8 * (uintptr_t) (intptr_t) words;
}

/* To the caller's frame, whose return address is at most at `last`. */
static bool leave_realigned(struct step *at, uint32_t rule, uintptr_t last)
{
    uintptr_t cfa_at = at->fp + words_of(PL_RULE_A(rule));
    uintptr_t fp_at = at->fp + words_of(PL_RULE_B(rule));
    uintptr_t sp = at->pc.at + 8;
    if (at->fp % 8 || sp > last || cfa_at - sp > last - sp || fp_at - sp > last - sp)
        return false;
    uintptr_t cfa = pl_ground_load(cfa_at);
    if (cfa % 8 || cfa <= sp || cfa - 8 > last)
        return false;
    at->fp = pl_ground_load(fp_at);
    at->pc.at = cfa - 8;
    at->pc.is = pl_ground_load(cfa - 8);
    return true;
}

/* The rest of the cache line. What is not there either is left to the plain walk, which learns it: that takes more
 * stack than a trace may use, and the frames of a stack with a new rule are wanted anyway. */
static COLD uint32_t look_closer(uintptr_t where)
{
    uint32_t rule = pl_rule_search(where);
    return rule ? rule : PL_RULE_MAKE_SPECIAL(PL_SPECIAL_UNKNOWN);
}

/* False: not by pc, sp and fp alone, or not where one may look. The plain walk knows more. */
INLINE bool leave(struct step *at, uint32_t rule, uintptr_t last)
{
    uintptr_t base = at->pc.at;
    if (unlikely(PL_RULE_BASE(rule) != PL_RULE_SP)) {
        if (PL_RULE_BASE(rule) == PL_RULE_REALIGNED) {
            struct step next = *at; /* so that the one of the loop stays in registers */
            bool left = leave_realigned(&next, rule, last);
            *at = next;
            return left;
        }
        base = at->fp - 8;
        if (PL_RULE_BASE(rule) == PL_RULE_SPECIAL || base % 8)
            return false;
    }
    uintptr_t pc_at = base + 8 * (uintptr_t) PL_RULE_N(rule);
    uintptr_t fp_below = 8 * (uintptr_t) PL_RULE_M(rule);
    if (unlikely(pc_at > last || (intptr_t) (pc_at - at->pc.at) <= (intptr_t) fp_below))
        return false;
    uintptr_t fp = pl_ground_load(pc_at - fp_below);
    at->fp = fp_below ? fp : at->fp;
    at->pc.at = pc_at;
    at->pc.is = pl_ground_load(pc_at);
    return true;
}

/* ---- the outer part of a way ---- */

INLINE bool meets(const struct way *way, unsigned number, const struct step *at)
{
    const struct detail *detail = &way->detail[number];
    return way->returns[number].is == at->pc.is && (!(detail->bits & NEEDS_FP) || detail->fp == at->fp);
}

/* Does a rule other than the frame's own lead out of it to the same place, as far as that matters? */
static bool alike(const struct way *way, unsigned number, uint32_t rule)
{
    const struct word *word = &way->returns[number];
    const struct detail *detail = &way->detail[number];
    const uint32_t m = 0xffu << 2;
    return detail->bits & ANY_M && ((rule ^ detail->rule) & ~m) == 0 &&
           word[-1].at - word->at > 8 * (uintptr_t) PL_RULE_M(rule);
}

/* A return address has changed. If its frame is left as the old one was, nothing else follows from that. */
INLINE bool replace(struct way *way, unsigned number)
{
    struct word *word = &way->returns[number];
    struct detail *detail = &way->detail[number];
    uintptr_t pc = pl_ground_load(word->at);
    uint32_t rule = pl_rule_recall(pc - 1);
    if (rule != detail->rule && !alike(way, number, rule))
        return false;
    way->sum += (pc - word->is) * factors[number];
    word->is = pc;
    detail->rule = rule;
    return true;
}

/* The innermost frame whose step depends on one of the other words that has changed, or NONE. */
static unsigned broken_by_others(const struct way *way, unsigned from)
{
    unsigned other = first_change(way->other, way->detail[from].others);
    if (other < FIRST)
        return NONE;
    while (way->detail[from - 1].others >= other)
        from--;
    return from;
}

/* The outer part of the way, from frame `from`, which is met, whose first changed return address is `change`. Returns
 * the first frame whose step may lead elsewhere now, or NONE. */
INLINE unsigned mend(struct way *way, unsigned from, unsigned change)
{
    unsigned broken = likely(way->detail[from].others == NONE) ? NONE : broken_by_others(way, from);
    for (; change > NONE && change >= broken; change = first_change(way->returns, change - 1))
        if (unlikely(!replace(way, change)))
            return change + 1;
    return broken;
}

/* Frames from `from` to before `to` are as they were, but may get other numbers. The fp of `to` is left in the step
 * behind the last. */
static COLD struct step *keep(const struct way *way, unsigned from, unsigned to, struct step *step,
                              const struct step *end, uintptr_t fp)
{
    for (; from > to && step < end; from--, step++) {
        const struct word *word = &way->returns[from];
        uint32_t rule = way->detail[from].rule;
        put_step(step, word->at, word->is, fp, rule);
        if (PL_RULE_BASE(rule) == PL_RULE_REALIGNED)
            fp = pl_ground_load(fp + words_of(PL_RULE_B(rule)));
        else if (PL_RULE_M(rule))
            fp = pl_ground_load(word[-1].at - 8 * (uintptr_t) PL_RULE_M(rule));
    }
    step->fp = fp;
    return step;
}

/* ---- the inner part of a way ---- */

INLINE bool add_other(struct way *way, unsigned *others, uintptr_t at, uintptr_t is)
{
    struct word *other = &way->other[++*others];
    if (unlikely(other >= (struct word *) (void *) way->detail))
        return false;
    other->at = at;
    other->is = is;
    return true;
}

/* The words other than the return address that the step to the caller depends on. */
static bool add_others(struct way *way, unsigned *others, const struct step *step, uintptr_t caller_at,
                       uintptr_t caller_fp, bool needs_fp)
{
    uint32_t rule = step->rule;
    if (likely(PL_RULE_BASE(rule) <= PL_RULE_FP)) {
        uintptr_t fp_at = caller_at - 8 * (uintptr_t) PL_RULE_M(rule);
        return !needs_fp || PL_RULE_M(rule) == 0 || add_other(way, others, fp_at, caller_fp);
    }
    if (PL_RULE_BASE(rule) != PL_RULE_REALIGNED)
        return true;
    uintptr_t cfa_at = step->fp + words_of(PL_RULE_A(rule));
    uintptr_t fp_at = step->fp + words_of(PL_RULE_B(rule));
    return add_other(way, others, cfa_at, caller_at + 8) && (!needs_fp || add_other(way, others, fp_at, caller_fp));
}

INLINE unsigned bits_of(uint32_t rule, bool caller_needs_fp)
{
    switch (PL_RULE_BASE(rule)) {
    case PL_RULE_SP:
        return caller_needs_fp ? (PL_RULE_M(rule) == 0 ? NEEDS_FP : 0) : ANY_M;
    case PL_RULE_FP:
        return caller_needs_fp ? NEEDS_FP : NEEDS_FP | ANY_M;
    case PL_RULE_REALIGNED:
        return NEEDS_FP;
    default:
        return 0;
    }
}

/* Gives the frames of `steps`, up to before `step`, the numbers that follow `number`. Returns the last's. */
INLINE unsigned extend(struct way *way, unsigned number, const struct step *steps, const struct step *step,
                       uintptr_t at, uintptr_t fp)
{
    unsigned others = way->detail[number].others;
    unsigned bits = way->detail[number].bits;
    struct word *word = &way->returns[number];
    struct detail *detail = &way->detail[number];
    const uint64_t *factor = &factors[number];
    uint64_t sum = way->sum;
    while (step > steps) {
        step--;
        uint32_t rule = step->rule;
        if (unlikely(((bits & NEEDS_FP) | PL_RULE_BASE(rule)) != 0)) {
            if (!add_others(way, &others, step, at, fp, bits & NEEDS_FP))
                return 0;
            bits = bits_of(rule, bits & NEEDS_FP);
        } else {
            bits = ANY_M;
        }
        at = step->pc.at;
        fp = step->fp;
        uintptr_t pc = step->pc.is;
        word++, detail++, factor++;
        sum += pc * *factor;
        word->at = at;
        word->is = pc;
        detail->fp = fp;
        detail->rule = rule;
        detail->others = (uint16_t) others;
        detail->bits = (uint16_t) bits;
    }
    way->sum = sum;
    way->hash = hash_of(sum);
    way->others = (uint16_t) others;
    way->fp = fp;
    way->fp_mask = bits & NEEDS_FP ? ~(uintptr_t) 0 : 0;
    return (unsigned) (word - way->returns);
}

/* Takes the frames inside of `number` away. */
INLINE void cut(struct way *way, unsigned number, unsigned top)
{
    uint64_t sum = way->sum;
    for (; top > number; top--)
        sum -= way->returns[top].is * factors[top];
    way->sum = sum;
}

/* ---- tracing ---- */

/* The number of the innermost frame, which is no longer one: from here on the way claims nothing. */
INLINE unsigned open(struct way *way, uint32_t generation)
{
    unsigned top = way->top;
    if (unlikely(top == 0 || way->generation != generation)) {
        way->generation = generation;
        way->sum = generation * 0x2545f4914f6cdd1dull;
        top = NONE;
    }
    way->top = 0;
    signal_fence();
    return top;
}

/* `change`: the top is met, and this is the first return address that has changed. 0: the top is not met. */
static NOINLINE uint64_t retrace(struct pl_trace *trace, struct way *way, struct pl_walk *walk,
                                 const struct pl_start *start, uint32_t generation, unsigned change)
{
    const struct pl_stack_bounds *own = &walk->own;
    if (unlikely(start->sp - own->proven >= own->hi - own->proven || start->sp % 8))
        return 0;
    struct step at = {{start->sp - 8, start->pc}, start->fp, 0};
    struct step *step = trace->steps;
    unsigned number, old_top = open(way, generation);
    const struct word *meeting = &way->returns[old_top];
    for (;;) {
        while (meeting->at < at.pc.at)
            meeting--;
        number = (unsigned) (meeting - way->returns);
        if (meeting->at == at.pc.at && meets(way, number, &at)) {
            unsigned broken = mend(way, number, change ? change : first_change(way->returns, number - 1));
            if (likely(broken == NONE))
                break;
            step = keep(way, number, broken, step, trace->steps + DEEP_FRAMES, at.fp);
            meeting = &way->returns[broken];
            at.pc.at = meeting->at;
            at.pc.is = meeting->is;
            at.fp = step->fp;
            meeting--;
            change = 0;
        }
        if (unlikely(step >= trace->steps + DEEP_FRAMES))
            return 0;
        uint32_t rule = pl_rule_recall(at.pc.is - 1);
        if (unlikely(rule == PL_RULE_MAKE_SPECIAL(PL_SPECIAL_UNKNOWN)))
            rule = at.pc.is ? look_closer(at.pc.is - 1) : STACK_END;
        put_step(step++, at.pc.at, at.pc.is, at.fp, rule);
        if (unlikely(!leave(&at, rule, own->hi - 8))) {
            number = NONE;
            if (rule == STACK_END || rule == PL_RULE_MAKE_SPECIAL(PL_SPECIAL_END))
                break;
            return 0;
        }
    }
    cut(way, number, old_top);
    unsigned top = 0;
    if (likely(&way->returns[number] + (step - trace->steps) < way->other))
        top = extend(way, number, trace->steps, step, at.pc.at, at.fp);
    if (unlikely(top == 0)) {
        trace->slots[slot_of(start)] = DEEP_PLACE;
        return 0;
    }
    way->turn = ++trace->turn;
    if (unlikely(is_deep(trace, way) && top < FIRST + WAY_FRAMES && way->turn % DEEP_TRIES == 0))
        trace->slots[slot_of(start)] = 0;
    signal_fence();
    way->top = top;
    return way->hash;
}

INLINE bool top_is_met(const struct way *way, const struct pl_start *start, uint32_t generation)
{
    const struct word *top = &way->returns[way->top];
    return likely(top->at == start->sp - 8 && top->is == start->pc && way->generation == generation &&
                  ((way->fp ^ start->fp) & way->fp_mask) == 0);
}

INLINE bool others_hold(const struct way *way)
{
    return likely(way->others == NONE) || first_change(way->other, way->others) == NONE;
}

static NOINLINE uint64_t trace_elsewhere(struct pl_trace *trace, struct pl_walk *walk, const struct pl_start *start,
                                         uint32_t generation, unsigned slot)
{
    struct way *way = way_at(trace, trace->slots[slot]);
    if (way->slot != slot + 1)
        way = take_way(trace, slot);
    return retrace(trace, way, walk, start, generation, 0);
}

uint64_t pl_trace_stack(struct pl_trace *trace, struct pl_walk *walk, const struct pl_start *start, uint32_t generation)
{
    unsigned slot = slot_of(start);
    struct way *way = way_at(trace, trace->slots[slot]);
    if (unlikely(!top_is_met(way, start, generation)))
        return trace_elsewhere(trace, walk, start, generation, slot);
    unsigned change = first_change(way->returns, way->top - 1);
    if (likely(change == NONE && others_hold(way)))
        return way->hash;
    return retrace(trace, way, walk, start, generation, change);
}
