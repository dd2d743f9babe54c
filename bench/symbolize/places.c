/* SPDX-License-Identifier: MIT */
/*
 * places.c - pl_elf_find on the addresses of standard input, printed as llvm-symbolizer --inlines prints them.
 *
 * usage: places BINARY < addresses > places
 */
#include <stdio.h>
#include <stdlib.h>

#include "reader/symbols/symbolize.h"

#define PLACES_MAX 256

static const char *or_unknown(const char *text)
{
    return text[0] ? text : "??";
}

int main(int argc, char **argv)
{
    struct pl_elf *elf;
    char why[PL_WHY_BYTES], line[64];
    if (argc != 2) {
        fprintf(stderr, "usage: places BINARY < addresses\n");
        return 2;
    }
    if (pl_elf_open(argv[1], &elf, why) != 0) {
        fprintf(stderr, "places: %s\n", why);
        return 1;
    }
    while (fgets(line, sizeof line, stdin)) {
        struct pl_place place[PLACES_MAX];
        uint32_t places = pl_elf_find(elf, strtoull(line, NULL, 16), place, PLACES_MAX);
        if (places == 0)
            printf("??\n??:0:0\n");
        for (uint32_t i = 0; i < places; i++)
            printf("%s\n%s:%u:%u\n", or_unknown(place[i].function), or_unknown(place[i].file), place[i].line,
                   place[i].column);
        printf("\n");
    }
    pl_elf_close(elf);
    return 0;
}
