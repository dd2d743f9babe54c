/* SPDX-License-Identifier: MIT */
/*
 * texts.c - gives out the texts of a copied profile as strings.
 *
 * Thousands of symbols share a file name, so a range that was copied once is given out again. A hostile file may have
 * overlapping ranges to make us copy without end; ours never overlap, so at most twice the bytes of all texts are
 * copied (each text, and its NUL).
 */
#include "reader/fold/texts.h"

struct pl_known_text {
    struct pl_text range;
    const char *string;
};

struct question {
    const struct pl_known_text *known;
    struct pl_text range;
};

struct pl_texts pl_texts_new(struct pl_image *image, struct pl_arena *arena, struct pl_arena *scratch,
                             uint32_t texts_max)
{
    return (struct pl_texts){
        .image = image,
        .arena = arena,
        .index = pl_index_new(scratch, texts_max),
        .known = pl_arena_alloc(scratch, (size_t) texts_max * sizeof(struct pl_known_text)),
        .bytes_left = 2ull * pl_image_count(image, PL_KIND_TEXT),
    };
}

static bool same_range(const void *context, uint32_t entry)
{
    const struct question *question = context;
    const struct pl_text *known = &question->known[entry].range;
    return known->offset == question->range.offset && known->bytes == question->range.bytes;
}

/* True: in the file, and in one chunk of it. */
static bool in_range(const struct pl_texts *texts, struct pl_text text)
{
    uint64_t last = (uint64_t) text.offset + text.bytes - 1;
    return last < pl_image_count(texts->image, PL_KIND_TEXT) && text.offset / PL_CHUNK_BYTES == last / PL_CHUNK_BYTES;
}

static const char *copy_text(struct pl_texts *texts, struct pl_text text)
{
    uint64_t cost = (uint64_t) text.bytes + 1;
    if (!in_range(texts, text) || cost > texts->bytes_left) {
        texts->image->damage++;
        return "";
    }
    texts->bytes_left -= cost;
    return pl_arena_text(texts->arena, pl_image_text(texts->image) + text.offset, text.bytes);
}

const char *pl_texts_get(struct pl_texts *texts, struct pl_text text)
{
    if (text.bytes == 0)
        return "";
    struct question question = {texts->known, text};
    uint32_t *slot = pl_index_find(&texts->index, text.offset, text.bytes, same_range, &question);
    if (*slot == 0) {
        texts->known[texts->count] = (struct pl_known_text){text, copy_text(texts, text)};
        *slot = ++texts->count;
    }
    return texts->known[*slot - 1].string;
}
