/* SPDX-License-Identifier: MIT */
/*
 * save_history.c - moments and snapshots, each in a slot of its own, in order of time.
 */
#include <math.h>
#include <stdlib.h>

#include "save_work.h"

static uint64_t whole(double figure)
{
    return (uint64_t) llround(figure);
}

static void save_moment(struct pl_save *save, const struct pl_moment_view *moment)
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

static void save_snapshot(struct pl_save *save, const struct pl_snapshot_view *snapshot,
                          struct pl_snapshot_record *record)
{
    *record = (struct pl_snapshot_record){
        .time_ns = whole(snapshot->seconds * 1e9),
        .live_bytes = whole(snapshot->live_bytes),
        .live_objects = whole(snapshot->live_objects),
        .allocated_bytes = whole(snapshot->allocated_bytes),
        .allocated_calls = whole(snapshot->allocated_calls),
    };
    for (uint32_t i = 0; i < snapshot->shares && record->entries < PL_SNAPSHOT_ENTRIES; i++) {
        const struct pl_snapshot_share *share = &snapshot->share[i];
        if (save->who[share->site] == 0)
            continue;
        record->entry[record->entries++] = (struct pl_snapshot_entry){
            .who = save->who[share->site],
            .objects = (uint32_t) fmin(share->objects, UINT32_MAX),
            .bytes = whole(share->bytes),
            .calls = whole(share->calls),
            .allocated = whole(share->allocated),
        };
    }
    pl_save_add(save, PL_KIND_SNAPSHOT, record);
}

void pl_save_history(struct pl_save *save)
{
    const struct pl_profile *profile = save->profile;
    struct pl_snapshot_record *record = pl_arena_alloc(save->arena, sizeof *record);
    for (uint32_t i = 0; i < profile->moments && i < PL_MOMENTS; i++)
        save_moment(save, &profile->moment[i]);
    for (uint32_t i = 0; i < profile->snapshots && i < PL_SNAPSHOTS; i++)
        save_snapshot(save, &profile->snapshot[i], record);
}
