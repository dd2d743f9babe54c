/* SPDX-License-Identifier: MIT */
/*
 * semantics.c - the promises of every allocation function, including errno, for valid and invalid requests.
 *
 *   semantics [libc]     with libc, also functions that other allocators leave to libc; they cannot free its blocks
 *
 * It prints what differs between allocators. The test compares that with and without us.
 */
#include <errno.h>
#include <malloc.h>
#include <stdint.h>

#include "trap.h"

#define MARK 12345 /* a value that nothing sets */
/* Allocators other than libc's read files when they need pages, and leave the errno of that. */
static int strict;
#define UNTOUCHED (!strict || errno == MARK)

#define HUGE_SIZE ((size_t) PTRDIFF_MAX + 1)

static const char *errno_now(void)
{
    static char text[20];
    snprintf(text, sizeof text, "%d", errno);
    return errno == MARK ? "untouched" : text;
}

static void say(const char *what, const void *block)
{
    int saved = errno;
    printf("%s: %s", what, block ? "a block" : "NULL");
    errno = saved;
    printf(strict || !block ? ", errno %s\n" : "\n", errno_now());
    errno = MARK;
}

static int aligned(const void *block, size_t to)
{
    return (uintptr_t) block % to == 0;
}

static int full_of(const void *block, int letter, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (((const char *) block)[i] != letter)
            return 0;
    return 1;
}

static void check_zero_sizes(void)
{
    void *a = keep(malloc(0)), *b = keep(malloc(0));
    CHECK(a && b && a != b && UNTOUCHED);
    free(a);
    free(b);
    say("calloc(0, 0)", a = keep(calloc(0, 0)));
    free(a);
    say("calloc(5, 0)", a = keep(calloc(5, 0)));
    free(a);
    say("aligned_alloc(64, 0)", a = keep(aligned_alloc(64, 0)));
    free(a);
    free(keep(NULL));
    CHECK(errno == MARK);
}

static APART void check_overflow(void)
{
    volatile size_t half = SIZE_MAX / 2 + 1, huge = HUGE_SIZE;
    say("calloc overflow", keep(calloc(half, 2)));
    say("calloc overflow by size", keep(calloc(2, half)));
    say("reallocarray overflow from NULL", keep(reallocarray(NULL, half, 2)));
    char *volatile block = keep(malloc(100));
    memset(block, 'k', 100);
    say("reallocarray overflow", keep(reallocarray(block, half, 2)));
    CHECK(full_of(block, 'k', 100));
    say("realloc too large", keep(realloc(block, huge)));
    CHECK(full_of(block, 'k', 100));
    free(block);
    say("malloc too large", keep(malloc(huge)));
    say("calloc too large", keep(calloc(1, huge)));
    say("valloc too large", keep(valloc(huge)));
    say("memalign too large", keep(memalign(64, huge)));
    say("aligned_alloc too large", keep(aligned_alloc(64, huge)));
}

static void say_posix_memalign(size_t alignment, size_t bytes)
{
    void *untouched = &untouched, *block = untouched;
    int error = posix_memalign(&block, alignment, bytes);
    printf("posix_memalign(%zu, %zu): %d, %s\n", alignment, bytes, error, block == untouched ? "untouched" : "a block");
    if (!error) {
        CHECK(!strict || aligned(block, alignment)); /* mimalloc 2.0 sometimes does not align */
        free(block);
    }
    errno = MARK;
}

static void check_alignment(void)
{
    static const size_t good[] = {8, 16, 32, 64, 256, 4096};
    static const size_t bad[] = {0, 1, 2, 4, 3, 24, 4095};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        void *a = keep(aligned_alloc(good[i], good[i] * 2)), *b = keep(memalign(good[i], 100));
        CHECK(a && b && UNTOUCHED && (!strict || (aligned(a, good[i]) && aligned(b, good[i]))));
        memset(a, 1, good[i] * 2);
        memset(b, 1, 100);
        free(a);
        free(b);
        say_posix_memalign(good[i], 100);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        say_posix_memalign(bad[i], 100);
    say_posix_memalign(64, HUGE_SIZE);
    void *block = keep(valloc(100));
    CHECK(block && (!strict || aligned(block, 4096)));
    free(block);
}

static void check_pvalloc(void)
{
#ifdef __GLIBC__ /* musl has no such function */
    void *block = keep(pvalloc(100));
    CHECK(block && aligned(block, 4096) && malloc_usable_size(block) >= 4096);
    free(block);
    say("pvalloc too large", keep(pvalloc(HUGE_SIZE)));
#endif
}

static void check_realloc(void)
{
    char *block = keep(realloc(NULL, 100));
    CHECK(block && UNTOUCHED);
    memset(block, 'm', 100);
    block = keep(realloc(block, 101)); /* most likely in place */
    CHECK(block && full_of(block, 'm', 100));
    block = keep(realloc(block, 1 << 20)); /* elsewhere, by mmap */
    CHECK(block && full_of(block, 'm', 100));
    memset(block, 'n', 1 << 20);
    block = keep(realloc(block, 3 << 20)); /* by mremap */
    CHECK(block && full_of(block, 'n', 1 << 20));
    block = keep(realloc(block, 10));
    CHECK(block && full_of(block, 'n', 10) && UNTOUCHED);
    say("realloc to 0", block = keep(realloc(block, 0)));
    free(block);
    say("realloc(NULL, 0)", block = keep(realloc(NULL, 0)));
    say("reallocarray to 0", block = keep(reallocarray(block, 0, 8)));
    free(block);
    block = keep(memalign(4096, 50));
    memset(block, 'o', 50);
    block = keep(realloc(block, 5000));
    CHECK(block && full_of(block, 'o', 50));
    free(block);
}

static void check_calloc(void)
{
    for (size_t bytes = 1; bytes < 100000; bytes = bytes * 3 + 1) {
        char *dirty = keep(malloc(bytes));
        memset(dirty, 'd', bytes);
        free(dirty);
        char *block = keep(calloc(1, bytes));
        CHECK(block && full_of(block, 0, bytes) && UNTOUCHED);
        free(block);
    }
}

static void check_usable_sizes(void)
{
    for (size_t bytes = 0; bytes < 5000; bytes += 7) {
        void *block = keep(malloc(bytes));
        size_t usable = malloc_usable_size(block);
        CHECK(usable >= bytes && usable <= bytes + bytes / 4 + 64); /* the rest of a larger hole may be part of it */
        memset(block, 'u', usable);
        free(block);
    }
    CHECK(malloc_usable_size(NULL) == 0);
}

static void check_errno_of_free(void)
{
    void *small = keep(malloc(10)), *large = keep(malloc(8 << 20));
    errno = MARK;
    free(small);
    CHECK(errno == MARK);
    free(large);
    CHECK(errno == MARK);
}

int main(int argc, char **argv)
{
    (void) argv;
    strict = argc > 1;
    setvbuf(stdout, NULL, _IOFBF, 1 << 20);
    errno = MARK;
    for (int i = 0; i < 3; i++) {
        check_zero_sizes();
        check_overflow();
        check_alignment();
        check_realloc();
        check_calloc();
        check_usable_sizes();
        check_errno_of_free();
        if (strict)
            check_pvalloc();
    }
    return 0;
}
