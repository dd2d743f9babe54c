/* SPDX-License-Identifier: MIT */
/* lookout.c - see lookout.h. */
#include "cli/run/lookout.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/leaks/look.h"
#include "cli/run/rss.h"
#include "cli/say.h"

#define SOCKET_NAME ".look"
#define WAITING 128
#define PATH_BYTES 4096

/* --- what was found, in a file --- */

struct found {
    bool good;
    char problem[PL_LOOKOUT_WHY]; /* else */
    struct pl_look look;          /* its records follow */
};

/* The caller frees it; NULL: there is no such profile. */
static char *path_of_found(const char *directory, const char *profile)
{
    struct stat status;
    if (stat(profile, &status))
        return NULL;
    return pl_say_print("%s/" PL_LOOKOUT_FOUND "%llx", directory, (unsigned long long) status.st_ino);
}

/* A file that is not complete is not read: it gets its name last. */
static void write_found(const char *path, const struct pl_look_taken *taken, bool good)
{
    struct found found = {.good = good, .look = taken->look};
    size_t bytes = good ? taken->look.count * sizeof *taken->look.record : 0;
    char *beside = pl_say_print("%s~", path);
    snprintf(found.problem, sizeof found.problem, "%.*s", PL_LOOKOUT_WHY - 1, taken->problem);
    FILE *file = fopen(beside, "we");
    bool written = file && fwrite(&found, sizeof found, 1, file) == 1 &&
                   (!bytes || fwrite(taken->look.record, bytes, 1, file) == 1);
    if (file && fclose(file) == 0 && written)
        rename(beside, path);
    else
        unlink(beside);
    free(beside);
}

static bool read_found(const char *path, struct found *found, struct pl_verdict_record **record)
{
    FILE *file = fopen(path, "re");
    *record = NULL;
    if (!file)
        return false;
    bool read = fread(found, sizeof *found, 1, file) == 1;
    if (read && found->good) {
        *record = pl_say_memory(calloc(found->look.count, sizeof **record));
        read = fread(*record, sizeof **record, found->look.count, file) == found->look.count;
    }
    fclose(file);
    return read;
}

bool pl_lookout_store(const char *directory, const char *profile, char why[PL_LOOKOUT_WHY])
{
    struct found found;
    struct pl_verdict_record *record;
    char reason[PL_WHY_BYTES], *path = path_of_found(directory, profile);
    bool stored = false;
    *why = 0;
    if (path && read_found(path, &found, &record)) {
        found.look.record = record;
        snprintf(why, PL_LOOKOUT_WHY, "%s", found.good ? "" : found.problem);
        stored = found.good && pl_annotate_look(profile, &found.look, reason) == 0;
        if (found.good && !stored)
            snprintf(why, PL_LOOKOUT_WHY, "%.500s", reason);
        unlink(path);
        free(record);
    }
    free(path);
    return stored;
}

/* --- the lookout --- */

struct lookout {
    const char *directory;
    struct pl_lookout_tasks tasks;
    int listening, control;
};

/* The path of its profile, as the process sent it. */
static bool read_path(int connection, char *path, size_t room)
{
    size_t bytes = 0;
    while (bytes < room) {
        ssize_t got = read(connection, path + bytes, room - bytes);
        if (got <= 0)
            return false;
        bytes += (size_t) got;
        if (path[bytes - 1] == 0)
            return *path == '/';
    }
    return false;
}

static void look_at(const struct lookout *lookout, pid_t pid, const char *live, enum pl_looked looked)
{
    struct pl_look_taken taken;
    char *path = path_of_found(lookout->directory, live);
    if (!path)
        return;
    bool good = pl_look_take(&taken, pid, live, looked);
    write_found(path, &taken, good);
    pl_look_free(&taken);
    free(path);
}

/* The process waits until the connection is closed. */
static void serve(const struct lookout *lookout, int connection)
{
    struct ucred peer;
    socklen_t bytes = sizeof peer;
    char live[PATH_BYTES];
    if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.pid > 0 &&
        read_path(connection, live, sizeof live)) {
        if (lookout->tasks.memory)
            pl_rss_note(lookout->directory, peer.pid, live, PL_RSS_PARTS);
        if (lookout->tasks.resident)
            pl_rss_note(lookout->directory, peer.pid, live, PL_RSS_SITES);
        if (lookout->tasks.leaks)
            look_at(lookout, peer.pid, live, PL_LOOKED_EXIT);
    }
}

/* Until nobody needs it any more: those who wait are served first. */
__attribute__((noreturn)) static void watch(const struct lookout *lookout)
{
    struct pollfd polled[] = {{.fd = lookout->listening, .events = POLLIN}, {.fd = lookout->control, .events = POLLIN}};
    for (;;) {
        if (poll(polled, 2, -1) < 0 && errno != EINTR)
            _exit(1);
        int connection = polled[0].revents ? accept4(lookout->listening, NULL, NULL, SOCK_CLOEXEC) : -1;
        if (connection >= 0) {
            serve(lookout, connection);
            close(connection);
        } else if (polled[1].revents) {
            _exit(0);
        }
    }
}

/* --- from start to end --- */

static int listen_in(const char *directory)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t bytes = (size_t) snprintf(address.sun_path, sizeof address.sun_path, "%s/" SOCKET_NAME, directory);
    if (bytes >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && (bind(fd, (struct sockaddr *) &address, sizeof address) || listen(fd, WAITING))) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Signals of the terminal are for the program. If `run` is killed, its pipe closes. */
static void begin(struct lookout *lookout, int others_end)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    close(others_end);
    prctl(PR_SET_NAME, "plimsoll-look");
    watch(lookout);
}

bool pl_lookout_start(struct pl_lookout *lookout, const char *directory, struct pl_lookout_tasks tasks)
{
    int control[2];
    struct lookout child = {.directory = directory, .tasks = tasks, .listening = listen_in(directory)};
    *lookout = (struct pl_lookout){.control = -1};
    if (child.listening < 0)
        return false;
    lookout->directory = pl_say_print("%s", directory);
    lookout->pid = pipe2(control, O_CLOEXEC) ? -1 : fork();
    child.control = control[0];
    if (lookout->pid == 0)
        begin(&child, control[1]);
    close(child.listening);
    if (lookout->pid < 0)
        return false;
    close(control[0]);
    lookout->control = control[1];
    return true;
}

void pl_lookout_sweep(const char *directory)
{
    DIR *entries = opendir(directory);
    for (struct dirent *entry; entries && (entry = readdir(entries));)
        if (!strncmp(entry->d_name, SOCKET_NAME, strlen(SOCKET_NAME)))
            unlinkat(dirfd(entries), entry->d_name, 0);
    if (entries)
        closedir(entries);
}

void pl_lookout_end(struct pl_lookout *lookout)
{
    if (lookout->control >= 0)
        close(lookout->control);
    if (lookout->pid > 0)
        while (waitpid(lookout->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    char *path = lookout->directory ? pl_say_print("%s/" SOCKET_NAME, lookout->directory) : NULL;
    if (path)
        unlink(path);
    free(path);
    free(lookout->directory);
    *lookout = (struct pl_lookout){.control = -1};
}
