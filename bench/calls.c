/* SPDX-License-Identifier: MIT */
/*
 * calls.c - calls one function of the allocator and frees the result, repeatedly: the cost of a call.
 *
 * Calls are made in separate functions, take_FUNCTION() and give(). So what callgrind charges to their callees is the
 * price of the allocator's function, whatever its name in the library's symbol table. They are written so that they are
 * neither inlined nor end in a jump.
 *
 * usage: calls KIND BYTES COUNT [THREADS]
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))
#define THREADS_MAX 16
#define ALIGNMENT 64
#define FIRST_BYTES 16

struct job {
    const struct kind *kind;
    size_t bytes;
    unsigned long count;
    void *volatile block;
};

struct kind {
    const char *name;
    void (*prepare)(struct job *job); /* allocates the block that is reallocated, or NULL */
    void (*take)(struct job *job);
};

static NOINLINE void take_malloc(struct job *job)
{
    job->block = malloc(job->bytes);
}

static NOINLINE void take_calloc(struct job *job)
{
    job->block = calloc(1, job->bytes);
}

static NOINLINE void take_aligned(struct job *job)
{
    job->block = aligned_alloc(ALIGNMENT, job->bytes);
}

static NOINLINE void take_realloc(struct job *job)
{
    job->block = realloc(job->block, job->bytes);
}

static NOINLINE void give(struct job *job)
{
    free(job->block);
    job->block = NULL;
}

static NOINLINE void prepare_small(struct job *job)
{
    job->block = malloc(FIRST_BYTES);
}

/* clang-format off */
static const struct kind kinds[] = {
    {"malloc",  NULL,          take_malloc},
    {"calloc",  NULL,          take_calloc},
    {"aligned", NULL,          take_aligned},
    {"realloc", prepare_small, take_realloc}, /* to another size: it moves */
    {"resize",  take_malloc,   take_realloc}, /* to the size it has: it stays */
};
/* clang-format on */

static void *work(void *argument)
{
    struct job *job = argument;
    prepare_small(job); /* a thread's first allocation costs more than others */
    give(job);
    for (unsigned long i = 0; i < job->count; i++) {
        if (job->kind->prepare)
            job->kind->prepare(job);
        job->kind->take(job);
        give(job);
    }
    return NULL;
}

static int run(const struct job *model, unsigned threads)
{
    static struct {
        _Alignas(128) struct job job; /* so that threads do not share a cache line */
        pthread_t thread;
    } at[THREADS_MAX];
    for (unsigned i = 0; i < threads; i++)
        at[i].job = *model;
    if (threads == 1) {
        work(&at[0].job);
        return 0;
    }
    for (unsigned i = 0; i < threads; i++) {
        if (pthread_create(&at[i].thread, NULL, work, &at[i].job))
            return 1;
    }
    for (unsigned i = 0; i < threads; i++)
        pthread_join(at[i].thread, NULL);
    return 0;
}

int main(int count, char **words)
{
    unsigned threads = count > 4 ? (unsigned) strtoul(words[4], NULL, 10) : 1;
    for (size_t i = 0; count >= 4 && i < sizeof kinds / sizeof *kinds; i++) {
        struct job model = {&kinds[i], strtoul(words[2], NULL, 10), strtoul(words[3], NULL, 10), NULL};
        if (!strcmp(kinds[i].name, words[1]) && threads >= 1 && threads <= THREADS_MAX)
            return run(&model, threads);
    }
    fputs("usage: calls malloc|calloc|aligned|realloc|resize BYTES COUNT [THREADS (1 to 16)]\n", stderr);
    return 2;
}
