/* SPDX-License-Identifier: MIT */
/*
 * collect.c - moves the profiles of a run out of their private directory.
 *
 * A profile is moved before its names are looked up: that may take seconds, and if the user interrupts it, the profile
 * is already in place. The process that we started comes first (or the first one that --only includes), so that it gets
 * the name that the user gave.
 *
 * There is a race with processes that are about to end: if .owner exists, they leave their profile to us. So we remove
 * .owner first, and then wait for processes that are already ending.
 */
#include "cli/run/collect.h"

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

#include "analysis/resident.h"
#include "cli/cache.h"
#include "cli/proc.h"
#include "cli/files.h"
#include "cli/run/glibc.h"
#include "cli/run/move.h"
#include "cli/run/target.h"
#include "cli/say.h"
#include "cli/term.h"
#include "format/settings.h"
#include "reader/symbols/symbolize.h"
#include "reader/write/annotate.h"
#include "reader/describe.h"

#define CROWD 8                    /* with more profiles than this, small ones are removed */
#define CROWD_BYTES (512ull << 10) /* small: fewer bytes allocated than this */
#define ENDING_TRIES 50            /* of 10 ms: how long to wait for a process that is ending */

/* --- the directory --- */

static bool make_owner(const char *directory)
{
    char *path = pl_say_print("%s/" PL_COLLECT_OWNER, directory);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    free(path);
    if (fd < 0)
        return false;
    close(fd);
    return true;
}

/*
 * Removes directories of earlier runs. A process that outlives its run moves its profile out, but does not remove the
 * directory. rmdir() removes only empty directories, and the pid in the name tells an ended run from one that has not
 * made its .owner yet.
 */
static void sweep(const char *path)
{
    DIR *directory = opendir(path);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        int pid;
        if (!strncmp(entry->d_name, PL_COLLECT_PREFIX, strlen(PL_COLLECT_PREFIX)) &&
            sscanf(entry->d_name + strlen(PL_COLLECT_PREFIX), "%d.", &pid) == 1 && pid > 0 && kill(pid, 0) &&
            errno == ESRCH)
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
    char *path = pl_say_print("%s/" PL_COLLECT_OWNER, directory);
    unlink(path);
    free(path);
}

/* --- the profiles in it --- */

/* A profile that is to be moved out. */
struct leaving {
    struct pl_profile *profile; /* of the profile that was read last, which is mostly the only one; else NULL */
    char *path;
    char *destination;
    uint64_t start_ns;
    bool first;    /* it gets exactly the name that was given */
    bool unwanted; /* its program declined it (plimsoll_output(0)) */
    struct pl_collected about;
};

struct state {
    const struct pl_collect_options *options;
    struct pl_collection *out;
    struct leaving *leaving;
    size_t count;
    struct pl_move_taken taken;
    char *inspected; /* the last executable that pl_target_has_allocator() was asked about, and its answer */
    bool inspected_has;
};

static uint64_t sampling_interval(const struct pl_header *header)
{
    static const uint64_t exact = 0;
    return header->mode == PL_MODE_EXACT  ? exact
           : header->mode == PL_MODE_AUTO ? header->automatic.interval_bytes
                                          : header->interval_bytes;
}

static void describe_room(const struct pl_profile *profile, struct pl_collected *about)
{
    if (!pl_filefull_lost(&profile->header))
        return;
    pl_filefull_cause(&profile->header, about->room_cause);
    pl_filefull_remedy(&profile->header, profile->file_bytes, pl_say_self(), about->room_remedy);
}

static void describe(const struct pl_profile *profile, struct leaving *leaving)
{
    struct pl_collected *about = &leaving->about;
    snprintf(about->comm, sizeof about->comm, "%s", profile->comm);
    about->executable = pl_say_print("%s", profile->executable);
    about->pid = profile->header.pid;
    about->end = profile->header.end;
    about->calls = (uint64_t) profile->total[PL_METRIC_ALLOC_OBJECTS].value;
    about->bytes = (uint64_t) profile->total[PL_METRIC_ALLOC_SPACE].value;
    about->samples = profile->samples;
    about->exact = profile->exact;
    about->exact_calls = (uint64_t) profile->exact_calls;
    about->unrecorded_calls = about->calls - (uint64_t) profile->recorded_calls;
    pl_describe_method(profile, about->method, sizeof about->method);
    pl_describe_flaws(profile, about->flaws, sizeof about->flaws);
    for (int how = 0; how < PL_BYPASS_COUNT; how++)
        pl_describe_bypass(profile, how, about->bypass[how], sizeof about->bypass[how]);
    struct pl_resident resident;
    if (pl_resident_outside(profile, &resident))
        pl_resident_headline(profile, &resident, about->elsewhere, sizeof about->elsewhere);
    about->inuse_objects = profile->total[PL_METRIC_INUSE_OBJECTS];
    about->inuse_space = profile->total[PL_METRIC_INUSE_SPACE];
    about->peak_space = profile->total[PL_METRIC_PEAK_SPACE];
    about->peak_slack_bytes = profile->peak_slack_bytes;
    about->interval_bytes = sampling_interval(&profile->header);
    about->off = profile->header.control.off;
    about->lost_threads = profile->header.losses[PL_LOSS_THREADS];
    about->lost_records = profile->header.losses[PL_LOSS_FILE_FULL] + profile->header.losses[PL_LOSS_SANDBOX];
    describe_room(profile, about);
    about->lost_scopes = profile->header.losses[PL_LOSS_TAGS];
    about->duration_s = profile->duration_s;
    leaving->destination = pl_say_print("%s", profile->destination);
    leaving->start_ns = profile->header.start_monotonic_ns;
    leaving->unwanted = profile->header.flags & PL_FLAG_NO_OUTPUT;
}

static void forget(struct leaving *leaving)
{
    if (leaving->profile)
        pl_profile_close(leaving->profile);
    leaving->profile = NULL;
}

/* The runtime sees only what a program exports. The file shows an allocator that is linked in and not exported. */
static bool is_unseen(struct state *state, const struct pl_profile *profile)
{
    if (*profile->bypass[PL_BYPASS_MALLOC] || *profile->bypass[PL_BYPASS_LINKED])
        return false;
    if (!state->inspected || strcmp(state->inspected, profile->executable) != 0) {
        free(state->inspected);
        state->inspected = pl_say_print("%s", profile->executable);
        state->inspected_has = pl_target_has_allocator(profile->executable);
    }
    return state->inspected_has;
}

static int open_complete(struct state *state, const char *path, struct pl_profile **profile, char why[PL_WHY_BYTES])
{
    int error = pl_profile_open(path, profile, why);
    if (error || !is_unseen(state, *profile) || pl_annotate_linked(path, why))
        return error;
    pl_profile_close(*profile);
    return pl_profile_open(path, profile, why);
}

/* Keeps the profile for the names that are looked up later, but never two of them: they may be large. */
static void take_in(struct state *state, const char *path)
{
    struct pl_profile *profile;
    if (state->count)
        forget(&state->leaving[state->count - 1]);
    char why[PL_WHY_BYTES];
    int error = open_complete(state, path, &profile, why);
    if (error == -ENOENT)
        return; /* its process was just ending, and has moved it itself */
    if (error) {
        pl_say("%s", why);
        state->out->failed++;
        return;
    }
    struct leaving leaving = {.profile = profile, .path = pl_say_print("%s", path)};
    describe(profile, &leaving);
    state->leaving = pl_say_memory(realloc(state->leaving, (state->count + 1) * sizeof *state->leaving));
    state->leaving[state->count++] = leaving;
}

/* Moves a snapshot that a program took of itself, and that is here because the process had no other destination. It is
 * not counted as a profile of the run. */
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

/* Does the profile belong to a running process? Sets `ending` if that process has written its end already. */
static bool is_alive(struct pl_proc_table *table, const char *path, bool *ending)
{
    struct pl_header header;
    bool alive = pl_proc_header(path, &header) && pl_proc_writer(table, path, &header);
    *ending |= alive && header.end != PL_END_NONE;
    return alive;
}

/* A process that found no room in the directory has made its profile beside its destination, and a link to it here. */
static char *follow(char *path)
{
    char *real = realpath(path, NULL);
    struct stat status;
    if (!real || lstat(path, &status) || !S_ISLNK(status.st_mode)) {
        free(real);
        return path;
    }
    free(path);
    return real;
}

/* Removes links; their targets have been moved. */
static void remove_link(const char *path)
{
    struct stat status;
    if (!lstat(path, &status) && S_ISLNK(status.st_mode))
        unlink(path);
}

/* Counts the profiles of running processes and, with `take`, takes in the others. True: one of the processes is ending.
 */
static bool look_around(struct state *state, bool take)
{
    struct pl_proc_table table = {0};
    DIR *directory = opendir(state->options->directory);
    bool ending = false;
    state->out->running = 0;
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        if (!pl_files_is_profile(entry->d_name))
            continue;
        char *entry_path = pl_say_print("%s/%s", state->options->directory, entry->d_name);
        char *path = follow(pl_say_print("%s", entry_path));
        bool alive = is_alive(&table, path, &ending);
        state->out->running += alive;
        if (take && !alive && !move_snapshot(state, path))
            take_in(state, path);
        if (take && !alive)
            remove_link(entry_path);
        free(path);
        free(entry_path);
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

/* --- which ones to keep --- */

/*
 * `make -j8` starts thousands of processes, and most of their profiles are of no interest. A profile without figures by
 * site is removed, unless its process has a malloc that we did not see; if there are many, so are those of processes
 * that hardly allocated, in exact and in sampled mode.
 */
static bool is_clutter(const struct state *state, const struct leaving *leaving)
{
    const struct pl_collected *about = &leaving->about;
    bool blank = !about->samples && !about->exact_calls && !about->bypass[PL_BYPASS_MALLOC][0];
    bool small = state->count > CROWD && about->bytes < CROWD_BYTES;
    return !about->main && !state->options->keep_all && (blank || small);
}

/* If the process that we started is not profiled (--only), the first profiled one gets the name instead. */
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

/* The process that we started may have executed other programs: the last one is the one that the user means. */
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

/* A process that executes other programs has a profile for each of them; all but the last end with PL_END_EXEC. */
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

/* --- moving --- */

static char *name_for(const struct state *state, const struct leaving *leaving)
{
    bool shared = !strchr(state->options->pattern, '%') && !leaving->first;
    if (!*leaving->destination) /* longer than a file name can be */
        return pl_say_print("plimsoll.%s.%u" PL_SUFFIX, leaving->about.comm, leaving->about.pid);
    if (shared)
        return pl_say_print("%s.%u", leaving->destination, leaving->about.pid);
    return pl_say_print("%s", leaving->destination);
}

static void store_names(const char *path, struct leaving *leaving)
{
    char why[PL_WHY_BYTES];
    struct pl_symbolize_options options = {.beside = pl_glibc_libraries(),
                                           .cache = pl_cache_symbols(),
                                           .progress = pl_term_progress,
                                           .context = "plimsoll: reading symbols"};
    if (!leaving->profile && pl_profile_open(path, &leaving->profile, why))
        return; /* it could be opened a moment ago: somebody has removed it since */
    int result = pl_symbolize(leaving->profile, &options, NULL);
    pl_term_progress(options.context, 1);
    if (result == 0 && pl_annotate(path, leaving->profile, why))
        pl_say("%s; the profile is complete, but reading it needs the program's files", why);
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
        store_names(path, leaving);
    leaving->about.path = path;
    leaving->about.file_bytes = stat(path, &status) ? 0 : (uint64_t) status.st_size;
    add(state->out, &leaving->about);
}

static void remove_unwanted(struct pl_collection *out, const struct leaving *leaving)
{
    unlink(leaving->path);
    free(leaving->about.executable);
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
        (pl_annotate_ending(leaving->path, options->wait_status, options->end_ns, why) ||
         (options->out_of_memory && pl_annotate_out_of_memory(leaving->path, why))))
        pl_say("%s", why);
    if (!is_clutter(state, leaving)) {
        move_out(state, leaving);
        return;
    }
    unlink(leaving->path);
    free(leaving->about.executable);
    state->out->dropped += leaving->about.end != PL_END_EXEC;
}

void pl_collect(const struct pl_collect_options *options, struct pl_collection *out)
{
    struct state state = {.options = options, .out = out};
    *out = (struct pl_collection){0};
    signal(SIGXFSZ, SIG_IGN); /* now that the program has ended: a file that is too large is an error, not our end */
    gather(&state);
    find_main(&state);
    out->processes = count_processes(&state);
    if (state.count)
        qsort(state.leaving, state.count, sizeof *state.leaving, by_importance);
    for (size_t i = 0; i < state.count; i++) {
        let_go(&state, &state.leaving[i]);
        forget(&state.leaving[i]);
        free(state.leaving[i].path);
        free(state.leaving[i].destination);
    }
    free(state.leaving);
    free(state.inspected);
    pl_move_free(&state.taken);
    rmdir(options->directory); /* fails if profiles of running processes are left in it */
}

void pl_collect_free(struct pl_collection *collection)
{
    for (size_t i = 0; i < collection->count; i++) {
        free(collection->profile[i].executable);
        free(collection->profile[i].path);
    }
    free(collection->profile);
}
