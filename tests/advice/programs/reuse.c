/* SPDX-License-Identifier: MIT */
/*
 * reuse.c - allocates a buffer for every line and frees it at once; or keeps every other one for a while.
 *
 *   reuse line|history
 */
#include "case.h"

#define LINES 100000
#define LINE_BYTES 100
#define KEPT 16

static APART void *site_line(size_t number)
{
    return case_use(malloc(LINE_BYTES - number % 32));
}

int main(int count, char **words)
{
    static void *history[1 + KEPT];
    bool keep = case_is(count, words, "history");
    if (!keep && !case_is(count, words, "line"))
        return case_unknown(words[0]);
    for (size_t i = 0; i < LINES; i++) {
        void **place = &history[i % 2 ? 1 + i / 2 % KEPT : 0], *line = site_line(i);
        free(*place);
        *place = line;
        if (!keep || i % 2 == 0) {
            free(line);
            *place = NULL;
        }
    }
    return 0;
}
