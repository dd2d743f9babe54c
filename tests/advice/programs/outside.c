/* SPDX-License-Identifier: MIT */
/*
 * outside.c - uses much memory: from malloc, or mapped by itself. A file does not count.
 *
 *   outside heap|mapped|file
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

int main(int count, char **words)
{
    static void *block[HEAP_BLOCKS];
    bool heap = case_is(count, words, "heap"), file = case_is(count, words, "file");
    if (!heap && !file && !case_is(count, words, "mapped"))
        return case_unknown(words[0]);
    for (size_t i = 0; heap && i < HEAP_BLOCKS; i++)
        case_use(block[i] = site_block(BYTES / HEAP_BLOCKS));
    void *memory = heap ? NULL : map(file);
    if (memory == MAP_FAILED)
        return 1;
    if (memory)
        memset(memory, 1, BYTES);
    case_use(site_block(BLOCK_BYTES));
    return 0;
}
