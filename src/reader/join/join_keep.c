/* SPDX-License-Identifier: MIT */
/*
 * join_keep.c - makes a joined profile independent: copies the texts and places that still belong to its parts.
 *
 * Profiles of one program have the same texts for the same frames, so each text is copied once, from whichever part.
 */
#include <string.h>

#include "reader/base/index.h"
#include "reader/join/join.h"

#define TEXTS_PER_PLACE 4u

struct keeper {
    struct pl_profile *profile;
    struct pl_arena *scratch;
    struct pl_index index;
    const char **text;
    uint32_t texts;
};

struct question {
    const struct keeper *keeper;
    const char *text;
};

static bool same_text(const void *context, uint32_t entry)
{
    const struct question *question = context;
    return strcmp(question->keeper->text[entry], question->text) == 0;
}

static const char *keep(struct keeper *keeper, const char *text)
{
    if (!text)
        return NULL;
    struct question question = {keeper, text};
    uint32_t *slot = pl_index_find(&keeper->index, pl_index_text(keeper->index.seed, text), 0, same_text, &question);
    if (*slot == 0) {
        keeper->text[keeper->texts] = pl_arena_text(keeper->profile->arena, text, strlen(text));
        *slot = ++keeper->texts;
    }
    return keeper->text[*slot - 1];
}

static void keep_places(struct keeper *keeper, struct pl_frame_view *frame)
{
    struct pl_place *place = pl_arena_alloc(keeper->profile->arena, frame->places * sizeof *place);
    for (uint32_t i = 0; i < frame->places; i++) {
        place[i] = frame->place[i];
        place[i].function = keep(keeper, place[i].function);
        place[i].linkage = keep(keeper, place[i].linkage);
        place[i].file = keep(keeper, place[i].file);
        place[i].original = keep(keeper, place[i].original);
    }
    frame->place = frame->places > 0 ? place : NULL;
}

static void keep_process(struct keeper *keeper, uint32_t words)
{
    struct pl_profile *profile = keeper->profile;
    const char **argv = pl_arena_alloc(profile->arena, (words + 1ull) * sizeof *argv);
    for (uint32_t i = 0; i < words; i++)
        argv[i] = keep(keeper, profile->argv[i]);
    profile->argv = argv;
    profile->comm = keep(keeper, profile->comm);
    profile->executable = keep(keeper, profile->executable);
    profile->directory = keep(keeper, profile->directory);
    profile->destination = keep(keeper, profile->destination);
}

static uint32_t count_words(const struct pl_profile *profile)
{
    uint32_t words = 0;
    while (profile->argv[words])
        words++;
    return words;
}

static struct keeper begin(struct pl_profile *profile)
{
    uint32_t most = 8 + count_words(profile) + profile->modules + 2 * profile->tags;
    for (uint32_t i = 0; i < profile->frames; i++)
        most += TEXTS_PER_PLACE * profile->frame[i].places;
    struct pl_arena *scratch = pl_arena_new();
    return (struct keeper){
        .profile = profile,
        .scratch = scratch,
        .index = pl_index_new(scratch, most),
        .text = pl_arena_alloc(scratch, most * sizeof(const char *)),
    };
}

void pl_join_keep(struct pl_profile *sum)
{
    struct keeper keeper = begin(sum);
    keep_process(&keeper, count_words(sum));
    for (uint32_t i = 0; i < sum->modules; i++)
        sum->module[i].path = keep(&keeper, sum->module[i].path);
    for (uint32_t i = 0; i < sum->frames; i++)
        keep_places(&keeper, &sum->frame[i]);
    for (uint32_t i = 0; i < sum->tags; i++) {
        sum->tag[i].name = keep(&keeper, sum->tag[i].name);
        sum->tag[i].path = keep(&keeper, sum->tag[i].path);
    }
    pl_arena_free(keeper.scratch);
}
