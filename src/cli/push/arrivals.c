/* SPDX-License-Identifier: MIT */
/* arrivals.c - see arrivals.h. */
#include "cli/push/arrivals.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "cli/files.h"
#include "cli/run/fold.h"
#include "cli/say.h"

#define WAITING_MOST 512 /* files; each is a descriptor */
#define WAITING_MANY 64  /* wakes the owner */
#define DIRECTORIES_MOST 64
#define OPEN_HOW (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW)
#define RUN_PREFIX "plimsoll-run." /* directories in which `plimsoll run` keeps live profiles */

struct pl_arrivals {
    pthread_t thread;
    int notify, stop, event;
    pthread_mutex_t lock; /* protects everything below */
    char *directory[DIRECTORIES_MOST];
    int watch[DIRECTORIES_MOST];
    size_t directories;
    int waiting[WAITING_MOST]; /* a ring */
    size_t first, count;
    uint64_t missed;
};

/* --- the thread --- */

/* Under the lock. False: it is watched already, or cannot be. */
static bool watch_more(struct pl_arrivals *arrivals, const char *directory)
{
    size_t free_at = arrivals->directories;
    for (size_t i = 0; i < arrivals->directories; i++) {
        if (arrivals->directory[i] && !strcmp(arrivals->directory[i], directory))
            return false;
        if (!arrivals->directory[i])
            free_at = i;
    }
    if (free_at == DIRECTORIES_MOST)
        return false;
    int watch = inotify_add_watch(arrivals->notify, directory, IN_CREATE | IN_ONLYDIR);
    if (watch < 0)
        return false;
    arrivals->directory[free_at] = pl_say_print("%s", directory);
    arrivals->watch[free_at] = watch;
    arrivals->directories += free_at == arrivals->directories;
    return true;
}

static void watch_less(struct pl_arrivals *arrivals, size_t i)
{
    free(arrivals->directory[i]);
    arrivals->directory[i] = NULL;
}

/* Under the lock. */
static void keep(struct pl_arrivals *arrivals, int file)
{
    if (arrivals->count == WAITING_MOST) {
        arrivals->missed++;
        close(file);
        return;
    }
    arrivals->waiting[(arrivals->first + arrivals->count++) % WAITING_MOST] = file;
    if (arrivals->count == WAITING_MANY)
        eventfd_write(arrivals->event, 1);
}

/* `plimsoll run` saves sums of ended processes beside their profiles, under other names at first. */
static bool is_sum(const char *name)
{
    return !strncmp(name, PL_FOLD_PREFIX, strlen(PL_FOLD_PREFIX));
}

/* The profiles that were in a new directory before it was watched. The kernel may report one of them as well: the owner
 * knows its process then, and does not count it twice. */
static void keep_all(struct pl_arrivals *arrivals, const char *path)
{
    DIR *directory = opendir(path);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        int file = pl_files_has_suffix(entry->d_name) && !is_sum(entry->d_name)
                       ? openat(dirfd(directory), entry->d_name, OPEN_HOW)
                       : -1;
        if (file >= 0)
            keep(arrivals, file);
    }
    if (directory)
        closedir(directory);
}

/* Something has appeared in a directory, under the lock. A file that is gone by now was the profile of a process that
 * has ended already, while this thread waited for a processor. */
static void arrive_in(struct pl_arrivals *arrivals, const char *directory, const struct inotify_event *event)
{
    bool run = event->mask & IN_ISDIR && !strncmp(event->name, RUN_PREFIX, strlen(RUN_PREFIX));
    if (!run && !pl_files_has_suffix(event->name))
        return;
    char *path = pl_say_print("%s/%s", directory, event->name);
    int file = run ? -1 : open(path, OPEN_HOW);
    if (run && watch_more(arrivals, path))
        keep_all(arrivals, path);
    if (file >= 0)
        keep(arrivals, file);
    else if (!run)
        arrivals->missed += errno == EMFILE || errno == ENFILE || (errno == ENOENT && !is_sum(event->name));
    free(path);
}

static void arrive(struct pl_arrivals *arrivals, const struct inotify_event *event)
{
    pthread_mutex_lock(&arrivals->lock);
    if (event->mask & IN_Q_OVERFLOW)
        arrivals->missed++;
    for (size_t i = 0; i < arrivals->directories; i++) {
        if (!arrivals->directory[i] || arrivals->watch[i] != event->wd)
            continue;
        if (event->mask & IN_IGNORED) /* the directory is gone */
            watch_less(arrivals, i);
        else if (event->len)
            arrive_in(arrivals, arrivals->directory[i], event);
    }
    pthread_mutex_unlock(&arrivals->lock);
}

/* A short process may end before its profile is opened. Opening takes microseconds, so with the right to do that, which
 * root has, the thread runs before all others. */
static void hurry(void)
{
    struct sched_param least = {.sched_priority = sched_get_priority_min(SCHED_FIFO)};
    sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &least); /* of this thread only */
}

static void *watch(void *argument)
{
    struct pl_arrivals *arrivals = argument;
    struct pollfd event[] = {{.fd = arrivals->stop, .events = POLLIN}, {.fd = arrivals->notify, .events = POLLIN}};
    hurry();
    char buffer[1 << 14] __attribute__((aligned(_Alignof(struct inotify_event))));
    while (poll(event, 2, -1) >= 0 || errno == EINTR) {
        if (event[0].revents)
            break;
        ssize_t bytes = read(arrivals->notify, buffer, sizeof buffer);
        for (char *at = buffer; bytes > 0 && at < buffer + bytes;) {
            const struct inotify_event *found = (const struct inotify_event *) (void *) at;
            arrive(arrivals, found);
            at += sizeof *found + found->len;
        }
    }
    return NULL;
}

/* --- from outside --- */

struct pl_arrivals *pl_arrivals_start(void)
{
    struct pl_arrivals *arrivals = pl_say_memory(calloc(1, sizeof *arrivals));
    sigset_t all, before;
    arrivals->notify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    arrivals->stop = eventfd(0, EFD_CLOEXEC);
    arrivals->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&arrivals->lock, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    bool good = arrivals->notify >= 0 && arrivals->stop >= 0 && arrivals->event >= 0 &&
                !pthread_create(&arrivals->thread, NULL, watch, arrivals);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (good)
        return arrivals;
    free(arrivals);
    return NULL;
}

void pl_arrivals_stop(struct pl_arrivals *arrivals)
{
    if (!arrivals)
        return;
    eventfd_write(arrivals->stop, 1);
    pthread_join(arrivals->thread, NULL);
    for (int file; (file = pl_arrivals_next(arrivals)) >= 0;)
        close(file);
    for (size_t i = 0; i < arrivals->directories; i++)
        free(arrivals->directory[i]);
    close(arrivals->notify);
    close(arrivals->stop);
    close(arrivals->event);
    pthread_mutex_destroy(&arrivals->lock);
    free(arrivals);
}

void pl_arrivals_watch(struct pl_arrivals *arrivals, const char *directory)
{
    if (!arrivals)
        return;
    pthread_mutex_lock(&arrivals->lock);
    watch_more(arrivals, directory);
    pthread_mutex_unlock(&arrivals->lock);
}

int pl_arrivals_next(struct pl_arrivals *arrivals)
{
    int file = -1;
    if (!arrivals)
        return file;
    pthread_mutex_lock(&arrivals->lock);
    if (arrivals->count) {
        file = arrivals->waiting[arrivals->first];
        arrivals->first = (arrivals->first + 1) % WAITING_MOST;
        arrivals->count--;
    }
    pthread_mutex_unlock(&arrivals->lock);
    return file;
}

uint64_t pl_arrivals_missed(struct pl_arrivals *arrivals)
{
    if (!arrivals)
        return 0;
    pthread_mutex_lock(&arrivals->lock);
    uint64_t missed = arrivals->missed;
    arrivals->missed = 0;
    pthread_mutex_unlock(&arrivals->lock);
    return missed;
}

int pl_arrivals_event(const struct pl_arrivals *arrivals)
{
    return arrivals ? arrivals->event : -1;
}
