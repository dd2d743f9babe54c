/* SPDX-License-Identifier: MIT */
/* rss.c - see rss.h. */
#include "cli/run/rss.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/files.h"
#include "cli/proc.h"
#include "cli/report/memory.h"
#include "cli/report/resident.h"
#include "cli/run/lookout.h"
#include "cli/say.h"
#include "reader/write/annotate.h"

#define BLURRED_LEAST 0.03 /* unexplained, of RSS: worth another reading */
#define TRIES_MORE 2

struct pl_rss {
    char *directory;
    enum pl_rss_kind kind;
    uint64_t every_ns;
    unsigned rounds; /* with this interval */
    pthread_t thread;
    pthread_mutex_t lock; /* of `ending` */
    pthread_cond_t ended;
    bool ending;
};

/* --- readings --- */

/* The caller frees it; NULL: there is no such profile. */
static char *path_of_readings(const char *directory, const char *profile, enum pl_rss_kind kind)
{
    struct stat status;
    if (stat(profile, &status))
        return NULL;
    return pl_say_print("%s/" PL_LOOKOUT_FOUND "%llx.%s", directory, (unsigned long long) status.st_ino,
                        kind == PL_RSS_PARTS ? "rss" : "resident");
}

static bool read_now(pid_t pid, const char *live, struct pl_footprint_record *out)
{
    struct pl_profile *profile;
    struct pl_footprint footprint;
    char why[PL_WHY_BYTES];
    if (pl_profile_open(live, &profile, why))
        return false;
    struct pl_footprint_options options = pl_memory_options(profile, pid, live);
    bool read = pl_footprint_read(&footprint, &options);
    if (read)
        pl_footprint_record(&footprint, pl_proc_now_ns() - profile->header.start_monotonic_ns, out);
    pl_footprint_free(&footprint);
    pl_profile_close(profile);
    return read;
}

/* Memory came and went while it was read. */
static bool is_blurred(const struct pl_footprint_record *record)
{
    return record->part[PL_PART_UNEXPLAINED].resident >
           BLURRED_LEAST * (double) pl_footprint_sum(record, 0, PL_PART_COUNT).resident;
}

static bool read_well(pid_t pid, const char *live, struct pl_footprint_record *out)
{
    bool read = read_now(pid, live, out);
    for (int again = 0; again < TRIES_MORE && read && is_blurred(out); again++)
        read = read_now(pid, live, out);
    return read;
}

union reading {
    struct pl_footprint_record parts;
    struct pl_resident_record sites;
};

static size_t bytes_of(enum pl_rss_kind kind)
{
    return kind == PL_RSS_PARTS ? sizeof(struct pl_footprint_record) : sizeof(struct pl_resident_record);
}

static bool read_kind(enum pl_rss_kind kind, pid_t pid, const char *live, union reading *out)
{
    if (kind == PL_RSS_SITES)
        return pl_resident_record(pid, live, &out->sites);
    return read_well(pid, live, &out->parts) && pl_footprint_sum(&out->parts, 0, PL_PART_COUNT).resident;
}

/* Of a process that ends meanwhile, only a part of its memory is seen; no line of it would be true. */
void pl_rss_note(const char *directory, pid_t pid, const char *live, enum pl_rss_kind kind)
{
    union reading reading;
    struct pl_header header;
    ssize_t bytes = (ssize_t) bytes_of(kind);
    char *path = path_of_readings(directory, live, kind);
    if (path && read_kind(kind, pid, live, &reading) && pl_proc_header(live, &header) && header.end == PL_END_NONE) {
        int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (file >= 0 && write(file, &reading, (size_t) bytes) != bytes && errno == ENOSPC)
            unlink(path);
        if (file >= 0)
            close(file);
    }
    free(path);
}

/* Returns how many there are, of which `record` has record 0, which is not used, and at most PL_RSS_READINGS_MAX. */
static uint32_t read_file(const char *path, size_t bytes, void **record)
{
    struct stat status;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    uint64_t count = file >= 0 && fstat(file, &status) == 0 ? (uint64_t) status.st_size / bytes : 0;
    uint64_t kept = count < PL_RSS_READINGS_MAX ? count : PL_RSS_READINGS_MAX;
    *record = pl_say_memory(calloc(kept + 1, bytes));
    for (uint64_t i = 0; i < kept; i++) {
        uint64_t from = kept > 1 ? i * (count - 1) / (kept - 1) : 0;
        if (pread(file, (char *) *record + (1 + i) * bytes, bytes, (off_t) (from * bytes)) != (ssize_t) bytes)
            kept = i;
    }
    if (file >= 0)
        close(file);
    return (uint32_t) kept;
}

bool pl_rss_store(const char *directory, const char *profile, enum pl_rss_kind kind, char why[PL_WHY_BYTES])
{
    void *record = NULL;
    char *path = path_of_readings(directory, profile, kind);
    *why = 0;
    uint32_t count = path ? read_file(path, bytes_of(kind), &record) : 0;
    int result = !count                 ? -1
                 : kind == PL_RSS_PARTS ? pl_annotate_footprints(profile, record, count + 1, why)
                                        : pl_annotate_residents(profile, record, count + 1, why);
    if (path)
        unlink(path);
    free(record);
    free(path);
    return count && result == 0;
}

/* --- the thread --- */

static void look_around(const struct pl_rss *rss)
{
    struct pl_header header;
    DIR *directory = opendir(rss->directory);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        if (!pl_files_is_profile(entry->d_name))
            continue;
        char *path = pl_say_print("%s/%s", rss->directory, entry->d_name);
        if (pl_proc_header(path, &header) && header.end == PL_END_NONE && pl_profile_process_runs(&header))
            pl_rss_note(rss->directory, (pid_t) header.pid, path, rss->kind);
        free(path);
    }
    if (directory)
        closedir(directory);
}

/* True: the thread has to end. */
static bool wait_until(struct pl_rss *rss, uint64_t wake_ns)
{
    struct timespec wake = {(time_t) (wake_ns / 1000000000u), (long) (wake_ns % 1000000000u)};
    int error = 0;
    pthread_mutex_lock(&rss->lock);
    while (!rss->ending && error != ETIMEDOUT)
        error = pthread_cond_timedwait(&rss->ended, &rss->lock, &wake);
    bool ending = rss->ending;
    pthread_mutex_unlock(&rss->lock);
    return ending;
}

static void *live(void *context)
{
    struct pl_rss *rss = context;
    uint64_t next_ns = pl_proc_now_ns() + rss->every_ns;
    while (!wait_until(rss, next_ns)) {
        look_around(rss);
        if (++rss->rounds == PL_RSS_READINGS_MAX) {
            rss->every_ns *= 2;
            rss->rounds = PL_RSS_READINGS_MAX / 2;
        }
        uint64_t now_ns = pl_proc_now_ns();
        next_ns = next_ns + rss->every_ns > now_ns ? next_ns + rss->every_ns : now_ns + rss->every_ns;
    }
    return NULL;
}

struct pl_rss *pl_rss_start(const char *directory, uint64_t every_ns, enum pl_rss_kind kind)
{
    pthread_condattr_t monotonic;
    struct pl_rss *rss = pl_say_memory(calloc(1, sizeof *rss));
    rss->directory = pl_say_print("%s", directory);
    rss->every_ns = every_ns;
    rss->kind = kind;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&rss->lock, NULL);
    pthread_cond_init(&rss->ended, &monotonic);
    pthread_condattr_destroy(&monotonic);
    int error = pthread_create(&rss->thread, NULL, live, rss);
    if (!error)
        return rss;
    free(rss->directory);
    free(rss);
    errno = error;
    return NULL;
}

void pl_rss_end(struct pl_rss *rss)
{
    pthread_mutex_lock(&rss->lock);
    rss->ending = true;
    pthread_cond_signal(&rss->ended);
    pthread_mutex_unlock(&rss->lock);
    pthread_join(rss->thread, NULL);
    free(rss->directory);
    free(rss);
}
