/* SPDX-License-Identifier: MIT */
/*
 * snapshot.c - copies a profile out of a file that may be changing while it is copied.
 *
 * The file is read, never mapped: somebody may truncate it, and a reader must not die of SIGBUS.
 *
 * The one idea is the order. A writer publishes what a record names before the record itself; so kinds are copied from
 * the naming to the named (rows, threads, sites, ... texts), and the directory is read anew for each, so that a chunk
 * added meanwhile is found.
 *
 * A row has two kinds of writer. Its owner brackets changes with the sequence word, so a row is read three times: the
 * sequence, then the body, then the sequence again, and believed when the two agree and are even. Other threads add to
 * `remote` at any time; it is taken from the first of the three readings, before the allocations that it gives back, so
 * that a free is never seen without its allocation.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "snapshot.h"

#define ROWS_PER_CHUNK (PL_CHUNK_BYTES / sizeof(struct pl_row))
#define ROW_TRIES 32          /* an update takes nanoseconds; more tries than this meet a thread that is not running */
#define FILE_TRIES (1u << 13) /* over all rows: a file full of odd sequence words must not keep us */

/* The naming before the named. */
static const struct {
    enum pl_kind kind;
    uint32_t record_bytes;
} reading_order[] = {
    {PL_KIND_ROW, sizeof(struct pl_row)},
    {PL_KIND_THREAD, sizeof(struct pl_thread_record)},
    {PL_KIND_SITE, sizeof(struct pl_site)},
    {PL_KIND_SYMBOL, sizeof(struct pl_symbol)},
    {PL_KIND_FRAME, sizeof(struct pl_frame)},
    {PL_KIND_MODULE, sizeof(struct pl_module)},
    {PL_KIND_TEXT, 1},
};
#define KINDS_READ (sizeof reading_order / sizeof *reading_order)

struct copy {
    const struct pl_source *source;
    struct pl_arena *scratch;
    struct pl_snapshot *out;
    uint32_t tries_left;
    uint8_t directory[PL_CHUNKS_MAX];
};

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
    else if (header->version != PL_VERSION)
        snprintf(why, PL_WHY_BYTES, "%.350s has format version %u, which no plimsoll has written", source->name,
                 header->version);
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

/* Owner's changes are bracketed by the sequence word; `before` and `after` are readings around that of the body. */
static bool held_still(const struct pl_row *before, const struct pl_row *after)
{
    return before->sequence == after->sequence && before->sequence % 2 == 0;
}

/* A row exists if it did at the first reading: then all of it was there at the second. */
static void join_readings(struct pl_row *row, const struct pl_row *before)
{
    row->site = before->site;
    row->remote = before->remote;
}

static bool reread_row(struct copy *copy, uint64_t offset, struct pl_row *row)
{
    for (int i = 0; i < ROW_TRIES && copy->source->fd >= 0 && copy->tries_left > 0; i++, copy->tries_left--) {
        struct pl_row before, body, after;
        if (i % 8 == 7)
            sched_yield(); /* the owner may be waiting for this very processor */
        if (pl_source_read(copy->source, offset, &before, sizeof before) < sizeof before ||
            pl_source_read(copy->source, offset, &body, sizeof body) < sizeof body ||
            pl_source_read(copy->source, offset, &after, sizeof after) < sizeof after)
            return false;
        join_readings(&body, &before);
        *row = body;
        if (held_still(&before, &after))
            return true;
    }
    return false;
}

/* A record that is only partly in the file is not there at all. Returns false if the chunk was short. */
static bool read_chunk(const struct copy *copy, uint64_t offset, void *out, uint32_t record_bytes)
{
    size_t got = pl_source_read(copy->source, offset, out, PL_CHUNK_BYTES);
    size_t whole = got - got % record_bytes;
    memset((char *) out + whole, 0, PL_CHUNK_BYTES - whole);
    return got == PL_CHUNK_BYTES;
}

static bool read_rows(struct copy *copy, uint64_t offset, void *out)
{
    struct pl_row before[ROWS_PER_CHUNK], after[ROWS_PER_CHUNK], *row = out;
    bool whole = read_chunk(copy, offset, before, sizeof *row);
    whole &= read_chunk(copy, offset, row, sizeof *row);
    whole &= read_chunk(copy, offset, after, sizeof *row);
    for (size_t i = 0; i < ROWS_PER_CHUNK; i++) {
        join_readings(&row[i], &before[i]);
        if (!held_still(&before[i], &after[i]) && !reread_row(copy, offset + i * sizeof *row, &row[i]))
            copy->out->in_flight += row[i].site != 0;
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

static void read_chunks(struct copy *copy, enum pl_kind kind, uint32_t record_bytes, uint32_t wanted, char *out)
{
    uint32_t i = next_chunk(copy, kind, 0);
    for (; wanted > 0; wanted--, out += PL_CHUNK_BYTES, i = next_chunk(copy, kind, i + 1)) {
        bool whole = kind == PL_KIND_ROW ? read_rows(copy, chunk_offset(i), out)
                                         : read_chunk(copy, chunk_offset(i), out, record_bytes);
        copy->out->damage += !whole;
    }
}

/* The directory tells how many records there can be, the count how many there are: it goes on counting when no room is
 * left, and in a hostile file it says anything. Memory follows the directory and the size of the file. */
static void read_kind(struct copy *copy, enum pl_kind kind, uint32_t record_bytes)
{
    struct pl_snapshot *out = copy->out;
    struct pl_table *table = &out->table[kind];
    pl_source_read(copy->source, 0, &out->header, sizeof out->header);
    pl_source_read(copy->source, PL_HEADER_BYTES, copy->directory, sizeof copy->directory);
    out->file_bytes = source_bytes(copy->source);

    uint32_t per_chunk = PL_CHUNK_BYTES / record_bytes;
    uint64_t room = (uint64_t) count_chunks(copy, kind, out->file_bytes) * per_chunk;
    table->count = (uint32_t) (out->header.count[kind] < room ? out->header.count[kind] : room);
    uint32_t chunks = (table->count + per_chunk - 1) / per_chunk;
    table->record = pl_arena_alloc(copy->scratch, (size_t) chunks * PL_CHUNK_BYTES);
    read_chunks(copy, kind, record_bytes, chunks, table->record);
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
    for (size_t i = 0; i < KINDS_READ; i++)
        read_kind(copy, reading_order[i].kind, reading_order[i].record_bytes);
    return 0;
}
