/* SPDX-License-Identifier: MIT */
/*
 * annotate.c - adds to the file of a process that has ended.
 *
 * Everything is appended: new chunks of text and of symbols behind those that are there. The flag that makes a reader
 * look at them is written last, so whoever is interrupted before that leaves a profile without symbols, and the next
 * attempt starts afresh. Nothing a profile already has is ever changed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "annotate.h"
#include "index.h"
#include "process.h"
#include "snapshot.h"
#include "write.h"

struct file {
    int fd;
    const char *path;
    struct pl_header header;
};

/* Symbols and texts to be written; texts are shared, and none crosses a chunk. */
struct addition {
    struct pl_arena *arena;
    struct pl_symbol *symbol;
    uint32_t symbols; /* record 0 included */
    char *text;
    uint32_t text_bytes, text_room;
    uint32_t text_base; /* where `text` begins among all texts of the file */
    struct pl_text *known;
    uint32_t known_count;
    struct pl_index index;
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
    struct pl_source source = {.name = file->path, .fd = file->fd};
    int result = pl_snapshot_header(&source, &file->header, why);
    if (result == 0 && pl_process_runs(&file->header)) {
        snprintf(why, PL_WHY_BYTES, "%.350s is still being written by process %u", file->path, file->header.pid);
        result = -EBUSY;
    }
    if (result != 0)
        close(file->fd);
    return result;
}

#define WRITE_FIELD(file, field)                                                                                       \
    pl_write_at((file)->fd, offsetof(struct pl_header, field), &(file)->header.field, sizeof(file)->header.field)

static int write_flag(struct file *file, uint32_t flag)
{
    file->header.flags |= flag;
    return WRITE_FIELD(file, flags);
}

int pl_profile_set_ending(const char *path, int wait_status, uint64_t end_ns, char why[PL_WHY_BYTES])
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

/* ---- collecting ---- */

struct question {
    const struct addition *addition;
    const char *text;
    uint32_t bytes;
};

static bool same_text(const void *context, uint32_t entry)
{
    const struct question *question = context;
    const struct addition *addition = question->addition;
    const struct pl_text *known = &addition->known[entry];
    return known->bytes == question->bytes &&
           memcmp(addition->text + (known->offset - addition->text_base), question->text, known->bytes) == 0;
}

static uint64_t hash_text(const char *text, uint32_t bytes)
{
    uint64_t hash = 0xcbf29ce484222325ull;
    for (uint32_t i = 0; i < bytes; i++)
        hash = (hash ^ (unsigned char) text[i]) * 0x100000001b3ull;
    return hash;
}

static void make_room(struct addition *addition, uint32_t bytes)
{
    if (addition->text_bytes + bytes <= addition->text_room)
        return;
    uint32_t room = 2 * addition->text_room + 4 * PL_CHUNK_BYTES;
    char *text = pl_arena_alloc(addition->arena, room);
    if (addition->text_bytes > 0)
        memcpy(text, addition->text, addition->text_bytes);
    addition->text = text;
    addition->text_room = room;
}

static struct pl_text append_text(struct addition *addition, const char *text, uint32_t bytes)
{
    uint32_t left = PL_CHUNK_BYTES - addition->text_bytes % PL_CHUNK_BYTES;
    uint32_t skipped = bytes > left ? left : 0;
    make_room(addition, skipped + bytes);
    addition->text_bytes += skipped;
    struct pl_text range = {addition->text_base + addition->text_bytes, bytes};
    memcpy(addition->text + addition->text_bytes, text, bytes);
    addition->text_bytes += bytes;
    return range;
}

/* A text is at most a chunk long; the rest of a longer name is lost. */
static struct pl_text add_text(struct addition *addition, const char *text)
{
    uint32_t bytes = (uint32_t) strnlen(text, PL_CHUNK_BYTES);
    if (bytes == 0 || addition->text_bytes > PL_FILE_BYTES_MAX) /* too much for any file: writing will say so */
        return (struct pl_text){0, 0};
    struct question question = {addition, text, bytes};
    uint32_t *slot = pl_index_find(&addition->index, hash_text(text, bytes), bytes, same_text, &question);
    if (*slot == 0) {
        addition->known[addition->known_count] = append_text(addition, text, bytes);
        *slot = ++addition->known_count;
    }
    return addition->known[*slot - 1];
}

static void add_place(struct addition *addition, uint32_t frame, const struct pl_place *place)
{
    addition->symbol[addition->symbols++] = (struct pl_symbol){
        .frame = frame,
        .line = place->line,
        .function = add_text(addition, place->function),
        .linkage = add_text(addition, place->linkage),
        .file = add_text(addition, place->file),
        .inlined = place->inlined,
        .column = place->column,
    };
}

/* A frame that could not be named has one place that says nothing: no record says the same. */
static bool says_something(const struct pl_frame_view *frame)
{
    return frame->places > 1 || (frame->places == 1 && (frame->place->function[0] || frame->place->file[0]));
}

static void collect(struct addition *addition, const struct pl_profile *profile)
{
    uint32_t places = 0;
    for (uint32_t i = 0; i < profile->frames; i++)
        places += profile->frame[i].places;
    addition->symbols = 1;
    addition->symbol = pl_arena_alloc(addition->arena, (places + 1ull) * sizeof *addition->symbol);
    addition->known = pl_arena_alloc(addition->arena, 3ull * places * sizeof *addition->known);
    addition->index = pl_index_new(addition->arena, 3 * places);
    for (uint32_t i = 0; i < profile->frames; i++) {
        const struct pl_frame_view *frame = &profile->frame[i];
        for (uint32_t p = 0; p < frame->places && says_something(frame); p++)
            add_place(addition, frame->record, &frame->place[p]);
    }
}

/* ---- writing ---- */

struct layout {
    uint8_t directory[PL_CHUNKS_MAX];
    uint32_t chunks; /* in use, and everything before them */
    uint32_t texts;  /* of which hold text */
};

/* Symbol chunks without the flag were left by somebody who was interrupted. */
static int read_layout(struct file *file, struct layout *layout)
{
    struct pl_source source = {.name = file->path, .fd = file->fd};
    if (pl_source_read(&source, PL_HEADER_BYTES, layout->directory, PL_CHUNKS_MAX) != PL_CHUNKS_MAX)
        return -EIO;
    for (uint32_t i = 0; i < PL_CHUNKS_MAX; i++) {
        if (layout->directory[i] == PL_KIND_SYMBOL)
            layout->directory[i] = PL_KIND_NONE;
        layout->texts += layout->directory[i] == PL_KIND_TEXT;
        if (layout->directory[i] != PL_KIND_NONE)
            layout->chunks = i + 1;
    }
    return 0;
}

static uint64_t chunk_offset(uint32_t chunk)
{
    return PL_CHUNKS_OFFSET + (uint64_t) chunk * PL_CHUNK_BYTES;
}

static int write_chunks(struct file *file, struct layout *layout, enum pl_kind kind, const void *data, size_t bytes)
{
    size_t chunks = (bytes + PL_CHUNK_BYTES - 1) / PL_CHUNK_BYTES;
    if (chunks > PL_CHUNKS_MAX - layout->chunks)
        return -EFBIG;
    uint64_t offset = chunk_offset(layout->chunks);
    memset(layout->directory + layout->chunks, kind, chunks);
    layout->chunks += (uint32_t) chunks;
    return pl_write_at(file->fd, offset, data, bytes);
}

static int write_addition(struct file *file, struct layout *layout, const struct addition *addition)
{
    int result = write_chunks(file, layout, PL_KIND_TEXT, addition->text, addition->text_bytes);
    if (result == 0)
        result =
            write_chunks(file, layout, PL_KIND_SYMBOL, addition->symbol, addition->symbols * sizeof *addition->symbol);
    if (result == 0 && ftruncate(file->fd, (off_t) chunk_offset(layout->chunks)) != 0)
        result = -errno;
    if (result == 0)
        result = pl_write_at(file->fd, PL_HEADER_BYTES, layout->directory, PL_CHUNKS_MAX);
    file->header.chunks = layout->chunks;
    file->header.count[PL_KIND_SYMBOL] = addition->symbols;
    if (addition->text_bytes > 0)
        file->header.count[PL_KIND_TEXT] = addition->text_base + addition->text_bytes;
    if (result == 0)
        result = WRITE_FIELD(file, chunks);
    if (result == 0)
        result = WRITE_FIELD(file, count);
    return result == 0 ? write_flag(file, PL_FLAG_SYMBOLS) : result;
}

static int annotate(struct file *file, const struct pl_profile *symbolized)
{
    struct pl_arena *arena = pl_arena_new();
    struct layout *layout = pl_arena_alloc(arena, sizeof *layout);
    off_t bytes = lseek(file->fd, 0, SEEK_END);
    int result = read_layout(file, layout);
    if (result == 0) {
        struct addition addition = {.arena = arena, .text_base = layout->texts * PL_CHUNK_BYTES};
        collect(&addition, symbolized);
        result = write_addition(file, layout, &addition);
        if (result != 0 && ftruncate(file->fd, bytes) != 0)
            result = -errno;
    }
    pl_arena_free(arena);
    return result;
}

static bool same_process(const struct pl_header *a, const struct pl_header *b)
{
    return a->pid == b->pid && a->start_monotonic_ns == b->start_monotonic_ns && a->seed == b->seed;
}

int pl_annotate(const char *path, const struct pl_profile *symbolized, char why[PL_WHY_BYTES])
{
    struct file file = {.path = path};
    int result = open_ended(&file, why);
    if (result != 0)
        return result;
    if (!same_process(&file.header, &symbolized->header)) {
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
