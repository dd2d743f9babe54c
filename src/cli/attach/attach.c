/* SPDX-License-Identifier: MIT */
/*
 * attach.c - the attach and detach commands: profile a process that is running already, and leave it again.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analysis/figure.h"
#include "attach/attach.h"
#include "attach/obstacles.h"
#include "cli/attach/handover.h"
#include "cli/files.h"
#include "cli/option.h"
#include "cli/proc.h"
#include "cli/run/collect.h"
#include "cli/run/library.h"
#include "cli/run/output.h"
#include "cli/run/summary.h"
#include "cli/setting.h"
#include "format/desk.h"

#define PID_DIGITS_MAX 9
#define WAIT_NS 5000000000ull
#define WAIT_MAX_NS (3600ull * 1000000000ull)
#define COMM_MAX 15u /* characters of a name that the kernel keeps */
#define FOR_MIN_NS 1000000ull
#define FOR_MAX_NS (366ull * 86400u * 1000000000ull)

static struct {
    const char *setting[PL_SETTING_COUNT]; /* NULL: not given */
    bool exact;
    bool no_symbols;
    bool quiet;
    uint64_t for_ns, wait_ns;
    const char *for_text;
} given = {.wait_ns = WAIT_NS};

/* clang-format off */
#define FOR_OPTION                                                                                                     \
    {.name = "for", .takes = "TIME", .fallback = "until `plimsoll detach`",                                            \
     .help = "profile for TIME (500ms, 30s, 5m), then detach and print a summary",                                     \
     .type = &pl_type_time, .into = &given.for_ns, .raw = &given.for_text, .min = FOR_MIN_NS, .max = FOR_MAX_NS,       \
     .example = "30s"}
#define WAIT_OPTION                                                                                                    \
    {.name = "wait", .takes = "TIME", .fallback = "5s",                                                                \
     .help = "how long to wait for a safe moment before giving up",                                                    \
     .type = &pl_type_time, .into = &given.wait_ns, .min = FOR_MIN_NS, .max = WAIT_MAX_NS, .example = "5s"}
#define NO_SYMBOLS_OPTION                                                                                              \
    {.name = "no-symbols", .help = "do not store names; faster, but reading the profile then needs the program's files", \
     .type = &pl_type_flag, .into = &given.no_symbols}
#define QUIET_OPTION                                                                                                   \
    {.name = "quiet", .letter = 'q', .help = "print nothing unless something goes wrong",                              \
     .type = &pl_type_flag, .into = &given.quiet}

static const struct pl_option attach_options[] = {
    PL_SETTINGS(PL_SETTING_ROW) /* first, so that a setting is the index of its option */
    FOR_OPTION,
    WAIT_OPTION,
    {.name = "exact", .help = "count every allocation, whatever it costs; same as --sample exact",
     .type = &pl_type_flag, .into = &given.exact},
    NO_SYMBOLS_OPTION,
    QUIET_OPTION,
    {0},
};

static const struct pl_option detach_options[] = {
    WAIT_OPTION,
    NO_SYMBOLS_OPTION,
    QUIET_OPTION,
    {0},
};
/* clang-format on */

/* --- the command line --- */

static enum pl_exit read_pid(const char *command, int argc, char **argv, pid_t *pid)
{
    if (!argc)
        return pl_say_usage("%s needs the PID of a process; ps or pgrep lists them", command);
    if (argc > 1)
        return pl_say_usage("%s takes one PID; got %s as well", command, argv[1]);
    if (!*argv[0] || argv[0][strspn(argv[0], "0123456789")] || strlen(argv[0]) > PID_DIGITS_MAX || atoi(argv[0]) <= 0)
        return pl_say_usage("%s %s: not a PID; use a number, as ps or pgrep prints it", command, argv[0]);
    *pid = (pid_t) atoi(argv[0]);
    return PL_EXIT_OK;
}

/* --- settings --- */

/* Not if it sees other files than we do, as its profile may go to a directory of its own. */
static void check_output(const char *absolute)
{
    char *directory = pl_output_directory(absolute);
    pl_output_check(directory, "the profile will stay in the live directory");
    free(directory);
}

static void add_setting(char *list, size_t *bytes, const char *variable, const char *value)
{
    size_t room = PL_DESK_SETTINGS_BYTES - 1 - *bytes;
    size_t need = strlen(variable) + strlen(value) + 2;
    if (need > room)
        return;
    snprintf(list + *bytes, room, "%s=%s", variable, value);
    *bytes += need;
}

/* Programs that the process starts find the library where we do, unless they have a file system of their own. */
static void add_library(char *list, size_t *bytes)
{
    char *library = pl_library_find(false);
    if (library)
        add_setting(list, bytes, "LD_PRELOAD", library);
    free(library);
}

/* NAME=VALUE, each with a zero behind it. The runtime reads it like an environment. LD_PRELOAD comes first. */
static size_t write_settings(char *list, pid_t pid, bool same_files)
{
    size_t bytes = 0;
    if (same_files)
        add_library(list, &bytes);
    char *out = pl_output_absolute(given.setting[PL_SETTING_OUT] ? given.setting[PL_SETTING_OUT] : PL_OUT_DEFAULT);
    if (same_files)
        check_output(out);
    for (int i = 0; i < PL_SETTING_COUNT; i++) {
        pl_setting_export_number((enum pl_setting) i, &attach_options[i], given.setting[i]);
        const char *value = getenv(attach_options[i].variable);
        if (i != PL_SETTING_OUT && i != PL_SETTING_RUN && value && given.setting[i])
            add_setting(list, &bytes, attach_options[i].variable, value);
    }
    add_setting(list, &bytes, attach_options[PL_SETTING_OUT].variable, out);
    char *runtime = pl_obstacles_environment(pid, "XDG_RUNTIME_DIR");
    if (runtime && *runtime)
        add_setting(list, &bytes, "XDG_RUNTIME_DIR", runtime);
    free(runtime);
    free(out);
    list[bytes++] = 0;
    return bytes;
}

/* The first process has to be one of those that --only names: its children are followed from there. */
static bool is_left_out(pid_t pid, char *comm, size_t bytes)
{
    const char *only = given.setting[PL_SETTING_ONLY];
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    FILE *file = only ? fopen(path, "re") : NULL;
    if (!file)
        return false;
    comm[fread(comm, 1, bytes - 1, file)] = 0;
    comm[strcspn(comm, "\n")] = 0;
    fclose(file);
    for (const char *at = only; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        size_t length = strcspn(at, ",") < COMM_MAX ? strcspn(at, ",") : COMM_MAX;
        if (strlen(comm) == length && !strncmp(at, comm, length))
            return false;
    }
    return true;
}

/* --- messages --- */

static enum pl_exit refuse(const char *what, pid_t pid, const char *problem)
{
    return pl_say_failure("cannot %s process %d: %s", what, pid, problem);
}

static void say_still(const char *done, pid_t pid, const struct pl_attach_report *report)
{
    pl_say("%s process %d (%u thread%s); it stood still for %.1f ms", done, pid, report->threads,
           report->threads == 1 ? "" : "s", (double) report->still_ns / 1e6);
}

/* --- detaching --- */

/* Moves the profile to its destination, adds names, and says what is in it. */
static enum pl_exit keep_profile(pid_t pid, char *path)
{
    struct pl_collection collection;
    struct pl_collect_options options = {.main_pid = pid, .no_symbols = given.no_symbols};
    pl_collect_one(&options, path, &collection);
    struct pl_target target = {.way = PL_WAY_PRELOAD};
    if (collection.count && !given.quiet)
        pl_summary_say(&(struct pl_summary){.collection = &collection,
                                            .target = &target,
                                            .program = collection.profile[0].comm,
                                            .pattern = PL_OUT_DEFAULT,
                                            .live = "/dev/shm"});
    bool kept = collection.count && !collection.failed;
    pl_collect_free(&collection);
    return kept ? PL_EXIT_OK : PL_EXIT_FAILURE;
}

static enum pl_exit detach(pid_t pid)
{
    struct pl_attach_report report;
    char *live = pl_proc_profile(pid);
    if (!pl_detach(pid, given.wait_ns, &report)) {
        free(live);
        return refuse("detach from", pid, report.problem);
    }
    if (!given.quiet)
        say_still("detached from", pid, &report);
    enum pl_exit status = live ? keep_profile(pid, live) : PL_EXIT_OK;
    free(live);
    return status;
}

static int detach_main(int argc, char **argv)
{
    pid_t pid;
    char why[PL_OBSTACLES_BYTES];
    enum pl_exit status = read_pid("detach", argc, argv, &pid);
    if (status != PL_EXIT_OK)
        return status;
    if (pl_obstacles_to_detach(pid, why))
        return refuse("detach from", pid, why);
    return detach(pid);
}

/* --- attaching --- */

static enum pl_exit profile_for(pid_t pid)
{
    if (pl_proc_await(pid, given.for_ns))
        return detach(pid);
    pl_say("process %d has ended", pid);
    char *left = pl_proc_left_by(pid);
    enum pl_exit status = left ? keep_profile(pid, left) : PL_EXIT_OK;
    free(left);
    return status;
}

static void say_attached(pid_t pid, const struct pl_attach_report *report)
{
    say_still("attached to", pid, report);
    if (!given.for_text)
        pl_say("next: %s report %d, %s top %d; to end it: %s detach %d", pl_say_self(), pid, pl_say_self(), pid,
               pl_say_self(), pid);
}

static enum pl_exit attach(pid_t pid)
{
    char why[PL_OBSTACLES_BYTES];
    static char settings[PL_DESK_SETTINGS_BYTES];
    struct pl_attach_report report;
    char *library = pl_library_beside(PL_DESK_LIBRARY);
    if (!library)
        return pl_say_failure("cannot find " PL_DESK_LIBRARY " beside %s", pl_say_self());
    char comm[32];
    if (is_left_out(pid, comm, sizeof comm)) {
        free(library);
        return pl_say_usage("--only %s leaves process %d out, which is called %s", given.setting[PL_SETTING_ONLY], pid,
                            comm);
    }
    struct pl_handover handover;
    if (pl_obstacles_find(pid, why) || !pl_handover_make(&handover, pid, library, why)) {
        free(library);
        return refuse("attach to", pid, why);
    }
    struct pl_attach_options options = {
        .library = handover.path,
        .settings = settings,
        .settings_bytes = write_settings(settings, pid, handover.directory < 0),
        .wait_ns = given.wait_ns,
        .hold_interrupts = given.for_text, /* profile_for() takes Ctrl-C, however early it comes, and detaches */
    };
    bool attached = pl_attach(pid, &options, &report);
    pl_handover_end(&handover);
    free(library);
    if (!attached)
        return refuse("attach to", pid, report.problem);
    if (!given.quiet)
        say_attached(pid, &report);
    return given.for_text ? profile_for(pid) : PL_EXIT_OK;
}

static int attach_main(int argc, char **argv)
{
    pid_t pid;
    enum pl_exit status = read_pid("attach", argc, argv, &pid);
    if (status != PL_EXIT_OK)
        return status;
    if (given.exact && given.setting[PL_SETTING_SAMPLE] && strcmp(given.setting[PL_SETTING_SAMPLE], "exact"))
        return pl_say_usage("--exact and --sample %s contradict each other", given.setting[PL_SETTING_SAMPLE]);
    if (given.exact)
        given.setting[PL_SETTING_SAMPLE] = "exact";
    return attach(pid);
}

const struct pl_command pl_command_attach = {
    .name = "attach",
    .arguments = "PID",
    .summary = "profile a process that is running already",
    .details =
        "From now on process PID is profiled, as if it had been started by `plimsoll run`: `ls`, `report PID`, `view "
        "PID`, `top PID` and `snapshot PID` work, fork and exec are followed, and the profile survives kill -9. The "
        "command "
        "returns at once; with --for it waits, detaches and prints a summary.\n"
        "\n"
        "Blocks that were allocated before are not known. Their frees are not counted, and live figures are those of "
        "blocks allocated since. The report says so, and how large the heap was by then.\n"
        "\n"
        "The process stands still for a few milliseconds, in which its allocation functions are made to lead to the "
        "profiler; the command prints how long. It waits for a moment when a thread can load a library safely, and "
        "gives up after --wait. If it is killed at any instant, the process goes on, as it was or attached. You need "
        "the right to trace the process, like a debugger. See docs/attach.md for what it does, and when not to use it.",
    .examples = "plimsoll attach PID --for 30s\n"
                "plimsoll attach PID --exact --for 30s -o heap.plim\n"
                "plimsoll attach PID",
    .options = attach_options,
    .main = attach_main,
};

const struct pl_command pl_command_detach = {
    .name = "detach",
    .arguments = "PID",
    .summary = "stop profiling a process that attach has attached to; the process goes on",
    .details =
        "Takes every hook back: no call of the process goes through the profiler any more. The profile is moved to its "
        "destination, and a summary is printed. The library stays in the process's memory and does nothing. Attaching "
        "again works, and begins a new profile.",
    .examples = "plimsoll detach PID",
    .options = detach_options,
    .main = detach_main,
};
