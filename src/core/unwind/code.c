/* SPDX-License-Identifier: MIT */
/*
 * code.c - see code.h.
 *
 * The search follows one path at a time: it assumes that calls return, goes on behind branches, and comes back to their
 * targets only if the path leads nowhere. A jump out of the function is a tail call, which leads to the same caller.
 * The first `ret` is the answer. Every number is limited, so that the search ends.
 *
 * A call of a function that does not return is often the last instruction of its function. What follows then is
 * padding, and the path ends there.
 */
#include "core/unwind/code.h"

#ifdef __x86_64__ /* other processors have no reader of instructions yet */
#include "core/arch/x86_64_code.h"
#endif

#define STEPS_MAX 2000u
#define INSTRUCTION_BYTES_MAX 24 /* that the reader may look at */
#define FRAME_BYTES_MAX (1 << 20)

#ifdef PL_ARCH_X86_64_CODE_H

static bool is_new(struct pl_code *code, uintptr_t target)
{
    for (unsigned i = 0; i < code->targets; i++)
        if (code->seen[i] == target)
            return false;
    if (code->targets == PL_CODE_SEEN) {
        code->unsure = true;
        return false;
    }
    code->seen[code->targets++] = target;
    return true;
}

static void keep_for_later(struct pl_code *code, const struct pl_code_path *path, uintptr_t target)
{
    if (code->paths == PL_CODE_PATHS) {
        code->unsure = true;
        return;
    }
    code->path[code->paths] = *path;
    code->path[code->paths++].at = target;
}

/* What the instruction does to sp and fp. False if that cannot be. */
static bool apply(struct pl_code_path *path, const struct pl_arch_instruction *instruction)
{
    if (instruction->sp_from_fp) {
        path->sp = 0;
        path->from_fp = true;
    }
    path->sp += instruction->sp_change;
    path->fp_pushed += instruction->pushes_fp;
    if (instruction->pops_fp &&
        path->fp_pushed) { /* it was pushed on this path, by a function that this one jumps to */
        path->fp_pushed--;
    } else if (instruction->pops_fp && !path->fp_saved) {
        path->fp_at = path->sp - 8;
        path->fp_saved = true;
    }
    return path->sp < FRAME_BYTES_MAX && path->sp > -FRAME_BYTES_MAX;
}

/* Near the end of the segment, zeros stand for what is behind it. */
static struct pl_arch_instruction read_at(uintptr_t at, struct pl_segment segment)
{
    uint8_t last[INSTRUCTION_BYTES_MAX] = {0};
    const uint8_t *code = (const uint8_t *) at;
    if (at < segment.start || at >= segment.end)
        return (struct pl_arch_instruction){.flow = PL_FLOW_UNKNOWN};
    if (segment.end - at < sizeof last) {
        for (unsigned i = 0; at + i < segment.end; i++)
            last[i] = code[i];
        code = last;
    }
    struct pl_arch_instruction read = pl_arch_read_instruction(code);
    read.target += at - (uintptr_t) code;
    return read;
}

/* Follows one path. True if it comes to a return. */
static bool follow(struct pl_code *code, struct pl_segment segment, struct pl_code_path *path)
{
    bool called = false;
    for (; code->steps < STEPS_MAX; code->steps++) {
        struct pl_arch_instruction now = read_at(path->at, segment);
        if (now.flow == PL_FLOW_UNKNOWN || (called && now.pads) || !apply(path, &now))
            break;
        if (now.flow == PL_FLOW_RETURN)
            return true;
        if (now.flow == PL_FLOW_STOP)
            return false;
        called = now.flow == PL_FLOW_CALL;
        if (now.flow == PL_FLOW_BRANCH)
            keep_for_later(code, path, now.target);
        path->at += now.bytes;
        if (now.flow == PL_FLOW_JUMP) {
            path->at = now.target;
            if (!is_new(code, now.target))
                return false;
        }
    }
    code->unsure = true;
    return false;
}

enum pl_code_result pl_code_follow(struct pl_code *code, uintptr_t pc, struct pl_segment segment)
{
    struct pl_code_path *now = &code->now;
    *now = (struct pl_code_path){.at = pc};
    code->paths = code->targets = code->steps = 0;
    code->unsure = false;
    for (;;) {
        if (follow(code, segment, now))
            return now->sp % 8 == 0 && (now->from_fp || now->sp >= 0) ? PL_CODE_RETURNS : PL_CODE_UNKNOWN;
        do {
            if (code->paths == 0)
                return code->unsure ? PL_CODE_UNKNOWN : PL_CODE_NEVER;
            *now = code->path[--code->paths];
        } while (!is_new(code, now->at));
    }
}

#else

enum pl_code_result pl_code_follow(struct pl_code *code, uintptr_t pc, struct pl_segment segment)
{
    (void) code, (void) pc, (void) segment;
    return PL_CODE_UNKNOWN;
}

#endif
