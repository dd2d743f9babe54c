/* SPDX-License-Identifier: MIT */
/*
 * own.c - a program with an allocator of its own, whose functions are called NAME(malloc) and so on. It checks its
 * blocks' contents, and makes a known number of calls: ROUNDS of each kind in each thread.
 *
 * realloc, calloc and the aligned functions of the allocator call its malloc and free, which must not be counted.
 *
 * usage: own THREADS ROUNDS [fork | steps | exec PROGRAM ...]      steps: the rounds again for each line of input
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef PREFIX
#define PREFIX
#endif
#define JOIN(a, b) a##b
#define JOINED(a, b) JOIN(a, b)
#define NAME(function) JOINED(PREFIX, function)
#ifdef HIDDEN
#define ALLOCATOR __attribute__((visibility("hidden"), noinline))
#else
#define ALLOCATOR __attribute__((visibility("default"), noinline))
#endif

/* ---- the allocator ---- */

enum { CLASSES = 40, CHUNK = 1 << 20 };

struct block {
    size_t bytes; /* behind it */
    struct block *next;
};

#ifndef FORWARD
static struct block *unused[CLASSES];
static char *fresh, *fresh_end;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
#endif

ALLOCATOR void *NAME(malloc)(size_t n);
ALLOCATOR void NAME(free)(void *p);
ALLOCATOR void *NAME(calloc)(size_t n, size_t m);
ALLOCATOR void *NAME(realloc)(void *p, size_t n);
ALLOCATOR int NAME(posix_memalign)(void **out, size_t alignment, size_t n);
ALLOCATOR void *NAME(aligned_alloc)(size_t alignment, size_t n);
ALLOCATOR size_t NAME(malloc_usable_size)(void *p);

#ifdef FORWARD /* no allocator at all */
void *NAME(malloc)(size_t n)
{
    return malloc(n);
}

void NAME(free)(void *p)
{
    free(p);
}
#else
static unsigned class_of(size_t bytes)
{
    unsigned class = 5;
    while (((size_t) 1 << class) < bytes)
        class ++;
    return class;
}

static struct block *carve(size_t bytes)
{
    if (!fresh || (size_t) (fresh_end - fresh) < bytes) {
        size_t chunk = bytes > CHUNK ? bytes : CHUNK;
        fresh = mmap(NULL, chunk, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (fresh == MAP_FAILED)
            abort();
        fresh_end = fresh + chunk;
    }
    struct block *block = (struct block *) (void *) fresh;
    fresh += bytes;
    return block;
}

void *NAME(malloc)(size_t n)
{
    if (n > SIZE_MAX / 4) {
        errno = ENOMEM;
        return NULL;
    }
    unsigned class = class_of(n + sizeof(struct block));
    pthread_mutex_lock(&lock);
    struct block *block = unused[class];
    if (block)
        unused[class] = block->next;
    else
        block = carve((size_t) 1 << class);
    pthread_mutex_unlock(&lock);
    block->bytes = ((size_t) 1 << class) - sizeof *block;
    return block + 1;
}

void NAME(free)(void *p)
{
    struct block *block = (struct block *) p - 1;
    if (!p)
        return;
    unsigned class = class_of(block->bytes + sizeof *block);
    pthread_mutex_lock(&lock);
    block->next = unused[class];
    unused[class] = block;
    pthread_mutex_unlock(&lock);
}
#endif

void *NAME(calloc)(size_t n, size_t m)
{
    void *p = NAME(malloc)(n * m);
    return p ? memset(p, 0, n * m) : NULL;
}

size_t NAME(malloc_usable_size)(void *p)
{
    return p ? ((struct block *) p - 1)->bytes : 0;
}

void *NAME(realloc)(void *p, size_t n)
{
#ifdef FORWARD
    return realloc(p, n);
#endif
    void *more = NAME(malloc)(n);
    size_t bytes = NAME(malloc_usable_size)(p);
    if (p && more) {
        memcpy(more, p, bytes < n ? bytes : n);
        NAME(free)(p);
    }
    return more;
}

/* Of 16 bytes, which is what its blocks have. */
void *NAME(aligned_alloc)(size_t alignment, size_t n)
{
    return alignment <= 16 ? NAME(malloc)(n) : NULL;
}

int NAME(posix_memalign)(void **out, size_t alignment, size_t n)
{
    *out = NAME(aligned_alloc)(alignment, n);
    return *out ? 0 : ENOMEM;
}

#ifdef EXTENDED /* as jemalloc */
ALLOCATOR void *NAME(mallocx)(size_t n, int flags);
ALLOCATOR void *NAME(rallocx)(void *p, size_t n, int flags);
ALLOCATOR void NAME(sdallocx)(void *p, size_t n, int flags);

void *NAME(mallocx)(size_t n, int flags)
{
    return flags & 0x40 ? NAME(calloc)(n, 1) : NAME(malloc)(n);
}

void *NAME(rallocx)(void *p, size_t n, int flags)
{
    (void) flags;
    return NAME(realloc)(p, n);
}

void NAME(sdallocx)(void *p, size_t n, int flags)
{
    (void) n, (void) flags;
    NAME(free)(p);
}
#endif

/* ---- the program ---- */

static void check(const unsigned char *p, size_t n, unsigned char with)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != with) {
            fprintf(stderr, "a block has changed\n");
            _exit(1);
        }
}

__attribute__((noinline)) static void *kept_block(size_t n)
{
    return NAME(malloc)(n);
}

__attribute__((noinline)) static void one_round(unsigned char with)
{
    void *aligned;
    unsigned char *a = NAME(malloc)(100), *b = NAME(calloc)(10, 20);
    check(b, 200, 0);
    memset(a, with, 100);
    a = NAME(realloc)(a, 1000);
    check(a, 100, with);
    if (NAME(posix_memalign)(&aligned, 16, 300))
        abort();
    memset(aligned, with, 300);
    NAME(free)(b);
    NAME(free)(a);
    check(aligned, 300, with);
    NAME(free)(aligned);
#ifdef EXTENDED
    unsigned char *c = NAME(mallocx)(50, 0x40);
    check(c, 50, 0);
    memset(c, with, 50);
    c = NAME(rallocx)(c, 90, 0);
    check(c, 50, with);
    NAME(sdallocx)(c, 90, 0);
#endif
    if (NAME(malloc)(SIZE_MAX / 2))
        abort();
}

static int rounds;

static void *work(void *number)
{
    for (int i = 0; i < rounds; i++) {
        one_round((unsigned char) (uintptr_t) number);
        memset(kept_block(40), 1, 40);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    enum { THREADS_MAX = 64 };
    pthread_t thread[THREADS_MAX];
    int threads = argc > 2 ? atoi(argv[1]) : 1;
    rounds = argc > 2 ? atoi(argv[2]) : 1;
    for (int i = 0; i < threads && i < THREADS_MAX; i++)
        if (pthread_create(&thread[i], NULL, work, (void *) (uintptr_t) (i + 1)))
            return 1;
    for (int i = 0; i < threads && i < THREADS_MAX; i++)
        pthread_join(thread[i], NULL);
    if (argc > 3 && !strcmp(argv[3], "fork") && fork() == 0) {
        work(NULL);
        exit(0);
    }
    while (wait(NULL) > 0)
        ;
    if (argc > 4 && !strcmp(argv[3], "exec"))
        execv(argv[4], argv + 4);
    do {
        puts("done");
        fflush(stdout);
    } while (argc > 3 && !strcmp(argv[3], "steps") && getchar() == '\n' && !work(NULL));
    return 0;
}
