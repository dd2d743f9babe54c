/* SPDX-License-Identifier: MIT */
/*
 * sites.c - many sites of many sizes, the same in every run; with -DLEAK one of them keeps what it frees otherwise, and
 * with -DEDITED all of them are further down, as after an edit above them.
 */
#include <stdlib.h>

#ifdef EDITED
#line 1000
#endif

#define SITES 64
#define ROUNDS 400
#define SESSIONS 20000

static void *volatile sink; /* so that no compiler pairs malloc with free and drops both */

static void work(unsigned number, void *(*take)(size_t size))
{
    size_t size = 16 + number * number * 3;
    for (unsigned i = 0; i < ROUNDS; i++) {
        void *block = take(size);
        sink = block;
        if (i % 3)
            free(block);
    }
}

#define SITE(a, b)                                                                                                     \
    static __attribute__((noinline)) void *site_##a##b(size_t size)                                                    \
    {                                                                                                                  \
        void *block = malloc(size);                                                                                    \
        sink = block;                                                                                                  \
        return block;                                                                                                  \
    }
#define EIGHT(X, a) X(a, 0) X(a, 1) X(a, 2) X(a, 3) X(a, 4) X(a, 5) X(a, 6) X(a, 7)
#define ALL(X) EIGHT(X, 0) EIGHT(X, 1) EIGHT(X, 2) EIGHT(X, 3) EIGHT(X, 4) EIGHT(X, 5) EIGHT(X, 6) EIGHT(X, 7)
ALL(SITE)

#define NAME(a, b) site_##a##b,
static void *(*const sites[SITES])(size_t) = {ALL(NAME)};

static __attribute__((noinline)) void keep_session(void)
{
    for (unsigned i = 0; i < SESSIONS; i++) {
        void *block = malloc(300);
        sink = block;
#ifndef LEAK
        free(block);
#endif
    }
}

int main(void)
{
    for (unsigned i = 0; i < SITES; i++)
        work(i, sites[i]);
    keep_session();
    return 0;
}
