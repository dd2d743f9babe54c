/* SPDX-License-Identifier: MIT */
/* stacks.c - see stacks.h. */
#include "stacks.h"

#include "hash.h"
#include "process.h"

static uint32_t write_frame(struct pl_file *file, uint32_t parent, uint32_t module, uint64_t where)
{
    void *at;
    uint32_t id = pl_file_append(file, PL_KIND_FRAME, &at);
    if (!id)
        return 0;
    struct pl_frame *frame = at;
    frame->parent = parent;
    frame->where = where;
    store_release(&frame->module, module); /* publish */
    return id;
}

static uint32_t child(struct pl_process *process, uint32_t parent, uint32_t module, uint64_t where)
{
    uint64_t key = pl_hash((uint64_t) parent << 32 | module, where);
    struct pl_slot *slot = pl_map_slot(&process->map, key);
    if (!slot) {
        pl_file_lost(&process->file, PL_LOSS_TABLE_FULL);
        return 0;
    }
    uint32_t id = load_acquire(&slot->id);
    if (id)
        return id;
    id = write_frame(&process->file, parent, module, where);
    return id ? pl_slot_settle(slot, id) : 0;
}

uint32_t pl_stack_number(struct pl_process *process, struct pl_thread *thread)
{
    uint32_t node = 0;
    for (uint32_t i = thread->walk.frames; i--;) {
        uint64_t word = thread->walk.frame[i];
        uint64_t flags = word & ~PL_FRAME_ADDRESS_MASK;
        uintptr_t pc = word & PL_FRAME_ADDRESS_MASK;
        const struct pl_module_entry *module =
            pl_modules_find(process, &thread->modules, flags & PL_FRAME_EXACT ? pc : pc - 1);
        node = child(process, node, module->id, flags | ((pc - module->bias) & PL_FRAME_ADDRESS_MASK));
        if (!node)
            return 0;
    }
    return node;
}
