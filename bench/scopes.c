/* SPDX-License-Identifier: MIT */
/*
 * scopes.c - enters and leaves a tag repeatedly, with or without a malloc and free in between: the cost of a scope.
 *
 * usage: scopes KIND COUNT [malloc]
 *
 * Each kind is a separate loop around the same malloc and free, so the difference of two kinds is the cost of a scope:
 *
 *     none      no scope
 *     around    one scope around all of it
 *     literal   plimsoll_push("name"), plimsoll_pop()
 *     prepared  plimsoll_enter(tag), plimsoll_pop()
 */
#include <plimsoll.h>

#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))
#define BLOCK_BYTES 48

static void *volatile sink;

static inline void work(int allocates)
{
    if (allocates) {
        sink = malloc(BLOCK_BYTES);
        free(sink);
    }
    __asm__ volatile("" ::: "memory");
}

static NOINLINE void none(unsigned long count, int allocates)
{
    for (unsigned long i = 0; i < count; i++)
        work(allocates);
}

static NOINLINE void around(unsigned long count, int allocates)
{
    plimsoll_push("around");
    none(count, allocates);
    plimsoll_pop();
}

static NOINLINE void literal(unsigned long count, int allocates)
{
    for (unsigned long i = 0; i < count; i++) {
        plimsoll_push("literal");
        work(allocates);
        plimsoll_pop();
    }
}

static NOINLINE void prepared(unsigned long count, int allocates)
{
    plimsoll_tag tag = plimsoll_prepare("prepared");
    for (unsigned long i = 0; i < count; i++) {
        plimsoll_enter(tag);
        work(allocates);
        plimsoll_pop();
    }
}

static const struct kind {
    const char *name;
    void (*loop)(unsigned long count, int allocates);
} kinds[] = {
    {"none", none},
    {"around", around},
    {"literal", literal},
    {"prepared", prepared},
};

int main(int count, char **words)
{
    sink = malloc(BLOCK_BYTES); /* a thread's first allocation costs more than others */
    free(sink);
    for (const struct kind *kind = kinds; count >= 3 && kind < kinds + sizeof kinds / sizeof *kinds; kind++) {
        if (!strcmp(kind->name, words[1])) {
            kind->loop(strtoul(words[2], NULL, 10), count > 3);
            return 0;
        }
    }
    fputs("usage: scopes none|around|literal|prepared COUNT [malloc]\n", stderr);
    return 2;
}
