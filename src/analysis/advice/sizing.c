/* SPDX-License-Identifier: MIT */
/*
 * sizing.c - the rules by which allocators round sizes up.
 *
 * glibc puts 8 bytes before every block and rounds to 16. The others have no headers, and size classes that are further
 * apart the larger they are. tests/advice compares all rules with the answers of the allocators themselves.
 */
#include "analysis/advice/sizing.h"

#include <string.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static uint64_t round_up(uint64_t bytes, uint64_t step)
{
    return (bytes + step - 1) / step * step;
}

static uint64_t taken_glibc(uint64_t bytes)
{
    uint64_t chunk = round_up(bytes + 8, 16);
    return chunk < 32 ? 32 : chunk;
}

/* Four classes for each doubling, at least 16 bytes apart: 96, 112, 128, 160, 192, 224, 256, 320, ... */
static uint64_t taken_quarters(uint64_t bytes)
{
    if (bytes <= 8)
        return 8;
    uint64_t half = 64;
    while (half * 2 < bytes)
        half *= 2;
    return round_up(bytes, half / 4);
}

/* gperftools: eight classes for each doubling, without those that would not let more blocks fit into a span. */
static uint64_t taken_tcmalloc(uint64_t bytes)
{
    static const uint32_t classes[] = {
        8,    16,   32,   48,   64,    80,    96,    112,   128,   144,   160,   176,   192,  208,  224,
        240,  256,  288,  320,  352,   384,   416,   448,   480,   512,   576,   640,   704,  768,  896,
        1024, 1152, 1280, 1408, 1536,  1792,  2048,  2304,  2560,  2816,  3072,  3328,  4096, 4608, 5120,
        6144, 6656, 8192, 9216, 10240, 12288, 13312, 16384, 20480, 24576, 26624, 32768,
    };
    for (size_t i = 0; i < LENGTH(classes); i++)
        if (bytes <= classes[i])
            return classes[i];
    return round_up(bytes, 8192);
}

static uint64_t taken_unknown(uint64_t bytes)
{
    (void) bytes;
    return 0;
}

#define QUARTERS "four sizes for each doubling"
#define MMAP_THRESHOLD (128 << 10) /* glibc's, which only ever rises */

static const struct pl_sizing sizings[] = {
    {"glibc", "8 bytes more, in steps of 16, at least 32", "libc.so", 8, MMAP_THRESHOLD, taken_glibc},
    {"jemalloc", QUARTERS, "libjemalloc", 0, 0, taken_quarters},
    {"tcmalloc", "a fixed list of sizes", "libtcmalloc", 0, 0, taken_tcmalloc},
    {"mimalloc", QUARTERS, "libmimalloc", 0, 0, taken_quarters},
    {"another allocator", "not known", NULL, 0, MMAP_THRESHOLD, taken_unknown},
};

const struct pl_sizing *pl_sizing_named(const char *name)
{
    for (size_t i = 0; i < LENGTH(sizings); i++)
        if (strcmp(sizings[i].name, name) == 0)
            return &sizings[i];
    return NULL;
}

const struct pl_sizing *pl_sizing_of(const struct pl_profile *profile)
{
    if (profile->header.flags & PL_FLAG_LINKED) /* into the program: of whatever kind, and libc's may be there, too */
        return &sizings[LENGTH(sizings) - 1];
    const char *path = profile->allocator < profile->modules ? profile->module[profile->allocator].path : "";
    const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
    size_t i = 0;
    while (sizings[i].file && strncmp(file, sizings[i].file, strlen(sizings[i].file)) != 0)
        i++;
    return &sizings[i];
}

uint64_t pl_sizing_taken(const struct pl_sizing *sizing, uint64_t bytes)
{
    return bytes <= PL_SIZING_MOST ? sizing->taken(bytes) : 0;
}

uint64_t pl_sizing_below(const struct pl_sizing *sizing, uint64_t bytes)
{
    uint64_t taken = pl_sizing_taken(sizing, bytes);
    while (bytes > 0 && pl_sizing_taken(sizing, bytes) == taken)
        bytes--;
    return bytes;
}
