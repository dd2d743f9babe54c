/* SPDX-License-Identifier: MIT */
/*
 * textout.c - collects texts, and the names of frames as symbol records.
 */
#include "reader/write/textout.h"

#include <string.h>

#define TEXTS_PER_PLACE 3u

struct question {
    const struct pl_textout *out;
    const char *text;
    uint32_t bytes;
};

struct pl_textout pl_textout_new(struct pl_arena *arena, uint32_t base, uint32_t texts_max)
{
    return (struct pl_textout){
        .arena = arena,
        .base = base,
        .known = pl_arena_alloc(arena, texts_max * sizeof(struct pl_text)),
        .index = pl_index_new(arena, texts_max),
    };
}

static bool same_text(const void *context, uint32_t entry)
{
    const struct question *question = context;
    const struct pl_text *known = &question->out->known[entry];
    return known->bytes == question->bytes &&
           memcmp(question->out->text + (known->offset - question->out->base), question->text, known->bytes) == 0;
}

static void make_room(struct pl_textout *out, uint32_t bytes)
{
    if (out->bytes + bytes <= out->room)
        return;
    uint32_t room = 2 * out->room + 4 * PL_CHUNK_BYTES;
    char *text = pl_arena_alloc(out->arena, room);
    if (out->bytes > 0)
        memcpy(text, out->text, out->bytes);
    out->text = text;
    out->room = room;
}

static struct pl_text append(struct pl_textout *out, const char *text, uint32_t bytes)
{
    uint32_t left = PL_CHUNK_BYTES - out->bytes % PL_CHUNK_BYTES;
    uint32_t skipped = bytes > left ? left : 0;
    make_room(out, skipped + bytes);
    out->bytes += skipped;
    struct pl_text range = {out->base + out->bytes, bytes};
    memcpy(out->text + out->bytes, text, bytes);
    out->bytes += bytes;
    return range;
}

struct pl_text pl_textout_add(struct pl_textout *out, const char *text, size_t bytes)
{
    struct question question = {out, text, bytes < PL_CHUNK_BYTES ? (uint32_t) bytes : PL_CHUNK_BYTES};
    if (bytes == 0 || out->bytes > PL_FILE_BYTES_MAX) /* too much for any file: writing will fail */
        return (struct pl_text){0, 0};
    uint64_t hash = out->index.seed;
    for (uint32_t i = 0; i < question.bytes; i++)
        hash = pl_index_mix(hash, (unsigned char) text[i]);
    uint32_t *slot = pl_index_find(&out->index, hash, question.bytes, same_text, &question);
    if (*slot == 0) {
        out->known[out->knowns] = append(out, text, question.bytes);
        *slot = ++out->knowns;
    }
    return out->known[*slot - 1];
}

/* ---- names of frames ---- */

static struct pl_text add(struct pl_textout *out, const char *text)
{
    return pl_textout_add(out, text, strnlen(text, PL_CHUNK_BYTES));
}

/* The place as it was before rules for names changed it. */
static struct pl_symbol symbol_of(struct pl_textout *out, uint32_t frame, const struct pl_place *place)
{
    return (struct pl_symbol){
        .frame = frame,
        .line = place->line,
        .function = add(out, place->original ? place->original : place->function),
        .linkage = add(out, place->linkage),
        .file = add(out, place->file),
        .inlined = place->inlined,
        .column = place->column,
    };
}

/* A frame that could not be named has one empty place, and needs no record. */
static bool says_something(const struct pl_frame_view *frame)
{
    return frame->places > 1 || (frame->places == 1 && (frame->place->function[0] || frame->place->file[0]));
}

uint32_t pl_textout_symbol_texts(const struct pl_profile *profile)
{
    return TEXTS_PER_PLACE * pl_profile_places(profile);
}

uint32_t pl_textout_symbols(struct pl_textout *out, const struct pl_profile *profile, const uint32_t *record,
                            struct pl_symbol **symbol)
{
    uint32_t count = 1;
    *symbol = pl_arena_alloc(out->arena, (pl_profile_places(profile) + 1ull) * sizeof **symbol);
    for (uint32_t i = 0; i < profile->frames; i++) {
        const struct pl_frame_view *frame = &profile->frame[i];
        for (uint32_t p = 0; p < frame->places && record[i] != 0 && says_something(frame); p++)
            (*symbol)[count++] = symbol_of(out, record[i], &frame->place[p]);
    }
    return count;
}
