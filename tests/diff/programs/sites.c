/* SPDX-License-Identifier: MIT */
/*
 * sites.c - many sites of many sizes, the same in every run. With -DLEAK one of them keeps blocks that it frees
 * otherwise. With -DEDITED all of them are further down, as after an edit above them. With -DRENAMED they are in a
 * file of another name, too. With -DBURST the peak is higher, and all else nearly the same.
 */
#include <stdlib.h>

#ifdef RENAMED
#line 1000 "renamed.c"
#elif defined EDITED
#line 1000
#endif

#define SITES 64
#define ROUNDS 400
#define SESSIONS 20000

static void *volatile sink; /* keeps the compiler from removing pairs of malloc and free */

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

#ifdef BURST
static __attribute__((noinline)) void burst(void)
{
    void *block = malloc(16 << 20);
    sink = block;
    free(block);
}
#endif

int main(void)
{
    for (unsigned i = 0; i < SITES; i++)
        work(i, sites[i]);
    keep_session();
#ifdef BURST
    burst();
#endif
    return 0;
}
