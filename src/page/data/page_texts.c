/* SPDX-License-Identifier: MIT */
/*
 * page_texts.c - the texts of page data, each stored once.
 *
 * To look a text up, it is first appended in its final form; if it exists already, `used` stays and it is overwritten.
 */
#include "page/data/page_texts.h"

#include <string.h>

#include "reader/base/grow.h"
#include "reader/base/utf8.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */
#define REPLACEMENT_BYTES 3u
#define ROOM_FIRST (64u << 10)

void pl_page_texts_begin(struct pl_page_texts *texts, struct pl_arena *arena, uint32_t most)
{
    *texts = (struct pl_page_texts){
        .bytes = pl_grow_zeroed(ROOM_FIRST, 1),
        .room = ROOM_FIRST,
        .end = pl_arena_alloc(arena, (most + 1ull) * sizeof *texts->end),
        .index = pl_index_new(arena, most + 1),
    };
    pl_page_texts_add(texts, "");
}

void pl_page_texts_free(struct pl_page_texts *texts)
{
    free(texts->bytes);
}

/* Room for a text, even if every byte of it becomes U+FFFD. False: all texts together would exceed 4 GiB. */
static bool make_room(struct pl_page_texts *texts, size_t bytes)
{
    uint64_t needed = texts->used + (uint64_t) REPLACEMENT_BYTES * bytes, room = texts->room;
    if (needed > UINT32_MAX)
        return false;
    while (room < needed)
        room *= 2;
    if (room > texts->room)
        texts->bytes = pl_grow_check(realloc(texts->bytes, room), room, 1);
    texts->room = room > UINT32_MAX ? UINT32_MAX : (uint32_t) room;
    return true;
}

/* Returns where it ends. */
static uint32_t append(struct pl_page_texts *texts, const char *text)
{
    char *to = texts->bytes + texts->used;
    while (*text) {
        uint32_t character;
        size_t bytes = pl_utf8_decode(text, &character);
        bool good = character != PL_UTF8_BAD;
        to = mempcpy(to, good ? text : REPLACEMENT, good ? bytes : REPLACEMENT_BYTES);
        text += bytes;
    }
    return (uint32_t) (to - texts->bytes);
}

struct question {
    const struct pl_page_texts *texts;
    const char *bytes;
    uint32_t count;
};

static bool is_same(const void *context, uint32_t entry)
{
    const struct question *question = context;
    const struct pl_page_texts *texts = question->texts;
    uint32_t from = entry ? texts->end[entry - 1] : 0;
    return texts->end[entry] - from == question->count &&
           !memcmp(texts->bytes + from, question->bytes, question->count);
}

static uint64_t hash(const struct pl_page_texts *texts, const char *bytes, uint32_t count)
{
    uint64_t hash = texts->index.seed, word;
    for (; count >= sizeof word; count -= sizeof word, bytes += sizeof word) {
        memcpy(&word, bytes, sizeof word);
        hash = pl_index_mix(hash, word);
    }
    word = 0;
    memcpy(&word, bytes, count);
    return pl_index_mix(hash, word);
}

uint32_t pl_page_texts_add(struct pl_page_texts *texts, const char *text)
{
    if (!make_room(texts, strlen(text)))
        return 0;
    uint32_t end = append(texts, text);
    struct question question = {texts, texts->bytes + texts->used, end - texts->used};
    uint64_t high = hash(texts, question.bytes, question.count);
    uint32_t *slot = pl_index_find(&texts->index, high, question.count, is_same, &question);
    if (!*slot) {
        texts->end[texts->count++] = texts->used = end;
        *slot = texts->count;
    }
    return *slot - 1;
}
