/* SPDX-License-Identifier: MIT */
/*
 * hostile.c - writes nonsense into the interpreter while allocations are profiled.
 *
 * Called with the GIL held. Nothing of Python runs between a word's becoming nonsense and its being put back: only
 * malloc, and with it the profiler. To the compiler malloc reads no memory, so the words are volatile: it would not
 * write the nonsense.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define GONE_BYTES (1ul << 20)

#define PAGE_BYTES 4096
#define FRAME_BYTES 256

static uint64_t state = 1;
static void *volatile kept;

static uint64_t next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* The thread's innermost frame is in a page that is there, and then not any more. */
void vanish(volatile uint64_t *innermost);
void vanish(volatile uint64_t *innermost)
{
    uint64_t was = *innermost;
    char *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < FRAME_BYTES; i++)
        page[i] = ((volatile char *) was)[i];
    for (int gone = 0; gone < 2; gone++) {
        *innermost = (uint64_t) page;
        kept = malloc(100);
        *innermost = was;
        free(kept);
        munmap(page, PAGE_BYTES);
    }
}

long mangle(volatile uint64_t *words, long count, long rounds);
long mangle(volatile uint64_t *words, long count, long rounds)
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
