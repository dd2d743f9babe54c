/* SPDX-License-Identifier: MIT */
/*
 * run.c - the run command: a program, profiled, as if it ran alone.
 *
 *   look at it (target) ─ find the profiler (library, glibc) ─ make a place for live files (collect) ─ run it (launch)
 * ─ bring the files home (collect) ─ say what there is (summary)
 *
 * Whatever goes wrong with profiling, the program runs. What stops it is a command line that makes no sense, a loader
 * that cannot load it, and a namespace that --glibc-tree asks for and cannot have.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect.h"
#include "enclose.h"
#include "glibc.h"
#include "launch.h"
#include "library.h"
#include "option.h"
#include "setting.h"
#include "summary.h"
#include "target.h"
#include "watch.h"

#define EXIT_NOT_EXECUTABLE 126
#define EXIT_NOT_FOUND 127

/* The runtime keeps paths in this many bytes, the terminator included. */
#define PATTERN_MAX 4096
#define ONLY_MAX 256
#define MS_NS 1000000ull
#define SNAPSHOT_EVERY_MIN_NS 10000000ull

static struct {
    struct pl_setting_values setting;
    bool exact;
    bool keep_all;
    bool no_symbols;
    bool quiet;
    bool glibc, glibc_tree;
    const char *glibc_directory;
    bool sample_typed, out_typed; /* and not taken from the environment */
    uint64_t snapshot_every_ns, snapshot_keep;
    const char *snapshot_keep_text;
} given;

/* How each setting is read: its letter, type and bounds, and where a number goes; setting.raw has the text of all. */
#define READ_SAMPLE                                                                                                    \
    .letter = 's', .type = &pl_type_sample, .into = &given.setting.number[PL_SETTING_SAMPLE], .min = PL_SAMPLE_MIN,    \
    .max = PL_SAMPLE_MAX, .example = "512K"
#define READ_OUT .letter = 'o', .type = &pl_type_pattern
#define READ_ONLY .type = &pl_type_names
#define READ_LIVE_DIR .type = &pl_type_text
#define READ_MAX_FILE                                                                                                  \
    .type = &pl_type_size, .into = &given.setting.number[PL_SETTING_MAX_FILE], .min = PL_MAX_FILE_MIN,                 \
    .max = PL_FILE_BYTES_MAX, .example = "64M"
#define READ_OFF .type = &pl_type_flag
#define READ_OVERHEAD .type = &pl_type_budget, .min = PL_OVERHEAD_MIN_PPM, .max = PL_OVERHEAD_MAX_PPM, .example = "2%"
#define READ_SEED .type = &pl_type_count, .into = &given.setting.number[PL_SETTING_SEED]
#define READ_ABOVE .type = &pl_type_size, .into = &given.setting.number[PL_SETTING_ABOVE], .example = "4K"
#define READ_BELOW .type = &pl_type_size, .into = &given.setting.number[PL_SETTING_BELOW], .example = "1M"
#define READ_MAX_TAGS                                                                                                  \
    .type = &pl_type_count, .into = &given.setting.number[PL_SETTING_MAX_TAGS], .min = PL_TAGS_MIN, .max = PL_TAGS_MAX
#define READ_MAX_THREADS                                                                                               \
    .type = &pl_type_count, .into = &given.setting.number[PL_SETTING_MAX_THREADS], .min = PL_THREADS_OWN_MIN,          \
    .max = PL_THREADS_OWN_MAX
#define READ_SNAPSHOT_EVERY                                                                                            \
    .type = &pl_type_time, .into = &given.setting.number[PL_SETTING_SNAPSHOT_EVERY],                                   \
    .min = PL_SNAPSHOT_EVERY_MIN_MS * MS_NS, .max = PL_SNAPSHOT_EVERY_MAX_MS * MS_NS, .example = "10s"
#define READ_RUN .type = &pl_type_text

#define ROW(setting_, variable_, option_, takes_, fallback_, help_)                                                    \
    {.name = option_,                                                                                                  \
     .takes = PL_SETTING_##setting_ == PL_SETTING_OFF ? NULL : takes_,                                                 \
     .fallback = PL_SETTING_##setting_ == PL_SETTING_OFF ? NULL : fallback_,                                           \
     .variable = variable_,                                                                                            \
     .help = help_,                                                                                                    \
     .raw = PL_SETTING_##setting_ == PL_SETTING_RUN ? NULL : &given.setting.raw[PL_SETTING_##setting_],                \
     READ_##setting_},

/* clang-format off */
static const struct pl_option options[] = {
    PL_SETTINGS(ROW)
    {.name = "exact", .help = "count every allocation, whatever it costs: short for --sample exact",
     .type = &pl_type_flag, .into = &given.exact},
    {.name = "keep-all", .help = "keep the profiles of processes that have little to show, too",
     .type = &pl_type_flag, .into = &given.keep_all},
    {.name = "no-symbols", .help = "do not store names in the profile: quicker, but it can be read only here",
     .type = &pl_type_flag, .into = &given.no_symbols},
    {.name = "snapshot-every", .takes = "TIME", .fallback = "never",
     .help = "copy the profile of each process every TIME while it runs (500ms, 10s, 5m, 1h): app.0001.plim, app.0002.plim, ...",
     .type = &pl_type_time, .into = &given.snapshot_every_ns, .min = SNAPSHOT_EVERY_MIN_NS,
     .max = PL_SNAPSHOT_EVERY_MAX_MS * MS_NS, .example = "10s"},
    {.name = "snapshot-keep", .takes = "N", .fallback = "all",
     .help = "keep at most N snapshots of a process, evenly spaced; when there are more, every second one is removed",
     .type = &pl_type_count, .into = &given.snapshot_keep, .raw = &given.snapshot_keep_text, .min = 2},
    {.name = "glibc", .help = "profile from inside malloc: run the program with the glibc that `make glibc` builds, by that glibc's loader; what it starts is not profiled",
     .type = &pl_type_flag, .into = &given.glibc},
    {.name = "glibc-tree", .help = "the same for the program and all that it starts, in a mount namespace where that glibc is the system's",
     .type = &pl_type_flag, .into = &given.glibc_tree},
    {.name = "glibc-dir", .takes = "DIRECTORY", .fallback = "where it was built or installed", .variable = PL_GLIBC_VARIABLE,
     .help = "the glibc for --glibc and --glibc-tree: what `make glibc` built", .type = &pl_type_text, .raw = &given.glibc_directory},
    {.name = "quiet", .letter = 'q', .help = "say nothing unless something went wrong",
     .type = &pl_type_flag, .into = &given.quiet},
    {0},
};
/* clang-format on */

/* --- where the profile goes --- */

static bool is_directory(const char *path)
{
    struct stat status;
    return !stat(path, &status) && S_ISDIR(status.st_mode);
}

/* The directory we are in, as part of a pattern: a percent sign in it is not ours to expand. */
static char *literal_here(void)
{
    char here[PATH_MAX], *escaped = pl_say_memory(malloc(2 * PATH_MAX)), *to = escaped;
    if (!getcwd(here, sizeof here))
        strcpy(here, ".");
    for (const char *at = here; *at; at++) {
        if (*at == '%')
            *to++ = '%';
        *to++ = *at;
    }
    *to = 0;
    return escaped;
}

/* The program may change its directory, so a relative pattern is settled now. A directory gets the usual name in it. */
static char *absolute_pattern(const char *pattern)
{
    size_t bytes = strlen(pattern);
    bool directory = pattern[bytes - 1] == '/' || is_directory(pattern);
    char *here = *pattern == '/' ? pl_say_print("%s", "") : literal_here();
    char *absolute = pl_say_print("%s%s%s%s%s", here, *pattern == '/' ? "" : "/", pattern,
                                  directory && pattern[bytes - 1] != '/' ? "/" : "", directory ? PL_OUT_DEFAULT : "");
    free(here);
    return absolute;
}

/* The directory of the profile; NULL when that depends on the process. The caller frees it. */
static char *output_directory(const char *absolute)
{
    char *directory = pl_say_print("%s", absolute), *to = directory;
    strrchr(directory, '/')[directory == strrchr(directory, '/')] = 0; /* "/x" lies in "/" */
    for (const char *from = directory; *from; from++) {
        if (*from == '%' && from[1] != '%') {
            free(directory);
            return NULL;
        }
        from += *from == '%';
        *to++ = *from;
    }
    *to = 0;
    return directory;
}

static void check_output(const char *directory)
{
    if (directory && access(directory, W_OK | X_OK))
        pl_say("cannot write to %s: %m; the program runs all the same, and its profile will stay where it lives",
               directory);
}

/* --- what the program gets --- */

struct preparation {
    const struct pl_target *target;
    char *library;                 /* PL_WAY_PRELOAD */
    struct pl_glibc glibc;         /* the other ways; empty where the program brings it along */
    struct pl_enclosure enclosure; /* PL_WAY_TREE */
    const char *pattern;
    char *live;             /* NULL: nowhere, run it unprofiled */
    char *link;             /* PL_WAY_LOADER: what to execute until the program runs; NULL: the command itself */
    struct pl_watch *watch; /* NULL: no snapshots */
};

static void export_number(enum pl_setting setting)
{
    const char *raw = given.setting.raw[setting];
    if (!raw)
        return;
    bool word = *raw < '0' || *raw > '9'; /* exact, auto */
    bool time = setting == PL_SETTING_SNAPSHOT_EVERY;
    uint64_t value = given.setting.number[setting] / (time ? MS_NS : 1);
    char *number = pl_say_print("%llu%s", (unsigned long long) value, time ? "ms" : "");
    pl_setting_export(setting, word ? raw : number);
    free(number);
}

static void export_settings(const struct preparation *preparation)
{
    export_number(PL_SETTING_SAMPLE);
    export_number(PL_SETTING_MAX_FILE);
    export_number(PL_SETTING_SEED);
    export_number(PL_SETTING_ABOVE);
    export_number(PL_SETTING_BELOW);
    export_number(PL_SETTING_MAX_TAGS);
    export_number(PL_SETTING_MAX_THREADS);
    export_number(PL_SETTING_SNAPSHOT_EVERY);
    pl_setting_export(PL_SETTING_OUT, preparation->pattern);
    pl_setting_export(PL_SETTING_RUN, preparation->live);
    pl_setting_export(PL_SETTING_ONLY, given.setting.raw[PL_SETTING_ONLY]);
    pl_setting_export(PL_SETTING_LIVE_DIR, given.setting.raw[PL_SETTING_LIVE_DIR]);
    pl_setting_export(PL_SETTING_OFF, given.setting.raw[PL_SETTING_OFF]);
    pl_setting_export(PL_SETTING_OVERHEAD, given.setting.raw[PL_SETTING_OVERHEAD]);
}

static void set_preload(char *list)
{
    if (*list)
        setenv("LD_PRELOAD", list, 1);
    else
        unsetenv("LD_PRELOAD");
    free(list);
}

/* One profiler is enough, whatever run we are in ourselves: each of these two leaves the other one out. */
static void switch_preload_on(const char *library)
{
    set_preload(pl_library_preload(library, getenv("LD_PRELOAD")));
    pl_setting_export_glibc(PL_GLIBC_PROFILE, NULL);
}

/* Variables of its own win over ours that mean the same, but not over options. */
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

/* In the child, before exec. */
static int prepare(void *context)
{
    const struct preparation *preparation = context;
    if (!preparation->live)
        return 0;
    if (preparation->target->way == PL_WAY_PRELOAD)
        switch_preload_on(preparation->library);
    else
        switch_glibc_on();
    export_settings(preparation);
    return preparation->enclosure.glibc ? pl_enclose_enter(&preparation->enclosure) : 0;
}

static const char *asked_pattern(void)
{
    const char *pattern = given.setting.raw[PL_SETTING_OUT];
    return pattern ? pattern : PL_OUT_DEFAULT;
}

static void drop_link(struct preparation *preparation)
{
    pl_glibc_uncall(preparation->link);
    preparation->link = NULL;
}

/* In this process, once the program runs. */
static void started(void *context, pid_t pid)
{
    struct preparation *preparation = context;
    drop_link(preparation);
    if (!preparation->live || !given.snapshot_every_ns)
        return;
    preparation->watch = pl_watch_start(&(struct pl_watch_options){
        .directory = preparation->live,
        .every_ns = given.snapshot_every_ns,
        .keep = given.snapshot_keep,
        .main_pid = strchr(asked_pattern(), '%') ? 0 : pid,
        .no_symbols = given.no_symbols,
    });
    if (!preparation->watch)
        pl_say("cannot start a thread for snapshots: %m; the program runs without them");
}

/* `--live-dir .` means the destination's own directory. */
static char *make_live_directory(const char *output)
{
    const char *named = given.setting.raw[PL_SETTING_LIVE_DIR], *runtime = getenv("XDG_RUNTIME_DIR");
    const char *beside = output ? output : ".";
    const char *asked[] = {named && !strcmp(named, ".") ? beside : named, NULL};
    const char *usual[] = {"/dev/shm", runtime && *runtime ? runtime : beside, beside, NULL};
    char *live = pl_collect_make_directory(named ? asked : usual);
    char *absolute = live ? realpath(live, NULL) : NULL;
    if (!live)
        pl_say("cannot make a directory for live profiles in %s: %m; the program runs unprofiled",
               named ? asked[0] : beside);
    free(live);
    return absolute;
}

/* --- and how it goes --- */

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

/* Said beforehand: who starts a server for a week should not learn this at the end of it. */
static void warn_obstacle(const struct pl_target *target)
{
    char *why = pl_target_why(target), *advice = pl_target_advice(target);
    if (pl_target_blocked(target))
        pl_say("%s; %s", why, advice);
    if (target->demoted)
        pl_say("%s is setuid, setgid or has file capabilities, and runs without its privileges: --glibc has it loaded "
               "by a loader that has none",
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

static void finish(const struct preparation *preparation, const struct pl_launch *launch, const char *program)
{
    struct pl_collect_options collect = {
        .directory = preparation->live,
        .pattern = asked_pattern(),
        .main_pid = launch->pid,
        .wait_status = launch->wait_status,
        .end_ns = launch->end_ns,
        .keep_all = given.keep_all,
        .no_symbols = given.no_symbols,
    };
    struct pl_collection collection;
    if (preparation->watch)
        pl_watch_end(preparation->watch);
    pl_collect(&collect, &collection);
    if (!launch->exec_error)
        pl_summary_say(&(struct pl_summary){.collection = &collection,
                                            .target = preparation->target,
                                            .program = program,
                                            .only = given.setting.raw[PL_SETTING_ONLY],
                                            .pattern = asked_pattern(),
                                            .live = preparation->live,
                                            .wait_status = launch->wait_status,
                                            .quiet = given.quiet});
    say_snapshots(preparation->watch);
    pl_collect_free(&collection);
}

static int refuse(const struct preparation *preparation, const struct pl_launch *launch, const char *program)
{
    if (!launch->unprepared)
        return refuse_program(preparation->target, program, launch->exec_error);
    pl_enclose_complain(&preparation->enclosure, launch->unprepared, launch->exec_error);
    return PL_EXIT_FAILURE;
}

static int run_program(char **command, struct preparation *preparation, const char *program)
{
    struct pl_launch launch;
    const char *file = preparation->link ? preparation->link : command[0];
    int error = pl_launch(file, command, &(struct pl_launch_hooks){prepare, started, preparation}, &launch);
    drop_link(preparation);
    if (error) {
        pl_say("cannot start a process: %s", strerror(-error));
        launch.exec_error = -error;
    }
    if (preparation->live)
        finish(preparation, &launch, program);
    if (error)
        return PL_EXIT_FAILURE;
    return launch.exec_error ? refuse(preparation, &launch, program) : pl_launch_status(launch.wait_status);
}

static enum pl_exit settle_way(void)
{
    if (given.glibc && given.glibc_tree)
        return pl_say_usage("--glibc profiles the program alone, --glibc-tree all that it starts, too; choose one");
    if (given.glibc_directory && !given.glibc && !given.glibc_tree)
        return pl_say_usage("--glibc-dir %s says which glibc to use: add --glibc, or --glibc-tree",
                            given.glibc_directory);
    return PL_EXIT_OK;
}

/* Before the environment has its say: what options say together must make sense by itself. */
static enum pl_exit settle_mode(void)
{
    const char *sample = given.setting.raw[PL_SETTING_SAMPLE], *overhead = given.setting.raw[PL_SETTING_OVERHEAD];
    given.sample_typed = sample || overhead || given.exact;
    given.out_typed = given.setting.raw[PL_SETTING_OUT];
    if (given.exact && sample && strcmp(sample, "exact"))
        return pl_say_usage("--exact and --sample %s are two ways of counting; choose one", sample);
    if (given.exact)
        given.setting.raw[PL_SETTING_SAMPLE] = sample = "exact";
    if (overhead && sample && strcmp(sample, "auto"))
        return pl_say_usage("--overhead %s is for auto mode, which %s turns off; leave out one of them", overhead,
                            given.exact ? "--exact" : "--sample");
    if (given.snapshot_keep_text && !given.snapshot_every_ns)
        return pl_say_usage("--snapshot-keep %s is about snapshots that are taken: add --snapshot-every 10s",
                            given.snapshot_keep_text);
    return settle_way();
}

/* Inside malloc sampling costs next to nothing, which is what one goes there for; a budget is for auto mode. */
static void settle_sample(void)
{
    if (given.setting.raw[PL_SETTING_SAMPLE] || !(given.glibc || given.glibc_tree))
        return;
    bool budget = given.setting.raw[PL_SETTING_OVERHEAD];
    given.setting.raw[PL_SETTING_SAMPLE] = budget ? "auto" : PL_SAMPLE_USUAL_TEXT;
    given.setting.number[PL_SETTING_SAMPLE] = PL_SAMPLE_USUAL;
}

/* Bounds may come from options and from the environment. */
static enum pl_exit check_sizes(void)
{
    const char *above = given.setting.raw[PL_SETTING_ABOVE], *below = given.setting.raw[PL_SETTING_BELOW];
    if (above && below && given.setting.number[PL_SETTING_ABOVE] > given.setting.number[PL_SETTING_BELOW])
        return pl_say_usage("--above %s and --below %s: no size is both; exchange them, or leave out one", above,
                            below);
    return PL_EXIT_OK;
}

static enum pl_exit check_lengths(const char *pattern)
{
    const char *only = given.setting.raw[PL_SETTING_ONLY];
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

/* A loader that is started by hand hides from exec, and from us, what is wrong with the program. */
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
    check_output(output);
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
        char *output = output_directory(pattern);
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
    const char *out = given.setting.raw[PL_SETTING_OUT];
    char *pattern = absolute_pattern(out ? out : PL_OUT_DEFAULT);
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
        "Runs PROGRAM with the profiler preloaded, and every program that it starts. Its streams, its signals and its "
        "exit "
        "status are passed through (128 plus the number of the signal, if one ended it; 127 if the program was not "
        "found, "
        "126 if it could not be executed). At the end a summary goes to stderr.\n"
        "\n"
        "Every allocation is counted, with its stack, as long as that is cheap: once it has cost more than a tenth of "
        "a second of CPU time and --overhead of what the program uses, samples are taken instead, as many as the "
        "budget allows. The summary and the report say what the figures are. --exact counts to the end, whatever it "
        "costs; --sample BYTES takes samples from the start. See `plimsoll help figures`.\n"
        "\n"
        "Each process writes its own profile. With a plain name in --output the first process profiled gets it, and "
        "others get "
        "NAME.PID. An old profile of the same name is replaced; any other file is left alone, and a number is added to "
        "the name. Profiles survive everything that can happen to the program, kill -9 included.\n"
        "\n"
        "With --glibc or --glibc-tree nothing is preloaded: the program runs with a glibc that has the profiler "
        "inside, "
        "which `make glibc` builds, and samples are taken every 512K unless --sample or --overhead say otherwise. See "
        "`plimsoll help glibc`.\n"
        "\n"
        "With --snapshot-every the profile of each process that runs long enough is copied at an interval, from "
        "outside, so that a program that waits gets its snapshots as well: `plimsoll help snapshot`.",
    .examples = "plimsoll run -- sort /etc/passwd\n"
                "plimsoll run --exact -o exact.plim -- perl -e '$n{$_ % 100} .= \"x\" x 50 for 1 .. 20000'\n"
                "plimsoll run --overhead 0.5% -- python3 -c 'print(len([str(i) for i in range(100000)]))'\n"
                "plimsoll run --sample 64K -o out.plim -- perl -e 'push @kept, \"x\" x 1000 for 1 .. 20000'\n"
                "plimsoll run --snapshot-every 200ms --snapshot-keep 8 -- sleep 0.5",
    .statuses = "Otherwise the status of PROGRAM: 128 plus the number of the signal if one ended it, 127 if it was not "
                "found, 126 if it could not be executed.",
    .files =
        "`plimsoll.COMM.PID.plim` in the working directory: the profile, unless --output says otherwise.\n"
        "\n"
        "`/dev/shm/plimsoll-run.*`: where profiles live while the program runs, unless --live-dir says otherwise.\n"
        "\n"
        "`/var/tmp/plimsoll-UID` or `~/.cache/plimsoll`: a link to the library, made when the library's own path contains "
        "a blank or a colon, which LD_PRELOAD does not allow. It stays, for programs that are started after the run.",
    .options = options,
    .main = run_main,
};
