/* SPDX-License-Identifier: MIT */
/* granule.c - fills pages with 8-byte blocks and frees them all, several times. */
#include "trap.h"

#define BLOCKS 20000

static APART void *granule_allocate(void)
{
    return keep(malloc(8));
}

int main(void)
{
    static void *block[BLOCKS];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < BLOCKS; i++)
            CHECK((block[i] = granule_allocate()) != NULL);
        for (int i = 0; i < BLOCKS; i++)
            free(block[i]);
    }
    return 0;
}
