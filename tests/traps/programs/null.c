/* SPDX-License-Identifier: MIT */
/* null.c - frees NULL many times while a block is live whose address has the same low half. */
#include <stdint.h>

#include "trap.h"

static APART void *null_allocate(void)
{
    return keep(malloc(4000));
}

int main(void)
{
    void *block[3];
    for (int i = 0; i < 3; i++)
        CHECK((block[i] = null_allocate()) != NULL && (uint32_t) (uintptr_t) block[i] == 0);
    for (int i = 0; i < 1000; i++)
        free(keep(NULL));
    free(block[0]);
    for (int i = 0; i < 1000; i++)
        free(keep(NULL));
    free(block[1]);
    return 0;
}
