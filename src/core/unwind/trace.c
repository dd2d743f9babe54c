/* SPDX-License-Identifier: MIT */
/*
 * trace.c - see trace.h.
 *
 * A way is one cached stack. Its frames are numbered from FIRST, the outermost, to `top`, the innermost, so that the
 * frames that two stacks have in common have the same numbers in both. For each frame's return address a way has a
 * word: the address it was read from, and its value. A second list, `other`, has the other words that steps read (a
 * saved fp, a realigned frame's CFA), but only those on which a step further out depends. The addresses of all these
 * words are the way's layout.
 *
 *   number    0                1 .. NONE      FIRST         ...   top
 *   returns   ends a search    end a loop     into _start   ...   into the hook's caller: given, not read
 *
 * Many stacks have the same layout and differ only in some return addresses. So a visit reads the words of a layout,
 * with four instructions for each, and adds them up. The result is the hash of the stack, if the layout is right for
 * these words. It is right if the same words were traced before at the same places. To know that, the keys of traced
 * stacks are kept; a key is a hash of the layout and its words.
 *
 * Invariant: if `at` is not 0, the cached stack is valid: whenever a walk starts with the registers of its top and
 * finds every word in memory as cached, the walk has exactly these frames. It does not matter whether a real stack ever
 * had all of them, so a single word can be replaced if its new value has the same rule. While a way is being changed,
 * `at` is 0, which matches no walk: if the visit is left by longjmp, the way stays invalid.
 *
 * Calls from one place mostly have the same stack, so the innermost pc and sp select a slot, and each slot refers to a
 * way. A slot that has none takes over that of another slot. If a stack does not fit into a way, its slot refers to one
 * of the deep ways.
 */
#include "core/unwind/trace.h"

#include <stddef.h>

#include "core/compiler.h"
#include "core/unwind/rules.h"
#include "core/unwind/walk.h"

#define NOINLINE __attribute__((noinline))

#define FIRST 4u
#define NONE 3u

#define LINE_BYTES 64u /* of a cache */
#define WAYS 32u
#define WAYS_AT_FIRST 4u
#define BEGINNING 256u /* after so many changes a thread uses all of its ways, not only WAYS_AT_FIRST */
#define WAY_FRAMES 60u
#define WAY_OTHERS 60u
#define DEEP_WAYS 4u
#define DEEP_FRAMES PL_WALK_FRAMES /* a return address of 0, which ends a stack, counts as a frame */
#define DEEP_OTHERS PL_WALK_FRAMES
#define SLOTS 512u
#define KEYS 8192u     /* 64 KiB, of which a thread with few stacks touches a few pages */
#define DEEP_TRIES 16u /* one in so many stacks in a deep way that would fit into a normal way moves to one */

struct word {
    uintptr_t at;
    uintptr_t is;
};

/* The rest of a cached frame. */
struct detail {
    uintptr_t fp; /* if it is needed */
    uint32_t rule;
    uint16_t others; /* index of the last of the `other` words that its step, or one further out, depends on */
    uint16_t bits;   /* and, from ABOVE_SHIFT on, `above` in words */
};
#define NEEDS_FP 1u /* its step, or one further out, depends on fp */
#define ANY_FP 2u   /* no step further out depends on fp, so it does not matter where its rule finds fp */
#define ABOVE_SHIFT 2

/* A frame that the trace has stepped through: its registers, and the rule that leads out of it. */
struct step {
    struct word pc;
    uintptr_t fp;
    uint32_t rule;
    uint32_t above; /* sp is so many bytes above pc.at; where calls push, always the same */
};

INLINE uintptr_t sp_of(const struct step *step)
{
    return step->pc.at + (PL_ARCH_CALL_PUSHES ? PL_ARCH_CALL_PUSHES : step->above);
}

INLINE uint32_t above_of(const struct detail *detail)
{
    return PL_ARCH_CALL_PUSHES ? PL_ARCH_CALL_PUSHES : (uint32_t) (detail->bits >> ABOVE_SHIFT) * 8;
}

/* A stack that is recognised needs only the part from `top` on: one cache line, and the places. */
struct way {
    uint64_t sum;          /* over all frames, of pc times the factor of the frame's number */
    uint64_t sum_at;       /* the same of the addresses of the return addresses */
    struct word *returns;  /* behind the end of `places` */
    struct word *other;    /* behind the end of `returns` */
    struct detail *detail; /* behind the end of `other` */
    uint32_t turn;         /* pl_trace.turn when it was last changed */
    uint32_t slot;         /* the slot that uses it, plus one */

    uint32_t top __attribute__((aligned(LINE_BYTES)));
    uint32_t generation;
    uintptr_t at; /* this and the next three: of the top. If fp_mask is 0, fp does not matter */
    uintptr_t pc;
    uintptr_t fp;
    uintptr_t fp_mask;
    uint64_t key;    /* of the cached stack */
    uint64_t base;   /* the part of `sum` that is not read: the top's, and the generation's */
    uint64_t layout; /* the part of the key that is not read */

    uint64_t hash;
    uintptr_t floor;   /* FLOOR_BYTES below the end of the stack */
    uint32_t others;   /* index of the last */
    uint32_t places[]; /* by the frame's number: where returns[number].at is, in words above the floor */
};
#define FLOOR_BYTES (8ull << 32)

/* The size of a way in words. An odd number of cache lines, so that the ways do not compete for the same ones. */
#define WAY_BYTES(frames, others)                                                                                      \
    (sizeof(struct way) + (FIRST + (frames)) * (sizeof(uint32_t) + sizeof(struct word) + sizeof(struct detail)) +      \
     (FIRST + (others)) * sizeof(struct word))
#define WAY_WORDS(frames, others) (((WAY_BYTES(frames, others) / LINE_BYTES + 1) | 1) * LINE_BYTES / 8)

struct pl_trace {
    uint64_t no_way[WAY_WORDS(0, 0)]; /* never written: slots that are 0 refer to it, whose top no start matches */
    uint16_t slots[SLOTS];            /* by innermost pc and sp: the offset of the way in this struct, in words */
    uint32_t turn;
    uint64_t salt;       /* a part of every key: another one for each owner */
    uint64_t keys[KEYS]; /* of stacks that were traced */
    struct step steps[DEEP_FRAMES + 1];
    uint64_t ways[WAYS][WAY_WORDS(WAY_FRAMES, WAY_OTHERS)] __attribute__((aligned(LINE_BYTES)));
    uint64_t deep_ways[DEEP_WAYS][WAY_WORDS(DEEP_FRAMES, DEEP_OTHERS)];
};
#define DEEP_PLACE (offsetof(struct pl_trace, deep_ways) / 8)
_Static_assert(sizeof(struct pl_trace) / 8 <= UINT16_MAX, "a slot cannot name every place");

const uint32_t pl_trace_bytes = sizeof(struct pl_trace), pl_trace_soon_bytes = offsetof(struct pl_trace, steps);

/* ---- the hash ---- */

/*
 * A sum of products with pseudo-random factors: two different stacks have the same sum with a probability of about
 * 2^-64, and if one frame changes, one product changes. The factors are the same in every thread and process.
 */
static uint64_t factors[FIRST + DEEP_FRAMES]; /* 0 before FIRST */

static COLD void draw_factors(void)
{
    uint64_t state = 0;
    for (unsigned i = FIRST; i < FIRST + DEEP_FRAMES; i++) {
        uint64_t x = state += 0x9e3779b97f4a7c15u;
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
        x = (x ^ x >> 27) * 0x94d049bb133111ebu;
        store_release(&factors[i], x ^ x >> 31); /* in order: if the last is not 0, all are set */
    }
}

/* A bijection that mixes all bits of the sum (but 0 becomes 1). */
INLINE uint64_t hash_of(uint64_t sum)
{
    uint64_t x = (sum ^ sum >> 32) * 0xd6e8feb86659fd93u;
    x ^= x >> 29;
    return likely(x) ? x : 1;
}

/* ---- words ---- */

#define FACTOR_AT 0xa0761d6478bd642full    /* for what is only in keys: the layout, */
#define FACTOR_OTHER 0xe7037ed1a0b428dbull /* the `other` words, their addresses, */
#define FACTOR_OTHER_AT 0x8ebc6af09c88c6e3ull
#define FACTOR_FP 0x589965cc75374cc3ull

/* A return address, as it is in memory now. */
INLINE uintptr_t load_code(uintptr_t at)
{
    return pl_arch_code(pl_walk_load(at));
}

/* Both add the words from `number` down, as they are in memory now, to a sum. Those before FIRST may be read, and add
 * nothing. There are many return addresses, and hardly ever more than one or two others. */
INLINE uint64_t add_returns(const struct way *way, unsigned number, uint64_t sum)
{
    const uint32_t *place = way->places + number;
    const uint64_t *factor = factors + number;
    uintptr_t floor = way->floor;
    for (; likely(factor >= factors + FIRST); place -= 4, factor -= 4) {
        sum += load_code(floor + 8 * (uintptr_t) place[0]) * factor[0];
        sum += load_code(floor + 8 * (uintptr_t) place[-1]) * factor[-1];
        sum += load_code(floor + 8 * (uintptr_t) place[-2]) * factor[-2];
        sum += load_code(floor + 8 * (uintptr_t) place[-3]) * factor[-3];
    }
    return sum;
}

INLINE uint64_t add_others(const struct way *way, unsigned number, uint64_t sum)
{
    for (; number >= FIRST; number--)
        sum += pl_walk_load(way->other[number].at) * (factors[number] * FACTOR_OTHER);
    return sum;
}

INLINE bool changed(const struct word *word)
{
    return load_code(word->at) != word->is;
}

/* The number of the first changed return address, from `number` down, or NONE, whose word always counts as changed. */
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

/* The same of the `other` words. */
INLINE unsigned first_other_change(const struct word *words, unsigned number)
{
    while (pl_walk_load(words[number].at) == words[number].is)
        number--;
    return number;
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

/* `detail` is set last: if it is not NULL, the way is laid out. */
static COLD void lay_out(struct way *way, unsigned frames, unsigned others)
{
    struct word *returns = (struct word *) (void *) &way->places[(FIRST + frames) | 1]; /* an odd number, to align */
    struct word *other = &returns[FIRST + frames];
    struct detail *detail = (struct detail *) (void *) &other[FIRST + others];
    if (load_acquire(&factors[FIRST + DEEP_FRAMES - 1]) == 0)
        draw_factors();
    returns[0].at = ~(uintptr_t) 7; /* above any frame */
    for (unsigned i = 1; i <= NONE; i++) {
        returns[i].at = other[i].at = (uintptr_t) &returns[0].is; /* which is 0, */
        returns[i].is = other[i].is = 1;                          /* not 1: always "changed" */
    }
    detail[NONE].others = NONE;
    way->returns = returns;
    way->other = other;
    signal_fence();
    way->detail = detail;
}

INLINE bool is_deep(struct pl_trace *trace, struct way *way)
{
    return (uint64_t *) (void *) way >= trace->deep_ways[0];
}

/* Of two candidates, the way that was changed longer ago. */
static struct way *oldest(struct pl_trace *trace, bool deep)
{
    uint32_t turn = trace->turn, random = turn * 0x9e3779b1u >> 16;
    uint32_t count = turn < BEGINNING ? WAYS_AT_FIRST : WAYS;
    void *one = deep ? trace->deep_ways[turn % DEEP_WAYS] : trace->ways[turn % count];
    void *two = deep ? trace->deep_ways[random % DEEP_WAYS] : trace->ways[random % count];
    return ((struct way *) one)->turn <= ((struct way *) two)->turn ? one : two;
}

/* Gives a way to a slot that has none, or whose way another slot has taken. */
static NOINLINE struct way *take_way(struct pl_trace *trace, unsigned slot)
{
    bool deep = trace->slots[slot] >= DEEP_PLACE;
    struct way *way = oldest(trace, deep);
    if (unlikely(!way->detail))
        lay_out(way, deep ? DEEP_FRAMES : WAY_FRAMES, deep ? DEEP_OTHERS : WAY_OTHERS);
    trace->slots[slot] = (uint16_t) ((uint64_t *) (void *) way - (uint64_t *) (void *) trace);
    way->slot = slot + 1;
    return way;
}

static void forget(uint64_t *memory)
{
    struct way *way = (struct way *) (void *) memory;
    if (way->at)
        way->at = 0;
}

void pl_trace_forget(struct pl_trace *trace)
{
    for (unsigned i = 0; i < WAYS; i++)
        forget(trace->ways[i]);
    for (unsigned i = 0; i < DEEP_WAYS; i++)
        forget(trace->deep_ways[i]);
    trace->salt += 0x9e3779b97f4a7c15ull; /* no key of before is found again */
}

/* ---- out of one frame ---- */

#define STACK_END 0u /* in place of a rule, where the return address is 0 */

/* Word by word: otherwise the compiler moves two words at once through the stack, which may be misaligned. */
INLINE void put_step(struct step *step, uintptr_t at, uintptr_t pc, uintptr_t fp, uint32_t rule, uint32_t above)
{
    step->pc.at = at;
    step->pc.is = pc;
    step->fp = fp;
    step->rule = rule;
    if (!PL_ARCH_CALL_PUSHES)
        step->above = above;
}

INLINE uintptr_t words_of(int32_t words)
{
    return 8 * (uintptr_t) (intptr_t) words;
}

/* Steps to the caller's frame. Its return address must not lie above `last`. */
static bool leave_realigned(struct step *at, uint32_t rule, uintptr_t last)
{
    uintptr_t cfa_at = at->fp + words_of(PL_RULE_A(rule));
    uintptr_t fp_at = at->fp + words_of(PL_RULE_B(rule));
    uintptr_t sp = sp_of(at);
    if (at->fp % 8 || sp > last || cfa_at - sp > last - sp || fp_at - sp > last - sp)
        return false;
    uintptr_t cfa = pl_walk_load(cfa_at);
    if (cfa % 8 || cfa <= sp || cfa - 8 > last)
        return false;
    at->fp = pl_walk_load(fp_at);
    at->pc.at = cfa - 8;
    at->pc.is = pl_walk_load(cfa - 8);
    return true;
}

/* Searches everywhere. If the rule is not there, the plain walk has to learn it: that takes more stack than a trace may
 * use, and a stack with a new rule needs a plain walk anyway, to find its frames. */
static COLD uint32_t look_closer(uintptr_t where)
{
    uint32_t rule = pl_rule_search(where);
    return rule ? rule : PL_RULE_MAKE_SPECIAL(PL_SPECIAL_UNKNOWN);
}

/* Steps to the caller's frame. False: pc, sp and fp are not enough, or the words may not be read; a plain walk may be
 * able to. */
INLINE bool leave(struct step *at, uint32_t rule, uintptr_t last)
{
    uintptr_t sp = sp_of(at), base = sp;
    if (unlikely(PL_RULE_BASE(rule) != PL_RULE_SP)) {
        if (PL_RULE_BASE(rule) == PL_RULE_REALIGNED) {
            struct step next = *at; /* a copy, so that the loop's own `at` stays in registers */
            bool left = leave_realigned(&next, rule, last);
            *at = next;
            return left;
        }
        base = at->fp;
        if (PL_RULE_BASE(rule) == PL_RULE_SPECIAL || base % 8)
            return false;
    }
    struct pl_arch_stride stride = pl_arch_stride(rule, base);
    bool below = (intptr_t) (stride.fp_at - sp) < 0; /* where calls push, pc is never below fp */
    if (unlikely(stride.cfa - 8 > last || below || (!PL_ARCH_CALL_PUSHES && (intptr_t) (stride.pc_at - sp) < 0)))
        return false;
    uintptr_t fp = pl_walk_load(stride.fp_at);
    at->fp = stride.fp_at != stride.pc_at ? fp : at->fp;
    at->pc.at = stride.pc_at;
    at->pc.is = load_code(stride.pc_at);
    if (!PL_ARCH_CALL_PUSHES)
        at->above = (uint32_t) (stride.cfa - stride.pc_at);
    return true;
}

/* ---- the outer part of a way ---- */

INLINE bool meets(const struct way *way, unsigned number, const struct step *at)
{
    const struct detail *detail = &way->detail[number];
    return way->returns[number].is == at->pc.is && (PL_ARCH_CALL_PUSHES || above_of(detail) == at->above) &&
           (!(detail->bits & NEEDS_FP) || detail->fp == at->fp);
}

/* Where a plain rule finds fp, if it finds the return address at `pc_at`. */
INLINE uintptr_t fp_at(uint32_t rule, uintptr_t pc_at)
{
    struct pl_arch_stride stride = pl_arch_stride(rule, 0);
    return pc_at + (stride.fp_at - stride.pc_at);
}

/* Does this rule lead out of the frame to the same place as its own rule, apart from an fp that does not matter? */
static bool alike(const struct way *way, unsigned number, uint32_t rule)
{
    const struct word *word = &way->returns[number];
    const struct detail *detail = &way->detail[number];
    uintptr_t sp = word->at + above_of(detail);
    return detail->bits & ANY_FP && ((rule ^ detail->rule) & ~PL_ARCH_RULE_FP) == 0 &&
           (intptr_t) (fp_at(rule, word[-1].at) - sp) >= 0;
}

/* A return address has changed. If the step out of its frame is the same as before, only this word has to change. */
INLINE bool replace(struct way *way, unsigned number)
{
    struct word *word = &way->returns[number];
    struct detail *detail = &way->detail[number];
    uintptr_t pc = load_code(word->at);
    uint32_t rule = pl_rule_recall(pc - 1);
    if (unlikely(rule == PL_RULE_MAKE_SPECIAL(PL_SPECIAL_UNKNOWN)) && pc)
        rule = look_closer(pc - 1);
    if (rule != detail->rule && !alike(way, number, rule))
        return false;
    way->sum += (pc - word->is) * factors[number];
    word->is = pc;
    detail->rule = rule;
    return true;
}

/* The innermost frame whose step depends on a changed `other` word, or NONE. */
static unsigned broken_by_others(const struct way *way, unsigned from)
{
    unsigned other = first_other_change(way->other, way->detail[from].others);
    if (other < FIRST)
        return NONE;
    while (way->detail[from - 1].others >= other)
        from--;
    return from;
}

/* Updates the outer part of the way, from frame `from`, whose registers match. `change` is its first changed return
 * address. Returns the innermost frame whose step may lead elsewhere now, or NONE. */
INLINE unsigned mend(struct way *way, unsigned from, unsigned change)
{
    unsigned broken = likely(way->detail[from].others == NONE) ? NONE : broken_by_others(way, from);
    for (; change > NONE && change >= broken; change = first_change(way->returns, change - 1))
        if (unlikely(!replace(way, change)))
            return change + 1;
    return broken;
}

/* Copies the unchanged frames from `from` to just before `to` into steps, because they may get other numbers. Stores
 * the fp of `to` in the step after the last. */
static COLD struct step *keep(const struct way *way, unsigned from, unsigned to, struct step *step,
                              const struct step *end, uintptr_t fp)
{
    for (; from > to && step < end; from--, step++) {
        const struct word *word = &way->returns[from];
        uint32_t rule = way->detail[from].rule;
        put_step(step, word->at, word->is, fp, rule, above_of(&way->detail[from]));
        if (PL_RULE_BASE(rule) == PL_RULE_REALIGNED)
            fp = pl_walk_load(fp + words_of(PL_RULE_B(rule)));
        else if (PL_RULE_SAVES_FP(rule))
            fp = pl_walk_load(fp_at(rule, word[-1].at));
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

/* Adds the words other than the return address that the step to the caller depends on. False: no room. */
static bool extend_others(struct way *way, unsigned *others, const struct step *step, uintptr_t caller_at,
                          uintptr_t caller_fp, bool needs_fp)
{
    uint32_t rule = step->rule;
    if (likely(PL_RULE_BASE(rule) <= PL_RULE_FP)) {
        return !needs_fp || !PL_RULE_SAVES_FP(rule) || add_other(way, others, fp_at(rule, caller_at), caller_fp);
    }
    if (PL_RULE_BASE(rule) != PL_RULE_REALIGNED)
        return true;
    uintptr_t cfa_at = step->fp + words_of(PL_RULE_A(rule));
    uintptr_t saved_fp_at = step->fp + words_of(PL_RULE_B(rule));
    return add_other(way, others, cfa_at, caller_at + 8) &&
           (!needs_fp || add_other(way, others, saved_fp_at, caller_fp));
}

INLINE unsigned bits_of(uint32_t rule, bool caller_needs_fp)
{
    switch (PL_RULE_BASE(rule)) {
    case PL_RULE_SP:
        return caller_needs_fp ? (PL_RULE_SAVES_FP(rule) ? 0 : NEEDS_FP) : ANY_FP;
    case PL_RULE_FP:
        return caller_needs_fp ? NEEDS_FP : NEEDS_FP | ANY_FP;
    case PL_RULE_REALIGNED:
        return NEEDS_FP;
    default:
        return 0;
    }
}

/* Appends the frames of `steps`, from the one before `step` to the first, after frame `number`. Returns the number of
 * the last, or 0 if there is no room for an `other` word. */
INLINE unsigned extend(struct way *way, unsigned number, const struct step *steps, const struct step *step,
                       uintptr_t at, uintptr_t fp)
{
    unsigned others = way->detail[number].others;
    unsigned bits = way->detail[number].bits;
    struct word *word = &way->returns[number];
    struct detail *detail = &way->detail[number];
    uint32_t *place = &way->places[number];
    const uint64_t *factor = &factors[number];
    uint64_t sum = way->sum, sum_at = way->sum_at;
    while (step > steps) {
        step--;
        uint32_t rule = step->rule;
        if (unlikely(((bits & NEEDS_FP) | PL_RULE_BASE(rule)) != 0)) {
            if (!extend_others(way, &others, step, at, fp, bits & NEEDS_FP))
                return 0;
            bits = bits_of(rule, bits & NEEDS_FP);
        } else {
            bits = ANY_FP;
        }
        at = step->pc.at;
        fp = step->fp;
        uintptr_t pc = step->pc.is;
        word++, detail++, place++, factor++;
        sum += pc * *factor;
        sum_at += at * *factor;
        *place = (uint32_t) ((at - way->floor) / 8);
        word->at = at;
        word->is = pc;
        detail->fp = fp;
        detail->rule = rule;
        detail->others = (uint16_t) others;
        detail->bits = (uint16_t) (PL_ARCH_CALL_PUSHES ? bits : bits | step->above / 8 << ABOVE_SHIFT);
    }
    way->sum = sum;
    way->sum_at = sum_at;
    way->hash = hash_of(sum);
    way->others = others;
    way->pc = word->is;
    way->fp = fp;
    way->fp_mask = bits & NEEDS_FP ? ~(uintptr_t) 0 : 0;
    return (unsigned) (word - way->returns);
}

/* Removes the frames further in than `number`. */
INLINE void cut(struct way *way, unsigned number, unsigned top)
{
    uint64_t sum = way->sum, sum_at = way->sum_at;
    for (; top > number; top--) {
        sum -= way->returns[top].is * factors[top];
        sum_at -= way->returns[top].at * factors[top];
    }
    way->sum = sum;
    way->sum_at = sum_at;
}

/* ---- keys ---- */

/* A key has two places. */
INLINE uint64_t *places_of_key(struct pl_trace *trace, uint64_t key)
{
    return &trace->keys[(key * 0x9e3779b97f4a7c15u >> 40) % KEYS & ~1u];
}

INLINE bool has_key(struct pl_trace *trace, uint64_t key)
{
    const uint64_t *places = places_of_key(trace, key);
    return likely(places[0] == key) || places[1] == key;
}

INLINE uint64_t start_of(uint32_t generation)
{
    return generation * 0x2545f4914f6cdd1dull;
}

/* The way is complete, with this top: computes its key, and keeps it. */
INLINE void keep_key(struct pl_trace *trace, struct way *way, unsigned top)
{
    uint64_t others = 0, others_at = 0;
    for (unsigned i = 0; i < FIRST; i++)
        way->places[i] = way->places[FIRST];
    for (unsigned i = FIRST; i <= way->others; i++) {
        others += way->other[i].is * factors[i];
        others_at += way->other[i].at * factors[i];
    }
    way->base = start_of(way->generation) + way->pc * factors[top];
    way->layout =
        way->sum_at * FACTOR_AT + others_at * FACTOR_OTHER_AT + (way->fp & way->fp_mask) * FACTOR_FP + trace->salt;
    way->key = way->sum + others * FACTOR_OTHER + way->layout;
    uint64_t *places = places_of_key(trace, way->key);
    if (places[0] != way->key) {
        places[1] = places[0];
        places[0] = way->key;
    }
}

/* ---- tracing ---- */

/* Marks the way invalid and returns its old top; NONE if it was not valid for this generation, or another stack. */
INLINE unsigned open(struct way *way, uint32_t generation, uintptr_t floor)
{
    unsigned top = way->top;
    if (unlikely(way->at == 0 || way->generation != generation || way->floor != floor)) {
        way->generation = generation;
        way->floor = floor;
        way->sum = start_of(generation);
        way->sum_at = 0;
        top = NONE;
    }
    way->at = 0;
    signal_fence();
    return top;
}

/* `change`: the first changed return address, if the top of the way matches the start. 0: the top does not match. */
static NOINLINE uint64_t retrace(struct pl_trace *trace, struct way *way, struct pl_walk *walk,
                                 const struct pl_start *start, uint32_t generation, unsigned change)
{
    const struct pl_stack_bounds *own = &walk->own;
    uintptr_t floor = (own->hi & ~(uintptr_t) 7) - FLOOR_BYTES, at_first = start->sp - 8;
    if (unlikely(start->sp - own->proven >= own->hi - own->proven || start->sp % 8 || at_first - floor >= FLOOR_BYTES))
        return 0;
    struct step at = {{at_first, start->pc}, start->fp, 0, 8};
    struct step *step = trace->steps;
    unsigned number, old_top = open(way, generation, floor);
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
            at.above = above_of(&way->detail[broken]);
            meeting--;
            change = 0;
        }
        if (unlikely(step >= trace->steps + DEEP_FRAMES))
            return 0;
        uint32_t rule = pl_rule_recall(at.pc.is - 1);
        if (unlikely(rule == PL_RULE_MAKE_SPECIAL(PL_SPECIAL_UNKNOWN)))
            rule = at.pc.is ? look_closer(at.pc.is - 1) : STACK_END;
        put_step(step++, at.pc.at, at.pc.is, at.fp, rule, at.above);
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
    keep_key(trace, way, top);
    way->top = top;
    signal_fence();
    way->at = at_first;
    return way->hash;
}

INLINE bool top_is_met(const struct way *way, const struct pl_start *start, uint32_t generation)
{
    return likely(way->at == start->sp - 8 && way->pc == start->pc && way->generation == generation &&
                  ((way->fp ^ start->fp) & way->fp_mask) == 0);
}

/* The stack is not known to have the layout of its slot's way. */
static NOINLINE uint64_t trace_elsewhere(struct pl_trace *trace, struct pl_walk *walk, const struct pl_start *start,
                                         uint32_t generation)
{
    unsigned slot = slot_of(start), change = 0;
    struct way *way = way_at(trace, trace->slots[slot]);
    if (way->slot != slot + 1)
        way = take_way(trace, slot);
    else if (top_is_met(way, start, generation))
        change = first_change(way->returns, way->top - 1);
    return retrace(trace, way, walk, start, generation, change);
}

uint64_t pl_trace_recall(struct pl_trace *trace, const struct pl_start *start, uint32_t generation)
{
    const struct way *way = way_at(trace, trace->slots[slot_of(start)]);
    if (unlikely(!top_is_met(way, start, generation)))
        return 0;
    uint64_t sum = add_returns(way, way->top - 1, way->base);
    uint64_t key = add_others(way, way->others, sum + way->layout);
    if (likely(key == way->key))
        return way->hash;
    return likely(has_key(trace, key)) ? hash_of(sum) : 0;
}

uint64_t pl_trace_stack(struct pl_trace *trace, struct pl_walk *walk, const struct pl_start *start, uint32_t generation)
{
    uint64_t hash = pl_trace_recall(trace, start, generation);
    return likely(hash) ? hash : trace_elsewhere(trace, walk, start, generation);
}
