/* SPDX-License-Identifier: MIT */
/*
 * usable.c - prints the usable size that the allocator gives for every size from 1 byte on, one line each.
 *
 *   usable BYTES
 */
#include <malloc.h>

#include "case.h"

int main(int count, char **words)
{
    size_t most = count == 2 ? (size_t) atol(words[1]) : 0;
    for (size_t bytes = 1; bytes <= most; bytes++) {
        void *block = case_use(malloc(bytes));
        printf("%zu\n", malloc_usable_size(block));
        free(block);
    }
    return 0;
}
