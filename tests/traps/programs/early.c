/* SPDX-License-Identifier: MIT */
/* early.c - its library allocates before main and before the runtime's constructor, and frees after the end of both. */
#include "trap.h"

extern void *early_block[];

int main(void)
{
    early_block[0] = realloc(early_block[0], 5000);
    CHECK(early_block[0] != NULL);
    puts("main");
    return 0;
}
