/* SPDX-License-Identifier: MIT */
/*
 * hostile.c - writes nonsense into the interpreter while allocations are profiled.
 *
 * Called with the GIL held. Nothing of Python runs between a word's becoming nonsense and its being put back: only
 * malloc, and with it the profiler.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define GONE_BYTES (1ul << 20)

static uint64_t state = 1;
static void *volatile kept;

static uint64_t next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

long mangle(uint64_t *words, long count, long rounds);
long mangle(uint64_t *words, long count, long rounds)
{
    uint64_t gone = (uint64_t) mmap(NULL, GONE_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap((void *) gone, GONE_BYTES);
    long made = 0;
    for (long round = 0; round < rounds; round++)
        for (long i = 0; i < count; i++, made++) {
            uint64_t was = words[i], random = next();
            uint64_t nonsense[] = {
                random,
                random & 0xffff,
                gone + (random & (GONE_BYTES - 8)),
                was + 1,
                was + 8,
                UINT64_MAX,
                0,
                (uint64_t) &words[random % (uint64_t) count],
                was ^ 1ull << (random & 63),
                0xffffffffff600000u,
                was - 4096,
            };
            words[i] = nonsense[(uint64_t) (i + round) % (sizeof nonsense / sizeof *nonsense)];
            kept = malloc(10 + (random & 63));
            words[i] = was;
            free(kept);
        }
    return made;
}
