/* SPDX-License-Identifier: MIT */
/*
 * save_code.c - writes modules, and stacks as a trie of frames.
 *
 * Stacks with the same outer frames share their records. A frame's caller is written before the frame, as readers
 * require.
 */
#include <string.h>

#include "reader/base/index.h"
#include "reader/write/save_work.h"

struct trie {
    struct pl_save_work *save;
    struct pl_index index;  /* frame records, by parent and frame: entry n is record n + 1 */
    struct pl_arena *arena; /* of the index */
    uint32_t most;          /* records that it has room for; stacks share most of their frames, so it grows */
};

struct question {
    const struct pl_frame *record;
    struct pl_frame wanted;
};

/* ---- modules ---- */

static uint8_t hex_digit(char digit)
{
    return (uint8_t) (digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

static struct pl_module record_of(struct pl_save_work *save, const struct pl_module_view *module)
{
    struct pl_module record = {
        .valid = 1,
        .build_id_bytes = (uint32_t) strlen(module->build_id) / 2,
        .bias = module->bias,
        .start = module->start,
        .end = module->end,
        .fingerprint = module->fingerprint,
        .path = pl_save_text(save, module->path),
    };
    for (uint32_t i = 0; i < record.build_id_bytes; i++)
        record.build_id[i] =
            (uint8_t) (hex_digit(module->build_id[2 * i]) << 4 | hex_digit(module->build_id[2 * i + 1]));
    return record;
}

static bool is_unknown(const struct pl_module_view *module)
{
    return *module->path == '\0' && *module->build_id == '\0' && module->fingerprint == 0;
}

/* Record 1 is for addresses without a module, whether there are any or not. Returns the record of each module. */
static uint32_t *save_modules(struct pl_save_work *save)
{
    const struct pl_profile *profile = save->profile;
    uint32_t *of = pl_arena_alloc(save->arena, profile->modules * sizeof *of);
    bool known = false;
    pl_save_add(save, PL_KIND_MODULE, &(struct pl_module){0});
    for (uint32_t i = 0; i < profile->modules; i++) {
        struct pl_module record = record_of(save, &profile->module[i]);
        if (is_unknown(&profile->module[i]) && !known) {
            memcpy(pl_save_at(save, PL_KIND_MODULE, PL_MODULE_UNKNOWN), &record, sizeof record);
            of[i] = PL_MODULE_UNKNOWN;
            known = true;
        } else {
            of[i] = pl_save_add(save, PL_KIND_MODULE, &record);
        }
    }
    save->header.allocator = profile->allocator < profile->modules ? of[profile->allocator] : 0;
    return of;
}

/* ---- stacks ---- */

static bool same_record(const void *context, uint32_t entry)
{
    const struct question *question = context;
    const struct pl_frame *a = &question->record[entry + 1], *b = &question->wanted;
    return a->parent == b->parent && a->where == b->where && a->module == b->module;
}

static uint32_t *slot_of(const struct trie *trie, struct pl_frame wanted)
{
    struct question question = {trie->save->table[PL_KIND_FRAME].record, wanted};
    uint64_t place = (uint64_t) wanted.parent << 32 | wanted.module;
    return pl_index_find(&trie->index, place, wanted.where, same_record, &question);
}

/* Makes an index for twice as many records, and adds those that there are. */
static void grow(struct trie *trie)
{
    const struct pl_save_table *table = &trie->save->table[PL_KIND_FRAME];
    pl_arena_free(trie->arena);
    trie->arena = pl_arena_new();
    trie->most *= 2;
    trie->index = pl_index_new(trie->arena, trie->most);
    for (uint32_t i = 1; i < table->count; i++)
        *slot_of(trie, ((const struct pl_frame *) table->record)[i]) = i;
}

static uint32_t find_record(struct trie *trie, struct pl_frame wanted)
{
    if (trie->save->full)
        return 0;
    uint32_t *slot = slot_of(trie, wanted);
    if (*slot != 0)
        return *slot;
    uint32_t record = *slot = pl_save_add(trie->save, PL_KIND_FRAME, &wanted);
    if (record == trie->most)
        grow(trie);
    return record;
}

/* From the outermost frame inwards. Returns the record of the innermost. */
static uint32_t save_stack(struct trie *trie, const struct pl_stack_view *stack, const uint32_t *module_record)
{
    struct pl_save_work *save = trie->save;
    uint32_t record = 0;
    for (uint32_t i = stack->frames; i-- > 0;) {
        const struct pl_frame_view *frame = &save->profile->frame[stack->frame[i]];
        record =
            find_record(trie, (struct pl_frame){module_record[frame->module], record, frame->address | frame->flags});
        if (save->frame_record[stack->frame[i]] == 0)
            save->frame_record[stack->frame[i]] = record;
    }
    return record;
}

void pl_save_code(struct pl_save_work *save)
{
    const struct pl_profile *profile = save->profile;
    const uint32_t *module_record = save_modules(save);
    struct trie trie = {.save = save, .most = profile->stacks + 1};
    grow(&trie);
    save->stack_record = pl_arena_alloc(save->arena, profile->stacks * sizeof *save->stack_record);
    save->frame_record = pl_arena_alloc(save->arena, profile->frames * sizeof *save->frame_record);
    for (uint32_t i = 0; i < profile->stacks; i++)
        save->stack_record[i] = save_stack(&trie, &profile->stack[i], module_record);
    pl_arena_free(trie.arena);
}
