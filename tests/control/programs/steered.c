/* SPDX-License-Identifier: MIT */
/*
 * steered.c - a program that does what its test says, so that the test knows every allocation.
 *
 * It reads commands from stdin, one a line, and answers each with a line. It allocates nothing besides.
 *
 *   work SITE N BYTES    the main thread allocates N blocks at SITE (alpha, beta or gamma) and frees them
 *   keep SITE N BYTES    the same, but keeps them
 *   all SITE N BYTES     each of the other threads does that work
 *   turn                 answers, and allocates and frees in nudge() until the next command
 *   fork SITE N BYTES    a child does the work; the answer is its pid
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../lib/patience.h"

#define CREW 3
#define NUDGE_BYTES 1000
#define NUDGE_US 200

static unsigned long many, bytes;
static void *volatile sink;

#define SITE(name)                                                                                                     \
    __attribute__((noinline)) static void name(int keep)                                                               \
    {                                                                                                                  \
        for (unsigned long i = 0; i < many; i++) {                                                                     \
            sink = malloc(bytes);                                                                                      \
            if (!keep)                                                                                                 \
                free(sink);                                                                                            \
        }                                                                                                              \
    }
SITE(alpha)
SITE(beta)
SITE(gamma_)

static const struct {
    const char *name;
    void (*work)(int keep);
} sites[] = {{"alpha", alpha}, {"beta", beta}, {"gamma", gamma_}};

static void (*site)(int keep);

__attribute__((noinline)) static void nudge(void)
{
    sink = malloc(NUDGE_BYTES);
    free(sink);
}

static void turn(void)
{
    struct pollfd input = {.fd = 0, .events = POLLIN};
    while (poll(&input, 1, 0) == 0) {
        nudge();
        usleep(NUDGE_US);
    }
}

static pthread_barrier_t begin, end;

static void *crew(void *unused)
{
    (void) unused;
    for (;;) {
        pthread_barrier_wait(&begin);
        site(0);
        pthread_barrier_wait(&end);
    }
    return NULL;
}

static void work_together(void)
{
    pthread_barrier_wait(&begin);
    pthread_barrier_wait(&end);
}

static int work_in_child(void)
{
    int child = fork();
    if (child == 0) {
        site(0);
        exit(0);
    }
    waitpid(child, NULL, 0);
    return child;
}

static int read_line(char *line, size_t room)
{
    size_t used = 0;
    for (char c; used + 1 < room && read(0, &c, 1) == 1;) {
        line[used++] = c;
        if (c == '\n')
            break;
    }
    line[used] = 0;
    return used > 0;
}

static void answer(int number)
{
    char text[32];
    int length = snprintf(text, sizeof text, "%d\n", number);
    if (write(1, text, (size_t) length) != length)
        _exit(1);
}

int main(void)
{
    char line[128], verb[16], name[16];
    alarm(PATIENCE_S);
    pthread_barrier_init(&begin, NULL, CREW + 1);
    pthread_barrier_init(&end, NULL, CREW + 1);
    for (int i = 0; i < CREW; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, crew, NULL);
    }
    answer(0);
    while (read_line(line, sizeof line)) {
        int child = 0;
        if (sscanf(line, "%15s %15s %lu %lu", verb, name, &many, &bytes) < 1)
            return 2;
        for (size_t i = 0; i < sizeof sites / sizeof *sites; i++)
            if (!strcmp(sites[i].name, name))
                site = sites[i].work;
        if (!strcmp(verb, "turn")) {
            answer(0);
            turn();
            continue;
        }
        if (!strcmp(verb, "all"))
            work_together();
        else if (!strcmp(verb, "fork"))
            child = work_in_child();
        else
            site(!strcmp(verb, "keep"));
        answer(child);
    }
    return 0;
}
