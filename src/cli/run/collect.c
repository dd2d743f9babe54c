/* SPDX-License-Identifier: MIT */
/*
 * collect.c - moves the profiles of a run out of their private directory.
 *
 * A profile is moved before its names are looked up: that may take seconds, and if the user interrupts it, the profile
 * is already in place. The process that we started comes first (or the first one that --only includes), so that it gets
 * the name that the user gave.
 *
 * If the profiles of ended processes were folded into one for each program (intake.h), these sums and all other
 * profiles go to a directory, so that the whole tree can be read as one.
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
#include <unistd.h>

#include "cli/cache.h"
#include "cli/proc.h"
#include "cli/files.h"
#include "cli/run/glibc.h"
#include "cli/run/intake.h"
#include "cli/run/lookout.h"
#include "cli/say.h"
#include "cli/term.h"
#include "format/settings.h"
#include "reader/symbols/symbolize.h"
#include "reader/write/annotate.h"
#include "reader/write/save.h"

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

/* --- the profiles in it --- */

struct state {
    const struct pl_collect_options *options;
    struct pl_collection *out;
    struct pl_intake *intake;
    char *tree; /* the directory of a folded tree's profiles; NULL: it is not folded */
    struct pl_move_taken taken;
};

/* --- which ones to keep --- */

/* A profile without figures by site is removed, unless its process has a malloc that we did not see. Those of processes
 * that we did not start have been removed already. */
static bool is_clutter(const struct state *state, const struct pl_leaving *leaving)
{
    const struct pl_collected *about = &leaving->about;
    bool blank = !about->samples && !about->exact_calls && !about->other_heaps && !about->bypass[PL_BYPASS_MALLOC][0];
    return !about->main && !state->options->keep_all && blank;
}

/* If the process that we started is not profiled (--only), the first profiled one gets the name instead. */
static struct pl_leaving *find_stand_in(struct state *state)
{
    struct pl_leaving *first = NULL;
    for (size_t i = 0; i < state->intake->count; i++) {
        struct pl_leaving *each = &state->intake->leaving[i];
        if (!is_clutter(state, each) && (!first || each->start_ns < first->start_ns))
            first = each;
    }
    return first;
}

static struct pl_leaving *find_main(struct state *state)
{
    struct pl_leaving *main = pl_intake_main(state->intake);
    if (main)
        main->about.main = true;
    return main ? main : find_stand_in(state);
}

/* A process that executes other programs has a profile for each of them; all but the last end with PL_END_EXEC. */
static size_t count_processes(const struct state *state)
{
    size_t count = state->intake->processes;
    for (size_t i = 0; i < state->intake->count; i++) {
        struct pl_leaving *each = &state->intake->leaving[i];
        if (!each->folded)
            count += each->about.processes = each->about.end != PL_END_EXEC || each->about.main;
    }
    return count;
}

static int by_importance(const void *left, const void *right)
{
    const struct pl_leaving *a = left, *b = right;
    if (a->first != b->first)
        return b->first - a->first;
    if (a->about.bytes != b->about.bytes)
        return a->about.bytes < b->about.bytes ? 1 : -1;
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* --- the directory of a folded tree --- */

/* A tree of many processes has a directory beside the profile of the process that we started: `app.tree` beside
 * `app.plim`. It may have the profiles of an earlier run in it. */
static char *make_tree(const struct pl_leaving *first)
{
    char *stem = pl_files_stem(first->destination), *path = pl_say_print("%s" PL_COLLECT_TREE, stem);
    free(stem);
    DIR *directory = mkdir(path, 0777) && errno == EEXIST ? opendir(path) : NULL;
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        struct pl_header header;
        char *old = pl_say_print("%s/%s", path, entry->d_name);
        if (pl_files_is_profile(entry->d_name) && pl_proc_header(old, &header))
            unlink(old);
        free(old);
    }
    if (directory)
        closedir(directory);
    return path;
}

/* The profile with the plain name belongs to the tree, too. */
static void link_into_tree(const struct state *state, const struct pl_collected *first)
{
    char *name = first->pid ? pl_say_print("%s/%s.%u" PL_SUFFIX, state->tree, first->comm, first->pid)
                            : pl_say_print("%s/%s" PL_SUFFIX, state->tree, first->comm);
    char *beside = pl_say_print("../%s", basename(first->path));
    if (link(first->path, name) && symlink(beside, name))
        pl_say("cannot make %s: %m; the directory lacks the profile of %s", name, first->comm);
    free(beside);
    free(name);
}

/* --- moving --- */

static char *name_for(const struct state *state, const struct pl_leaving *leaving)
{
    const struct pl_collected *about = &leaving->about;
    if (state->tree && !leaving->first)
        return about->pid ? pl_say_print("%s/%s.%u" PL_SUFFIX, state->tree, about->comm, about->pid)
                          : pl_say_print("%s/%s" PL_SUFFIX, state->tree, about->comm);
    if (!*leaving->destination) /* longer than a file name can be */
        return pl_say_print("plimsoll.%s.%u" PL_SUFFIX, about->comm, about->pid);
    if (!state->options->spread && !leaving->first)
        return pl_say_print("%s.%u", leaving->destination, about->pid);
    return pl_say_print("%s", leaving->destination);
}

static int write_names(const char *path, const struct pl_leaving *leaving, struct pl_profile *profile, char *why)
{
    return leaving->folded ? pl_save(profile, path, why) : pl_annotate(path, profile, why);
}

static void store_names(const char *path, struct pl_leaving *leaving)
{
    char why[PL_WHY_BYTES];
    struct pl_symbolize_options options = {.beside = pl_glibc_libraries(),
                                           .cache = pl_cache_symbols(),
                                           .progress = pl_term_progress,
                                           .context = "plimsoll: reading symbols"};
    if (!leaving->folded && !leaving->profile && pl_profile_open(path, &leaving->profile, why))
        return; /* it could be opened a moment ago: somebody has removed it since */
    struct pl_profile *profile = leaving->folded ? pl_sum_total(&leaving->folded->sum) : leaving->profile;
    int result = pl_symbolize(profile, &options, NULL);
    pl_term_progress(options.context, 1);
    if (result == 0 && write_names(path, leaving, profile, why))
        pl_say("%s; the profile is complete, but reading it needs the program's files", why);
}

static void add(struct pl_collection *out, const struct pl_collected *about)
{
    out->profile = pl_say_memory(realloc(out->profile, (out->count + 1) * sizeof *out->profile));
    out->profile[out->count++] = *about;
}

/* A sum that could not be saved beside the live profiles, for lack of room, is only in memory. */
static char *move(struct state *state, struct pl_leaving *leaving, const char *destination)
{
    char why[PL_WHY_BYTES];
    if (!strcmp(leaving->path, destination))
        return pl_say_print("%s", destination);
    if (!leaving->folded || access(leaving->path, F_OK) == 0)
        return pl_move(leaving->path, destination, &state->taken);
    return pl_save(pl_sum_total(&leaving->folded->sum), destination, why) ? NULL : pl_say_print("%s", destination);
}

static void move_out(struct state *state, struct pl_leaving *leaving)
{
    char *destination = name_for(state, leaving);
    char *path = move(state, leaving, destination);
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
    if (state->tree && leaving->first)
        link_into_tree(state, &leaving->about);
    add(state->out, &leaving->about);
}

static void let_go(struct state *state, struct pl_leaving *leaving)
{
    char why[PL_WHY_BYTES];
    const struct pl_collect_options *options = state->options;
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

static void let_all_go(struct state *state)
{
    struct pl_intake *intake = state->intake;
    struct pl_leaving *first = find_main(state);
    state->out->processes = count_processes(state);
    if (!first)
        return;
    first->first = true;
    if (intake->fold.count)
        state->tree = make_tree(first);
    qsort(intake->leaving, intake->count, sizeof *intake->leaving, by_importance);
    for (size_t i = 0; i < intake->count; i++) {
        let_go(state, &intake->leaving[i]);
        pl_intake_forget(&intake->leaving[i]);
    }
}

void pl_collect(struct pl_intake *intake, const struct pl_collect_options *options, struct pl_collection *out)
{
    struct state state = {.options = options, .out = out, .intake = intake};
    signal(SIGXFSZ, SIG_IGN); /* now that the program has ended: a file that is too large is an error, not our end */
    intake->options.main_pid = options->main_pid;
    intake->taken = &state.taken;
    pl_intake_end(intake);
    *out = (struct pl_collection){.dropped = intake->dropped,
                                  .running = intake->running,
                                  .failed = intake->failed,
                                  .unwanted = intake->unwanted,
                                  .unwanted_pid = intake->unwanted_pid};
    memcpy(out->unwanted_comm, intake->unwanted_comm, sizeof out->unwanted_comm);
    let_all_go(&state);
    out->tree = state.tree;
    pl_move_free(&state.taken);
    pl_lookout_sweep(options->directory);
    rmdir(options->directory); /* fails if profiles of running processes are left in it */
}

void pl_collect_one(const struct pl_collect_options *options, const char *path, struct pl_collection *out)
{
    char why[PL_WHY_BYTES];
    struct state state = {.options = options, .out = out};
    struct pl_leaving leaving = {.path = pl_say_print("%s", path), .first = true};
    *out = (struct pl_collection){.processes = 1};
    signal(SIGXFSZ, SIG_IGN);
    if (pl_profile_open(path, &leaving.profile, why)) {
        pl_say("%s", why);
        out->failed++;
    } else {
        pl_intake_describe(leaving.profile, &leaving);
        leaving.about.main = true;
        if (!*leaving.destination) { /* there was no room for live profiles: it is where it was to go */
            free(leaving.destination);
            leaving.destination = pl_say_print("%s", path);
        }
        move_out(&state, &leaving);
        pl_intake_forget(&leaving);
        free(leaving.destination);
    }
    free(leaving.path);
    pl_move_free(&state.taken);
}

void pl_collect_free(struct pl_collection *collection)
{
    for (size_t i = 0; i < collection->count; i++) {
        free(collection->profile[i].executable);
        free(collection->profile[i].path);
    }
    free(collection->profile);
    free(collection->tree);
}
