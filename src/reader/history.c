/* SPDX-License-Identifier: MIT */
/*
 * history.c - moments and snapshots, in order of time.
 *
 * Slots are given up and used again as the timeline is thinned, so records come in any order; a slot that was taken
 * again by mistake shows as a time that is there twice. Snapshots name rows and tallies; people ask about sites.
 *
 * After a reset history begins with it: what is older is left out, and what had been allocated by then is subtracted.
 * The heap is as high as it is, though: older blocks are part of it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "account.h"
#include "history.h"
#include "shares.h"
#include "times.h"

#define FIGURE_MAX (1ull << 62) /* what is larger is a difference that went below zero, or made up */

static int by_time(const void *left, const void *right)
{
    const double *a = left, *b = right; /* moments and snapshots begin with their seconds */
    return (*a > *b) - (*a < *b);
}
_Static_assert(offsetof(struct pl_moment_view, seconds) == 0 && offsetof(struct pl_snapshot_view, seconds) == 0,
               "by_time() looks at the first member");

/* Sorts, and leaves one of those with the same time. Returns how many are left. */
static uint32_t put_in_order(void *views, uint32_t count, size_t bytes)
{
    char *view = views;
    uint32_t kept = 0;
    qsort(view, count, bytes, by_time);
    for (uint32_t i = 0; i < count; i++) {
        if (kept > 0 && by_time(view + (kept - 1) * bytes, view + i * bytes) == 0)
            continue;
        if (kept != i)
            memcpy(view + kept * bytes, view + i * bytes, bytes);
        kept++;
    }
    return kept;
}

/* How many records of a kind to look at: there is one for each slot. */
static uint32_t records_of(const struct pl_sites *sites, enum pl_kind kind, uint32_t slots)
{
    uint32_t records = pl_snapshot_count(sites->snapshot, kind);
    return records < slots + 1 ? records : slots + 1;
}

/* ---- moments ---- */

static bool is_moment(const struct pl_moment *record)
{
    return record->time_ns <= FIGURE_MAX && record->live_bytes <= FIGURE_MAX && record->live_objects <= FIGURE_MAX &&
           record->allocated_bytes <= FIGURE_MAX && record->allocated_calls <= FIGURE_MAX &&
           record->rss_bytes <= FIGURE_MAX;
}

static bool is_forgotten(const struct pl_sites *sites, uint64_t time_ns)
{
    const struct pl_header *header = &sites->snapshot->header;
    return header->resets > 0 && time_ns < pl_times_since_start(header, header->reset_ns);
}

/* What had been allocated when figures last began anew. */
struct baseline {
    double bytes, calls;
};

static struct baseline add_baselines(const struct pl_sites *sites)
{
    const struct pl_thread_record *record = pl_snapshot_threads(sites->snapshot);
    struct baseline sum = {0};
    for (uint32_t i = 1; i < pl_snapshot_count(sites->snapshot, PL_KIND_THREAD); i++) {
        bool noticed = pl_since_reset(record[i].reset, &sites->snapshot->header);
        if (sites->thread_of[i] == PL_NO_THREAD)
            continue;
        sum.bytes += (double) (noticed ? record[i].reset_bytes : record[i].bytes);
        for (int f = 0; f < PL_FN_MAX; f++)
            sum.calls += (double) (noticed ? record[i].reset_calls[f] : record[i].calls[f]);
    }
    return sum;
}

static struct pl_moment_view view_moment(const struct pl_moment *record, struct baseline before)
{
    return (struct pl_moment_view){
        .seconds = (double) record->time_ns / 1e9,
        .live_bytes = (double) record->live_bytes,
        .live_objects = (double) record->live_objects,
        .allocated_bytes = fmax((double) record->allocated_bytes - before.bytes, 0),
        .allocated_calls = fmax((double) record->allocated_calls - before.calls, 0),
        .rss_bytes = (double) record->rss_bytes,
        .file_bytes = fmin((double) record->file_bytes, (double) record->rss_bytes),
        .interval_bytes = record->interval_bytes,
    };
}

static void fold_moments(const struct pl_sites *sites)
{
    const struct pl_moment *record = pl_snapshot_moments(sites->snapshot);
    struct pl_profile *profile = sites->profile;
    uint32_t records = records_of(sites, PL_KIND_MOMENT, PL_MOMENTS);
    struct baseline before = add_baselines(sites);
    profile->moment = pl_arena_alloc(profile->arena, records * sizeof *profile->moment);
    for (uint32_t i = 1; i < records; i++) {
        if (record[i].time_ns == 0 || is_forgotten(sites, record[i].time_ns))
            continue;
        if (is_moment(&record[i]))
            profile->moment[profile->moments++] = view_moment(&record[i], before);
        else
            sites->snapshot->damage++;
    }
    profile->moments = put_in_order(profile->moment, profile->moments, sizeof *profile->moment);
}

/* ---- snapshots ---- */

static struct pl_snapshot_view view_snapshot(const struct pl_share_map *map, const struct pl_snapshot_record *record)
{
    struct pl_snapshot_view view = {
        .seconds = (double) record->time_ns / 1e9,
        .live_bytes = (double) record->live_bytes,
        .live_objects = (double) record->live_objects,
        .allocated_bytes = (double) record->allocated_bytes,
        .allocated_calls = (double) record->allocated_calls,
    };
    pl_shares_view(map, record, &view);
    return view;
}

static bool is_snapshot(const struct pl_snapshot_record *record)
{
    return record->time_ns <= FIGURE_MAX && record->live_bytes <= FIGURE_MAX && record->live_objects <= FIGURE_MAX &&
           record->allocated_bytes <= FIGURE_MAX && record->allocated_calls <= FIGURE_MAX &&
           record->entries <= PL_SNAPSHOT_ENTRIES;
}

static void fold_snapshots(const struct pl_sites *sites)
{
    const struct pl_snapshot_record *record = pl_snapshot_snapshots(sites->snapshot);
    struct pl_profile *profile = sites->profile;
    uint32_t records = records_of(sites, PL_KIND_SNAPSHOT, PL_SNAPSHOTS);
    struct pl_share_map map = pl_share_map_new(sites);
    profile->snapshot = pl_arena_alloc(profile->arena, records * sizeof *profile->snapshot);
    for (uint32_t i = 1; i < records; i++) {
        if (record[i].time_ns == 0 || is_forgotten(sites, record[i].time_ns))
            continue;
        if (is_snapshot(&record[i]))
            profile->snapshot[profile->snapshots++] = view_snapshot(&map, &record[i]);
        else
            sites->snapshot->damage++;
    }
    profile->snapshots = put_in_order(profile->snapshot, profile->snapshots, sizeof *profile->snapshot);
}

void pl_history_fold(const struct pl_sites *sites)
{
    fold_moments(sites);
    fold_snapshots(sites);
}
