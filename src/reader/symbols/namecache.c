/* SPDX-License-Identifier: MIT */
/*
 * namecache.c - remembers the names of frames, by the number of their record.
 *
 * The names live here, not in the profile that they were found for; profiles point to them. So texts are copied once,
 * however often the profile is read.
 */
#include "reader/symbols/namecache.h"

#include <string.h>

#include "reader/base/arena.h"
#include "reader/base/grow.h"

struct entry {
    uint64_t address;
    uint32_t module;
    uint32_t places; /* 0: not known */
    const struct pl_place *place;
};

struct pl_namecache {
    struct pl_arena *arena;
    struct pl_header process; /* whose frames these are */
    struct entry *entry;      /* by record */
    uint32_t entries, capacity;
};

struct pl_namecache *pl_namecache_new(void)
{
    struct pl_namecache *known = pl_grow_zeroed(1, sizeof *known);
    known->arena = pl_arena_new();
    return known;
}

void pl_namecache_free(struct pl_namecache *known)
{
    if (!known)
        return;
    pl_arena_free(known->arena);
    free(known->entry);
    free(known);
}

static struct entry entry_of(const struct pl_namecache *known, const struct pl_frame_view *frame)
{
    struct entry entry = frame->record < known->entries ? known->entry[frame->record] : (struct entry){0};
    bool same = entry.places && entry.address == frame->address && entry.module == frame->module;
    return same ? entry : (struct entry){0};
}

bool pl_namecache_apply(struct pl_namecache *known, struct pl_profile *profile)
{
    uint32_t missing = 0;
    if (!pl_profile_same_process(&known->process, &profile->header))
        known->entries = 0;
    known->process = profile->header;
    for (uint32_t i = 0; i < profile->frames; i++) {
        struct pl_frame_view *frame = &profile->frame[i];
        struct entry entry = entry_of(known, frame);
        if (entry.places) {
            frame->place = entry.place;
            frame->places = entry.places;
        }
        missing += !entry.places;
    }
    return missing == 0;
}

static const struct pl_place *copy_places(struct pl_arena *arena, const struct pl_frame_view *frame)
{
    struct pl_place *place = pl_arena_alloc(arena, frame->places * sizeof *place);
    for (uint32_t i = 0; i < frame->places; i++) {
        const struct pl_place *from = &frame->place[i];
        place[i] = *from;
        place[i].function = pl_arena_text(arena, from->function, strlen(from->function));
        place[i].linkage = pl_arena_text(arena, from->linkage, strlen(from->linkage));
        place[i].file = pl_arena_text(arena, from->file, strlen(from->file));
    }
    return place;
}

static void remember(struct pl_namecache *known, const struct pl_frame_view *frame)
{
    while (known->entries <= frame->record) {
        known->entry = pl_grow(known->entry, known->entries, &known->capacity, sizeof *known->entry);
        known->entry[known->entries++] = (struct entry){0};
    }
    known->entry[frame->record] =
        (struct entry){frame->address, frame->module, frame->places, copy_places(known->arena, frame)};
}

/* Frames without a line are looked up again together with new ones; mostly the result is the same. */
static bool is_news(const struct entry *entry, const struct pl_frame_view *frame)
{
    const struct pl_place *was = entry->place, *is = frame->place;
    return entry->places != frame->places ||
           (was != is && (strcmp(was->function, is->function) || strcmp(was->file, is->file)));
}

void pl_namecache_learn(struct pl_namecache *known, const struct pl_profile *profile)
{
    for (uint32_t i = 0; i < profile->frames; i++) {
        struct entry entry = entry_of(known, &profile->frame[i]);
        if (is_news(&entry, &profile->frame[i]))
            remember(known, &profile->frame[i]);
    }
}
