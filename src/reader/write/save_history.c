/* SPDX-License-Identifier: MIT */
/*
 * save_history.c - writes moments and heap compositions, each in a slot of its own, in order of time.
 */
#include <math.h>
#include <stdlib.h>

#include "reader/write/save_work.h"

static uint64_t whole(double figure)
{
    return (uint64_t) llround(figure);
}

static void save_moment(struct pl_save_work *save, const struct pl_moment_view *moment)
{
    struct pl_moment record = {
        .time_ns = whole(moment->seconds * 1e9),
        .live_bytes = whole(moment->live_bytes),
        .live_objects = whole(moment->live_objects),
        .allocated_bytes = whole(moment->allocated_bytes),
        .allocated_calls = whole(moment->allocated_calls),
        .rss_bytes = whole(moment->rss_bytes),
        .interval_bytes = moment->interval_bytes,
        .file_bytes = whole(moment->file_bytes),
    };
    pl_save_add(save, PL_KIND_MOMENT, &record);
}

static void save_composition(struct pl_save_work *save, const struct pl_composition_view *composition,
                             struct pl_composition_record *record)
{
    *record = (struct pl_composition_record){
        .time_ns = whole(composition->seconds * 1e9),
        .live_bytes = whole(composition->live_bytes),
        .live_objects = whole(composition->live_objects),
        .allocated_bytes = whole(composition->allocated_bytes),
        .allocated_calls = whole(composition->allocated_calls),
    };
    for (uint32_t i = 0; i < composition->shares && record->entries < PL_COMPOSITION_ENTRIES; i++) {
        const struct pl_composition_share *share = &composition->share[i];
        if (save->who[share->site] == 0)
            continue;
        record->entry[record->entries++] = (struct pl_composition_entry){
            .who = save->who[share->site],
            .objects = (uint32_t) fmin(share->objects, UINT32_MAX),
            .bytes = whole(share->bytes),
            .calls = whole(share->calls),
            .allocated = whole(share->allocated),
        };
    }
    pl_save_add(save, PL_KIND_COMPOSITION, record);
}

void pl_save_history(struct pl_save_work *save)
{
    const struct pl_profile *profile = save->profile;
    struct pl_composition_record *record = pl_arena_alloc(save->arena, sizeof *record);
    for (uint32_t i = 0; i < profile->moments && i < PL_MOMENTS; i++)
        save_moment(save, &profile->moment[i]);
    for (uint32_t i = 0; i < profile->compositions && i < PL_COMPOSITIONS; i++)
        save_composition(save, &profile->composition[i], record);
    for (uint32_t i = 0; i < profile->footprints; i++)
        pl_save_add(save, PL_KIND_FOOTPRINT, &profile->footprint[i]);
}
