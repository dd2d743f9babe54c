/* SPDX-License-Identifier: MIT */
/*
 * sizing.c - prints the usable size by a rule of sizing.h for every size from 1 byte on, one line each.
 *
 *   sizing NAME BYTES
 */
#include "analysis/advice/sizing.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **words)
{
    const struct pl_sizing *sizing = count == 3 ? pl_sizing_named(words[1]) : NULL;
    if (!sizing)
        return 2;
    for (uint64_t bytes = 1; bytes <= strtoull(words[2], NULL, 10); bytes++)
        printf("%" PRIu64 "\n", pl_sizing_taken(sizing, bytes) - sizing->header);
    return 0;
}
