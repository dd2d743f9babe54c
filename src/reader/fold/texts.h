/* SPDX-License-Identifier: MIT */
/*
 * texts.h - the texts of a copied profile as C strings, each copied once.
 */
#ifndef PL_TEXTS_H
#define PL_TEXTS_H

#include "reader/base/index.h"
#include "reader/image.h"

struct pl_texts {
    struct pl_image *image;
    struct pl_arena *arena; /* where strings go */
    struct pl_index index;
    struct pl_known_text *known;
    uint32_t count;
    uint64_t bytes_left; /* what may still be copied */
};

/* Room for `texts_max` different texts. Index and bookkeeping live in `scratch`. */
struct pl_texts pl_texts_new(struct pl_image *image, struct pl_arena *arena, struct pl_arena *scratch,
                             uint32_t texts_max);

/* NUL-terminated, with any NUL inside kept; "" if the text is not in the file, and image->damage is incremented. */
const char *pl_texts_get(struct pl_texts *texts, struct pl_text text);

#endif
