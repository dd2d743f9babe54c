/* SPDX-License-Identifier: MIT */
/*
 * text.h - the texts of a snapshot as C strings, each copied once.
 */
#ifndef PL_TEXT_H
#define PL_TEXT_H

#include "index.h"
#include "snapshot.h"

struct pl_texts {
    struct pl_snapshot *snapshot;
    struct pl_arena *arena; /* where strings go */
    struct pl_index index;
    struct pl_known_text *known;
    uint32_t count;
    uint64_t bytes_left; /* what may still be copied */
};

/* Room for `texts_max` different texts. Index and bookkeeping live in `scratch`. */
struct pl_texts pl_texts_new(struct pl_snapshot *snapshot, struct pl_arena *arena, struct pl_arena *scratch,
                             uint32_t texts_max);

/* NUL-terminated, with any NUL inside kept; "" and a count in snapshot->damage if the text is not in the file. */
const char *pl_texts_get(struct pl_texts *texts, struct pl_text text);

#endif
