/* SPDX-License-Identifier: MIT */
/*
 * timeline.c - see timeline.h.
 *
 * A moment is taken at the first visit in its slot of time, a heap composition at the first visit in every
 * PL_MOMENTS_PER_COMPOSITION slots. When slots double in length, the first existing record of each pair is kept, so
 * both kinds stay evenly spaced and begin at the start of the process. Only a moment with `last` set (at the end of the
 * process, or before a snapshot) replaces the first of its slot.
 *
 * After a kill -9: both kinds of record have their time in their first word, which is zero while they are being
 * written, so each record is complete or does not exist. When slots double, records move down, beginning with the
 * lowest slot: a record is in its new slot before its old slot is overwritten. In between it is in both, so a reader
 * sorts records by time and drops duplicates. The shift is written last; no time depends on it. Only one moment may be
 * missing, if the process is killed while it is being replaced.
 */
#include "core/records/timeline.h"

#include "core/arch.h"
#include "core/clock.h"
#include "core/memory.h"
#include "core/own.h"
#include "core/process.h"
#include "core/records/smalls.h"
#include "core/records/tallies.h"
#include "core/sys.h"
#include "core/text.h"
#include "format/settings.h"

#define UNITS_MAX (INT64_MAX >> PL_UNIT_SHIFT) /* more means a time before the start, by another processor's clock */
/* A site, row or tally that holds more than 1/HELD_SHARE of the heap, or has allocated more than 1/MADE_SHARE of all
 * bytes, is always listed in a heap composition. */
#define HELD_SHARE 400
#define MADE_SHARE 100
_Static_assert(HELD_SHARE + MADE_SHARE < PL_COMPOSITION_ENTRIES, "all of them find room");

_Static_assert((PL_MOMENTS + 1) * sizeof(struct pl_moment) == PL_CHUNK_BYTES, "moments are one chunk: an array");

uint64_t pl_timeline_now(const struct pl_process *process)
{
    int64_t ticks = (int64_t) (pl_clock() - process->start_ticks);
    return ticks > 0 ? (uint64_t) ticks >> PL_UNIT_SHIFT : 0;
}

/* ---- time ---- */

/* A reader computes the length of a tick from this pair. last_ticks is 0 while the pair is being written. */
static void set_clock(struct pl_process *process, uint64_t ticks, uint64_t now_ns)
{
    struct pl_clock *clock = &pl_file_header(&process->file)->clock;
    store_relaxed(&clock->last_ticks, 0);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    store_relaxed(&clock->last_ns, now_ns);
    store_release(&clock->last_ticks, ticks);
    process->timeline.known_ticks = ticks - process->start_ticks;
    process->timeline.known_ns = now_ns - process->start_ns;
}

/* In a sandbox only the processor's clock can be read. */
static uint64_t ns_by_ticks(const struct pl_process *process)
{
    const struct pl_timeline *timeline = &process->timeline;
    struct pl_arch_fp_state fp;
    if (!timeline->known_ticks)
        return 0;
    pl_arch_fp_enter(&fp);
    double ticks = (double) (int64_t) (pl_clock() - process->start_ticks);
    double ns = ticks / (double) (int64_t) timeline->known_ticks * (double) (int64_t) timeline->known_ns;
    uint64_t result = ns > 0 && ns < 0x1p62 ? (uint64_t) (int64_t) ns : 0;
    pl_arch_fp_leave(&fp);
    return result;
}

/* The time since the start, always later than the last one returned; 0: not known. */
static uint64_t take_time(struct pl_process *process)
{
    uint64_t *last_ns = &process->timeline.last_ns, ns;
    if (process->sandboxed) {
        ns = ns_by_ticks(process);
        if (!ns)
            return 0;
    } else {
        uint64_t before = pl_clock(), now_ns = pl_sys_clock_ns(CLOCK_MONOTONIC);
        set_clock(process, before + (pl_clock() - before) / 2, now_ns);
        ns = now_ns - process->start_ns;
    }
    return *last_ns = ns > *last_ns ? ns : *last_ns + 1;
}

/* ---- records ---- */

/* pl_file_record() returns pl_file_nowhere for records that do not exist. */
static bool in_file(const struct pl_file *file, const void *record)
{
    return (uintptr_t) record - (uintptr_t) file->base < file->mapped_bytes;
}

INLINE void *record_at(const struct pl_file *file, enum pl_kind kind, unsigned slot, unsigned slots)
{
    void *record = slot < slots ? pl_file_record(file, kind, slot + 1) : NULL;
    return record && in_file(file, record) ? record : NULL;
}

static struct pl_moment *moment_at(const struct pl_file *file, unsigned slot)
{
    return record_at(file, PL_KIND_MOMENT, slot, PL_MOMENTS);
}

static struct pl_composition_record *composition_at(const struct pl_file *file, unsigned slot)
{
    return record_at(file, PL_KIND_COMPOSITION, slot, PL_COMPOSITIONS);
}

/* Both kinds begin with their time. From now on the record does not exist, until a time is stored again. */
static void withdraw(uint64_t *time_ns)
{
    store_relaxed(time_ns, 0);
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

/* In order, so that record = slot + 1. All are in one chunk: if there is no room for one, there is none for the others.
 */
static void reserve_moments(struct pl_process *process, unsigned up_to)
{
    void *record;
    for (; process->timeline.moments <= up_to; process->timeline.moments++)
        if (!pl_file_append(&process->file, PL_KIND_MOMENT, &record))
            process->timeline.moments = PL_MOMENTS;
}

/* Likewise. A record that finds no room is not tried again. */
static void reserve_compositions(struct pl_process *process, unsigned up_to)
{
    void *record;
    for (; process->timeline.compositions <= up_to; process->timeline.compositions++)
        pl_file_append(&process->file, PL_KIND_COMPOSITION, &record);
}

/* ---- thinning ---- */

typedef uint64_t __attribute__((may_alias)) word;

static bool is_there(const word *record)
{
    return record && *record;
}

static size_t words_in_use(enum pl_kind kind, const struct pl_composition_record *composition)
{
    if (kind == PL_KIND_MOMENT)
        return sizeof(struct pl_moment) / sizeof(word);
    uint32_t entries = composition->entries < PL_COMPOSITION_ENTRIES ? composition->entries : PL_COMPOSITION_ENTRIES;
    return (offsetof(struct pl_composition_record, entry) + entries * sizeof composition->entry[0]) / sizeof(word);
}

/* Moves a record down to its new slot; if there is none to move, the slot becomes empty. */
static void settle(word *to, const word *from, enum pl_kind kind)
{
    if (!to || to == from)
        return;
    withdraw(to);
    if (!is_there(from))
        return;
    size_t words = words_in_use(kind, (const void *) from);
    for (size_t i = 1; i < words; i++)
        to[i] = from[i];
    store_release(to, *from);
}

static COLD void thin(const struct pl_file *file, enum pl_kind kind, unsigned slots)
{
    for (unsigned slot = 0; slot < slots; slot++) {
        const void *first = record_at(file, kind, 2 * slot, slots),
                   *second = record_at(file, kind, 2 * slot + 1, slots);
        settle(record_at(file, kind, slot, slots), is_there(first) ? first : second, kind);
    }
}

/* Doubles the length of slots until there is one for `now`. Returns the shift. */
static uint32_t make_room(struct pl_process *process, uint64_t now)
{
    uint32_t shift = process->timeline.shift;
    for (; now >> shift >= PL_MOMENTS; shift++) {
        thin(&process->file, PL_KIND_MOMENT, process->timeline.moments);
        thin(&process->file, PL_KIND_COMPOSITION, process->timeline.compositions);
    }
    return shift;
}

/* ---- a moment ---- */

/* /proc/self/statm is "size resident shared ...", in pages. It is opened and closed each time: the program must never
 * meet a descriptor of ours. */
static COLD void read_resident(const struct pl_process *process, struct pl_moment *to)
{
    char text[64];
    const char *at = text;
    to->rss_bytes = to->file_bytes = 0;
    long fd = process->sandboxed ? -1 : pl_sys_open("/proc/self/statm", O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
    if (fd < 0)
        return;
    long n = pl_sys_pread((int) fd, text, sizeof text - 1, 0);
    pl_sys_close((int) fd);
    text[n > 0 ? n : 0] = 0;
    pl_text_take_number(&at);
    at += *at == ' ';
    uint64_t pages = pl_text_take_number(&at);
    at += *at == ' ';
    uint64_t shared = pl_text_take_number(&at);
    if (*at != ' ')
        return;
    to->rss_bytes = pages * pl_front.page_bytes();
    to->file_bytes = shared * pl_front.page_bytes();
}

/* The sampling interval in force; 0: every allocation is counted, or was until the process began to end. */
static uint64_t interval_now(const struct pl_process *process)
{
    const struct pl_control *control = &pl_file_header(&process->file)->control;
    bool ending = load_relaxed(&process->state) == PL_PROCESS_ENDING, exact = pl_config.mode != PL_MODE_SAMPLED;
    if (load_relaxed(&process->counting) ||
        (ending && exact && process->budget.exact && !load_relaxed(&control->interval_bytes)))
        return 0;
    return load_relaxed(&control->off) ? load_relaxed(&process->interval_bytes) : pl_process_interval(process);
}

/* Threads tell in batches, so a free may be in the totals before its allocation. */
static uint64_t not_negative(int64_t figure)
{
    return figure > 0 ? (uint64_t) figure : 0;
}

static COLD void write_moment(struct pl_process *process, unsigned slot, uint64_t time_ns, bool last)
{
    const struct pl_totals *totals = &process->totals;
    reserve_moments(process, slot);
    struct pl_moment *moment = moment_at(&process->file, slot);
    if (!moment || (moment->time_ns && !last)) /* slots have just doubled, and this one already has its moment */
        return;
    withdraw(&moment->time_ns);
    read_resident(process, moment);
    moment->live_bytes = not_negative(load_relaxed(&totals->live_bytes));
    moment->live_objects = not_negative(load_relaxed(&totals->live_objects));
    moment->allocated_bytes = load_relaxed(&totals->bytes);
    moment->allocated_calls = load_relaxed(&totals->calls);
    moment->interval_bytes = interval_now(process);
    pl_own_measure(process, moment->rss_bytes, last);
    store_release(&moment->time_ns, time_ns);
}

/* ---- a heap composition ---- */

/*
 * Everything is listed as long as there is room. Then entries are dropped that have less than a share of the total so
 * far. That total only grows, so an entry that has more than the share of the final total is never dropped.
 *
 * If tallies and rows are few enough, each has its own entry. Otherwise those of a site are added up first: with a
 * thousand threads each row may be too small to be listed, although the site holds most of the heap.
 */
struct share {
    uint64_t objects, bytes;   /* live */
    uint64_t calls, allocated; /* since the start or the last reset */
};

struct census {
    struct pl_composition_record *to;
    struct share *sum; /* by site; NULL: sites are not added up */
    uint32_t sites;
    uint32_t resets;
    struct share all;
    uint64_t small_held; /* dropped if it holds no more than this */
    uint64_t small_made; /* and has allocated no more than this */
    uint32_t entries;
    uint32_t left_out;
};

static void add_share(struct share *to, const struct share *more)
{
    to->objects += more->objects;
    to->bytes += more->bytes;
    to->calls += more->calls;
    to->allocated += more->allocated;
}

static bool is_small(const struct census *census, uint64_t held, uint64_t made)
{
    return held <= census->small_held && made <= census->small_made;
}

/* Always makes room: not all PL_COMPOSITION_ENTRIES entries can have more than their share. */
static void drop_small(struct census *census)
{
    uint32_t kept = 0;
    struct pl_composition_entry *entry = census->to->entry;
    census->small_held = census->all.bytes / HELD_SHARE;
    census->small_made = census->all.allocated / MADE_SHARE;
    for (uint32_t i = 0; i < census->entries; i++)
        if (!is_small(census, entry[i].bytes, entry[i].allocated))
            entry[kept++] = entry[i];
    census->left_out += census->entries - kept;
    census->entries = kept;
}

static OUT_OF_LINE void name(struct census *census, uint32_t who, const struct share *share)
{
    if (!share->calls) /* a new record that has no figures yet */
        return;
    add_share(&census->all, share);
    if (census->entries == PL_COMPOSITION_ENTRIES)
        drop_small(census);
    bool small = census->small_made && is_small(census, share->bytes, share->allocated);
    if (small || census->entries == PL_COMPOSITION_ENTRIES) {
        census->left_out++;
        return;
    }
    struct pl_composition_entry *entry = &census->to->entry[census->entries++];
    entry->who = who;
    entry->objects = share->objects < UINT32_MAX ? (uint32_t) share->objects : UINT32_MAX;
    entry->bytes = share->bytes;
    entry->calls = share->calls;
    entry->allocated = share->allocated;
}

static void count(struct census *census, uint32_t who, uint32_t site, const struct share *share)
{
    if (!census->sum)
        name(census, who, share);
    else if (site < census->sites)
        add_share(&census->sum[site], share);
}

/* Frees are read before allocations, but other threads change the figures meanwhile: a negative result becomes 0. */
static uint64_t less(uint64_t made, uint64_t gone)
{
    return made > gone ? made - gone : 0;
}

/* Frees by other threads; none if `number` is 0. */
static void count_remotes(const struct pl_file *file, uint32_t number, struct share *gone)
{
    struct pl_foreign_walk walk = {.number = number};
    const struct pl_remote *remote;
    while ((remote = pl_foreign_next(file, &walk))) {
        gone->calls += load_relaxed(&remote->calls);
        gone->bytes += load_relaxed(&remote->bytes);
    }
}

/* `other` is a remote record of the small record that the tally has replaced, if it is not the tally's own. */
static void count_tally(const struct pl_file *file, struct census *census, const struct pl_tally *tally, uint32_t other)
{
    uint32_t own = load_acquire(&tally->remote);
    struct share gone = {.calls = load_relaxed(&tally->freed_calls), .bytes = load_relaxed(&tally->freed_bytes)};
    count_remotes(file, own, &gone);
    count_remotes(file, other == own ? 0 : other, &gone);
    struct share share = {.calls = load_relaxed(&tally->calls), .allocated = load_relaxed(&tally->bytes)};
    share.objects = less(share.calls, gone.calls);
    share.bytes = less(share.allocated, gone.bytes);
    count(census, tally->number, tally->site, &share);
}

/* A record that grows meanwhile is counted once: the one load in pl_small_grown() decides between it and its tally. */
static void count_small(const struct pl_process *process, struct census *census, uint32_t number,
                        const struct pl_small *small)
{
    const struct pl_file *file = &process->file;
    const struct pl_tally *tally = pl_small_grown(process, small);
    uint32_t remote = load_acquire(&small->remote);
    if (small->reset != (uint16_t) census->resets)
        return;
    if (tally) {
        count_tally(file, census, tally, remote);
        return;
    }
    struct share gone = {.calls = load_relaxed(&small->freed_calls), .bytes = load_relaxed(&small->freed_bytes)};
    count_remotes(file, remote, &gone);
    struct share share = {.calls = load_relaxed(&small->calls), .allocated = load_relaxed(&small->bytes)};
    share.objects = less(share.calls, gone.calls);
    share.bytes = less(share.allocated, gone.bytes);
    count(census, number | PL_COMPOSITION_SMALL, pl_small_site(small), &share);
}

/* The other tallies are counted where a small record leads to them. */
static void count_first_tally(const struct pl_process *process, struct census *census, const struct pl_tally *tally)
{
    if (tally->reset == (uint16_t) census->resets && pl_tally_is_first(process, tally->site))
        count_tally(&process->file, census, tally, 0);
}

static double now_in(const double *sum)
{
    double value;
    __atomic_load(sum, &value, __ATOMIC_RELAXED);
    return value;
}

static uint64_t rounded(double x)
{
    return x > 0 && x < 0x1p62 ? (uint64_t) (int64_t) (x + 0.5) : 0;
}

static void count_row(struct census *census, uint32_t number, const struct pl_row *row)
{
    uint64_t gone = load_relaxed(&row->remote.samples) + load_relaxed(&row->freed.samples);
    double objects = -now_in(&row->remote.objects) - now_in(&row->freed.objects);
    double space = -now_in(&row->remote.space) - now_in(&row->freed.space);
    double calls = now_in(&row->allocated.objects), allocated = now_in(&row->allocated.space);
    struct share share = {.calls = rounded(calls), .allocated = rounded(allocated)};
    if (row->reset != census->resets)
        return;
    if (less(load_relaxed(&row->allocated.samples), gone)) { /* if 0, nothing is live, and sums differ by rounding */
        share.objects = rounded(objects + calls);
        share.bytes = rounded(space + allocated);
    }
    count(census, number | PL_COMPOSITION_ROW, row->site, &share);
}

/* Chunk by chunk: within one, records are an array. Those that found no room may have no pages. */
static void count_kind(const struct pl_process *process, struct census *census, enum pl_kind kind, uint32_t bytes)
{
    const struct pl_file *file = &process->file;
    uint32_t per_chunk = PL_CHUNK_BYTES / bytes;
    uint64_t records = load_relaxed(&pl_file_header(file)->count[kind]);
    for (uint32_t first = 0; first < records; first += per_chunk) {
        const uint8_t *at = pl_file_record(file, kind, first);
        if (!in_file(file, at))
            return; /* reserved, but there was no room */
        for (uint32_t i = 0; i < per_chunk && first + i < records; i++, at += bytes) {
            if (!pl_file_has(file, at, bytes) || !load_acquire((const uint32_t *) (const void *) at))
                continue; /* not published */
            if (kind == PL_KIND_TALLY)
                count_first_tally(process, census, (const void *) at);
            else if (kind == PL_KIND_SMALL)
                count_small(process, census, first + i, (const void *) at);
            else
                count_row(census, first + i, (const void *) at);
        }
    }
}

static void count_all(const struct pl_process *process, struct census *census)
{
    struct pl_arch_fp_state fp;
    pl_arch_fp_enter(&fp);
    count_kind(process, census, PL_KIND_TALLY, sizeof(struct pl_tally));
    count_kind(process, census, PL_KIND_SMALL, sizeof(struct pl_small));
    count_kind(process, census, PL_KIND_ROW, sizeof(struct pl_row));
    pl_arch_fp_leave(&fp);
    for (uint32_t site = 1; census->sum && site < census->sites; site++)
        name(census, site | PL_COMPOSITION_SITE, &census->sum[site]);
}

static void forget_sums(struct pl_timeline *timeline)
{
    void *sums = timeline->sums;
    timeline->sums = NULL;
    signal_fence(); /* if left by longjmp here, memory leaks, but no pointer to unmapped memory is left */
    if (sums)
        pl_memory_free(sums, timeline->sums_bytes);
}

/* If there is no memory, as in a sandbox, census->sum stays NULL and sites are not added up. */
#define SITES_MEANWHILE 1024 /* new sites that other threads may make meanwhile */
static void make_sums(struct pl_process *process, struct census *census)
{
    const struct pl_header *header = pl_file_header(&process->file);
    struct pl_timeline *timeline = &process->timeline;
    uint64_t several = load_relaxed(&header->count[PL_KIND_TALLY]) + load_relaxed(&header->count[PL_KIND_ROW]) +
                       load_relaxed(&header->count[PL_KIND_SMALL]) - load_relaxed(&process->grown);
    forget_sums(timeline);
    if (several <= PL_COMPOSITION_ENTRIES)
        return;
    census->sites = (uint32_t) load_relaxed(&header->count[PL_KIND_SITE]) + SITES_MEANWHILE;
    timeline->sums_bytes = pl_memory_pages(census->sites * sizeof *census->sum);
    census->sum = timeline->sums = pl_memory_new(timeline->sums_bytes);
}

static COLD void write_composition(struct pl_process *process, unsigned slot, uint64_t time_ns)
{
    const struct pl_file *file = &process->file;
    reserve_compositions(process, slot);
    struct census census = {.to = composition_at(file, slot), .resets = load_relaxed(&process->resets)};
    if (!census.to || census.to->time_ns)
        return;
    make_sums(process, &census);
    count_all(process, &census);
    forget_sums(&process->timeline);
    census.to->live_bytes = census.all.bytes;
    census.to->live_objects = census.all.objects;
    census.to->allocated_bytes = census.all.allocated;
    census.to->allocated_calls = census.all.calls;
    census.to->entries = census.entries;
    census.to->left_out = census.left_out;
    store_release(&census.to->time_ns, time_ns);
}

/* ---- taking ---- */

_Static_assert(1 << PL_TIMELINE_COHORT_BITS == PL_MOMENTS_PER_COHORT, "a cohort has as many moments");

/* A record reads the era before it catches up, so the cohort must be stored before the era changes. */
static void begin_cohort(struct pl_process *process, uint32_t shift, uint32_t cohort)
{
    struct pl_timeline *timeline = &process->timeline;
    if (timeline->shift == shift && timeline->cohort == cohort)
        return;
    store_relaxed(&timeline->shift, shift);
    store_relaxed(&timeline->cohort, cohort);
    store_relaxed(&timeline->begun, (uint64_t) cohort << PL_TIMELINE_COHORT_BITS << shift);
    __atomic_fetch_add(&process->era, 1, __ATOMIC_RELEASE);
}

static void begin(struct pl_process *process)
{
    process->timeline.ready = true;
    begin_cohort(process, PL_TIMELINE_SHIFT_FIRST, 0);
}

/* Makes shift and cohort those of `now`. */
static uint32_t turn(struct pl_process *process, uint64_t now)
{
    if (!process->timeline.ready)
        begin(process);
    uint32_t shift = make_room(process, now);
    begin_cohort(process, shift, pl_timeline_cohort(now, shift));
    store_relaxed(&pl_file_header(&process->file)->timeline_shift, shift);
    return shift;
}

static void take(struct pl_process *process, uint64_t now, bool last)
{
    struct pl_timeline *timeline = &process->timeline;
    uint32_t shift = turn(process, now);
    unsigned slot = (unsigned) (now >> shift);
    timeline->taken = (uint64_t) (slot + 1) << shift;
    store_relaxed(&timeline->due, timeline->taken); /* early, so that other threads do not come here meanwhile */
    uint64_t time_ns = take_time(process);
    if (!time_ns)
        return;
    write_moment(process, slot, time_ns, last);
    write_composition(process, slot / PL_MOMENTS_PER_COMPOSITION, time_ns);
}

static bool claim(struct pl_process *process, uint64_t now)
{
    struct pl_timeline *timeline = &process->timeline;
    if (!load_acquire(&process->file.base) || now > UNITS_MAX)
        return false;
    uintptr_t self = pl_arch_thread_pointer(), holder = load_relaxed(&timeline->taking);
    if (holder == self) /* we left by longjmp the last time: visits do not nest */
        return true;
    if (!holder && swap_if(&timeline->taking, 0, self))
        return true;
    store_relaxed(&timeline->due, now + (1ull << load_relaxed(&timeline->shift))); /* the holder may never release it */
    return false;
}

void pl_timeline_turn(struct pl_process *process, uint64_t now)
{
    if (!claim(process, now))
        return;
    if (now >= process->timeline.taken)
        turn(process, now);
    store_release(&process->timeline.taking, 0);
}

/* A thread may be preempted after it has read the clock: then another may have taken its slot already. */
void pl_timeline_take(struct pl_process *process, uint64_t now, bool last)
{
    struct pl_timeline *timeline = &process->timeline;
    if (!claim(process, now))
        return;
    if (last && now < timeline->taken)
        now = timeline->taken - 1;
    if (last || now >= timeline->taken)
        take(process, now, last);
    store_release(&timeline->taking, 0);
}
