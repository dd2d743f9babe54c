/* SPDX-License-Identifier: MIT */
/*
 * watch.c - takes snapshots of every process of a run.
 *
 * This has a thread of its own, because looking up names may take seconds, and the main thread must pass on signals
 * meanwhile. It scans the directory of live profiles when the next snapshot is due, and at least once per interval: a
 * new process cannot miss its first snapshot, which is due one interval after its start.
 *
 * Only the first error is printed: a full disk stays full for a while, and the terminal belongs to the program.
 */
#include "cli/snapshot/watch.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/files.h"
#include "cli/proc.h"
#include "cli/say.h"
#include "cli/snapshot/take.h"

#define LISTED_MAX 5

struct process {
    char *live;
    char comm[17];
    uint32_t pid;
    uint64_t start_ns;
    bool running;
    struct pl_take_series follow;
};

struct pl_watch {
    struct pl_watch_options options;
    pthread_t thread;
    pthread_mutex_t lock; /* of `ending`; everything else belongs to the thread until it has ended */
    pthread_cond_t ended;
    bool ending;
    bool said;
    struct process *process;
    size_t count;
};

/* --- processes --- */

static struct process *find(struct pl_watch *watch, const struct pl_header *header)
{
    for (size_t i = 0; i < watch->count; i++)
        if (watch->process[i].pid == header->pid && watch->process[i].start_ns == header->start_monotonic_ns)
            return &watch->process[i];
    return NULL;
}

static void add(struct pl_watch *watch, const char *path, const struct pl_header *header, uint64_t now_ns)
{
    const struct pl_watch_options *options = &watch->options;
    uint64_t start_ns = header->start_monotonic_ns < now_ns ? header->start_monotonic_ns : now_ns;
    watch->process = pl_say_memory(realloc(watch->process, (watch->count + 1) * sizeof *watch->process));
    struct process *process = &watch->process[watch->count++];
    *process = (struct process){
        .live = pl_say_print("%s", path),
        .pid = header->pid,
        .start_ns = header->start_monotonic_ns,
        .follow = {.places = pl_series_new(options->every_ns, options->keep, start_ns + options->every_ns),
                   .options = {.no_symbols = options->no_symbols,
                               .apart = options->main_pid && header->pid != (uint32_t) options->main_pid}},
    };
    memcpy(process->comm, header->comm, sizeof header->comm);
}

/* A process in another pid namespace has to be found by its mappings, which is slower. */
static bool runs(const char *path, const struct pl_header *header, struct pl_proc_table *table)
{
    if (pl_profile_process_runs(header))
        return true;
    if (header->end != PL_END_NONE)
        return false;
    return pl_proc_writer(table, path, header) != 0;
}

static void look_at(struct pl_watch *watch, const char *path, struct pl_proc_table *table, uint64_t now_ns)
{
    struct pl_header header;
    if (!pl_proc_header(path, &header) || !runs(path, &header, table))
        return;
    if (!find(watch, &header))
        add(watch, path, &header, now_ns);
    find(watch, &header)->running = true;
}

static void look_around(struct pl_watch *watch, uint64_t now_ns)
{
    struct pl_proc_table table = {0};
    DIR *directory = opendir(watch->options.directory);
    for (size_t i = 0; i < watch->count; i++)
        watch->process[i].running = false;
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        if (!pl_files_is_profile(entry->d_name))
            continue;
        char *path = pl_say_print("%s/%s", watch->options.directory, entry->d_name);
        look_at(watch, path, &table, now_ns);
        free(path);
    }
    if (directory)
        closedir(directory);
    pl_proc_free(&table);
}

/* --- the thread --- */

static void follow(struct pl_watch *watch, struct process *process)
{
    const char *path;
    char why[PL_WHY_BYTES];
    int result = pl_take_due(&process->follow, process->live, NULL, pl_proc_now_ns(), &path, why);
    if (result == 0 || watch->said)
        return;
    watch->said = true;
    if (result == PL_TAKE_NAMELESS)
        pl_say("%s; the snapshot is complete, but reading it needs the program's files", why);
    else
        pl_say("%s; the program keeps running, and the next snapshot will be tried when it is due", why);
}

/* Returns when to call it again. */
static uint64_t take_those_due(struct pl_watch *watch)
{
    uint64_t now_ns = pl_proc_now_ns(), wake_ns = now_ns + watch->options.every_ns;
    look_around(watch, now_ns);
    for (size_t i = 0; i < watch->count; i++) {
        struct process *process = &watch->process[i];
        if (!process->running) {
            pl_take_rest(&process->follow);
            continue;
        }
        follow(watch, process);
        uint64_t next_ns = pl_series_next_ns(&process->follow.places);
        wake_ns = next_ns < wake_ns ? next_ns : wake_ns;
    }
    return wake_ns;
}

/* True: the thread has to end. */
static bool wait_until(struct pl_watch *watch, uint64_t wake_ns)
{
    struct timespec wake = {(time_t) (wake_ns / 1000000000u), (long) (wake_ns % 1000000000u)};
    int error = 0;
    pthread_mutex_lock(&watch->lock);
    while (!watch->ending && error != ETIMEDOUT)
        error = pthread_cond_timedwait(&watch->ended, &watch->lock, &wake);
    bool ending = watch->ending;
    pthread_mutex_unlock(&watch->lock);
    return ending;
}

static void *live(void *context)
{
    struct pl_watch *watch = context;
    uint64_t wake_ns = pl_proc_now_ns() + watch->options.every_ns;
    while (!wait_until(watch, wake_ns))
        wake_ns = take_those_due(watch);
    return NULL;
}

struct pl_watch *pl_watch_start(const struct pl_watch_options *options)
{
    pthread_condattr_t monotonic;
    struct pl_watch *watch = pl_say_memory(calloc(1, sizeof *watch));
    watch->options = *options;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&watch->lock, NULL);
    pthread_cond_init(&watch->ended, &monotonic);
    pthread_condattr_destroy(&monotonic);
    int error = pthread_create(&watch->thread, NULL, live, watch);
    if (error) {
        free(watch);
        errno = error;
        return NULL;
    }
    return watch;
}

void pl_watch_end(struct pl_watch *watch)
{
    pthread_mutex_lock(&watch->lock);
    watch->ending = true;
    pthread_cond_signal(&watch->ended);
    pthread_mutex_unlock(&watch->lock);
    pthread_join(watch->thread, NULL);
}

/* --- the summary --- */

static void say_each(const struct pl_watch *watch, size_t followed)
{
    size_t listed = 0;
    for (size_t i = 0; i < watch->count && listed < LISTED_MAX; i++) {
        const struct process *process = &watch->process[i];
        if (!process->follow.places.count)
            continue;
        char *words = pl_take_words(&process->follow);
        if (followed == 1)
            pl_say("took %s", words);
        else
            pl_say("  %s %u: %s", process->comm, process->pid, words);
        free(words);
        listed++;
    }
    if (followed > listed)
        pl_say("  and snapshots of %zu more processes", followed - listed);
}

void pl_watch_say(const struct pl_watch *watch)
{
    uint64_t taken = 0, failed = 0;
    size_t followed = 0;
    for (size_t i = 0; i < watch->count; i++) {
        const struct pl_take_series *each = &watch->process[i].follow;
        taken += each->places.taken_in_all;
        failed += each->failed;
        followed += each->places.count > 0;
    }
    if (!taken && !failed)
        pl_say("no snapshot was taken: no process ran for %g s", (double) watch->options.every_ns / 1e9);
    if (followed > 1)
        pl_say("took %llu snapshots of %zu processes:", (unsigned long long) taken, followed);
    say_each(watch, followed);
    if (failed)
        pl_say("%llu snapshot%s could not be taken", (unsigned long long) failed, failed == 1 ? "" : "s");
}

void pl_watch_free(struct pl_watch *watch)
{
    for (size_t i = 0; i < watch->count; i++) {
        free(watch->process[i].live);
        pl_take_free_series(&watch->process[i].follow);
    }
    free(watch->process);
    pthread_cond_destroy(&watch->ended);
    pthread_mutex_destroy(&watch->lock);
    free(watch);
}
