/* SPDX-License-Identifier: MIT */
/*
 * image.c - copies a profile out of a file that may be changing while it is copied.
 *
 * The file is read, never mapped: somebody may truncate it, and a reader must not die of SIGBUS.
 *
 * The first idea is the order. A writer publishes a record after the records that it refers to; so kinds are copied in
 * the opposite order, referring records first (rows, threads, sites, tags, ... texts), and the directory is read again
 * for each kind, so that chunks added meanwhile are found. Frees are copied before their allocations, so that a free is
 * never seen without its allocation: remote frees before tallies, and within a record the frees are taken from an
 * earlier reading.
 *
 * The second idea is to read records that change in place three times. Each has a word that tells whether it changed: a
 * row its sequence, which is odd while its owner writes; a tally the era in which it last saved what it held at the
 * peak; a moment its time, since slots are reused. Of a small record, all words together tell. The second reading is
 * valid if the first and the third have the same word.
 *
 * Threads and their scopes refer to each other. What a thread has counted beyond its scopes belongs to the tag it was
 * in then, so a thread's record is taken from before its scopes were copied. Threads that appear later are read
 * afterwards.
 *
 * The peak figures of rows and tallies make sense only together with the header's. So if the peak moved while they were
 * copied, they are copied again, a few times.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reader/image.h"

#define RECORD_TRIES 32       /* an update takes nanoseconds; more tries than this meet a thread that is not running */
#define FILE_TRIES (1u << 13) /* over all records: a file full of odd sequence words must not keep us busy */
#define PEAK_TRIES 4

/* How a kind is copied. A kind that changes in place has a function that compares the readings before and after, and
 * one that takes some fields from the reading before. */
struct kind {
    enum pl_kind kind;
    uint32_t record_bytes;
    bool (*held_still)(const void *before, const void *after);
    void (*join)(void *body, const void *before);
    bool drop; /* a record that does not hold still is dropped; otherwise it is kept, and counted */
};

struct copy {
    const struct pl_image_source *source;
    struct pl_arena *scratch;
    struct pl_image *out;
    uint32_t tries_left;
    uint8_t directory[PL_CHUNKS_MAX];
    _Alignas(16) char before[PL_CHUNK_BYTES]; /* readings of a chunk */
    _Alignas(16) char after[PL_CHUNK_BYTES];
    _Alignas(16) char one_before[sizeof(struct pl_composition_record)]; /* and of one record, the largest there is */
    _Alignas(16) char one_after[sizeof(struct pl_composition_record)];
};

/* ---- what holds still ---- */

static bool row_held_still(const void *before, const void *after)
{
    const struct pl_row *a = before, *b = after;
    return a->sequence == b->sequence && a->sequence % 2 == 0;
}

/* A record exists if it did at the first reading: then the second reading saw all of it. */
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

static bool ledger_held_still(const void *before, const void *after)
{
    const struct pl_ledger *a = before, *b = after;
    return a->sequence == b->sequence && a->sequence % 2 == 0;
}

static void join_ledger(void *body, const void *before)
{
    ((struct pl_ledger *) body)->site = ((const struct pl_ledger *) before)->site;
}

/* A small record is read whole: it is used too rarely to keep changing. Its remote record is another thread's. */
static bool small_held_still(const void *before, const void *after)
{
    struct pl_small a = *(const struct pl_small *) before, b = *(const struct pl_small *) after;
    a.remote = b.remote = 0;
    return memcmp(&a, &b, sizeof a) == 0;
}

static void join_small(void *body, const void *before)
{
    ((struct pl_small *) body)->site = ((const struct pl_small *) before)->site;
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

/* Moments and heap compositions begin with their time. */
static bool time_held_still(const void *before, const void *after)
{
    return memcmp(before, after, sizeof(uint64_t)) == 0;
}

static void join_time(void *body, const void *before)
{
    memcpy(body, before, sizeof(uint64_t));
}

/* Referring records before those they refer to, and frees before allocations. A tally that replaces a small record is
 * published after the record names it, so tallies come before small records: a record that has grown meanwhile has the
 * figures that it grew with. The peak is made of the kinds in the first table. */
static const struct kind figure_kinds[] = {
    {PL_KIND_COMPOSITION, sizeof(struct pl_composition_record), time_held_still, join_time, true},
    {PL_KIND_REMOTE, sizeof(struct pl_remote), remote_held_still, join_remote, false},
    {PL_KIND_TALLY, sizeof(struct pl_tally), tally_held_still, join_tally, false},
    {PL_KIND_SMALL, sizeof(struct pl_small), small_held_still, join_small, false},
    {PL_KIND_ROW, sizeof(struct pl_row), row_held_still, join_row, false},
    {PL_KIND_LEDGER, sizeof(struct pl_ledger), ledger_held_still, join_ledger, false},
    {.kind = PL_KIND_HEAP, .record_bytes = sizeof(struct pl_heap_record)},
};
static const struct kind thread_kind = {.kind = PL_KIND_THREAD, .record_bytes = sizeof(struct pl_thread_record)};
static const struct kind scope_kind = {.kind = PL_KIND_SCOPE, .record_bytes = sizeof(struct pl_scope_record)};
static const struct kind other_kinds[] = {
    {PL_KIND_MOMENT, sizeof(struct pl_moment), time_held_still, join_time, true},
    {.kind = PL_KIND_VERDICT, .record_bytes = sizeof(struct pl_verdict_record)},
    {.kind = PL_KIND_FOOTPRINT, .record_bytes = sizeof(struct pl_footprint_record)},
    {.kind = PL_KIND_RESIDENT, .record_bytes = sizeof(struct pl_resident_record)},
    {.kind = PL_KIND_SITE, .record_bytes = sizeof(struct pl_site)},
    {.kind = PL_KIND_TAG, .record_bytes = sizeof(struct pl_tag_record)},
    {.kind = PL_KIND_SYMBOL, .record_bytes = sizeof(struct pl_symbol)},
    {.kind = PL_KIND_JIT, .record_bytes = sizeof(struct pl_jit_record)},
    {.kind = PL_KIND_HOLDER, .record_bytes = sizeof(struct pl_holder_record)},
    {.kind = PL_KIND_FRAME, .record_bytes = sizeof(struct pl_frame)},
    {.kind = PL_KIND_FUNCTION, .record_bytes = sizeof(struct pl_function_record)},
    {.kind = PL_KIND_MODULE, .record_bytes = sizeof(struct pl_module)},
    {.kind = PL_KIND_TEXT, .record_bytes = 1},
};
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- the source ---- */

static size_t read_memory(const struct pl_image_source *source, uint64_t offset, void *out, size_t bytes)
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

size_t pl_image_read(const struct pl_image_source *source, uint64_t offset, void *out, size_t bytes)
{
    return source->fd < 0 ? read_memory(source, offset, out, bytes) : read_file(source->fd, offset, out, bytes);
}

static uint64_t source_bytes(const struct pl_image_source *source)
{
    struct stat status;
    if (source->fd < 0)
        return source->data_bytes;
    return fstat(source->fd, &status) == 0 && status.st_size > 0 ? (uint64_t) status.st_size : 0;
}

/* The first four bytes, and up to four more if they are readable: "\x7fELF", "#!/bin/s". */
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

static int refuse_magic(const struct pl_image_source *source, const struct pl_header *header, size_t got, char *why)
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

static int refuse_layout(const struct pl_image_source *source, const struct pl_header *header, char *why)
{
    if (header->byte_order == __builtin_bswap32(PL_BYTE_ORDER))
        snprintf(why, PL_WHY_BYTES,
                 "%.350s was written on a machine with the other byte order: read it on such a machine", source->name);
    else if (header->byte_order != PL_BYTE_ORDER)
        snprintf(why, PL_WHY_BYTES, "%.350s is damaged (its byte order mark is %#x)", source->name, header->byte_order);
    else if (header->version > PL_VERSION)
        snprintf(why, PL_WHY_BYTES,
                 "%.350s has format version %u, but this plimsoll reads up to version %u: use a newer one",
                 source->name, header->version, PL_VERSION);
    else if (header->version == 0)
        snprintf(why, PL_WHY_BYTES, "%.350s has format version 0, which no plimsoll writes", source->name);
    else if (header->version < PL_VERSION_OLDEST)
        snprintf(
            why, PL_WHY_BYTES,
            "%.350s was written by an older Plimsoll (format %u), but this one reads formats %u to %u: profile the "
            "program again",
            source->name, header->version, PL_VERSION_OLDEST, PL_VERSION);
    else if (header->chunk_bytes != PL_CHUNK_BYTES)
        snprintf(why, PL_WHY_BYTES, "%.350s is damaged (chunks of %u bytes instead of %u)", source->name,
                 header->chunk_bytes, PL_CHUNK_BYTES);
    else
        return 0;
    return -EINVAL;
}

int pl_image_header(const struct pl_image_source *source, struct pl_header *out, char why[PL_WHY_BYTES])
{
    struct pl_header header = {.magic = ""};
    errno = 0;
    size_t got = pl_image_read(source, 0, &header, sizeof header);
    if (got == 0 && errno != 0) {
        int error = errno;
        snprintf(why, PL_WHY_BYTES, "cannot read %.350s: %s", source->name, strerror(error));
        return -error;
    }
    if (got < sizeof header.magic || memcmp(header.magic, PL_MAGIC, sizeof header.magic) != 0)
        return refuse_magic(source, &header, got, why);
    uint64_t bytes = source_bytes(source);
    if (bytes < PL_CHUNKS_OFFSET) {
        snprintf(why, PL_WHY_BYTES, "%.350s is truncated: %llu bytes, but a profile has at least %u", source->name,
                 (unsigned long long) bytes, PL_CHUNKS_OFFSET);
        return -EINVAL;
    }
    int refused = refuse_layout(source, &header, why);
    if (refused == 0)
        *out = header;
    return refused;
}

/* ---- chunks ---- */

int pl_image_directory(const struct pl_image_source *source, uint8_t directory[PL_CHUNKS_MAX])
{
    memset(directory, PL_KIND_NONE, PL_CHUNKS_MAX);
    for (uint32_t first = 0; first < PL_CHUNKS_MAX; first += PL_DIRECTORY_CHUNKS) {
        if (first > 0 && directory[first - 1] != PL_KIND_DIRECTORY)
            break;
        size_t got = pl_image_read(source, pl_chunk_entry(first), directory + first, PL_DIRECTORY_CHUNKS);
        if (first == 0 && got < PL_DIRECTORY_CHUNKS)
            return -EIO;
    }
    return 0;
}

/* Reads a record until it holds still. False if it never did; `record` then has the last reading. */
static bool reread(struct copy *copy, const struct kind *kind, uint64_t offset, char *record)
{
    size_t bytes = kind->record_bytes;
    for (int i = 0; i < RECORD_TRIES && copy->source->fd >= 0 && copy->tries_left > 0; i++, copy->tries_left--) {
        if (i % 8 == 7)
            sched_yield(); /* the owner may be waiting for this very processor */
        if (pl_image_read(copy->source, offset, copy->one_before, bytes) < bytes ||
            pl_image_read(copy->source, offset, record, bytes) < bytes ||
            pl_image_read(copy->source, offset, copy->one_after, bytes) < bytes)
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

/* A record that is only partly in the file reads as zeros. Returns false if the chunk was short. */
static bool read_chunk(const struct copy *copy, const struct kind *kind, uint64_t offset, char *out)
{
    size_t wanted = (size_t) per_chunk(kind) * kind->record_bytes;
    size_t got = pl_image_read(copy->source, offset, out, wanted);
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

/* The next chunk of a kind, at or after `from`; PL_CHUNKS_MAX if there is none. */
static uint32_t next_chunk(const struct copy *copy, enum pl_kind kind, uint32_t from)
{
    const uint8_t *found = memchr(copy->directory + from, (int) kind, PL_CHUNKS_MAX - from);
    return found ? (uint32_t) (found - copy->directory) : PL_CHUNKS_MAX;
}

/* The number of this kind's chunks that begin within the file. The others are damage. */
static uint32_t count_chunks(struct copy *copy, enum pl_kind kind, uint64_t bytes)
{
    uint32_t present = 0;
    for (uint32_t i = next_chunk(copy, kind, 0); i < PL_CHUNKS_MAX; i = next_chunk(copy, kind, i + 1)) {
        if (pl_chunk_offset(i) < bytes)
            present++;
        else
            copy->out->damage++;
    }
    return present;
}

/* Puts the records of all chunks of a kind into one array, without the unused bytes at the end of each chunk. */
static void read_chunks(struct copy *copy, const struct kind *kind, uint32_t wanted, char *out)
{
    uint32_t i = next_chunk(copy, kind->kind, 0);
    for (; wanted > 0; wanted--, i = next_chunk(copy, kind->kind, i + 1)) {
        bool whole = kind->held_still ? read_moving_chunk(copy, kind, pl_chunk_offset(i), out)
                                      : read_chunk(copy, kind, pl_chunk_offset(i), out);
        copy->out->damage += !whole;
        out += (size_t) per_chunk(kind) * kind->record_bytes;
    }
}

/* ---- kinds ---- */

/* The directory tells how many records there can be, the count how many there are. But the runtime goes on counting
 * when no room is left, and a hostile file can say anything: so memory is limited by the directory and the size of the
 * file. */
static void read_kind(struct copy *copy, const struct kind *kind)
{
    struct pl_image *out = copy->out;
    struct pl_image_table *table = &out->table[kind->kind];
    pl_image_read(copy->source, 0, &out->header, sizeof out->header);
    pl_image_directory(copy->source, copy->directory);
    out->file_bytes = source_bytes(copy->source);

    uint64_t room = (uint64_t) count_chunks(copy, kind->kind, out->file_bytes) * per_chunk(kind);
    table->count = (uint32_t) (out->header.count[kind->kind] < room ? out->header.count[kind->kind] : room);
    uint32_t chunks = (table->count + per_chunk(kind) - 1) / per_chunk(kind);
    table->record = pl_arena_alloc(copy->scratch, (size_t) chunks * per_chunk(kind) * kind->record_bytes);
    read_chunks(copy, kind, chunks, table->record);
}

static void read_threads_and_scopes(struct copy *copy)
{
    struct pl_image *out = copy->out;
    uint64_t damage = out->damage;
    read_kind(copy, &thread_kind);
    struct pl_image_table before = out->table[PL_KIND_THREAD];
    out->damage = damage; /* missing chunks are counted in the second reading */
    read_kind(copy, &scope_kind);
    read_kind(copy, &thread_kind);
    struct pl_image_table *after = &out->table[PL_KIND_THREAD];
    struct pl_thread_record *first = before.record, *last = after->record;
    for (uint32_t i = 1; i < before.count && i < after->count; i++)
        if (first[i].valid != 0)
            last[i] = first[i];
}

static struct pl_peak read_peak(const struct copy *copy)
{
    struct pl_header header = {.magic = ""};
    pl_image_read(copy->source, 0, &header, sizeof header);
    return header.peak;
}

/* Reads the kinds that a peak is made of, and the peak. False if it moved meanwhile. */
static bool read_figures(struct copy *copy, struct pl_peak *peak)
{
    struct pl_peak before = read_peak(copy);
    copy->out->damage = copy->out->in_flight = 0;
    for (size_t i = 0; i < COUNT(figure_kinds); i++)
        read_kind(copy, &figure_kinds[i]);
    *peak = read_peak(copy);
    return peak->era == before.era && peak->peaks == before.peaks;
}

int pl_image_take(const struct pl_image_source *source, struct pl_arena *scratch, struct pl_image *out,
                  char why[PL_WHY_BYTES])
{
    struct pl_header header;
    int refused = pl_image_header(source, &header, why);
    if (refused != 0)
        return refused;
    *out = (struct pl_image){.header = header};
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
