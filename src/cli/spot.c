/* SPDX-License-Identifier: MIT */
/*
 * spot.c - the places of a profile as people see them, each once.
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
};

struct maker {
    const struct pl_profile *profile;
    const struct pl_spot_options *options;
    struct pl_spots *spots;
    struct key *key; /* of each spot */
    struct pl_index index;
};

static const struct pl_place nameless = {.function = "", .linkage = "", .file = ""};

static bool has_name(const struct pl_place *place)
{
    return *place->function || *place->file;
}

/* Frames left out are not at any place; places without a name are told apart by their address. */
static bool same_key(const struct key *a, const struct key *b)
{
    if (a->frame->module != b->frame->module || a->place->line != b->place->line ||
        (a->frame->flags & PL_FRAME_GAP) != (b->frame->flags & PL_FRAME_GAP))
        return false;
    if (!has_name(a->place) && !has_name(b->place))
        return a->frame->address == b->frame->address;
    return !strcmp(a->place->function, b->place->function) && !strcmp(a->place->file, b->place->file);
}

struct question {
    const struct maker *maker;
    struct key key;
};

static bool is_same(const void *context, uint32_t entry)
{
    const struct question *question = context;
    return same_key(&question->maker->key[entry], &question->key);
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char) *text) * 0x100000001b3ull;
    return hash * 31;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
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
    const char *file = key->place->file;
    return (struct pl_spot){
        .name = print_name(maker, key),
        .file = maker->options->full_names ? file : pl_shorten_file(maker->spots->arena, file, profile->directory),
        .line = key->place->line,
        .module = last_part(profile->module[key->frame->module].path),
        .role = pl_role_of(profile, key->frame->module, key->place),
    };
}

static uint32_t intern(struct maker *maker, const struct key *key)
{
    struct question question = {maker, *key};
    uint64_t text = hash_text(hash_text(key->frame->module + 1, key->place->function), key->place->file);
    uint64_t where = has_name(key->place) ? key->place->line : key->frame->address;
    uint32_t *slot = pl_index_find(&maker->index, text, where, is_same, &question);
    if (!*slot) {
        uint32_t number = maker->spots->count++;
        maker->key[number] = *key;
        maker->spots->spot[number] = make_spot(maker, key);
        *slot = number + 1;
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
            struct key key = {named ? &frame->place[p] : &nameless, frame};
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
    spots->spot[spots->count] = (struct pl_spot){.name = name, .file = "", .module = "", .role = PL_ROLE_OWN};
    return spots->count++;
}

struct pl_spots *pl_spots_new(const struct pl_profile *profile, const struct pl_spot_options *options)
{
    struct pl_arena *arena = pl_arena_new();
    struct pl_spots *spots = pl_arena_alloc(arena, sizeof *spots);
    struct maker maker = {.profile = profile, .options = options, .spots = spots};
    uint32_t places = count_places(&maker);
    spots->arena = arena;
    spots->spot = pl_arena_alloc(arena, (places + 2ull) * sizeof *spots->spot);
    spots->of_place = pl_arena_alloc(arena, (places + 1ull) * sizeof *spots->of_place);
    spots->of_frame = pl_arena_alloc(arena, (profile->frames + 1ull) * sizeof *spots->of_frame);
    maker.key = pl_arena_alloc(arena, (places + 1ull) * sizeof *maker.key);
    maker.index = pl_index_new(arena, places);
    fill(&maker);
    spots->overflow = add_stand_in(spots, "(no room in the file for this stack)");
    spots->other_sizes = add_stand_in(spots, "(other sizes)");
    return spots;
}

void pl_spots_free(struct pl_spots *spots)
{
    pl_arena_free(spots->arena);
}
