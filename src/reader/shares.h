/* SPDX-License-Identifier: MIT */
/*
 * shares.h - who is named in a snapshot of the timeline, as sites of the profile.
 *
 * An entry names a tally or a row, which is a site's share in a thread; or all of them together, where there were many.
 * That is then divided among the threads in proportion to what they have asked for in the end.
 */
#ifndef PL_SHARES_H
#define PL_SHARES_H

#include "sites.h"

struct pl_share_map {
    const struct pl_sites *sites;
    uint32_t records;   /* of kind SITE */
    uint32_t *any;      /* site record -> a site of the profile; PL_NO_SITE; PL_FORGOTTEN_SITE */
    uint32_t *sorted;   /* sites of the profile, those with the same stack and tag next to each other */
    uint32_t *place_of; /* a site's place there */
};

struct pl_share_map pl_share_map_new(const struct pl_sites *sites);

/* Shares, and what the others had. Entries that name what is not there are left out, and counted as damage; those of
 * before the last reset are taken off the whole. */
void pl_shares_view(const struct pl_share_map *map, const struct pl_snapshot_record *record,
                    struct pl_snapshot_view *view);

/* Shares of the same site become one, in the order of sites; returns how many are left. And the largest first. */
uint32_t pl_shares_join(struct pl_snapshot_share *share, uint32_t count);
void pl_shares_sort(struct pl_snapshot_share *share, uint32_t count);

#endif
