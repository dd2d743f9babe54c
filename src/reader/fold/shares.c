/* SPDX-License-Identifier: MIT */
/*
 * shares.c - turns the entries of a heap composition into shares of the profile's sites.
 *
 * Invariant: an entry for a whole site is accepted once per heap composition, so that there are never more shares than
 * sites and entries together.
 */
#include "reader/fold/shares.h"

#include <math.h>
#include <stdlib.h>

#include "format/small.h"
#include "reader/account.h"
#include "reader/base/grow.h"
#include "reader/figures.h"
#include "reader/site.h"

#define FIGURE_MAX (1ull << 62) /* a larger one is a difference that went below zero, or damage */

/* --- which sites belong together --- */

static int by_stack_and_tag(const void *left, const void *right, void *profile)
{
    const struct pl_site_view *site = ((const struct pl_profile *) profile)->site;
    uint32_t one = *(const uint32_t *) left, other = *(const uint32_t *) right;
    const struct pl_site_view *a = &site[one], *b = &site[other];
    if (a->stack != b->stack)
        return a->stack < b->stack ? -1 : 1;
    if (a->tag != b->tag)
        return a->tag < b->tag ? -1 : 1;
    if (a->other_sizes != b->other_sizes)
        return a->other_sizes ? 1 : -1;
    return (one > other) - (one < other);
}

static bool belong_together(const struct pl_site_view *a, const struct pl_site_view *b)
{
    return a->stack == b->stack && a->tag == b->tag && a->other_sizes == b->other_sizes;
}

/* Prefers a site that counts to PL_FORGOTTEN_SITE. */
static void note(struct pl_share_map *map, uint32_t record, uint32_t site)
{
    if (record < map->records && (map->any[record] >= PL_FORGOTTEN_SITE) && site != PL_NO_SITE)
        map->any[record] = site;
}

struct pl_share_map pl_share_map_new(const struct pl_sites *sites)
{
    struct pl_profile *profile = sites->profile;
    struct pl_image *image = sites->image;
    struct pl_share_map map = {.sites = sites, .records = pl_image_count(image, PL_KIND_SITE)};
    const struct pl_tally *tally = pl_image_tallies(image);
    const struct pl_small *small = pl_image_smalls(image);
    const struct pl_row *row = pl_image_rows(image);
    map.any = pl_arena_alloc(sites->scratch, (map.records + 1ull) * sizeof *map.any);
    map.sorted = pl_arena_alloc(sites->scratch, (profile->sites + 1ull) * sizeof *map.sorted);
    map.place_of = pl_arena_alloc(sites->scratch, (profile->sites + 1ull) * sizeof *map.place_of);
    map.made = pl_arena_alloc(sites->scratch, (profile->sites + 1ull) * sizeof *map.made);
    for (uint32_t i = 0; i < map.records; i++)
        map.any[i] = PL_NO_SITE;
    for (uint32_t i = 1; i < sites->tallies.records; i++)
        note(&map, tally[i].site, sites->tallies.site[i]);
    for (uint32_t i = 1; i < sites->smalls.records; i++)
        note(&map, pl_small_site(&small[i]), sites->smalls.site[i]);
    for (uint32_t i = 1; i < sites->rows.records; i++)
        note(&map, row[i].site, sites->rows.site[i]);
    for (uint32_t i = 0; i < profile->sites; i++)
        map.sorted[i] = i;
    qsort_r(map.sorted, profile->sites, sizeof *map.sorted, by_stack_and_tag, profile);
    for (uint32_t i = 0; i < profile->sites; i++)
        map.place_of[map.sorted[i]] = i;
    for (uint32_t i = 0; i < profile->sites; i++) {
        struct pl_figures figures = pl_site_figures(&profile->site[i]);
        map.made[i] =
            (struct pl_share_made){pl_amount_objects(&figures.allocated), pl_amount_space(&figures.allocated)};
    }
    return map;
}

/* --- shares under construction --- */

struct list {
    const struct pl_share_map *map;
    struct pl_composition_share *share;
    uint32_t count, capacity;
};

static void add(struct list *list, struct pl_composition_share share)
{
    list->share = pl_grow(list->share, list->count, &list->capacity, sizeof *list->share);
    list->share[list->count++] = share;
}

static double part_of(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

/* Divides an entry among all threads of a site. */
static void divide(struct list *list, uint32_t any, const struct pl_composition_entry *entry)
{
    const struct pl_profile *profile = list->map->sites->profile;
    const struct pl_share_made *made = list->map->made;
    const uint32_t *sorted = list->map->sorted;
    uint32_t first = list->map->place_of[any], behind = first;
    double calls = 0, bytes = 0;
    while (first > 0 && belong_together(&profile->site[sorted[first - 1]], &profile->site[any]))
        first--;
    for (behind = first;
         behind < profile->sites && belong_together(&profile->site[sorted[behind]], &profile->site[any]); behind++) {
        calls += made[sorted[behind]].calls;
        bytes += made[sorted[behind]].bytes;
    }
    for (uint32_t i = first; i < behind; i++) {
        double of_calls = part_of(made[sorted[i]].calls, calls);
        double of_bytes = part_of(made[sorted[i]].bytes, bytes);
        add(list, (struct pl_composition_share){sorted[i], round(of_calls * entry->objects),
                                                round(of_bytes * (double) entry->bytes),
                                                round(of_calls * (double) entry->calls),
                                                round(of_bytes * (double) entry->allocated), behind - first > 1});
    }
}

static int by_site(const void *left, const void *right)
{
    const struct pl_composition_share *a = left, *b = right;
    return (a->site > b->site) - (a->site < b->site);
}

static int by_bytes(const void *left, const void *right)
{
    const struct pl_composition_share *a = left, *b = right;
    return a->bytes != b->bytes ? (a->bytes < b->bytes) - (a->bytes > b->bytes) : by_site(left, right);
}

uint32_t pl_shares_join(struct pl_composition_share *share, uint32_t count)
{
    uint32_t kept = 0;
    if (count)
        qsort(share, count, sizeof *share, by_site);
    for (uint32_t i = 0; i < count; i++) {
        if (kept > 0 && share[kept - 1].site == share[i].site) {
            share[kept - 1].objects += share[i].objects;
            share[kept - 1].bytes += share[i].bytes;
            share[kept - 1].calls += share[i].calls;
            share[kept - 1].allocated += share[i].allocated;
            share[kept - 1].divided |= share[i].divided;
        } else {
            share[kept++] = share[i];
        }
    }
    return kept;
}

void pl_shares_sort(struct pl_composition_share *share, uint32_t count)
{
    if (count)
        qsort(share, count, sizeof *share, by_bytes);
}

/* --- entries --- */

static void forget(struct pl_composition_view *view, const struct pl_composition_entry *entry)
{
    view->live_bytes = fmax(view->live_bytes - (double) entry->bytes, 0);
    view->live_objects = fmax(view->live_objects - entry->objects, 0);
    view->allocated_bytes = fmax(view->allocated_bytes - (double) entry->allocated, 0);
    view->allocated_calls = fmax(view->allocated_calls - (double) entry->calls, 0);
}

static bool is_share(const struct pl_composition_entry *entry)
{
    return entry->bytes <= FIGURE_MAX && entry->calls <= FIGURE_MAX && entry->allocated <= FIGURE_MAX;
}

static bool is_whole(const struct pl_composition_entry *entry)
{
    return entry->who & PL_COMPOSITION_SITE && !(entry->who & PL_COMPOSITION_ROW);
}

static uint32_t find(const struct pl_share_map *map, const struct pl_composition_entry *entry)
{
    uint32_t record = entry->who & ~PL_COMPOSITION_SITE;
    if (!is_whole(entry))
        return pl_sites_find(map->sites, entry->who);
    return record < map->records ? map->any[record] : PL_NO_SITE;
}

static void read_entry(struct list *list, const struct pl_composition_entry *entry, bool again,
                       struct pl_composition_view *view)
{
    uint32_t site = find(list->map, entry);
    if (site == PL_NO_SITE || !is_share(entry) || again)
        list->map->sites->image->damage++;
    else if (site == PL_FORGOTTEN_SITE)
        forget(view, entry);
    else if (is_whole(entry))
        divide(list, site, entry);
    else
        add(list, (struct pl_composition_share){site, entry->objects, (double) entry->bytes, (double) entry->calls,
                                                (double) entry->allocated, false});
}

/* True: the entry's site was listed before. The runtime writes entries of whole sites in the order of their numbers. */
static bool repeats(const struct pl_composition_record *record, uint32_t i)
{
    return i > 0 && is_whole(&record->entry[i]) && is_whole(&record->entry[i - 1]) &&
           record->entry[i].who <= record->entry[i - 1].who;
}

/* --- sites that are not listed --- */

static double rest(double whole, double named, double in_the_end)
{
    return in_the_end > 0 ? fmin(fmax(whole - named, 0) / in_the_end, 1) : 0;
}

static void find_others(const struct list *list, struct pl_composition_view *view)
{
    const struct pl_profile *profile = list->map->sites->profile;
    struct pl_composition_share named = {0};
    double calls = 0, bytes = 0;
    for (uint32_t i = 0, at = 0; i < profile->sites; i++) {
        bool there = at < list->count && list->share[at].site == i;
        calls += there ? 0 : list->map->made[i].calls;
        bytes += there ? 0 : list->map->made[i].bytes;
        at += there;
    }
    for (uint32_t i = 0; i < list->count; i++) {
        named.objects += list->share[i].objects;
        named.bytes += list->share[i].bytes;
        named.calls += list->share[i].calls;
        named.allocated += list->share[i].allocated;
    }
    view->left_out_bytes = fmax(view->live_bytes - named.bytes, 0); /* threads went on meanwhile */
    view->unnamed_bytes = fmax(view->allocated_bytes - named.allocated, 0);
    view->unnamed_calls = fmax(view->allocated_calls - named.calls, 0);
    view->others_allocated = rest(view->allocated_bytes, named.allocated, bytes);
    view->others_calls = rest(view->allocated_calls, named.calls, calls);
    view->others_bytes = fmin(rest(view->live_bytes, named.bytes, bytes), view->others_allocated);
    view->others_objects = fmin(rest(view->live_objects, named.objects, calls), view->others_calls);
}

void pl_shares_view(const struct pl_share_map *map, const struct pl_composition_record *record,
                    struct pl_composition_view *view)
{
    struct list list = {.map = map};
    uint32_t entries = record->entries < PL_COMPOSITION_ENTRIES ? record->entries : PL_COMPOSITION_ENTRIES;
    for (uint32_t i = 0; i < entries; i++)
        read_entry(&list, &record->entry[i], repeats(record, i), view);
    list.count = pl_shares_join(list.share, list.count);
    find_others(&list, view);
    struct pl_composition_share *share =
        pl_arena_alloc(map->sites->profile->arena, (list.count + 1ull) * sizeof *share);
    for (uint32_t i = 0; i < list.count; i++)
        share[i] = list.share[i];
    pl_shares_sort(share, list.count);
    view->shares = list.count;
    view->share = share;
    free(list.share);
}
