/* SPDX-License-Identifier: MIT */
/*
 * reserve.c - tables that grow by realloc: many in small steps, so that neighbours are in the way and most steps copy;
 * one at the end of the heap, where there is room; or some so large that the kernel moves them. Prints how many bytes
 * were copied.
 *
 *   reserve steps|room|large
 */
#include "case.h"

#include <stdint.h>

#define STEP_BYTES 64
#define TABLES 100
#define TABLE_BYTES (4 << 10)
#define ROOM_BYTES (100 << 10)
#define LARGE_TABLES 10
#define LARGE_BYTES (16 << 20)

static size_t copied;

static APART void *site_grow(void *table, size_t old_bytes, size_t bytes)
{
    uintptr_t before = (uintptr_t) table;
    table = case_use(realloc(table, bytes));
    if (before && (uintptr_t) table != before)
        copied += old_bytes;
    return table;
}

static void grow_in_steps(int tables, size_t most)
{
    static char *table[TABLES];
    for (size_t bytes = STEP_BYTES; bytes <= most; bytes += STEP_BYTES)
        for (int i = 0; i < tables; i++)
            table[i] = site_grow(table[i], bytes - STEP_BYTES, bytes);
    for (int i = 0; i < tables; i++)
        free(table[i]);
}

static void grow_large(void)
{
    char *table[LARGE_TABLES] = {NULL};
    for (size_t bytes = 256 << 10; bytes <= LARGE_BYTES; bytes *= 2)
        for (int i = 0; i < LARGE_TABLES; i++)
            table[i] = site_grow(table[i], bytes / 2, bytes);
    for (int i = 0; i < LARGE_TABLES; i++)
        free(table[i]);
}

int main(int count, char **words)
{
    if (case_is(count, words, "steps"))
        grow_in_steps(TABLES, TABLE_BYTES);
    else if (case_is(count, words, "room"))
        grow_in_steps(1, ROOM_BYTES);
    else if (case_is(count, words, "large"))
        grow_large();
    else
        return case_unknown(words[0]);
    printf("%zu\n", copied);
    return 0;
}
