/* SPDX-License-Identifier: MIT */
/*
 * wide.c - has far more addresses than memory, and pointers in the few pages of them that it touches: in a terabyte
 * that it only reserves, in a block of a gibibyte, and behind a page that nobody may read. It has many small blocks
 * besides. Then it prints `ready` and waits for its standard input to end.
 */
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))
#define PAGE 65536u /* of any kernel */
#define BULK 16384  /* blocks of 4 KiB */

void **reserved, **sparse, **guarded, **bulk;

static APART void *kept_in_reserve(void)
{
    return malloc(101);
}

static APART void *kept_in_sparse(void)
{
    return malloc(102);
}

static APART void *kept_behind_guard(void)
{
    return malloc(103);
}

static APART void *make_bulk(void)
{
    return malloc(4096);
}

static APART void lose_one(void)
{
    memset(malloc(104), 1, 104);
}

/* Where stale pointers may be. */
static APART void forget(void)
{
    volatile char scratch[64 << 10];
    memset((void *) scratch, 0, sizeof scratch);
}

static void *reserve(size_t bytes, int access)
{
    void *at = mmap(NULL, bytes, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        exit(1);
    return at;
}

int main(void)
{
    const size_t tera = 1ull << 40, giga = 1ull << 30;
    mallopt(M_PERTURB, 0); /* meson's tests ask malloc to write to all that it gives */
    reserve(4 * tera, PROT_NONE);
    reserved = (void **) ((char *) reserve(tera, PROT_READ | PROT_WRITE) + tera / 2);
    *reserved = kept_in_reserve();
    sparse = malloc(giga);
    if (!sparse || posix_memalign((void **) &guarded, PAGE, 3 * PAGE))
        return 1;
    sparse[giga / 16] = kept_in_sparse();
    guarded[2 * PAGE / sizeof *guarded] = kept_behind_guard();
    if (mprotect((char *) guarded + PAGE, PAGE, PROT_NONE))
        return 1;
    bulk = malloc(BULK * sizeof *bulk);
    for (int i = 0; i < BULK; i++)
        memset(bulk[i] = make_bulk(), 1, 4096);
    lose_one();
    forget();
    puts("ready");
    fflush(stdout);
    while (getchar() != EOF)
        ;
    return 0;
}
