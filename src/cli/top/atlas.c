/* SPDX-License-Identifier: MIT */
/* atlas.c - see atlas.h. */
#include "cli/top/atlas.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/location.h"
#include "analysis/path.h"
#include "cli/say.h"
#include "reader/base/arena.h"
#include "reader/base/grow.h"
#include "reader/base/index.h"

/* Numbers by hash: open addressing, at most half full. A hash of 64 bits is taken for the thing itself. */
struct hashes {
    uint64_t *hash; /* 0: empty */
    uint32_t *number;
    uint32_t mask, count;
};

struct pl_atlas {
    struct pl_arena *arena;
    struct hashes by_stack, by_text;
    struct pl_atlas_stack *stack;
    uint32_t stacks, stack_room;
    struct pl_subject_name *subject;
    uint32_t subjects, subject_room;
};

/* ---- numbers by hash ---- */

static struct hashes new_hashes(uint32_t slots)
{
    return (struct hashes){.hash = pl_grow_zeroed(slots, sizeof(uint64_t)),
                           .number = pl_grow_zeroed(slots, sizeof(uint32_t)),
                           .mask = slots - 1};
}

static void free_hashes(struct hashes *hashes)
{
    free(hashes->hash);
    free(hashes->number);
}

static uint32_t slot_of(const struct hashes *hashes, uint64_t hash)
{
    uint32_t at = (uint32_t) hash & hashes->mask;
    while (hashes->hash[at] && hashes->hash[at] != hash)
        at = (at + 1) & hashes->mask;
    return at;
}

static uint32_t find(const struct hashes *hashes, uint64_t hash)
{
    uint32_t at = slot_of(hashes, hash);
    return hashes->hash[at] ? hashes->number[at] : PL_ATLAS_NONE;
}

static void insert(struct hashes *hashes, uint64_t hash, uint32_t number)
{
    if (hashes->count >= hashes->mask / 2) {
        struct hashes larger = new_hashes(2 * (hashes->mask + 1));
        for (uint32_t i = 0; i <= hashes->mask; i++)
            if (hashes->hash[i])
                insert(&larger, hashes->hash[i], hashes->number[i]);
        free_hashes(hashes);
        *hashes = larger;
    }
    uint32_t at = slot_of(hashes, hash);
    hashes->hash[at] = hash;
    hashes->number[at] = number;
    hashes->count++;
}

/* ---- subjects ---- */

static uint64_t not_zero(uint64_t hash)
{
    return hash ? hash : 1;
}

static uint32_t add_subject(struct pl_atlas *atlas, const struct pl_subject_name *name)
{
    atlas->subject = pl_grow(atlas->subject, atlas->subjects, &atlas->subject_room, sizeof *atlas->subject);
    atlas->subject[atlas->subjects] = (struct pl_subject_name){
        .name = pl_arena_text(atlas->arena, name->name, strlen(name->name)),
        .where = pl_arena_text(atlas->arena, name->where, strlen(name->where)),
        .role = name->role,
    };
    return atlas->subjects++;
}

static uint32_t subject_of(struct pl_atlas *atlas, uint64_t hash, const struct pl_subject_name *name)
{
    hash = not_zero(hash);
    uint32_t number = find(&atlas->by_text, hash);
    if (number == PL_ATLAS_NONE) {
        number = add_subject(atlas, name);
        insert(&atlas->by_text, hash, number);
    }
    return number;
}

uint32_t pl_atlas_subject(struct pl_atlas *atlas, char kind, const char *name)
{
    const struct pl_subject_name subject = {.name = name, .where = "", .role = PL_ROLE_OWN};
    return subject_of(atlas, pl_index_text(pl_index_mix(1, (unsigned char) kind), name), &subject);
}

/* That a function is the program's own needs no words. */
static const char *module_of(const struct pl_location *location, const char *program)
{
    return strcmp(location->binary, program) ? location->module : "";
}

/* Names may be longer in a later reading, to tell two functions apart; the full name stays the same. */
static uint32_t function_of(struct pl_atlas *atlas, const struct pl_location *location, const char *program)
{
    const char *full = *location->full ? location->full : location->name;
    const struct pl_subject_name subject = {
        .name = location->name, .where = module_of(location, program), .role = location->role};
    return subject_of(atlas, pl_index_text(pl_index_text(2, full), location->module), &subject);
}

static uint32_t site_of(struct pl_atlas *atlas, const struct pl_location *location, const char *program)
{
    const char *full = *location->full ? location->full : location->name;
    char *where = *location->file ? pl_say_print("%s:%u", location->file, location->line)
                                  : pl_say_print("%s", module_of(location, program));
    const struct pl_subject_name subject = {.name = location->name, .where = where, .role = location->role};
    uint32_t number = subject_of(atlas, pl_index_text(pl_index_text(3, full), where), &subject);
    free(where);
    return number;
}

const struct pl_subject_name *pl_atlas_name(const struct pl_atlas *atlas, uint32_t subject)
{
    return &atlas->subject[subject];
}

uint32_t pl_atlas_subjects(const struct pl_atlas *atlas)
{
    return atlas->subjects;
}

/* ---- stacks ---- */

/* Frames keep their record numbers as long as the program runs. */
static uint64_t hash_stack(const struct pl_profile *profile, const struct pl_stack_view *stack)
{
    uint64_t hash = stack->frames;
    for (uint32_t f = 0; f < stack->frames; f++)
        hash = pl_index_mix(hash, profile->frame[stack->frame[f]].record);
    return not_zero(hash);
}

bool pl_atlas_find(const struct pl_atlas *atlas, const struct pl_profile *profile, uint32_t *number)
{
    bool all = true;
    for (uint32_t i = 0; i < profile->stacks; i++) {
        number[i] = find(&atlas->by_stack, hash_stack(profile, &profile->stack[i]));
        all &= number[i] != PL_ATLAS_NONE;
    }
    return all;
}

static uint32_t collect(const struct pl_locations *locations, const struct pl_stack_view *stack, uint32_t *into)
{
    uint32_t count = 0;
    for (uint32_t f = 0; f < stack->frames; f++)
        for (uint32_t p = locations->of_frame[stack->frame[f]]; p < locations->of_frame[stack->frame[f] + 1]; p++)
            into[count++] = locations->of_place[p];
    return count;
}

static uint32_t count_places(const struct pl_locations *locations, const struct pl_stack_view *stack)
{
    uint32_t count = 0;
    for (uint32_t f = 0; f < stack->frames; f++)
        count += locations->of_frame[stack->frame[f] + 1] - locations->of_frame[stack->frame[f]];
    return count;
}

static struct pl_atlas_stack describe(struct pl_atlas *atlas, const struct pl_locations *locations,
                                      const struct pl_stack_view *stack, const char *program)
{
    uint32_t *place = pl_grow_zeroed(count_places(locations, stack) + 1u, sizeof *place);
    uint32_t count = collect(locations, stack, place);
    struct pl_path_usual usual = pl_path_usual(locations, place, count);
    uint32_t shown = usual.outer - usual.inner + 1;
    uint32_t *site = pl_arena_alloc(atlas->arena, shown * sizeof *site);
    uint32_t *function = pl_arena_alloc(atlas->arena, shown * sizeof *function);
    for (uint32_t i = 0; i < shown; i++) {
        const struct pl_location *location = &locations->location[place[usual.inner + i]];
        site[i] = site_of(atlas, location, program);
        function[i] = function_of(atlas, location, program);
    }
    free(place);
    return (struct pl_atlas_stack){.count = shown, .site = site, .function = function, .own = usual.own - usual.inner};
}

void pl_atlas_learn(struct pl_atlas *atlas, const struct pl_profile *profile)
{
    struct pl_locations *locations = pl_locations_new(profile, &(struct pl_location_options){.full_names = false});
    const char *program = profile->executable;
    for (uint32_t i = 0; i < profile->stacks; i++) {
        uint64_t hash = hash_stack(profile, &profile->stack[i]);
        if (find(&atlas->by_stack, hash) != PL_ATLAS_NONE)
            continue;
        atlas->stack = pl_grow(atlas->stack, atlas->stacks, &atlas->stack_room, sizeof *atlas->stack);
        atlas->stack[atlas->stacks] = describe(atlas, locations, &profile->stack[i], program);
        insert(&atlas->by_stack, hash, atlas->stacks++);
    }
    pl_locations_free(locations);
}

const struct pl_atlas_stack *pl_atlas_stack(const struct pl_atlas *atlas, uint32_t number)
{
    return &atlas->stack[number];
}

struct pl_atlas *pl_atlas_new(void)
{
    struct pl_atlas *atlas = pl_grow_zeroed(1, sizeof *atlas);
    atlas->arena = pl_arena_new();
    atlas->by_stack = new_hashes(1024);
    atlas->by_text = new_hashes(1024);
    return atlas;
}

void pl_atlas_free(struct pl_atlas *atlas)
{
    if (!atlas)
        return;
    free_hashes(&atlas->by_stack);
    free_hashes(&atlas->by_text);
    free(atlas->stack);
    free(atlas->subject);
    pl_arena_free(atlas->arena);
    free(atlas);
}
