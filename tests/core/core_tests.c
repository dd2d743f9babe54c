/* SPDX-License-Identifier: MIT */
/* core_tests.c - see core_tests.h. */
#include "core_tests.h"

#include <ftw.h>
#include <pthread.h>

#include "core/process.h"

/* ---- the front end ---- */

char **core_environment;

static char **environment(void)
{
    static char *nothing[] = {NULL};
    return core_environment ? core_environment : nothing;
}

static bool no(void)
{
    return false;
}

static void nothing(void)
{
}

static uintptr_t no_header(void)
{
    return 0;
}

/* Test programs invent their addresses, at least 16 bytes apart. */
static unsigned granule_shift(void)
{
    return 3;
}

static uint32_t page_bytes(void)
{
    return (uint32_t) sysconf(_SC_PAGESIZE);
}

const struct pl_front pl_front = {
    .main_header = no_header,
    .environment = environment,
    .unwanted = no,
    .started = nothing,
    .thread_started = nothing,
    .page_bytes = page_bytes,
    .granule_shift = granule_shift,
};

/* ---- threads ---- */

struct start {
    pthread_t thread;
    pthread_barrier_t *all_here;
    void (*body)(unsigned number);
    unsigned number;
};

static void *begin(void *argument)
{
    struct start *start = argument;
    pthread_barrier_wait(start->all_here);
    start->body(start->number);
    return NULL;
}

void run_threads(unsigned threads, void (*body)(unsigned number))
{
    struct start start[16];
    pthread_barrier_t all_here;
    assert_in_range(threads, 1, 16);
    pthread_barrier_init(&all_here, NULL, threads);
    for (unsigned i = 0; i < threads; i++) {
        start[i] = (struct start){.all_here = &all_here, .body = body, .number = i};
        assert_int_equal(pthread_create(&start[i].thread, NULL, begin, &start[i]), 0);
    }
    for (unsigned i = 0; i < threads; i++)
        pthread_join(start[i].thread, NULL);
    pthread_barrier_destroy(&all_here);
}

/* ---- files ---- */

static char directory[64];

const char *new_directory(void)
{
    snprintf(directory, sizeof directory, "/dev/shm/core.XXXXXX");
    assert_non_null(mkdtemp(directory));
    return directory;
}

const char *in_directory(const char *name)
{
    static char path[4][128];
    static unsigned turn;
    char *to = path[turn++ % 4];
    snprintf(to, sizeof path[0], "%s/%s", directory, name);
    return to;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *at)
{
    (void) status, (void) type, (void) at;
    return remove(path);
}

void drop_directory(void)
{
    nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* ---- numbers ---- */

uint64_t draw(uint64_t *state, uint64_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (*state >> 20) % below;
}
