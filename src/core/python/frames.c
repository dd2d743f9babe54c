/* SPDX-License-Identifier: MIT */
/*
 * frames.c - finds the interpreter, follows a thread's chain of frames, and puts it into native stacks.
 *
 * What is in memory may be nonsense: the program may have written to it, or the interpreter is being started or torn
 * down. So a chain counts only as far as each of its parts can be read, is aligned, and a code object is one by its
 * type. A chain that is cut short gives a shorter stack, and a thread state must say that it is this thread's.
 */
#include <elf.h>

#include "core/exported.h"
#include "core/hash.h"
#include "core/memory.h"
#include "core/process.h"
#include "core/python/python.h"
#include "core/python/reader.h"
#include "core/unwind/rules.h"

#define CHAIN_MOST (1u << 17) /* frames: a chain that is longer is a circle */
#define KEY_MOST 1024u        /* PTHREAD_KEYS_MAX */
#define SEARCHES_MOST 16u
#define HALF (PL_WALK_FRAMES / 2)

struct pl_python pl_python;

/* ---- the interpreter ---- */

/* Since 3.11 a constant; before, each version has functions that the one before did not have. */
static uint32_t version_of(const struct pl_exported *module)
{
    uintptr_t constant = pl_exported_find(module, "Py_Version");
    if (constant)
        return pl_python_word32(constant);
    if (pl_exported_find(module, "PyIter_Send"))
        return 0x030a0000;
    return pl_exported_find(module, "PyThreadState_GetFrame") ? 0x03090000 : 0;
}

void pl_python_tell(struct pl_process *process)
{
    struct pl_header *header = pl_file_header(&process->file);
    store_relaxed(&header->python_version, pl_python.version);
    store_relaxed(&header->python, load_relaxed(&pl_python.known) ? PL_PYTHON_READ : PL_PYTHON_OTHER);
}

static void learn(const struct pl_found_module *found, const struct pl_exported *module, const ElfW(Sym) * runtime)
{
    const ElfW(Sym) *evaluator = pl_exported_symbol(module, "_PyEval_EvalFrameDefault");
    pl_python.runtime = module->base + (uintptr_t) runtime->st_value;
    pl_python.runtime_bytes = runtime->st_size;
    pl_python.code_type = pl_exported_find(module, "PyCode_Type");
    pl_python.version = version_of(module);
    if (!evaluator || !evaluator->st_size || !pl_python.code_type || !pl_front.self || !pl_front.specific ||
        !pl_python_layout_of(pl_python.version, pl_python.runtime, runtime->st_size, &pl_python.layout))
        return;
    pl_python.evaluator = module->base + (uintptr_t) evaluator->st_value;
    pl_python.evaluator_end = pl_python.evaluator + (uintptr_t) evaluator->st_size;
    pl_python.module = found->start;
    pl_python.module_end = found->end;
    store_relaxed(&pl_python.far_end, 0);
    store_relaxed(&pl_python.sought, 0);
    fetch_add(&pl_python.met, 1);
    store_release(&pl_python.known, 1);
}

/* Two threads may meet the interpreter at once: one of them learns. */
static uint32_t learning;

void pl_python_meet(struct pl_process *process, const struct pl_found_module *found)
{
    if (!found->map || !found->map->l_ld)
        return;
    struct pl_exported module = pl_exported_read(found->bias, found->map->l_ld);
    const ElfW(Sym) *runtime = pl_exported_symbol(&module, "_PyRuntime");
    if (!runtime || !swap_if(&learning, 0, 1))
        return;
    if (!load_relaxed(&pl_python.known))
        learn(found, &module, runtime);
    pl_python_tell(process);
    store_release(&learning, 0);
}

uint32_t pl_python_suspend(void)
{
    return exchange(&pl_python.known, 0);
}

void pl_python_resume(uint32_t known)
{
    store_release(&pl_python.known, known);
}

/* ---- reading ---- */

COLD bool pl_python_probe(struct pl_thread *thread, uintptr_t page)
{
    uint64_t unused;
    uintptr_t *set = thread->python->page[page % PL_PYTHON_SETS];
    thread->walk.ground_lo = thread->walk.ground_hi = 0; /* of the last walk: it may be gone */
    if (!pl_bounds_read(&thread->walk, page << PL_PYTHON_PAGE_SHIFT, &unused))
        return false;
    set[1] = set[0];
    set[0] = page;
    return true;
}

COLD void pl_python_forget(struct pl_thread *thread)
{
    struct pl_python_reader *reader = thread->python;
    uint32_t unmapped = load_acquire(&pl_python.unmapped);
    for (unsigned i = 0; i < PL_PYTHON_SETS; i++)
        reader->page[i][0] = reader->page[i][1] = 0;
    signal_fence(); /* if left by longjmp before this, it is done again */
    reader->unmapped = unmapped;
}

static COLD bool make_reader(struct pl_thread *thread)
{
    if (!thread->python)
        thread->python = pl_memory_kept(pl_memory_pages(sizeof *thread->python));
    return thread->python != NULL;
}

/* ---- the chain ---- */

INLINE bool is_mine(struct pl_thread *thread, const struct pl_python_layout *layout, uintptr_t state)
{
    return pl_python_may_read(thread, state, layout->state_thread + 8u) &&
           pl_walk_load(state + layout->state_thread) == pl_front.self();
}

/* The state that a key in _PyRuntime leads to; 0: there is no such key, or it is another thread's. */
INLINE uintptr_t state_by_key(struct pl_thread *thread, const struct pl_python_layout *layout, uintptr_t offset)
{
    uintptr_t at = pl_python.runtime + offset;
    if (!pl_python_may_read(thread, at & ~7ul, 16))
        return 0;
    uint32_t is_there = pl_python_word32(at), key = pl_python_word32(at + 4);
    if (is_there != 1 || key >= KEY_MOST)
        return 0;
    uintptr_t state = (uintptr_t) pl_front.specific(key);
    return is_mine(thread, layout, state) ? state : 0;
}

/* The calling thread's state; 0: it has none. */
INLINE uintptr_t state_of(struct pl_thread *thread, const struct pl_python_layout *layout)
{
    if (layout->runtime_current != PL_PYTHON_NONE &&
        pl_python_may_read(thread, pl_python.runtime + layout->runtime_current, 8)) {
        uintptr_t state = pl_walk_load(pl_python.runtime + layout->runtime_current);
        if (likely(is_mine(thread, layout, state)))
            return state;
    }
    uint16_t key = load_relaxed(&layout->runtime_key);
    return likely(key != PL_PYTHON_NONE) ? state_by_key(thread, layout, key) : 0;
}

/* The innermost frame of a state; 0: there is none. */
INLINE uintptr_t innermost_of(struct pl_thread *thread, const struct pl_python_layout *layout, uintptr_t state)
{
    if (!state || !pl_python_may_read(thread, state + layout->state_frame, 8))
        return 0;
    uintptr_t frame = pl_walk_load(state + layout->state_frame);
    if (layout->cframe_frame == PL_PYTHON_NONE)
        return frame;
    return pl_python_may_read(thread, frame + layout->cframe_frame, 8) ? pl_walk_load(frame + layout->cframe_frame) : 0;
}

INLINE uintptr_t innermost(struct pl_thread *thread, const struct pl_python_layout *layout)
{
    return innermost_of(thread, layout, state_of(thread, layout));
}

/* Before its first traced instruction, a frame is still being set up, and its function has not begun. */
static bool has_begun(const struct pl_python_layout *layout, uintptr_t code, uintptr_t instruction)
{
    return layout->code_start == PL_PYTHON_NONE ||
           instruction >= code + layout->code_start + 2ul * pl_python_word32(code + layout->code_traced);
}

/* Without a GIL, threads execute copies of a function's instructions. Where in the code object would this one be? */
INLINE uintptr_t in_original(struct pl_thread *thread, const struct pl_python_layout *layout, uintptr_t frame,
                             uintptr_t code, uintptr_t instruction)
{
    uintptr_t copies = pl_walk_load(code + layout->code_copies); /* how many, and where each is */
    uint64_t which = pl_python_word32(frame + layout->frame_copy);
    if (!pl_python_may_read(thread, copies, 8) || which >= pl_walk_load(copies) ||
        !pl_python_may_read(thread, copies + 8 + 8 * which, 8))
        return 0;
    return instruction - pl_walk_load(copies + 8 + 8 * which) + code + layout->code_start;
}

#define OWNED_BY_STACK 3

INLINE bool read_frame(struct pl_thread *thread, const struct pl_python_layout *layout, uintptr_t at,
                       struct pl_python_frame *out)
{
    if (unlikely(!pl_python_may_read(thread, at, layout->frame_bytes)))
        return false;
    uintptr_t code = pl_walk_load(at + layout->frame_code) & ~(uintptr_t) layout->tag;
    uint8_t group = layout->group == PL_PYTHON_EACH ? 1 : pl_python_byte(at + layout->frame_group);
    out->at = at;
    out->back = pl_walk_load(at + layout->frame_back);
    out->last = layout->group == PL_PYTHON_SHIM ? group >= OWNED_BY_STACK : group != 0;
    out->instruction = layout->group == PL_PYTHON_EACH ? pl_python_word32(at + layout->frame_instruction)
                                                       : pl_walk_load(at + layout->frame_instruction);
    bool shown = !(layout->group == PL_PYTHON_SHIM && out->last) &&
                 pl_python_may_read(thread, code, layout->code_bytes) &&
                 likely(pl_walk_load(code + layout->object_type) == pl_python.code_type);
    out->code = shown ? code : 0;
    if (unlikely(layout->code_copies) && shown)
        out->instruction = in_original(thread, layout, at, code, out->instruction);
    return true;
}

/* Other memory may have the thread's address in that place, too: the value of another key may lie right below what libc
 * keeps of the thread. What executes Python code leads to Python code. */
static bool leads_to_code(struct pl_thread *thread, uintptr_t state)
{
    struct pl_python_frame frame = {.code = 0};
    uintptr_t at = innermost_of(thread, &pl_python.layout, state);
    for (unsigned i = 0; at && !frame.code && i < 4; i++, at = frame.back)
        if (!read_frame(thread, &pl_python.layout, at, &frame))
            return false;
    return frame.code != 0;
}

/* Where the key is differs between versions, and nothing says it. A thread that is in the evaluator has a state, and
 * the state says which thread it is of: so the key is what leads there. */
static COLD void search_key(struct pl_thread *thread)
{
    uint64_t most = pl_python.runtime_bytes < PL_PYTHON_SEARCHED ? pl_python.runtime_bytes : PL_PYTHON_SEARCHED;
    if (fetch_add(&pl_python.searches, 1) >= SEARCHES_MOST)
        return;
    for (uint16_t at = 0; at + 16u <= most; at += 4)
        if (leads_to_code(thread, state_by_key(thread, &pl_python.layout, at))) {
            store_relaxed(&pl_python.layout.runtime_key, at);
            return;
        }
}

bool pl_python_read(struct pl_thread *thread, uintptr_t at, struct pl_python_frame *out)
{
    return read_frame(thread, &pl_python.layout, at, out) && out->code;
}

/* ---- the hash ---- */

#define FACTOR_CODE 0xa0761d6478bd642full
#define FACTOR_NAME 0xe7037ed1a0b428dbull
#define FACTOR_FILE 0x8ebc6af09c88c6e3ull
#define FACTOR_LINE 0x589965cc75374cc3ull
#define FACTOR_CHAIN 0xd6e8feb86659fd93ull

/* Two words of a line table that has so many bytes. */
INLINE uint64_t words_of_table(uintptr_t at, uint64_t bytes)
{
    uint64_t first = pl_walk_load(at), second = pl_walk_load(at + 8);
    if (unlikely(bytes < 16)) {
        first &= bytes < 8 ? (1ull << 8 * bytes) - 1 : UINT64_MAX;
        second &= bytes > 8 ? (1ull << 8 * (bytes - 8)) - 1 : 0;
    }
    return first * FACTOR_NAME + second * FACTOR_FILE + bytes * FACTOR_LINE;
}

/* Code objects die, and others get their addresses, also those of what they refer to: so the name counts with its hash,
 * and the line table with its size and its beginning. */
INLINE uint64_t term_of(struct pl_thread *thread, const struct pl_python_layout *layout,
                        const struct pl_python_frame *frame)
{
    if (unlikely(!frame->code))
        return frame->instruction + frame->last;
    uintptr_t name = pl_walk_load(frame->code + layout->code_name);
    uint64_t text =
        likely(pl_python_may_read(thread, name, layout->text_hash + 8u)) ? pl_walk_load(name + layout->text_hash) : 0;
    uintptr_t table = pl_walk_load(frame->code + layout->code_lines);
    uint64_t lines = likely(pl_python_may_read(thread, table, layout->bytes_first + 16u))
                         ? words_of_table(table + layout->bytes_first, pl_walk_load(table + layout->bytes_size))
                         : 0;
    return frame->instruction + frame->last + lines * FACTOR_CHAIN + frame->code * FACTOR_CODE +
           (name ^ text) * FACTOR_NAME + pl_walk_load(frame->code + layout->code_file) * FACTOR_FILE +
           pl_python_word32(frame->code + layout->code_first_line) * FACTOR_LINE;
}

uint64_t pl_python_term(struct pl_thread *thread, const struct pl_python_frame *frame)
{
    return term_of(thread, &pl_python.layout, frame);
}

uint64_t pl_python_hash(struct pl_thread *thread, uint64_t hash)
{
    const struct pl_python_layout *layout = &pl_python.layout;
    struct pl_python_frame frame;
    if (!thread->python) /* it has not been found in the evaluator yet */
        return hash;
    pl_python_begin(thread);
    uintptr_t at = innermost(thread, layout);
    for (uint32_t i = 0; at && i < CHAIN_MOST && read_frame(thread, layout, at, &frame); i++, at = frame.back) {
        hash = (hash ^ term_of(thread, layout, &frame)) * FACTOR_CHAIN;
        hash ^= hash >> 32;
    }
    return likely(hash) ? hash : 1;
}

/* ---- weaving ---- */

static uintptr_t where_of(uint64_t word)
{
    return (word & PL_FRAME_ADDRESS_MASK) - !(word & PL_FRAME_EXACT);
}

static bool in_evaluator(uint64_t word)
{
    uintptr_t where = where_of(word);
    return (where >= pl_python.evaluator && where < pl_python.evaluator_end) ||
           (where < load_acquire(&pl_python.far_end) && where >= load_relaxed(&pl_python.far));
}

/* If parts of the evaluator were not found, their frames are those of the evaluator: the same rule leads out of them.
 */
static bool in_rare_part(uint64_t word)
{
    uintptr_t where = where_of(word);
    return where >= pl_python.module && where < pl_python.module_end && load_relaxed(&pl_python.rule) &&
           pl_rule_known(where) == load_relaxed(&pl_python.rule);
}

/* How many calls of the evaluator the walk has. */
static uint32_t count_calls(const struct pl_walk *walk)
{
    uint32_t calls = 0;
    for (uint32_t i = 0; i < walk->frames; i++) {
        if (!in_evaluator(walk->frame[i]))
            continue;
        uint32_t rule = calls++ ? 0 : pl_rule_known(where_of(walk->frame[i]));
        if (rule && PL_RULE_BASE(rule) <= PL_RULE_FP)
            store_relaxed(&pl_python.rule, rule);
    }
    return calls;
}

/* How many calls of the evaluator the chain has. */
static uint32_t count_groups(struct pl_thread *thread, uintptr_t at)
{
    struct pl_python_frame frame;
    uint32_t groups = 0;
    for (uint32_t i = 0; at && i < CHAIN_MOST && read_frame(thread, &pl_python.layout, at, &frame); i++) {
        groups += frame.last;
        at = frame.back;
    }
    return groups;
}

/* As in unwind.c: the first half of frame[] is filled in order, and the second half is a ring. */
static void push(struct pl_walk *walk, uint64_t word)
{
    uint32_t n = walk->walked++;
    walk->frame[n < PL_WALK_FRAMES ? n : HALF + n % HALF] = word;
}

/* Puts down the frames that one call of the evaluator executes, beginning with `at`: as words with the addresses of the
 * frames, until they are named. Returns the frame that comes next; 0: there is none. */
INLINE uintptr_t put_group(struct pl_thread *thread, uintptr_t at, uint32_t *left)
{
    struct pl_python_frame frame = {.last = false};
    while (at && *left && !frame.last) {
        --*left;
        if (!read_frame(thread, &pl_python.layout, at, &frame))
            return 0;
        at = frame.back;
        if (frame.code && has_begun(&pl_python.layout, frame.code, frame.instruction))
            push(&thread->walk, PL_FRAME_PYTHON | (frame.at & PL_FRAME_ADDRESS_MASK));
    }
    return at;
}

static COLD void finish(struct pl_walk *walk, uint64_t *ordered)
{
    walk->frames = walk->walked;
    if (walk->walked <= PL_WALK_FRAMES)
        return;
    for (unsigned i = 0; i < HALF; i++)
        ordered[i] = walk->frame[HALF + (walk->walked + i) % HALF];
    pl_memory_copy(&walk->frame[HALF + 1], ordered, HALF * sizeof *ordered);
    walk->frame[HALF] = PL_FRAME_GAP;
    walk->frames = PL_WALK_FRAMES + 1;
    walk->stop = PL_STOP_DEPTH;
}

/*
 * From the innermost frame outwards: the evaluator's innermost call executes the innermost frames. A stack that is too
 * deep has a gap already; it becomes deeper, and its new gap has the old one inside. Where a stack was cut, what is
 * left of the chain is further out.
 */
static OUT_OF_LINE void weave(struct pl_thread *thread, uint32_t calls, uintptr_t at)
{
    struct pl_walk *walk = &thread->walk;
    uint64_t *native = thread->python->native, cut = 0;
    uint32_t frames = walk->frames, groups = count_groups(thread, at), left = CHAIN_MOST;
    pl_memory_copy(native, walk->frame, frames * sizeof *native);
    walk->walked = 0;
    for (uint32_t i = 0; i < frames; i++) {
        if (native[i] == PL_FRAME_GAP)
            continue;
        cut = native[i] & PL_FRAME_CUT;
        push(walk, native[i] & ~PL_FRAME_CUT);
        if (in_evaluator(native[i]) || (unlikely(groups > calls) && in_rare_part(native[i])))
            at = put_group(thread, at, &left);
    }
    while (cut && at && left)
        at = put_group(thread, at, &left);
    finish(walk, native);
    walk->frame[walk->frames - 1] |= cut;
}

void pl_python_weave(struct pl_thread *thread)
{
    if (unlikely(load_acquire(&pl_python.known) && !load_relaxed(&pl_python.sought)))
        pl_python_find_far_part();
    uint32_t calls = likely(!load_acquire(&pl_python.known)) ? 0 : count_calls(&thread->walk);
    if (thread->python)
        thread->python->unnamed = 0; /* it may be set if a visit was left by longjmp */
    if (!calls || !make_reader(thread))
        return;
    uint32_t walked = thread->walk.walked;
    pl_python_begin(thread);
    if (unlikely(load_relaxed(&pl_python.layout.runtime_key) == PL_PYTHON_NONE))
        search_key(thread);
    uintptr_t first = innermost(thread, &pl_python.layout);
    if (first)
        weave(thread, calls, first);
    thread->walk.walked = walked; /* native frames: what the header counts */
    thread->python->named = thread->python->kept = 0;
    thread->python->unnamed = first != 0;
}
