/* SPDX-License-Identifier: MIT */
/*
 * fuzz_profile.c - throws changed profiles at the reader. libFuzzer calls it, or driver.c where there is no libFuzzer.
 *
 * A profile is mostly zeros, and a byte changed at random nearly always changes nothing that is read. So the mutator
 * knows where the records are: it takes a word of the header, of the directory or of a record, and puts in something
 * that is likely to hurt.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "groups.h"
#include "profile.h"
#include "tagtree.h"

/* ---- the target ---- */

static uint64_t touched;

/* Every byte of every string, so that a sanitizer sees one that is not there. */
static void touch(const char *text)
{
    touched += strlen(text);
}

static void touch_all(const struct pl_profile *profile)
{
    char words[256];
    pl_profile_ending(profile, words, sizeof words);
    touch(words);
    pl_profile_method(profile, words, sizeof words);
    touch(words);
    touch(profile->comm);
    touch(profile->executable);
    touch(profile->directory);
    touch(profile->destination);
    for (const char **word = profile->argv; *word; word++)
        touch(*word);
    if (profile->snapshot_name)
        touch(profile->snapshot_name);
    for (uint32_t i = 0; i < profile->modules; i++)
        touch(profile->module[i].path);
    for (uint32_t i = 0; i < profile->tags; i++) {
        touch(profile->tag[i].name);
        touch(profile->tag[i].path);
    }
    for (uint32_t i = 0; i < profile->frames; i++) {
        for (uint32_t p = 0; p < profile->frame[i].places; p++) {
            touch(profile->frame[i].place[p].function);
            touch(profile->frame[i].place[p].linkage);
            touch(profile->frame[i].place[p].file);
        }
    }
}

static void check_metrics(const struct pl_estimate metric[PL_METRIC_COUNT])
{
    for (int m = 0; m < PL_METRIC_COUNT; m++)
        if (!(metric[m].value >= 0) || !(metric[m].error >= 0) || !(metric[m].low <= metric[m].value) ||
            !(metric[m].value <= metric[m].high))
            abort();
}

static void check_figures(const struct pl_profile *profile)
{
    for (uint32_t i = 0; i < profile->sites; i++)
        check_metrics(profile->site[i].metric);
    check_metrics(profile->total);
}

static void check_forest(const struct pl_profile *profile)
{
    struct pl_groups groups;
    struct pl_tag_forest forest;
    char why[PL_WHY_BYTES];
    if (pl_groups_make(profile, PL_GROUP_NAME, &(struct pl_choice){.merge = "w.*"}, &groups, why) != 0)
        abort();
    pl_tag_forest_grow(profile, &groups, PL_METRIC_INUSE_SPACE, &forest);
    for (uint32_t t = 0; t < forest.trees; t++) {
        for (uint32_t i = 0; i < forest.tree[t].nodes; i++) {
            const struct pl_tag_node *node = &forest.tree[t].node[i];
            if (node->tag >= profile->tags || node->parent > i || i + node->below >= forest.tree[t].nodes)
                abort();
            check_metrics(node->self.metric);
            check_metrics(node->total.metric);
        }
    }
    pl_tag_forest_free(&forest);
    pl_groups_free(&groups);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct pl_profile *profile = NULL;
    char why[PL_WHY_BYTES] = "";
    if (pl_profile_load(data, bytes, &profile, why) != 0) {
        if (profile || !why[0])
            abort();
        return 0;
    }
    if (!pl_profile_valid(profile))
        abort();
    check_figures(profile);
    check_forest(profile);
    touch_all(profile);
    pl_profile_close(profile);
    return 0;
}

/* ---- the mutator ---- */

static uint64_t next_random(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15ull;
    uint64_t z = (*state ^ *state >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

/* Bounds of fields, small record numbers, and doubles that are not numbers. */
static uint64_t nasty_word(uint64_t *state)
{
    static const uint64_t nasty[] = {
        0,
        1,
        2,
        PL_BUILD_ID_MAX + 1,
        PL_CHUNK_BYTES - 1,
        PL_CHUNK_BYTES,
        UINT32_MAX,
        UINT64_MAX,
        1ull << 31,
        1ull << 63,
        0x7ff0000000000000ull, /* infinity */
        0xfff0000000000000ull,
        0x7ff8000000000000ull, /* not a number */
        0x7fefffffffffffffull, /* the largest double */
        0x0000000100000000ull,
        PL_FRAME_GAP,
        PL_FRAME_ADDRESS_MASK,
    };
    uint64_t random = next_random(state);
    if (random % 4 == 0)
        return random >> 8;
    if (random % 4 == 1)
        return random / 4 % 64;
    return nasty[random / 4 % (sizeof nasty / sizeof *nasty)];
}

static void change_word(uint8_t *at, size_t room, uint64_t *state)
{
    static const size_t width[] = {1, 4, 4, 8};
    uint64_t random = next_random(state), word = nasty_word(state);
    size_t bytes = width[random % 4];
    if (bytes > room)
        return;
    if (random / 4 % 4 == 0)
        at[random / 16 % bytes] ^= (uint8_t) (1u << random / 128 % 8);
    else
        memcpy(at, &word, bytes);
}

/* A word near the beginning of a chunk, where the records are: the first is more likely than the second, and so on. */
static void change_record(uint8_t *data, size_t bytes, uint64_t *state)
{
    uint64_t random = next_random(state);
    size_t chunks = (bytes - PL_CHUNKS_OFFSET + PL_CHUNK_BYTES - 1) / PL_CHUNK_BYTES;
    size_t reach = (size_t) 64 << random % 9;
    size_t at = PL_CHUNKS_OFFSET + random / 16 % chunks * PL_CHUNK_BYTES + (random >> 32) % reach / 4 * 4;
    if (at < bytes)
        change_word(data + at, bytes - at, state);
}

static size_t change_size(size_t bytes, size_t bytes_max, uint64_t *state)
{
    uint64_t random = next_random(state);
    size_t wanted = random % 2 ? (random >> 8) % (bytes + 1) : bytes + PL_CHUNK_BYTES;
    return wanted <= bytes_max ? wanted : bytes;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t bytes_max, unsigned seed)
{
    uint64_t state = seed, random = next_random(&state);
    if (bytes <= PL_CHUNKS_OFFSET || random % 32 == 0)
        return LLVMFuzzerMutate(data, bytes, bytes_max);
    if (random % 32 == 1) {
        size_t wanted = change_size(bytes, bytes_max, &state);
        if (wanted > bytes)
            memset(data + bytes, 0, wanted - bytes);
        return wanted;
    }
    for (uint64_t changes = 1 + random / 32 % 4; changes > 0; changes--) {
        random = next_random(&state);
        if (random % 8 == 0)
            change_word(data + 24 + (random >> 8) % 1016 / 4 * 4, 8, &state);
        else if (random % 8 == 1)
            data[PL_HEADER_BYTES + (random >> 8) % 32] = (uint8_t) ((random >> 16) % (PL_KIND_SCOPE + 2));
        else
            change_record(data, bytes, &state);
    }
    return bytes;
}
