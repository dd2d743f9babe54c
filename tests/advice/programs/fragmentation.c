/* SPDX-License-Identifier: MIT */
/*
 * fragmentation.c - fills the heap, frees most of it, and continues for a while with the rest: a block of each page, so
 * that no page is free; or blocks with pages of their own; or it frees most of them only at exit. `stay` is like
 * `holes` and runs until it is killed. `tables` gives all of its memory back, but between has so many small blocks that
 * the tables of exact mode grow.
 *
 *   fragmentation holes|stay|mapped|exit|tables
 */
#include "case.h"

#define BYTES (32 << 20)
#define BLOCK_BYTES 1000
#define MAPPED_BYTES (256 << 10)
#define KEPT_OF 4
#define SECONDS 1.4
#define MINUTE 60.0

static APART void *site_block(size_t bytes)
{
    return memset(case_use(malloc(bytes)), 1, bytes);
}

/* Gives the timeline moments to record. */
static void go_on(double seconds)
{
    for (double end = case_seconds() + seconds; case_seconds() < end; case_wait())
        free(case_use(malloc(100)));
}

#define LARGE_BYTES (1 << 20)
#define LARGES 160
#define SMALL_BYTES 240
#define SMALLS ((40 << 20) / SMALL_BYTES)

/* The heap falls to half, which is when the tables grow: it is never as large again. */
static int grow_tables(void)
{
    static void *large[LARGES], *small[SMALLS];
    for (int i = 0; i < LARGES; i++)
        large[i] = site_block(LARGE_BYTES);
    case_wait();
    for (int i = LARGES / 2; i < LARGES; i++)
        free(large[i]);
    for (int i = 0; i < SMALLS; i++)
        small[i] = site_block(SMALL_BYTES);
    for (int i = 0; i < SMALLS; i++) /* malloc keeps the first few for itself: not those at the end of the heap */
        free(small[i]);
    for (int i = 0; i < LARGES / 2; i++)
        free(large[i]);
    go_on(SECONDS);
    return 0;
}

int main(int count, char **words)
{
    static void *block[BYTES / BLOCK_BYTES];
    bool mapped = case_is(count, words, "mapped"), at_exit = case_is(count, words, "exit");
    if (case_is(count, words, "tables"))
        return grow_tables();
    double seconds = case_is(count, words, "stay") ? MINUTE : SECONDS;
    if (!mapped && !at_exit && seconds < MINUTE && !case_is(count, words, "holes"))
        return case_unknown(words[0]);
    size_t bytes = mapped ? MAPPED_BYTES : BLOCK_BYTES, blocks = BYTES / bytes;
    for (size_t i = 0; i < blocks; i++)
        block[i] = site_block(bytes);
    case_wait();
    if (at_exit)
        go_on(seconds);
    for (size_t i = 0; i < blocks; i++)
        if (i % KEPT_OF)
            free(block[i]);
    if (!at_exit)
        go_on(seconds);
    return 0;
}
