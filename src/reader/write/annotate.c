/* SPDX-License-Identifier: MIT */
/*
 * annotate.c - adds symbols, the exit status and other records to the file of a process that has ended.
 *
 * New chunks of text and symbols are appended. The flag that makes readers use them is written last: an interrupted
 * attempt leaves a profile without symbols, and the next attempt starts over. Existing records never change.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reader/image.h"
#include "reader/write/annotate.h"
#include "reader/write/chunks.h"
#include "reader/write/textout.h"

struct file {
    int fd;
    const char *path;
    struct pl_header header;
};

static int fail(const struct file *file, int error, const char *doing, char *why)
{
    snprintf(why, PL_WHY_BYTES, "cannot %s %.350s: %s", doing, file->path, strerror(error));
    return -error;
}

static int open_ended(struct file *file, char *why)
{
    file->fd = open(file->path, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file->fd < 0)
        return fail(file, errno, "open", why);
    struct pl_image_source source = {.name = file->path, .fd = file->fd};
    int result = pl_image_header(&source, &file->header, why);
    if (result == 0 && pl_profile_process_runs(&file->header)) {
        snprintf(why, PL_WHY_BYTES, "%.350s is still being written by process %u", file->path, file->header.pid);
        result = -EBUSY;
    }
    if (result != 0)
        close(file->fd);
    return result;
}

#define WRITE_FIELD(file, field)                                                                                       \
    pl_chunks_write_at((file)->fd, offsetof(struct pl_header, field), &(file)->header.field, sizeof(file)->header.field)

static int write_flag(struct file *file, uint32_t flag)
{
    file->header.flags |= flag;
    return WRITE_FIELD(file, flags);
}

int pl_annotate_ending(const char *path, int wait_status, uint64_t end_ns, char why[PL_WHY_BYTES])
{
    struct file file = {.path = path};
    int result = open_ended(&file, why);
    if (result != 0)
        return result;
    file.header.wait_status = (uint32_t) wait_status;
    result = WRITE_FIELD(&file, wait_status);
    if (result == 0 && file.header.end_monotonic_ns == 0) {
        file.header.end_monotonic_ns = end_ns;
        result = WRITE_FIELD(&file, end_monotonic_ns);
    }
    if (result == 0)
        result = write_flag(&file, PL_FLAG_WAITED);
    close(file.fd);
    return result == 0 ? 0 : fail(&file, -result, "write to", why);
}

int pl_annotate_out_of_memory(const char *path, char why[PL_WHY_BYTES])
{
    struct file file = {.path = path};
    int result = open_ended(&file, why);
    if (result != 0)
        return result;
    result = write_flag(&file, PL_FLAG_OUT_OF_MEMORY);
    close(file.fd);
    return result == 0 ? 0 : fail(&file, -result, "write to", why);
}

int pl_annotate_linked(const char *path, char why[PL_WHY_BYTES])
{
    struct file file = {.path = path};
    int result = open_ended(&file, why);
    if (result != 0)
        return result;
    file.header.bypass[PL_BYPASS_LINKED] = file.header.executable;
    result = WRITE_FIELD(&file, bypass);
    close(file.fd);
    return result == 0 ? 0 : fail(&file, -result, "write to", why);
}

/* ---- symbols ---- */

/* Chunks of the kind that is to be written were left by an interrupted attempt and are discarded. Sets *texts to the
 * number of text chunks. */
static int read_directory(const struct file *file, struct pl_chunks *chunks, enum pl_kind kind, uint32_t *texts)
{
    struct pl_image_source source = {.name = file->path, .fd = file->fd};
    if (pl_image_directory(&source, chunks->directory) != 0)
        return -EIO;
    *texts = 0;
    chunks->fd = file->fd;
    for (uint32_t i = 0; i < PL_CHUNKS_MAX; i++) {
        if (chunks->directory[i] == kind)
            chunks->directory[i] = PL_KIND_NONE;
        *texts += chunks->directory[i] == PL_KIND_TEXT;
        if (chunks->directory[i] != PL_KIND_NONE)
            chunks->used = i + 1;
    }
    return 0;
}

static uint32_t *frame_records(const struct pl_profile *profile, struct pl_arena *arena)
{
    uint32_t *record = pl_arena_alloc(arena, profile->frames * sizeof *record);
    for (uint32_t i = 0; i < profile->frames; i++)
        record[i] = profile->frame[i].record;
    return record;
}

static int write_symbols(struct file *file, struct pl_chunks *chunks, struct pl_textout *texts,
                         const struct pl_profile *symbolized)
{
    struct pl_symbol *symbol;
    uint32_t symbols = pl_textout_symbols(texts, symbolized, frame_records(symbolized, texts->arena), &symbol);
    int result = pl_chunks_write(chunks, PL_KIND_TEXT, texts->text, texts->bytes);
    if (result == 0)
        result = pl_chunks_write(chunks, PL_KIND_SYMBOL, symbol, symbols);
    if (result == 0)
        result = pl_chunks_end(chunks);
    file->header.chunks = chunks->used;
    file->header.count[PL_KIND_SYMBOL] = symbols;
    if (texts->bytes > 0)
        file->header.count[PL_KIND_TEXT] = texts->base + texts->bytes;
    if (result == 0)
        result = WRITE_FIELD(file, chunks);
    if (result == 0)
        result = WRITE_FIELD(file, count);
    return result == 0 ? write_flag(file, PL_FLAG_SYMBOLS) : result;
}

static int annotate(struct file *file, const struct pl_profile *symbolized)
{
    struct pl_arena *arena = pl_arena_new();
    struct pl_chunks *chunks = pl_arena_alloc(arena, sizeof *chunks);
    uint32_t texts;
    off_t bytes = lseek(file->fd, 0, SEEK_END);
    int result = read_directory(file, chunks, PL_KIND_SYMBOL, &texts);
    if (result == 0) {
        struct pl_textout out = pl_textout_new(arena, texts * PL_CHUNK_BYTES, pl_textout_symbol_texts(symbolized));
        result = write_symbols(file, chunks, &out, symbolized);
        if (result != 0 && ftruncate(file->fd, bytes) != 0)
            result = -errno;
    }
    pl_arena_free(arena);
    return result;
}

int pl_annotate(const char *path, const struct pl_profile *symbolized, char why[PL_WHY_BYTES])
{
    struct file file = {.path = path};
    int result = open_ended(&file, why);
    if (result != 0)
        return result;
    if (!pl_profile_same_process(&file.header, &symbolized->header)) {
        snprintf(why, PL_WHY_BYTES, "%.350s is not the profile that the symbols are for", path);
        result = -EINVAL;
    } else if (!(file.header.flags & PL_FLAG_SYMBOLS)) {
        result = annotate(&file, symbolized);
        if (result != 0)
            fail(&file, -result, "write symbols to", why);
    }
    close(file.fd);
    return result;
}

/* ---- other records ---- */

/* Writes all records of a kind, with record 0. */
static int write_kind(struct file *file, enum pl_kind kind, const void *record, uint32_t count)
{
    struct pl_arena *arena = pl_arena_new();
    struct pl_chunks *chunks = pl_arena_alloc(arena, sizeof *chunks);
    uint32_t texts;
    int result = read_directory(file, chunks, kind, &texts);
    if (result == 0)
        result = pl_chunks_write(chunks, kind, record, count);
    if (result == 0)
        result = pl_chunks_end(chunks);
    file->header.chunks = chunks->used;
    file->header.count[kind] = count;
    if (result == 0)
        result = WRITE_FIELD(file, chunks);
    if (result == 0)
        result = WRITE_FIELD(file, count);
    pl_arena_free(arena);
    return result;
}

/* The word that makes readers use the records comes last. */
static int write_look(struct file *file, const struct pl_look *look)
{
    int result = write_kind(file, PL_KIND_VERDICT, look->record, look->count);
    file->header.looked = look->looked;
    file->header.looked_partly = look->partly;
    file->header.looked_ns = look->ns;
    if (result == 0)
        result = WRITE_FIELD(file, looked_ns);
    if (result == 0)
        result = WRITE_FIELD(file, looked_partly);
    if (result == 0)
        result = WRITE_FIELD(file, looked);
    return result;
}

int pl_annotate_look(const char *path, const struct pl_look *look, char why[PL_WHY_BYTES])
{
    struct file file = {.path = path};
    int result = open_ended(&file, why);
    if (result != 0)
        return result;
    result = file.header.looked == PL_LOOKED_NOT ? write_look(&file, look) : 0;
    if (result != 0)
        fail(&file, -result, "write what is lost to", why);
    close(file.fd);
    return result;
}

static int annotate_once(const char *path, enum pl_kind kind, const void *record, uint32_t count, const char *what,
                         char why[PL_WHY_BYTES])
{
    struct file file = {.path = path};
    int result = open_ended(&file, why);
    if (result != 0)
        return result;
    result = file.header.count[kind] ? 0 : write_kind(&file, kind, record, count);
    if (result != 0)
        fail(&file, -result, what, why);
    close(file.fd);
    return result;
}

int pl_annotate_footprints(const char *path, const struct pl_footprint_record *record, uint32_t count,
                           char why[PL_WHY_BYTES])
{
    return annotate_once(path, PL_KIND_FOOTPRINT, record, count, "write what RSS consisted of to", why);
}

int pl_annotate_residents(const char *path, const struct pl_resident_record *record, uint32_t count,
                          char why[PL_WHY_BYTES])
{
    return annotate_once(path, PL_KIND_RESIDENT, record, count, "write how much was resident to", why);
}

int pl_annotate_holders(const char *path, const struct pl_holder_record *record, uint32_t count,
                        char why[PL_WHY_BYTES])
{
    return annotate_once(path, PL_KIND_HOLDER, record, count, "write what holds the heap to", why);
}
