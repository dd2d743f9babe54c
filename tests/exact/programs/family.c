/* SPDX-License-Identifier: MIT */
/*
 * family.c - calls each allocation function with sizes from zero to megabytes, and in all ways that fail.
 *
 *   family LEDGER            all functions
 *   family LEDGER modest     without pvalloc, which some allocators leave to libc although they cannot free its blocks
 */
#include "../../lib/patience.h"
#include "ledger.h"

#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#define SITES(X)                                                                                                       \
    X(malloc)                                                                                                          \
    X(nothing)                                                                                                         \
    X(calloc)                                                                                                          \
    X(calloc_nothing)                                                                                                  \
    X(posix_memalign)                                                                                                  \
    X(aligned_alloc) X(memalign) X(valloc) X(pvalloc) X(reallocarray) X(realloc_null) X(large) X(refused)
LEDGER_DECLARE(SITES);

#define TIMES 300

#define SITE(name, bytes, call)                                                                                        \
    static APART struct block site_##name(size_t i)                                                                    \
    {                                                                                                                  \
        return LEDGER_ALLOCATE(SITE_##name, bytes, call);                                                              \
    }
SITE(malloc, 1 + i, malloc(1 + i))
SITE(nothing, i - i, malloc(i - i))
SITE(calloc, (1 + i) * 7, calloc(1 + i, 7))
SITE(calloc_nothing, 0, calloc(i, 0))
SITE(aligned_alloc, 128 * (1 + i % 5), aligned_alloc(128, 128 * (1 + i % 5)))
SITE(memalign, 1 + i, memalign(1 << (3 + i % 9), 1 + i))
SITE(valloc, 1 + i, valloc(1 + i))
SITE(pvalloc, 1 + i, pvalloc(1 + i))
SITE(reallocarray, (1 + i) * 5, reallocarray(NULL, 1 + i, 5))
SITE(realloc_null, 1 + i, realloc(NULL, 1 + i))
SITE(large, ((size_t) 1 << 17) * (1 + i % 40), malloc(((size_t) 1 << 17) * (1 + i % 40)))

static APART struct block site_posix_memalign(size_t i)
{
    void *address = NULL;
    return LEDGER_ALLOCATE(SITE_posix_memalign, 3 * i, posix_memalign(&address, 16 << i % 8, 3 * i) ? NULL : address);
}

/* None of these may return a block. `kept` must not change. */
static APART void site_refused(const struct block *kept)
{
    static volatile size_t most = PTRDIFF_MAX, all = SIZE_MAX, half = SIZE_MAX / 2;
    void *volatile block = kept->address;
    void *out = NULL;
    int refused = !malloc(most) + !malloc(all) + !calloc(half, 3) + !calloc(most, 1) + !aligned_alloc(64, most) +
                  !memalign(64, most) + !valloc(most) + !pvalloc(most) + !reallocarray(NULL, half, 3) +
                  !realloc(NULL, most) + !realloc(block, most) + !reallocarray(block, half, 3) +
                  (posix_memalign(&out, 24, 8) == EINVAL) + (posix_memalign(&out, 64, most) == ENOMEM);
    if (refused != 14)
        _exit(10 + refused);
}

static struct block (*const sites[])(size_t) = {
    site_malloc,   site_nothing, site_calloc,       site_calloc_nothing, site_posix_memalign, site_aligned_alloc,
    site_memalign, site_valloc,  site_reallocarray, site_realloc_null,   site_pvalloc,
};
#define SITE_FUNCTIONS (sizeof sites / sizeof *sites)

static size_t functions = SITE_FUNCTIONS;

/* One block in three is left. */
static void allocate_all(void)
{
    struct block blocks[SITE_FUNCTIONS];
    for (size_t i = 0; i < TIMES; i++) {
        for (size_t s = 0; s < functions; s++)
            blocks[s] = sites[s](i);
        for (size_t s = 0; s < functions; s++)
            if (i % 3)
                ledger_free(blocks[s]);
    }
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    if (argc == 3)
        functions--;
    alarm(PATIENCE_S);
    ledger_open(argv[1], site_names, SITE_COUNT);
    allocate_all();
    for (size_t i = 0; i < TIMES; i++)
        ledger_free(site_large(i));
    for (size_t i = 0; i < TIMES; i++) {
        struct block block = site_malloc(i);
        site_refused(&block);
        ledger_free(block);
    }
    return 0;
}
