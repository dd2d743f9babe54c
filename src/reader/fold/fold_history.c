/* SPDX-License-Identifier: MIT */
/*
 * fold_history.c - moments of the timeline, heap compositions, and what RSS consisted of, in order of time.
 *
 * The runtime reuses slots as it thins out the timeline, so records come in any order. If it has reused a slot by
 * mistake, two records have the same time, and one is dropped. A heap composition refers to rows and tallies; the
 * profile has sites.
 *
 * After a reset, older records are left out, and what had been allocated by then is subtracted. Live figures are not
 * changed: they include the blocks from before the reset.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reader/account.h"
#include "reader/fold/fold.h"
#include "reader/fold/shares.h"

#define FIGURE_MAX (1ull << 62) /* a larger one is a difference that went below zero, or damage */

static int by_time(const void *left, const void *right)
{
    const double *a = left, *b = right; /* both kinds of view begin with their seconds */
    return (*a > *b) - (*a < *b);
}
_Static_assert(offsetof(struct pl_moment_view, seconds) == 0 && offsetof(struct pl_composition_view, seconds) == 0,
               "by_time() looks at the first member");

/* Sorts by time, and keeps one of those with the same time. Returns how many are kept. */
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

/* How many records of a kind to read: one for each slot, at most. */
static uint32_t records_of(const struct pl_sites *sites, enum pl_kind kind, uint32_t slots)
{
    uint32_t records = pl_image_count(sites->image, kind);
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
    const struct pl_header *header = &sites->image->header;
    return header->resets > 0 && time_ns < pl_fold_since_start(header, header->reset_ns);
}

/* What had been allocated at the last reset. */
struct baseline {
    double bytes, calls;
};

static struct baseline add_baselines(const struct pl_sites *sites)
{
    const struct pl_thread_record *record = pl_image_threads(sites->image);
    struct baseline sum = {0};
    for (uint32_t i = 1; i < pl_image_count(sites->image, PL_KIND_THREAD); i++) {
        bool noticed = pl_account_since_reset(record[i].reset, &sites->image->header);
        if (sites->thread_of[i] == PL_NO_THREAD)
            continue;
        sum.bytes += (double) (noticed ? record[i].reset_bytes : record[i].bytes);
        for (int f = 0; f < PL_FN_MAX; f++)
            sum.calls += (double) (noticed ? record[i].reset_calls[f] : record[i].calls[f]);
    }
    return sum;
}

/* Our part of RSS was measured when RSS was highest. It is known of moments at which RSS was about the same. */
#define OWN_NEAR 0.0625 /* of RSS */
static void view_own(const struct pl_header *header, struct pl_moment_view *view)
{
    double then = (double) header->own_rss_bytes;
    if (!(then > 0) || fabs(view->rss_bytes - then) > OWN_NEAR * then)
        return;
    view->own_private_bytes = fmin((double) header->own_bytes, view->rss_bytes);
    view->own_bytes = fmin((double) header->own_bytes + (double) header->own_file_bytes, view->rss_bytes);
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
    const struct pl_moment *record = pl_image_moments(sites->image);
    struct pl_profile *profile = sites->profile;
    uint32_t records = records_of(sites, PL_KIND_MOMENT, PL_MOMENTS);
    struct baseline before = add_baselines(sites);
    profile->moment = pl_arena_alloc(profile->arena, records * sizeof *profile->moment);
    for (uint32_t i = 1; i < records; i++) {
        if (record[i].time_ns == 0 || is_forgotten(sites, record[i].time_ns))
            continue;
        if (!is_moment(&record[i])) {
            sites->image->damage++;
            continue;
        }
        profile->moment[profile->moments] = view_moment(&record[i], before);
        view_own(&sites->image->header, &profile->moment[profile->moments++]);
    }
    profile->moments = put_in_order(profile->moment, profile->moments, sizeof *profile->moment);
}

/* ---- heap compositions ---- */

static struct pl_composition_view view_composition(const struct pl_share_map *map,
                                                   const struct pl_composition_record *record)
{
    struct pl_composition_view view = {
        .seconds = (double) record->time_ns / 1e9,
        .live_bytes = (double) record->live_bytes,
        .live_objects = (double) record->live_objects,
        .allocated_bytes = (double) record->allocated_bytes,
        .allocated_calls = (double) record->allocated_calls,
    };
    pl_shares_view(map, record, &view);
    return view;
}

static bool is_composition(const struct pl_composition_record *record)
{
    return record->time_ns <= FIGURE_MAX && record->live_bytes <= FIGURE_MAX && record->live_objects <= FIGURE_MAX &&
           record->allocated_bytes <= FIGURE_MAX && record->allocated_calls <= FIGURE_MAX &&
           record->entries <= PL_COMPOSITION_ENTRIES;
}

static void fold_compositions(const struct pl_sites *sites)
{
    const struct pl_composition_record *record = pl_image_compositions(sites->image);
    struct pl_profile *profile = sites->profile;
    uint32_t records = records_of(sites, PL_KIND_COMPOSITION, PL_COMPOSITIONS);
    struct pl_share_map map = pl_share_map_new(sites);
    profile->composition = pl_arena_alloc(profile->arena, records * sizeof *profile->composition);
    for (uint32_t i = 1; i < records; i++) {
        if (record[i].time_ns == 0 || is_forgotten(sites, record[i].time_ns))
            continue;
        if (is_composition(&record[i]))
            profile->composition[profile->compositions++] = view_composition(&map, &record[i]);
        else
            sites->image->damage++;
    }
    profile->compositions = put_in_order(profile->composition, profile->compositions, sizeof *profile->composition);
}

/* ---- readings from outside: what RSS consisted of, and how much of live blocks was resident ---- */

static bool is_footprint(const void *reading)
{
    const struct pl_footprint_record *record = reading;
    uint64_t all = record->time_ns;
    for (int i = 0; i < PL_PART_COUNT; i++)
        all |= record->part[i].virtual | record->part[i].resident | record->part[i].pss | record->part[i].swap;
    for (int i = 0; i < PL_FACT_COUNT; i++)
        all |= record->fact[i];
    return all < FIGURE_MAX;
}

static bool are_resident_bytes(const struct pl_resident_bytes *bytes)
{
    const float error[] = {bytes->live_error, bytes->resident_error, bytes->swapped_error, bytes->untouched_error};
    for (int i = 0; i < 4; i++)
        if (!(error[i] >= 0 && error[i] < (float) FIGURE_MAX))
            return false;
    return (bytes->live | bytes->resident | bytes->swapped | bytes->untouched) < FIGURE_MAX;
}

static bool is_resident(const void *reading)
{
    const struct pl_resident_record *record = reading;
    bool good = record->time_ns < FIGURE_MAX && record->sites < PL_RESIDENT_SITES && are_resident_bytes(&record->all);
    for (uint32_t i = 0; good && i < record->sites; i++)
        good = are_resident_bytes(&record->site[i]);
    return good;
}

static int by_time_ns(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right; /* both kinds of reading begin with their time */
    return (*a > *b) - (*a < *b);
}
_Static_assert(offsetof(struct pl_footprint_record, time_ns) == 0 && offsetof(struct pl_resident_record, time_ns) == 0,
               "by_time_ns() looks at the first member");

struct readings {
    enum pl_kind kind;
    const void *record;
    size_t bytes;
    bool (*good)(const void *reading);
};

/* Copies the readings in order of time to `out`, which has room for all of them. Returns how many there are. */
static uint32_t fold_readings(const struct pl_sites *sites, const struct readings *readings, void *out)
{
    uint32_t kept = 0;
    for (uint32_t i = 1; i < pl_image_count(sites->image, readings->kind); i++) {
        const char *reading = (const char *) readings->record + i * readings->bytes;
        if (*(const uint64_t *) reading == 0)
            continue;
        if (readings->good(reading))
            memcpy((char *) out + kept++ * readings->bytes, reading, readings->bytes);
        else
            sites->image->damage++;
    }
    qsort(out, kept, readings->bytes, by_time_ns);
    return kept;
}

static void fold_footprints(const struct pl_sites *sites)
{
    struct pl_profile *profile = sites->profile;
    struct readings readings = {PL_KIND_FOOTPRINT, pl_image_footprints(sites->image), sizeof *profile->footprint,
                                is_footprint};
    uint32_t records = pl_image_count(sites->image, PL_KIND_FOOTPRINT);
    profile->footprint = pl_arena_alloc(profile->arena, (records + 1ull) * sizeof *profile->footprint);
    profile->footprints = fold_readings(sites, &readings, profile->footprint);
}

static void fold_residents(const struct pl_sites *sites)
{
    struct pl_profile *profile = sites->profile;
    struct readings readings = {PL_KIND_RESIDENT, pl_image_residents(sites->image), sizeof *profile->resident,
                                is_resident};
    uint32_t records = pl_image_count(sites->image, PL_KIND_RESIDENT);
    profile->resident = pl_arena_alloc(profile->arena, (records + 1ull) * sizeof *profile->resident);
    profile->residents = fold_readings(sites, &readings, profile->resident);
}

struct pl_footprint_bytes pl_footprint_sum(const struct pl_footprint_record *footprint, int from, int to)
{
    struct pl_footprint_bytes sum = {0};
    for (int i = from; i < to; i++) {
        sum.virtual += footprint->part[i].virtual;
        sum.resident += footprint->part[i].resident;
        sum.pss += footprint->part[i].pss;
        sum.swap += footprint->part[i].swap;
    }
    return sum;
}

/* ---- what held the heap ---- */

static bool is_holder(const struct pl_holder_record *record, uint32_t number)
{
    const struct pl_holder_record *each = &record[number];
    bool child = each->kind != PL_HOLDER_ROOT;
    return each->kind > PL_HOLDER_NONE && each->kind < PL_HOLDERS && each->parent < number &&
           child == (each->parent != 0) && each->way < number &&
           (!each->way || record[each->way].kind == PL_HOLDER_WAY) && each->objects >= 0 &&
           each->objects < FIGURE_MAX && each->space >= 0 && each->space < FIGURE_MAX;
}

/* All of them make one tree, so they are all used, or none. */
static void fold_holders(const struct pl_sites *sites)
{
    const struct pl_holder_record *record = pl_image_holders(sites->image);
    struct pl_profile *profile = sites->profile;
    uint32_t records = pl_image_count(sites->image, PL_KIND_HOLDER);
    struct pl_holder_view *holder = pl_arena_alloc(profile->arena, (records + 1ull) * sizeof *holder);
    for (uint32_t i = 1; i < records; i++) {
        const struct pl_holder_record *each = &record[i];
        if (!is_holder(record, i)) {
            sites->image->damage++;
            return;
        }
        uint32_t stack =
            each->site && each->site < profile->records ? profile->stack_of_record[each->site] : PL_NO_STACK;
        holder[i] = (struct pl_holder_view){.kind = (enum pl_holder) each->kind,
                                            .parent = each->parent,
                                            .stack = stack,
                                            .way = each->way,
                                            .objects = each->objects,
                                            .space = each->space};
        memcpy(holder[i].name, each->name, sizeof each->name - 1);
    }
    profile->holder = holder;
    profile->holders = records;
}

void pl_fold_history(const struct pl_sites *sites)
{
    fold_holders(sites);
    fold_moments(sites);
    fold_compositions(sites);
    fold_footprints(sites);
    fold_residents(sites);
}
