/* SPDX-License-Identifier: MIT */
/*
 * story.c - `story WHICH FILE` writes a synthetic profile in which every allocation was counted, so that every figure
 * of every view is known.
 *
 * An indexer runs for 12.8 s. parse_line makes strings and frees them at once. index_add_term keeps its terms. A table
 * grows by doubling. A cache fills until the heap is largest, at 9.2 s, and is then freed.
 *
 *   exact   all of the above
 *   mixed   the same, and from half of the time on sampled: samples saw the rest of the cache
 *   brief   the same without a history: the run is over before a second moment is recorded
 *   flat    one thread, one size, nothing freed, nothing else
 *   still   flat, and three reallocs that stayed in place
 *   blink   a run of 584 ms with two moments
 *   torn    exact, in a damaged file: no stack can be read, nor the counts of its thread
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "forge.h"

#define END_NS 12800000000ull
#define PEAK_NS 9200000000ull
#define UNIT_NS 1600ull /* 4,096 ticks of a processor of 2.56 GHz */
#define MOMENTS 128u
#define SNAPSHOTS 8u

#define TERMS 1204u
#define TERM_BYTES 1700u
#define LINES 251880u
#define LINE_BYTES 48u
#define CACHED 3000u
#define CACHED_AT_PEAK 2500u
#define CACHED_BYTES 8192u
#define TABLE_FIRST 1024u
#define TABLE_DOUBLINGS 13u /* to 8 MiB */

/* Everything that allocates. */
struct cast {
    uint32_t thread;
    uint32_t term, line, rows, cache; /* sites */
    uint32_t term_tally, line_tally, rows_tally, cache_tally;
};

static void set_clock(struct forge *forge, enum pl_mode mode)
{
    struct pl_header *header = forge_header(forge);
    header->mode = mode;
    header->interval_bytes = 0;
    header->clock.last_ns = header->start_monotonic_ns + END_NS;
    header->clock.last_ticks = END_NS / UNIT_NS << PL_UNIT_SHIFT;
    header->exit_ns = header->start_monotonic_ns + END_NS - 1000000;
    header->timeline_shift = 16;
}

static void set_peak(struct forge *forge, uint64_t bytes)
{
    forge_header(forge)->peak =
        (struct pl_peak){.bytes = bytes, .units = PEAK_NS / UNIT_NS, .era = 1, .peaks = CACHED_AT_PEAK};
}

static void set_cost(struct forge *forge)
{
    struct pl_auto *automatic = &forge_header(forge)->automatic;
    automatic->exact = 1;
    automatic->spent_ns = 61000000;
    automatic->cpu_ns = 12200000000;
}

/* --- the sites --- */

static struct cast make_cast(struct forge *forge)
{
    static const char *const term[] = {"_start", "main", "index_file", "index_add_term", NULL};
    static const char *const line[] = {"_start", "main", "index_file", "parse_line", "string_new", NULL};
    static const char *const rows[] = {"_start", "main", "rows_grow", NULL};
    static const char *const cache[] = {"_start", "main", "cache_put", NULL};
    uint32_t module = forge_module(forge, "/opt/example/bin/example", 0xab);
    struct cast cast = {0};
    cast.term = forge_site(forge, forge_stack(forge, module, "src/index.c", term));
    cast.line = forge_site(forge, forge_stack(forge, module, "src/parse.c", line));
    cast.rows = forge_site(forge, forge_stack(forge, module, "src/table.c", rows));
    cast.cache = forge_site(forge, forge_stack(forge, module, "src/cache.c", cache));
    return cast;
}

static void keep_terms(struct forge *forge, struct cast *cast)
{
    cast->term_tally = forge_tally(forge, cast->term, cast->thread);
    struct pl_tally *tally = forge_tally_at(forge, cast->term_tally);
    forge_count(tally, TERMS, TERM_BYTES);
    tally->era = 1;
    tally->peak_calls = 900;
    tally->peak_bytes = 900 * TERM_BYTES;
}

static void drop_lines(struct forge *forge, struct cast *cast)
{
    cast->line_tally = forge_tally(forge, cast->line, cast->thread);
    struct pl_tally *tally = forge_tally_at(forge, cast->line_tally);
    forge_count(tally, LINES, LINE_BYTES);
    tally->freed_calls = LINES;
    tally->freed_bytes = LINES * LINE_BYTES;
    tally->temporaries = LINES;
    tally->lives[0] = 200000;
    tally->lives[1] = 50000;
    tally->lives[4] = 1880;
}

static void grow_rows(struct forge *forge, struct cast *cast)
{
    uint32_t size = TABLE_FIRST;
    cast->rows_tally = forge_tally(forge, cast->rows, cast->thread);
    struct pl_tally *tally = forge_tally_at(forge, cast->rows_tally);
    forge_count(tally, 1, size);
    for (unsigned i = 0; i < TABLE_DOUBLINGS; i++, size *= 2) {
        forge_count(tally, 1, 2 * size);
        tally->realloc_calls++;
        tally->realloc_in_place += i < 2;
        tally->realloc_moved += i < 2 ? 0 : size;
        tally->lives[10 + i]++;
    }
    tally->lives[22]++;
    tally->freed_calls = tally->calls;
    tally->freed_bytes = tally->bytes;
    tally->freed_era = 1;
    tally->peak_freed_calls = tally->calls - 1; /* all but the last were gone at the peak */
    tally->peak_freed_bytes = tally->bytes - size;
}

static void fill_cache(struct forge *forge, struct cast *cast)
{
    cast->cache_tally = forge_tally(forge, cast->cache, cast->thread);
    struct pl_tally *tally = forge_tally_at(forge, cast->cache_tally);
    forge_count(tally, CACHED, CACHED_BYTES);
    tally->freed_calls = CACHED;
    tally->freed_bytes = (uint64_t) CACHED * CACHED_BYTES;
    tally->lives[20] = CACHED;
    tally->era = tally->freed_era = 1;
    tally->peak_calls = CACHED_AT_PEAK;
    tally->peak_bytes = (uint64_t) CACHED_AT_PEAK * CACHED_BYTES;
}

/* --- the history --- */

static uint64_t at_most(uint64_t value, uint64_t bound)
{
    return value < bound ? value : bound;
}

/* Live bytes rise evenly to nine tenths of the peak, which falls between two moments. Later only terms are left. */
static uint64_t live_at(uint64_t time_ns, uint64_t peak)
{
    peak -= peak / 10;
    uint64_t terms = TERMS * TERM_BYTES * (time_ns / 1000000) / (END_NS / 1000000);
    return time_ns <= PEAK_NS ? peak / 1000 * (time_ns / 1000000) / (PEAK_NS / 1000000) * 1000 : terms;
}

static void tell_moments(struct forge *forge, uint64_t allocated, uint64_t peak, bool sampled)
{
    for (uint32_t i = 1; i <= MOMENTS; i++) {
        uint64_t time_ns = END_NS * i / MOMENTS;
        struct pl_moment *moment = forge_moment(forge, time_ns);
        moment->live_bytes = live_at(time_ns, peak);
        moment->live_objects = moment->live_bytes / 1000;
        moment->allocated_bytes = allocated * i / MOMENTS;
        moment->allocated_calls = moment->allocated_bytes / 200;
        moment->rss_bytes = (4 << 20) + live_at(at_most(time_ns, PEAK_NS), peak); /* the allocator keeps free memory */
        moment->interval_bytes = sampled && i > MOMENTS / 2 ? 96 << 10 : 0;
    }
}

/* The first one shows the start of the program, so it is not growth. */
static void tell_snapshots(struct forge *forge, const struct cast *cast)
{
    forge_holds(forge_composition(forge, END_NS / 100), cast->rows_tally, 1, TABLE_FIRST);
    for (uint32_t i = 1; i <= SNAPSHOTS; i++) {
        uint64_t time_ns = END_NS * i / SNAPSHOTS;
        struct pl_composition_record *composition = forge_composition(forge, time_ns);
        uint32_t terms = TERMS * i / SNAPSHOTS;
        forge_holds(composition, cast->term_tally, terms, (uint64_t) terms * TERM_BYTES);
        forge_holds(composition, cast->rows_tally, 1, TABLE_FIRST << i);
        if (time_ns < PEAK_NS)
            forge_holds(composition, cast->cache_tally, CACHED_AT_PEAK * i / 6, CACHED_AT_PEAK * i / 6 * CACHED_BYTES);
    }
}

/* --- stories --- */

static uint64_t allocated_bytes(struct forge *forge, const struct cast *cast)
{
    const uint32_t tallies[] = {cast->term_tally, cast->line_tally, cast->rows_tally, cast->cache_tally};
    uint64_t bytes = 0;
    for (size_t i = 0; i < sizeof tallies / sizeof *tallies; i++)
        bytes += tallies[i] ? forge_tally_at(forge, tallies[i])->bytes : 0;
    return bytes;
}

#define CALLS (TERMS + LINES + TABLE_DOUBLINGS + 1 + CACHED)
#define PEAK (900ull * TERM_BYTES + (TABLE_FIRST << TABLE_DOUBLINGS) + (uint64_t) CACHED_AT_PEAK * CACHED_BYTES)

static struct cast tell(struct forge *forge)
{
    struct cast cast = make_cast(forge);
    cast.thread = forge_thread(forge, "example", CALLS, 0);
    fill_cache(forge, &cast); /* deliberately in another order than the stacks */
    grow_rows(forge, &cast);
    drop_lines(forge, &cast);
    keep_terms(forge, &cast);
    struct pl_thread_record *thread = forge_record(forge, PL_KIND_THREAD, cast.thread);
    thread->bytes = allocated_bytes(forge, &cast);
    set_clock(forge, PL_MODE_AUTO);
    set_cost(forge);
    set_peak(forge, PEAK);
    return cast;
}

static void tell_exact(struct forge *forge)
{
    struct cast cast = tell(forge);
    tell_moments(forge, allocated_bytes(forge, &cast), PEAK, false);
    tell_snapshots(forge, &cast);
}

/* The cache seems to have grown by a sample or two, which is noise. The terms really have grown. */
static void tell_noise(struct forge *forge, const struct cast *cast)
{
    for (uint32_t i = 7; i <= SNAPSHOTS; i++) {
        struct pl_composition_record *composition = forge_composition(forge, END_NS * i / SNAPSHOTS - 2000000);
        forge_holds(composition, cast->cache_tally, 100 + i, (100ull + i) * CACHED_BYTES);
        forge_holds(composition, cast->term_tally, 100 * i, 100ull * i * TERM_BYTES);
    }
}

static void tell_mixed(struct forge *forge)
{
    struct cast cast = tell(forge);
    struct pl_row *row = forge_row_at(forge, forge_row(forge, cast.cache, cast.thread));
    forge_sample(&row->allocated, CACHED_BYTES, 12, 200);
    forge_sample(&row->freed, CACHED_BYTES, 12, 160);
    row->smallest = row->largest = CACHED_BYTES;
    row->sizes[10] = 2400;
    row->lives[21] = 1920;
    struct pl_thread_record *thread = forge_record(forge, PL_KIND_THREAD, cast.thread);
    thread->calls[PL_FN_MALLOC] += 2400;
    thread->bytes += 2400ull * CACHED_BYTES;
    struct pl_auto *automatic = &forge_header(forge)->automatic;
    automatic->exact = 0;
    automatic->interval_bytes = automatic->interval_max = 96 << 10;
    automatic->exact_calls = CALLS;
    automatic->exact_ns = END_NS / 2;
    automatic->left = 1;
    forge_header(forge)->visits = 200;
    tell_moments(forge, thread->bytes, PEAK, true);
    tell_noise(forge, &cast);
}

static void tell_brief(struct forge *forge)
{
    tell(forge);
    forge_moment(forge, 300000);
}

static void tell_flat(struct forge *forge)
{
    struct cast cast = make_cast(forge);
    cast.thread = forge_thread(forge, "example", 100, 6400);
    forge_count(forge_tally_at(forge, forge_tally(forge, cast.term, cast.thread)), 100, 64);
    set_clock(forge, PL_MODE_EXACT);
    set_peak(forge, 6400);
}

static void tell_still(struct forge *forge)
{
    tell_flat(forge);
    struct pl_tally *tally = forge_tally_at(forge, 1);
    tally->realloc_calls = tally->realloc_in_place = 3;
}

static void tell_blink(struct forge *forge)
{
    struct pl_header *header = forge_header(forge);
    tell_flat(forge);
    header->end_monotonic_ns = header->clock.last_ns = header->start_monotonic_ns + 584000000;
    header->clock.last_ticks = 584000000 / UNIT_NS << PL_UNIT_SHIFT;
    for (uint64_t i = 1; i <= 2; i++) {
        struct pl_moment *moment = forge_moment(forge, i * 250000000);
        moment->live_bytes = moment->allocated_bytes = i * 3200;
    }
}

static void tell_torn(struct forge *forge)
{
    tell_exact(forge);
    for (uint32_t i = 1; i < forge_header(forge)->count[PL_KIND_FRAME]; i++)
        ((struct pl_frame *) forge_record(forge, PL_KIND_FRAME, i))->parent = i;
    struct pl_thread_record *thread = forge_record(forge, PL_KIND_THREAD, 1);
    memset(thread->calls, 0xa5, sizeof thread->calls);
    thread->threads = 900000000;
}

static const struct story {
    const char *name;
    void (*tell)(struct forge *forge);
} stories[] = {{"exact", tell_exact}, {"mixed", tell_mixed}, {"brief", tell_brief}, {"flat", tell_flat},
               {"still", tell_still}, {"blink", tell_blink}, {"torn", tell_torn}};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 3 && i < sizeof stories / sizeof *stories; i++) {
        if (strcmp(stories[i].name, argv[1]))
            continue;
        struct forge *forge = forge_new();
        stories[i].tell(forge);
        int result = forge_write(forge, argv[2]);
        forge_free(forge);
        return result ? 1 : 0;
    }
    fputs("usage: story exact|mixed|brief|flat|still|blink|torn FILE\n", stderr);
    return 2;
}
