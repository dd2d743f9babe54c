/* SPDX-License-Identifier: MIT */
/*
 * path.c - the stacks of a profile as sequences of spots, sorted and folded.
 */
#include "path.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "grow.h"
#include "join.h"

struct maker {
    const struct pl_profile *profile;
    const struct pl_spots *spots;
    enum pl_shape shape;
    uint32_t depth;
    uint32_t *next; /* where the next path's spots go */
};

/* --- one stack --- */

static enum pl_role role_of(const struct maker *maker, uint32_t spot)
{
    return maker->spots->spot[spot].role;
}

/*
 * Recursion says nothing by its depth: where the last spots repeat those before them, they are left out. So stacks that
 * differ in nothing else are one, and a tree has the branch once.
 */
#define CYCLE_MOST 8 /* functions that call one another in turn */
static uint32_t fold_cycle(const uint32_t *spot, uint32_t count)
{
    for (uint32_t length = 1; length <= CYCLE_MOST && 2 * length <= count; length++)
        if (spot[count - 1] == spot[count - 1 - length] &&
            !memcmp(&spot[count - length], &spot[count - 2 * length], length * sizeof *spot))
            return count - length;
    return count;
}

/* All spots of a stack, innermost first, without repetition unless names are to be full. */
static uint32_t expand(const struct maker *maker, uint32_t stack, uint32_t *to)
{
    const struct pl_stack_view *view = &maker->profile->stack[stack];
    uint32_t count = 0;
    for (uint32_t f = 0; f < view->frames; f++) {
        uint32_t frame = view->frame[f];
        for (uint32_t p = maker->spots->of_frame[frame]; p < maker->spots->of_frame[frame + 1]; p++) {
            to[count++] = maker->spots->of_place[p];
            if (!maker->spots->full_names || (count > 1 && to[count - 2] == to[count - 1]))
                count = fold_cycle(to, count);
        }
    }
    return count;
}

static uint32_t expanded_bound(const struct maker *maker, uint32_t stack)
{
    const struct pl_stack_view *view = &maker->profile->stack[stack];
    uint32_t bound = 0;
    for (uint32_t f = 0; f < view->frames; f++)
        bound += maker->spots->of_frame[view->frame[f] + 1] - maker->spots->of_frame[view->frame[f]];
    return bound;
}

/*
 * Where the allocator ends. Whatever an allocation function calls is part of the allocator, known to us or not; but
 * some run other people's code (garbage collectors), so only the innermost spots are asked. The last spot of all stays.
 */
#define ALLOCATOR_DEPTH 12
static uint32_t skip_allocator(const struct maker *maker, const uint32_t *spot, uint32_t count)
{
    uint32_t end = 0;
    for (uint32_t at = 0; at + 1 < count && at < ALLOCATOR_DEPTH; at++)
        if (role_of(maker, spot[at]) == PL_ROLE_ALLOCATOR)
            end = at + 1;
    return end;
}

static uint32_t skip_to_own(const struct maker *maker, const uint32_t *spot, uint32_t from, uint32_t count)
{
    for (uint32_t at = from; at < count; at++)
        if (role_of(maker, spot[at]) == PL_ROLE_OWN)
            return at;
    return from;
}

uint32_t pl_path_own(const struct pl_spots *spots, const uint32_t *spot, uint32_t count)
{
    struct maker maker = {.spots = spots};
    return skip_to_own(&maker, spot, skip_allocator(&maker, spot, count), count);
}

/* A language's runtime calls main from a function that is there to be recognised. */
static uint32_t drop_runtime(const struct maker *maker, const uint32_t *spot, uint32_t first, uint32_t count)
{
    for (uint32_t at = first + 1; at < count; at++)
        if (role_of(maker, spot[at]) == PL_ROLE_THRESHOLD)
            return at;
    return count;
}

/* Outside of the outermost frame of one's own there are only libraries that start threads and call back. */
static uint32_t drop_start(const struct maker *maker, const uint32_t *spot, uint32_t first, uint32_t count)
{
    bool own = role_of(maker, spot[first]) == PL_ROLE_OWN;
    count = drop_runtime(maker, spot, first, count);
    if (count > first + 2 && role_of(maker, spot[count - 2]) == PL_ROLE_START)
        count--; /* _start, which has no name in a stripped program */
    while (count > first + 1) {
        enum pl_role role = role_of(maker, spot[count - 1]);
        if (role != PL_ROLE_START && !(own && role == PL_ROLE_LIBRARY))
            break;
        count--;
    }
    return count;
}

struct pl_path_usual pl_path_usual(const struct pl_spots *spots, const uint32_t *spot, uint32_t count)
{
    struct maker maker = {.spots = spots};
    struct pl_path_usual usual = {.inner = skip_allocator(&maker, spot, count)};
    usual.own = skip_to_own(&maker, spot, usual.inner, count);
    usual.outer = drop_start(&maker, spot, usual.own, count) - 1;
    return usual;
}

static void reverse(uint32_t *spot, uint32_t count)
{
    for (uint32_t i = 0; i < count / 2; i++) {
        uint32_t other = spot[count - 1 - i];
        spot[count - 1 - i] = spot[i];
        spot[i] = other;
    }
}

static bool is_foreign(const struct maker *maker, uint32_t spot)
{
    return role_of(maker, spot) == PL_ROLE_LIBRARY || role_of(maker, spot) == PL_ROLE_ALLOCATOR;
}

/* The way through a library from one function of the program's own to another is told by its first step, and a function
 * that calls itself from another line is named once. Spots before `from` stay as they are. */
static uint32_t fold_callers(const struct maker *maker, uint32_t *spot, uint32_t from, uint32_t count)
{
    const uint32_t *alike = maker->spots->alike;
    uint32_t kept = from;
    for (uint32_t at = from; at < count; at++) {
        bool within = is_foreign(maker, spot[at]) && at + 1 < count && is_foreign(maker, spot[at + 1]);
        if (!within && !(kept && alike[spot[at]] == alike[spot[kept - 1]]))
            spot[kept++] = spot[at];
    }
    return kept;
}

/* Where folding begins. A site is named by its first spot, and so is a stack that has nobody's own code in it. Who asks
 * who calls the allocator wants to know it exactly. */
static uint32_t fold_from(const struct maker *maker, const uint32_t *spot, uint32_t first, uint32_t own, uint32_t count)
{
    bool owned = role_of(maker, spot[own]) == PL_ROLE_OWN;
    if (maker->spots->full_names || maker->shape == PL_SHAPE_OWN || maker->shape == PL_SHAPE_REVERSE)
        return count;
    return maker->shape == PL_SHAPE_ROOTS && owned ? first : own + 1;
}

static void shape_path(const struct maker *maker, uint32_t *spot, uint32_t count, struct pl_path *path)
{
    uint32_t first = skip_allocator(maker, spot, count), own = skip_to_own(maker, spot, first, count);
    count = drop_start(maker, spot, own, count);
    if (maker->shape == PL_SHAPE_SITE && own > first)
        path->via = maker->spots->alike[spot[own - 1]];
    count = fold_callers(maker, spot, fold_from(maker, spot, first, own, count), count);
    if (maker->shape == PL_SHAPE_SITE || maker->shape == PL_SHAPE_OWN)
        first = own;
    path->spot = spot + first;
    path->count = count - first;
    if (maker->shape == PL_SHAPE_ROOTS)
        reverse(spot + first, path->count);
    uint32_t depth = maker->shape == PL_SHAPE_OWN ? 1 : maker->depth;
    path->more = depth && path->count > depth;
    if (path->more)
        path->count = depth;
}

static void make_path(struct maker *maker, const struct pl_site_view *site, struct pl_path *path)
{
    path->stacks = 1;
    path->via = PL_PATH_NO_SPOT;
    path->spot = site->other_sizes ? &maker->spots->other_sizes : &maker->spots->overflow;
    path->count = 1;
    if (site->stack == PL_NO_STACK)
        return;
    uint32_t count = expand(maker, site->stack, maker->next);
    if (count)
        shape_path(maker, maker->next, count, path);
    maker->next += count;
}

/* --- all of them --- */

static int compare(const void *left, const void *right)
{
    const struct pl_path *a = left, *b = right;
    uint32_t count = a->count < b->count ? a->count : b->count;
    for (uint32_t i = 0; i < count; i++)
        if (a->spot[i] != b->spot[i])
            return a->spot[i] < b->spot[i] ? -1 : 1;
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    return (a->via > b->via) - (a->via < b->via);
}

/* Stacks have their numbers; behind them come what found no room, and other sizes. */
#define STAND_INS 2u
static uint32_t slot_of(const struct pl_profile *profile, const struct pl_site_view *site)
{
    return site->stack == PL_NO_STACK ? profile->stacks + site->other_sizes : site->stack;
}

/* One path per stack, so that sites of a stack in many threads, or under many tags, are expanded once. of_site[] names
 * paths as made. */
static void add_sites(struct maker *maker, struct pl_paths *paths)
{
    const struct pl_profile *profile = maker->profile;
    uint32_t *of_stack = pl_grow_zeroed(profile->stacks + STAND_INS, sizeof *of_stack); /* 0: none yet */
    for (uint32_t i = 0; i < profile->sites; i++) {
        const struct pl_site_view *site = &profile->site[i];
        uint32_t *number = &of_stack[slot_of(profile, site)];
        if (!*number) {
            paths->path[paths->count].made = paths->count;
            make_path(maker, site, &paths->path[paths->count]);
            *number = ++paths->count;
        }
        paths->of_site[i] = *number - 1;
        struct pl_path *path = &paths->path[*number - 1];
        bool base = i < profile->base_sites;
        if (base && !path->base)
            path->base = pl_arena_alloc(maker->spots->arena, sizeof *path->base);
        pl_figures_add(base ? path->base : &path->figures, &site->figures);
    }
    free(of_stack);
}

/* Neighbours that look the same become one; became[] says what has become of a path as made. */
static uint32_t fold(struct pl_path *path, uint32_t count, uint32_t *became)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t made = path[i].made;
        if (kept && !compare(&path[kept - 1], &path[i])) {
            pl_figures_add(&path[kept - 1].figures, &path[i].figures);
            if (path[kept - 1].base && path[i].base)
                pl_figures_add(path[kept - 1].base, path[i].base);
            else if (path[i].base)
                path[kept - 1].base = path[i].base;
            path[kept - 1].stacks += path[i].stacks;
            path[kept - 1].more |= path[i].more;
        } else {
            path[kept++] = path[i];
        }
        became[made] = kept - 1;
    }
    return kept;
}

static void sort_and_fold(struct pl_paths *paths, uint32_t sites)
{
    uint32_t *became = pl_grow_zeroed(paths->count + 1ull, sizeof *became);
    qsort(paths->path, paths->count, sizeof *paths->path, compare);
    paths->count = fold(paths->path, paths->count, became);
    for (uint32_t i = 0; i < sites; i++)
        paths->of_site[i] = became[paths->of_site[i]];
    free(became);
}

static size_t count_spots(const struct maker *maker)
{
    size_t count = 0;
    for (uint32_t i = 0; i < maker->profile->stacks; i++)
        count += expanded_bound(maker, i);
    return count;
}

void pl_paths_estimate(const struct pl_figures *figures, const struct pl_figures *base,
                       struct pl_estimate metric[PL_METRIC_COUNT])
{
    struct pl_estimate before[PL_METRIC_COUNT];
    pl_figures_estimate(figures, metric);
    if (!base)
        return;
    pl_figures_estimate(base, before);
    for (int m = 0; m < PL_METRIC_COUNT; m++)
        metric[m] = pl_join_subtract(&metric[m], &before[m]);
}

struct pl_paths pl_paths_new(const struct pl_profile *profile, struct pl_spots *spots, enum pl_shape shape,
                             uint32_t depth)
{
    struct maker maker = {.profile = profile, .spots = spots, .shape = shape, .depth = depth};
    uint32_t most = profile->stacks + STAND_INS < profile->sites ? profile->stacks + STAND_INS : profile->sites;
    struct pl_paths paths = {
        .path = pl_arena_alloc(spots->arena, (most + 1ull) * sizeof *paths.path),
        .of_site = pl_arena_alloc(spots->arena, (profile->sites + 1ull) * sizeof *paths.of_site),
    };
    maker.next = pl_arena_alloc(spots->arena, (count_spots(&maker) + 1) * sizeof *maker.next);
    add_sites(&maker, &paths);
    sort_and_fold(&paths, profile->sites);
    for (uint32_t i = 0; i < paths.count; i++)
        pl_paths_estimate(&paths.path[i].figures, paths.path[i].base, paths.path[i].metric);
    return paths;
}

struct pl_spread pl_paths_spread(const struct pl_profile *profile, const struct pl_paths *paths, uint32_t path)
{
    struct pl_spread sum = {0};
    for (uint32_t i = profile->base_sites; i < profile->sites; i++)
        if (paths->of_site[i] == path)
            pl_spread_add(&sum, &profile->site[i].spread);
    return sum;
}
