/* SPDX-License-Identifier: MIT */
/*
 * fold_places.c - symbol records as places of frames.
 *
 * Records with the same frame are its inlined functions, innermost first, in the order of their numbers; they need not
 * be neighbours. So: count per frame, share out one array, fill it in the same order.
 */
#include "reader/fold/fold.h"
#include "reader/fold/texts.h"
#include "reader/fold/trie.h"

/* The frame that a record is for; UINT32_MAX: none that the profile has. */
static uint32_t frame_of(const struct pl_trie *trie, const struct pl_symbol *record)
{
    if (record->frame == 0 || record->frame >= pl_image_count(trie->image, PL_KIND_FRAME)) {
        trie->image->damage += record->frame != 0;
        return UINT32_MAX;
    }
    const struct pl_node *node = &trie->node[record->frame];
    return node->good ? node->frame : UINT32_MAX;
}

/* Several frame records may be the same frame: only the symbols of one of them count, or its places would be doubled.
 * Returns how many symbols count; frame[i] says for which frame. */
static uint32_t choose_symbols(const struct pl_trie *trie, uint32_t *frame, struct pl_arena *scratch)
{
    const struct pl_symbol *record = pl_image_symbols(trie->image);
    uint32_t *chosen = pl_arena_alloc(scratch, trie->profile->frames * sizeof *chosen);
    uint32_t count = 0;
    for (uint32_t i = 1; i < pl_image_count(trie->image, PL_KIND_SYMBOL); i++) {
        frame[i] = frame_of(trie, &record[i]);
        if (frame[i] == UINT32_MAX)
            continue;
        if (chosen[frame[i]] == 0)
            chosen[frame[i]] = record[i].frame;
        if (chosen[frame[i]] != record[i].frame)
            frame[i] = UINT32_MAX;
        else
            count++;
    }
    return count;
}

static struct pl_place place_of(struct pl_texts *texts, const struct pl_symbol *record)
{
    return (struct pl_place){
        .function = pl_texts_get(texts, record->function),
        .linkage = pl_texts_get(texts, record->linkage),
        .file = pl_texts_get(texts, record->file),
        .line = record->line,
        .column = record->column,
        .inlined = record->inlined != 0,
    };
}

void pl_fold_places(struct pl_trie *trie, struct pl_texts *texts, struct pl_arena *scratch)
{
    struct pl_profile *profile = trie->profile;
    const struct pl_symbol *record = pl_image_symbols(trie->image);
    uint32_t records = pl_image_count(trie->image, PL_KIND_SYMBOL);
    if (!(profile->header.flags & PL_FLAG_SYMBOLS) || records == 0)
        return;
    uint32_t *frame = pl_arena_alloc(scratch, records * sizeof *frame);
    uint32_t symbols = choose_symbols(trie, frame, scratch);
    uint32_t *next = pl_arena_alloc(scratch, (profile->frames + 1ull) * sizeof *next);
    for (uint32_t i = 1; i < records; i++)
        if (frame[i] != UINT32_MAX)
            next[frame[i] + 1]++;
    struct pl_place *place = pl_arena_alloc(profile->arena, symbols * sizeof *place);
    for (uint32_t i = 0; i < profile->frames; i++) {
        profile->frame[i].places = next[i + 1];
        profile->frame[i].place = next[i + 1] > 0 ? place + next[i] : NULL;
        next[i + 1] += next[i];
    }
    for (uint32_t i = 1; i < records; i++)
        if (frame[i] != UINT32_MAX)
            place[next[frame[i]]++] = place_of(texts, &record[i]);
}
