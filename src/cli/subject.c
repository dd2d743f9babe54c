/* SPDX-License-Identifier: MIT */
/*
 * subject.c - opens the FILE, DIRECTORY or PID that the user gave on the command line, as a profile with symbols.
 *
 * A number is a PID unless there is a file of that name. For a running process, the profile is the live file that the
 * process writes, and its binaries are looked up in the mount namespace of the process.
 */
#include "cli/subject.h"

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
#include "cli/files.h"
#include "cli/proc.h"
#include "cli/run/glibc.h"
#include "cli/run/summary.h"
#include "cli/sum.h"
#include "cli/term.h"
#include "format/settings.h"

/* --- which file --- */

static bool is_later(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

char *pl_subject_newest(void)
{
    DIR *directory = opendir(".");
    char *newest = NULL;
    struct timespec when = {0};
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        struct stat status;
        struct pl_header header;
        if (!strstr(entry->d_name, PL_SUFFIX) || stat(entry->d_name, &status) || !is_later(&status.st_mtim, &when) ||
            !pl_proc_header(entry->d_name, &header))
            continue;
        free(newest);
        newest = pl_say_print("%s", entry->d_name);
        when = status.st_mtim;
    }
    if (directory)
        closedir(directory);
    return newest;
}

static enum pl_exit refuse_none(const char *command)
{
    char *newest = pl_subject_newest();
    if (newest) {
        char *typed = pl_summary_typed(newest);
        pl_say("%s needs a FILE or a PID; the newest profile here: %s %s %s", command, pl_say_self(), command, typed);
        free(typed);
    } else {
        pl_say("%s needs a FILE or a PID; `%s ls` lists running processes, `%s run -- PROGRAM` makes a file", command,
               pl_say_self(), pl_say_self());
    }
    free(newest);
    return PL_EXIT_USAGE;
}

pid_t pl_subject_pid(const char *word)
{
    bool number = *word && strlen(word) < 10 && word[strspn(word, "0123456789")] == 0 && access(word, F_OK);
    return number ? (pid_t) atoi(word) : -1;
}

static bool exists(pid_t pid)
{
    return !kill(pid, 0) || errno != ESRCH;
}

/* Only opening tells: the file's mode lets everybody read it, the kernel does not. Sets errno if it cannot be read. */
static bool can_read_maps(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static bool is_foreign(pid_t pid)
{
    struct stat status;
    char path[64];
    snprintf(path, sizeof path, "/proc/%d", pid);
    return geteuid() != 0 && stat(path, &status) == 0 && status.st_uid != geteuid();
}

/* "redis-server"; "" if unknown. */
static void read_comm(pid_t pid, char *comm, size_t bytes)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    FILE *file = fopen(path, "re");
    size_t got = file ? fread(comm, 1, bytes - 1, file) : 0;
    comm[got] = 0;
    comm[strcspn(comm, "\n")] = 0;
    if (file)
        fclose(file);
}

/* The kernel reuses PIDs. The profile that an earlier process left is offered, but never shown as this one's. */
static enum pl_exit refuse_pid(pid_t pid, const char *left)
{
    char comm[32];
    if (!exists(pid))
        return pl_say_failure("there is no process %d, and it left no profile; `%s ls` lists processes and profiles",
                              pid, pl_say_self());
    if (!can_read_maps(pid))
        return is_foreign(pid) ? pl_say_failure("process %d belongs to another user; try as that user, or as root", pid)
                               : pl_say_failure("cannot read process %d: %m", pid);
    if (left)
        return pl_say_failure(
            "process %d is not being profiled; an earlier process with that PID left a profile: %s report "
            "%s",
            pid, pl_say_self(), left);
    char *unreadable = pl_proc_unreadable(pid);
    if (unreadable) {
        enum pl_exit status =
            pl_say_failure("process %d is being profiled, but its profile belongs to another user, and "
                           "cannot be read: %s; root needs CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH",
                           pid, unreadable);
        free(unreadable);
        return status;
    }
    read_comm(pid, comm, sizeof comm);
    return pl_say_failure(
        "process %d (%s) was started without Plimsoll, so its heap cannot be seen; `%s attach %d` profiles it from now "
        "on, `%s run -- PROGRAM` from its start; `%s ls` lists the processes that are being profiled",
        pid, *comm ? comm : "unknown", pl_say_self(), pid, pl_say_self(), pl_say_self());
}

static enum pl_exit refuse_file(const char *path, int error, const char *why)
{
    if (error == -ENOENT)
        return pl_say_failure("there is no file %s; `%s ls` lists running processes and the profiles they left", path,
                              pl_say_self());
    return pl_say_failure("%s", why);
}

/* --- symbols --- */

static bool has_names(const struct pl_profile *profile, uint32_t module)
{
    for (uint32_t i = 0; i < profile->frames; i++) {
        const struct pl_frame_view *frame = &profile->frame[i];
        if (frame->module == module && frame->places && (*frame->place->function || *frame->place->file))
            return true;
    }
    return false;
}

static bool has_frames(const struct pl_profile *profile, uint32_t module)
{
    for (uint32_t i = 0; i < profile->frames; i++)
        if (profile->frame[i].module == module)
            return true;
    return false;
}

/* More than half of its frames have no name: it is stripped, and no debug file was found. */
static bool is_stripped(const struct pl_profile *profile, uint32_t module)
{
    uint32_t frames = 0, named = 0;
    for (uint32_t i = 0; i < profile->frames; i++) {
        const struct pl_frame_view *frame = &profile->frame[i];
        frames += frame->module == module;
        named += frame->module == module && frame->places && *frame->place->function;
    }
    return named < frames - named;
}

/* Files that `run --glibc-tree` may have replaced while the program ran: see enclose.c. */
static bool is_replaceable(const char *path)
{
    const char *name = basename(path);
    return !strcmp(name, "libc.so.6") || !strncmp(name, "ld-linux", strlen("ld-linux"));
}

static void warn_replaced(const struct pl_module_view *module, bool force)
{
    pl_say("%s is not the file that ran: it was replaced since, or `run --glibc-tree` used another in its place "
           "(PLIMSOLL_GLIBC=DIRECTORY says where); %s",
           module->path, force ? "names may be wrong" : "its names are left out");
}

static void warn_stale(const struct pl_module_view *module, const struct pl_module_status *status, bool force)
{
    const char *advice = force ? "names may be wrong" : "its names are left out; --force uses the new file anyway";
    if (*module->build_id && *status->now)
        pl_say("%s was rebuilt since this profile was made (build-id %.4s… now %.4s…); %s", module->path,
               module->build_id, status->now, advice);
    else
        pl_say("%s was rebuilt since this profile was made; %s", module->path, advice);
}

#define MISSING_SAID 3

/* If the profile already contains the names, the binary is not needed. */
static bool is_gone(const struct pl_profile *profile, uint32_t i, const struct pl_module_status *status)
{
    return status->state == PL_MODULE_MISSING && !has_names(profile, i) && has_frames(profile, i);
}

static void warn_module(const struct pl_profile *profile, uint32_t i, const struct pl_module_status *status, bool force)
{
    const struct pl_module_view *module = &profile->module[i];
    bool stale = status->state == PL_MODULE_STALE && (force || !has_names(profile, i)) && has_frames(profile, i);
    if (stale && is_replaceable(module->path))
        warn_replaced(module, force);
    else if (stale)
        warn_stale(module, status, force);
    else if (is_gone(profile, i, status))
        pl_say("%s no longer exists, so its functions have no names", module->path);
    else if (status->state == PL_MODULE_OK && !strcmp(module->path, profile->executable) && is_stripped(profile, i))
        pl_say("%s is stripped, so its functions show as addresses; install its debug symbols or set DEBUGINFOD_URLS",
               module->path);
}

/* On another machine every library may be missing. The executable is the first module, so its warning comes first. */
static void warn_modules(const struct pl_profile *profile, const struct pl_module_status *status, bool force)
{
    uint32_t missing = 0;
    for (uint32_t i = 0; i < profile->modules; i++) {
        bool gone = is_gone(profile, i, &status[i]);
        missing += gone;
        if (!gone || missing <= MISSING_SAID)
            warn_module(profile, i, &status[i], force);
    }
    if (missing > MISSING_SAID)
        pl_say("and %u more; `%s run` stores names in the profile by default", missing - MISSING_SAID, pl_say_self());
}

static void look_up(struct pl_profile *profile, const struct pl_subject_options *options, const char *root)
{
    struct pl_module_status *status = pl_say_memory(calloc(profile->modules + 1u, sizeof *status));
    struct pl_symbolize_options how = {
        .force = options->force,
        .sysroot = options->sysroot ? options->sysroot : root,
        .sysroot_or_here = options->sysroot != NULL,
        .beside = pl_glibc_libraries(),
        .cache = pl_cache_symbols(),
        .progress = options->again ? NULL : pl_term_progress,
        .context = "plimsoll: reading symbols",
    };
    int error = pl_symbolize(profile, &how, status);
    if (!options->again)
        pl_term_progress(how.context, 1);
    if (error && !options->again)
        pl_say("cannot read symbols: %s", strerror(-error));
    if (!error && !options->again)
        warn_modules(profile, status, options->force);
    free(status);
}

static void symbolize(struct pl_profile *profile, const struct pl_subject_options *options, const char *root)
{
    if (options->known && pl_namecache_apply(options->known, profile))
        return;
    look_up(profile, options, root);
    if (options->known)
        pl_namecache_learn(options->known, profile);
}

/* --- open and symbolize --- */

static int open_profile(const struct pl_subject_options *options, const char *path, struct pl_profile **out, char *why)
{
    if (!options->again)
        pl_term_busy("plimsoll: reading the profile");
    int error = pl_profile_open(path, out, why);
    if (!options->again)
        pl_term_busy(NULL);
    return error;
}

static enum pl_exit open_file(const struct pl_subject_options *options, const char *path, struct pl_profile **out)
{
    char why[PL_WHY_BYTES] = "";
    int error = open_profile(options, path, out, why);
    return error ? refuse_file(path, error, why) : PL_EXIT_OK;
}

enum pl_exit pl_subject_read(const struct pl_subject_options *options, const char *path, const char *root,
                             struct pl_profile **out)
{
    struct pl_simplify *rules = NULL;
    if (options->sysroot && !pl_files_is_directory(options->sysroot))
        return pl_say_failure("cannot look for binaries below %s: it is not a directory", options->sysroot);
    enum pl_exit status = options->no_symbols ? PL_EXIT_OK : pl_names_read(&options->names, &rules);
    if (status != PL_EXIT_OK)
        return status;
    status = pl_files_is_directory(path) ? pl_sum_directory(path, out) : open_file(options, path, out);
    if (status != PL_EXIT_OK) {
        pl_names_forget(rules);
        return status;
    }
    if (!options->no_symbols)
        symbolize(*out, options, root);
    if (!options->no_symbols)
        pl_languages_choose(*out, options->languages);
    pl_names_apply(&options->names, rules, *out);
    return PL_EXIT_OK;
}

static enum pl_exit open_left(const struct pl_subject_options *options, pid_t pid, struct pl_profile **out)
{
    char *left = pl_proc_left_by(pid);
    enum pl_exit status = left && !exists(pid) ? pl_subject_read(options, left, NULL, out) : refuse_pid(pid, left);
    free(left);
    return status;
}

static enum pl_exit open_pid(const struct pl_subject_options *options, pid_t pid, struct pl_profile **out)
{
    char *path = pl_proc_profile(pid);
    if (!path)
        return open_left(options, pid, out);
    char *root = pl_proc_root(pid);
    enum pl_exit status = pl_subject_read(options, path, root, out);
    free(root);
    free(path);
    return status;
}

enum pl_exit pl_subject_check(const char *command, int argc, char **argv)
{
    if (!argc)
        return refuse_none(command);
    if (argc > 1)
        return pl_say_usage("%s takes one FILE or PID; got %s and %s", command, argv[0], argv[1]);
    return PL_EXIT_OK;
}

enum pl_exit pl_subject_open(const struct pl_subject_options *options, int argc, char **argv, struct pl_profile **out)
{
    enum pl_exit status = pl_subject_check(options->command, argc, argv);
    if (status != PL_EXIT_OK)
        return status;
    pid_t pid = pl_subject_pid(argv[0]);
    if (pid >= 0)
        return open_pid(options, pid, out);
    return pl_subject_read(options, argv[0], NULL, out);
}

enum pl_exit pl_subject_live(pid_t pid, char **path)
{
    *path = pl_proc_profile(pid);
    if (*path)
        return PL_EXIT_OK;
    char *left = pl_proc_left_by(pid);
    enum pl_exit status =
        left && !exists(pid)
            ? pl_say_failure("process %d has ended; its profile can be read: %s report %s", pid, pl_say_self(), left)
            : refuse_pid(pid, left);
    free(left);
    return status;
}

/*
 * --- snapshots ---
 *
 * Names and numbers are part of file names: `app.warm.plim` beside `app.plim`. The header says which process it was.
 */

/* Is the name between two dots after the stem: `stem.NAME.plim`, `stem.PID.NAME.plim`, or `stem.NAME.0002.plim` of a
 * second one? */
static bool has_name(const char *file, const char *stem, const char *name)
{
    size_t bytes = strlen(stem);
    if (strncmp(file, stem, bytes) || file[bytes] != '.')
        return false;
    char *rest = pl_files_stem(file + bytes), *wanted = pl_say_print(".%s.", name), *padded = pl_say_print("%s.", rest);
    bool found = strstr(padded, wanted);
    free(padded);
    free(wanted);
    free(rest);
    return found;
}

static bool of_same_process(const struct pl_header *a, const struct pl_header *b)
{
    return a->pid == b->pid && a->start_realtime_ns == b->start_realtime_ns;
}

/* The latest snapshot with this name; NULL: there is none. The caller frees it. */
static char *find_beside(const char *path, const struct pl_header *whose, const char *name)
{
    char *directory = pl_say_print("%.*s", (int) (basename(path) - path), path), *stem = pl_files_stem(basename(path));
    DIR *list = opendir(*directory ? directory : ".");
    char *found = NULL;
    uint64_t found_ns = 0;
    for (struct dirent *entry; list && (entry = readdir(list));) {
        struct pl_header header;
        if (!has_name(entry->d_name, stem, name))
            continue;
        char *candidate = pl_say_print("%s%s", directory, entry->d_name);
        bool better = pl_proc_header(candidate, &header) && header.flags & PL_FLAG_SNAPSHOT &&
                      of_same_process(&header, whose) && (!found || header.snapshot_ns > found_ns);
        free(better ? found : candidate);
        found = better ? candidate : found;
        found_ns = better ? header.snapshot_ns : found_ns;
    }
    if (list)
        closedir(list);
    free(stem);
    free(directory);
    return found;
}

/* "3" becomes "0003". */
static char *as_in_names(const char *typed)
{
    bool number = *typed && strspn(typed, "0123456789") == strlen(typed) && strlen(typed) < 10;
    return number ? pl_say_print("%04d", atoi(typed)) : pl_say_print("%s", typed);
}

static void say_none(const char *name, const char *path)
{
    char *stem = pl_files_stem(path);
    pl_say_usage("--snapshot %s: no snapshot with that name beside %s; see `ls %s.*%s`", name, path, stem, PL_SUFFIX);
    free(stem);
}

char *pl_subject_snapshot(const char *typed, const char *snapshot)
{
    struct pl_header header;
    if (!snapshot)
        return pl_say_print("%s", typed);
    if (!pl_proc_header(typed, &header)) {
        pl_say_usage("--snapshot %s: %s is not a profile; give the profile that the process wrote, or the snapshot "
                     "itself",
                     snapshot, typed);
        return NULL;
    }
    char *name = as_in_names(snapshot), *found = find_beside(typed, &header, name);
    if (!found)
        say_none(snapshot, typed);
    free(name);
    return found;
}
