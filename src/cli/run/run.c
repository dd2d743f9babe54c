/* SPDX-License-Identifier: MIT */
/*
 * run.c - the run command: runs a program with the profiler, otherwise as if it ran alone.
 *
 *   inspect it (target) ─ find the profiler (library, glibc) ─ make a directory for live profiles (collect) ─
 *   run it (launch) ─ move the profiles to their destinations (collect) ─ print a summary (summary)
 *
 * If profiling fails, the program runs all the same. It does not run if the command line is invalid, if the loader of
 * --glibc cannot load it, or if --glibc-tree cannot create its namespace.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/files.h"
#include "cli/option.h"
#include "cli/run/collect.h"
#include "cli/run/enclose.h"
#include "cli/run/glibc.h"
#include "cli/run/intake.h"
#include "cli/run/launch.h"
#include "cli/run/library.h"
#include "cli/run/output.h"
#include "cli/run/lookout.h"
#include "cli/run/rss.h"
#include "cli/run/oom.h"
#include "cli/run/place.h"
#include "cli/run/summary.h"
#include "cli/run/target.h"
#include "cli/setting.h"
#include "cli/snapshot/watch.h"

#define EXIT_NOT_EXECUTABLE 126
#define EXIT_NOT_FOUND 127

/* The runtime keeps paths in this many bytes, the terminator included. */
#define PATTERN_MAX 4096
#define ONLY_MAX 256
#define MS_NS 1000000ull
#define SNAPSHOT_EVERY_MIN_NS 10000000ull

static struct {
    const char *setting[PL_SETTING_COUNT]; /* the text from its option, else from the environment; NULL: not given */
    bool exact;
    bool keep_all;
    bool no_symbols;
    bool leaks;
    bool quiet;
    bool glibc, glibc_tree;
    const char *glibc_directory;
    bool sample_typed, out_typed; /* and not taken from the environment */
    uint64_t memory_every_ns, resident_every_ns;
    uint64_t snapshot_every_ns, snapshot_keep;
    const char *snapshot_keep_text;
} given;

/* clang-format off */
static const struct pl_option options[] = {
    PL_SETTINGS(PL_SETTING_ROW) /* first, so that a setting is the index of its option */
    {.name = "exact", .help = "count every allocation, whatever it costs; same as --sample exact",
     .type = &pl_type_flag, .into = &given.exact},
    {.name = "leaks", .help = "when a process ends, find the blocks that nothing points to any more",
     .type = &pl_type_flag, .into = &given.leaks},
    {.name = "memory", .takes = "TIME", .fallback = "never",
     .help = "store what RSS consists of, every TIME and when a process exits; report --memory shows it",
     .type = &pl_type_time, .into = &given.memory_every_ns, .min = PL_RSS_EVERY_MIN_NS,
     .max = PL_SNAPSHOT_EVERY_MAX_MS * MS_NS, .example = "10s"},
    {.name = "resident", .takes = "TIME", .fallback = "never",
     .help = "store how much of what each site holds is resident, every TIME and when a process exits; report --resident "
     "shows it",
     .type = &pl_type_time, .into = &given.resident_every_ns, .min = PL_RSS_EVERY_MIN_NS,
     .max = PL_SNAPSHOT_EVERY_MAX_MS * MS_NS, .example = "10s"},
    {.name = "keep-all", .help = "keep the profile of each process: do not add up those of one program, and keep empty ones",
     .type = &pl_type_flag, .into = &given.keep_all},
    {.name = "no-symbols", .help = "do not store names; faster, but reading the profile then needs the program's files",
     .type = &pl_type_flag, .into = &given.no_symbols},
    {.name = "snapshot-every", .takes = "TIME", .fallback = "never",
     .help = "take a snapshot of each process every TIME (500ms, 10s, 5m, 1h): app.0001.plim, app.0002.plim, ...",
     .type = &pl_type_time, .into = &given.snapshot_every_ns, .min = SNAPSHOT_EVERY_MIN_NS,
     .max = PL_SNAPSHOT_EVERY_MAX_MS * MS_NS, .example = "10s"},
    {.name = "snapshot-keep", .takes = "N", .fallback = "all",
     .help = "keep at most N snapshots per process; at the limit, remove every second one and double the interval",
     .type = &pl_type_count, .into = &given.snapshot_keep, .raw = &given.snapshot_keep_text, .min = 2},
    {.name = "glibc", .help = "use the glibc that `make glibc` builds, with the profiler inside malloc, instead of "
     "preloading; programs that PROGRAM starts are not profiled",
     .type = &pl_type_flag, .into = &given.glibc},
    {.name = "glibc-tree", .help = "like --glibc, and profile the programs that PROGRAM starts; needs a namespace",
     .type = &pl_type_flag, .into = &given.glibc_tree},
    {.name = "glibc-dir", .takes = "DIRECTORY", .fallback = "where it was built or installed",
     .variable = PL_GLIBC_VARIABLE, .help = "directory of the glibc for --glibc and --glibc-tree",
     .type = &pl_type_text, .raw = &given.glibc_directory},
    {.name = "quiet", .letter = 'q', .help = "print nothing unless something goes wrong",
     .type = &pl_type_flag, .into = &given.quiet},
    {0},
};
/* clang-format on */

/* --- the environment of the program --- */

struct preparation {
    const struct pl_target *target;
    char *library;                 /* PL_WAY_PRELOAD */
    struct pl_glibc glibc;         /* the other ways; empty if the program is linked with it */
    struct pl_enclosure enclosure; /* PL_WAY_TREE */
    const char *pattern;
    char *live;             /* directory of live profiles; NULL: there is none, run the program unprofiled */
    char *link;             /* PL_WAY_LOADER: what to execute, removed once it runs; NULL: the command itself */
    struct pl_watch *watch; /* NULL: no snapshots */
    struct pl_intake *intake;
    struct pl_oom oom;         /* before the program starts */
    struct pl_lookout lookout; /* --leaks, --memory */
    struct pl_rss *rss;        /* --memory; NULL: none */
    struct pl_rss *resident;   /* --resident; NULL: none */
};

/* OUT and RUN get paths that do not depend on the working directory of a process. */
static void export_settings(const struct preparation *preparation)
{
    for (int i = 0; i < PL_SETTING_COUNT; i++)
        pl_setting_export_number((enum pl_setting) i, &options[i], given.setting[i]);
    pl_setting_export(PL_SETTING_OUT, preparation->pattern);
    pl_setting_export(PL_SETTING_RUN, preparation->live);
}

static void set_preload(char *list)
{
    if (*list)
        setenv("LD_PRELOAD", list, 1);
    else
        unsetenv("LD_PRELOAD");
    free(list);
}

/* Only one profiler may be active, even if this process is being profiled itself: each of these two functions switches
 * the other profiler off. */
static void switch_preload_on(const char *library)
{
    set_preload(pl_library_preload(library, getenv("LD_PRELOAD")));
    pl_setting_export_glibc(PL_GLIBC_PROFILE, NULL);
}

/* AddressSanitizer works behind another library, but refuses to start there unless this option is set. */
static void allow_asan(void)
{
    static const char option[] = "verify_asan_link_order";
    const char *given_options = getenv("ASAN_OPTIONS");
    if (given_options && strstr(given_options, option))
        return;
    char *longer = pl_say_print("%s%s%s=0", given_options ? given_options : "",
                                given_options && *given_options ? ":" : "", option);
    setenv("ASAN_OPTIONS", longer, 1);
    free(longer);
}

/* The GLIBC_MALLOC_PROFILE_* variables take precedence over PLIMSOLL_* variables, but not over options: those that an
 * option sets are removed. */
static void switch_glibc_on(void)
{
    const char *preload = getenv("LD_PRELOAD");
    if (preload)
        set_preload(pl_library_unload(preload));
    pl_setting_export_glibc(PL_GLIBC_PROFILE, "1");
    if (given.sample_typed)
        pl_setting_export_glibc(PL_GLIBC_BYTES, NULL);
    if (given.out_typed)
        pl_setting_export_glibc(PL_GLIBC_OUT, NULL);
}

static void change_environment(const struct preparation *preparation)
{
    if (preparation->target->way == PL_WAY_PRELOAD)
        switch_preload_on(preparation->library);
    else
        switch_glibc_on();
    if (preparation->target->asan && preparation->target->way == PL_WAY_PRELOAD)
        allow_asan();
    export_settings(preparation);
}

/* The environment of the program. Ours stays as it is: setenv() changes a copy of it, which may move as it grows. */
static char **make_environment(const struct preparation *preparation)
{
    char **ours = environ;
    if (!preparation->live)
        return ours;
    environ = pl_program_join(ours, (char *[]){NULL});
    change_environment(preparation);
    char **theirs = environ;
    environ = ours;
    return theirs;
}

/* Runs in the child, before exec. */
static int enclose(void *context)
{
    const struct preparation *preparation = context;
    return pl_enclose_enter(&preparation->enclosure);
}

static const char *asked_pattern(void)
{
    const char *pattern = given.setting[PL_SETTING_OUT];
    return pattern ? pattern : PL_OUT_DEFAULT;
}

static void drop_link(struct preparation *preparation)
{
    pl_glibc_uncall(preparation->link);
    preparation->link = NULL;
}

static struct pl_intake *start_intake(const char *live, pid_t pid)
{
    return pl_intake_start(&(struct pl_intake_options){.directory = live, .main_pid = pid, .keep_all = given.keep_all});
}

/* Does each process get a name of its own? In a directory they have the default name. */
static bool is_spread(const char *pattern)
{
    return strchr(pattern, '%') || pattern[strlen(pattern) - 1] == '/' || pl_files_is_directory(pattern);
}

/* Runs in this process, once the program runs. */
static void started(void *context, pid_t pid)
{
    struct preparation *preparation = context;
    drop_link(preparation);
    if (preparation->live)
        preparation->intake = start_intake(preparation->live, pid);
    if (preparation->live && given.memory_every_ns) {
        preparation->rss = pl_rss_start(preparation->live, given.memory_every_ns, PL_RSS_PARTS);
        if (!preparation->rss)
            pl_say("cannot start a thread for --memory: %m; RSS is read only when the program exits");
    }
    if (preparation->live && given.resident_every_ns) {
        preparation->resident = pl_rss_start(preparation->live, given.resident_every_ns, PL_RSS_SITES);
        if (!preparation->resident)
            pl_say("cannot start a thread for --resident: %m; residency is read only when the program exits");
    }
    if (!preparation->live || !given.snapshot_every_ns)
        return;
    preparation->watch = pl_watch_start(&(struct pl_watch_options){
        .directory = preparation->live,
        .every_ns = given.snapshot_every_ns,
        .keep = given.snapshot_keep,
        .main_pid = is_spread(asked_pattern()) ? 0 : pid,
        .no_symbols = given.no_symbols,
    });
    if (!preparation->watch)
        pl_say("cannot start a thread for snapshots: %m; the program runs without them");
}

/* `--live-dir .` means the destination's own directory. */
static char *make_live_directory(const char *output)
{
    const char *named = given.setting[PL_SETTING_LIVE_DIR], *runtime = getenv("XDG_RUNTIME_DIR");
    const char *beside = output ? output : ".", *other = runtime && *runtime ? runtime : beside;
    char *why = named ? NULL : pl_place_why("");
    const char *asked[] = {named && !strcmp(named, ".") ? beside : named, NULL};
    const char *on_disk[] = {beside, PL_SHM, other, NULL}, *usual[] = {PL_SHM, other, beside, NULL};
    char *live = pl_collect_make_directory(named ? asked : why ? on_disk : usual);
    char *absolute = live ? realpath(live, NULL) : NULL;
    if (!live)
        pl_say("cannot make a directory for live profiles in %s: %m; the program runs unprofiled",
               named ? asked[0] : beside);
    else if (why && !given.quiet)
        pl_say("live profiles are in %s, because %s; --live-dir chooses another place", absolute, why);
    free(why);
    free(live);
    return absolute;
}

/* --- running it --- */

static int refuse_program(const struct pl_target *target, const char *program, int error)
{
    if (error == ENOENT && target->program.missing)
        pl_say("cannot run %s: its interpreter %s does not exist", program, target->program.missing);
    else if (error == ENOENT && !strchr(program, '/') && !target->program.path)
        pl_say("cannot run %s: not found in $PATH", program);
    else if (error == ENOEXEC)
        pl_say("cannot run %s: neither a program for this machine nor a script", program);
    else
        pl_say("cannot run %s: %s", program, strerror(error));
    return error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

/* Printed before the program starts: after a week-long run it would be too late. */
static void warn_obstacle(const struct pl_target *target)
{
    char *why = pl_target_why(target), *advice = pl_target_advice(target);
    if (pl_target_blocked(target))
        pl_say("%s; %s", why, advice);
    if (target->demoted)
        pl_say("%s is setuid, setgid or has file capabilities; with --glibc it runs without these privileges, because "
               "the loader that loads it has none",
               target->program.binary);
    if (target->shallow)
        pl_say("%s was linked without --eh-frame-hdr, so its stacks end after one frame; link it with "
               "-Wl,--eh-frame-hdr",
               target->program.binary);
    free(advice);
    free(why);
}

static void say_snapshots(struct pl_watch *watch)
{
    if (watch && !given.quiet)
        pl_watch_say(watch);
    if (watch)
        pl_watch_free(watch);
}

/* The program may have been a script that executed another one, which has not been inspected yet. */
static struct pl_target inspect_actual(const struct pl_target *named, const struct pl_collection *collection)
{
    const struct pl_collected *main = collection->count && collection->profile[0].main ? collection->profile : NULL;
    const char *binary = named->program.binary ? named->program.binary : "";
    struct stat one, other;
    if (named->obstacle || !main || stat(main->executable, &one) ||
        (!stat(binary, &other) && one.st_ino == other.st_ino))
        return (struct pl_target){.way = named->way};
    return pl_target_inspect((char *[]){main->executable, NULL}, named->way);
}

/* Why the kernel probably killed the program for lack of memory; NULL: it did not. The caller frees it. */
static char *explain_kill(const struct preparation *preparation, const struct pl_launch *launch)
{
    if (!WIFSIGNALED(launch->wait_status) || WTERMSIG(launch->wait_status) != SIGKILL)
        return NULL;
    struct pl_oom now = pl_oom_read("");
    return pl_oom_why(&preparation->oom, &now, launch->rss_bytes);
}

static void finish(const struct preparation *preparation, const struct pl_launch *launch, const char *program)
{
    char *out_of_memory = explain_kill(preparation, launch);
    struct pl_collect_options collect = {
        .directory = preparation->live,
        .spread = is_spread(asked_pattern()),
        .main_pid = launch->pid,
        .wait_status = launch->wait_status,
        .out_of_memory = out_of_memory,
        .end_ns = launch->end_ns,
        .keep_all = given.keep_all,
        .no_symbols = given.no_symbols,
    };
    struct pl_collection collection;
    if (preparation->watch)
        pl_watch_end(preparation->watch);
    struct pl_intake *intake = preparation->intake ? preparation->intake : start_intake(preparation->live, launch->pid);
    pl_collect(intake, &collect, &collection);
    pl_intake_free(intake);
    struct pl_target actual = inspect_actual(preparation->target, &collection), hooked = *preparation->target;
    if (collection.count && collection.profile[0].main && collection.profile[0].linked)
        actual.obstacle = hooked.obstacle = PL_OBSTACLE_NONE;
    if (!launch->exec_error)
        pl_summary_say(&(struct pl_summary){.collection = &collection,
                                            .target = actual.obstacle ? &actual : &hooked,
                                            .program = program,
                                            .only = given.setting[PL_SETTING_ONLY],
                                            .pattern = asked_pattern(),
                                            .live = preparation->live,
                                            .wait_status = launch->wait_status,
                                            .out_of_memory = out_of_memory,
                                            .leaks = given.leaks,
                                            .memory = given.memory_every_ns,
                                            .quiet = given.quiet});
    say_snapshots(preparation->watch);
    pl_target_free(&actual);
    free(out_of_memory);
    pl_collect_free(&collection);
}

static int refuse(const struct preparation *preparation, const struct pl_launch *launch, const char *program)
{
    if (!launch->unprepared)
        return refuse_program(preparation->target, program, launch->exec_error);
    pl_enclose_complain(&preparation->enclosure, launch->unprepared, launch->exec_error);
    return PL_EXIT_FAILURE;
}

static void start_lookout(struct preparation *preparation)
{
    preparation->lookout.control = -1;
    struct pl_lookout_tasks tasks = {
        .leaks = given.leaks, .memory = given.memory_every_ns, .resident = given.resident_every_ns};
    if ((tasks.leaks || tasks.memory || tasks.resident) && preparation->live &&
        !pl_lookout_start(&preparation->lookout, preparation->live, tasks))
        pl_say("cannot watch for the end of the program: %m; it runs anyway, and %s will not be known",
               tasks.leaks    ? "what is lost"
               : tasks.memory ? "what RSS consists of then"
                              : "what is resident then");
}

static int run_program(char **command, struct preparation *preparation, const char *program)
{
    struct pl_launch launch;
    const char *file = preparation->link ? preparation->link : command[0];
    preparation->oom = pl_oom_read("");
    start_lookout(preparation);
    bool enclosed = preparation->live && preparation->enclosure.glibc;
    struct pl_launch_hooks hooks = {enclosed ? enclose : NULL, started, preparation};
    int error = pl_launch(file, command, make_environment(preparation), &hooks, &launch);
    drop_link(preparation);
    if (error) {
        pl_say("cannot start a process: %s", strerror(-error));
        launch.exec_error = -error;
    }
    pl_lookout_end(&preparation->lookout);
    if (preparation->rss)
        pl_rss_end(preparation->rss);
    if (preparation->resident)
        pl_rss_end(preparation->resident);
    if (preparation->live)
        finish(preparation, &launch, program);
    if (error)
        return PL_EXIT_FAILURE;
    return launch.exec_error ? refuse(preparation, &launch, program) : pl_launch_status(launch.wait_status);
}

static enum pl_exit settle_way(void)
{
    if (given.glibc && given.glibc_tree)
        return pl_say_usage("--glibc profiles only the program, --glibc-tree also the programs that it starts; choose "
                            "one");
    if (given.glibc_directory && !given.glibc && !given.glibc_tree)
        return pl_say_usage("--glibc-dir %s has no effect by itself; add --glibc or --glibc-tree",
                            given.glibc_directory);
    return PL_EXIT_OK;
}

/* Options that only auto mode has. */
static bool asks_for_auto(void)
{
    return given.setting[PL_SETTING_OVERHEAD] || given.setting[PL_SETTING_CREDIT];
}

/* Refuses options that contradict each other. Called before the environment is read: a variable that contradicts an
 * option is no error. */
static enum pl_exit settle_mode(void)
{
    static const enum pl_setting of_auto[] = {PL_SETTING_OVERHEAD, PL_SETTING_CREDIT};
    const char *sample = given.setting[PL_SETTING_SAMPLE];
    given.sample_typed = sample || asks_for_auto() || given.exact;
    given.out_typed = given.setting[PL_SETTING_OUT];
    if (given.exact && sample && strcmp(sample, "exact"))
        return pl_say_usage("--exact and --sample %s contradict each other; choose one", sample);
    if (given.exact)
        given.setting[PL_SETTING_SAMPLE] = sample = "exact";
    for (size_t i = 0; i < sizeof of_auto / sizeof *of_auto; i++) {
        const char *value = given.setting[of_auto[i]];
        if (value && sample && strcmp(sample, "auto"))
            return pl_say_usage("--%s %s is for auto mode, which %s turns off; choose one", options[of_auto[i]].name,
                                value, given.exact ? "--exact" : "--sample");
    }
    if (given.snapshot_keep_text && !given.snapshot_every_ns)
        return pl_say_usage("--snapshot-keep %s has no effect by itself; add --snapshot-every 10s",
                            given.snapshot_keep_text);
    return settle_way();
}

/* With --glibc the default is sampling, because its low cost is the reason to use glibc; --overhead implies auto mode.
 */
static void settle_sample(void)
{
    if (given.setting[PL_SETTING_SAMPLE] || !(given.glibc || given.glibc_tree))
        return;
    bool budget = asks_for_auto();
    given.setting[PL_SETTING_SAMPLE] = budget ? "auto" : PL_SAMPLE_USUAL_TEXT;
}

/* Called after the environment is read: either limit may come from there. */
static enum pl_exit check_sizes(void)
{
    const char *above = given.setting[PL_SETTING_ABOVE], *below = given.setting[PL_SETTING_BELOW];
    if (above && below &&
        pl_setting_number(&options[PL_SETTING_ABOVE], above) > pl_setting_number(&options[PL_SETTING_BELOW], below))
        return pl_say_usage("--above %s and --below %s exclude every size; swap them, or drop one", above, below);
    return PL_EXIT_OK;
}

static enum pl_exit check_lengths(const char *pattern)
{
    const char *only = given.setting[PL_SETTING_ONLY];
    if (strlen(pattern) >= PATTERN_MAX)
        return pl_say_usage("--output: too long; a path has at most %d bytes", PATTERN_MAX - 1);
    if (only && strlen(only) >= ONLY_MAX)
        return pl_say_usage("--only: too long; all names together have at most %d bytes", ONLY_MAX - 1);
    return PL_EXIT_OK;
}

static bool find_profiler(struct preparation *preparation)
{
    const struct pl_target *target = preparation->target;
    if (target->way == PL_WAY_PRELOAD)
        return (preparation->library = pl_library_find(target->new));
    if (target->way == PL_WAY_LOADER && target->inside)
        return true;
    return pl_glibc_find(given.glibc_directory, &preparation->glibc) &&
           (target->way == PL_WAY_LOADER || pl_enclose_plan(&preparation->glibc, &preparation->enclosure));
}

/* With --glibc we execute the loader, so exec would not report what is wrong with the program. */
static int check_program(const struct pl_target *target, const char *program)
{
    if (target->way == PL_WAY_LOADER && target->program.error)
        return refuse_program(target, program, target->program.error);
    if (!pl_target_refused(target))
        return PL_EXIT_OK;
    char *why = pl_target_why(target), *advice = pl_target_advice(target);
    pl_say("cannot run %s with --glibc: %s; %s", program, why, advice);
    free(advice);
    free(why);
    return EXIT_NOT_EXECUTABLE;
}

static int run_by_loader(char **command, struct preparation *preparation, const char *program)
{
    preparation->link = pl_glibc_call(&preparation->glibc, &preparation->target->program, preparation->live);
    int status = run_program(command, preparation, program);
    pl_program_free_words(command);
    return status;
}

static int run_prepared(char **argv, const char *output, struct preparation *preparation)
{
    const struct pl_target *target = preparation->target;
    char **command = NULL;
    if (target->way == PL_WAY_LOADER && preparation->glibc.loader &&
        !(command = pl_glibc_command(&preparation->glibc, &target->program)))
        return EXIT_NOT_EXECUTABLE;
    warn_obstacle(target);
    pl_output_check(output, "the program runs anyway, and its profile stays in the live directory");
    preparation->live = make_live_directory(output);
    if (command && preparation->live)
        return run_by_loader(command, preparation, argv[0]);
    pl_program_free_words(command);
    return run_program(argv, preparation, argv[0]);
}

static int run_profiled(char **argv, const char *pattern, const struct pl_target *target)
{
    struct preparation preparation = {.target = target, .pattern = pattern};
    int status = check_program(target, argv[0]);
    if (status != PL_EXIT_OK)
        return status;
    status = PL_EXIT_FAILURE;
    if (find_profiler(&preparation)) {
        char *output = pl_output_directory(pattern);
        status = run_prepared(argv, output, &preparation);
        free(output);
    }
    free(preparation.live);
    pl_enclose_free(&preparation.enclosure);
    pl_glibc_free(&preparation.glibc);
    free(preparation.library);
    return status;
}

static int run_main(int argc, char **argv)
{
    if (!argc)
        return pl_say_usage("run needs a program: %s run -- PROGRAM [ARGUMENT...]", pl_say_self());
    enum pl_exit mode = settle_mode();
    if (mode != PL_EXIT_OK)
        return mode;
    pl_setting_read_environment(options);
    settle_sample();
    const char *out = given.setting[PL_SETTING_OUT];
    char *pattern = pl_output_absolute(out ? out : PL_OUT_DEFAULT);
    int status = check_lengths(pattern);
    if (status == PL_EXIT_OK)
        status = check_sizes();
    if (status == PL_EXIT_OK) {
        enum pl_way way = given.glibc_tree ? PL_WAY_TREE : given.glibc ? PL_WAY_LOADER : PL_WAY_PRELOAD;
        struct pl_target target = pl_target_inspect(argv, way);
        status = run_profiled(argv, pattern, &target);
        pl_target_free(&target);
    }
    free(pattern);
    return status;
}

const struct pl_command pl_command_run = {
    .name = "run",
    .arguments = "[--] PROGRAM [ARGUMENT...]",
    .summary = "run a program and record where its heap comes from",
    .details =
        "Runs PROGRAM, and every program that it starts, with the profiler preloaded. Standard streams, signals and "
        "the exit status pass through (128 plus the signal number if a signal ended the program, 127 if it was not "
        "found, 126 if it could not be executed). At the end, `run` prints a summary to stderr.\n"
        "\n"
        "The profiler counts every allocation, with its stack, while that is cheap. Once this has cost more than "
        "--credit and more than --overhead of the program's CPU time, it samples instead, as often as the budget "
        "allows. The summary and the report say whether figures are exact or estimated. --exact counts to the end, "
        "whatever it costs; --sample BYTES samples from the start. See `plimsoll help figures`.\n"
        "\n"
        "Each process writes its own profile. If --output contains no pattern such as %p, the first profiled process "
        "gets that name, and the others get NAME.PID. Of more than 8 processes that PROGRAM starts, `run` adds up the "
        "profiles while the program runs, as they end: one profile for each executable, in the directory NAME.tree "
        "beside NAME.plim, which `plimsoll report NAME.tree` reads as one. In the live directory at most 128 profiles "
        "or 64 MiB of ended processes wait for that. `run` replaces an old profile of the same name. It never "
        "replaces any other file, but adds a number to the name. Profiles survive crashes of the program, kill -9 "
        "included.\n"
        "\n"
        "With --glibc or --glibc-tree, nothing is preloaded: the program runs with a glibc that contains the profiler, "
        "which `make glibc` builds. It samples every 512K, unless --sample, --overhead or --credit is given. See "
        "`plimsoll help "
        "glibc`.\n"
        "\n"
        "With --leaks, a process that exits waits until `run` has followed all of its pointers, and its profile says "
        "which blocks nothing leads to any more: `plimsoll leaks FILE` lists them. With --exact the verdict is on each "
        "block, else on the recorded ones, and the figures are estimates. See `plimsoll help leaks`.\n"
        "\n"
        "With --memory, `run` reads at an interval what the RSS of each process consists of, and once more when it "
        "exits, "
        "before its memory is gone: a process waits for the latter. `plimsoll report --memory FILE` shows it, and what "
        "would help. --resident does the same for how much of what each site holds is resident.\n"
        "\n"
        "With --snapshot-every, `run` copies the profile of each process at an interval. It does so from outside, so "
        "idle programs get their snapshots, too. See `plimsoll help snapshot`.",
    .examples = "plimsoll run -- sort /etc/passwd\n"
                "plimsoll run --exact -o exact.plim -- perl -e '$n{$_ % 100} .= \"x\" x 50 for 1 .. 20000'\n"
                "plimsoll run --overhead 0.5% -- python3 -c 'print(len([str(i) for i in range(100000)]))'\n"
                "plimsoll run --sample 64K -o out.plim -- perl -e 'push @kept, \"x\" x 1000 for 1 .. 20000'\n"
                "plimsoll run --exact --leaks -- perl -e '$x = {}; $x->{me} = $x'\n"
                "plimsoll run --memory 100ms -o rss.plim -- perl -e '$x = \"x\" x 20000000; sleep 1'\n"
                "plimsoll run --snapshot-every 200ms --snapshot-keep 8 -- sleep 0.5",
    .statuses = "Otherwise the status of PROGRAM: 128 plus the signal number if a signal ended it, 127 if it was not "
                "found, 126 if it could not be executed.",
    .files =
        "`plimsoll.COMM.PID.plim` in the working directory: the profile, unless --output says otherwise.\n"
        "\n"
        "`/dev/shm/plimsoll-run.*`, in a container `plimsoll-run.*` beside the profile: profiles while the program "
        "runs, unless --live-dir says otherwise.\n"
        "\n"
        "`/var/tmp/plimsoll-UID` or `~/.cache/plimsoll`: a link to the library, if the library's own path contains a "
        "blank or a colon, which LD_PRELOAD does not allow. It remains for programs that start after the run.\n"
        "\n"
        "`~/.cache/plimsoll/symbols`: names that were found, for the next run; see `plimsoll help environment`.",
    .options = options,
    .main = run_main,
};
