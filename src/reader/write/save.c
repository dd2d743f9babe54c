/* SPDX-License-Identifier: MIT */
/*
 * save.c - writes a profile from memory to a file.
 *
 * This is the inverse of reading: for each figure it writes records from which the reader computes that figure. They
 * are fewer than a process writes: duplicates from racing threads, and frees by other threads, have been added up.
 *
 * Invariant: the file is written under another name, and gets its own only when it is complete.
 */
#include "reader/write/save.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reader/base/grow.h"
#include "reader/site.h"
#include "reader/write/chunks.h"
#include "reader/write/save_work.h"

#define PIECES_MAX 20u         /* of a tag's name: a reader reads no more */
#define TIMELINE_SHIFT_MAX 52u /* a reader limits larger ones to this */
#define BYTES_MOST                                                                                                     \
    (256ull << 20) /* all of it is in memory first, and a small file can ask for any number of tallies                 \
                    */

uint32_t pl_save_add(struct pl_save_work *save, enum pl_kind kind, const void *record)
{
    struct pl_save_table *table = &save->table[kind];
    size_t bytes = pl_record_bytes[kind];
    if (table->count == 0) {
        table->record = pl_grow(table->record, table->count++, &table->capacity, bytes);
        memset(table->record, 0, bytes);
    }
    save->bytes += bytes;
    save->full |= save->bytes > BYTES_MOST;
    if (save->full && table->count > 1)
        return table->count - 1;
    table->record = pl_grow(table->record, table->count, &table->capacity, bytes);
    memcpy((char *) table->record + table->count * bytes, record, bytes);
    return table->count++;
}

void *pl_save_at(const struct pl_save_work *save, enum pl_kind kind, uint32_t number)
{
    return (char *) save->table[kind].record + (size_t) number * pl_record_bytes[kind];
}

struct pl_text pl_save_text(struct pl_save_work *save, const char *text)
{
    return pl_textout_add(&save->texts, text, strlen(text));
}

/* ---- the process ---- */

/* Each word ends with a NUL. */
static struct pl_text save_command(struct pl_save_work *save)
{
    size_t bytes = 0;
    for (const char **word = save->profile->argv; *word; word++)
        bytes += strlen(*word) + 1;
    char *text = pl_arena_alloc(save->arena, bytes + 1), *end = text;
    for (const char **word = save->profile->argv; *word; word++)
        end = stpcpy(end, *word) + 1;
    return pl_textout_add(&save->texts, text, bytes);
}

/* True: every site holds now what it held at the peak, so the peak is now. */
static bool peaks_now(const struct pl_profile *profile)
{
    bool now = profile->merged == 0 && profile->peak_s == profile->duration_s;
    for (uint32_t i = 0; i < profile->sites && now; i++) {
        struct pl_figures figures = pl_site_figures(&profile->site[i]);
        now = figures.peak.exact_objects == figures.allocated.exact_objects - figures.freed.exact_objects &&
              figures.peak.sampled.samples == figures.allocated.sampled.samples - figures.freed.sampled.samples;
    }
    return now;
}

/* A profile that was read from a running process becomes a snapshot of it. */
static void describe_snapshot(struct pl_save_work *save)
{
    const struct pl_profile *profile = save->profile;
    struct pl_header *header = &save->header;
    if (profile->running) {
        header->flags |= PL_FLAG_SNAPSHOT;
        header->snapshot_ns = header->start_monotonic_ns + (uint64_t) (profile->duration_s * 1e9);
    }
    header->snapshot_name = pl_save_text(save, profile->snapshot_name ? profile->snapshot_name : "");
}

static void save_process(struct pl_save_work *save)
{
    const struct pl_profile *profile = save->profile;
    struct pl_header *header = &save->header;
    *header = profile->header;
    header->version = PL_VERSION;
    header->flags = (header->flags & ~(uint32_t) PL_FLAG_NO_OUTPUT) | PL_FLAG_SYMBOLS;
    header->executable = pl_save_text(save, profile->executable);
    header->directory = pl_save_text(save, profile->directory);
    header->destination = (struct pl_text){0, 0};
    header->command = save_command(save);
    for (int how = 0; how < PL_BYPASS_COUNT; how++)
        header->bypass[how] = pl_save_text(save, profile->bypass[how]);
    header->damage = profile->damage;
    header->looked = profile->looked;
    header->looked_partly = profile->looked_partly;
    header->looked_ns = (uint64_t) (profile->looked_s * 1e9);
    if (header->timeline_shift > TIMELINE_SHIFT_MAX)
        header->timeline_shift = TIMELINE_SHIFT_MAX;
    if (peaks_now(profile))
        header->peak.peaks = 0;
    describe_snapshot(save);
}

/* ---- tags and threads ---- */

/* The rest of a long name is stored after all tags, so that tags keep their numbers. */
static void save_rest(struct pl_save_work *save, uint32_t tag, const char *name)
{
    uint32_t last = tag;
    size_t bytes = strlen(name);
    for (size_t at = PL_TAG_PIECE, piece = 1; at < bytes && piece < PIECES_MAX; at += PL_TAG_PIECE, piece++) {
        size_t left = bytes - at;
        struct pl_tag_record rest = {
            .valid = 1,
            .kind = PL_TAG_REST,
            .name = pl_textout_add(&save->texts, name + at, left < PL_TAG_PIECE ? left : PL_TAG_PIECE),
        };
        uint32_t number = pl_save_add(save, PL_KIND_TAG, &rest);
        ((struct pl_tag_record *) pl_save_at(save, PL_KIND_TAG, last))->rest = number;
        last = number;
    }
}

static void save_tags(struct pl_save_work *save)
{
    const struct pl_profile *profile = save->profile;
    for (uint32_t i = 1; i < profile->tags; i++) {
        const struct pl_tag_view *tag = &profile->tag[i];
        struct pl_tag_record record = {.valid = 1, .parent = tag->parent, .kind = tag->kind};
        if (tag->kind == PL_TAG_NAMED)
            record.name = pl_textout_add(&save->texts, tag->name, strnlen(tag->name, PL_TAG_PIECE));
        pl_save_add(save, PL_KIND_TAG, &record);
    }
    for (uint32_t i = 1; i < profile->tags; i++)
        if (profile->tag[i].kind == PL_TAG_NAMED)
            save_rest(save, i, profile->tag[i].name);
}

static void save_threads(struct pl_save_work *save)
{
    const struct pl_profile *profile = save->profile;
    uint64_t start_ns = profile->header.start_monotonic_ns;
    for (uint32_t i = 0; i < profile->threads; i++) {
        const struct pl_thread_view *thread = &profile->thread[i];
        struct pl_thread_record record = {
            .valid = 1,
            .tid = thread->tid,
            .threads = thread->threads,
            .alive = thread->alive,
            .start_ns = start_ns + thread->start_ns,
            .end_ns = thread->end_ns > 0 ? start_ns + thread->end_ns : 0,
            .bytes = thread->bytes,
            .reset = save->header.resets,
        };
        memcpy(record.name, thread->name, sizeof record.name);
        memcpy(record.calls, thread->calls, sizeof record.calls);
        pl_save_add(save, PL_KIND_THREAD, &record);
    }
    for (uint32_t i = 0; i < profile->scopes; i++) {
        const struct pl_scope_view *scope = &profile->scope[i];
        struct pl_scope_record record = {
            .valid = 1,
            .thread = scope->thread + 1,
            .tag = scope->tag,
            .reset = save->header.resets,
            .entered = scope->entered,
            .bytes = scope->bytes,
        };
        memcpy(record.calls, scope->calls, sizeof record.calls);
        pl_save_add(save, PL_KIND_SCOPE, &record);
    }
}

/* ---- the file ---- */

static uint32_t texts_max(const struct pl_profile *profile)
{
    uint32_t most = 8 + profile->modules + pl_textout_symbol_texts(profile);
    for (uint32_t i = 1; i < profile->tags; i++)
        most += 1 + (uint32_t) (strnlen(profile->tag[i].name, PIECES_MAX * PL_TAG_PIECE) / PL_TAG_PIECE);
    return most;
}

/* A reader accepts at most as many entries of stacks as the file has bytes. Deep stacks that share most of their frames
 * may have more: a hole at its end then makes the file long enough. */
static uint64_t unfolded(const struct pl_profile *profile)
{
    uint64_t frames = 0;
    for (uint32_t i = 0; i < profile->stacks; i++)
        frames += profile->stack[i].frames;
    return frames;
}

static int write_tables(struct pl_save_work *save, struct pl_chunks *chunks)
{
    struct pl_header *header = &save->header;
    int result = 0;
    memset(header->count, 0, sizeof header->count);
    for (int kind = 0; kind < PL_KINDS_MAX && result == 0; kind++) {
        const struct pl_save_table *table = &save->table[kind];
        header->count[kind] = table->count;
        if (table->count > 0)
            result = pl_chunks_write(chunks, (enum pl_kind) kind, table->record, table->count);
    }
    save->full |= chunks->used >= PL_CHUNKS_MAX;
    header->chunks = chunks->used;
    if (result == 0)
        result = pl_chunks_end(chunks);
    if (result == 0 && unfolded(save->profile) > pl_chunk_offset(chunks->used) &&
        ftruncate(chunks->fd, (off_t) unfolded(save->profile)) != 0)
        result = -errno;
    return result == 0 ? pl_chunks_write_at(chunks->fd, 0, header, sizeof *header) : result;
}

static int write_file(struct pl_save_work *save, const char *path)
{
    struct pl_chunks *chunks = pl_arena_alloc(save->arena, sizeof *chunks);
    char *beside = pl_arena_alloc(save->arena, strlen(path) + sizeof ".XXXXXX");
    strcat(strcpy(beside, path), ".XXXXXX");
    chunks->fd = mkostemp(beside, 0);
    if (chunks->fd < 0)
        return -errno;
    int result = write_tables(save, chunks);
    if (close(chunks->fd) != 0 && result == 0)
        result = -errno;
    if (result == 0 && rename(beside, path) != 0)
        result = -errno;
    if (result != 0)
        unlink(beside);
    return result;
}

static void save_symbols(struct pl_save_work *save)
{
    struct pl_symbol *symbol;
    uint32_t symbols = pl_textout_symbols(&save->texts, save->profile, save->frame_record, &symbol);
    for (uint32_t i = 1; i < symbols; i++)
        pl_save_add(save, PL_KIND_SYMBOL, &symbol[i]);
}

static void save_texts(struct pl_save_work *save)
{
    save->table[PL_KIND_TEXT] = (struct pl_save_table){save->texts.text, save->texts.bytes, 0};
}

int pl_save(const struct pl_profile *profile, const char *path, char why[PL_WHY_BYTES])
{
    struct pl_arena *arena = pl_arena_new();
    struct pl_save_work save = {
        .profile = profile, .arena = arena, .texts = pl_textout_new(arena, 0, texts_max(profile))};
    save_process(&save);
    pl_save_code(&save);
    save_tags(&save);
    save_threads(&save);
    pl_save_figures(&save);
    pl_save_history(&save);
    save_symbols(&save);
    save_texts(&save);
    int result = save.full ? -EFBIG : write_file(&save, path);
    if (result != 0 && save.full)
        snprintf(why, PL_WHY_BYTES,
                 "cannot write %.350s: it would be larger than 256 MiB, the limit for what plimsoll writes itself",
                 path);
    else if (result != 0)
        snprintf(why, PL_WHY_BYTES, "cannot write %.350s: %s%s", path, strerror(-result),
                 result == -EFBIG ? " (ulimit -f)" : "");
    for (int kind = 0; kind < PL_KINDS_MAX; kind++)
        if (save.table[kind].capacity > 0)
            free(save.table[kind].record);
    pl_arena_free(arena);
    return result;
}
