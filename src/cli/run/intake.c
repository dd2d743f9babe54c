/* SPDX-License-Identifier: MIT */
/*
 * intake.c - takes in the profiles of a run as their processes end.
 *
 * The kernel reports that a file has been closed (IN_CLOSE_WRITE) when nobody has it mapped for writing any more: when
 * its process has ended, or executed another program. So the thread sleeps until there is something to do. The report
 * comes a moment before the kernel counts the writer as gone, and the process, so a file that still seems to have one
 * is looked at again for a while. Where the kernel does not count writers of mapped files (overlayfs), the thread looks
 * around once a second instead.
 *
 * There is a race with processes that are about to end: if .owner exists, they leave their profile to us. So at the end
 * we remove .owner first, and then wait for processes that are already ending.
 *
 * A profile of the process that we started is never folded: which of its programs the user means is known at the end.
 */
#include "cli/run/intake.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analysis/resident.h"
#include "analysis/traits.h"
#include "cli/files.h"
#include "cli/proc.h"
#include "cli/run/lookout.h"
#include "cli/run/rss.h"
#include "cli/run/target.h"
#include "cli/say.h"
#include "export/label.h"
#include "reader/describe.h"
#include "reader/write/annotate.h"

#define ENDING_TRIES 50  /* of 10 ms: how long to wait for a process that is ending */
#define CLOSED_TRIES 200 /* of 5 ms: how often to look at a file that was closed and whose process seems to run */
#define CLOSED_WAIT_MS 5
#define TITLE_COLUMNS 48
#define LINGER_MS 1000 /* a file that has been added to a sum waits no longer than this for others */

/* --- what a profile says --- */

static uint64_t sampling_interval(const struct pl_header *header)
{
    static const uint64_t exact = 0;
    if (header->control.interval_bytes)
        return header->control.interval_bytes;
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

/* A forked child that has set its title has it as its only argument: "nginx: worker process". */
static void describe_title(const struct pl_profile *profile, struct pl_collected *about)
{
    const char **argv = profile->argv;
    if (profile->merged || !argv[0] || argv[1] || !strstr(argv[0], ": "))
        return;
    char *clean = pl_label_clean(argv[0]), *shorter = pl_label_cut(clean, TITLE_COLUMNS);
    snprintf(about->title, sizeof about->title, "%s", shorter);
    free(shorter);
    free(clean);
}

static bool has_other_heaps(const struct pl_profile *profile)
{
    bool any = false;
    for (uint32_t i = 0; i < profile->heaps; i++)
        any |= profile->heap[i].sites > 0;
    return any;
}

void pl_intake_describe(const struct pl_profile *profile, struct pl_leaving *leaving)
{
    struct pl_collected *about = &leaving->about;
    snprintf(about->comm, sizeof about->comm, "%s", profile->comm);
    describe_title(profile, about);
    about->executable = pl_say_print("%s", profile->executable);
    about->pid = profile->header.pid;
    about->end = profile->header.end;
    about->calls = (uint64_t) profile->total[PL_METRIC_ALLOC_OBJECTS].value;
    about->bytes = (uint64_t) profile->total[PL_METRIC_ALLOC_SPACE].value;
    about->samples = profile->samples;
    about->exact = profile->exact;
    about->reset = profile->reset_s > 0;
    about->exact_calls = (uint64_t) profile->exact_calls;
    about->unrecorded_calls = about->calls - (uint64_t) profile->recorded_calls;
    pl_describe_method(profile, about->method, sizeof about->method);
    pl_describe_flaws(profile, about->flaws, sizeof about->flaws);
    about->other_heaps = has_other_heaps(profile);
    about->linked = profile->header.flags & PL_FLAG_LINKED;
    for (int how = 0; how < PL_BYPASS_COUNT; how++)
        pl_describe_bypass(profile, how, about->bypass[how], sizeof about->bypass[how]);
    struct pl_resident resident;
    if (pl_resident_outside(profile, &resident))
        pl_resident_headline(profile, &resident, about->elsewhere, sizeof about->elsewhere);
    about->inuse_objects = profile->total[PL_METRIC_INUSE_OBJECTS];
    about->inuse_space = profile->total[PL_METRIC_INUSE_SPACE];
    about->peak_space = profile->total[PL_METRIC_PEAK_SPACE];
    about->looked = profile->looked != PL_LOOKED_NOT;
    about->looked_partly = profile->looked_partly;
    about->footprints = profile->footprints;
    about->lost_objects = profile->total[PL_METRIC_LOST_OBJECTS];
    about->lost_space = profile->total[PL_METRIC_LOST_SPACE];
    about->peak_slack_bytes = profile->peak_slack_bytes;
    about->behind = pl_traits_behind(profile);
    about->unfollowed = profile->header.losses[PL_LOSS_LIVE_FULL];
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

void pl_intake_forget(struct pl_leaving *leaving)
{
    if (leaving->profile)
        pl_profile_close(leaving->profile);
    leaving->profile = NULL;
}

/* Asks once for each executable: reading all symbols of a compiler takes longer than everything else. */
static bool has_allocator(struct pl_intake *intake, const char *executable)
{
    for (size_t i = 0; i < intake->inspected_count; i++)
        if (!strcmp(intake->inspected[i].executable, executable))
            return intake->inspected[i].has;
    struct pl_intake_inspected *more =
        pl_say_memory(realloc(intake->inspected, (intake->inspected_count + 1) * sizeof *more));
    intake->inspected = more;
    more += intake->inspected_count++;
    *more = (struct pl_intake_inspected){pl_say_print("%s", executable), pl_target_has_allocator(executable)};
    return more->has;
}

/* The runtime says so if an allocator that is linked in is exported, and hooks it if it finds all of its functions. The
 * file shows one that it has not hooked. */
static bool is_unseen(struct pl_intake *intake, const struct pl_profile *profile)
{
    if (*profile->bypass[PL_BYPASS_MALLOC] || *profile->bypass[PL_BYPASS_LINKED] ||
        profile->header.flags & PL_FLAG_LINKED)
        return false;
    return has_allocator(intake, profile->executable);
}

static int open_complete(struct pl_intake *intake, const char *path, struct pl_profile **profile,
                         char why[PL_WHY_BYTES])
{
    pl_lookout_store(intake->options.directory, path, intake->unlooked);
    for (enum pl_rss_kind kind = PL_RSS_PARTS; kind <= PL_RSS_SITES; kind++)
        if (!pl_rss_store(intake->options.directory, path, kind, why) && *why)
            pl_say("%s", why);
    int error = pl_profile_open(path, profile, why);
    if (error || !is_unseen(intake, *profile) || pl_annotate_linked(path, why))
        return error;
    pl_profile_close(*profile);
    return pl_profile_open(path, profile, why);
}

/* --- folding --- */

static bool is_main(const struct pl_intake *intake, const struct pl_profile *profile)
{
    return profile->header.pid == (uint32_t) intake->options.main_pid;
}

/* Nothing was recorded, and not because its malloc was not seen. */
static bool is_blank(const struct pl_profile *profile)
{
    return !profile->samples && profile->exact_calls <= 0 && !has_other_heaps(profile) &&
           !*profile->bypass[PL_BYPASS_MALLOC];
}

static void let_waiting_go(struct pl_intake *intake)
{
    pl_fold_save(&intake->fold);
    for (size_t i = 0; i < intake->waiting_count; i++) {
        unlink(intake->waiting[i]);
        free(intake->waiting[i]);
    }
    intake->waiting_count = 0;
    intake->waiting_bytes = 0;
}

static void fold(struct pl_intake *intake, struct pl_profile *profile, const char *path)
{
    struct stat status;
    intake->processes += profile->header.end != PL_END_EXEC;
    pl_fold_add(&intake->fold, profile);
    intake->waiting = pl_say_memory(realloc(intake->waiting, (intake->waiting_count + 1) * sizeof *intake->waiting));
    intake->waiting[intake->waiting_count++] = pl_say_print("%s", path);
    intake->waiting_bytes += stat(path, &status) ? 0 : (uint64_t) status.st_blocks * 512u;
    if (intake->waiting_count >= PL_INTAKE_WAITING || intake->waiting_bytes >= PL_INTAKE_BYTES)
        let_waiting_go(intake);
}

static void drop(struct pl_intake *intake, struct pl_profile *profile, const char *path)
{
    unlink(path);
    intake->processes += profile->header.end != PL_END_EXEC;
    intake->dropped += profile->header.end != PL_END_EXEC;
    pl_profile_close(profile);
}

static void free_leaving(struct pl_leaving *leaving)
{
    pl_intake_forget(leaving);
    free(leaving->path);
    free(leaving->destination);
}

static bool is_of_main(const struct pl_intake *intake, const struct pl_leaving *leaving)
{
    return leaving->about.pid == (uint32_t) intake->options.main_pid;
}

/* Folds those that were kept so far. While the program runs, those of the process that we started stay. */
static void fold_kept(struct pl_intake *intake, const struct pl_leaving *except)
{
    size_t kept = 0;
    for (size_t i = 0; i < intake->count; i++) {
        struct pl_leaving *each = &intake->leaving[i];
        struct pl_profile *profile;
        char why[PL_WHY_BYTES];
        bool stays = except ? each == except : is_of_main(intake, each);
        if (stays || pl_profile_open(each->path, &profile, why)) {
            intake->leaving[kept++] = *each;
            continue;
        }
        profile->running = false;
        fold(intake, profile, each->path);
        free(each->about.executable);
        free_leaving(each);
    }
    intake->count = kept;
}

/* --- taking in --- */

/* Keeps the profile for the names that are looked up later, but never two of them: they may be large. */
static void keep(struct pl_intake *intake, struct pl_profile *profile, const char *path)
{
    size_t few = PL_INTAKE_FEW;
    if (intake->count)
        pl_intake_forget(&intake->leaving[intake->count - 1]);
    struct pl_leaving leaving = {.profile = profile, .path = pl_say_print("%s", path)};
    pl_intake_describe(profile, &leaving);
    memcpy(leaving.about.unlooked, intake->unlooked, sizeof leaving.about.unlooked);
    intake->leaving = pl_say_memory(realloc(intake->leaving, (intake->count + 1) * sizeof *intake->leaving));
    intake->leaving[intake->count++] = leaving;
    for (size_t i = 0; i < intake->count; i++)
        few += is_of_main(intake, &intake->leaving[i]);
    if (intake->options.keep_all || intake->count <= few)
        return;
    intake->folding = true;
    fold_kept(intake, NULL);
}

static void remove_unwanted(struct pl_intake *intake, struct pl_profile *profile, const char *path)
{
    unlink(path);
    intake->processes += profile->header.end != PL_END_EXEC;
    if (!intake->unwanted++) {
        snprintf(intake->unwanted_comm, sizeof intake->unwanted_comm, "%s", profile->comm);
        intake->unwanted_pid = profile->header.pid;
    }
    pl_profile_close(profile);
}

/* What becomes of the profile of a process that has ended. Each takes over the profile. */
static void (*fate(const struct pl_intake *intake, const struct pl_profile *profile))(struct pl_intake *,
                                                                                      struct pl_profile *, const char *)
{
    if (profile->header.flags & PL_FLAG_NO_OUTPUT)
        return remove_unwanted;
    if (is_main(intake, profile) || intake->options.keep_all)
        return keep;
    if (is_blank(profile))
        return drop;
    return intake->folding ? fold : keep;
}

static void take_in(struct pl_intake *intake, const char *path)
{
    struct pl_profile *profile;
    char why[PL_WHY_BYTES];
    int error = open_complete(intake, path, &profile, why);
    if (error == -ENOENT)
        return; /* its process was just ending, and has moved it itself */
    if (error) {
        pl_say("%s", why);
        intake->failed++;
        return;
    }
    profile->running = false; /* /proc may still have it */
    fate(intake, profile)(intake, profile, path);
}

/* Moves a snapshot that a program took of itself, and that is here because the process had no other destination. It is
 * not counted as a profile of the run. */
static bool move_snapshot(struct pl_intake *intake, const char *path)
{
    struct pl_header header;
    if (!pl_proc_header(path, &header) || !(header.flags & PL_FLAG_SNAPSHOT))
        return false;
    char *moved = pl_move(path, strrchr(path, '/') + 1, intake->taken);
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

/* Is it a file for us? Not the sums. */
static bool is_ours(const char *name)
{
    return pl_files_is_profile(name) && strncmp(name, PL_FOLD_PREFIX, strlen(PL_FOLD_PREFIX)) != 0;
}

/* Has it been taken in already, and is only still here? */
static bool is_known(const struct pl_intake *intake, const char *path)
{
    for (size_t i = 0; i < intake->waiting_count; i++)
        if (!strcmp(intake->waiting[i], path))
            return true;
    for (size_t i = 0; i < intake->count; i++)
        if (!strcmp(intake->leaving[i].path, path))
            return true;
    return false;
}

/* Counts the profiles of running processes and, with `take`, takes in the others. True: one of the processes is ending.
 */
static bool look_around(struct pl_intake *intake, bool take)
{
    struct pl_proc_table table = {0};
    DIR *directory = opendir(intake->options.directory);
    bool ending = false;
    intake->running = 0;
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        if (!is_ours(entry->d_name))
            continue;
        char *entry_path = pl_say_print("%s/%s", intake->options.directory, entry->d_name);
        char *path = follow(pl_say_print("%s", entry_path));
        bool known = is_known(intake, path), alive = !known && is_alive(&table, path, &ending);
        intake->running += alive;
        if (take && !alive && !known && !move_snapshot(intake, path))
            take_in(intake, path);
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

/* --- the thread --- */

struct pl_intake_thread {
    pthread_t thread;
    int events; /* of the directory; -1: none, look around instead */
    int end;
    struct closed {
        char *name;
        unsigned tries;
    } * closed; /* files that were closed, and not taken in yet */
    size_t count;
};

static void add_closed(struct pl_intake_thread *thread, const char *name)
{
    for (size_t i = 0; i < thread->count; i++) {
        if (strcmp(thread->closed[i].name, name) == 0) {
            thread->closed[i].tries = 0;
            return;
        }
    }
    thread->closed = pl_say_memory(realloc(thread->closed, (thread->count + 1) * sizeof *thread->closed));
    thread->closed[thread->count++] = (struct closed){.name = pl_say_print("%s", name)};
}

/* True: it needs no further look. */
static bool look_at(struct pl_intake *intake, const char *name)
{
    struct pl_header header;
    char *path = pl_say_print("%s/%s", intake->options.directory, name);
    bool profile = pl_proc_header(path, &header) && !(header.flags & PL_FLAG_SNAPSHOT) && !is_known(intake, path);
    bool ended = profile && !pl_profile_process_runs(&header) && pl_proc_unwritten(path);
    if (ended)
        take_in(intake, path);
    free(path);
    return !profile || ended;
}

static void look_at_closed(struct pl_intake *intake)
{
    struct pl_intake_thread *thread = intake->thread;
    size_t left = 0;
    for (size_t i = 0; i < thread->count; i++) {
        struct closed *each = &thread->closed[i];
        if (look_at(intake, each->name) || ++each->tries == CLOSED_TRIES)
            free(each->name);
        else
            thread->closed[left++] = *each;
    }
    thread->count = left;
}

/* Every file may have been closed: events were lost, or never come. */
static void add_all_closed(struct pl_intake *intake)
{
    DIR *directory = opendir(intake->options.directory);
    for (struct dirent *entry; directory && (entry = readdir(directory));)
        if (is_ours(entry->d_name))
            add_closed(intake->thread, entry->d_name);
    if (directory)
        closedir(directory);
}

static void read_events(struct pl_intake *intake)
{
    _Alignas(struct inotify_event) char buffer[64 * (sizeof(struct inotify_event) + NAME_MAX + 1)];
    ssize_t bytes = read(intake->thread->events, buffer, sizeof buffer);
    for (ssize_t at = 0; at < bytes;) {
        const struct inotify_event *event = (const struct inotify_event *) (buffer + at);
        if (event->mask & IN_Q_OVERFLOW)
            add_all_closed(intake);
        else if (event->len && is_ours(event->name))
            add_closed(intake->thread, event->name);
        at += (ssize_t) (sizeof *event + event->len);
    }
}

static int patience_ms(const struct pl_intake *intake)
{
    if (intake->thread->count)
        return CLOSED_WAIT_MS;
    return intake->waiting_count || intake->thread->events < 0 ? LINGER_MS : -1;
}

static void *live(void *context)
{
    struct pl_intake *intake = context;
    struct pl_intake_thread *thread = intake->thread;
    struct pollfd polled[] = {{.fd = thread->end, .events = POLLIN}, {.fd = thread->events, .events = POLLIN}};
    for (;;) {
        int ready = poll(polled, 2, patience_ms(intake));
        if (polled[0].revents)
            return NULL;
        if (polled[1].revents & POLLIN)
            read_events(intake);
        else if (thread->events < 0)
            add_all_closed(intake);
        if (!ready && !thread->count)
            let_waiting_go(intake);
        look_at_closed(intake);
    }
}

static int watch(const char *directory)
{
    int events = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (events < 0 || inotify_add_watch(events, directory, IN_CLOSE_WRITE) >= 0)
        return events;
    close(events);
    return -1;
}

static void free_thread(struct pl_intake_thread *thread)
{
    for (size_t i = 0; i < thread->count; i++)
        free(thread->closed[i].name);
    free(thread->closed);
    if (thread->events >= 0)
        close(thread->events);
    close(thread->end);
    free(thread);
}

static void start_thread(struct pl_intake *intake)
{
    struct pl_intake_thread *thread = pl_say_memory(calloc(1, sizeof *thread));
    thread->end = eventfd(0, EFD_CLOEXEC);
    thread->events = pl_proc_counts_writers(intake->options.directory) ? watch(intake->options.directory) : -1;
    intake->thread = thread;
    if (thread->end >= 0 && !pthread_create(&thread->thread, NULL, live, intake))
        return;
    intake->thread = NULL;
    free_thread(thread);
}

static void end_thread(struct pl_intake *intake)
{
    struct pl_intake_thread *thread = intake->thread;
    if (!thread)
        return;
    eventfd_write(thread->end, 1);
    pthread_join(thread->thread, NULL);
    intake->thread = NULL;
    free_thread(thread);
}

/* --- from start to end --- */

struct pl_intake *pl_intake_start(const struct pl_intake_options *options)
{
    struct pl_intake *intake = pl_say_memory(calloc(1, sizeof *intake));
    intake->options = *options;
    intake->fold.directory = options->directory;
    start_thread(intake);
    return intake;
}

static void disown(const char *directory)
{
    char *path = pl_say_print("%s/" PL_COLLECT_OWNER, directory);
    unlink(path);
    free(path);
}

/* The process that we started may have executed other programs: the last one is the one that the user means. */
struct pl_leaving *pl_intake_main(const struct pl_intake *intake)
{
    struct pl_leaving *last = NULL;
    for (size_t i = 0; i < intake->count; i++) {
        struct pl_leaving *each = &intake->leaving[i];
        if (!each->folded && is_of_main(intake, each) && (!last || each->start_ns > last->start_ns))
            last = each;
    }
    return last;
}

static void add_sums(struct pl_intake *intake)
{
    for (size_t i = 0; i < intake->fold.count; i++) {
        struct pl_fold_program *program = &intake->fold.program[i];
        struct pl_leaving leaving = {.folded = program, .path = pl_say_print("%s", program->path)};
        pl_intake_describe(pl_sum_total(&program->sum), &leaving);
        free(leaving.destination);
        leaving.destination = pl_say_print("%s", program->destination);
        leaving.start_ns = program->first_ns;
        leaving.about.processes = program->processes;
        leaving.about.peak_largest = program->peak_largest;
        memcpy(leaving.about.comm, program->name, sizeof program->name);
        intake->leaving = pl_say_memory(realloc(intake->leaving, (intake->count + 1) * sizeof *intake->leaving));
        intake->leaving[intake->count++] = leaving;
    }
}

void pl_intake_end(struct pl_intake *intake)
{
    end_thread(intake);
    disown(intake->options.directory);
    for (int i = 0; i < ENDING_TRIES && look_around(intake, false); i++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    look_around(intake, true);
    if (intake->folding && pl_intake_main(intake))
        fold_kept(intake, pl_intake_main(intake));
    let_waiting_go(intake);
    add_sums(intake);
}

void pl_intake_free(struct pl_intake *intake)
{
    for (size_t i = 0; i < intake->count; i++)
        free_leaving(&intake->leaving[i]);
    free(intake->leaving);
    pl_fold_free(&intake->fold);
    for (size_t i = 0; i < intake->inspected_count; i++)
        free(intake->inspected[i].executable);
    free(intake->inspected);
    free(intake->waiting);
    free(intake);
}
