/* SPDX-License-Identifier: MIT */
/*
 * join_code.c - joins the modules, frames and stacks of several profiles; each is in the result once.
 *
 * A frame takes its places from the first profile that can name it. Addresses outside of all modules are the same if
 * they are equal, whatever each process had there: nothing better is known.
 */
#include <string.h>

#include "reader/base/index.h"
#include "reader/join/join_work.h"

/* ---- modules ---- */

struct module_question {
    const struct pl_module_view *module, *wanted;
};

static bool same_module(const void *context, uint32_t entry)
{
    const struct module_question *question = context;
    const struct pl_module_view *a = &question->module[entry], *b = question->wanted;
    return a->fingerprint == b->fingerprint && strcmp(a->path, b->path) == 0 && strcmp(a->build_id, b->build_id) == 0;
}

static uint32_t find_module(struct pl_profile *out, const struct pl_index *index, const struct pl_module_view *wanted)
{
    struct module_question question = {out->module, wanted};
    uint32_t *slot = pl_index_find(index, pl_index_text(index->seed, wanted->path), 0, same_module, &question);
    if (*slot == 0) {
        out->module[out->modules] = *wanted;
        *slot = ++out->modules;
    }
    return *slot - 1;
}

static void join_modules(struct pl_join_work *work, uint32_t most)
{
    struct pl_index index = pl_index_new(work->scratch, most);
    work->out->module = pl_arena_alloc(work->out->arena, (most + 1ull) * sizeof *work->out->module);
    for (uint32_t p = 0; p < work->parts; p++) {
        const struct pl_profile *part = work->part[p];
        for (uint32_t i = 0; i < part->modules; i++)
            work->map[p].module[i] = find_module(work->out, &index, &part->module[i]);
    }
}

/* The allocator of all parts; PL_NO_MODULE if they differ. */
static uint32_t common_allocator(const struct pl_join_work *work)
{
    uint32_t common = PL_NO_MODULE;
    for (uint32_t p = work->how == PL_JOIN_DIFFERENCE ? 1 : 0; p < work->parts; p++) {
        uint32_t allocator = work->part[p]->allocator;
        if (allocator == PL_NO_MODULE)
            continue;
        allocator = work->map[p].module[allocator];
        if (common != PL_NO_MODULE && common != allocator)
            return PL_NO_MODULE;
        common = allocator;
    }
    return common;
}

/* ---- frames ---- */

struct frame_question {
    const struct pl_frame_view *frame, *wanted;
};

static bool same_frame(const void *context, uint32_t entry)
{
    const struct frame_question *question = context;
    const struct pl_frame_view *a = &question->frame[entry], *b = question->wanted;
    return a->module == b->module && a->address == b->address && a->flags == b->flags;
}

static bool is_named(const struct pl_frame_view *frame)
{
    return frame->places > 1 || (frame->places == 1 && (*frame->place->function || *frame->place->file));
}

static uint32_t find_frame(struct pl_profile *out, const struct pl_index *index, const struct pl_frame_view *wanted)
{
    struct frame_question question = {out->frame, wanted};
    uint32_t *slot = pl_index_find(index, wanted->module, wanted->address | wanted->flags, same_frame, &question);
    if (*slot == 0) {
        out->frame[out->frames] = *wanted;
        *slot = ++out->frames;
    }
    struct pl_frame_view *frame = &out->frame[*slot - 1];
    frame->record = *slot;
    if (!is_named(frame) && is_named(wanted)) {
        frame->places = wanted->places;
        frame->place = wanted->place;
    }
    return *slot - 1;
}

static void join_frames(struct pl_join_work *work, uint32_t most)
{
    struct pl_index index = pl_index_new(work->scratch, most);
    work->out->frame = pl_arena_alloc(work->out->arena, (most + 1ull) * sizeof *work->out->frame);
    for (uint32_t p = 0; p < work->parts; p++) {
        const struct pl_profile *part = work->part[p];
        for (uint32_t i = 0; i < part->frames; i++) {
            struct pl_frame_view wanted = part->frame[i];
            wanted.module = work->map[p].module[wanted.module];
            work->map[p].frame[i] = find_frame(work->out, &index, &wanted);
        }
    }
}

/* ---- stacks ---- */

struct stack_question {
    const struct pl_stack_view *stack;
    struct pl_stack_view wanted;
};

static bool same_stack(const void *context, uint32_t entry)
{
    const struct stack_question *question = context;
    const struct pl_stack_view *a = &question->stack[entry], *b = &question->wanted;
    return a->frames == b->frames && memcmp(a->frame, b->frame, b->frames * sizeof *b->frame) == 0;
}

static uint32_t find_stack(struct pl_profile *out, const struct pl_index *index, struct pl_stack_view wanted)
{
    struct stack_question question = {out->stack, wanted};
    uint64_t hash = index->seed;
    for (uint32_t i = 0; i < wanted.frames; i++)
        hash = pl_index_mix(hash, wanted.frame[i]);
    uint32_t *slot = pl_index_find(index, hash, wanted.frames, same_stack, &question);
    if (*slot == 0) {
        uint32_t *frame = pl_arena_alloc(out->arena, wanted.frames * sizeof *frame);
        memcpy(frame, wanted.frame, wanted.frames * sizeof *frame);
        out->stack[out->stacks] = (struct pl_stack_view){wanted.frames, frame};
        *slot = ++out->stacks;
    }
    return *slot - 1;
}

static uint32_t deepest(const struct pl_join_work *work)
{
    uint32_t most = 0;
    for (uint32_t p = 0; p < work->parts; p++)
        for (uint32_t i = 0; i < work->part[p]->stacks; i++)
            most = work->part[p]->stack[i].frames > most ? work->part[p]->stack[i].frames : most;
    return most;
}

static void join_stacks(struct pl_join_work *work, uint32_t most)
{
    struct pl_index index = pl_index_new(work->scratch, most);
    uint32_t *frame = pl_arena_alloc(work->scratch, deepest(work) * sizeof *frame);
    work->out->stack = pl_arena_alloc(work->out->arena, (most + 1ull) * sizeof *work->out->stack);
    for (uint32_t p = 0; p < work->parts; p++) {
        for (uint32_t i = 0; i < work->part[p]->stacks; i++) {
            const struct pl_stack_view *stack = &work->part[p]->stack[i];
            for (uint32_t f = 0; f < stack->frames; f++)
                frame[f] = work->map[p].frame[stack->frame[f]];
            work->map[p].stack[i] = find_stack(work->out, &index, (struct pl_stack_view){stack->frames, frame});
        }
    }
}

void pl_join_code(struct pl_join_work *work)
{
    uint32_t modules = 0, frames = 0, stacks = 0;
    for (uint32_t p = 0; p < work->parts; p++) {
        const struct pl_profile *part = work->part[p];
        work->map[p].module = pl_arena_alloc(work->scratch, part->modules * sizeof(uint32_t));
        work->map[p].frame = pl_arena_alloc(work->scratch, part->frames * sizeof(uint32_t));
        work->map[p].stack = pl_arena_alloc(work->scratch, part->stacks * sizeof(uint32_t));
        modules += part->modules;
        frames += part->frames;
        stacks += part->stacks;
    }
    join_modules(work, modules);
    work->out->allocator = common_allocator(work);
    join_frames(work, frames);
    join_stacks(work, stacks);
}
