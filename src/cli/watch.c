/* SPDX-License-Identifier: MIT */
/*
 * watch.c - snapshots of every process of a run.
 *
 * A thread of its own, because naming functions may take seconds, and whoever waits for the program passes signals on
 * meanwhile. It looks into the directory of live profiles when the next snapshot is due, and at least once per
 * interval: a process that is new then cannot have missed its first, which is due an interval after its start.
 *
 * What cannot be written is said once: a disk that is full stays so for a while, and the terminal is the program's.
 */
#include "watch.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "follow.h"
#include "proc.h"
#include "process.h"
#include "say.h"
#include "settings.h"

#define LISTED_MAX 5

struct process {
    char *live;
    char comm[17];
    uint32_t pid;
    uint64_t start_ns;
    bool running;
    struct pl_follow follow;
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

/* --- who is there --- */

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
        .follow = {.series = pl_series_new(options->every_ns, options->keep, start_ns + options->every_ns),
                   .options = {.no_symbols = options->no_symbols,
                               .apart = options->main_pid && header->pid != (uint32_t) options->main_pid}},
    };
    memcpy(process->comm, header->comm, sizeof header->comm);
}

/* A process in a pid namespace of its own is found by what it has mapped, which is dearer. */
static bool runs(const char *path, const struct pl_header *header, struct pl_proc_table *table)
{
    if (pl_process_runs(header))
        return true;
    if (header->end != PL_END_NONE)
        return false;
    if (!table->count)
        *table = pl_proc_read();
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

static bool is_profile_name(const char *name)
{
    size_t bytes = strlen(name), suffix = strlen(PL_SUFFIX);
    return name[0] != '.' && bytes > suffix && !strcmp(name + bytes - suffix, PL_SUFFIX);
}

static void look_around(struct pl_watch *watch, uint64_t now_ns)
{
    struct pl_proc_table table = {0};
    DIR *directory = opendir(watch->options.directory);
    for (size_t i = 0; i < watch->count; i++)
        watch->process[i].running = false;
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        if (!is_profile_name(entry->d_name))
            continue;
        char *path = pl_say_print("%s/%s", watch->options.directory, entry->d_name);
        look_at(watch, path, &table, now_ns);
        free(path);
    }
    if (directory)
        closedir(directory);
    pl_proc_free(&table);
}

/* --- when --- */

static void follow(struct pl_watch *watch, struct process *process)
{
    const char *path;
    char why[PL_WHY_BYTES];
    int result = pl_follow_tick(&process->follow, process->live, NULL, pl_follow_now_ns(), &path, why);
    if (result == 0 || watch->said)
        return;
    watch->said = true;
    if (result == PL_SHOT_NAMELESS)
        pl_say("%s; the snapshot is complete, but needs the program's files to be read", why);
    else
        pl_say("%s; the program goes on, and the next snapshot is tried in its turn", why);
}

/* Returns when to do so again. */
static uint64_t take_those_due(struct pl_watch *watch)
{
    uint64_t now_ns = pl_follow_now_ns(), wake_ns = now_ns + watch->options.every_ns;
    look_around(watch, now_ns);
    for (size_t i = 0; i < watch->count; i++) {
        struct process *process = &watch->process[i];
        if (!process->running) {
            pl_follow_rest(&process->follow);
            continue;
        }
        follow(watch, process);
        uint64_t next_ns = pl_series_next_ns(&process->follow.series);
        wake_ns = next_ns < wake_ns ? next_ns : wake_ns;
    }
    return wake_ns;
}

/* True: it is time to end. */
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
    uint64_t wake_ns = pl_follow_now_ns() + watch->options.every_ns;
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

/* --- the last words --- */

static void say_each(const struct pl_watch *watch, size_t followed)
{
    size_t listed = 0;
    for (size_t i = 0; i < watch->count && listed < LISTED_MAX; i++) {
        const struct process *process = &watch->process[i];
        if (!process->follow.series.count)
            continue;
        char *words = pl_follow_words(&process->follow);
        if (followed == 1)
            pl_say("took %s", words);
        else
            pl_say("  %s %u: %s", process->comm, process->pid, words);
        free(words);
        listed++;
    }
    if (followed > listed)
        pl_say("  and those of %zu more processes", followed - listed);
}

void pl_watch_say(const struct pl_watch *watch)
{
    uint64_t taken = 0, failed = 0;
    size_t followed = 0;
    for (size_t i = 0; i < watch->count; i++) {
        const struct pl_follow *each = &watch->process[i].follow;
        taken += each->series.taken_in_all;
        failed += each->failed;
        followed += each->series.count > 0;
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
        pl_follow_free(&watch->process[i].follow);
    }
    free(watch->process);
    pthread_cond_destroy(&watch->ended);
    pthread_mutex_destroy(&watch->lock);
    free(watch);
}
