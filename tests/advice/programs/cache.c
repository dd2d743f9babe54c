/* SPDX-License-Identifier: MIT */
/*
 * cache.c - keeps blocks until it ends, and frees all of them then: as long as it runs, or only in the beginning.
 *
 *   cache grow|fill
 */
#include "case.h"

#define BYTES (8 << 20)
#define BLOCK_BYTES 4000
#define SECONDS 1.8
#define FILLED 0.2 /* of that time */

static APART void *site_put(void)
{
    return case_use(malloc(BLOCK_BYTES));
}

int main(int count, char **words)
{
    static void *block[BYTES / BLOCK_BYTES];
    bool grows = case_is(count, words, "grow");
    if (!grows && !case_is(count, words, "fill"))
        return case_unknown(words[0]);
    size_t blocks = 0, most = sizeof block / sizeof *block;
    double start = case_seconds(), lasts = grows ? SECONDS : FILLED * SECONDS;
    for (double now = start; now < start + SECONDS; now = case_seconds()) {
        double wanted = (now - start) / lasts * (double) most;
        while (blocks < most && (double) blocks < wanted)
            block[blocks++] = site_put();
        free(case_use(malloc(100))); /* gives the timeline moments to record */
        case_wait();
    }
    for (size_t i = 0; i < blocks; i++)
        free(block[i]);
    return 0;
}
