/* SPDX-License-Identifier: MIT */
/*
 * snapshot.c - copies a profile out of a file that may be changing while it is copied.
 *
 * The file is read, never mapped: somebody may truncate it, and a reader must not die of SIGBUS.
 *
 * The first idea is the order. A writer publishes what a record names before the record itself; so kinds are copied
 * from the naming to the named (rows, threads, sites, tags, ... texts), and the directory is read anew for each, so
 * that a chunk added meanwhile is found. Frees come before the allocations that they give back, so that a free is never
 * seen without its allocation: remote frees before tallies, and inside of a record the frees from an earlier reading.
 *
 * The second is to read three times what changes in place. Each such record has a word that says whether it did: a row
 * its sequence, which is odd while its owner writes; a tally the era in which it last saved what it held at the peak; a
 * moment its time, since slots are used again. What the middle reading saw is believed if that word is the same before
 * and after.
 *
 * Threads and their scopes name each other. What a thread has counted beyond its scopes belongs to the tag it was in
 * then, so a thread is believed as it was before its scopes were copied; those that came later are known from after.
 *
 * What all rows and tallies say of the peak makes sense only together with the header's word on it. So if the peak
 * moved while they were copied, they are copied again, a few times.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "snapshot.h"

#define RECORD_TRIES 32       /* an update takes nanoseconds; more tries than this meet a thread that is not running */
#define FILE_TRIES (1u << 13) /* over all records: a file full of odd sequence words must not keep us */
#define PEAK_TRIES 4

/* How a kind is copied. Kinds that change in place have a test of readings around that of the body, and what is to be
 * taken from the first of them. */
struct kind {
    enum pl_kind kind;
    uint32_t record_bytes;
    bool (*held_still)(const void *before, const void *after);
    void (*join)(void *body, const void *before);
    bool drop; /* one that does not hold still is dropped; otherwise it is kept, and counted */
};

struct copy {
    const struct pl_source *source;
    struct pl_arena *scratch;
    struct pl_snapshot *out;
    uint32_t tries_left;
    uint8_t directory[PL_CHUNKS_MAX];
    _Alignas(16) char before[PL_CHUNK_BYTES]; /* readings of a chunk */
    _Alignas(16) char after[PL_CHUNK_BYTES];
    _Alignas(16) char one_before[sizeof(struct pl_snapshot_record)]; /* and of one record, the largest there is */
    _Alignas(16) char one_after[sizeof(struct pl_snapshot_record)];
};

/* ---- what holds still ---- */

static bool row_held_still(const void *before, const void *after)
{
    const struct pl_row *a = before, *b = after;
    return a->sequence == b->sequence && a->sequence % 2 == 0;
}

/* A record exists if it did at the first reading: then all of it was there at the second. */
static void join_row(void *body, const void *before)
{
    const struct pl_row *first = before;
    struct pl_row *row = body;
    row->site = first->site;
    row->remote = first->remote;
    row->remote_era = first->remote_era;
    row->peak_remote = first->peak_remote;
    memcpy(row->gone, first->gone, sizeof row->gone);
}

static bool tally_held_still(const void *before, const void *after)
{
    const struct pl_tally *a = before, *b = after;
    return a->era == b->era && a->freed_era == b->freed_era && a->cohort == b->cohort &&
           a->cohort_shift == b->cohort_shift && a->made_calls == b->made_calls;
}

static void join_tally(void *body, const void *before)
{
    const struct pl_tally *first = before;
    struct pl_tally *tally = body;
    tally->site = first->site;
    tally->freed_era = first->freed_era;
    tally->freed_calls = first->freed_calls;
    tally->freed_bytes = first->freed_bytes;
    tally->temporaries = first->temporaries;
    tally->exit_calls = first->exit_calls;
    tally->exit_bytes = first->exit_bytes;
    tally->peak_freed_calls = first->peak_freed_calls;
    tally->peak_freed_bytes = first->peak_freed_bytes;
    memcpy(tally->lives, first->lives, sizeof tally->lives);
    memcpy(tally->gone, first->gone, sizeof tally->gone);
    tally->gone_calls = first->gone_calls;
}

static bool remote_held_still(const void *before, const void *after)
{
    const struct pl_remote *a = before, *b = after;
    return a->era == b->era;
}

static void join_remote(void *body, const void *before)
{
    ((struct pl_remote *) body)->tally = ((const struct pl_remote *) before)->tally;
}

/* Moments and snapshots begin with their time. */
static bool time_held_still(const void *before, const void *after)
{
    return memcmp(before, after, sizeof(uint64_t)) == 0;
}

static void join_time(void *body, const void *before)
{
    memcpy(body, before, sizeof(uint64_t));
}

/* The naming before the named, and frees before allocations. Those of the first table are what a peak is made of. */
static const struct kind figure_kinds[] = {
    {PL_KIND_SNAPSHOT, sizeof(struct pl_snapshot_record), time_held_still, join_time, true},
    {PL_KIND_REMOTE, sizeof(struct pl_remote), remote_held_still, join_remote, false},
    {PL_KIND_TALLY, sizeof(struct pl_tally), tally_held_still, join_tally, false},
    {PL_KIND_ROW, sizeof(struct pl_row), row_held_still, join_row, false},
};
static const struct kind thread_kind = {.kind = PL_KIND_THREAD, .record_bytes = sizeof(struct pl_thread_record)};
static const struct kind scope_kind = {.kind = PL_KIND_SCOPE, .record_bytes = sizeof(struct pl_scope_record)};
static const struct kind other_kinds[] = {
    {PL_KIND_MOMENT, sizeof(struct pl_moment), time_held_still, join_time, true},
    {.kind = PL_KIND_SITE, .record_bytes = sizeof(struct pl_site)},
    {.kind = PL_KIND_TAG, .record_bytes = sizeof(struct pl_tag_record)},
    {.kind = PL_KIND_SYMBOL, .record_bytes = sizeof(struct pl_symbol)},
    {.kind = PL_KIND_FRAME, .record_bytes = sizeof(struct pl_frame)},
    {.kind = PL_KIND_MODULE, .record_bytes = sizeof(struct pl_module)},
    {.kind = PL_KIND_TEXT, .record_bytes = 1},
};
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- the source ---- */

static size_t read_memory(const struct pl_source *source, uint64_t offset, void *out, size_t bytes)
{
    if (offset >= source->data_bytes)
        return 0;
    size_t there = source->data_bytes - offset;
    size_t taken = bytes < there ? bytes : there;
    memcpy(out, source->data + offset, taken);
    return taken;
}

static size_t read_file(int fd, uint64_t offset, void *out, size_t bytes)
{
    size_t taken = 0;
    while (taken < bytes) {
        ssize_t got = pread(fd, (char *) out + taken, bytes - taken, (off_t) (offset + taken));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        taken += (size_t) got;
    }
    return taken;
}

size_t pl_source_read(const struct pl_source *source, uint64_t offset, void *out, size_t bytes)
{
    return source->fd < 0 ? read_memory(source, offset, out, bytes) : read_file(source->fd, offset, out, bytes);
}

static uint64_t source_bytes(const struct pl_source *source)
{
    struct stat status;
    if (source->fd < 0)
        return source->data_bytes;
    return fstat(source->fd, &status) == 0 && status.st_size > 0 ? (uint64_t) status.st_size : 0;
}

/* Four bytes, and what readable text follows them: "\x7fELF", "#!/bin/s". */
static void quote_start(const char *start, size_t bytes, char out[40])
{
    size_t used = 0;
    for (size_t i = 0; i < bytes && i < 8; i++) {
        unsigned char c = (unsigned char) start[i];
        bool plain = c >= ' ' && c < 0x7f && c != '"' && c != '\\';
        if (i >= 4 && !plain)
            break;
        used += (size_t) snprintf(out + used, 40 - used, plain ? "%c" : "\\x%02x", c);
    }
}

static int refuse_magic(const struct pl_source *source, const struct pl_header *header, size_t got, char *why)
{
    static const char nothing[sizeof header->magic];
    char start[40] = "";
    if (got == 0)
        snprintf(why, PL_WHY_BYTES, "%.350s is empty: not a Plimsoll profile", source->name);
    else if (got >= sizeof nothing && memcmp(header->magic, nothing, sizeof nothing) == 0)
        snprintf(why, PL_WHY_BYTES, "%.350s is not a Plimsoll profile (it starts with zeros)", source->name);
    else {
        quote_start(header->magic, got < sizeof header->magic ? got : sizeof header->magic, start);
        snprintf(why, PL_WHY_BYTES, "%.350s is not a Plimsoll profile (it starts with \"%s\")", source->name, start);
    }
    return -EINVAL;
}

static int refuse_layout(const struct pl_source *source, const struct pl_header *header, char *why)
{
    if (header->byte_order == __builtin_bswap32(PL_BYTE_ORDER))
        snprintf(why, PL_WHY_BYTES, "%.350s was written on a machine of the other byte order: read it on one like that",
                 source->name);
    else if (header->byte_order != PL_BYTE_ORDER)
        snprintf(why, PL_WHY_BYTES, "%.350s is damaged (its byte order mark is %#x)", source->name, header->byte_order);
    else if (header->version > PL_VERSION)
        snprintf(why, PL_WHY_BYTES, "%.350s has format version %u, and this plimsoll reads version %u: use a newer one",
                 source->name, header->version, PL_VERSION);
    else if (header->version == 0)
        snprintf(why, PL_WHY_BYTES, "%.350s has format version 0, which no plimsoll has written", source->name);
    else if (header->version != PL_VERSION)
        snprintf(why, PL_WHY_BYTES,
                 "%.350s was written by an older Plimsoll (format %u), and this one reads format %u: profile the "
                 "program again",
                 source->name, header->version, PL_VERSION);
    else if (header->chunk_bytes != PL_CHUNK_BYTES)
        snprintf(why, PL_WHY_BYTES, "%.350s is damaged (chunks of %u bytes instead of %u)", source->name,
                 header->chunk_bytes, PL_CHUNK_BYTES);
    else
        return 0;
    return -EINVAL;
}

int pl_snapshot_header(const struct pl_source *source, struct pl_header *out, char why[PL_WHY_BYTES])
{
    struct pl_header header = {.magic = ""};
    errno = 0;
    size_t got = pl_source_read(source, 0, &header, sizeof header);
    if (got == 0 && errno != 0) {
        int error = errno;
        snprintf(why, PL_WHY_BYTES, "cannot read %.350s: %s", source->name, strerror(error));
        return -error;
    }
    if (got < sizeof header.magic || memcmp(header.magic, PL_MAGIC, sizeof header.magic) != 0)
        return refuse_magic(source, &header, got, why);
    uint64_t bytes = source_bytes(source);
    if (bytes < PL_CHUNKS_OFFSET) {
        snprintf(why, PL_WHY_BYTES, "%.350s is cut short: %llu bytes, and a profile has at least %u", source->name,
                 (unsigned long long) bytes, PL_CHUNKS_OFFSET);
        return -EINVAL;
    }
    int refused = refuse_layout(source, &header, why);
    if (refused == 0)
        *out = header;
    return refused;
}

/* ---- chunks ---- */

/* Reads a record until it holds still. False: it did not, and the last reading is what there is. */
static bool reread(struct copy *copy, const struct kind *kind, uint64_t offset, char *record)
{
    size_t bytes = kind->record_bytes;
    for (int i = 0; i < RECORD_TRIES && copy->source->fd >= 0 && copy->tries_left > 0; i++, copy->tries_left--) {
        if (i % 8 == 7)
            sched_yield(); /* the owner may be waiting for this very processor */
        if (pl_source_read(copy->source, offset, copy->one_before, bytes) < bytes ||
            pl_source_read(copy->source, offset, record, bytes) < bytes ||
            pl_source_read(copy->source, offset, copy->one_after, bytes) < bytes)
            return false;
        kind->join(record, copy->one_before);
        if (kind->held_still(copy->one_before, copy->one_after))
            return true;
    }
    return false;
}

static uint32_t per_chunk(const struct kind *kind)
{
    return PL_CHUNK_BYTES / kind->record_bytes;
}

/* A record that is only partly in the file is not there at all. Returns false if the chunk was short. */
static bool read_chunk(const struct copy *copy, const struct kind *kind, uint64_t offset, char *out)
{
    size_t wanted = (size_t) per_chunk(kind) * kind->record_bytes;
    size_t got = pl_source_read(copy->source, offset, out, wanted);
    size_t whole = got - got % kind->record_bytes;
    memset(out + whole, 0, wanted - whole);
    return got == wanted;
}

static void settle_record(struct copy *copy, const struct kind *kind, uint64_t offset, char *record)
{
    static const char nothing[sizeof(uint32_t)];
    if (reread(copy, kind, offset, record))
        return;
    if (kind->drop)
        memset(record, 0, kind->record_bytes);
    else
        copy->out->in_flight += memcmp(record, nothing, sizeof nothing) != 0;
}

static bool read_moving_chunk(struct copy *copy, const struct kind *kind, uint64_t offset, char *out)
{
    bool whole = read_chunk(copy, kind, offset, copy->before);
    whole &= read_chunk(copy, kind, offset, out);
    whole &= read_chunk(copy, kind, offset, copy->after);
    for (size_t at = 0; at < (size_t) per_chunk(kind) * kind->record_bytes; at += kind->record_bytes) {
        kind->join(out + at, copy->before + at);
        if (!kind->held_still(copy->before + at, copy->after + at))
            settle_record(copy, kind, offset + at, out + at);
    }
    return whole;
}

static uint64_t chunk_offset(uint32_t chunk)
{
    return PL_CHUNKS_OFFSET + (uint64_t) chunk * PL_CHUNK_BYTES;
}

/* The next chunk of a kind, at or after `from`; PL_CHUNKS_MAX if there is none. */
static uint32_t next_chunk(const struct copy *copy, enum pl_kind kind, uint32_t from)
{
    const uint8_t *found = memchr(copy->directory + from, (int) kind, PL_CHUNKS_MAX - from);
    return found ? (uint32_t) (found - copy->directory) : PL_CHUNKS_MAX;
}

/* Chunks of this kind that the file is long enough to hold at least the beginning of. */
static uint32_t count_chunks(struct copy *copy, enum pl_kind kind, uint64_t bytes)
{
    uint32_t present = 0;
    for (uint32_t i = next_chunk(copy, kind, 0); i < PL_CHUNKS_MAX; i = next_chunk(copy, kind, i + 1)) {
        if (chunk_offset(i) < bytes)
            present++;
        else
            copy->out->damage++;
    }
    return present;
}

/* Records of consecutive chunks become neighbours, also where a chunk has a rest that holds none. */
static void read_chunks(struct copy *copy, const struct kind *kind, uint32_t wanted, char *out)
{
    uint32_t i = next_chunk(copy, kind->kind, 0);
    for (; wanted > 0; wanted--, i = next_chunk(copy, kind->kind, i + 1)) {
        bool whole = kind->held_still ? read_moving_chunk(copy, kind, chunk_offset(i), out)
                                      : read_chunk(copy, kind, chunk_offset(i), out);
        copy->out->damage += !whole;
        out += (size_t) per_chunk(kind) * kind->record_bytes;
    }
}

/* ---- kinds ---- */

/* The directory tells how many records there can be, the count how many there are: it goes on counting when no room is
 * left, and in a hostile file it says anything. Memory follows the directory and the size of the file. */
static void read_kind(struct copy *copy, const struct kind *kind)
{
    struct pl_snapshot *out = copy->out;
    struct pl_table *table = &out->table[kind->kind];
    pl_source_read(copy->source, 0, &out->header, sizeof out->header);
    pl_source_read(copy->source, PL_HEADER_BYTES, copy->directory, sizeof copy->directory);
    out->file_bytes = source_bytes(copy->source);

    uint64_t room = (uint64_t) count_chunks(copy, kind->kind, out->file_bytes) * per_chunk(kind);
    table->count = (uint32_t) (out->header.count[kind->kind] < room ? out->header.count[kind->kind] : room);
    uint32_t chunks = (table->count + per_chunk(kind) - 1) / per_chunk(kind);
    table->record = pl_arena_alloc(copy->scratch, (size_t) chunks * per_chunk(kind) * kind->record_bytes);
    read_chunks(copy, kind, chunks, table->record);
}

static void read_threads_and_scopes(struct copy *copy)
{
    struct pl_snapshot *out = copy->out;
    uint64_t damage = out->damage;
    read_kind(copy, &thread_kind);
    struct pl_table before = out->table[PL_KIND_THREAD];
    out->damage = damage; /* what is missing will be missing again */
    read_kind(copy, &scope_kind);
    read_kind(copy, &thread_kind);
    struct pl_table *after = &out->table[PL_KIND_THREAD];
    struct pl_thread_record *first = before.record, *last = after->record;
    for (uint32_t i = 1; i < before.count && i < after->count; i++)
        if (first[i].valid != 0)
            last[i] = first[i];
}

static struct pl_peak read_peak(const struct copy *copy)
{
    struct pl_header header = {.magic = ""};
    pl_source_read(copy->source, 0, &header, sizeof header);
    return header.peak;
}

/* All that a peak is made of, and the peak. Returns whether that did not move meanwhile. */
static bool read_figures(struct copy *copy, struct pl_peak *peak)
{
    struct pl_peak before = read_peak(copy);
    copy->out->damage = copy->out->in_flight = 0;
    for (size_t i = 0; i < COUNT(figure_kinds); i++)
        read_kind(copy, &figure_kinds[i]);
    *peak = read_peak(copy);
    return peak->era == before.era && peak->peaks == before.peaks;
}

int pl_snapshot_take(const struct pl_source *source, struct pl_arena *scratch, struct pl_snapshot *out,
                     char why[PL_WHY_BYTES])
{
    struct pl_header header;
    int refused = pl_snapshot_header(source, &header, why);
    if (refused != 0)
        return refused;
    *out = (struct pl_snapshot){.header = header};
    struct copy *copy = pl_arena_alloc(scratch, sizeof *copy);
    copy->source = source;
    copy->scratch = scratch;
    copy->out = out;
    copy->tries_left = FILE_TRIES;
    struct pl_peak peak;
    for (int i = 0; i < PEAK_TRIES && !read_figures(copy, &peak); i++)
        continue;
    read_threads_and_scopes(copy);
    for (size_t i = 0; i < COUNT(other_kinds); i++)
        read_kind(copy, &other_kinds[i]);
    out->header.peak = peak;
    return 0;
}
