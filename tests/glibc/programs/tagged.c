/* SPDX-License-Identifier: MIT */
/*
 * tagged.c - a program that uses the API without knowing which library provides it, and prints what it gets.
 *
 *   tagged
 */
#include "plimsoll.h"

#include "../../traps/programs/trap.h"

static APART void *tagged_allocate(size_t bytes)
{
    return keep(malloc(bytes));
}

int main(void)
{
    static void *block[30];
    printf("loaded %d, active %d\n", plimsoll_loaded(), plimsoll_active());
    plimsoll_push("outer");
    for (int i = 0; i < 10; i++)
        block[i] = tagged_allocate(100);
    plimsoll_push("inner");
    for (int i = 10; i < 30; i++)
        block[i] = tagged_allocate(1000);
    plimsoll_pop();
    plimsoll_pop();
    struct plimsoll_stats before, after;
    int status = plimsoll_stats(&before, sizeof before);
    if (status == 0) {
        for (int i = 0; i < 50; i++)
            free(tagged_allocate(10));
        CHECK(plimsoll_stats(&after, sizeof after) == 0);
        printf("counted %llu calls\n", (unsigned long long) (after.calls - before.calls));
    } else {
        printf("no statistics: %d\n", status);
    }
    for (int i = 0; i < 30; i += 2)
        free(block[i]);
    return 0;
}
