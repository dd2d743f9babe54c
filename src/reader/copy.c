/* SPDX-License-Identifier: MIT */
/*
 * copy.c - a live profile as a file of its own.
 *
 * The careful part is the reader's: pl_snapshot_take() copies a file that changes meanwhile, the naming before the
 * named, and what it gives is never looked up in the live file again. Here each kind of record becomes chunks again,
 * one kind after the other. Records keep their numbers, so nothing in them needs to be changed.
 *
 * Invariant: the file is no profile until the magic word at its start is there, and that is written last.
 */
#include "copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "snapshot.h"
#include "write.h"

#define NAME_BYTES_MAX 4096u

struct pl_copy {
    struct pl_arena *arena;
    struct pl_snapshot snapshot;
    uint64_t taken_ns;
    const char *destination;
};

/* ---- taking ---- */

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec;
}

/* A text that is not there is empty. */
static const char *text_of(const struct pl_copy *copy, struct pl_text text)
{
    const struct pl_table *table = &copy->snapshot.table[PL_KIND_TEXT];
    if (text.offset > table->count || text.bytes > table->count - text.offset)
        return "";
    return pl_arena_text(copy->arena, (const char *) table->record + text.offset, text.bytes);
}

int pl_copy_take(const char *path, struct pl_copy **out, char why[PL_WHY_BYTES])
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
        int error = errno;
        snprintf(why, PL_WHY_BYTES, "cannot open %.350s: %s", path, strerror(error));
        return -error;
    }
    struct pl_arena *arena = pl_arena_new();
    struct pl_copy *copy = pl_arena_alloc(arena, sizeof *copy);
    int result = pl_snapshot_take(&(struct pl_source){.name = path, .fd = fd}, arena, &copy->snapshot, why);
    close(fd);
    if (result != 0) {
        pl_arena_free(arena);
        return result;
    }
    copy->arena = arena;
    copy->taken_ns = now_ns(); /* afterwards: whatever is in it happened before */
    copy->destination = text_of(copy, copy->snapshot.header.destination);
    *out = copy;
    return 0;
}

void pl_copy_free(struct pl_copy *copy)
{
    if (copy)
        pl_arena_free(copy->arena); /* the copy itself lives in it */
}

const struct pl_header *pl_copy_header(const struct pl_copy *copy)
{
    return &copy->snapshot.header;
}

const char *pl_copy_destination(const struct pl_copy *copy)
{
    return copy->destination;
}

/* ---- writing ---- */

struct layout {
    struct pl_header header;
    uint8_t directory[PL_CHUNKS_MAX];
    _Alignas(16) char chunk[PL_CHUNK_BYTES];
};

static int write_chunk(struct layout *layout, enum pl_kind kind, const void *data, size_t bytes, int fd)
{
    uint64_t chunk = layout->header.chunks;
    if (chunk >= PL_CHUNKS_MAX)
        return -EFBIG;
    layout->directory[chunk] = (uint8_t) kind;
    layout->header.chunks++;
    memcpy(layout->chunk, data, bytes);
    memset(layout->chunk + bytes, 0, PL_CHUNK_BYTES - bytes);
    return pl_write_at(fd, PL_CHUNKS_OFFSET + chunk * PL_CHUNK_BYTES, layout->chunk, PL_CHUNK_BYTES);
}

static int write_kind(struct layout *layout, enum pl_kind kind, const struct pl_table *table, int fd)
{
    uint32_t bytes = pl_record_bytes[kind], per_chunk = bytes > 0 ? PL_CHUNK_BYTES / bytes : 0;
    uint32_t count = bytes > 0 ? table->count : 0;
    layout->header.count[kind] = count;
    int result = 0;
    for (uint32_t first = 0; first < count && result == 0; first += per_chunk) {
        uint32_t records = count - first < per_chunk ? count - first : per_chunk;
        result = write_chunk(layout, kind, (const char *) table->record + (size_t) first * bytes,
                             (size_t) records * bytes, fd);
    }
    return result;
}

/* Behind the other texts, and in one chunk. */
static struct pl_text add_name(struct pl_copy *copy, const char *name)
{
    struct pl_table *texts = &copy->snapshot.table[PL_KIND_TEXT];
    uint32_t bytes = (uint32_t) strnlen(name, NAME_BYTES_MAX);
    if (bytes == 0)
        return (struct pl_text){0, 0};
    uint32_t at = texts->count > 0 ? texts->count : 1; /* text 0 is no text */
    if (at % PL_CHUNK_BYTES + bytes > PL_CHUNK_BYTES)
        at += PL_CHUNK_BYTES - at % PL_CHUNK_BYTES;
    char *longer = pl_arena_alloc(copy->arena, (size_t) at + bytes);
    if (texts->count > 0)
        memcpy(longer, texts->record, texts->count);
    memcpy(longer + at, name, bytes);
    *texts = (struct pl_table){longer, at + bytes};
    return (struct pl_text){at, bytes};
}

/* What a snapshot says of itself. That the program wants no profile at its end is no word on this one. */
static struct pl_header describe(struct pl_copy *copy, const char *name)
{
    struct pl_header header = copy->snapshot.header;
    header.flags = (header.flags & ~(uint32_t) PL_FLAG_NO_OUTPUT) | PL_FLAG_SNAPSHOT;
    header.snapshot_name = add_name(copy, name);
    header.snapshot_ns = copy->taken_ns;
    header.destination = (struct pl_text){0, 0};
    header.chunks = 0;
    memset(header.magic, 0, sizeof header.magic);
    return header;
}

int pl_copy_write(struct pl_copy *copy, const char *name, int fd)
{
    struct layout *layout = pl_arena_alloc(copy->arena, sizeof *layout);
    layout->header = describe(copy, name);
    int result = 0;
    for (int kind = 0; kind < PL_KINDS_MAX && result == 0; kind++)
        result = write_kind(layout, (enum pl_kind) kind, &copy->snapshot.table[kind], fd);
    if (result == 0)
        result = pl_write_at(fd, PL_HEADER_BYTES, layout->directory, sizeof layout->directory);
    if (result == 0)
        result = pl_write_at(fd, 0, &layout->header, sizeof layout->header);
    return result == 0 ? pl_write_at(fd, 0, PL_MAGIC, sizeof layout->header.magic) : result;
}
