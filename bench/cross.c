/* SPDX-License-Identifier: MIT */
/*
 * cross.c - blocks that one thread allocates and another one frees, and blocks that are freed at random.
 *
 *   cross pass THREADS PAIRS      half of the threads allocate batches, the others free them and allocate nothing
 *   cross hand THREADS PAIRS      each thread frees at random what a set of blocks has, fills it again, and hands the
 *                                 set on to a new thread after a while
 *   cross table THREADS PAIRS     each thread frees and fills 262,144 places at random
 *
 * They are relatives of xmalloc-test, larson and others of the suites that compare allocators.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS_MAX 16u
#define BATCH 1024u
#define BATCHES_MOST 64u /* that wait to be freed */
#define SET 4096u
#define SET_PAIRS 40000u /* by one thread */
#define TABLE 262144u

struct job {
    pthread_t thread;
    uint64_t random;
    unsigned long pairs;
    void **set;
};

static uint64_t draw(struct job *job)
{
    job->random ^= job->random << 13;
    job->random ^= job->random >> 7;
    job->random ^= job->random << 17;
    return job->random;
}

static size_t draw_size(struct job *job)
{
    static const uint16_t sizes[16] = {8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 64};
    return sizes[draw(job) >> 60];
}

static void *make(struct job *job)
{
    char volatile *block = malloc(draw_size(job));
    if (!block)
        exit(1);
    block[0] = 1;
    return (void *) (uintptr_t) block;
}

/* ---- pass ---- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    void **batch[BATCHES_MOST];
    unsigned batches;
    unsigned producers;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void put(void **batch)
{
    pthread_mutex_lock(&queue.lock);
    while (queue.batches == BATCHES_MOST)
        pthread_cond_wait(&queue.changed, &queue.lock);
    queue.batch[queue.batches++] = batch;
    pthread_cond_broadcast(&queue.changed);
    pthread_mutex_unlock(&queue.lock);
}

/* NULL: there will be no more. */
static void **take(void)
{
    pthread_mutex_lock(&queue.lock);
    while (!queue.batches && queue.producers)
        pthread_cond_wait(&queue.changed, &queue.lock);
    void **batch = queue.batches ? queue.batch[--queue.batches] : NULL;
    pthread_cond_broadcast(&queue.changed);
    pthread_mutex_unlock(&queue.lock);
    return batch;
}

static void *produce(void *argument)
{
    struct job *job = argument;
    for (unsigned long done = 0; done < job->pairs; done += BATCH) {
        void **batch = malloc(BATCH * sizeof *batch);
        if (!batch)
            exit(1);
        for (unsigned i = 0; i < BATCH; i++)
            batch[i] = make(job);
        put(batch);
    }
    pthread_mutex_lock(&queue.lock);
    queue.producers--;
    pthread_cond_broadcast(&queue.changed);
    pthread_mutex_unlock(&queue.lock);
    return NULL;
}

static void *consume(void *argument)
{
    (void) argument;
    for (void **batch; (batch = take()) != NULL; free(batch))
        for (unsigned i = 0; i < BATCH; i++)
            free(batch[i]);
    return NULL;
}

/* ---- hand and table ---- */

static void replace(struct job *job, void **set, unsigned places, unsigned long pairs)
{
    for (unsigned long done = 0; done < pairs; done++) {
        void **place = &set[draw(job) % places];
        free(*place);
        *place = make(job);
    }
}

static void *hand_on(void *argument)
{
    struct job *job = argument;
    unsigned long pairs = job->pairs < SET_PAIRS ? job->pairs : SET_PAIRS;
    replace(job, job->set, SET, pairs);
    job->pairs -= pairs;
    return NULL;
}

/* The set of a job has a thread after the other. */
static void *lead(void *argument)
{
    struct job *job = argument;
    pthread_t thread;
    job->set = calloc(SET, sizeof *job->set);
    while (job->set && job->pairs) {
        if (pthread_create(&thread, NULL, hand_on, job))
            exit(1);
        pthread_join(thread, NULL);
    }
    for (unsigned i = 0; job->set && i < SET; i++)
        free(job->set[i]);
    free(job->set);
    return NULL;
}

static void *churn(void *argument)
{
    struct job *job = argument;
    void **table = calloc(TABLE, sizeof *table);
    if (!table)
        exit(1);
    replace(job, table, TABLE, job->pairs);
    for (unsigned i = 0; i < TABLE; i++)
        free(table[i]);
    free(table);
    return NULL;
}

/* ---- main ---- */

static const struct {
    const char *name;
    void *(*even)(void *job); /* of threads with even numbers, */
    void *(*odd)(void *job);  /* and of the others */
} kinds[] = {{"pass", produce, consume}, {"hand", lead, lead}, {"table", churn, churn}};

int main(int argc, char **argv)
{
    static struct job jobs[THREADS_MAX];
    unsigned kind = 0, threads = argc == 4 ? (unsigned) strtoul(argv[2], NULL, 10) : 0;
    while (argc == 4 && kind < 3 && strcmp(kinds[kind].name, argv[1]) != 0)
        kind++;
    if (kind == 3 || !threads || threads > THREADS_MAX || (kind == 0 && threads % 2)) {
        fputs("usage: cross pass|hand|table THREADS (1 to 16; for pass: even) PAIRS\n", stderr);
        return 2;
    }
    unsigned working = kind == 0 ? threads / 2 : threads;
    queue.producers = working;
    for (unsigned i = 0; i < threads; i++) {
        jobs[i].random = 88172645463325252u + i;
        jobs[i].pairs = strtoul(argv[3], NULL, 10) / working;
        if (pthread_create(&jobs[i].thread, NULL, i % 2 ? kinds[kind].odd : kinds[kind].even, &jobs[i]))
            return 1;
    }
    for (unsigned i = 0; i < threads; i++)
        pthread_join(jobs[i].thread, NULL);
    return 0;
}
