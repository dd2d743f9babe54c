/* SPDX-License-Identifier: MIT */
/*
 * trie.c - joins duplicate frames and unfolds the stacks that sites refer to.
 *
 * A writer publishes a frame's caller before the frame, so parent < child in every undamaged file. Rejecting anything
 * else makes two plain passes enough: from the last record to the first, to find what the marked stacks are made of;
 * from the first to the last, to join equal nodes, each after its parent. It also rules out cycles.
 *
 * Writers race: the same frame may be there twice, and then everything inward of it may be, too. Two nodes are the same
 * if their frames are the same and their parents are.
 *
 * Stacks are stored unfolded. A real writer limits their depth; a hostile file could have a million stacks of a million
 * frames, so all stacks together may have at most as many entries as the file has bytes.
 */
#include "reader/fold/trie.h"

struct question {
    const struct pl_trie *trie;
    uint32_t module; /* for a frame */
    uint64_t where;
    uint32_t parent; /* for a node */
    uint32_t frame;
};

struct pl_trie pl_trie_new(struct pl_profile *profile, struct pl_image *image, struct pl_arena *scratch,
                           const uint32_t *module_of, const struct pl_functions *functions)
{
    uint32_t nodes = pl_image_count(image, PL_KIND_FRAME);
    uint32_t stacks_max = pl_image_count(image, PL_KIND_SITE);
    profile->stack = pl_arena_alloc(profile->arena, (size_t) stacks_max * sizeof *profile->stack);
    return (struct pl_trie){
        .profile = profile,
        .image = image,
        .module_of = module_of,
        .functions = functions,
        .node = pl_arena_alloc(scratch, (size_t) nodes * sizeof(struct pl_node)),
        .entries_left = image->file_bytes,
    };
}

bool pl_trie_mark(struct pl_trie *trie, uint32_t node)
{
    if (node == 0 || node >= pl_image_count(trie->image, PL_KIND_FRAME))
        return false;
    trie->node[node].wanted = true;
    return true;
}

/* Returns how many nodes are wanted. */
static uint32_t mark_callers(struct pl_trie *trie)
{
    const struct pl_frame *record = pl_image_frames(trie->image);
    uint32_t wanted = 0;
    for (uint32_t i = pl_image_count(trie->image, PL_KIND_FRAME); i-- > 1;) {
        if (!trie->node[i].wanted)
            continue;
        wanted++;
        if (record[i].parent != 0 && record[i].parent < i)
            trie->node[record[i].parent].wanted = true;
    }
    return wanted;
}

static bool makes_sense(const struct pl_trie *trie, const struct pl_frame *record, uint32_t self)
{
    return record->module != 0 && record->module < pl_image_count(trie->image, PL_KIND_MODULE) &&
           trie->module_of[record->module] != PL_NO_MODULE && record->parent < self &&
           (record->parent == 0 || trie->node[record->parent].good);
}

static bool same_frame(const void *context, uint32_t entry)
{
    const struct question *question = context;
    const struct pl_frame_view *frame = &question->trie->profile->frame[entry];
    return frame->module == question->module && (frame->address | frame->flags) == question->where;
}

static uint32_t find_frame(struct pl_trie *trie, const struct pl_index *index, uint32_t module, uint64_t where,
                           uint32_t record)
{
    struct pl_profile *profile = trie->profile;
    struct question question = {.trie = trie, .module = module, .where = where};
    uint32_t *slot = pl_index_find(index, module, where, same_frame, &question);
    if (*slot == 0) {
        profile->frame[profile->frames] = (struct pl_frame_view){
            .module = module,
            .address = where & PL_FRAME_ADDRESS_MASK,
            .flags = where & ~PL_FRAME_ADDRESS_MASK,
            .record = record,
        };
        *slot = ++profile->frames;
    }
    return *slot - 1;
}

static bool same_node(const void *context, uint32_t entry)
{
    const struct question *question = context;
    const struct pl_node *node = &question->trie->node[entry];
    uint32_t parent = pl_image_frames(question->trie->image)[entry].parent;
    return node->frame == question->frame && question->trie->node[parent].same == question->parent;
}

static uint32_t find_node(const struct pl_trie *trie, const struct pl_index *index, uint32_t parent, uint32_t frame,
                          uint32_t self)
{
    struct question question = {.trie = trie, .parent = parent, .frame = frame};
    uint32_t *slot = pl_index_find(index, parent, frame, same_node, &question);
    if (*slot == 0)
        *slot = self + 1;
    return *slot - 1;
}

void pl_trie_join(struct pl_trie *trie)
{
    const struct pl_frame *record = pl_image_frames(trie->image);
    struct pl_arena *scratch = pl_arena_new(); /* not needed while stacks are unfolded */
    uint32_t wanted = mark_callers(trie);
    struct pl_index frames = pl_index_new(scratch, wanted);
    struct pl_index nodes = pl_index_new(scratch, wanted);
    trie->profile->frame = pl_arena_alloc(trie->profile->arena, (size_t) wanted * sizeof *trie->profile->frame);
    for (uint32_t i = 1; i < pl_image_count(trie->image, PL_KIND_FRAME); i++) {
        struct pl_node *node = &trie->node[i];
        if (!node->wanted)
            continue;
        if (!makes_sense(trie, &record[i], i)) {
            trie->image->damage++;
            continue;
        }
        const struct pl_node *parent = &trie->node[record[i].parent];
        node->good = true;
        uint64_t where = pl_functions_where(trie->functions, record[i].where);
        node->frame = find_frame(trie, &frames, trie->module_of[record[i].module], where, i);
        node->depth = parent->depth + 1;
        node->same = find_node(trie, &nodes, parent->same, node->frame, i);
    }
    pl_arena_free(scratch);
}

void pl_trie_date(struct pl_trie *trie)
{
    const struct pl_jit_record *record = pl_image_jits(trie->image);
    uint32_t frames = pl_image_count(trie->image, PL_KIND_FRAME);
    for (uint32_t i = 1; i < pl_image_count(trie->image, PL_KIND_JIT); i++) {
        if (record[i].frame == 0 || record[i].frame >= frames || !trie->node[record[i].frame].good)
            continue;
        struct pl_frame_view *frame = &trie->profile->frame[trie->node[record[i].frame].frame];
        if (frame->first_units == 0 || record[i].units < frame->first_units)
            frame->first_units = record[i].units ? record[i].units : 1;
    }
}

static uint32_t unfold(struct pl_trie *trie, uint32_t node)
{
    const struct pl_frame *record = pl_image_frames(trie->image);
    struct pl_profile *profile = trie->profile;
    uint32_t depth = trie->node[node].depth;
    uint32_t *entry = pl_arena_alloc(profile->arena, (size_t) depth * sizeof *entry);
    trie->entries_left -= depth;
    for (uint32_t i = 0, at = node; at != 0; at = record[at].parent)
        entry[i++] = trie->node[at].frame;
    profile->stack[profile->stacks] = (struct pl_stack_view){depth, entry};
    return ++profile->stacks;
}

uint32_t pl_trie_stack(struct pl_trie *trie, uint32_t node)
{
    if (!trie->node[node].good)
        return PL_NO_STACK;
    struct pl_node *first = &trie->node[trie->node[node].same];
    if (first->stack == 0) {
        if (first->depth > trie->entries_left) {
            trie->image->damage++;
            return PL_NO_STACK;
        }
        first->stack = unfold(trie, trie->node[node].same);
    }
    return first->stack - 1;
}
