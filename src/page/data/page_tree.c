/* SPDX-License-Identifier: MIT */
/*
 * page_tree.c - the call tree of page data.
 */
#include "page/data/page_tree.h"

#include <stdio.h>
#include <string.h>

#include "analysis/path.h"
#include "reader/base/grow.h"

#define TEXTS_PER_FUNCTION 4

/* --- functions and places --- */

struct function_key {
    const struct pl_page_tree *tree;
    const struct pl_location *location;
};

/* The name that identifies a function: its complete name, or for a lambda the name that all builds share. */
static const char *known_name(const struct pl_page_tree *tree, const struct pl_location *location)
{
    if (tree->several && location->renumbered)
        return location->common;
    return *location->full ? location->full : location->name;
}

static bool is_function(const void *context, uint32_t number)
{
    const struct function_key *key = context;
    const struct pl_page_tree *tree = key->tree;
    const struct pl_location *a = key->location, *b = &tree->locations->location[tree->function_location[number]];
    bool same_module = tree->several ? !strcmp(a->module, b->module) : a->object == b->object;
    return same_module && !strcmp(known_name(tree, a), known_name(tree, b)) && !strcmp(a->home, b->home);
}

/* "libfoo.so+0x1234" */
static uint32_t name_address(struct pl_page_tree *tree, const struct pl_location *location)
{
    char *text;
    if (!*location->module)
        return pl_page_texts_add(&tree->texts, location->name);
    pl_grow_check(asprintf(&text, "%s+%s", location->module, location->name) < 0 ? NULL : text, 1, 1);
    uint32_t number = pl_page_texts_add(&tree->texts, text);
    free(text);
    return number;
}

static struct pl_page_function make_function(struct pl_page_tree *tree, const struct pl_location *location)
{
    bool named = *location->full;
    struct pl_page_function function = {
        .name = named ? pl_page_texts_add(&tree->texts, location->name) : name_address(tree, location),
        .file = pl_page_texts_add(&tree->texts, location->file),
        .source = pl_page_texts_add(&tree->texts, location->source),
        .module = location->object,
        .role = (uint8_t) location->role,
        .language = (uint8_t) location->language,
    };
    function.full = named ? pl_page_texts_add(&tree->texts, location->full) : function.name;
    return function;
}

static uint32_t find_function(struct pl_page_tree *tree, uint32_t number)
{
    const struct pl_location *location = &tree->locations->location[number];
    struct function_key key = {tree, location};
    uint64_t seed = tree->function_index.seed;
    uint64_t name = pl_index_text(seed, known_name(tree, location)), file = pl_index_text(seed, location->home);
    uint32_t *slot = pl_index_find(&tree->function_index, name, file, is_function, &key);
    if (!*slot) {
        tree->function_location[tree->functions] = number;
        tree->function[tree->functions++] = make_function(tree, location);
        *slot = tree->functions;
    }
    return *slot - 1;
}

struct place_key {
    const struct pl_page_tree *tree;
    struct pl_page_place place;
};

static bool is_place(const void *context, uint32_t number)
{
    const struct place_key *key = context;
    const struct pl_page_place *place = &key->tree->place[number];
    return place->function == key->place.function && place->line == key->place.line;
}

static uint32_t find_place(struct pl_page_tree *tree, uint32_t location)
{
    uint32_t *known = &tree->place_of_location[location];
    if (*known != PL_PAGE_NONE)
        return *known;
    struct place_key key = {tree, {find_function(tree, location), tree->locations->location[location].line}};
    uint32_t *slot = pl_index_find(&tree->place_index, key.place.function, key.place.line, is_place, &key);
    if (!*slot) {
        tree->place[tree->places++] = key.place;
        *slot = tree->places;
    }
    return *known = *slot - 1;
}

/* --- nodes --- */

struct node_key {
    const struct pl_page_tree *tree;
    struct pl_page_node node;
};

static bool is_node(const void *context, uint32_t number)
{
    const struct node_key *key = context;
    const struct pl_page_node *node = &key->tree->node[number];
    return node->parent == key->node.parent && node->place == key->node.place;
}

static uint32_t *node_slot(const struct pl_page_tree *tree, const struct pl_page_node *node)
{
    struct node_key key = {tree, *node};
    return pl_index_find(&tree->node_index, node->parent, node->place, is_node, &key);
}

/* Stacks share most of their nodes, so the number of nodes is not known in advance: nodes and their index grow. The
 * root is not in the index, since nothing looks it up. */
static void make_room(struct pl_page_tree *tree)
{
    if (tree->nodes < tree->node_room)
        return;
    tree->node = pl_grow(tree->node, tree->nodes, &tree->node_room, sizeof *tree->node);
    if (tree->node_arena)
        pl_arena_free(tree->node_arena);
    tree->node_arena = pl_arena_new();
    tree->node_index = pl_index_new(tree->node_arena, tree->node_room);
    for (uint32_t i = 1; i < tree->nodes; i++)
        *node_slot(tree, &tree->node[i]) = i + 1;
}

static uint32_t find_node(struct pl_page_tree *tree, uint32_t parent, uint32_t location)
{
    make_room(tree);
    struct pl_page_node node = {parent, find_place(tree, location)};
    uint32_t *slot = node_slot(tree, &node);
    if (!*slot) {
        tree->node[tree->nodes++] = node;
        *slot = tree->nodes;
    }
    return *slot - 1;
}

/* Lists the locations of a stack in `location`: a frame has several if functions were inlined. */
static void expand(struct pl_page_tree *tree, const struct pl_stack_view *stack)
{
    const struct pl_locations *locations = tree->locations;
    tree->depth = 0;
    for (uint32_t f = 0; f < stack->frames; f++)
        for (uint32_t p = locations->of_frame[stack->frame[f]]; p < locations->of_frame[stack->frame[f] + 1]; p++) {
            uint32_t room = tree->depth_room;
            tree->step = pl_grow(tree->step, tree->depth, &room, sizeof *tree->step);
            tree->location = pl_grow(tree->location, tree->depth, &tree->depth_room, sizeof *tree->location);
            tree->location[tree->depth++] = locations->of_place[p];
        }
}

static uint32_t node_at(const struct pl_page_tree *tree, uint32_t from_inside)
{
    return tree->step[tree->depth - 1 - from_inside].node;
}

/* Consecutive stacks share outer frames. Their nodes are taken from the last stack without a lookup. */
static struct pl_page_stack enter(struct pl_page_tree *tree, const struct pl_stack_view *stack)
{
    uint32_t shared = tree->depth;
    expand(tree, stack);
    shared = shared < tree->depth ? shared : tree->depth;
    const uint32_t *outermost = tree->location + tree->depth - 1;
    uint32_t node = 0, i = 0;
    for (; i < shared && tree->step[i].location == *(outermost - i); i++)
        node = tree->step[i].node;
    for (; i < tree->depth; i++) {
        node = find_node(tree, node, *(outermost - i));
        tree->step[i] = (struct pl_page_step){*(outermost - i), node};
    }
    struct pl_path_usual usual = pl_path_usual(tree->locations, tree->location, tree->depth);
    return (struct pl_page_stack){node, node_at(tree, usual.inner), node_at(tree, usual.own),
                                  node_at(tree, usual.outer)};
}

static struct pl_page_stack enter_stand_in(struct pl_page_tree *tree, bool other_sizes)
{
    uint32_t node = find_node(tree, 0, other_sizes ? tree->locations->other_sizes : tree->locations->overflow);
    return (struct pl_page_stack){node, node, node, node};
}

struct pl_page_stack pl_page_tree_stack(struct pl_page_tree *tree, uint32_t stack, bool other_sizes)
{
    bool known = stack != PL_NO_STACK && tree->profile->stack[stack].frames;
    uint32_t slot = known ? stack : tree->profile->stacks + other_sizes;
    if (tree->node_of_stack[slot] == PL_PAGE_NONE) {
        tree->stack[slot] = known ? enter(tree, &tree->profile->stack[stack]) : enter_stand_in(tree, other_sizes);
        tree->node_of_stack[slot] = tree->stack[slot].node;
    }
    return tree->stack[slot];
}

/* --- all of it --- */

static uint32_t *none_of(struct pl_arena *arena, uint64_t count)
{
    uint32_t *array = pl_arena_alloc(arena, count * sizeof *array);
    memset(array, 0xff, count * sizeof *array);
    return array;
}

struct pl_page_tree *pl_page_tree_new(const struct pl_profile *profile, const struct pl_locations *locations)
{
    struct pl_arena *arena = pl_arena_new();
    struct pl_page_tree *tree = pl_arena_alloc(arena, sizeof *tree);
    *tree = (struct pl_page_tree){
        .profile = profile,
        .locations = locations,
        .several = profile->difference || profile->merged > 1,
        .function = pl_arena_alloc(arena, (locations->count + 1ull) * sizeof *tree->function),
        .function_location = pl_arena_alloc(arena, (locations->count + 1ull) * sizeof *tree->function_location),
        .place = pl_arena_alloc(arena, (locations->count + 1ull) * sizeof *tree->place),
        .place_of_location = none_of(arena, locations->count + 1ull),
        .node_of_stack = none_of(arena, profile->stacks + 2ull),
        .stack = pl_arena_alloc(arena, (profile->stacks + 2ull) * sizeof *tree->stack),
        .function_index = pl_index_new(arena, locations->count),
        .place_index = pl_index_new(arena, locations->count),
        .arena = arena,
    };
    pl_page_texts_begin(&tree->texts, arena, TEXTS_PER_FUNCTION * locations->count);
    make_room(tree);
    tree->node[tree->nodes++] = (struct pl_page_node){0};
    return tree;
}

void pl_page_tree_free(struct pl_page_tree *tree)
{
    pl_page_texts_free(&tree->texts);
    pl_arena_free(tree->node_arena);
    free(tree->node);
    free(tree->location);
    free(tree->step);
    pl_arena_free(tree->arena);
}
