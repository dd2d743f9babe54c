/* SPDX-License-Identifier: MIT */
/*
 * diff_stacks.c - finds the stacks of two profiles that correspond to each other.
 *
 * Stacks that agree in functions and lines are already one path of the joined profile. If a module was rebuilt, a stack
 * that only one side has may exist on the other side with other lines, since an edit moves all lines below it. So such
 * stacks are sorted by their functions. If both sides have equally many stacks of one sequence of functions, they are
 * paired in the order of their lines; else all stacks of that sequence are compared as one.
 *
 * If all modules of a stack are the same files on both sides, lines cannot have moved, and the stack is not paired.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/diff/diff_work.h"
#include "reader/base/grow.h"
#include "reader/base/index.h"

#define BOTH 3u

struct matcher {
    struct pl_diff_work *work;
    const struct pl_profile *joined;
    const struct pl_locations *locations;
    const struct pl_paths *paths;
    uint32_t *function; /* by location: a number that all locations of one function share */
    uint8_t *sides;     /* by path: a bit for each side that has it */
    bool *rebuilt;      /* by path: a module may have been rebuilt, so lines may have moved */
    uint32_t *unit_of;  /* by path */
};

/* --- rebuilt modules --- */

/* The sides on which each module has frames. A module with frames on one side only is another build, or was not used on
 * the other. */
static uint8_t *sides_of_modules(const struct pl_profile *joined, struct pl_arena *arena)
{
    uint8_t *of_module = pl_arena_alloc(arena, joined->modules + 1ull);
    uint8_t *of_stack = pl_arena_alloc(arena, joined->stacks + 1ull);
    for (uint32_t i = 0; i < joined->sites; i++)
        if (joined->site[i].stack != PL_NO_STACK)
            of_stack[joined->site[i].stack] |= 1u << pl_diff_side_of(joined, i);
    for (uint32_t i = 0; i < joined->stacks; i++)
        for (uint32_t f = 0; f < joined->stack[i].frames; f++)
            of_module[joined->frame[joined->stack[i].frame[f]].module] |= of_stack[i];
    return of_module;
}

/* A module without a build-id may have been rebuilt. */
static bool is_rebuilt(const struct pl_profile *joined, uint32_t stack, const uint8_t *sides_of_module)
{
    if (stack == PL_NO_STACK)
        return false;
    for (uint32_t f = 0; f < joined->stack[stack].frames; f++) {
        uint32_t module = joined->frame[joined->stack[stack].frame[f]].module;
        if (sides_of_module[module] != BOTH || !*joined->module[module].build_id)
            return true;
    }
    return false;
}

static void look_at_sites(struct matcher *matcher)
{
    const struct pl_profile *joined = matcher->joined;
    const uint8_t *sides_of_module = sides_of_modules(joined, matcher->work->scratch);
    for (uint32_t i = 0; i < joined->sites; i++) {
        uint32_t path = matcher->paths->of_site[i];
        matcher->sides[path] |= 1u << pl_diff_side_of(joined, i);
        if (!matcher->rebuilt[path])
            matcher->rebuilt[path] = is_rebuilt(joined, joined->site[i].stack, sides_of_module);
    }
}

/* --- functions --- */

struct question {
    const struct pl_location *location;
    const struct pl_location *asked;
};

static bool same_function(const void *context, uint32_t entry)
{
    const struct question *question = context;
    return !strcmp(question->location[entry].common, question->asked->common) &&
           !strcmp(question->location[entry].module, question->asked->module);
}

/* The number of a function is the index of its first location. */
static void number_functions(struct matcher *matcher)
{
    const struct pl_locations *locations = matcher->locations;
    struct pl_index index = pl_index_new(matcher->work->scratch, locations->count);
    for (uint32_t i = 0; i < locations->count; i++) {
        struct question question = {locations->location, &locations->location[i]};
        uint64_t text =
            pl_index_text(pl_index_text(index.seed, locations->location[i].common), locations->location[i].module);
        uint32_t *slot = pl_index_find(&index, text, 0, same_function, &question);
        if (!*slot)
            *slot = i + 1;
        matcher->function[i] = *slot - 1;
    }
}

static const struct matcher *sorting;

static int compare_numbers(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

static uint32_t via_function(const struct pl_path *path)
{
    return path->via == PL_PATH_NO_LOCATION ? PL_PATH_NO_LOCATION : sorting->function[path->via];
}

static int compare_functions(uint32_t left, uint32_t right)
{
    const struct pl_path *a = &sorting->paths->path[left], *b = &sorting->paths->path[right];
    int order = compare_numbers(a->count, b->count);
    for (uint32_t i = 0; i < a->count && !order; i++)
        order = compare_numbers(sorting->function[a->location[i]], sorting->function[b->location[i]]);
    return order ? order : compare_numbers(via_function(a), via_function(b));
}

static int compare_lines(uint32_t left, uint32_t right)
{
    const struct pl_path *a = &sorting->paths->path[left], *b = &sorting->paths->path[right];
    int order = 0;
    for (uint32_t i = 0; i < a->count && !order; i++)
        order = compare_numbers(sorting->locations->location[a->location[i]].line,
                                sorting->locations->location[b->location[i]].line);
    return order;
}

/* By functions, then by side, then by lines. */
static int compare_paths(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *) left, b = *(const uint32_t *) right;
    int order = compare_functions(a, b);
    if (!order)
        order = compare_numbers(sorting->sides[a], sorting->sides[b]);
    if (!order)
        order = compare_lines(a, b);
    return order ? order : compare_numbers(a, b);
}

/* --- units --- */

static struct pl_diff_unit *add_unit(struct matcher *matcher, uint32_t path)
{
    struct pl_diff_unit *unit = &matcher->work->unit[matcher->work->units];
    unit->who = unit->was = path;
    matcher->unit_of[path] = matcher->work->units++;
    return unit;
}

static void add_moved(struct matcher *matcher, uint32_t was, uint32_t who)
{
    struct pl_diff_unit *unit = add_unit(matcher, who);
    unit->was = was;
    unit->moved = true;
    matcher->unit_of[was] = matcher->unit_of[who];
}

/* `path` are all paths of one sequence of functions; those of the first profile come first. */
static void match_group(struct matcher *matcher, const uint32_t *path, uint32_t count)
{
    uint32_t before = 0;
    while (before < count && matcher->sides[path[before]] == 1u << PL_DIFF_BEFORE)
        before++;
    uint32_t after = count - before;
    if (!before || !after) {
        for (uint32_t i = 0; i < count; i++)
            add_unit(matcher, path[i]);
    } else if (before == after) {
        for (uint32_t i = 0; i < before; i++)
            add_moved(matcher, path[i], path[before + i]);
    } else {
        add_moved(matcher, path[0], path[before]);
        for (uint32_t i = 0; i < count; i++)
            matcher->unit_of[path[i]] = matcher->unit_of[path[before]];
    }
}

static void match(struct matcher *matcher)
{
    uint32_t *left = pl_grow_zeroed(matcher->paths->count + 1ull, sizeof *left), count = 0;
    for (uint32_t i = 0; i < matcher->paths->count; i++) {
        bool one_side = matcher->sides[i] != BOTH;
        if (one_side && matcher->rebuilt[i] && !matcher->work->options->lines)
            left[count++] = i;
        else
            add_unit(matcher, i);
    }
    sorting = matcher;
    qsort(left, count, sizeof *left, compare_paths);
    for (uint32_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && !compare_functions(left[first], left[end]);)
            end++;
        match_group(matcher, left + first, end - first);
    }
    free(left);
}

void pl_diff_stacks(struct pl_diff_work *work)
{
    struct pl_diff *out = work->out;
    out->locations = pl_locations_new(work->joined, work->options->names);
    out->paths = pl_paths_new(work->joined, out->locations, PL_SHAPE_SITE, work->options->depth);
    uint32_t count = out->paths.count;
    struct matcher matcher = {
        .work = work,
        .joined = work->joined,
        .locations = out->locations,
        .paths = &out->paths,
        .function = pl_arena_alloc(work->scratch, (out->locations->count + 1ull) * sizeof *matcher.function),
        .sides = pl_arena_alloc(work->scratch, count + 1ull),
        .rebuilt = pl_arena_alloc(work->scratch, (count + 1ull) * sizeof *matcher.rebuilt),
        .unit_of = pl_arena_alloc(work->scratch, (count + 1ull) * sizeof *matcher.unit_of),
    };
    work->unit = pl_arena_alloc(work->scratch, (count + 1ull) * sizeof *work->unit);
    look_at_sites(&matcher);
    number_functions(&matcher);
    match(&matcher);
    for (uint32_t i = 0; i < work->joined->sites; i++)
        work->of_site[i] = matcher.unit_of[out->paths.of_site[i]];
}
