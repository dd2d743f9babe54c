/* SPDX-License-Identifier: MIT */
/* huge.c - requests more memory than there is, with every function, and then allocates 64 MiB in small blocks. */
#include <errno.h>
#include <malloc.h>
#include <stdint.h>

#include "trap.h"

#define BLOCKS 65536
#define BYTES 1024

static volatile size_t sizes[] = {
    0xc000000000000000, 0x8000000000000000, 0x7fffffffffffffff, 0x4000000000000000,
    SIZE_MAX,           SIZE_MAX - 63,      SIZE_MAX - 64,      SIZE_MAX - 4095,
};

static APART void ask_for(volatile size_t n)
{
    void *out = NULL;
    void *volatile block = malloc(8);
    errno = 0;
    CHECK(keep(malloc(n)) == NULL && errno == ENOMEM);
    errno = 0;
    CHECK(keep(calloc(n, 1)) == NULL && errno == ENOMEM);
    errno = 0;
    CHECK(keep(calloc(n / 2 + 1, 2)) == NULL && errno == ENOMEM);
    errno = 0;
    CHECK(keep(realloc(block, n)) == NULL && errno == ENOMEM);
    errno = 0;
    CHECK(keep(aligned_alloc(64, n)) == NULL && errno == ENOMEM);
    CHECK(posix_memalign(&out, 64, n) == ENOMEM);
    free(block);
}

static APART void *huge_allocate(void)
{
    return keep(malloc(BYTES));
}

int main(void)
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        ask_for(sizes[i]);
    CHECK(keep(malloc(sizes[0])) == NULL); /* the last large request: three quarters of SIZE_MAX */
    for (int i = 0; i < BLOCKS; i++)
        free(huge_allocate());
    return 0;
}
