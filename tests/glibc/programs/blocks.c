/* SPDX-License-Identifier: MIT */
/*
 * blocks.c - the promises of the allocator, and what it reports: sizes, alignment, contents, errno, and how much of the
 * heap is in use. The output must not depend on whether, or how often, a sample is taken.
 *
 *   blocks
 */
#include <errno.h>
#include <malloc.h>
#include <stdint.h>

#include "../../traps/programs/trap.h"

static const size_t sizes[] = {0,    1,    24,   25,     40,     100,    1000,    1032,
                               1033, 4000, 5000, 100000, 131000, 140000, 1000000, 5000000};
#define SIZES (sizeof sizes / sizeof *sizes)

static unsigned char byte_of(size_t bytes, size_t i)
{
    return (unsigned char) (bytes * 31 + i * 7 + 1);
}

static void fill(unsigned char *block, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        block[i] = byte_of(bytes, i);
}

/* Checks the first `n` bytes of a block that was filled when it had `bytes`. */
static void check_contents(const unsigned char *block, size_t bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        CHECK(block[i] == byte_of(bytes, i));
}

/* A block must be usable up to the last byte of its usable size. */
static size_t use(void *block, size_t bytes)
{
    size_t usable = malloc_usable_size(block);
    CHECK(usable >= bytes && (uintptr_t) block % 16 == 0);
    fill(block, usable);
    check_contents(block, usable, usable);
    return usable;
}

/* ---- each function, with each size ---- */

static void *by_malloc(size_t bytes)
{
    return malloc(bytes);
}

static void *by_calloc(size_t bytes)
{
    unsigned char *block = calloc(bytes, 1);
    for (size_t i = 0; i < bytes; i++)
        CHECK(block[i] == 0);
    return block;
}

static void *by_realloc(size_t bytes)
{
    return realloc(NULL, bytes);
}

static void *by_reallocarray(size_t bytes)
{
    return reallocarray(NULL, bytes, 1);
}

static void *by_aligned_alloc(size_t bytes)
{
    void *block = aligned_alloc(256, bytes);
    CHECK((uintptr_t) block % 256 == 0);
    return block;
}

static void *by_memalign(size_t bytes)
{
    void *block = memalign(4096, bytes);
    CHECK((uintptr_t) block % 4096 == 0);
    return block;
}

static void *by_posix_memalign(size_t bytes)
{
    void *block = NULL;
    CHECK(posix_memalign(&block, 64, bytes) == 0 && (uintptr_t) block % 64 == 0);
    return block;
}

static void *by_valloc(size_t bytes)
{
    void *block = valloc(bytes);
    CHECK((uintptr_t) block % 4096 == 0);
    return block;
}

static const struct {
    const char *name;
    void *(*get)(size_t bytes);
} functions[] = {
    {"malloc", by_malloc},
    {"calloc", by_calloc},
    {"realloc", by_realloc},
    {"reallocarray", by_reallocarray},
    {"aligned_alloc", by_aligned_alloc},
    {"memalign", by_memalign},
    {"posix_memalign", by_posix_memalign},
    {"valloc", by_valloc},
};

static void try_functions(void)
{
    for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
        printf("%s:", functions[f].name);
        for (size_t s = 0; s < SIZES; s++) {
            errno = 77;
            unsigned char *block = keep(functions[f].get(sizes[s]));
            CHECK(block && errno == 77);
            printf(" %zu", use(block, sizes[s]));
            free(block);
            CHECK(errno == 77);
        }
        printf("\n");
    }
}

/* ---- from every size to every other ---- */

static void try_moves(void)
{
    size_t sum = 0;
    for (size_t from = 1; from < SIZES; from++)
        for (size_t to = 1; to < SIZES; to++) {
            unsigned char *block = keep(malloc(sizes[from]));
            fill(block, sizes[from]);
            errno = 78;
            block = keep(realloc(block, sizes[to]));
            CHECK(block && errno == 78);
            check_contents(block, sizes[from], sizes[from] < sizes[to] ? sizes[from] : sizes[to]);
            sum += use(block, sizes[to]);
            CHECK(realloc(block, 0) == NULL && errno == 78);
        }
    printf("moved: %zu\n", sum);
}

/* A failed call leaves the block unchanged, and sets errno. */
static void try_failures(void)
{
    volatile size_t most = PTRDIFF_MAX, half = SIZE_MAX / 2;
    for (size_t s = 1; s < SIZES; s++) {
        unsigned char *block = keep(malloc(sizes[s]));
        void *out = NULL;
        fill(block, sizes[s]);
        errno = 0;
        CHECK(!realloc(block, most) && errno == ENOMEM);
        errno = 0;
        CHECK(!reallocarray(block, half, 4) && errno == ENOMEM);
        errno = 0;
        CHECK(!malloc(most) && errno == ENOMEM && !calloc(half, 4) && !aligned_alloc(64, most));
        CHECK(posix_memalign(&out, 64, most) == ENOMEM && posix_memalign(&out, 24, 8) == EINVAL && !out);
        check_contents(block, sizes[s], sizes[s]);
        free(block);
    }
}

static void try_copies(void)
{
    char *one = keep(strdup("the same")), *two = keep(strndup("the same, longer", 8)), *three = NULL;
    CHECK(asprintf(&three, "%s", one) == 8 && strcmp(one, two) == 0 && strcmp(two, keep(three)) == 0);
    printf("copies: %zu %zu %zu\n", malloc_usable_size(one), malloc_usable_size(two), malloc_usable_size(three));
    free(one);
    free(two);
    free(three);
}

/* Adjacent blocks: every second one is freed, the rest is moved, so that neighbours of samples are split and merged. */
static void try_neighbours(void)
{
    enum { BLOCKS = 2000 };
    static unsigned char *block[BLOCKS];
    for (int i = 0; i < BLOCKS; i++)
        fill(block[i] = keep(malloc(2000 + (size_t) i)), 2000 + (size_t) i);
    for (int i = 0; i < BLOCKS; i += 2)
        free(block[i]);
    for (int i = 1; i < BLOCKS; i += 2) {
        check_contents(block[i], 2000 + (size_t) i, 2000 + (size_t) i);
        block[i] = keep(realloc(block[i], 3000 + (size_t) i));
        check_contents(block[i], 2000 + (size_t) i, 2000 + (size_t) i);
    }
    printf("neighbours: %zu in use\n", mallinfo2().uordblks);
    for (int i = 1; i < BLOCKS; i += 2)
        free(block[i]);
}

static void show_heap(void)
{
    struct mallinfo2 info = mallinfo2();
    printf("in use: %zu, mapped: %zu in %zu\n", info.uordblks, info.hblkhd, info.hblks);
}

int main(void)
{
    for (int round = 0; round < 2; round++) {
        try_functions();
        try_moves();
        try_failures();
        try_copies();
        try_neighbours();
        show_heap();
    }
    return 0;
}
