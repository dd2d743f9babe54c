/* SPDX-License-Identifier: MIT */
/*
 * page_texts.h - the texts of page data, each stored once. Text 0 is "".
 *
 * Bytes that are not UTF-8 become U+FFFD, as in JSON. Texts that are equal after that are one text.
 */
#ifndef PL_PAGE_TEXTS_H
#define PL_PAGE_TEXTS_H

#include <stdint.h>

#include "reader/base/arena.h"
#include "reader/base/index.h"

struct pl_page_texts {
    char *bytes; /* of all texts, one after the other */
    uint32_t used, room;
    uint32_t *end; /* where each text ends in `bytes`; it begins where the previous one ends */
    uint32_t count;
    struct pl_index index;
};

/* `most`: how many texts there can be. Call pl_page_texts_free() before or after freeing the arena. */
void pl_page_texts_begin(struct pl_page_texts *texts, struct pl_arena *arena, uint32_t most);
void pl_page_texts_free(struct pl_page_texts *texts);

/* The index of a text, which is added if it is new. 0 if there is no room. */
uint32_t pl_page_texts_add(struct pl_page_texts *texts, const char *text);

#endif
