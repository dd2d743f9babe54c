/* SPDX-License-Identifier: MIT */
/*
 * stats.c - see stats.h.
 *
 * Exact calls and bytes come from thread and scope records; freed, live and peak figures from tallies and rows. Each
 * record since the last reset is passed to a callback with its thread and tag.
 */
#include "core/stats.h"

#include <errno.h>

#include "core/arch.h"
#include "core/cold.h"
#include "core/memory.h"
#include "core/records/eras.h"
#include "core/records/scopes.h"
#include "core/records/smalls.h"
#include "core/records/tallies.h"
#include "core/text.h"

#define ANY UINT32_MAX
#define KEY_BYTES 1024
#define PATH_BYTES 960
#define ROOM_BYTES 4096u
#define SHARES_MORE 16u /* room for threads and scopes that appear meanwhile */

/* The blocks of a row or tally: allocated, freed, held at the peak. */
struct blocks {
    double made, made_bytes;
    double gone, gone_bytes;
    double peak_bytes;
    uint64_t samples;
};

static void *record_at(const struct pl_process *process, enum pl_kind kind, uint32_t number)
{
    return pl_file_record(&process->file, kind, number);
}

static uint32_t count_of(const struct pl_process *process, enum pl_kind kind)
{
    uint64_t count = load_relaxed(&pl_file_header(&process->file)->count[kind]);
    return count < UINT32_MAX ? (uint32_t) count : UINT32_MAX;
}

/* ---- blocks ---- */

/* Has the record changed since the peak? Then it has saved what it held at the peak. */
static bool has_saved(const struct pl_process *process, uint32_t era)
{
    return !pl_era_before(era, load_relaxed(&pl_file_header(&process->file)->peak.era));
}

static bool peak_is_now(const struct pl_process *process)
{
    int64_t live = load_relaxed(&process->totals.live_bytes);
    return live >= (int64_t) load_relaxed(&pl_file_header(&process->file)->peak.bytes);
}

/* Adds the frees of other threads, and what they had freed at the peak. `number` is the first of the records; 0: none.
 */
static void add_remotes(const struct pl_process *process, uint32_t number, uint64_t *gone, uint64_t *gone_bytes,
                        uint64_t *at_peak)
{
    struct pl_foreign_walk walk = {.number = number};
    const struct pl_remote *remote;
    while ((remote = pl_foreign_next(&process->file, &walk))) {
        uint64_t bytes = load_relaxed(&remote->bytes);
        *gone += load_relaxed(&remote->calls);
        *gone_bytes += bytes;
        *at_peak += has_saved(process, remote->era) ? remote->peak_bytes : bytes;
    }
}

static void put_exact(struct blocks *out, uint64_t made, uint64_t made_bytes, uint64_t gone, uint64_t gone_bytes,
                      uint64_t peak)
{
    *out = (struct blocks){
        .made = (double) made,
        .made_bytes = (double) made_bytes,
        .gone = (double) gone,
        .gone_bytes = (double) gone_bytes,
        .peak_bytes = (double) (int64_t) peak,
    };
}

/* `other` is a remote record of the small record that the tally has replaced, if it is not the tally's own. */
static void read_tally(const struct pl_process *process, const struct pl_tally *tally, uint32_t other,
                       struct blocks *out)
{
    uint32_t own = load_acquire(&tally->remote);
    uint64_t gone = tally->freed_calls, gone_bytes = tally->freed_bytes, remote_at_peak = 0;
    add_remotes(process, own, &gone, &gone_bytes, &remote_at_peak);
    add_remotes(process, other == own ? 0 : other, &gone, &gone_bytes, &remote_at_peak);
    /* Read after the freed figures, so that no free is seen without its allocation. */
    uint64_t made = tally->calls, made_bytes = tally->bytes;
    uint64_t peak = made_bytes - gone_bytes;
    if (!peak_is_now(process)) {
        peak = has_saved(process, tally->era) ? tally->peak_bytes : made_bytes;
        peak -= has_saved(process, tally->freed_era) ? tally->peak_freed_bytes : tally->freed_bytes;
        peak -= remote_at_peak;
    }
    put_exact(out, made, made_bytes, gone, gone_bytes, peak);
}

static void read_small(const struct pl_process *process, const struct pl_small *small, struct blocks *out)
{
    uint64_t gone = small->freed_calls, gone_bytes = small->freed_bytes, remote_at_peak = 0;
    add_remotes(process, load_acquire(&small->remote), &gone, &gone_bytes, &remote_at_peak);
    uint64_t made = small->calls, made_bytes = small->bytes;
    uint64_t peak = made_bytes - gone_bytes;
    if (!peak_is_now(process)) {
        peak = has_saved(process, small->era) ? small->peak_bytes : made_bytes - small->freed_bytes;
        peak -= remote_at_peak;
    }
    put_exact(out, made, made_bytes, gone, gone_bytes, peak);
}

static void read_row(const struct pl_process *process, const struct pl_row *row, struct blocks *out)
{
    *out = (struct blocks){
        .gone = row->freed.objects + row->remote.objects,
        .gone_bytes = row->freed.space + row->remote.space,
        .made = row->allocated.objects,
        .made_bytes = row->allocated.space,
        .samples = row->allocated.samples,
    };
    out->peak_bytes = out->made_bytes - out->gone_bytes;
    if (!peak_is_now(process)) {
        out->peak_bytes = has_saved(process, row->era) ? row->peak.space : row->allocated.space - row->freed.space;
        out->peak_bytes -= has_saved(process, row->remote_era) ? row->peak_remote.space : row->remote.space;
    }
}

typedef void see_blocks(void *context, uint32_t thread, uint32_t tag, const struct blocks *blocks);

static void show(const struct pl_process *process, uint32_t thread, uint32_t site, const struct blocks *blocks,
                 see_blocks *see, void *context)
{
    const struct pl_site *record = record_at(process, PL_KIND_SITE, site);
    see(context, thread, record->tag, blocks);
}

/* Tallies that no small record leads to. */
static void each_first_tally(const struct pl_process *process, see_blocks *see, void *context)
{
    uint16_t reset = (uint16_t) load_relaxed(&process->resets);
    for (uint32_t i = 1; i < count_of(process, PL_KIND_TALLY); i++) {
        const struct pl_tally *tally = record_at(process, PL_KIND_TALLY, i);
        struct blocks blocks;
        uint32_t site = load_acquire(&tally->site);
        if (!site || tally->reset != reset || !pl_tally_is_first(process, site))
            continue;
        read_tally(process, tally, 0, &blocks);
        show(process, tally->thread, site, &blocks, see, context);
    }
}

/* A record that grows meanwhile is counted once: the one load in pl_small_grown() decides between it and its tally. */
static void each_small(const struct pl_process *process, see_blocks *see, void *context)
{
    uint16_t reset = (uint16_t) load_relaxed(&process->resets);
    for (uint32_t i = 1; i < count_of(process, PL_KIND_SMALL); i++) {
        const struct pl_small *small = record_at(process, PL_KIND_SMALL, i);
        struct blocks blocks;
        if (!load_acquire(&small->site) || small->reset != reset)
            continue;
        const struct pl_tally *tally = pl_small_grown(process, small);
        if (tally)
            read_tally(process, tally, load_acquire(&small->remote), &blocks);
        else
            read_small(process, small, &blocks);
        show(process, small->thread, pl_small_site(small), &blocks, see, context);
    }
}

static void each_row(const struct pl_process *process, see_blocks *see, void *context)
{
    uint32_t reset = load_relaxed(&process->resets);
    for (uint32_t i = 1; i < count_of(process, PL_KIND_ROW); i++) {
        const struct pl_row *row = record_at(process, PL_KIND_ROW, i);
        struct blocks blocks;
        uint32_t site = load_acquire(&row->site);
        if (!site || row->reset != reset)
            continue;
        read_row(process, row, &blocks);
        show(process, row->thread, site, &blocks, see, context);
    }
}

/* ---- adding up ---- */

/* Figures of one thread or tag, or of ANY. */
struct sum {
    uint32_t thread;
    uint32_t tag;
    struct blocks blocks;
    struct pl_stats *to;
};

static void add_blocks(void *context, uint32_t thread, uint32_t tag, const struct blocks *blocks)
{
    struct sum *sum = context;
    if ((sum->thread != ANY && sum->thread != thread) || (sum->tag != ANY && sum->tag != tag))
        return;
    sum->blocks.made += blocks->made;
    sum->blocks.made_bytes += blocks->made_bytes;
    sum->blocks.gone += blocks->gone;
    sum->blocks.gone_bytes += blocks->gone_bytes;
    sum->blocks.peak_bytes += blocks->peak_bytes;
    sum->blocks.samples += blocks->samples;
}

static uint64_t whole(double figure)
{
    return figure > 0 ? (uint64_t) (int64_t) (figure + 0.5) : 0;
}

static void put_blocks(const struct blocks *blocks, struct pl_stats *to)
{
    to->freed_blocks = whole(blocks->gone);
    to->freed_bytes = whole(blocks->gone_bytes);
    to->live_blocks = whole(blocks->made - blocks->gone);
    to->live_bytes = whole(blocks->made_bytes - blocks->gone_bytes);
    to->peak_bytes = whole(blocks->peak_bytes);
}

static uint64_t at_most(uint64_t figure, uint64_t bound)
{
    return figure < bound ? figure : bound;
}

/* Estimates from few samples may be far off, but cannot be more than was allocated. */
static void bound_blocks(struct pl_stats *stats)
{
    uint64_t blocks = stats->counted.calls, bytes = stats->counted.bytes;
    stats->freed_blocks = at_most(stats->freed_blocks, blocks);
    stats->live_blocks = at_most(stats->live_blocks, blocks);
    stats->freed_bytes = at_most(stats->freed_bytes, bytes);
    stats->live_bytes = at_most(stats->live_bytes, bytes);
    stats->peak_bytes = at_most(stats->peak_bytes, bytes);
}

static void add_calls(struct pl_counted *to, const uint64_t *calls, uint64_t bytes, uint64_t sign)
{
    for (int i = 0; i < PL_FN_COUNT; i++) {
        to->calls_of[i] += sign * calls[i];
        to->calls += sign * calls[i];
    }
    to->bytes += sign * bytes;
}

#define PLUS ((uint64_t) 1)
#define MINUS ((uint64_t) -1)

static bool is_current(const struct pl_process *process, const struct pl_thread_record *record)
{
    return load_acquire(&record->valid) && record->reset == load_relaxed(&process->resets);
}

/* Adds what a thread has counted since the last reset. */
static void add_thread(struct pl_counted *to, const struct pl_thread_record *record)
{
    add_calls(to, record->calls, record->bytes, PLUS);
    add_calls(to, record->reset_calls, record->reset_bytes, MINUS);
}

static void add_threads(const struct pl_process *process, const struct sum *sum)
{
    for (uint32_t i = 1; i < count_of(process, PL_KIND_THREAD); i++) {
        const struct pl_thread_record *record = record_at(process, PL_KIND_THREAD, i);
        if (!is_current(process, record) || (sum->thread != ANY && sum->thread != i))
            continue;
        add_thread(&sum->to->counted, record);
        sum->to->threads += record->threads;
    }
}

/*
 * What a thread has counted but not booked to a scope, its rest, belongs to the tag that its record names. Threads go
 * on meanwhile, so each thread's record is read once, and before its scopes: a rest can then be too small, but not too
 * large.
 */
struct rest {
    uint32_t tag;
    uint32_t current; /* the thread has applied the last reset */
    struct pl_counted counted;
};

struct rests {
    uint32_t threads;
    struct rest *of;
};

typedef void see_scope(void *context, uint32_t number, const struct pl_scope_record *scope,
                       const struct pl_counted *counted);

static void take_scope(const struct pl_scope_record *scope, struct rests *rests, uint32_t number, see_scope *see,
                       void *context)
{
    struct pl_counted counted = {.calls = 0};
    add_calls(&counted, scope->calls, scope->bytes, PLUS); /* read once, because it may be changing */
    if (scope->thread < rests->threads)
        add_calls(&rests->of[scope->thread].counted, counted.calls_of, counted.bytes, MINUS);
    see(context, number, scope, &counted);
}

/* Computes all rests. Passes the figures of each scope to `see`, exactly as they were subtracted from the thread's. */
static bool find_rests(const struct pl_process *process, struct rests *out, see_scope *see, void *context)
{
    uint32_t reset = load_relaxed(&process->resets);
    out->threads = count_of(process, PL_KIND_THREAD);
    out->of = pl_memory_new(pl_memory_pages(out->threads * sizeof *out->of));
    for (uint32_t i = 1; out->of && i < out->threads; i++) {
        const struct pl_thread_record *record = record_at(process, PL_KIND_THREAD, i);
        out->of[i].current = is_current(process, record);
        out->of[i].tag = load_acquire(&record->tag);
        add_thread(&out->of[i].counted, record);
    }
    for (uint32_t i = 1; out->of && i < count_of(process, PL_KIND_SCOPE); i++) {
        const struct pl_scope_record *scope = record_at(process, PL_KIND_SCOPE, i);
        if (load_acquire(&scope->valid) && scope->reset == reset)
            take_scope(scope, out, i, see, context);
    }
    return out->of != NULL;
}

static void forget_rests(struct rests *rests)
{
    pl_memory_free(rests->of, pl_memory_pages(rests->threads * sizeof *rests->of));
}

static uint64_t not_negative(uint64_t figure)
{
    return (int64_t) figure > 0 ? figure : 0;
}

static void add_rest(struct pl_counted *to, const struct rest *rest)
{
    uint64_t calls[PL_FN_COUNT];
    for (int i = 0; i < PL_FN_COUNT; i++)
        calls[i] = not_negative(rest->counted.calls_of[i]);
    add_calls(to, calls, not_negative(rest->counted.bytes), PLUS);
}

/* How often tags were entered. */
static void add_entries(const struct pl_process *process, const struct sum *sum)
{
    uint32_t reset = load_relaxed(&process->resets);
    for (uint32_t i = 1; i < count_of(process, PL_KIND_SCOPE); i++) {
        const struct pl_scope_record *scope = record_at(process, PL_KIND_SCOPE, i);
        if (load_acquire(&scope->valid) && scope->reset == reset &&
            (sum->thread == ANY || sum->thread == scope->thread))
            sum->to->entered += scope->entered;
    }
}

/* Adds what is booked to a tag. */
static void add_scope(void *context, uint32_t number, const struct pl_scope_record *scope,
                      const struct pl_counted *counted)
{
    const struct sum *sum = context;
    (void) number;
    if (scope->tag != sum->tag)
        return;
    add_calls(&sum->to->counted, counted->calls_of, counted->bytes, PLUS);
    sum->to->entered += scope->entered;
    sum->to->threads++;
}

static bool add_tag(const struct pl_process *process, struct sum *sum)
{
    struct rests rests;
    if (!find_rests(process, &rests, add_scope, sum))
        return false;
    for (uint32_t i = 1; i < rests.threads; i++)
        if (rests.of[i].current && rests.of[i].tag == sum->tag)
            add_rest(&sum->to->counted, &rests.of[i]);
    forget_rests(&rests);
    return true;
}

static bool is_exact(const struct pl_process *process, const struct sum *sum)
{
    const struct pl_header *header = pl_file_header(&process->file);
    return pl_config.mode != PL_MODE_SAMPLED && !sum->blocks.samples && process->budget.exact &&
           !load_relaxed(&process->sampled) && !header->automatic.left;
}

static void add_up(const struct pl_process *process, struct sum *sum)
{
    each_first_tally(process, add_blocks, sum);
    each_small(process, add_blocks, sum);
    each_row(process, add_blocks, sum);
    put_blocks(&sum->blocks, sum->to);
    sum->to->exact = is_exact(process, sum);
}

/* ---- sizes, memory ---- */

static void add_buckets(struct pl_bucket *to, const struct pl_bucket *from, uint64_t sign)
{
    for (int i = 0; i < PL_SIZE_BUCKETS; i++) {
        to[i].blocks += sign * load_relaxed(&from[i].blocks);
        to[i].bytes += sign * load_relaxed(&from[i].bytes);
    }
}

/* The freed blocks of all threads are read first, so that no free is seen without its allocation. Figures of a thread
 * that has not been in a visit since the last reset are from before it. */
static void add_sizes(struct pl_process *process, struct pl_stats *to)
{
    uint32_t reset = load_relaxed(&process->resets);
    add_buckets(to->live_sizes, process->gone, MINUS);
    for (const struct pl_thread *t = load_acquire(&process->threads); t; t = t->next)
        if (t->reset == reset)
            add_buckets(to->live_sizes, t->gone, MINUS);
    for (const struct pl_thread *t = load_acquire(&process->threads); t; t = t->next)
        if (t->reset == reset)
            add_buckets(to->allocated_sizes, t->made, PLUS);
    add_buckets(to->live_sizes, to->allocated_sizes, PLUS);
    for (int i = 0; i < PL_SIZE_BUCKETS; i++) {
        to->live_sizes[i].blocks = not_negative(to->live_sizes[i].blocks);
        to->live_sizes[i].bytes = not_negative(to->live_sizes[i].bytes);
    }
}

/* /proc/self/statm is "size resident ...", in pages. */
static void read_memory(const struct pl_process *process, struct pl_stats *to)
{
    char text[64] = {0};
    const char *at = text;
    long fd = process->sandboxed ? -1 : pl_sys_open("/proc/self/statm", O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return;
    pl_sys_read((int) fd, text, sizeof text - 1);
    pl_sys_close((int) fd);
    to->vm_bytes = pl_text_take_number(&at) * pl_front.page_bytes();
    at += *at == ' ';
    to->rss_bytes = pl_text_take_number(&at) * pl_front.page_bytes();
}

/* ---- asking ---- */

static int begin(struct pl_process *process, struct pl_stats *out)
{
    *out = (struct pl_stats){.exact = 0};
    return pl_cold_bring_up_to_date(process, false) ? 0 : -ENODATA;
}

/* Saves the program's floating-point environment. */
static void compute(const struct pl_process *process, struct sum *sum)
{
    struct pl_arch_fp_state fp;
    pl_arch_fp_enter(&fp);
    add_up(process, sum);
    pl_arch_fp_leave(&fp);
}

static void compute_all(const struct pl_process *process, struct sum *sum)
{
    compute(process, sum); /* first: a block's call is counted before the block is freed */
    add_threads(process, sum);
    add_entries(process, sum);
    bound_blocks(sum->to);
}

int pl_stats_process(struct pl_process *process, struct pl_stats *out)
{
    struct sum sum = {.thread = ANY, .tag = ANY, .to = out};
    int error = begin(process, out);
    if (error)
        return error;
    compute_all(process, &sum);
    add_sizes(process, out);
    read_memory(process, out);
    out->tags = pl_tag_count();
    return 0;
}

int pl_stats_thread(struct pl_process *process, struct pl_stats *out)
{
    int error = begin(process, out);
    const struct pl_thread *thread = pl_thread_mine(&pl_tls);
    if (error || !thread || !thread->record)
        return error ? error : -ENODATA;
    struct sum sum = {.thread = thread->record, .tag = ANY, .to = out};
    compute_all(process, &sum);
    add_buckets(out->allocated_sizes, thread->made, PLUS);
    return 0;
}

int pl_stats_tag(struct pl_process *process, uint32_t tag, struct pl_stats *out)
{
    if (!pl_tag_exists(tag))
        return -EINVAL;
    int error = begin(process, out);
    if (error)
        return error;
    struct sum sum = {.thread = ANY, .tag = pl_tag_record(process, tag), .to = out};
    if (tag && !sum.tag)
        return -ENODATA;
    if (!add_tag(process, &sum))
        return -ENOMEM;
    compute(process, &sum);
    bound_blocks(out);
    out->tags = 1;
    return 0;
}

/* ---- pairs ---- */

/* A thread's figures under a tag. A thread without scopes has one tag, and a separate share for it. */
struct share {
    uint32_t tag;
    uint32_t seen;
    uint64_t entered;
    struct pl_counted counted;
    struct blocks blocks;
};

struct shares {
    struct pl_process *process;
    uint32_t scopes;
    uint32_t threads;
    struct room *room;
    struct share *share; /* one for each scope, then one for each thread */
};

static struct share *share_of(const struct shares *all, uint32_t thread, uint32_t tag)
{
    struct pl_process *process = all->process;
    struct pl_slot *slot = pl_map_slot(&process->map, pl_scope_key(thread, load_relaxed(&process->resets), tag));
    uint32_t scope = slot ? load_acquire(&slot->id) : 0;
    if (scope && scope < all->scopes)
        return &all->share[scope];
    return thread < all->threads ? &all->share[all->scopes + thread] : &all->share[0];
}

static void share_blocks(void *context, uint32_t thread, uint32_t tag, const struct blocks *blocks)
{
    struct share *share = share_of(context, thread, tag);
    struct sum sum = {.thread = ANY, .tag = ANY, .blocks = share->blocks};
    add_blocks(&sum, thread, tag, blocks);
    share->blocks = sum.blocks;
    share->seen = 1;
}

static void share_scope(void *context, uint32_t number, const struct pl_scope_record *scope,
                        const struct pl_counted *counted)
{
    const struct shares *all = context;
    if (number >= all->scopes)
        return;
    struct share *share = &all->share[number];
    share->counted = *counted;
    share->entered = scope->entered;
    share->tag = scope->tag;
    share->seen = 1;
}

static void share_rests(const struct shares *all, const struct rests *rests)
{
    for (uint32_t i = 1; i < all->threads && i < rests->threads; i++) {
        const struct rest *rest = &rests->of[i];
        if (!rest->current)
            continue;
        struct share *share = share_of(all, i, rest->tag);
        add_rest(&share->counted, rest);
        share->tag = rest->tag;
        share->seen = 1;
    }
}

/* The path of a tag. If it does not fit, the outer names are replaced by an ellipsis. */
static const char *path_of(const struct pl_process *process, uint32_t tag, char path[PATH_BYTES])
{
    char *at = path + PATH_BYTES - 1;
    *at = 0;
    for (; tag; tag = ((const struct pl_tag_record *) record_at(process, PL_KIND_TAG, tag))->parent) {
        const struct pl_tag_record *record = record_at(process, PL_KIND_TAG, tag);
        const char *kinds[] = {NULL, "(off)", "(paused)"};
        const char *name =
            record->kind ? kinds[record->kind % 3] : record_at(process, PL_KIND_TEXT, record->name.offset);
        size_t bytes = record->kind ? pl_text_bytes(name) : record->name.bytes;
        if (!bytes) {
            name = "\"\"";
            bytes = 2;
        }
        bool cut = bytes + 8 > (size_t) (at - path);
        size_t kept = cut ? 0 : bytes;
        if (*at)
            *--at = '/';
        at -= cut ? 3 : kept;
        pl_memory_copy(at, cut ? "\xe2\x80\xa6" : name, cut ? 3 : kept);
        if (cut)
            break;
    }
    return *at ? at : "-";
}

/* The figures of struct pl_stats that are shown as pairs: those of every share, and those of the process only. */
/* clang-format off */
#define FUNCTION(name, text) {text "_calls", offsetof(struct pl_stats, counted.calls_of[PL_FN_##name])},
#define FIELD(field) {#field, offsetof(struct pl_stats, field)},
static const struct metric {
    const char *name;
    size_t at;
} of_shares[] = {
    {"calls", offsetof(struct pl_stats, counted.calls)},
    {"allocated_bytes", offsetof(struct pl_stats, counted.bytes)},
    PL_FUNCTIONS(FUNCTION)
    FIELD(freed_blocks) FIELD(freed_bytes) FIELD(live_blocks) FIELD(live_bytes) FIELD(peak_bytes) FIELD(entered)
}, of_process[] = {
    FIELD(threads) FIELD(tags) FIELD(exact) FIELD(vm_bytes) FIELD(rss_bytes)
};
#undef FIELD
#undef FUNCTION
/* clang-format on */
#define COUNT(table) (sizeof(table) / sizeof(table)[0])

typedef int see_pair(void *context, const char *key, uint64_t number);

/* In memory of its own, because the stack may be small. */
struct room {
    char key[KEY_BYTES];
    char path[PATH_BYTES];
    struct pl_stats stats;
};
_Static_assert(sizeof(struct room) <= ROOM_BYTES, "it fits");

/* Passes the figures of room->stats to `see`. */
static int show_stats(struct room *room, const char *who, const char *tag, const struct metric *metric, size_t count,
                      see_pair *see, void *context)
{
    int stop = 0;
    for (size_t i = 0; i < count && !stop; i++) {
        struct pl_text_line line = pl_text_line_in(room->key, sizeof room->key);
        pl_text_line_text(&line, who);
        pl_text_line_char(&line, '.');
        if (tag) {
            pl_text_line_text(&line, tag);
            pl_text_line_char(&line, '.');
        }
        pl_text_line_text(&line, metric[i].name);
        const uint8_t *figure = (const uint8_t *) &room->stats + metric[i].at;
        stop = see(context, room->key, *(const uint64_t *) (const void *) figure);
    }
    return stop;
}

static int show_share(const struct shares *all, const struct share *share, uint32_t thread, see_pair *see,
                      void *context)
{
    char name[17] = {0};
    struct room *room = all->room;
    const struct pl_thread_record *record = record_at(all->process, PL_KIND_THREAD, thread);
    if (!share->seen)
        return 0;
    struct pl_arch_fp_state fp;
    pl_arch_fp_enter(&fp);
    put_blocks(&share->blocks, &room->stats);
    pl_arch_fp_leave(&fp);
    room->stats.counted = share->counted;
    bound_blocks(&room->stats);
    room->stats.entered = share->entered;
    pl_memory_copy(name, record->name, sizeof record->name);
    const char *path = path_of(all->process, share->tag, room->path);
    return show_stats(room, name, path, of_shares, COUNT(of_shares), see, context);
}

static int show_shares(const struct shares *all, see_pair *see, void *context)
{
    int stop = 0;
    for (uint32_t i = 1; i < all->scopes && !stop; i++) {
        const struct pl_scope_record *scope = record_at(all->process, PL_KIND_SCOPE, i);
        stop = show_share(all, &all->share[i], scope->thread, see, context);
    }
    for (uint32_t i = 1; i < all->threads && !stop; i++)
        stop = show_share(all, &all->share[all->scopes + i], i, see, context);
    return stop;
}

static void find_shares(const struct shares *all, const struct rests *rests)
{
    struct pl_arch_fp_state fp;
    pl_arch_fp_enter(&fp);
    share_rests(all, rests);
    each_first_tally(all->process, share_blocks, (void *) (uintptr_t) all);
    each_small(all->process, share_blocks, (void *) (uintptr_t) all);
    each_row(all->process, share_blocks, (void *) (uintptr_t) all);
    pl_arch_fp_leave(&fp);
}

/* Allocates the room, with all shares behind it. */
static bool find_room(struct shares *all, size_t *bytes)
{
    *bytes = ROOM_BYTES + pl_memory_pages(((size_t) all->scopes + all->threads) * sizeof *all->share);
    all->room = pl_memory_new(*bytes);
    all->share = all->room ? (struct share *) (void *) ((uint8_t *) all->room + ROOM_BYTES) : NULL;
    return all->room != NULL;
}

static int show_all(struct shares *all, see_pair *see, void *context)
{
    struct rests rests;
    int stop = pl_stats_process(all->process, &all->room->stats);
    if (stop)
        return stop;
    if (!find_rests(all->process, &rests, share_scope, all))
        return -ENOMEM;
    find_shares(all, &rests);
    forget_rests(&rests);
    stop = show_stats(all->room, "process", NULL, of_shares, COUNT(of_shares), see, context);
    if (!stop)
        stop = show_stats(all->room, "process", NULL, of_process, COUNT(of_process), see, context);
    return stop ? stop : show_shares(all, see, context);
}

int pl_stats_pairs(struct pl_process *process, see_pair *see, void *context)
{
    size_t bytes;
    if (!pl_process_start(process) && !process->file.base) /* not ON, but there is a file: ENDING, figures are final */
        return -ENODATA;
    struct shares all = {
        .process = process,
        .scopes = count_of(process, PL_KIND_SCOPE) + SHARES_MORE,
        .threads = count_of(process, PL_KIND_THREAD) + SHARES_MORE,
    };
    if (!find_room(&all, &bytes))
        return -ENOMEM;
    int stop = show_all(&all, see, context);
    pl_memory_free(all.room, bytes);
    return stop;
}
