/* SPDX-License-Identifier: MIT */
/*
 * outside.c - uses much memory: from malloc, or mapped by itself, or a third and two thirds. A file does not count.
 *
 *   outside heap|mapped|file|both
 *   outside stacks     little memory, but so many stacks that the profiler itself needs much
 */
#include "case.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES (64 << 20)
#define BLOCK_BYTES 1000
#define HEAP_BLOCKS 8 /* so few that they are no leak, however long it takes to make them */

static APART void *site_block(size_t bytes)
{
    return memset(case_use(malloc(bytes)), 1, bytes);
}

static void *map(bool file)
{
    int fd = file ? memfd_create("outside", MFD_CLOEXEC) : -1;
    if (file && ftruncate(fd, BYTES) != 0)
        return MAP_FAILED;
    return mmap(NULL, BYTES, PROT_READ | PROT_WRITE, file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, fd, 0);
}

/* A stack for each value of `bits`. */
#define DEPTH 17
static APART void site_right(unsigned bits, unsigned depth);

static APART void site_left(unsigned bits, unsigned depth)
{
    if (depth == 0)
        free(case_use(malloc(BLOCK_BYTES)));
    else
        (bits & 1 ? site_right : site_left)(bits >> 1, depth - 1);
    __asm__ volatile(""); /* no tail call */
}

static APART void site_right(unsigned bits, unsigned depth)
{
    if (depth == 0)
        free(case_use(malloc(BLOCK_BYTES)));
    else
        (bits & 1 ? site_left : site_right)(bits >> 1, depth - 1);
    __asm__ volatile("");
}

int main(int count, char **words)
{
    static void *block[HEAP_BLOCKS];
    bool heap = case_is(count, words, "heap"), file = case_is(count, words, "file"),
         both = case_is(count, words, "both");
    if (case_is(count, words, "stacks")) {
        for (unsigned i = 0; i < 1u << DEPTH; i++)
            site_left(i, DEPTH);
        return 0;
    }
    if (!heap && !file && !both && !case_is(count, words, "mapped"))
        return case_unknown(words[0]);
    for (size_t i = 0; (heap || both) && i < HEAP_BLOCKS; i++)
        case_use(block[i] = site_block(BYTES / HEAP_BLOCKS / (both ? 2 : 1)));
    void *memory = heap ? NULL : map(file);
    if (memory == MAP_FAILED)
        return 1;
    if (memory)
        memset(memory, 1, BYTES);
    case_use(site_block(BLOCK_BYTES));
    return 0;
}
