/* SPDX-License-Identifier: MIT */
/*
 * ifunc_library.c - chooses its implementation with an IFUNC whose resolver allocates.
 *
 * The loader relocates a library before the libraries that are preloaded in front of it. So the resolver runs before
 * the runtime's own relocations are made.
 */
#include <malloc.h>
#include <stdint.h>

#include "trap.h"

static void *block;
static unsigned resolved;

int ifunc_answer(void);
void *ifunc_block(void);

static int answer(void)
{
    return 42;
}

static void note(int truth)
{
    resolved = resolved * 2 + (truth != 0);
}

/* clang does not see that the attribute below uses this. */
__attribute__((used)) static int (*resolve(void))(void)
{
    char *a = malloc(100), *b = calloc(10, 10), *c, *d;
    note(a && b && b[99] == 0);
    memset(a, 'r', 100);
    free(a);
    c = malloc(100);
    memset(c, 's', 100);
    c = realloc(c, 1000);
    note(c && c[0] == 's' && c[99] == 's');
    note(posix_memalign((void **) &d, 256, 10) == 0 && (uintptr_t) d % 256 == 0);
    note((d = memalign(64, 10)) != NULL && (uintptr_t) d % 64 == 0);
    free(b);
    free(d);
    block = c;
    return answer;
}

static int chosen(void) __attribute__((ifunc("resolve")));

int ifunc_answer(void)
{
    return resolved == 0xf ? chosen() : -1;
}

void *ifunc_block(void)
{
    return block;
}
