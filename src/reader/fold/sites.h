/* SPDX-License-Identifier: MIT */
/*
 * sites.h - rows, tallies and small records, added up per stack, thread and tag.
 *
 * Use: mark, so that the trie knows which stacks are wanted; join the trie; fold.
 */
#ifndef PL_SITES_H
#define PL_SITES_H

#include "reader/fold/fold.h"
#include "reader/fold/trie.h"
#include "reader/image.h"

/* The records of a kind, rows, tallies or small ones: each is a thread's share of a site. */
struct pl_shares {
    uint32_t records;
    uint32_t *innermost; /* record -> frame record of its stack, 0: none; or one of the next two: it does not count */
    uint32_t *site;      /* record -> index into profile->site, or one of the next two */
};
#define PL_NO_SITE UINT32_MAX
#define PL_FORGOTTEN_SITE (UINT32_MAX - 1) /* older than the last reset */

struct pl_sites {
    struct pl_image *image;
    struct pl_profile *profile;
    struct pl_arena *scratch;
    struct pl_trie *trie;
    const struct pl_fold_tags *tags;
    struct pl_texts *texts;
    const uint32_t *thread_of; /* thread record -> index into profile->thread, PL_NO_THREAD if there is none */
    struct pl_shares rows, tallies, smalls, ledgers;
    uint32_t *first_remote;  /* tally, or number of tallies + small -> the first record of frees by others, 0: none */
    uint32_t *next_remote;   /* and from each to the next */
    uint32_t *first_verdict; /* index into profile->site -> its first verdict, 0: none */
    uint32_t *next_verdict;
};
#define PL_NO_THREAD UINT32_MAX

/* Decides which records count. The fields from image to thread_of must have been set. */
void pl_sites_mark(struct pl_sites *sites);

/* Fills profile->site. pl_totals_fold() completes the figures. */
void pl_sites_fold(struct pl_sites *sites);

/* The site of a pl_composition_entry.who, or PL_NO_SITE, or PL_FORGOTTEN_SITE. */
uint32_t pl_sites_find(const struct pl_sites *sites, uint32_t who);

/* What identifies the site of a record: false if the record does not count. */
bool pl_sites_identify(struct pl_sites *sites, const struct pl_shares *shares, uint32_t record, uint32_t site,
                       uint32_t thread, struct pl_site_view *out);

/* heaps.c: fills profile->heap, the heaps beside malloc's. The times follow when it is known how long a unit is. */
bool pl_heaps_make_sense(const struct pl_sites *sites, const struct pl_ledger *ledger);
void pl_heaps_fold(struct pl_sites *sites);
void pl_heaps_fold_times(struct pl_profile *profile);

#endif
