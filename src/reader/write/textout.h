/* SPDX-License-Identifier: MIT */
/*
 * textout.h - collects the texts to be written to a file: each of them once, none across a chunk. Most are the names of
 * frames.
 */
#ifndef PL_TEXTOUT_H
#define PL_TEXTOUT_H

#include "reader/base/index.h"
#include "reader/profile.h"

struct pl_textout {
    struct pl_arena *arena;
    char *text;
    uint32_t bytes, room;
    uint32_t base; /* where `text` begins among all texts of the file */
    struct pl_text *known;
    uint32_t knowns;
    struct pl_index index;
};

/* Room for `texts_max` different texts. */
struct pl_textout pl_textout_new(struct pl_arena *arena, uint32_t base, uint32_t texts_max);

/* A text is at most a chunk long; the rest of a longer one is lost. */
struct pl_text pl_textout_add(struct pl_textout *out, const char *text, size_t bytes);

/* Symbol records for the places of all frames; record[i] is the frame record that frame i is known by, 0: none. Returns
 * how many there are, record 0 included. */
uint32_t pl_textout_symbols(struct pl_textout *out, const struct pl_profile *profile, const uint32_t *record,
                            struct pl_symbol **symbol);

/* How many texts pl_textout_symbols() adds at most. */
uint32_t pl_textout_symbol_texts(const struct pl_profile *profile);

#endif
