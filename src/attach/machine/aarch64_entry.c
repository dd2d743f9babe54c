/* SPDX-License-Identifier: MIT */
/* aarch64_entry.c - springboards: see ../machine.h. What moves an instruction is in core/arch/aarch64_entry.h. */
#include "core/arch/aarch64_entry.h"

#include <string.h>

#include "attach/machine.h"

/* ldr x16, the slot's address; ldr x16, [x16]; br x16. A caller does not expect x16 to survive. */
static uint32_t put_springboard(uint8_t *to, uint64_t slot)
{
    pl_arch_put_word(to, 0x58000000u | 4u << 5 | 16, 4);
    pl_arch_put_word(to + 4, 0xf9400210u, 4);
    pl_arch_put_word(to + 8, 0xd61f0200u, 4);
    pl_arch_put_word(to + 12, 0xd503201fu, 4); /* nop */
    pl_arch_put_word(to + 16, slot, 8);
    return 24;
}

/* A function that signs its return address does so first. The hook gets it unsigned, and the function signs it again.
 */
const char *pl_machine_plan(const struct pl_machine_function *function, struct pl_machine_plan *out)
{
    const uint32_t paciasp = 0xd503233f, pacibsp = 0xd503237f, autiasp = 0xd50323bf, autibsp = 0xd50323ff;
    uint32_t first = function->bytes >= 8 ? pl_arch_entry_word(function->code) : 0, to = 0;
    bool marked = (first & 0xffffff3f) == 0xd503241f /* bti */, is_signed = first == paciasp || first == pacibsp;
    const uint32_t skip = marked || is_signed ? 4 : 0;
    const uint64_t jump = function->entry + skip, room = function->room;
    if (function->bytes < 8)
        return "it is too short";
    memset(out, 0, sizeof *out);
    if (is_signed) {
        pl_arch_put_word(out->room, first == paciasp ? autiasp : autibsp, 4);
        pl_arch_put_word(out->room + 4, 0xd503201fu, 4); /* nop: the slot's address is aligned */
        to = 8;
    }
    to += put_springboard(out->room + to, function->slot);
    const uint64_t body = room + to;
    if (is_signed) {
        pl_arch_put_word(out->room + to, first, 4);
        to += 4;
    }
    unsigned moved =
        pl_arch_move_instruction(pl_arch_entry_word(function->code + skip), jump, out->room + to, room + to);
    to += moved;
    if (!moved)
        return "its first instruction cannot be moved";
    if (!pl_arch_entry_is_alone(function->code, (unsigned) function->bytes, (uintptr_t) function->code + skip))
        return "it jumps back to its first instructions";
    if (!pl_arch_put_jump(out->room + to, room + to, jump + 4))
        return "it is too far away";
    out->patch = (struct pl_desk_patch){
        .entry = function->entry, .springboard = room, .body = body, .jump = jump, .bytes = PL_ARCH_ENTRY_BYTES};
    memcpy(out->patch.before, function->code + skip, PL_ARCH_ENTRY_BYTES);
    return pl_arch_put_jump(out->patch.after, jump, room) ? NULL : "it is too far away";
}
