/* SPDX-License-Identifier: MIT */
/*
 * shares.h - turns the entries of a heap composition into shares of the profile's sites.
 *
 * An entry is for a tally or a row, which is one thread's share of a site; or for a whole site, if it has many of them.
 * A whole site is divided among its threads in proportion to what each has allocated in the whole run.
 */
#ifndef PL_SHARES_H
#define PL_SHARES_H

#include "reader/fold/sites.h"

/* What a site has allocated in the whole run. */
struct pl_share_made {
    double calls, bytes;
};

struct pl_share_map {
    const struct pl_sites *sites;
    uint32_t records;           /* of kind SITE */
    uint32_t *any;              /* site record -> a site of the profile; PL_NO_SITE; PL_FORGOTTEN_SITE */
    uint32_t *sorted;           /* sites of the profile, those with the same stack and tag next to each other */
    uint32_t *place_of;         /* a site's index in `sorted` */
    struct pl_share_made *made; /* by site */
};

struct pl_share_map pl_share_map_new(const struct pl_sites *sites);

/* Fills in the shares, and what the other sites had. Entries that refer to nothing are ignored and counted as damage;
 * entries from before the last reset are subtracted from the totals. */
void pl_shares_view(const struct pl_share_map *map, const struct pl_composition_record *record,
                    struct pl_composition_view *view);

/* pl_shares_join() adds up shares of the same site, sorts them by site, and returns how many are left; pl_shares_sort()
 * puts the largest first. */
uint32_t pl_shares_join(struct pl_composition_share *share, uint32_t count);
void pl_shares_sort(struct pl_composition_share *share, uint32_t count);

#endif
