/* SPDX-License-Identifier: MIT */
/*
 * copy.c - writes a copy of a live profile to a file of its own: a snapshot.
 *
 * pl_image_take() does the difficult part: it copies a file that changes meanwhile, each record before the records
 * that it refers to, and the live file is not read again. Here each kind of record becomes chunks again, one kind after
 * the other. Records keep their numbers, so nothing in them needs to change.
 *
 * Invariant: the file is not a profile until the magic word is at its start, and that is written last.
 */
#include "reader/write/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "reader/image.h"
#include "reader/write/chunks.h"

#define NAME_BYTES_MAX 4096u

struct pl_copy {
    struct pl_arena *arena;
    struct pl_image image;
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

/* "" if the text is out of range. */
static const char *text_of(const struct pl_copy *copy, struct pl_text text)
{
    const struct pl_image_table *table = &copy->image.table[PL_KIND_TEXT];
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
    int result = pl_image_take(&(struct pl_image_source){.name = path, .fd = fd}, arena, &copy->image, why);
    close(fd);
    if (result != 0) {
        pl_arena_free(arena);
        return result;
    }
    copy->arena = arena;
    copy->taken_ns = now_ns(); /* taken last: everything in the copy happened before */
    copy->destination = text_of(copy, copy->image.header.destination);
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
    return &copy->image.header;
}

const char *pl_copy_destination(const struct pl_copy *copy)
{
    return copy->destination;
}

/* ---- writing ---- */

/* Appends the name to the texts. A text must not cross a chunk. */
static struct pl_text add_name(struct pl_copy *copy, const char *name)
{
    struct pl_image_table *texts = &copy->image.table[PL_KIND_TEXT];
    uint32_t bytes = (uint32_t) strnlen(name, NAME_BYTES_MAX);
    if (bytes == 0)
        return (struct pl_text){0, 0};
    uint32_t at = texts->count > 0 ? texts->count : 1; /* offset 0 means no text */
    if (at % PL_CHUNK_BYTES + bytes > PL_CHUNK_BYTES)
        at += PL_CHUNK_BYTES - at % PL_CHUNK_BYTES;
    char *longer = pl_arena_alloc(copy->arena, (size_t) at + bytes);
    if (texts->count > 0)
        memcpy(longer, texts->record, texts->count);
    memcpy(longer + at, name, bytes);
    *texts = (struct pl_image_table){longer, at + bytes};
    return (struct pl_text){at, bytes};
}

/* The header of the snapshot. NO_OUTPUT is cleared: it is about the profile at the program's end, not about this
 * one. */
static struct pl_header describe(struct pl_copy *copy, const char *name)
{
    struct pl_header header = copy->image.header;
    header.flags = (header.flags & ~(uint32_t) PL_FLAG_NO_OUTPUT) | PL_FLAG_SNAPSHOT;
    header.snapshot_name = add_name(copy, name);
    header.snapshot_ns = copy->taken_ns;
    header.destination = (struct pl_text){0, 0};
    header.chunks = 0;
    memset(header.magic, 0, sizeof header.magic);
    return header;
}

static int write_kinds(const struct pl_copy *copy, struct pl_header *header, struct pl_chunks *chunks)
{
    int result = 0;
    for (int kind = 0; kind < PL_KINDS_MAX && result == 0; kind++) {
        const struct pl_image_table *table = &copy->image.table[kind];
        header->count[kind] = pl_record_bytes[kind] > 0 ? table->count : 0;
        if (header->count[kind] > 0)
            result = pl_chunks_write(chunks, (enum pl_kind) kind, table->record, table->count);
    }
    header->chunks = chunks->used;
    return result == 0 ? pl_chunks_end(chunks) : result;
}

int pl_copy_write(struct pl_copy *copy, const char *name, int fd)
{
    struct pl_chunks *chunks = pl_arena_alloc(copy->arena, sizeof *chunks);
    struct pl_header header = describe(copy, name);
    chunks->fd = fd;
    int result = write_kinds(copy, &header, chunks);
    if (result == 0)
        result = pl_chunks_write_at(fd, 0, &header, sizeof header);
    return result == 0 ? pl_chunks_write_at(fd, 0, PL_MAGIC, sizeof header.magic) : result;
}
