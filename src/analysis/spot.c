/* SPDX-License-Identifier: MIT */
/*
 * spot.c - the places of a profile as people see them, each once.
 *
 * Several profiles taken together may be of several builds. A module is then who its file's name says it is, and a
 * source file too: /build/1/src/x.c and /build/2/src/x.c are the same where function and line are. Two places that only
 * their directories tell apart become one there, which is rare, and happens to both sides of a comparison. So do two
 * lambdas of one line.
 */
#include "spot.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "index.h"
#include "shorten.h"

/* A place with all that tells it from others. */
struct key {
    const struct pl_place *place;
    const struct pl_frame_view *frame;
    const char *name; /* of its function, in whatever build */
};

struct maker {
    const struct pl_profile *profile;
    const struct pl_spot_options *options;
    struct pl_spots *spots;
    bool several;    /* builds, perhaps: directories tell nothing apart */
    struct key *key; /* of each spot */
    struct pl_index index;
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

const char *pl_spot_common_name(struct pl_arena *arena, const struct pl_place *place)
{
    const char *function = place->function;
    if (!strstr(function, "{lambda") && !strstr(function, "<lambda("))
        return function;
    return without_numbers(arena,
                           place->bare ? pl_shorten_bare(arena, function) : pl_shorten_function(arena, function));
}

/* --- spots --- */

static const char *known_as(const struct maker *maker, const char *path)
{
    return maker->several ? basename(path) : path;
}

static bool same_module(const struct maker *maker, uint32_t a, uint32_t b)
{
    const struct pl_module_view *module = maker->profile->module;
    return a == b || (maker->several && !strcmp(basename(module[a].path), basename(module[b].path)));
}

/* Frames left out are not at any place; places without a name are told apart by their address. */
static bool same_key(const struct maker *maker, const struct key *a, const struct key *b)
{
    if (a->place->line != b->place->line || (a->frame->flags & PL_FRAME_GAP) != (b->frame->flags & PL_FRAME_GAP) ||
        !same_module(maker, a->frame->module, b->frame->module))
        return false;
    if (!has_name(a->place) && !has_name(b->place))
        return a->frame->address == b->frame->address;
    return !strcmp(a->name, b->name) && !strcmp(known_as(maker, a->place->file), known_as(maker, b->place->file));
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

static const char *print_name(const struct maker *maker, const struct key *key)
{
    char text[64];
    if (key->frame->flags & PL_FRAME_GAP)
        return "(frames left out)";
    if (*key->place->function && maker->options->full_names)
        return key->place->function;
    if (*key->place->function && key->place->bare)
        return pl_shorten_bare(maker->spots->arena, key->place->function);
    if (*key->place->function)
        return pl_shorten_function(maker->spots->arena, key->place->function);
    int bytes = snprintf(text, sizeof text, "0x%" PRIx64, key->frame->address);
    return pl_arena_text(maker->spots->arena, text, (size_t) bytes);
}

static struct pl_spot make_spot(const struct maker *maker, const struct key *key)
{
    const struct pl_profile *profile = maker->profile;
    const char *file = key->place->file, *name = print_name(maker, key);
    return (struct pl_spot){
        .name = name,
        .common = key->name == key->place->function ? name : key->name,
        .file = maker->options->full_names ? file : pl_shorten_file(maker->spots->arena, file, profile->directory),
        .line = key->place->line,
        .module = basename(profile->module[key->frame->module].path),
        .role = pl_role_of(profile, key->frame->module, key->place),
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
    uint64_t text = pl_index_text(pl_index_text(module, key->name), known_as(maker, key->place->file));
    uint64_t where = has_name(key->place) ? key->place->line : key->frame->address;
    uint32_t *slot = pl_index_find(&maker->index, text, where, is_same, &question);
    if (!*slot) {
        uint32_t number = maker->spots->count++;
        maker->key[number] = *key;
        maker->spots->spot[number] = make_spot(maker, key);
        *slot = number + 1;
    } else if (maker->profile->difference && strcmp(maker->key[*slot - 1].place->file, key->place->file)) {
        maker->key[*slot - 1] = *key; /* frames of what is compared come last: its files are those that are there */
        maker->spots->spot[*slot - 1] = make_spot(maker, key);
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
    struct pl_spots *spots = maker->spots;
    for (uint32_t i = 0; i < maker->profile->frames; i++) {
        const struct pl_frame_view *frame = &maker->profile->frame[i];
        bool named = frame->places && !maker->options->no_symbols;
        spots->of_frame[i + 1] = spots->of_frame[i] + places_of(maker, i);
        for (uint32_t p = 0; p < places_of(maker, i); p++) {
            const struct pl_place *place = named ? &frame->place[p] : &nameless;
            const char *name = maker->several ? pl_spot_common_name(spots->arena, place) : place->function;
            struct key key = {place, frame, name};
            spots->of_place[spots->of_frame[i] + p] = intern(maker, &key);
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

/* For what has no stack. */
static uint32_t add_stand_in(struct pl_spots *spots, const char *name)
{
    spots->spot[spots->count] = (struct pl_spot){.name = name,
                                                 .common = name,
                                                 .file = "",
                                                 .module = "",
                                                 .role = PL_ROLE_OWN,
                                                 .source = "",
                                                 .binary = "",
                                                 .full = name};
    return spots->count++;
}

static bool is_alike(const void *context, uint32_t entry)
{
    const struct pl_spot *const *pair = context; /* all of them, and the one in question */
    return !strcmp(pair[0][entry].name, pair[1]->name);
}

static void find_alike(struct pl_spots *spots)
{
    struct pl_index index = pl_index_new(spots->arena, spots->count);
    spots->alike = pl_arena_alloc(spots->arena, (spots->count + 1ull) * sizeof *spots->alike);
    for (uint32_t i = 0; i < spots->count; i++) {
        const struct pl_spot *pair[] = {spots->spot, &spots->spot[i]};
        uint32_t *slot = pl_index_find(&index, pl_index_text(index.seed, spots->spot[i].name), 0, is_alike, pair);
        if (!*slot)
            *slot = i + 1;
        spots->alike[i] = *slot - 1;
    }
}

const char *pl_spots_no_stack(const struct pl_profile *profile)
{
    bool full = profile->header.losses[PL_LOSS_FILE_FULL] > 0;
    return profile->damage && !full ? "(damaged: this stack cannot be read)" : "(no room in the file for this stack)";
}

struct pl_spots *pl_spots_new(const struct pl_profile *profile, const struct pl_spot_options *options)
{
    struct pl_arena *arena = pl_arena_new();
    struct pl_spots *spots = pl_arena_alloc(arena, sizeof *spots);
    struct maker maker = {
        .profile = profile, .options = options, .spots = spots, .several = profile->difference || profile->merged > 1};
    uint32_t places = count_places(&maker);
    spots->arena = arena;
    spots->spot = pl_arena_alloc(arena, (places + 2ull) * sizeof *spots->spot);
    spots->of_place = pl_arena_alloc(arena, (places + 1ull) * sizeof *spots->of_place);
    spots->of_frame = pl_arena_alloc(arena, (profile->frames + 1ull) * sizeof *spots->of_frame);
    maker.key = pl_arena_alloc(arena, (places + 1ull) * sizeof *maker.key);
    maker.index = pl_index_new(arena, places);
    fill(&maker);
    spots->overflow = add_stand_in(spots, pl_spots_no_stack(profile));
    spots->other_sizes = add_stand_in(spots, "(other sizes)");
    spots->full_names = options->full_names;
    find_alike(spots);
    return spots;
}

void pl_spots_free(struct pl_spots *spots)
{
    pl_arena_free(spots->arena);
}
