/* SPDX-License-Identifier: MIT */
/*
 * swarm.c - threads that each do little: one function makes nearly all calls, but each thread's share is too small to
 * be recorded by itself. First all threads allocate in early(). Then, after a pause, they allocate a little in late().
 *
 *   swarm THREADS
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define STACK_BYTES (128 * 1024)
#define EARLY 100
#define LATE 2
#define ROUNDS 25
#define ROUND_US 20000

static pthread_barrier_t all_early, may_go_on;

static __attribute__((noinline)) void early(size_t bytes)
{
    free(malloc(bytes));
}

static __attribute__((noinline)) void late(size_t bytes)
{
    free(malloc(bytes));
}

static void *work(void *nothing)
{
    for (int i = 0; i < EARLY; i++)
        early(1000);
    pthread_barrier_wait(&all_early);
    pthread_barrier_wait(&may_go_on);
    for (int i = 0; i < LATE; i++)
        late(1000);
    return nothing;
}

/* A profile records moments only when somebody allocates. */
static void rest(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        late(8);
        usleep(ROUND_US);
    }
}

int main(int argc, char **argv)
{
    unsigned threads = argc > 1 ? (unsigned) atoi(argv[1]) : 1;
    pthread_t *thread = calloc(threads, sizeof *thread);
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK_BYTES);
    pthread_barrier_init(&all_early, NULL, threads + 1);
    pthread_barrier_init(&may_go_on, NULL, threads + 1);
    for (unsigned i = 0; i < threads; i++)
        if (pthread_create(&thread[i], &small, work, NULL))
            return 1;
    pthread_barrier_wait(&all_early);
    rest();
    pthread_barrier_wait(&may_go_on);
    for (unsigned i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
    rest();
    free(thread);
}
