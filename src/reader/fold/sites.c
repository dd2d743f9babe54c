/* SPDX-License-Identifier: MIT */
/*
 * sites.c - decides which rows, tallies and small records count, and for which site.
 *
 * A stack may have rows and tallies in one profile, since counting and sampling take turns; and several of each, since
 * writers race, and a full tally is followed by a new one. All records of one stack, tag and thread are added up to one
 * site. If only the stack or the tag of a record is damaged its figures are kept, so that the sites still add up to the
 * total.
 */
#include <string.h>

#include "format/small.h"
#include "reader/account.h"
#include "reader/figures.h"
#include "reader/fold/sites.h"
#include "reader/site.h"
#include "reader/totals.h"

#define NO_FRAME 0u
#define FIGURE_MAX 0x1p62 /* a file that says more is damaged */

/* ---- what counts ---- */

static bool has_thread(const struct pl_sites *sites, uint32_t thread)
{
    return thread < pl_image_count(sites->image, PL_KIND_THREAD) && sites->thread_of[thread] != PL_NO_THREAD;
}

/* The frame record at which the site's stack begins, or NO_FRAME. */
static uint32_t find_innermost(const struct pl_sites *sites, uint32_t site)
{
    const struct pl_site *record = pl_image_sites(sites->image);
    if (site >= pl_image_count(sites->image, PL_KIND_SITE) || record[site].valid == 0) {
        sites->image->damage++;
        return NO_FRAME;
    }
    if (site == PL_SITE_OVERFLOW || record[site].stack == 0 || record[site].kind == PL_SITE_OTHER_SIZES)
        return NO_FRAME;
    if (!pl_trie_mark(sites->trie, record[site].stack)) {
        sites->image->damage++;
        return NO_FRAME;
    }
    return record[site].stack;
}

struct claim {
    uint32_t site, thread;
    bool sound;     /* its figures are valid */
    bool something; /* it has any figures */
    bool old;       /* from before the last reset */
};

static uint32_t mark(const struct pl_sites *sites, struct claim claim)
{
    if (claim.site == 0)
        return PL_NO_SITE;
    if (claim.old)
        return PL_FORGOTTEN_SITE;
    if (!claim.sound || !has_thread(sites, claim.thread)) {
        sites->image->damage++;
        return PL_NO_SITE;
    }
    return claim.something ? find_innermost(sites, claim.site) : PL_NO_SITE;
}

static struct pl_shares new_shares(const struct pl_sites *sites, enum pl_kind kind)
{
    uint32_t records = pl_image_count(sites->image, kind);
    return (struct pl_shares){
        .records = records,
        .innermost = pl_arena_alloc(sites->scratch, records * sizeof(uint32_t)),
        .site = pl_arena_alloc(sites->scratch, records * sizeof(uint32_t)),
    };
}

static void mark_rows(struct pl_sites *sites)
{
    const struct pl_row *row = pl_image_rows(sites->image);
    sites->rows = new_shares(sites, PL_KIND_ROW);
    for (uint32_t i = 1; i < sites->rows.records; i++) {
        bool something = row[i].allocated.samples != 0; /* ignore weight without samples */
        bool old = !pl_account_since_reset(row[i].reset, &sites->image->header);
        sites->rows.innermost[i] = mark(
            sites, (struct claim){row[i].site, row[i].thread, pl_account_row_makes_sense(&row[i]), something, old});
    }
}

static void mark_tallies(struct pl_sites *sites)
{
    const struct pl_tally *tally = pl_image_tallies(sites->image);
    sites->tallies = new_shares(sites, PL_KIND_TALLY);
    for (uint32_t i = 1; i < sites->tallies.records; i++) {
        bool old = !pl_account_tally_since_reset(tally[i].reset, &sites->image->header);
        sites->tallies.innermost[i] =
            mark(sites, (struct claim){tally[i].site, tally[i].thread, pl_account_tally_makes_sense(&tally[i]),
                                       tally[i].calls != 0, old});
    }
}

static void mark_ledgers(struct pl_sites *sites)
{
    const struct pl_ledger *ledger = pl_image_ledgers(sites->image);
    sites->ledgers = new_shares(sites, PL_KIND_LEDGER);
    for (uint32_t i = 1; i < sites->ledgers.records; i++) {
        bool old = !pl_account_since_reset(ledger[i].reset, &sites->image->header);
        sites->ledgers.innermost[i] =
            mark(sites, (struct claim){ledger[i].site, ledger[i].thread, pl_heaps_make_sense(sites, &ledger[i]),
                                       ledger[i].calls != 0 || ledger[i].sampled.samples != 0, old});
    }
}

/* The number of the tally that has replaced a small record; 0: none. */
static uint32_t grown(const struct pl_sites *sites, const struct pl_small *small)
{
    const struct pl_tally *tally = pl_image_tallies(sites->image);
    uint32_t number = small->grown;
    bool there = number != 0 && number < sites->tallies.records && tally[number].site == pl_small_site(small) &&
                 tally[number].thread == small->thread;
    return there ? number : 0;
}

static void mark_smalls(struct pl_sites *sites)
{
    const struct pl_small *small = pl_image_smalls(sites->image);
    sites->smalls = new_shares(sites, PL_KIND_SMALL);
    for (uint32_t i = 1; i < sites->smalls.records; i++) {
        bool old = !pl_account_tally_since_reset(small[i].reset, &sites->image->header);
        bool something = small[i].calls != 0 && !grown(sites, &small[i]);
        sites->smalls.innermost[i] =
            mark(sites, (struct claim){pl_small_site(&small[i]), small[i].thread, true, something, old});
    }
}

/* The record whose blocks a remote record is about, as an index of first_remote; 0 if there is none. */
static uint32_t remote_of(const struct pl_sites *sites, uint32_t tally)
{
    uint32_t small = tally & ~PL_SMALL_MARK;
    if (tally < sites->tallies.records)
        return tally;
    if (!(tally & PL_SMALL_MARK) || small == 0 || small >= sites->smalls.records)
        return 0;
    uint32_t number = grown(sites, &pl_image_smalls(sites->image)[small]);
    return number ? number : sites->tallies.records + small;
}

/* Chains remote records by the tally or small record that each refers to. That refers to only one of them; others may
 * have been made by threads that lost the race, or just before a small record grew. */
static void chain_remotes(struct pl_sites *sites)
{
    const struct pl_remote *remote = pl_image_remotes(sites->image);
    uint32_t remotes = pl_image_count(sites->image, PL_KIND_REMOTE);
    uint64_t records = (uint64_t) sites->tallies.records + sites->smalls.records;
    sites->first_remote = pl_arena_alloc(sites->scratch, records * sizeof(uint32_t));
    sites->next_remote = pl_arena_alloc(sites->scratch, remotes * sizeof(uint32_t));
    for (uint32_t i = 1; i < remotes; i++) {
        if (remote[i].tally == 0)
            continue;
        uint32_t of = remote_of(sites, remote[i].tally);
        if (of == 0) {
            sites->image->damage++;
            continue;
        }
        sites->next_remote[i] = sites->first_remote[of];
        sites->first_remote[of] = i;
    }
}

void pl_sites_mark(struct pl_sites *sites)
{
    mark_rows(sites);
    mark_tallies(sites);
    mark_smalls(sites);
    mark_ledgers(sites);
    chain_remotes(sites);
}

/* ---- adding up ---- */

struct question {
    const struct pl_site_view *site;
    struct pl_site_view wanted; /* only what identifies a site */
};

static bool same_site(const void *context, uint32_t entry)
{
    const struct question *question = context;
    const struct pl_site_view *site = &question->site[entry], *wanted = &question->wanted;
    return site->stack == wanted->stack && site->thread == wanted->thread && site->tag == wanted->tag &&
           site->other_sizes == wanted->other_sizes;
}

/* The site, if there is one; else PL_NO_SITE. */
static uint32_t known_site(const struct pl_profile *profile, const struct pl_index *index,
                           const struct pl_site_view *wanted)
{
    struct question question = {profile->site, *wanted};
    uint64_t where = (uint64_t) wanted->stack << 32 | wanted->thread;
    uint64_t what = (uint64_t) wanted->tag << 1 | wanted->other_sizes;
    uint32_t slot = *pl_index_find(index, where, what, same_site, &question);
    return slot == 0 ? PL_NO_SITE : slot - 1;
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

/* Sets tag and kind, if the site's record is valid. */
static void identify(const struct pl_sites *sites, uint32_t number, struct pl_site_view *wanted)
{
    const struct pl_site *record = &pl_image_sites(sites->image)[number];
    if (number >= pl_image_count(sites->image, PL_KIND_SITE) || record->valid == 0)
        return;
    wanted->tag = pl_fold_tag(sites->tags, record->tag);
    wanted->other_sizes = record->kind == PL_SITE_OTHER_SIZES;
    sites->image->damage += record->kind > PL_SITE_OTHER_SIZES;
}

bool pl_sites_identify(struct pl_sites *sites, const struct pl_shares *shares, uint32_t record, uint32_t site,
                       uint32_t thread, struct pl_site_view *out)
{
    uint32_t node = shares->innermost[record];
    if (node >= PL_FORGOTTEN_SITE)
        return false;
    *out = (struct pl_site_view){.thread = sites->thread_of[thread]};
    out->stack = node == NO_FRAME ? PL_NO_STACK : pl_trie_stack(sites->trie, node);
    identify(sites, site, out);
    return true;
}

/* The site of a record; PL_NO_SITE or PL_FORGOTTEN_SITE if it does not count. */
static uint32_t share_of(struct pl_sites *sites, const struct pl_index *index, const struct pl_shares *shares,
                         uint32_t record, uint32_t site, uint32_t thread)
{
    struct pl_site_view wanted;
    if (!pl_sites_identify(sites, shares, record, site, thread, &wanted))
        return shares->innermost[record];
    if (site < sites->profile->records)
        sites->profile->stack_of_record[site] = wanted.stack;
    return find_site(sites->profile, index, &wanted);
}

static void find_sites(struct pl_sites *sites, const struct pl_index *index)
{
    const struct pl_tally *tally = pl_image_tallies(sites->image);
    const struct pl_small *small = pl_image_smalls(sites->image);
    const struct pl_row *row = pl_image_rows(sites->image);
    for (uint32_t i = 1; i < sites->tallies.records; i++)
        sites->tallies.site[i] = share_of(sites, index, &sites->tallies, i, tally[i].site, tally[i].thread);
    for (uint32_t i = 1; i < sites->smalls.records; i++)
        sites->smalls.site[i] = share_of(sites, index, &sites->smalls, i, pl_small_site(&small[i]), small[i].thread);
    for (uint32_t i = 1; i < sites->rows.records; i++)
        sites->rows.site[i] = share_of(sites, index, &sites->rows, i, row[i].site, row[i].thread);
}

/* The records of each site, as lists. Records of all kinds have one row of numbers: those of tallies, then those of
 * small records, then those of rows. */
struct lists {
    uint32_t *first; /* site -> its first record, 0: none */
    uint32_t *next;
};

static const struct pl_shares *shares_of(const struct pl_sites *sites, uint32_t *record)
{
    const struct pl_shares *all[] = {&sites->tallies, &sites->smalls, &sites->rows};
    unsigned i = 0;
    for (; i < 2 && *record >= all[i]->records; i++)
        *record -= all[i]->records;
    return all[i];
}

/* Backwards, so that each list is in order. */
static struct lists list_records(const struct pl_sites *sites)
{
    uint32_t records = sites->tallies.records + sites->smalls.records + sites->rows.records;
    struct lists lists = {
        .first = pl_arena_alloc(sites->scratch, sites->profile->sites * sizeof *lists.first),
        .next = pl_arena_alloc(sites->scratch, records * sizeof *lists.next),
    };
    for (uint32_t i = records; i-- > 0;) {
        uint32_t number = i;
        const struct pl_shares *shares = shares_of(sites, &number);
        uint32_t site = shares->site[number];
        if (number == 0 || site >= PL_FORGOTTEN_SITE)
            continue;
        lists.next[i] = lists.first[site];
        lists.first[site] = i;
    }
    return lists;
}

static void account(const struct pl_sites *sites, uint32_t record, struct pl_account *out)
{
    const struct pl_header *header = &sites->profile->header;
    const struct pl_remote *remote = pl_image_remotes(sites->image);
    uint32_t number = record;
    const struct pl_shares *shares = shares_of(sites, &number);
    if (shares == &sites->tallies)
        pl_account_tally(&pl_image_tallies(sites->image)[number], remote, sites->next_remote,
                         sites->first_remote[record], header, out);
    else if (shares == &sites->smalls)
        pl_account_small(&pl_image_smalls(sites->image)[number], remote, sites->next_remote,
                         sites->first_remote[record], header, out);
    else
        pl_account_row(&pl_image_rows(sites->image)[number], header, out);
    sites->image->in_flight += out->cut;
    sites->image->damage += out->damaged;
}

/* ---- what is lost ---- */

static bool is_count(double figure)
{
    return figure >= 0 && figure <= FIGURE_MAX;
}

static bool verdict_makes_sense(const struct pl_verdict_record *record)
{
    const double figures[] = {record->lost_objects,
                              record->lost_space,
                              record->sampled.objects,
                              record->sampled.space,
                              record->sampled.objects_variance,
                              record->sampled.space_variance,
                              record->with_objects,
                              record->with_space,
                              record->along_objects,
                              record->along_space,
                              record->inner_objects,
                              record->inner_space};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        if (!is_count(figures[i]))
            return false;
    return true;
}

/* A verdict is about blocks of tallies and rows, so its site is there; unless there was a reset since. */
static uint32_t site_of_verdict(const struct pl_sites *sites, const struct pl_index *index,
                                const struct pl_verdict_record *record)
{
    const struct pl_profile *profile = sites->profile;
    if (record->site == 0)
        return PL_NO_SITE;
    if (record->site >= profile->records || !has_thread(sites, record->thread) || !verdict_makes_sense(record)) {
        sites->image->damage++;
        return PL_NO_SITE;
    }
    struct pl_site_view wanted = {.thread = sites->thread_of[record->thread],
                                  .stack = profile->stack_of_record[record->site]};
    identify(sites, record->site, &wanted);
    return known_site(profile, index, &wanted);
}

static void chain_verdicts(struct pl_sites *sites, const struct pl_index *index)
{
    const struct pl_verdict_record *record = pl_image_verdicts(sites->image);
    uint32_t records = pl_image_count(sites->image, PL_KIND_VERDICT);
    sites->first_verdict = pl_arena_alloc(sites->scratch, (sites->profile->sites + 1ull) * sizeof(uint32_t));
    sites->next_verdict = pl_arena_alloc(sites->scratch, (records + 1ull) * sizeof(uint32_t));
    for (uint32_t i = 1; i < records && sites->profile->looked != PL_LOOKED_NOT; i++) {
        uint32_t site = site_of_verdict(sites, index, &record[i]);
        if (site == PL_NO_SITE)
            continue;
        sites->next_verdict[i] = sites->first_verdict[site];
        sites->first_verdict[site] = i;
    }
}

/* What was lost stays lost; so if a file says that more is lost than live, it is cut. */
static void add_verdicts(const struct pl_sites *sites, uint32_t site, struct pl_figures *figures,
                         struct pl_spread *spread)
{
    const struct pl_verdict_record *record = pl_image_verdicts(sites->image);
    for (uint32_t at = sites->first_verdict[site]; at != 0; at = sites->next_verdict[at]) {
        const struct pl_verdict_record *each = &record[at];
        pl_amount_add(&figures->lost, &(struct pl_amount){.exact_objects = each->lost_objects,
                                                          .exact_space = each->lost_space,
                                                          .sampled = each->sampled});
        pl_spread_add(spread, &(struct pl_spread){.with_objects = each->with_objects,
                                                  .with_space = each->with_space,
                                                  .along_objects = each->along_objects,
                                                  .along_space = each->along_space,
                                                  .inner_objects = each->inner_objects,
                                                  .inner_space = each->inner_space,
                                                  .lost_example = each->example,
                                                  .inner_example = each->inner_example});
    }
    struct pl_amount live = pl_amount_rest(&figures->allocated, &figures->freed);
    pl_amount_cap(&figures->lost, &live);
}

/* ---- sums ---- */

/* A site's figures are added up before they are packed, so its records are read one after the other. */
static void add_up(struct pl_sites *sites)
{
    struct pl_profile *profile = sites->profile;
    struct lists lists = list_records(sites);
    for (uint32_t i = 0; i < profile->sites; i++) {
        struct pl_figures figures = {0};
        struct pl_spread spread = {0};
        struct pl_account record;
        for (uint32_t at = lists.first[i]; at != 0; at = lists.next[at]) {
            account(sites, at, &record);
            pl_figures_add(&figures, &record.figures);
            pl_spread_add(&spread, &record.spread);
        }
        add_verdicts(sites, i, &figures, &spread);
        figures.call_charge = pl_totals_charge(profile);
        profile->site[i].figures = pl_site_pack_figures(profile->arena, &figures);
        profile->site[i].spread = pl_site_pack_spread(profile->arena, &spread);
    }
}

/* Those that count: a small record that has grown does not. */
static uint32_t count_shares(const struct pl_shares *shares)
{
    uint32_t count = 0;
    for (uint32_t i = 1; i < shares->records; i++)
        count += shares->innermost[i] < PL_FORGOTTEN_SITE;
    return count;
}

void pl_sites_fold(struct pl_sites *sites)
{
    struct pl_profile *profile = sites->profile;
    uint32_t most = count_shares(&sites->rows) + count_shares(&sites->tallies) + count_shares(&sites->smalls);
    struct pl_index index = pl_index_new(sites->scratch, most);
    profile->site = pl_arena_alloc(profile->arena, most * sizeof *profile->site);
    profile->records = pl_image_count(sites->image, PL_KIND_SITE);
    profile->stack_of_record = pl_arena_alloc(profile->arena, profile->records * sizeof *profile->stack_of_record);
    memset(profile->stack_of_record, 0xff, profile->records * sizeof *profile->stack_of_record);
    find_sites(sites, &index);
    chain_verdicts(sites, &index);
    add_up(sites);
}

uint32_t pl_sites_find(const struct pl_sites *sites, uint32_t who)
{
    const struct pl_shares *shares = who & PL_COMPOSITION_ROW ? &sites->rows : &sites->tallies;
    uint32_t record = who & ~PL_COMPOSITION_ROW;
    if (shares == &sites->tallies && who & PL_COMPOSITION_SMALL) {
        record = who & ~PL_COMPOSITION_SMALL;
        uint32_t number = record < sites->smalls.records ? grown(sites, &pl_image_smalls(sites->image)[record]) : 0;
        shares = number ? &sites->tallies : &sites->smalls;
        record = number ? number : record;
    }
    return record != 0 && record < shares->records ? shares->site[record] : PL_NO_SITE;
}
