/* SPDX-License-Identifier: MIT */
/*
 * sites.c - which rows and tallies count, and for which site.
 *
 * A stack may have rows and tallies in one profile, since counting and sampling take turns; and several of each, since
 * writers race and full tallies are followed by fresh ones. A site is a stack under a tag in a thread, so all of them
 * are added up. Figures are kept where only their stack or tag is lost, so that the sites still add up to the total.
 */
#include "account.h"
#include "sites.h"

#define NO_FRAME 0u

/* ---- what counts ---- */

static bool has_thread(const struct pl_sites *sites, uint32_t thread)
{
    return thread < pl_snapshot_count(sites->snapshot, PL_KIND_THREAD) && sites->thread_of[thread] != PL_NO_THREAD;
}

/* The frame record at which the site's stack begins, or NO_FRAME. */
static uint32_t find_innermost(const struct pl_sites *sites, uint32_t site)
{
    const struct pl_site *record = pl_snapshot_sites(sites->snapshot);
    if (site >= pl_snapshot_count(sites->snapshot, PL_KIND_SITE) || record[site].valid == 0) {
        sites->snapshot->damage++;
        return NO_FRAME;
    }
    if (site == PL_SITE_OVERFLOW || record[site].stack == 0 || record[site].kind == PL_SITE_OTHER_SIZES)
        return NO_FRAME;
    if (!pl_trie_mark(sites->trie, record[site].stack)) {
        sites->snapshot->damage++;
        return NO_FRAME;
    }
    return record[site].stack;
}

struct claim {
    uint32_t site, thread;
    bool sound;     /* what it says can be believed */
    bool something; /* it says anything */
    bool old;       /* from before the last reset */
};

static uint32_t mark(const struct pl_sites *sites, struct claim claim)
{
    if (claim.site == 0)
        return PL_NO_SITE;
    if (claim.old)
        return PL_FORGOTTEN_SITE;
    if (!claim.sound || !has_thread(sites, claim.thread)) {
        sites->snapshot->damage++;
        return PL_NO_SITE;
    }
    return claim.something ? find_innermost(sites, claim.site) : PL_NO_SITE;
}

static struct pl_shares new_shares(const struct pl_sites *sites, enum pl_kind kind)
{
    uint32_t records = pl_snapshot_count(sites->snapshot, kind);
    return (struct pl_shares){
        .records = records,
        .innermost = pl_arena_alloc(sites->scratch, records * sizeof(uint32_t)),
        .site = pl_arena_alloc(sites->scratch, records * sizeof(uint32_t)),
    };
}

static void mark_rows(struct pl_sites *sites)
{
    const struct pl_row *row = pl_snapshot_rows(sites->snapshot);
    sites->rows = new_shares(sites, PL_KIND_ROW);
    for (uint32_t i = 1; i < sites->rows.records; i++) {
        bool something = row[i].allocated.samples != 0; /* weights without a sample that they are of are nobody's */
        bool old = !pl_since_reset(row[i].reset, &sites->snapshot->header);
        sites->rows.innermost[i] =
            mark(sites, (struct claim){row[i].site, row[i].thread, pl_row_makes_sense(&row[i]), something, old});
    }
}

static void mark_tallies(struct pl_sites *sites)
{
    const struct pl_tally *tally = pl_snapshot_tallies(sites->snapshot);
    sites->tallies = new_shares(sites, PL_KIND_TALLY);
    for (uint32_t i = 1; i < sites->tallies.records; i++) {
        bool old = !pl_tally_since_reset(&tally[i], &sites->snapshot->header);
        sites->tallies.innermost[i] =
            mark(sites, (struct claim){tally[i].site, tally[i].thread, pl_tally_makes_sense(&tally[i]),
                                       tally[i].calls != 0, old});
    }
}

/* By what each remote record names: a tally knows of one, and others may have lost the race to be it. */
static void chain_remotes(struct pl_sites *sites)
{
    const struct pl_remote *remote = pl_snapshot_remotes(sites->snapshot);
    uint32_t remotes = pl_snapshot_count(sites->snapshot, PL_KIND_REMOTE);
    sites->first_remote = pl_arena_alloc(sites->scratch, sites->tallies.records * sizeof(uint32_t));
    sites->next_remote = pl_arena_alloc(sites->scratch, remotes * sizeof(uint32_t));
    for (uint32_t i = 1; i < remotes; i++) {
        uint32_t tally = remote[i].tally;
        if (tally == 0)
            continue;
        if (tally >= sites->tallies.records) {
            sites->snapshot->damage++;
            continue;
        }
        sites->next_remote[i] = sites->first_remote[tally];
        sites->first_remote[tally] = i;
    }
}

void pl_sites_mark(struct pl_sites *sites)
{
    mark_rows(sites);
    mark_tallies(sites);
    chain_remotes(sites);
}

/* ---- adding up ---- */

struct question {
    const struct pl_site_view *site;
    struct pl_site_view wanted; /* only what a site is known by */
};

static bool same_site(const void *context, uint32_t entry)
{
    const struct question *question = context;
    const struct pl_site_view *site = &question->site[entry], *wanted = &question->wanted;
    return site->stack == wanted->stack && site->thread == wanted->thread && site->tag == wanted->tag &&
           site->other_sizes == wanted->other_sizes;
}

static uint32_t find_site(struct pl_profile *profile, const struct pl_index *index, const struct pl_site_view *wanted)
{
    struct question question = {profile->site, *wanted};
    uint64_t where = (uint64_t) wanted->stack << 32 | wanted->thread;
    uint64_t what = (uint64_t) wanted->tag << 1 | wanted->other_sizes;
    uint32_t *slot = pl_index_find(index, where, what, same_site, &question);
    if (*slot == 0) {
        profile->site[profile->sites] = *wanted;
        *slot = ++profile->sites;
    }
    return *slot - 1;
}

/* Tag and kind, of a site that is there. */
static void identify(const struct pl_sites *sites, uint32_t number, struct pl_site_view *wanted)
{
    const struct pl_site *record = &pl_snapshot_sites(sites->snapshot)[number];
    if (number >= pl_snapshot_count(sites->snapshot, PL_KIND_SITE) || record->valid == 0)
        return;
    wanted->tag = pl_tags_find(sites->tags, record->tag);
    wanted->other_sizes = record->kind == PL_SITE_OTHER_SIZES;
    sites->snapshot->damage += record->kind > PL_SITE_OTHER_SIZES;
}

/* The site of a record that counts, or why it does not. */
static uint32_t share_of(struct pl_sites *sites, const struct pl_index *index, const struct pl_shares *shares,
                         uint32_t record, uint32_t site, uint32_t thread)
{
    uint32_t node = shares->innermost[record];
    if (node >= PL_FORGOTTEN_SITE)
        return node;
    struct pl_site_view wanted = {.thread = sites->thread_of[thread]};
    wanted.stack = node == NO_FRAME ? PL_NO_STACK : pl_trie_stack(sites->trie, node);
    identify(sites, site, &wanted);
    return find_site(sites->profile, index, &wanted);
}

static void add(struct pl_sites *sites, uint32_t site, const struct pl_account *record)
{
    pl_figures_add(&sites->profile->site[site].figures, &record->figures);
    pl_spread_add(&sites->profile->site[site].spread, &record->spread);
    sites->snapshot->in_flight += record->cut;
    sites->snapshot->damage += record->damaged;
}

static void fold_rows(struct pl_sites *sites, const struct pl_index *index)
{
    const struct pl_row *row = pl_snapshot_rows(sites->snapshot);
    struct pl_account record;
    for (uint32_t i = 1; i < sites->rows.records; i++) {
        sites->rows.site[i] = share_of(sites, index, &sites->rows, i, row[i].site, row[i].thread);
        if (sites->rows.site[i] >= PL_FORGOTTEN_SITE)
            continue;
        pl_row_read(&row[i], &sites->profile->header, &record);
        add(sites, sites->rows.site[i], &record);
    }
}

static void fold_tallies(struct pl_sites *sites, const struct pl_index *index)
{
    const struct pl_tally *tally = pl_snapshot_tallies(sites->snapshot);
    const struct pl_remote *remote = pl_snapshot_remotes(sites->snapshot);
    struct pl_account record;
    for (uint32_t i = 1; i < sites->tallies.records; i++) {
        sites->tallies.site[i] = share_of(sites, index, &sites->tallies, i, tally[i].site, tally[i].thread);
        if (sites->tallies.site[i] >= PL_FORGOTTEN_SITE)
            continue;
        pl_tally_read(&tally[i], remote, sites->next_remote, sites->first_remote[i], &sites->profile->header, &record);
        add(sites, sites->tallies.site[i], &record);
    }
}

void pl_sites_fold(struct pl_sites *sites)
{
    struct pl_profile *profile = sites->profile;
    uint32_t most = sites->rows.records + sites->tallies.records;
    struct pl_index index = pl_index_new(sites->scratch, most);
    profile->site = pl_arena_alloc(profile->arena, most * sizeof *profile->site);
    fold_tallies(sites, &index);
    fold_rows(sites, &index);
}

uint32_t pl_sites_find(const struct pl_sites *sites, uint32_t who)
{
    const struct pl_shares *shares = who & PL_SNAPSHOT_ROW ? &sites->rows : &sites->tallies;
    uint32_t record = who & ~PL_SNAPSHOT_ROW;
    return record != 0 && record < shares->records ? shares->site[record] : PL_NO_SITE;
}
