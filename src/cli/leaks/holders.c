/* SPDX-License-Identifier: MIT */
/*
 * holders.c - see holders.h.
 *
 * A block's node is below that of the block that dominates it; if both are of one group, it is the same node. So a list
 * is one node, however long it is.
 */
#include "cli/leaks/holders.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/say.h"
#include "export/pairs.h"
#include "reader/base/grow.h"

#define DEPTH_MOST 16 /* deeper blocks belong to the node above */
#define STEPS_MOST 24 /* of a way */
#define NONE UINT32_MAX

/* A node of the tree, while it is made: of blocks, or of ways. */
struct node {
    uint32_t parent, group; /* parent NONE: a root, whose number `group` is */
    uint32_t example;       /* the first block in it */
    uint32_t depth;
    double objects, space; /* without what is below */
    double whole;          /* bytes with all that is below */
    uint32_t record;       /* its number in the file; 0: not listed */
};

struct tree {
    struct pl_pairs pairs; /* of parent and group */
    struct node *node;     /* by their number */
    uint32_t count, room;
};

struct making {
    const struct pl_holders_source *source;
    struct pl_holders out;
    struct tree blocks, ways;
    uint32_t *of; /* block -> its node; NONE: not known yet */
    uint32_t room;
};

/* --- trees --- */

/* The node of this group below that parent. */
static uint32_t enter(struct tree *tree, uint32_t parent, uint32_t group, uint32_t example)
{
    uint32_t number = pl_pairs_number(&tree->pairs, parent, group);
    if (number == tree->count) {
        uint32_t depth = parent == NONE ? 0 : tree->node[parent].depth + 1;
        tree->node = pl_grow(tree->node, tree->count, &tree->room, sizeof *tree->node);
        tree->node[tree->count++] = (struct node){.parent = parent, .group = group, .example = example, .depth = depth};
    }
    return number;
}

static uint32_t enter_below(struct tree *tree, uint32_t parent, uint32_t group, uint32_t example)
{
    const struct node *above = &tree->node[parent];
    bool same = above->parent != NONE && (above->group == group || above->depth >= DEPTH_MOST);
    return same ? parent : enter(tree, parent, group, example);
}

static void free_tree(struct tree *tree)
{
    pl_pairs_free(&tree->pairs);
    free(tree->node);
}

/* --- blocks --- */

static uint32_t root_of(const struct making *making, uint32_t block)
{
    uint32_t root = making->source->retain->root[block];
    return root == PL_RETAIN_SEVERAL ? making->source->retain->roots : root;
}

/* Climbs to a block whose node is known, or to a root, and comes down again. `climbed` has room for all blocks. */
static void find_node(struct making *making, uint32_t block, uint32_t *climbed)
{
    const struct pl_holders_source *source = making->source;
    uint32_t count = 0, node;
    while (block != PL_CENSUS_NONE && making->of[block] == NONE) {
        climbed[count++] = block;
        block = source->retain->above[block];
    }
    if (block != PL_CENSUS_NONE)
        node = making->of[block];
    else
        node = enter(&making->blocks, NONE, root_of(making, climbed[count - 1]), climbed[count - 1]);
    while (count--) {
        node = enter_below(&making->blocks, node, source->group[climbed[count]], climbed[count]);
        making->of[climbed[count]] = node;
    }
}

static void add_blocks(struct making *making)
{
    const struct pl_census *census = making->source->census;
    uint32_t *climbed = pl_say_memory(malloc((census->count + 1ull) * sizeof *climbed));
    making->of = pl_say_memory(malloc((census->count + 1ull) * sizeof *making->of));
    memset(making->of, 0xff, census->count * sizeof *making->of);
    for (uint32_t i = 0; i < census->count; i++) {
        if (making->source->retain->root[i] == PL_RETAIN_LOST)
            continue;
        if (making->of[i] == NONE)
            find_node(making, i, climbed);
        struct node *node = &making->blocks.node[making->of[i]];
        node->objects += 1;
        node->space += (double) census->block[i].size;
    }
    free(climbed);
    free(making->of);
    for (uint32_t i = making->blocks.count; i-- > 0;) { /* a parent comes before its children */
        struct node *node = &making->blocks.node[i];
        node->whole += node->space;
        if (node->parent != NONE)
            making->blocks.node[node->parent].whole += node->whole;
    }
}

/* --- records --- */

static struct pl_holder_record *add_record(struct making *making, enum pl_holder kind, uint32_t parent)
{
    struct pl_holders *out = &making->out;
    if (out->count == making->room) {
        making->room *= 2;
        out->record = pl_say_memory(realloc(out->record, making->room * sizeof *out->record));
    }
    struct pl_holder_record *record = &out->record[out->count++];
    memset(record, 0, sizeof *record);
    record->kind = kind;
    record->parent = parent;
    return record;
}

/* Cut at a character. */
static void put_name(char out[PL_HOLDER_NAME], const char *name, const char *detail)
{
    size_t bytes = (size_t) snprintf(out, PL_HOLDER_NAME, "%s%s%s", name, *detail ? "  " : "", detail);
    size_t end = bytes < PL_HOLDER_NAME ? bytes : PL_HOLDER_NAME - 1;
    bool cut = bytes > end;
    while (cut && end && (out[end - 1] & 0xc0) == 0x80)
        end--;
    end -= cut && end && out[end - 1] & 0x80;
    memset(out + end, 0, PL_HOLDER_NAME - end);
}

static uint32_t record_of_root(struct making *making, uint32_t root)
{
    const struct pl_rootnames *names = making->source->names;
    uint32_t node = enter(&making->blocks, NONE, root, NONE);
    if (!making->blocks.node[node].record) {
        making->blocks.node[node].record = making->out.count;
        struct pl_holder_record *record = add_record(making, PL_HOLDER_ROOT, 0);
        const struct pl_root *named = root < names->count ? &names->root[root] : NULL;
        put_name(record->name, named ? named->name : PL_HOLDERS_SEVERAL, named ? named->detail : "");
    }
    return making->blocks.node[node].record;
}

/* The steps of a shortest way from a root to a block. Of a long way, steps just before the block are left out. */
static uint32_t record_of_way(struct making *making, uint32_t block)
{
    const struct pl_holders_source *source = making->source;
    const struct pl_retain *retain = source->retain;
    uint32_t step[STEPS_MOST], steps = 0;
    for (uint32_t at = block; at != PL_CENSUS_NONE; at = retain->via[at]) {
        if (steps && source->group[step[steps - 1]] == source->group[at])
            continue;
        if (steps == STEPS_MOST)
            memmove(step + 1, step + 2, (STEPS_MOST - 2) * sizeof *step);
        steps -= steps == STEPS_MOST;
        step[steps++] = at;
    }
    uint32_t node = enter(&making->ways, NONE, retain->from[block], NONE);
    uint32_t record = record_of_root(making, retain->from[block]);
    while (steps--) {
        node = enter(&making->ways, node, source->group[step[steps]], step[steps]);
        if (!making->ways.node[node].record) {
            making->ways.node[node].record = making->out.count;
            add_record(making, PL_HOLDER_WAY, record)->site = source->site_of(source->context, step[steps]);
        }
        record = making->ways.node[node].record;
    }
    return record;
}

static int largest_first(const void *left, const void *right, void *context)
{
    const struct node *node = context;
    uint32_t a = *(const uint32_t *) left, b = *(const uint32_t *) right;
    if (node[a].whole != node[b].whole)
        return node[a].whole < node[b].whole ? 1 : -1;
    return (a > b) - (a < b); /* a parent first */
}

static void list_node(struct making *making, uint32_t number)
{
    const struct pl_holders_source *source = making->source;
    const struct node node = making->blocks.node[number];
    uint32_t way = record_of_way(making, node.example);
    making->blocks.node[number].record = making->out.count;
    struct pl_holder_record *record = add_record(making, PL_HOLDER_BLOCKS, making->blocks.node[node.parent].record);
    record->site = source->site_of(source->context, node.example);
    record->way = way;
    record->objects = node.objects;
    record->space = node.space;
}

/* Those that are not listed, by the nearest node above that is. */
static void add_rest(struct making *making, uint32_t nodes)
{
    uint32_t *rest = pl_say_memory(calloc(nodes + 1ull, sizeof *rest)); /* node -> the record of its rest */
    for (uint32_t i = 0; i < nodes; i++) {
        const struct node *node = &making->blocks.node[i];
        uint32_t above = node->parent;
        if (node->record || above == NONE)
            continue;
        while (!making->blocks.node[above].record)
            above = making->blocks.node[above].parent;
        if (!rest[above]) {
            rest[above] = making->out.count;
            add_record(making, PL_HOLDER_REST, making->blocks.node[above].record);
        }
        making->out.record[rest[above]].objects += node->objects;
        making->out.record[rest[above]].space += node->space;
    }
    free(rest);
}

struct pl_holders pl_holders_make(const struct pl_holders_source *source)
{
    struct making making = {.source = source,
                            .room = 64,
                            .out = {.count = 1},
                            .blocks = {.pairs = pl_pairs_new()},
                            .ways = {.pairs = pl_pairs_new()}};
    making.out.record = pl_say_memory(calloc(making.room, sizeof *making.out.record));
    add_blocks(&making);
    uint32_t nodes = making.blocks.count, listed = 0;
    uint32_t *order = pl_say_memory(malloc((nodes + 1ull) * sizeof *order));
    for (uint32_t i = 0; i < nodes; i++)
        order[i] = i;
    if (nodes)
        qsort_r(order, nodes, sizeof *order, largest_first, making.blocks.node);
    for (uint32_t i = 0; i < nodes; i++) {
        const struct node *node = &making.blocks.node[order[i]];
        if (node->parent == NONE)
            record_of_root(&making, node->group);
        else if (listed++ < PL_HOLDERS_MOST)
            list_node(&making, order[i]);
    }
    add_rest(&making, nodes);
    free(order);
    free_tree(&making.blocks);
    free_tree(&making.ways);
    return making.out;
}

void pl_holders_free(struct pl_holders *holders)
{
    free(holders->record);
    *holders = (struct pl_holders){0};
}
