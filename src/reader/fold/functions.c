/* SPDX-License-Identifier: MIT */
/* functions.c - see functions.h. */
#include "reader/fold/functions.h"

#include "reader/fold/trie.h"

static uint64_t add_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char) *text) * 0x100000001b3ull;
    return (hash ^ 0xff) * 0x100000001b3ull; /* no text has this byte */
}

struct pl_functions pl_functions_fold(struct pl_image *image, struct pl_texts *texts, struct pl_arena *scratch)
{
    struct pl_functions functions = {.image = image, .count = pl_image_count(image, PL_KIND_FUNCTION)};
    const struct pl_function_record *record = pl_image_functions(image);
    functions.view = pl_arena_alloc(scratch, (functions.count + 1ull) * sizeof *functions.view);
    for (uint32_t i = 1; i < functions.count; i++) {
        if (record[i].valid == 0)
            continue;
        struct pl_function_view *view = &functions.view[i];
        view->function = pl_texts_get(texts, record[i].function);
        view->file = pl_texts_get(texts, record[i].file);
        view->hash = add_text(add_text(0xcbf29ce484222325ull, view->function), view->file);
    }
    return functions;
}

static const struct pl_function_view *view_of(const struct pl_functions *functions, uint64_t where)
{
    uint64_t number = (where & PL_FRAME_ADDRESS_MASK) >> PL_FRAME_LINE_BITS;
    return number < functions->count && functions->view[number].function ? &functions->view[number] : NULL;
}

uint64_t pl_functions_where(const struct pl_functions *functions, uint64_t where)
{
    if (!(where & PL_FRAME_PYTHON) || functions->count <= 1)
        return where;
    const struct pl_function_view *view = view_of(functions, where);
    if (!view) {
        functions->image->damage++;
        return where;
    }
    uint64_t hash = (view->hash ^ (where & PL_FRAME_LINE_MASK)) * 0x9e3779b97f4a7c15ull;
    return (where & ~PL_FRAME_ADDRESS_MASK) | ((hash ^ hash >> 29) & PL_FRAME_ADDRESS_MASK);
}

void pl_functions_place(const struct pl_trie *trie)
{
    struct pl_profile *profile = trie->profile;
    const struct pl_frame *record = pl_image_frames(trie->image);
    for (uint32_t i = 0; i < profile->frames; i++) {
        struct pl_frame_view *frame = &profile->frame[i];
        if (!(frame->flags & PL_FRAME_PYTHON) || frame->places > 0 || trie->functions->count <= 1)
            continue;
        const struct pl_function_view *view = view_of(trie->functions, record[frame->record].where);
        if (!view)
            continue;
        struct pl_place *place = pl_arena_alloc(profile->arena, sizeof *place);
        *place = (struct pl_place){
            .function = view->function,
            .linkage = "",
            .file = view->file,
            .line = (uint32_t) (record[frame->record].where & PL_FRAME_LINE_MASK),
            .bare = true,
        };
        frame->place = place;
        frame->places = 1;
    }
}
