/* SPDX-License-Identifier: MIT */
/*
 * micro.c - allocates and frees from many deep stacks, and does little else: the worst case for a profiler.
 *
 * At each level a descent takes one of two call sites, chosen by a bit of the stack's number. So every number below
 * `stacks` is a different stack with `depth` frames. At the bottom a few blocks of mixed small sizes replace older ones
 * in a set of live blocks.
 */
#include <getopt.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline))
#define LIVE 4096
#define PAIRS_PER_DESCENT 4

struct job {
    uint64_t random;
    unsigned depth;
    unsigned stacks;
    unsigned long pairs;
    void *live[LIVE];
};

static const uint16_t sizes[16] = {16, 24, 32, 48, 64, 40, 80, 128, 256, 24, 512, 96, 32, 1024, 160, 64};

static uint64_t next_random(struct job *job)
{
    job->random ^= job->random << 13;
    job->random ^= job->random >> 7;
    job->random ^= job->random << 17;
    return job->random;
}

static NOINLINE void replace_blocks(struct job *job)
{
    for (unsigned i = 0; i < PAIRS_PER_DESCENT; i++) {
        uint64_t random = next_random(job);
        void **slot = &job->live[random % LIVE];
        free(*slot);
        *slot = malloc(sizes[random >> 60]);
        *(char volatile *) *slot = 1;
    }
}

/* The two recursive calls have two return addresses. The barrier keeps them from becoming jumps, or one call. */
static NOINLINE void descend(struct job *job, unsigned path, unsigned levels)
{
    if (levels == 0) {
        replace_blocks(job);
    } else if (path & 1) {
        descend(job, path >> 1, levels - 1);
        __asm__ volatile("" ::: "memory");
    } else {
        descend(job, path >> 1, levels - 1);
        __asm__ volatile("nop" ::: "memory");
    }
}

static void *work(void *argument)
{
    struct job *job = argument;
    for (unsigned long done = 0; done < job->pairs; done += PAIRS_PER_DESCENT)
        descend(job, (unsigned) (next_random(job) % job->stacks), job->depth);
    for (unsigned i = 0; i < LIVE; i++)
        free(job->live[i]);
    return NULL;
}

static void run(const struct job *model, unsigned threads)
{
    struct job *jobs = calloc(threads, sizeof *jobs);
    pthread_t thread[16];
    for (unsigned i = 0; i < threads; i++) {
        jobs[i] = *model;
        jobs[i].random = 88172645463325252u + i;
        if (threads == 1)
            work(&jobs[i]);
        else if (pthread_create(&thread[i], NULL, work, &jobs[i]))
            exit(1);
    }
    for (unsigned i = 0; threads > 1 && i < threads; i++)
        pthread_join(thread[i], NULL);
    free(jobs);
}

int main(int argc, char **argv)
{
    struct job model = {.depth = 20, .stacks = 50, .pairs = 1000000};
    unsigned threads = 1;
    for (int option; (option = getopt(argc, argv, "d:s:p:t:")) != -1;) {
        if (option == '?')
            return 2;
        unsigned long value = strtoul(optarg, NULL, 10);
        if (option == 'd')
            model.depth = (unsigned) value;
        else if (option == 's')
            model.stacks = (unsigned) value;
        else if (option == 'p')
            model.pairs = value;
        else
            threads = (unsigned) value;
    }
    if (!model.stacks || !threads || threads > 16) {
        fputs("usage: micro [-d DEPTH] [-s STACKS] [-p PAIRS] [-t THREADS (1 to 16)]\n", stderr);
        return 2;
    }
    run(&model, threads);
    return 0;
}
