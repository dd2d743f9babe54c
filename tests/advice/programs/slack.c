/* SPDX-License-Identifier: MIT */
/*
 * slack.c - keeps many blocks of a given size.
 *
 *   slack BYTES BLOCKS
 */
#include "case.h"

static APART void *site_block(size_t bytes)
{
    return case_use(malloc(bytes));
}

int main(int count, char **words)
{
    size_t bytes = count == 3 ? (size_t) atol(words[1]) : 0, blocks = count == 3 ? (size_t) atol(words[2]) : 0;
    if (!bytes || !blocks)
        return case_unknown(words[0]);
    void **block = malloc(blocks * sizeof *block);
    for (size_t i = 0; i < blocks; i++)
        block[i] = site_block(bytes);
    for (size_t i = 0; i < blocks; i++)
        free(block[i]);
    free(block);
    return 0;
}
