/* SPDX-License-Identifier: MIT */
/*
 * collect.c - how the profiles of a run leave the directory in which they lived.
 *
 * A profile is moved before it is given its names: naming may take seconds, and whoever interrupts it should find the
 * profile in its place. The process that was asked for comes first (or the first that --only let through), so that it
 * gets the name that was asked for.
 *
 * Giving up the directory is a race with processes that are about to end: they ask whether .owner is there, and leave
 * their file to us if it is. So .owner goes first, and who is found to be ending after that is waited for.
 */
#include "collect.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "annotate.h"
#include "glibc.h"
#include "move.h"
#include "proc.h"
#include "say.h"
#include "symbolize.h"
#include "term.h"

#define OWNER ".owner"
#define CROWD 8                    /* processes; of fewer every one may have its profile */
#define CROWD_BYTES (512ull << 10) /* in a crowd, who allocated less goes unmentioned */
#define ENDING_TRIES 50            /* of 10 ms: how long a process that has said goodbye may take to be gone */

/* --- the directory --- */

static bool make_owner(const char *directory)
{
    char *path = pl_say_print("%s/" OWNER, directory);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    free(path);
    if (fd < 0)
        return false;
    close(fd);
    return true;
}

/*
 * Processes that outlive their run leave its directory empty when they move their profiles, and nobody is there to
 * remove it. The next run is: rmdir() takes only what is empty, and the pid in the name tells a run that has ended from
 * one that is about to put its .owner there.
 */
static void sweep(const char *path)
{
    DIR *directory = opendir(path);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        int pid;
        if (sscanf(entry->d_name, PL_COLLECT_PREFIX "%d.", &pid) == 1 && pid > 0 && kill(pid, 0) && errno == ESRCH)
            unlinkat(dirfd(directory), entry->d_name, AT_REMOVEDIR);
    }
    if (directory)
        closedir(directory);
}

char *pl_collect_make_directory(const char *const *candidates)
{
    for (; *candidates; candidates++) {
        sweep(*candidates);
        char *path = pl_say_print("%s/" PL_COLLECT_PREFIX "%d.XXXXXX", *candidates, getpid());
        if (mkdtemp(path) && make_owner(path)) /* mode 0700 */
            return path;
        int error = errno;
        rmdir(path);
        free(path);
        errno = error;
    }
    return NULL;
}

static void disown(const char *directory)
{
    char *path = pl_say_print("%s/" OWNER, directory);
    unlink(path);
    free(path);
}

/* --- what lies in it --- */

/* A profile on its way out. */
struct leaving {
    char *path;
    char *destination;
    uint64_t start_ns;
    bool first;    /* it gets a plain name to itself */
    bool unwanted; /* by its own program */
    struct pl_collected about;
};

struct state {
    const struct pl_collect_options *options;
    struct pl_collection *out;
    struct leaving *leaving;
    size_t count;
    struct pl_move_taken taken;
};

static uint64_t sampling_interval(const struct pl_header *header)
{
    static const uint64_t exact = 0;
    return header->mode == PL_MODE_EXACT  ? exact
           : header->mode == PL_MODE_AUTO ? header->automatic.interval_bytes
                                          : header->interval_bytes;
}

static void describe(const struct pl_profile *profile, struct leaving *leaving)
{
    struct pl_collected *about = &leaving->about;
    snprintf(about->comm, sizeof about->comm, "%s", profile->comm);
    about->pid = profile->header.pid;
    about->end = profile->header.end;
    about->calls = (uint64_t) profile->total[PL_METRIC_ALLOC_OBJECTS].value;
    about->bytes = (uint64_t) profile->total[PL_METRIC_ALLOC_SPACE].value;
    about->samples = profile->samples;
    about->exact = profile->exact;
    about->exact_calls = (uint64_t) profile->exact_calls;
    about->unrecorded_calls = about->calls - (uint64_t) profile->recorded_calls;
    pl_profile_method(profile, about->method, sizeof about->method);
    about->inuse_objects = profile->total[PL_METRIC_INUSE_OBJECTS];
    about->inuse_space = profile->total[PL_METRIC_INUSE_SPACE];
    about->peak_space = profile->total[PL_METRIC_PEAK_SPACE];
    about->peak_slack_bytes = profile->peak_slack_bytes;
    about->interval_bytes = sampling_interval(&profile->header);
    about->off = profile->header.control.off;
    about->lost_threads = profile->header.losses[PL_LOSS_THREADS];
    about->lost_records = profile->header.losses[PL_LOSS_FILE_FULL];
    about->lost_scopes = profile->header.losses[PL_LOSS_TAGS];
    about->duration_s = profile->duration_s;
    leaving->destination = pl_say_print("%s", profile->destination);
    leaving->start_ns = profile->header.start_monotonic_ns;
    leaving->unwanted = profile->header.flags & PL_FLAG_NO_OUTPUT;
}

static void take_in(struct state *state, const char *path)
{
    struct pl_profile *profile;
    char why[PL_WHY_BYTES];
    int error = pl_profile_open(path, &profile, why);
    if (error == -ENOENT)
        return; /* its process was just ending, and has moved it itself */
    if (error) {
        pl_say("%s", why);
        state->out->failed++;
        return;
    }
    struct leaving leaving = {.path = pl_say_print("%s", path)};
    describe(profile, &leaving);
    pl_profile_close(profile);
    state->leaving = pl_say_memory(realloc(state->leaving, (state->count + 1) * sizeof *state->leaving));
    state->leaving[state->count++] = leaving;
}

static bool is_profile_name(const char *name)
{
    size_t bytes = strlen(name), suffix = strlen(".plim");
    return name[0] != '.' && bytes > suffix && !strcmp(name + bytes - suffix, ".plim");
}

/* One that a program took of itself, and that went here for want of a better place. It is not a process's last word. */
static bool move_snapshot(struct state *state, const char *path)
{
    struct pl_header header;
    if (!pl_proc_header(path, &header) || !(header.flags & PL_FLAG_SNAPSHOT))
        return false;
    char *moved = pl_move(path, strrchr(path, '/') + 1, &state->taken);
    if (!moved)
        pl_say("cannot move %s here: %m", path);
    free(moved);
    return true;
}

/* Is the file that of a living process? `ending`: of one that has said goodbye. */
static bool is_alive(const struct pl_proc_table *table, const char *path, bool *ending)
{
    struct pl_header header;
    bool alive = pl_proc_header(path, &header) && pl_proc_writer(table, path, &header);
    *ending |= alive && header.end != PL_END_NONE;
    return alive;
}

/* Counts the profiles of living processes and, if asked to, takes in the others. True: one of them is about to end. */
static bool look_around(struct state *state, bool take)
{
    struct pl_proc_table table = pl_proc_read();
    DIR *directory = opendir(state->options->directory);
    bool ending = false;
    state->out->running = 0;
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        if (!is_profile_name(entry->d_name))
            continue;
        char *path = pl_say_print("%s/%s", state->options->directory, entry->d_name);
        bool alive = is_alive(&table, path, &ending);
        state->out->running += alive;
        if (take && !alive && !move_snapshot(state, path))
            take_in(state, path);
        free(path);
    }
    if (directory)
        closedir(directory);
    pl_proc_free(&table);
    return ending;
}

static void gather(struct state *state)
{
    disown(state->options->directory);
    for (int i = 0; i < ENDING_TRIES && look_around(state, false); i++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    look_around(state, true);
}

/* --- which is which --- */

/*
 * `make -j8` starts thousands of processes, and a profile of each would bury those that matter. Without a figure by
 * site a profile shows nothing; among many, those of processes that hardly allocated are left out, too, whether what
 * they did was counted or sampled.
 */
static bool is_clutter(const struct state *state, const struct leaving *leaving)
{
    const struct pl_collected *about = &leaving->about;
    bool blank = !about->samples && !about->exact_calls;
    bool small = state->count > CROWD && about->bytes < CROWD_BYTES;
    return !about->main && !state->options->keep_all && (blank || small);
}

/* Where the process we started is not profiled (--only), the first that is stands in for it. */
static void find_stand_in(struct state *state)
{
    struct leaving *first = NULL;
    for (size_t i = 0; i < state->count; i++) {
        struct leaving *each = &state->leaving[i];
        if (!is_clutter(state, each) && (!first || each->start_ns < first->start_ns))
            first = each;
    }
    if (first)
        first->first = true;
}

/* The process we started may have become others by exec: the last one is what the user thinks of. */
static void find_main(struct state *state)
{
    struct leaving *last = NULL;
    for (size_t i = 0; i < state->count; i++) {
        struct leaving *each = &state->leaving[i];
        if (each->about.pid == (uint32_t) state->options->main_pid && (!last || each->start_ns > last->start_ns))
            last = each;
    }
    if (last)
        last->first = last->about.main = true;
    else
        find_stand_in(state);
}

/* A process that becomes other programs has a profile for each of them; only the last of those ends otherwise. */
static size_t count_processes(const struct state *state)
{
    size_t count = 0;
    for (size_t i = 0; i < state->count; i++)
        count += state->leaving[i].about.end != PL_END_EXEC || state->leaving[i].about.main;
    return count;
}

static int by_importance(const void *left, const void *right)
{
    const struct leaving *a = left, *b = right;
    if (a->first != b->first)
        return b->first - a->first;
    if (a->about.bytes != b->about.bytes)
        return a->about.bytes < b->about.bytes ? 1 : -1;
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* --- out --- */

static char *name_for(const struct state *state, const struct leaving *leaving)
{
    bool shared = !strchr(state->options->pattern, '%') && !leaving->first;
    if (!*leaving->destination) /* longer than a file name can be */
        return pl_say_print("plimsoll.%s.%u.plim", leaving->about.comm, leaving->about.pid);
    if (shared)
        return pl_say_print("%s.%u", leaving->destination, leaving->about.pid);
    return pl_say_print("%s", leaving->destination);
}

static void store_names(const char *path)
{
    char why[PL_WHY_BYTES];
    struct pl_profile *profile;
    struct pl_symbolize_options options = {
        .beside = pl_glibc_libraries(), .progress = pl_term_progress, .context = "plimsoll: reading symbols"};
    if (pl_profile_open(path, &profile, why))
        return; /* it could be opened a moment ago: whoever took it away knows */
    int result = pl_symbolize(profile, &options, NULL);
    pl_term_progress(options.context, 1);
    if (result == 0 && pl_annotate(path, profile, why))
        pl_say("%s; the profile is complete, but needs the program's files to be read", why);
    pl_profile_close(profile);
}

static void add(struct pl_collection *out, const struct pl_collected *about)
{
    out->profile = pl_say_memory(realloc(out->profile, (out->count + 1) * sizeof *out->profile));
    out->profile[out->count++] = *about;
}

static void move_out(struct state *state, struct leaving *leaving)
{
    char *destination = name_for(state, leaving);
    char *path = pl_move(leaving->path, destination, &state->taken);
    struct stat status;
    if (!path) {
        pl_say("cannot write %s: %m; the profile stays in %s", destination, leaving->path);
        path = pl_say_print("%s", leaving->path);
        state->out->failed++;
    }
    free(destination);
    if (!state->options->no_symbols)
        store_names(path);
    leaving->about.path = path;
    leaving->about.file_bytes = stat(path, &status) ? 0 : (uint64_t) status.st_size;
    add(state->out, &leaving->about);
}

static void remove_unwanted(struct pl_collection *out, const struct leaving *leaving)
{
    unlink(leaving->path);
    if (out->unwanted++)
        return;
    memcpy(out->unwanted_comm, leaving->about.comm, sizeof out->unwanted_comm);
    out->unwanted_pid = leaving->about.pid;
}

static void let_go(struct state *state, struct leaving *leaving)
{
    char why[PL_WHY_BYTES];
    const struct pl_collect_options *options = state->options;
    if (leaving->unwanted) {
        remove_unwanted(state->out, leaving);
        return;
    }
    if (leaving->about.main && leaving->about.end != PL_END_EXEC &&
        pl_profile_set_ending(leaving->path, options->wait_status, options->end_ns, why))
        pl_say("%s", why);
    if (!is_clutter(state, leaving)) {
        move_out(state, leaving);
        return;
    }
    unlink(leaving->path);
    state->out->dropped += leaving->about.end != PL_END_EXEC;
}

void pl_collect(const struct pl_collect_options *options, struct pl_collection *out)
{
    struct state state = {.options = options, .out = out};
    *out = (struct pl_collection){0};
    gather(&state);
    find_main(&state);
    out->processes = count_processes(&state);
    if (state.count)
        qsort(state.leaving, state.count, sizeof *state.leaving, by_importance);
    for (size_t i = 0; i < state.count; i++) {
        let_go(&state, &state.leaving[i]);
        free(state.leaving[i].path);
        free(state.leaving[i].destination);
    }
    free(state.leaving);
    pl_move_free(&state.taken);
    rmdir(options->directory); /* stays while something is in it */
}

void pl_collect_free(struct pl_collection *collection)
{
    for (size_t i = 0; i < collection->count; i++)
        free(collection->profile[i].path);
    free(collection->profile);
}
