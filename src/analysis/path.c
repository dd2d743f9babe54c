/* SPDX-License-Identifier: MIT */
/*
 * path.c - the stacks of a profile as sequences of locations, sorted and folded.
 */
#include "analysis/path.h"

#include <stdlib.h>
#include <string.h>

#include "reader/base/arena.h"
#include "reader/base/grow.h"
#include "reader/join/join.h"
#include "reader/site.h"

struct maker {
    const struct pl_profile *profile;
    const struct pl_locations *locations;
    enum pl_shape shape;
    uint32_t depth;
    uint32_t *next; /* where to store the next path's locations */
};

/* --- one stack --- */

static enum pl_role role_of(const struct maker *maker, uint32_t location)
{
    return maker->locations->location[location].role;
}

/*
 * If the last locations repeat those before them, they are dropped. So stacks that differ only in the depth of
 * recursion become one, and a tree has the branch once.
 */
#define CYCLE_MOST 8 /* length of a cycle of functions that call one another */
static uint32_t fold_cycle(const uint32_t *location, uint32_t count)
{
    for (uint32_t length = 1; length <= CYCLE_MOST && 2 * length <= count; length++)
        if (location[count - 1] == location[count - 1 - length] &&
            !memcmp(&location[count - length], &location[count - 2 * length], length * sizeof *location))
            return count - length;
    return count;
}

/* All locations of a stack, innermost first. Cycles are folded; with full names, only immediate repetition is. */
static uint32_t expand(const struct maker *maker, uint32_t stack, uint32_t *to)
{
    const struct pl_stack_view *view = &maker->profile->stack[stack];
    uint32_t count = 0;
    for (uint32_t f = 0; f < view->frames; f++) {
        uint32_t frame = view->frame[f];
        for (uint32_t p = maker->locations->of_frame[frame]; p < maker->locations->of_frame[frame + 1]; p++) {
            to[count++] = maker->locations->of_place[p];
            if (!maker->locations->full_names || (count > 1 && to[count - 2] == to[count - 1]))
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
        bound += maker->locations->of_frame[view->frame[f] + 1] - maker->locations->of_frame[view->frame[f]];
    return bound;
}

/*
 * The number of innermost locations that belong to the allocator. Everything below an allocation function counts, also
 * functions that we do not know. But some allocators run other code (garbage collectors), so only the innermost
 * ALLOCATOR_DEPTH locations are searched. The outermost location always stays.
 */
#define ALLOCATOR_DEPTH 12
static uint32_t skip_allocator(const struct maker *maker, const uint32_t *location, uint32_t count)
{
    uint32_t end = 0;
    for (uint32_t at = 0; at + 1 < count && at < ALLOCATOR_DEPTH; at++)
        if (role_of(maker, location[at]) == PL_ROLE_ALLOCATOR)
            end = at + 1;
    return end;
}

static uint32_t skip_to_own(const struct maker *maker, const uint32_t *location, uint32_t from, uint32_t count)
{
    for (uint32_t at = from; at < count; at++)
        if (role_of(maker, location[at]) == PL_ROLE_OWN)
            return at;
    return from;
}

uint32_t pl_path_own(const struct pl_locations *locations, const uint32_t *location, uint32_t count)
{
    struct maker maker = {.locations = locations};
    return skip_to_own(&maker, location, skip_allocator(&maker, location, count), count);
}

/* Drops the runtime of a language, which calls main from a function with a well-known name. */
static uint32_t drop_runtime(const struct maker *maker, const uint32_t *location, uint32_t first, uint32_t count)
{
    for (uint32_t at = first + 1; at < count; at++)
        if (role_of(maker, location[at]) == PL_ROLE_THRESHOLD)
            return at;
    return count;
}

/* Drops the frames outside of the program's outermost frame: libraries that start threads and call back. */
static uint32_t drop_start(const struct maker *maker, const uint32_t *location, uint32_t first, uint32_t count)
{
    bool own = role_of(maker, location[first]) == PL_ROLE_OWN;
    count = drop_runtime(maker, location, first, count);
    if (count > first + 2 && role_of(maker, location[count - 2]) == PL_ROLE_START)
        count--; /* _start, which has no name in a stripped program */
    while (count > first + 1) {
        enum pl_role role = role_of(maker, location[count - 1]);
        if (role != PL_ROLE_START && !(own && role == PL_ROLE_LIBRARY))
            break;
        count--;
    }
    return count;
}

struct pl_path_usual pl_path_usual(const struct pl_locations *locations, const uint32_t *location, uint32_t count)
{
    struct maker maker = {.locations = locations};
    struct pl_path_usual usual = {.inner = skip_allocator(&maker, location, count)};
    usual.own = skip_to_own(&maker, location, usual.inner, count);
    usual.outer = drop_start(&maker, location, usual.own, count) - 1;
    return usual;
}

static void reverse(uint32_t *location, uint32_t count)
{
    for (uint32_t i = 0; i < count / 2; i++) {
        uint32_t other = location[count - 1 - i];
        location[count - 1 - i] = location[i];
        location[i] = other;
    }
}

static bool is_foreign(const struct maker *maker, uint32_t location)
{
    return role_of(maker, location) == PL_ROLE_LIBRARY || role_of(maker, location) == PL_ROLE_ALLOCATOR;
}

/* Between two functions of the program, keeps only the library function that the outer one called. A function that
 * calls itself from another line is kept once. Locations before `from` are unchanged. */
static uint32_t fold_callers(const struct maker *maker, uint32_t *location, uint32_t from, uint32_t count)
{
    const uint32_t *alike = maker->locations->alike;
    uint32_t kept = from;
    for (uint32_t at = from; at < count; at++) {
        bool within = is_foreign(maker, location[at]) && at + 1 < count && is_foreign(maker, location[at + 1]);
        if (!within && !(kept && alike[location[at]] == alike[location[kept - 1]]))
            location[kept++] = location[at];
    }
    return kept;
}

/* Where folding begins. It never removes the location that names the site. The reverse tree is not folded: it shows the
 * exact callers of the allocator. */
static uint32_t fold_from(const struct maker *maker, const uint32_t *location, uint32_t first, uint32_t own,
                          uint32_t count)
{
    bool owned = role_of(maker, location[own]) == PL_ROLE_OWN;
    if (maker->locations->full_names || maker->shape == PL_SHAPE_OWN || maker->shape == PL_SHAPE_REVERSE)
        return count;
    return maker->shape == PL_SHAPE_ROOTS && owned ? first : own + 1;
}

/* A stack as a path, before it is merged with those that look the same. There is one for each stack, so it is small. */
struct line {
    const uint32_t *location;
    uint32_t count;
    uint32_t via;
    uint32_t first_site; /* of a list: index + 1 */
    uint32_t made;       /* index before sorting */
    bool more;
};

static void shape_line(const struct maker *maker, uint32_t *location, uint32_t count, struct line *line)
{
    uint32_t first = skip_allocator(maker, location, count), own = skip_to_own(maker, location, first, count);
    count = drop_start(maker, location, own, count);
    if (maker->shape == PL_SHAPE_SITE && own > first)
        line->via = maker->locations->alike[location[own - 1]];
    count = fold_callers(maker, location, fold_from(maker, location, first, own, count), count);
    if (maker->shape == PL_SHAPE_SITE || maker->shape == PL_SHAPE_OWN)
        first = own;
    line->location = location + first;
    line->count = count - first;
    if (maker->shape == PL_SHAPE_ROOTS)
        reverse(location + first, line->count);
    uint32_t depth = maker->shape == PL_SHAPE_OWN ? 1 : maker->depth;
    line->more = depth && line->count > depth;
    if (line->more)
        line->count = depth;
}

/* The locations that are left move to the front, so that the next line overwrites the others. */
static void make_line(struct maker *maker, const struct pl_site_view *site, struct line *line)
{
    line->via = PL_PATH_NO_LOCATION;
    line->location = site->other_sizes ? &maker->locations->other_sizes : &maker->locations->overflow;
    line->count = 1;
    if (site->stack == PL_NO_STACK)
        return;
    uint32_t count = expand(maker, site->stack, maker->next);
    if (!count)
        return;
    shape_line(maker, maker->next, count, line);
    line->location = memmove(maker->next, line->location, line->count * sizeof *line->location);
    maker->next += line->count;
}

/* --- all stacks --- */

static int compare(const struct line *a, const struct line *b)
{
    uint32_t count = a->count < b->count ? a->count : b->count;
    for (uint32_t i = 0; i < count; i++)
        if (a->location[i] != b->location[i])
            return a->location[i] < b->location[i] ? -1 : 1;
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    return (a->via > b->via) - (a->via < b->via);
}

static int by_locations(const void *left, const void *right)
{
    const struct line *a = left, *b = right;
    int order = compare(a, b);
    return order ? order : (a->made > b->made) - (a->made < b->made);
}

/* The index of a site's stack. Two more follow after the stacks: stacks that did not fit, and other sizes. */
#define STAND_INS 2u
static uint32_t slot_of(const struct pl_profile *profile, const struct pl_site_view *site)
{
    return site->stack == PL_NO_STACK ? profile->stacks + site->other_sizes : site->stack;
}

/* The lines of all stacks, and the sites of each as a list. */
struct lines {
    struct line *line;
    uint32_t count;
    uint32_t *next; /* by site: the next of the same line, + 1; 0: none */
};

/* Makes one line per stack, so that a stack with sites in many threads or tags is expanded once. */
static struct lines make_lines(struct maker *maker, uint32_t most)
{
    const struct pl_profile *profile = maker->profile;
    struct lines lines = {.line = pl_grow_zeroed(most + 1ull, sizeof *lines.line),
                          .next = pl_grow_zeroed(profile->sites + 1ull, sizeof *lines.next)};
    uint32_t *of_stack = pl_grow_zeroed(profile->stacks + STAND_INS, sizeof *of_stack); /* line + 1; 0: none yet */
    uint32_t *last = pl_grow_zeroed(most + 1ull, sizeof *last);
    for (uint32_t i = 0; i < profile->sites; i++) {
        uint32_t *number = &of_stack[slot_of(profile, &profile->site[i])];
        if (!*number) {
            struct line *line = &lines.line[lines.count];
            line->made = lines.count;
            line->first_site = i + 1;
            make_line(maker, &profile->site[i], line);
            *number = ++lines.count;
        } else {
            lines.next[last[*number - 1]] = i + 1;
        }
        last[*number - 1] = i;
    }
    free(of_stack);
    free(last);
    return lines;
}

/* Adds the sites of a line to its path. */
static void add_line(const struct maker *maker, const struct lines *lines, const struct line *line,
                     struct pl_paths *paths)
{
    const struct pl_profile *profile = maker->profile;
    struct pl_path *path = &paths->path[paths->count - 1];
    struct pl_figures sum[2] = {{.allocated = {0}}, {.allocated = {0}}};
    bool any[2] = {false, false};
    for (uint32_t at = line->first_site; at; at = lines->next[at - 1]) {
        bool base = at - 1 < profile->base_sites;
        pl_site_add_figures(&sum[base], &profile->site[at - 1]);
        any[base] = true;
        paths->of_site[at - 1] = paths->count - 1;
    }
    pl_figures_add(&path->figures, &sum[false]);
    if (any[true] && !path->base)
        path->base = pl_arena_alloc(maker->locations->arena, sizeof *path->base);
    if (any[true])
        pl_figures_add(path->base, &sum[true]);
    path->stacks++;
    path->more |= line->more;
}

static uint32_t count_paths(const struct lines *lines)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < lines->count; i++)
        count += i == 0 || compare(&lines->line[i - 1], &lines->line[i]) != 0;
    return count;
}

/* Equal lines, neighbours after sorting, become one path. */
static void fold(const struct maker *maker, const struct lines *lines, struct pl_paths *paths)
{
    struct pl_arena *arena = maker->locations->arena;
    qsort(lines->line, lines->count, sizeof *lines->line, by_locations);
    paths->path = pl_arena_alloc(arena, (count_paths(lines) + 1ull) * sizeof *paths->path);
    for (uint32_t i = 0; i < lines->count; i++) {
        const struct line *line = &lines->line[i];
        if (i == 0 || compare(line - 1, line) != 0)
            paths->path[paths->count++] =
                (struct pl_path){.location = line->location, .count = line->count, .via = line->via};
        add_line(maker, lines, line, paths);
    }
}

static size_t count_locations(const struct maker *maker)
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
    pl_estimate_figures(figures, metric);
    if (!base)
        return;
    pl_estimate_figures(base, before);
    for (int m = 0; m < PL_METRIC_COUNT; m++)
        metric[m] = pl_join_subtract(&metric[m], &before[m]);
}

struct pl_paths pl_paths_new(const struct pl_profile *profile, struct pl_locations *locations, enum pl_shape shape,
                             uint32_t depth)
{
    struct maker maker = {.profile = profile, .locations = locations, .shape = shape, .depth = depth};
    uint32_t most = profile->stacks + STAND_INS < profile->sites ? profile->stacks + STAND_INS : profile->sites;
    struct pl_paths paths = {
        .of_site = pl_arena_alloc(locations->arena, (profile->sites + 1ull) * sizeof *paths.of_site),
    };
    maker.next = pl_arena_alloc(locations->arena, (count_locations(&maker) + 1) * sizeof *maker.next);
    struct lines lines = make_lines(&maker, most);
    fold(&maker, &lines, &paths);
    free(lines.line);
    free(lines.next);
    for (uint32_t i = 0; i < paths.count; i++)
        pl_paths_estimate(&paths.path[i].figures, paths.path[i].base, paths.path[i].metric);
    return paths;
}

struct pl_spread pl_paths_spread(const struct pl_profile *profile, const struct pl_paths *paths, uint32_t path)
{
    struct pl_spread sum = {0};
    for (uint32_t i = profile->base_sites; i < profile->sites; i++)
        if (paths->of_site[i] == path)
            pl_site_add_spread(&sum, &profile->site[i]);
    return sum;
}

/* All sites of one stack are in the same path. Sites without a stack are two paths, but one group: the path of other
 * sizes stands for both if it exists, else the one of stacks that did not fit. */
uint32_t *pl_paths_of_stacks(const struct pl_profile *profile, const struct pl_paths *paths)
{
    uint32_t *group = pl_grow_zeroed(profile->stacks + 1ull, sizeof *group);
    bool others = false;
    for (uint32_t i = 0; i < profile->sites; i++) {
        const struct pl_site_view *site = &profile->site[i];
        if (site->stack != PL_NO_STACK)
            group[site->stack] = paths->of_site[i];
        else if (site->other_sizes || !others)
            group[profile->stacks] = paths->of_site[i];
        others |= site->other_sizes;
    }
    return group;
}
