/* SPDX-License-Identifier: MIT */
/*
 * page_texts.h - the texts of page data, each once. Text 0 is "".
 *
 * What is not UTF-8 becomes U+FFFD, as in JSON: two texts that are the same then are one.
 */
#ifndef PL_PAGE_TEXTS_H
#define PL_PAGE_TEXTS_H

#include <stdint.h>

#include "arena.h"
#include "index.h"

struct pl_page_texts {
    char *bytes; /* one behind the other */
    uint32_t used, room;
    uint32_t *end; /* of each, in `bytes`: it begins where the one before ends */
    uint32_t count;
    struct pl_index index;
};

/* There will be at most so many. Freed with pl_page_texts_free(), before or after the arena. */
void pl_page_texts_begin(struct pl_page_texts *texts, struct pl_arena *arena, uint32_t most);
void pl_page_texts_free(struct pl_page_texts *texts);

uint32_t pl_page_text(struct pl_page_texts *texts, const char *text);

#endif
