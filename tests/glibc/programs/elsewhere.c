/* SPDX-License-Identifier: MIT */
/* elsewhere.c - the library that spaces.c loads: allocates with the libc of its own namespace, and checks that. */
#include <errno.h>

#include "../../traps/programs/trap.h"

#define TOO_MUCH (1ul << 46)

/* The block comes from another libc, and this libc's malloc has not been called yet. */
void elsewhere_take(void *block);
void elsewhere_take(void *block)
{
    free(block);
    volatile size_t bytes = TOO_MUCH;
    errno = 0;
    CHECK(!malloc(bytes) && errno == ENOMEM);
}

void elsewhere_work(void);
void elsewhere_work(void)
{
    char *block = keep(malloc(4567)), *other = keep(calloc(7, 11));
    block[4566] = 1;
    CHECK(other[76] == 0);
    block = keep(realloc(block, 9000));
    CHECK(block[4566] == 1);
    free(block);
    free(other);
}
