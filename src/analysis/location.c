/* SPDX-License-Identifier: MIT */
/*
 * location.c - the places of a profile as reports print them, without duplicates.
 *
 * Joined profiles may come from several builds. Then modules and source files are identified by file name only:
 * /build/1/src/x.c and /build/2/src/x.c are the same if function and line agree. Two places that differ only in their
 * directories become one. That is rare, and happens on both sides of a comparison. Two lambdas on one line become one,
 * too.
 *
 * In a difference of two profiles a file may have another name on each side. So the file identifies a function only if
 * one of the sides has several functions of that name.
 */
#include "analysis/location.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/names/shorten.h"
#include "analysis/traits.h"
#include "reader/base/arena.h"
#include "reader/base/index.h"

/* What identifies a place. */
struct key {
    const struct pl_place *place;
    const struct pl_frame_view *frame;
    const char *name; /* of its function; the same in all builds */
    const char *home; /* pl_location.home */
};

/* All functions of one name in a module, in a difference of two profiles. */
struct namesakes {
    const char *name, *module;
    const char *file[2]; /* by side; NULL: it has none */
    bool several;        /* one side has several files */
};

struct maker {
    const struct pl_profile *profile;
    const struct pl_location_options *options;
    struct pl_locations *locations;
    bool several;    /* profiles, perhaps of several builds: directories are ignored */
    bool managed;    /* the program runs code that was compiled at run time */
    struct key *key; /* by location */
    struct pl_index index;
    struct namesakes *namesakes;
    uint32_t namesakes_count;
    struct pl_index namesakes_index;
};

static const struct pl_place nameless = {.function = "", .linkage = "", .file = ""};

static bool has_name(const struct pl_place *place)
{
    return *place->function || *place->file;
}

/* --- names --- */

static char *without_numbers(struct pl_arena *arena, const char *name)
{
    static const char numbered[] = "{lambda#";
    char *copy = pl_arena_alloc(arena, strlen(name) + 1), *to = copy;
    for (const char *next; (next = strstr(name, numbered)); name = next) {
        size_t bytes = (size_t) (next - name) + sizeof numbered - 2;
        to = mempcpy(to, name, bytes);
        next += sizeof numbered - 1;
        next += strspn(next, "0123456789");
    }
    strcpy(to, name);
    return copy;
}

const char *pl_location_common_name(struct pl_arena *arena, const struct pl_place *place)
{
    const char *function = place->function;
    if (!strstr(function, "{lambda") && !strstr(function, "<lambda("))
        return function;
    return without_numbers(arena,
                           place->bare ? pl_shorten_bare(arena, function) : pl_shorten_function(arena, function));
}

/* --- files --- */

static bool is_namesake(const void *context, uint32_t entry)
{
    const struct namesakes *const *pair = context; /* all of them, and the one to find */
    return !strcmp(pair[0][entry].name, pair[1]->name) && !strcmp(pair[0][entry].module, pair[1]->module);
}

static struct namesakes *find_namesakes(struct maker *maker, const char *name, uint32_t module)
{
    struct namesakes wanted = {.name = name, .module = basename(maker->profile->module[module].path)};
    const struct namesakes *pair[] = {maker->namesakes, &wanted};
    uint64_t text = pl_index_text(pl_index_text(maker->namesakes_index.seed, name), wanted.module);
    uint32_t *slot = pl_index_find(&maker->namesakes_index, text, 0, is_namesake, pair);
    if (!*slot) {
        maker->namesakes[maker->namesakes_count] = wanted;
        *slot = ++maker->namesakes_count;
    }
    return &maker->namesakes[*slot - 1];
}

static void note_file(struct namesakes *namesakes, int side, const char *file)
{
    const char **known = &namesakes->file[side];
    namesakes->several |= *known && strcmp(*known, file) != 0;
    *known = file;
}

/* Which sides have a frame, as bits. */
static uint8_t *sides_of_frames(const struct pl_profile *profile, struct pl_arena *arena)
{
    uint8_t *sides = pl_arena_alloc(arena, profile->frames + 1ull);
    for (uint32_t i = 0; i < profile->sites; i++) {
        if (profile->site[i].stack == PL_NO_STACK)
            continue;
        const struct pl_stack_view *stack = &profile->stack[profile->site[i].stack];
        for (uint32_t f = 0; f < stack->frames; f++)
            sides[stack->frame[f]] |= i < profile->base_sites ? 1 : 2;
    }
    return sides;
}

static void note_files(struct maker *maker, uint32_t places)
{
    const struct pl_profile *profile = maker->profile;
    struct pl_arena *arena = maker->locations->arena;
    const uint8_t *sides = sides_of_frames(profile, arena);
    maker->namesakes = pl_arena_alloc(arena, (places + 1ull) * sizeof *maker->namesakes);
    maker->namesakes_index = pl_index_new(arena, places);
    for (uint32_t i = 0; i < profile->frames; i++)
        for (uint32_t p = 0; p < profile->frame[i].places; p++) {
            const struct pl_place *place = &profile->frame[i].place[p];
            struct namesakes *all =
                find_namesakes(maker, pl_location_common_name(arena, place), profile->frame[i].module);
            for (int side = 0; side < 2; side++)
                if (sides[i] >> side & 1)
                    note_file(all, side, basename(place->file));
        }
}

static const char *find_home(struct maker *maker, const char *name, const struct pl_place *place, uint32_t module)
{
    if (!maker->several)
        return place->file;
    if (maker->namesakes && *place->function && !find_namesakes(maker, name, module)->several)
        return "";
    return basename(place->file);
}

/* --- locations --- */

static bool same_module(const struct maker *maker, uint32_t a, uint32_t b)
{
    const struct pl_module_view *module = maker->profile->module;
    return a == b || (maker->several && !strcmp(basename(module[a].path), basename(module[b].path)));
}

/* A gap in a stack is not a place. Places without a name are identified by their address. */
static bool same_key(const struct maker *maker, const struct key *a, const struct key *b)
{
    if (a->place->line != b->place->line || (a->frame->flags & PL_FRAME_GAP) != (b->frame->flags & PL_FRAME_GAP) ||
        !same_module(maker, a->frame->module, b->frame->module))
        return false;
    if (!has_name(a->place) && !has_name(b->place))
        return a->frame->address == b->frame->address;
    return !strcmp(a->name, b->name) && !strcmp(a->home, b->home);
}

struct question {
    const struct maker *maker;
    struct key key;
};

static bool is_same(const void *context, uint32_t entry)
{
    const struct question *question = context;
    return same_key(question->maker, &question->maker->key[entry], &question->key);
}

static bool is_function(const struct key *key)
{
    return *key->place->function && !(key->frame->flags & PL_FRAME_GAP);
}

/* Complete: name_functions() shortens names when it knows all of them. */
static const char *print_name(const struct maker *maker, const struct key *key)
{
    char text[64];
    if (key->frame->flags & PL_FRAME_GAP)
        return "(frames left out)";
    if (is_function(key))
        return key->place->function;
    int bytes = snprintf(text, sizeof text, "0x%" PRIx64, key->frame->address);
    return pl_arena_text(maker->locations->arena, text, (size_t) bytes);
}

static struct pl_location make_location(const struct maker *maker, const struct key *key)
{
    const struct pl_profile *profile = maker->profile;
    const char *file = key->place->file, *name = print_name(maker, key);
    return (struct pl_location){
        .name = name,
        .common = is_function(key) ? key->name : name,
        .renumbered = key->name != key->place->function && is_function(key),
        .home = key->home,
        .file = maker->options->full_names ? file : pl_shorten_file(maker->locations->arena, file, profile->directory),
        .line = key->place->line,
        .module = key->frame->flags & PL_FRAME_PYTHON ? "" : pl_traits_module(profile, key->frame->module),
        .role = pl_role_of(profile, maker->managed, key->frame->module, key->place),
        .language = pl_language_of(profile, key->frame->module, key->place),
        .source = file,
        .binary = profile->module[key->frame->module].path,
        .full = key->frame->flags & PL_FRAME_GAP ? name : key->place->function,
        .object = key->frame->module,
    };
}

static uint32_t intern(struct maker *maker, const struct key *key)
{
    struct question question = {maker, *key};
    uint64_t seed = maker->index.seed;
    uint64_t module = maker->several ? pl_index_text(seed, basename(maker->profile->module[key->frame->module].path))
                                     : pl_index_mix(seed, key->frame->module);
    uint64_t text = pl_index_text(pl_index_text(module, key->name), key->home);
    uint64_t where = has_name(key->place) ? key->place->line : key->frame->address;
    uint32_t *slot = pl_index_find(&maker->index, text, where, is_same, &question);
    if (!*slot) {
        uint32_t number = maker->locations->count++;
        maker->key[number] = *key;
        maker->locations->location[number] = make_location(maker, key);
        *slot = number + 1;
    } else if (maker->profile->difference && strcmp(maker->key[*slot - 1].place->file, key->place->file)) {
        maker->key[*slot - 1] = *key; /* AFTER's frames come last: its files are the current ones */
        maker->locations->location[*slot - 1] = make_location(maker, key);
    }
    return *slot - 1;
}

static uint32_t places_of(const struct maker *maker, uint32_t frame)
{
    uint32_t places = maker->options->no_symbols ? 0 : maker->profile->frame[frame].places;
    return places ? places : 1;
}

static void fill(struct maker *maker)
{
    struct pl_locations *locations = maker->locations;
    for (uint32_t i = 0; i < maker->profile->frames; i++) {
        const struct pl_frame_view *frame = &maker->profile->frame[i];
        bool named = frame->places && !maker->options->no_symbols;
        locations->of_frame[i + 1] = locations->of_frame[i] + places_of(maker, i);
        for (uint32_t p = 0; p < places_of(maker, i); p++) {
            const struct pl_place *place = named ? &frame->place[p] : &nameless;
            const char *name = maker->several ? pl_location_common_name(locations->arena, place) : place->function;
            struct key key = {place, frame, name, find_home(maker, name, place, frame->module)};
            locations->of_place[locations->of_frame[i] + p] = intern(maker, &key);
        }
    }
}

static uint32_t count_places(const struct maker *maker)
{
    uint32_t places = 0;
    for (uint32_t i = 0; i < maker->profile->frames; i++)
        places += places_of(maker, i);
    return places;
}

/* Two functions must not have the same name. */
static void name_functions(struct maker *maker)
{
    struct pl_locations *locations = maker->locations;
    struct pl_shortened *names = pl_arena_alloc(locations->arena, (locations->count + 1ull) * sizeof *names);
    uint32_t count = 0;
    for (uint32_t i = 0; i < locations->count; i++)
        if (is_function(&maker->key[i]))
            names[count++] =
                (struct pl_shortened){.full = locations->location[i].full, .bare = maker->key[i].place->bare};
    pl_shorten_apart(locations->arena, names, count);
    for (uint32_t i = 0; i < locations->count; i++)
        if (is_function(&maker->key[i])) {
            locations->location[i].name = names->shown;
            if (!locations->location[i].renumbered)
                locations->location[i].common = names->brief;
            names++;
        }
}

/* A location for sites without a stack. */
static uint32_t add_stand_in(struct pl_locations *locations, const char *name)
{
    locations->location[locations->count] = (struct pl_location){.name = name,
                                                                 .common = name,
                                                                 .home = "",
                                                                 .file = "",
                                                                 .module = "",
                                                                 .role = PL_ROLE_OWN,
                                                                 .source = "",
                                                                 .binary = "",
                                                                 .full = name};
    return locations->count++;
}

static bool is_alike(const void *context, uint32_t entry)
{
    const struct pl_location *const *pair = context; /* all locations, and the one to find */
    return !strcmp(pair[0][entry].name, pair[1]->name);
}

static void find_alike(struct pl_locations *locations)
{
    struct pl_index index = pl_index_new(locations->arena, locations->count);
    locations->alike = pl_arena_alloc(locations->arena, (locations->count + 1ull) * sizeof *locations->alike);
    for (uint32_t i = 0; i < locations->count; i++) {
        const struct pl_location *pair[] = {locations->location, &locations->location[i]};
        uint32_t *slot =
            pl_index_find(&index, pl_index_text(index.seed, locations->location[i].name), 0, is_alike, pair);
        if (!*slot)
            *slot = i + 1;
        locations->alike[i] = *slot - 1;
    }
}

const char *pl_locations_no_stack(const struct pl_profile *profile)
{
    bool full = profile->header.losses[PL_LOSS_FILE_FULL] > 0;
    return profile->damage && !full ? "(damaged: this stack cannot be read)" : "(no room in the file for this stack)";
}

struct pl_locations *pl_locations_new(const struct pl_profile *profile, const struct pl_location_options *options)
{
    struct pl_arena *arena = pl_arena_new();
    struct pl_locations *locations = pl_arena_alloc(arena, sizeof *locations);
    struct maker maker = {.profile = profile,
                          .options = options,
                          .locations = locations,
                          .several = profile->difference || profile->merged > 1,
                          .managed = pl_role_is_managed(profile)};
    uint32_t places = count_places(&maker);
    locations->arena = arena;
    locations->location = pl_arena_alloc(arena, (places + 2ull) * sizeof *locations->location);
    locations->of_place = pl_arena_alloc(arena, (places + 1ull) * sizeof *locations->of_place);
    locations->of_frame = pl_arena_alloc(arena, (profile->frames + 1ull) * sizeof *locations->of_frame);
    maker.key = pl_arena_alloc(arena, (places + 1ull) * sizeof *maker.key);
    maker.index = pl_index_new(arena, places);
    if (profile->difference && !options->no_symbols)
        note_files(&maker, places);
    fill(&maker);
    if (!options->full_names)
        name_functions(&maker);
    locations->overflow = add_stand_in(locations, pl_locations_no_stack(profile));
    locations->other_sizes = add_stand_in(locations, "(other sizes)");
    locations->full_names = options->full_names;
    find_alike(locations);
    return locations;
}

void pl_locations_free(struct pl_locations *locations)
{
    pl_arena_free(locations->arena);
}
