/* SPDX-License-Identifier: MIT */
/*
 * flat.c - the stacks of a profile as other tools want them.
 *
 * Three tables are filled one after the other, each found through an index: functions and lines from the places of
 * frames, stacks from the profile's (those that look the same are one), rows from sites. With a threshold, rows are
 * made twice: first to see which stacks are small, then with those combined.
 *
 * A stack ends with the function that wanted memory: functions that only pass it on (operator new, and others that the
 * rules for names mark) are left out at the innermost end, as in reports.
 */
#include "export/flat.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/names/shorten.h"
#include "analysis/location.h"
#include "analysis/traits.h"
#include "reader/base/arena.h"
#include "reader/base/grow.h"
#include "reader/base/index.h"
#include "reader/site.h"

#define NONE PL_FLAT_NONE
#define WHOLE_MAX 0x1p60 /* of all sites together, so that formats can add up figures */

/* What takes the place of a stack. */
enum stand_in {
    OVERFLOW,
    OTHER_SIZES,
    SMALL, /* with a line of its own */
    STAND_INS,
};

struct stack {
    uint32_t of;     /* of the profile; or, beyond its stacks, a stand-in */
    uint32_t tag;    /* in front of it; NONE: none */
    uint32_t thread; /* likewise */
    uint32_t small;  /* stacks that it stands for */
    uint32_t line;   /* that says so: "(12 more below 0.5%)" */
};

struct pl_flat_private {
    struct pl_arena *arena;
    struct pl_flat_options options;
    uint32_t *module_of;  /* the first module with the same last part of its path */
    uint32_t *thread_of;  /* the first thread with the same name */
    uint32_t *first_line; /* of frame i: frame_line[first_line[i]] .. frame_line[first_line[i + 1] - 1] */
    uint32_t *frame_line;
    uint32_t *tag_line, *thread_line; /* NONE: not needed yet */
    uint32_t stand_in_line[SMALL];
    bool *hands_on;       /* by frame: all its functions are allocators */
    uint8_t *skip;        /* by stack of the profile: how many frames are the allocator's */
    bool several;         /* there may be several builds: directories are ignored */
    uint32_t *same_stack; /* by stack of the profile: the first that looks like it */
    struct stack *stack;
};

struct maker {
    const struct pl_profile *profile;
    struct pl_flat *flat;
    struct pl_flat_private *inside;
    struct pl_index functions, lines, stacks, rows;
    uint64_t *address; /* by function: of those without a name */
    bool *small;       /* by number of stack; NULL: none is */
    double most;       /* of a site: more is damage */
};

int64_t pl_flat_round(const struct pl_estimate *estimate)
{
    return llround(estimate->value);
}

/* --- modules and threads that look the same --- */

struct named {
    const struct pl_profile *profile;
    const char *name;
};

static bool is_module(const void *context, uint32_t module)
{
    const struct named *named = context;
    return !strcmp(basename(named->profile->module[module].path), named->name);
}

static bool is_thread(const void *context, uint32_t thread)
{
    const struct named *named = context;
    return !strcmp(named->profile->thread[thread].name, named->name);
}

static uint32_t first_like(const struct pl_index *index, const struct named *named, uint32_t number,
                           bool (*same)(const void *context, uint32_t entry))
{
    uint32_t *slot = pl_index_find(index, pl_index_text(1, named->name), 0, same, named);
    if (!*slot)
        *slot = number + 1;
    return *slot - 1;
}

static void find_alike(struct maker *maker)
{
    const struct pl_profile *profile = maker->profile;
    struct pl_flat_private *inside = maker->inside;
    struct pl_index modules = pl_index_new(inside->arena, profile->modules);
    struct pl_index threads = pl_index_new(inside->arena, profile->threads);
    inside->module_of = pl_arena_alloc(inside->arena, (profile->modules + 1ull) * sizeof *inside->module_of);
    inside->thread_of = pl_arena_alloc(inside->arena, (profile->threads + 1ull) * sizeof *inside->thread_of);
    for (uint32_t i = 0; i < profile->modules; i++) {
        struct named named = {profile, basename(profile->module[i].path)};
        inside->module_of[i] = first_like(&modules, &named, i, is_module);
    }
    for (uint32_t i = 0; i < profile->threads; i++) {
        struct named named = {profile, profile->thread[i].name};
        inside->thread_of[i] = first_like(&threads, &named, i, is_thread);
    }
}

/* --- functions and lines --- */

struct function_key {
    const struct maker *maker;
    struct pl_flat_function function; /* name NULL: nothing but `address` is known */
    uint64_t address;
};

static const char *known_as(const struct maker *maker, const char *file)
{
    return maker->inside->several ? basename(file) : file;
}

static bool is_function(const void *context, uint32_t number)
{
    const struct function_key *key = context;
    const struct pl_flat_function *function = &key->maker->flat->function[number];
    if (function->module != key->function.module || function->kind != key->function.kind ||
        key->maker->address[number] != key->address)
        return false;
    return !key->function.name ||
           (!strcmp(function->name, key->function.name) &&
            !strcmp(known_as(key->maker, function->file), known_as(key->maker, key->function.file)));
}

static const char *name_address(const struct maker *maker, uint32_t module, uint64_t address)
{
    char *text;
    const char *object = module == NONE ? "" : pl_traits_module(maker->profile, module);
    int bytes = asprintf(&text, "%s%s0x%" PRIx64, object, *object ? "+" : "", address);
    pl_grow_check(bytes < 0 ? NULL : text, 1, 1);
    const char *name = pl_arena_text(maker->inside->arena, text, (size_t) bytes);
    free(text);
    return name;
}

static uint32_t intern_function(struct maker *maker, const struct function_key *key)
{
    const char *name = key->function.name;
    uint64_t text =
        name ? pl_index_text(pl_index_text(key->function.kind + 1, name), known_as(maker, key->function.file))
             : key->address;
    uint32_t *slot = pl_index_find(&maker->functions, text, key->function.module, is_function, key);
    if (!*slot) {
        uint32_t number = maker->flat->functions++;
        struct pl_flat_function *function = &maker->flat->function[number];
        *function = key->function;
        maker->address[number] = key->address;
        if (!name)
            function->name = function->linkage = name_address(maker, key->function.module, key->address);
        *slot = number + 1;
    } else if (name && maker->inside->several) { /* where it was found last: that is the newer build */
        maker->flat->function[*slot - 1].file = key->function.file;
        maker->flat->function[*slot - 1].linkage = key->function.linkage;
    }
    return *slot - 1;
}

struct line_key {
    const struct maker *maker;
    struct pl_flat_line line;
};

static bool is_line(const void *context, uint32_t number)
{
    const struct line_key *key = context;
    const struct pl_flat_line *line = &key->maker->flat->line[number];
    return line->function == key->line.function && line->line == key->line.line;
}

static uint32_t intern_line(struct maker *maker, uint32_t function, uint32_t line)
{
    struct line_key key = {maker, {function, line}};
    uint32_t *slot = pl_index_find(&maker->lines, function, line, is_line, &key);
    if (!*slot) {
        uint32_t *start = &maker->flat->function[function].start_line;
        *start = line && (!*start || line < *start) ? line : *start;
        maker->flat->line[maker->flat->lines++] = key.line;
        *slot = maker->flat->lines;
    }
    return *slot - 1;
}

static uint32_t line_that_says(struct maker *maker, enum pl_flat_kind kind, const char *text)
{
    struct function_key key = {.maker = maker, .function = {text, text, "", NONE, kind, 0}};
    return intern_line(maker, intern_function(maker, &key), 0);
}

static uint32_t line_of_place(struct maker *maker, const struct pl_frame_view *frame, const struct pl_place *place)
{
    struct function_key key = {.maker = maker,
                               .function = {.file = "", .module = maker->inside->module_of[frame->module]}};
    if (frame->flags & PL_FRAME_GAP)
        return line_that_says(maker, PL_FLAT_OTHER, "(frames left out)");
    if (!place || !*place->function) {
        key.address = frame->address;
        return intern_line(maker, intern_function(maker, &key), 0);
    }
    key.function.name = maker->inside->several ? pl_location_common_name(maker->inside->arena, place) : place->function;
    key.function.linkage = *place->linkage ? place->linkage : place->function;
    key.function.file = pl_shorten_straight(maker->inside->arena, place->file);
    return intern_line(maker, intern_function(maker, &key), place->line);
}

static uint32_t places_of(const struct pl_frame_view *frame)
{
    return frame->places ? frame->places : 1;
}

/* The innermost functions of a frame, inlined there, that only pass memory on. */
static uint32_t allocators_in(const struct pl_frame_view *frame)
{
    uint32_t count = 0;
    while (count < frame->places && frame->place[count].allocator)
        count++;
    return count;
}

static void make_lines(struct maker *maker)
{
    const struct pl_profile *profile = maker->profile;
    struct pl_flat_private *inside = maker->inside;
    for (uint32_t i = 0; i < profile->frames; i++) {
        const struct pl_frame_view *frame = &profile->frame[i];
        uint32_t at = inside->first_line[i], first = allocators_in(frame);
        inside->hands_on[i] = first > 0 && first == frame->places;
        for (uint32_t p = inside->hands_on[i] ? 0 : first; p < places_of(frame); p++)
            inside->frame_line[at++] = line_of_place(maker, frame, frame->places ? &frame->place[p] : NULL);
        inside->first_line[i + 1] = at;
    }
}

/* --- stacks --- */

/*
 * Where the allocator ends: everything that an allocation function calls is part of it. But some run other people's
 * code, so only the innermost frames are searched. The outermost frame stays.
 */
#define ALLOCATOR_DEPTH 12
static void find_allocators(struct maker *maker)
{
    const struct pl_profile *profile = maker->profile;
    for (uint32_t i = 0; i < profile->stacks; i++) {
        const struct pl_stack_view *stack = &profile->stack[i];
        for (uint32_t f = 0; f + 1 < stack->frames && f < ALLOCATOR_DEPTH; f++)
            if (maker->inside->hands_on[stack->frame[f]])
                maker->inside->skip[i] = (uint8_t) (f + 1);
    }
}

/* Lines of a stack of the profile, innermost first. */
struct walk {
    const struct pl_flat_private *inside;
    const struct pl_stack_view *stack;
    uint32_t frame, place;
};

static bool next_line(struct walk *walk, uint32_t *line)
{
    while (walk->frame < walk->stack->frames) {
        uint32_t frame = walk->stack->frame[walk->frame];
        uint32_t at = walk->inside->first_line[frame] + walk->place++;
        if (at < walk->inside->first_line[frame + 1]) {
            *line = walk->inside->frame_line[at];
            return true;
        }
        walk->frame++;
        walk->place = 0;
    }
    return false;
}

static struct walk walk_from(const struct maker *maker, uint32_t stack)
{
    return (struct walk){maker->inside, &maker->profile->stack[stack], maker->inside->skip[stack], 0};
}

struct stack_key {
    const struct maker *maker;
    uint32_t stack;
};

static bool looks_like(const void *context, uint32_t other)
{
    const struct stack_key *key = context;
    struct walk a = walk_from(key->maker, key->stack), b = walk_from(key->maker, other);
    uint32_t line = 0, other_line = 0;
    bool more, other_more;
    do {
        more = next_line(&a, &line);
        other_more = next_line(&b, &other_line);
    } while (more && other_more && line == other_line);
    return !more && !other_more;
}

static uint64_t hash_stack(const struct maker *maker, uint32_t stack, uint32_t *depth)
{
    struct walk walk = walk_from(maker, stack);
    uint64_t hash = 1;
    for (uint32_t line; next_line(&walk, &line); ++*depth)
        hash = pl_index_mix(hash, line);
    return hash;
}

static void find_same_stacks(struct maker *maker)
{
    const struct pl_profile *profile = maker->profile;
    struct pl_index index = pl_index_new(maker->inside->arena, profile->stacks);
    for (uint32_t i = 0; i < profile->stacks; i++) {
        uint32_t depth = 0;
        struct stack_key key = {maker, i};
        uint32_t *slot = pl_index_find(&index, hash_stack(maker, i, &depth), depth, looks_like, &key);
        if (!*slot)
            *slot = i + 1;
        maker->inside->same_stack[i] = *slot - 1;
        maker->flat->depth_max = depth > maker->flat->depth_max ? depth : maker->flat->depth_max;
    }
}

static bool is_stack(const void *context, uint32_t number)
{
    const struct stack *key = ((const void *const *) context)[0];
    const struct pl_flat_private *inside = ((const void *const *) context)[1];
    const struct stack *stack = &inside->stack[number];
    return stack->of == key->of && stack->tag == key->tag && stack->thread == key->thread;
}

static uint32_t intern_stack(struct maker *maker, struct stack stack)
{
    const void *key[] = {&stack, maker->inside};
    uint32_t *slot = pl_index_find(&maker->stacks, stack.of, (uint64_t) stack.tag << 32 | stack.thread, is_stack, key);
    if (!*slot) {
        maker->inside->stack[maker->flat->stacks++] = stack;
        *slot = maker->flat->stacks;
    }
    return *slot - 1;
}

/* Makes the lines of the thread and tags in front, when they are first needed. */
static void make_front(struct maker *maker, const struct stack *stack)
{
    const struct pl_profile *profile = maker->profile;
    struct pl_flat_private *inside = maker->inside;
    if (stack->thread != NONE && inside->thread_line[stack->thread] == NONE) {
        const char *name = profile->thread[stack->thread].name;
        inside->thread_line[stack->thread] = line_that_says(maker, PL_FLAT_THREAD, *name ? name : "(no name)");
    }
    for (uint32_t tag = stack->tag; tag != NONE && inside->tag_line[tag] == NONE; tag = profile->tag[tag].parent) {
        const char *name = *profile->tag[tag].name ? profile->tag[tag].name : "\"\"";
        inside->tag_line[tag] =
            tag ? line_that_says(maker, PL_FLAT_TAG, name) : line_that_says(maker, PL_FLAT_OTHER, "(no tag)");
    }
}

static enum stand_in stand_in_for(const struct pl_site_view *site)
{
    return site->other_sizes ? OTHER_SIZES : OVERFLOW;
}

static uint32_t stack_of(struct maker *maker, const struct pl_site_view *site)
{
    const struct pl_flat_private *inside = maker->inside;
    struct stack stack = {
        .of =
            site->stack == PL_NO_STACK ? maker->profile->stacks + stand_in_for(site) : inside->same_stack[site->stack],
        .tag = inside->options.by & PL_FLAT_BY_TAG ? site->tag : NONE,
        .thread = inside->options.by & PL_FLAT_BY_THREAD ? inside->thread_of[site->thread] : NONE,
    };
    make_front(maker, &stack);
    uint32_t number = intern_stack(maker, stack);
    if (!maker->small || !maker->small[number])
        return number;
    stack.of = maker->profile->stacks + SMALL;
    return intern_stack(maker, stack);
}

/* --- rows --- */

static bool is_row(const void *context, uint32_t number)
{
    const struct pl_flat_row *key = ((const void *const *) context)[0];
    const struct pl_flat *flat = ((const void *const *) context)[1];
    const struct pl_flat_row *row = &flat->row[number];
    return row->stack == key->stack && row->tag == key->tag && row->thread == key->thread;
}

static uint32_t row_of(struct maker *maker, const struct pl_site_view *site)
{
    const struct pl_flat_options *options = &maker->inside->options;
    struct pl_flat_row row = {
        .stack = stack_of(maker, site),
        .tag = options->apart || options->by & PL_FLAT_BY_TAG ? site->tag : 0,
        .thread = options->apart || options->by & PL_FLAT_BY_THREAD ? maker->inside->thread_of[site->thread] : NONE,
    };
    const void *key[] = {&row, maker->flat};
    uint32_t *slot = pl_index_find(&maker->rows, row.stack, (uint64_t) row.tag << 32 | row.thread, is_row, key);
    if (!*slot) {
        maker->flat->row[maker->flat->rows++] = row;
        *slot = maker->flat->rows;
    }
    return *slot - 1;
}

/* The limit for a figure of a site. A damaged file may have figures that are too large for whole numbers, or become so
 * when added up. */
static double most_of_a_site(const struct pl_profile *profile)
{
    double whole[PL_METRIC_COUNT] = {0}, most = 0;
    for (uint32_t i = 0; i < profile->sites; i++) {
        struct pl_estimate metric[PL_METRIC_COUNT];
        pl_site_estimate(&profile->site[i], metric);
        for (int m = 0; m < PL_METRIC_COUNT; m++)
            most = fmax(most, whole[m] += metric[m].value);
    }
    return most <= WHOLE_MAX ? WHOLE_MAX : WHOLE_MAX / profile->sites;
}

static void add_sites(struct maker *maker)
{
    struct pl_flat *flat = maker->flat;
    const struct pl_profile *profile = maker->profile;
    for (uint32_t i = 0; i < profile->sites; i++) {
        bool base = i < profile->base_sites;
        flat->row_of_site[i] = row_of(maker, &profile->site[i]);
        struct pl_flat_row *row = &flat->row[flat->row_of_site[i]];
        struct pl_estimate metric[PL_METRIC_COUNT];
        pl_site_estimate(&profile->site[i], metric);
        for (int m = 0; m < PL_METRIC_COUNT; m++) {
            double figure = fmin(metric[m].value, maker->most);
            int64_t value = pl_flat_round(&(struct pl_estimate){.value = figure});
            row->value[m] += base ? -value : value;
            row->base[m] += base ? value : 0;
        }
    }
}

/* --- rows that are too small to be shown --- */

/* By number of stack; NULL: fewer than two are small. */
static bool *find_small(struct maker *maker)
{
    struct pl_flat *flat = maker->flat;
    const struct pl_flat_options *options = &maker->inside->options;
    double *weight = pl_grow_zeroed(flat->stacks + 1ull, sizeof *weight), whole = 0;
    uint32_t count = 0;
    bool *small = pl_arena_alloc(maker->inside->arena, 2 * (maker->profile->sites + 1ull));
    for (uint32_t i = 0; i < flat->rows; i++)
        weight[flat->row[i].stack] += (double) flat->row[i].value[options->metric];
    for (uint32_t i = 0; i < flat->stacks; i++)
        whole += fabs(weight[i]);
    for (uint32_t i = 0; i < flat->stacks; i++) {
        small[i] = fabs(weight[i]) < options->threshold * whole;
        count += small[i];
    }
    free(weight);
    return count > 1 ? small : NULL;
}

static struct stack *small_ones_with(struct maker *maker, uint32_t number)
{
    struct stack stack = maker->inside->stack[number];
    stack.of = maker->profile->stacks + SMALL;
    return &maker->inside->stack[intern_stack(maker, stack)];
}

/* Counts small stacks for each thread or tag in front of them. A single one stays as it is. */
static void count_small(struct maker *maker)
{
    uint32_t stacks = maker->flat->stacks;
    for (uint32_t i = 0; i < stacks; i++)
        if (maker->small[i])
            small_ones_with(maker, i)->small++;
    for (uint32_t i = 0; i < stacks; i++)
        if (maker->small[i] && small_ones_with(maker, i)->small == 1)
            maker->small[i] = false;
}

static void name_small(struct maker *maker, struct stack *stack)
{
    char text[96];
    int bytes = snprintf(text, sizeof text, "(%" PRIu32 " more below %g%%)", stack->small,
                         maker->inside->options.threshold * 100);
    stack->line = line_that_says(maker, PL_FLAT_OTHER, pl_arena_text(maker->inside->arena, text, (size_t) bytes));
}

/* Stacks keep their numbers, as they are found in the same order; those that stand for small ones come after them. */
static void add_sites_again(struct maker *maker)
{
    struct pl_flat *flat = maker->flat;
    uint32_t first = flat->stacks;
    count_small(maker);
    for (uint32_t i = first; i < flat->stacks; i++)
        name_small(maker, &maker->inside->stack[i]);
    memset(flat->row, 0, flat->rows * sizeof *flat->row);
    memset(maker->rows.slot, 0, ((size_t) maker->rows.mask + 1) * sizeof *maker->rows.slot);
    flat->rows = 0;
    add_sites(maker);
}

/* --- order, signs, totals --- */

static int by_stack(const void *left, const void *right)
{
    const struct pl_flat_row *a = left, *b = right;
    if (a->stack != b->stack)
        return a->stack < b->stack ? -1 : 1;
    if (a->tag != b->tag)
        return a->tag < b->tag ? -1 : 1;
    return (a->thread > b->thread) - (a->thread < b->thread);
}

static void drop_signs(struct pl_flat *flat)
{
    for (uint32_t i = 0; i < flat->rows; i++) {
        bool shrank = false;
        for (int m = 0; m < PL_METRIC_COUNT; m++) {
            shrank |= flat->row[i].value[m] < 0;
            flat->row[i].value[m] = flat->row[i].value[m] < 0 ? 0 : flat->row[i].value[m];
        }
        flat->shrank += shrank;
    }
}

static bool has_figures(const struct pl_flat_row *row)
{
    for (int m = 0; m < PL_METRIC_COUNT; m++)
        if (row->value[m] || row->base[m])
            return true;
    return false;
}

static void drop_empty(struct pl_flat *flat)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < flat->rows; i++)
        if (has_figures(&flat->row[i]))
            flat->row[kept++] = flat->row[i];
    flat->rows = kept;
}

/* Rows have moved; sites of dropped rows have none. */
static void renumber(struct maker *maker, struct pl_flat_row *before)
{
    struct pl_flat *flat = maker->flat;
    for (uint32_t i = 0; i < maker->profile->sites; i++) {
        const struct pl_flat_row *row =
            bsearch(&before[flat->row_of_site[i]], flat->row, flat->rows, sizeof *flat->row, by_stack);
        flat->row_of_site[i] = row ? (uint32_t) (row - flat->row) : NONE;
    }
}

static void sort_rows(struct maker *maker)
{
    struct pl_flat *flat = maker->flat;
    struct pl_flat_row *before = pl_grow_zeroed(flat->rows + 1ull, sizeof *before);
    memcpy(before, flat->row, flat->rows * sizeof *before);
    drop_empty(flat);
    qsort(flat->row, flat->rows, sizeof *flat->row, by_stack);
    renumber(maker, before);
    free(before);
}

static void add_up(struct pl_flat *flat)
{
    for (uint32_t i = 0; i < flat->rows; i++)
        for (int m = 0; m < PL_METRIC_COUNT; m++) {
            flat->total[m] += flat->row[i].value[m];
            flat->base_total[m] += flat->row[i].base[m];
        }
}

/* --- all of it --- */

static uint32_t *nothing_yet(struct pl_arena *arena, uint32_t count)
{
    uint32_t *line = pl_arena_alloc(arena, (count + 1ull) * sizeof *line);
    memset(line, 0xff, (count + 1ull) * sizeof *line);
    return line;
}

static void make_room(struct maker *maker)
{
    const struct pl_profile *profile = maker->profile;
    struct pl_flat_private *inside = maker->inside;
    struct pl_arena *arena = inside->arena;
    uint32_t places = 0;
    for (uint32_t i = 0; i < profile->frames; i++)
        places += places_of(&profile->frame[i]);
    uint32_t fronts = inside->options.threshold > 0 ? profile->sites : 0; /* each may have small stacks behind it */
    uint32_t most = places + profile->tags + profile->threads + fronts + STAND_INS + 1;
    maker->flat->function = pl_arena_alloc(arena, most * sizeof *maker->flat->function);
    maker->flat->line = pl_arena_alloc(arena, most * sizeof *maker->flat->line);
    maker->address = pl_arena_alloc(arena, most * sizeof *maker->address);
    maker->functions = pl_index_new(arena, most);
    maker->lines = pl_index_new(arena, most);
    inside->first_line = pl_arena_alloc(arena, (profile->frames + 1ull) * sizeof *inside->first_line);
    inside->frame_line = pl_arena_alloc(arena, (places + 1ull) * sizeof *inside->frame_line);
    inside->hands_on = pl_arena_alloc(arena, profile->frames + 1ull);
    inside->skip = pl_arena_alloc(arena, profile->stacks + 1ull);
    inside->same_stack = pl_arena_alloc(arena, (profile->stacks + 1ull) * sizeof *inside->same_stack);
    inside->tag_line = nothing_yet(arena, profile->tags);
    inside->thread_line = nothing_yet(arena, profile->threads);
    inside->stack = pl_arena_alloc(arena, 2 * (profile->sites + 1ull) * sizeof *inside->stack);
    maker->flat->row = pl_arena_alloc(arena, (profile->sites + 1ull) * sizeof *maker->flat->row);
    maker->flat->row_of_site = pl_arena_alloc(arena, (profile->sites + 1ull) * sizeof *maker->flat->row_of_site);
    maker->stacks = pl_index_new(arena, 2 * profile->sites);
    maker->rows = pl_index_new(arena, profile->sites);
}

/* Threads and tags in front add to the depth. */
static void allow_front(struct maker *maker)
{
    uint32_t deepest = 0;
    for (uint32_t i = 0; i < maker->profile->tags; i++)
        deepest = maker->profile->tag[i].depth > deepest ? maker->profile->tag[i].depth : deepest;
    maker->flat->depth_max += (maker->flat->depth_max == 0) + deepest + 2;
}

struct pl_flat *pl_flat_new(const struct pl_profile *profile, const struct pl_flat_options *options)
{
    struct pl_arena *arena = pl_arena_new();
    struct pl_flat *flat = pl_arena_alloc(arena, sizeof *flat);
    struct maker maker = {.profile = profile, .flat = flat, .most = most_of_a_site(profile)};
    flat->profile = profile;
    maker.inside = flat->inside = pl_arena_alloc(arena, sizeof *flat->inside);
    flat->inside->arena = arena;
    flat->inside->options = *options;
    flat->inside->several = profile->difference || profile->merged;
    make_room(&maker);
    find_alike(&maker);
    make_lines(&maker);
    flat->inside->stand_in_line[OVERFLOW] = line_that_says(&maker, PL_FLAT_OTHER, pl_locations_no_stack(profile));
    flat->inside->stand_in_line[OTHER_SIZES] = line_that_says(&maker, PL_FLAT_OTHER, "(other sizes)");
    find_allocators(&maker);
    find_same_stacks(&maker);
    allow_front(&maker);
    add_sites(&maker);
    if (options->threshold > 0 && (maker.small = find_small(&maker)))
        add_sites_again(&maker);
    if (options->no_negatives)
        drop_signs(flat);
    sort_rows(&maker);
    add_up(flat);
    return flat;
}

void pl_flat_free(struct pl_flat *flat)
{
    pl_arena_free(flat->inside->arena);
}

/* --- one stack --- */

/* The root of the tree of tags is not shown above the others. */
static uint32_t write_tags(const struct pl_flat *flat, uint32_t tag, uint32_t *line)
{
    const struct pl_profile *profile = flat->profile;
    uint32_t depth = tag ? profile->tag[tag].depth : 1;
    for (uint32_t i = depth; i-- > 0; tag = profile->tag[tag].parent)
        line[i] = flat->inside->tag_line[tag];
    return depth;
}

uint32_t pl_flat_stack(const struct pl_flat *flat, uint32_t number, uint32_t *line)
{
    const struct pl_flat_private *inside = flat->inside;
    const struct stack *stack = &inside->stack[number];
    uint32_t count = 0;
    if (stack->thread != NONE)
        line[count++] = inside->thread_line[stack->thread];
    if (stack->tag != NONE)
        count += write_tags(flat, stack->tag, line + count);
    if (stack->of >= flat->profile->stacks) {
        uint32_t stand_in = stack->of - flat->profile->stacks;
        line[count++] = stand_in == SMALL ? stack->line : inside->stand_in_line[stand_in];
        return count;
    }
    const struct pl_stack_view *view = &flat->profile->stack[stack->of];
    for (uint32_t f = view->frames; f-- > inside->skip[stack->of];) {
        uint32_t first = inside->first_line[view->frame[f]];
        for (uint32_t at = inside->first_line[view->frame[f] + 1]; at-- > first;)
            line[count++] = inside->frame_line[at];
    }
    return count;
}

uint32_t pl_flat_frames(const struct pl_flat *flat, uint32_t number, uint32_t *frame)
{
    const struct stack *stack = &flat->inside->stack[number];
    if (stack->of >= flat->profile->stacks)
        return 0;
    const struct pl_stack_view *view = &flat->profile->stack[stack->of];
    uint32_t skip = flat->inside->skip[stack->of];
    memcpy(frame, view->frame + skip, (view->frames - skip) * sizeof *frame);
    return view->frames - skip;
}

uint32_t pl_flat_frame_lines(const struct pl_flat *flat, uint32_t frame, const uint32_t **line)
{
    *line = &flat->inside->frame_line[flat->inside->first_line[frame]];
    return flat->inside->first_line[frame + 1] - flat->inside->first_line[frame];
}
