/* SPDX-License-Identifier: MIT */
/*
 * heaps.c - the heaps of glibc in a running process.
 *
 * The main heap is the one that the kernel calls [heap]. Arenas of threads are mapped with nothing behind them and
 * begin at a multiple of 64 MiB, by which malloc finds the arena of an address. Other mappings without a name begin
 * there only by chance, one in 16,384.
 */
#include "heaps.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_ALIGNMENT (64ull << 20)

/* "7f0000000000-7f0000021000 rw-p 00000000 00:00 0    [heap]": false for any other line. */
static bool read_mapping(const char *line, uint64_t *start, uint64_t *end, bool *heap)
{
    char access[5], path[16] = "";
    uint64_t inode;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %" SCNu64 " %15s", start, end, access, &inode, path) < 4)
        return false;
    bool private = strcmp(access, "rw-p") == 0;
    bool arena = inode == 0 && !*path && *start % ARENA_ALIGNMENT == 0 && *end - *start <= ARENA_ALIGNMENT;
    *heap = private && (strcmp(path, "[heap]") == 0 || arena);
    return true;
}

void pl_heaps_parse(FILE *smaps, struct pl_heaps *out)
{
    char *line = NULL;
    size_t room = 0;
    bool heap = false;
    *out = (struct pl_heaps){0};
    while (getline(&line, &room, smaps) > 0) {
        uint64_t start, end, kib;
        if (read_mapping(line, &start, &end, &heap)) {
            out->heaps += heap;
            out->bytes += heap && end > start ? (double) (end - start) : 0;
        } else if (heap && sscanf(line, "Rss: %" SCNu64 " kB", &kib) == 1) {
            out->resident += (double) kib * 1024;
        }
    }
    free(line);
}

bool pl_heaps_read(uint32_t pid, struct pl_heaps *out)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%" PRIu32 "/smaps", pid);
    FILE *smaps = fopen(path, "re");
    if (!smaps)
        return false;
    pl_heaps_parse(smaps, out);
    fclose(smaps);
    return out->heaps > 0;
}
