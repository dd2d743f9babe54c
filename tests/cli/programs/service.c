/* SPDX-License-Identifier: MIT */
/*
 * service.c - a small server with one leak and with everything that looks similar: `service SECONDS [killed]`.
 *
 * It allocates tables at the start. It fills a cache and then leaves it alone. In a ring of sessions new ones replace
 * old ones. A pool hardly grows later on. A list doubles, at 0.6 of the run for the last time. It handles requests, and
 * now and then it forgets to free a line of its log. When it exits, a handler frees the configuration. With `killed` it
 * kills itself during a request. Its last line is the longest time in seconds that it had to wait because the machine
 * was busy.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

#define TABLES 200
#define CACHE_MAX 100000
#define SESSION_BYTES 2000
#define LIST_BYTES (1 << 14)
#define CONFIG_BLOCKS 30

static void *table[TABLES], *cache[CACHE_MAX], *config[CONFIG_BLOCKS];
static void **session, **pool;
static char *volatile request, *volatile line;
static double start_s, seconds;

static double elapsed_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec + (double) now.tv_nsec * 1e-9 - start_s;
}

NOINLINE static void make_tables(void)
{
    for (int i = 0; i < TABLES; i++)
        table[i] = malloc(64);
}

NOINLINE static void read_config(void)
{
    for (int i = 0; i < CONFIG_BLOCKS; i++)
        config[i] = malloc(100);
}

static void free_config(void)
{
    for (int i = 0; i < CONFIG_BLOCKS; i++)
        free(config[i]);
}

NOINLINE static void fill_cache(int tick)
{
    if (elapsed_s() < 0.4 * seconds && tick < CACHE_MAX)
        cache[tick] = malloc(256);
}

/* Nearly all blocks are allocated in the first part of the run, and one near its end. */
NOINLINE static void fill_pool(void)
{
    static bool complete;
    bool late = elapsed_s() > 0.95 * seconds;
    if (complete || (elapsed_s() > 0.4 * seconds && !late))
        return;
    complete = late;
    void **block = malloc(96);
    *block = pool;
    pool = block;
}

/* A session lasts half of the run. */
NOINLINE static void replace_session(void)
{
    int sessions = (int) (seconds * 250), number = (int) (elapsed_s() * 500) % sessions;
    if (!session)
        session = calloc((size_t) sessions, sizeof *session);
    free(session[number]);
    session[number] = malloc(SESSION_BYTES);
}

/* Filled at a steady rate. */
NOINLINE static void grow_list(void)
{
    static char *list;
    static size_t room = 64;
    double full = elapsed_s() / (0.6 * seconds) * LIST_BYTES / 2;
    if (list && full < (double) room)
        return;
    while (full >= (double) room)
        room *= 2;
    list = realloc(list, room);
}

NOINLINE static void begin_request(void)
{
    request = malloc(3000);
    memset(request, 1, 3000);
}

NOINLINE static void log_request(int tick)
{
    line = malloc(48);
    if (tick % 4)
        free(line);
}

int main(int argc, char **argv)
{
    struct timespec pause = {.tv_nsec = 1000000};
    start_s = elapsed_s();
    seconds = argc > 1 ? atof(argv[1]) : 1;
    make_tables();
    read_config();
    atexit(free_config);
    puts("serving");
    double longest_s = 0, last_s = 0;
    for (int tick = 0; elapsed_s() < seconds; tick++) {
        double now_s = elapsed_s();
        longest_s = now_s - last_s > longest_s ? now_s - last_s : longest_s;
        last_s = now_s;
        fill_cache(tick);
        fill_pool();
        replace_session();
        grow_list();
        begin_request();
        log_request(tick);
        free(request);
        nanosleep(&pause, NULL);
    }
    printf("%.3f\n", elapsed_s() - last_s > longest_s ? elapsed_s() - last_s : longest_s);
    fflush(stdout);
    begin_request();
    if (argc > 2)
        kill(getpid(), SIGKILL);
    free(request);
    return 0;
}
