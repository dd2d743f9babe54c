/* SPDX-License-Identifier: MIT */
/*
 * mutate.c - changes profiles. libFuzzer calls it, or driver.c without libFuzzer.
 *
 * A profile is mostly zeros, and a random byte is nearly never read. So the mutator knows where the records are: it
 * replaces a word of the header, of the directory or of a record by a value that is likely to cause a failure.
 */
#include <string.h>

#include "format/format.h"
#include "fuzz.h"

uint64_t fuzz_random(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15ull;
    uint64_t z = (*state ^ *state >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

/* Limits of fields, small record numbers, and doubles that are not numbers. */
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
    uint64_t random = fuzz_random(state);
    if (random % 4 == 0)
        return random >> 8;
    if (random % 4 == 1)
        return random / 4 % 64;
    return nasty[random / 4 % (sizeof nasty / sizeof *nasty)];
}

static void change_word(uint8_t *at, size_t room, uint64_t *state)
{
    static const size_t width[] = {1, 4, 4, 8};
    uint64_t random = fuzz_random(state), word = nasty_word(state);
    size_t bytes = width[random % 4];
    if (bytes > room)
        return;
    if (random / 4 % 4 == 0)
        at[random / 16 % bytes] ^= (uint8_t) (1u << random / 128 % 8);
    else
        memcpy(at, &word, bytes);
}

/* A word near the beginning of a chunk, where the records are. Earlier records are more likely. */
static void change_record(uint8_t *data, size_t bytes, uint64_t *state)
{
    uint64_t random = fuzz_random(state);
    size_t chunks = (bytes - PL_CHUNKS_OFFSET + PL_CHUNK_BYTES - 1) / PL_CHUNK_BYTES;
    size_t reach = (size_t) 64 << random % 9;
    size_t at = PL_CHUNKS_OFFSET + random / 16 % chunks * PL_CHUNK_BYTES + (random >> 32) % reach / 4 * 4;
    if (at < bytes)
        change_word(data + at, bytes - at, state);
}

static size_t change_size(size_t bytes, size_t bytes_max, uint64_t *state)
{
    uint64_t random = fuzz_random(state);
    size_t wanted = random % 2 ? (random >> 8) % (bytes + 1) : bytes + PL_CHUNK_BYTES;
    return wanted <= bytes_max ? wanted : bytes;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t bytes_max, unsigned seed)
{
    uint64_t state = seed, random = fuzz_random(&state);
    if (bytes <= PL_CHUNKS_OFFSET || random % 32 == 0)
        return LLVMFuzzerMutate(data, bytes, bytes_max);
    if (random % 32 == 1) {
        size_t wanted = change_size(bytes, bytes_max, &state);
        if (wanted > bytes)
            memset(data + bytes, 0, wanted - bytes);
        return wanted;
    }
    for (uint64_t changes = 1 + random / 32 % 4; changes > 0; changes--) {
        random = fuzz_random(&state);
        if (random % 8 == 0)
            change_word(data + 24 + (random >> 8) % 1016 / 4 * 4, 8, &state);
        else if (random % 8 == 1)
            data[PL_HEADER_BYTES + (random >> 8) % 32] = (uint8_t) ((random >> 16) % (PL_KIND_SCOPE + 2));
        else
            change_record(data, bytes, &state);
    }
    return bytes;
}
