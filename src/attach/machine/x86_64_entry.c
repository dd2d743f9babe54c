/* SPDX-License-Identifier: MIT */
/* x86_64_entry.c - springboards: see ../machine.h. */
#include <Zydis/Zydis.h>
#include <string.h>

#include "attach/machine.h"

#define JUMP_BYTES 5 /* jmp, 32 bits relative */
#define PAGE 4096u

static bool put_jump(uint8_t *to, uint64_t from, uint64_t target)
{
    int64_t distance = (int64_t) (target - (from + JUMP_BYTES));
    int32_t near = (int32_t) distance;
    to[0] = 0xe9;
    memcpy(to + 1, &near, sizeof near);
    return near == distance;
}

/* mov $slot, %r11; jmp *(%r11). A caller does not expect r11 to survive. */
static size_t put_springboard(uint8_t *to, uint64_t slot)
{
    const uint8_t load[] = {0x49, 0xbb}, jump[] = {0x41, 0xff, 0x23};
    memcpy(to, load, sizeof load);
    memcpy(to + 2, &slot, sizeof slot);
    memcpy(to + 10, jump, sizeof jump);
    return 16;
}

static bool is_relative(const ZydisDecodedInstruction *instruction)
{
    return instruction->attributes & ZYDIS_ATTRIB_IS_RELATIVE;
}

/* A call that returns to where it would have returned, which unwind tables know: push it, and jump. */
static const char *move_call(uint64_t target, uint64_t back, uint8_t *to, uint64_t at, size_t *bytes)
{
    const uint8_t push = 0x68, move[] = {0xc7, 0x44, 0x24, 0x04}; /* push $, 4 bytes; movl $, 4(%rsp) */
    const uint32_t low = (uint32_t) back, high = (uint32_t) (back >> 32);
    to[0] = push;
    memcpy(to + 1, &low, sizeof low);
    memcpy(to + 5, move, sizeof move);
    memcpy(to + 9, &high, sizeof high);
    *bytes = 13 + JUMP_BYTES;
    return put_jump(to + 13, at + 13, target) ? NULL : "a call is too far away";
}

/* Copies one instruction to another address. NULL, or why not. */
static const char *move_instruction(const ZydisDecodedInstruction *in, const uint8_t *code, uint64_t from, uint8_t *to,
                                    uint64_t at, size_t *bytes)
{
    memcpy(to, code, in->length);
    *bytes = in->length;
    if (!is_relative(in))
        return NULL;
    if (in->raw.disp.size == 32) { /* memory, relative to rip */
        int64_t distance = in->raw.disp.value + (int64_t) (from - at);
        int32_t near = (int32_t) distance;
        memcpy(to + in->raw.disp.offset, &near, sizeof near);
        return near == distance ? NULL : "its data is too far away";
    }
    if (in->meta.category == ZYDIS_CATEGORY_COND_BR && in->raw.imm[0].size >= 8 &&
        in->mnemonic != ZYDIS_MNEMONIC_JRCXZ && in->mnemonic != ZYDIS_MNEMONIC_JECXZ &&
        in->mnemonic != ZYDIS_MNEMONIC_LOOP && in->mnemonic != ZYDIS_MNEMONIC_LOOPE &&
        in->mnemonic != ZYDIS_MNEMONIC_LOOPNE) {
        uint64_t target = from + in->length + (uint64_t) in->raw.imm[0].value.s;
        int64_t distance = (int64_t) (target - (at + 6));
        int32_t near = (int32_t) distance;
        to[0] = 0x0f;
        to[1] = (uint8_t) (0x80 | (in->opcode & 0xf));
        memcpy(to + 2, &near, sizeof near);
        *bytes = 6;
        return near == distance ? NULL : "a branch is too far away";
    }
    if (in->meta.category == ZYDIS_CATEGORY_UNCOND_BR) {
        *bytes = JUMP_BYTES;
        return put_jump(to, at, from + in->length + (uint64_t) in->raw.imm[0].value.s) ? NULL
                                                                                       : "a jump is too far away";
    }
    if (in->meta.category == ZYDIS_CATEGORY_CALL && in->length == JUMP_BYTES)
        return move_call(from + in->length + (uint64_t) in->raw.imm[0].value.s, from + in->length, to, at, bytes);
    return "it begins with a loop";
}

static bool ends(const ZydisDecodedInstruction *in)
{
    return in->meta.category == ZYDIS_CATEGORY_RET || in->meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
           in->meta.category == ZYDIS_CATEGORY_INTERRUPT;
}

/* Does the function jump into the bytes that change? Instructions that cannot be decoded end the search: data. */
static bool returns_to_start(const ZydisDecoder *decoder, const struct pl_machine_function *function, size_t jump)
{
    ZydisDecodedInstruction in;
    for (size_t at = 0; at < function->bytes; at += in.length) {
        if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(decoder, NULL, function->code + at, function->bytes - at, &in)))
            return false;
        bool branch = is_relative(&in) && in.raw.disp.size != 32;
        uint64_t target = at + in.length + (uint64_t) in.raw.imm[0].value.s;
        if (branch && target > jump && target < jump + JUMP_BYTES)
            return true;
    }
    return false;
}

/* endbr64: where indirect branches are tracked, they may only lead to it. */
static size_t mark_bytes(const struct pl_machine_function *function)
{
    static const uint8_t mark[] = {0xf3, 0x0f, 0x1e, 0xfa};
    return function->bytes > sizeof mark && !memcmp(function->code, mark, sizeof mark) ? sizeof mark : 0;
}

/* Only the 5 bytes of the jump change. They are within one page: the kernel copies to a page at a time, and might stop
 * between two if the writer is killed. */
const char *pl_machine_plan(const struct pl_machine_function *function, struct pl_machine_plan *out)
{
    ZydisDecoder decoder;
    ZydisDecodedInstruction in;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    memset(out, 0xcc, sizeof *out);
    const size_t jump = mark_bytes(function);
    size_t body = put_springboard(out->room, function->slot), to = body, from = jump;
    bool ended = false;
    while (from < jump + JUMP_BYTES) {
        size_t bytes;
        if (ended)
            return "it is too short";
        if (!ZYAN_SUCCESS(
                ZydisDecoderDecodeInstruction(&decoder, NULL, function->code + from, function->bytes - from, &in)))
            return "its code cannot be decoded";
        if (in.meta.category == ZYDIS_CATEGORY_CALL && in.length != JUMP_BYTES)
            return "it begins with a call"; /* by a pointer */
        const char *why = move_instruction(&in, function->code + from, function->entry + from, out->room + to,
                                           function->room + to, &bytes);
        if (why)
            return why;
        ended = ends(&in);
        from += in.length;
        to += bytes;
    }
    if (returns_to_start(&decoder, function, jump))
        return "it jumps back to its first instructions";
    if ((function->entry + jump) % PAGE > PAGE - JUMP_BYTES)
        return "its first instructions lie in two pages";
    if (!put_jump(out->room + to, function->room + to, function->entry + from))
        return "it is too far away";
    out->patch = (struct pl_desk_patch){.entry = function->entry,
                                        .springboard = function->room,
                                        .body = function->room + body,
                                        .jump = function->entry + jump,
                                        .bytes = JUMP_BYTES};
    memcpy(out->patch.before, function->code + jump, JUMP_BYTES);
    return put_jump(out->patch.after, out->patch.jump, function->room) ? NULL : "it is too far away";
}
