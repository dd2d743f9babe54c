/* SPDX-License-Identifier: MIT */
/* stacks.c - see stacks.h. */
#include "core/records/stacks.h"

#include "core/hash.h"
#include "core/process.h"
#include "core/python/python.h"
#include "core/records/tallies.h"

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

/* Code that is in no file may be replaced later: says when it was there. */
static OUT_OF_LINE COLD void write_time(struct pl_process *process, uint32_t frame)
{
    void *at;
    if (!pl_file_append(&process->file, PL_KIND_JIT, &at))
        return;
    struct pl_jit_record *record = at;
    record->units = pl_timeline_now(process);
    store_release(&record->frame, frame); /* publish */
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
    if (module == PL_MODULE_UNKNOWN && id && where & PL_FRAME_ADDRESS_MASK)
        write_time(process, id);
    return id ? pl_map_settle(slot, id) : 0;
}

/* Our hooks of main, exit and so on are not part of the program's stack. */
static bool is_ours(uint64_t word)
{
    return !(word & PL_FRAME_PYTHON) && pl_front.owns && pl_front.owns(word & PL_FRAME_ADDRESS_MASK);
}

static uint32_t child_at(struct pl_process *process, struct pl_thread *thread, uint32_t parent, uint64_t word)
{
    uint64_t flags = word & ~PL_FRAME_ADDRESS_MASK;
    if (flags & PL_FRAME_PYTHON)
        return child(process, parent, pl_modules_python(process), word);
    uintptr_t pc = word & PL_FRAME_ADDRESS_MASK;
    const struct pl_module_entry *module =
        pl_modules_find(process, &thread->modules, flags & PL_FRAME_EXACT ? pc : pc - 1);
    return child(process, parent, module->id, flags | ((pc - module->bias) & PL_FRAME_ADDRESS_MASK));
}

/* How many frames, from the outermost, are the same as in the last stack. */
static uint32_t known_frames(struct pl_stack_memory *memory, const struct pl_walk *walk, uint32_t generation)
{
    uint32_t n = 0;
    if (memory->generation != generation)
        memory->frame[0] = 0;
    memory->generation = generation;
    while (n < walk->frames && memory->frame[n] == walk->frame[walk->frames - 1 - n] && memory->frame[n])
        n++;
    return n;
}

static void remember(struct pl_stack_memory *memory, uint32_t n, uint64_t frame, uint32_t node)
{
    memory->node[n] = node;
    memory->frame[n + 1] = 0;
    signal_fence(); /* if left by longjmp here, the cached stack is shorter, not wrong */
    memory->frame[n] = frame;
}

/* Records which module the allocator is. No stack shows it, because hooks are called before the allocator. */
static void note_allocator(struct pl_process *process, struct pl_thread *thread)
{
    struct pl_header *header = pl_file_header(&process->file);
    if (likely(load_relaxed(&header->allocator)) || !pl_front.allocator)
        return;
    uintptr_t pc = pl_front.allocator();
    if (pc && !(pl_front.owns && pl_front.owns(pc)))
        store_relaxed(&header->allocator, pl_modules_find(process, &thread->modules, pc)->id);
}

INLINE uint32_t number_of(struct pl_process *process, struct pl_thread *thread)
{
    const struct pl_walk *walk = &thread->walk;
    struct pl_stack_memory *memory = thread->tracker ? &thread->tracker->stack : NULL;
    uint32_t n = memory ? known_frames(memory, walk, load_relaxed(&process->generation)) : 0;
    uint32_t node = n ? memory->node[n - 1] : 0;
    for (; n < walk->frames; n++) {
        uint64_t frame = walk->frame[walk->frames - 1 - n];
        bool ours = is_ours(frame);
        node = ours ? node : child_at(process, thread, node, frame);
        if (!node && !ours)
            return 0;
        if (memory)
            remember(memory, n, frame, node);
    }
    return node;
}

/* The walk did not know yet that there is an interpreter. */
static COLD void weave_late(struct pl_process *process, struct pl_thread *thread)
{
    pl_python_weave(thread);
    pl_python_name(process, thread);
}

uint32_t pl_stack_number(struct pl_process *process, struct pl_thread *thread)
{
    note_allocator(process, thread);
    for (;;) {
        uint32_t met = load_relaxed(&pl_python.met), number = number_of(process, thread);
        if (likely(load_relaxed(&pl_python.met) == met))
            return number;
        weave_late(process, thread);
    }
}

void pl_stack_walk(struct pl_process *process, struct pl_thread *thread, const struct pl_start *start)
{
    struct pl_header *header = pl_file_header(&process->file);
    pl_unwind(&thread->walk, start);
    pl_python_weave(thread);
    pl_python_name(process, thread);
    fetch_add(&header->visits, 1);
    fetch_add(&header->frames_walked, thread->walk.walked);
    fetch_add(&header->stops[thread->walk.stop], 1);
}
