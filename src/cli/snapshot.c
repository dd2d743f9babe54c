/* SPDX-License-Identifier: MIT */
/*
 * snapshot.c - the snapshot command: a copy of the profile of a running process, once or at an interval.
 *
 * The paths of snapshots are data and go to stdout. A series ends with its count, with its process, or when somebody
 * interrupts it, and whoever does finds whole files: signals wait until the one that is being taken is complete.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "figure.h"
#include "follow.h"
#include "option.h"
#include "proc.h"
#include "subject.h"
#include "summary.h"

#define EVERY_MIN_NS 10000000ull
#define EVERY_MAX_NS (366ull * 86400 * 1000000000)
#define GLANCE_NS 500000000ull /* how soon the end of a process is noticed */
#define PID_DIGITS_MAX 9

static struct {
    const char *out;
    uint64_t every_ns, count, keep;
    const char *every_text, *count_text, *keep_text;
    bool no_symbols;
    bool quiet;
} given;

/* clang-format off */
static const struct pl_option options[] = {
    {.name = "output", .letter = 'o', .takes = "FILE", .fallback = "beside where the profile will go",
     .help = "where to write it; a directory, or with --every the name that numbers are added to",
     .type = &pl_type_text, .into = &given.out},
    {.name = "every", .takes = "TIME", .help = "take one now and one each TIME, until the process ends: 500ms, 10s, 5m, 1h",
     .type = &pl_type_time, .into = &given.every_ns, .raw = &given.every_text, .min = EVERY_MIN_NS,
     .max = EVERY_MAX_NS, .example = "10s"},
    {.name = "count", .takes = "N", .help = "with --every: end after N snapshots",
     .type = &pl_type_count, .into = &given.count, .raw = &given.count_text, .min = 1},
    {.name = "keep", .takes = "N", .fallback = "all",
     .help = "with --every: keep at most N of them, evenly spaced; when there are more, every second one is removed",
     .type = &pl_type_count, .into = &given.keep, .raw = &given.keep_text, .min = 2},
    {.name = "no-symbols", .help = "do not store names in it: quicker, but it can be read only here",
     .type = &pl_type_flag, .into = &given.no_symbols},
    {.name = "quiet", .letter = 'q', .help = "say nothing unless something went wrong",
     .type = &pl_type_flag, .into = &given.quiet},
    {0},
};
/* clang-format on */

static int say_nameless(const char *why)
{
    pl_say("%s; the snapshot is complete, but needs the program's files to be read", why);
    return PL_EXIT_OK;
}

/* --- one --- */

static int take_one(pid_t pid, const char *live, const char *name)
{
    struct pl_shot_options how = {
        .out = given.out, .name = name, .sole = given.out != NULL, .alone = true, .no_symbols = given.no_symbols};
    struct pl_shot shot;
    char why[PL_WHY_BYTES], size[PL_FIGURE_BYTES], *root = pl_proc_root(pid);
    int result = pl_shot_take(&how, live, root, 1, NULL, &shot, why);
    free(root);
    if (result < 0)
        return pl_say_failure("%s", why);
    if (result == PL_SHOT_NAMELESS)
        say_nameless(why);
    puts(shot.path);
    pl_say_flush();
    pl_figure_bytes(size, (double) shot.file_bytes);
    char *typed = pl_summary_typed(shot.path);
    if (!given.quiet)
        pl_say("process %d goes on; its snapshot has %s; next: %s report %s", pid, size, pl_say_self(), typed);
    free(typed);
    pl_shot_free(&shot);
    return PL_EXIT_OK;
}

/* --- many --- */

struct vigil {
    pid_t pid;
    struct pl_header header; /* tells this process from a later one of its number */
    sigset_t interrupts;
    struct pl_follow follow;
    bool said;
};

/* A process that becomes another program (exec) has another profile, and is still the one that was named. */
static bool take_due(struct vigil *vigil)
{
    char why[PL_WHY_BYTES], *live = pl_proc_profile(vigil->pid), *root = pl_proc_root(vigil->pid);
    const char *path = NULL;
    struct pl_header header;
    bool there = live && pl_proc_header(live, &header) && header.start_ticks == vigil->header.start_ticks;
    int result = there ? pl_follow_tick(&vigil->follow, live, root, pl_follow_now_ns(), &path, why) : 0;
    if (result && !vigil->said) {
        vigil->said = true;
        if (result == PL_SHOT_NAMELESS)
            say_nameless(why);
        else
            pl_say("%s%s", why, vigil->follow.series.taken_in_all ? "; the next is tried in its turn" : "");
    }
    if (path) {
        puts(path);
        fflush(stdout);
    }
    free(root);
    free(live);
    return there;
}

/* Until the next is due, or somebody interrupts, or there may be news. True: interrupted. */
static bool rest(const struct vigil *vigil)
{
    uint64_t now_ns = pl_follow_now_ns(), next_ns = pl_series_next_ns(&vigil->follow.series);
    uint64_t wait_ns = next_ns <= now_ns ? 0 : next_ns - now_ns;
    wait_ns = wait_ns < GLANCE_NS ? wait_ns : GLANCE_NS;
    struct timespec wait = {(time_t) (wait_ns / 1000000000u), (long) (wait_ns % 1000000000u)};
    return sigtimedwait(&vigil->interrupts, NULL, &wait) > 0;
}

static bool is_complete(const struct vigil *vigil)
{
    return given.count && vigil->follow.series.taken_in_all + vigil->follow.failed >= given.count;
}

/* The first one fails for reasons that stay: the directory is not there, or not ours. */
static bool is_hopeless(const struct vigil *vigil)
{
    return vigil->follow.failed && !vigil->follow.series.taken_in_all;
}

/* Returns why it ended, in words. */
static const char *keep_vigil(struct vigil *vigil)
{
    while (take_due(vigil)) {
        if (is_complete(vigil) || is_hopeless(vigil))
            return "it goes on";
        if (rest(vigil))
            return "interrupted";
    }
    return kill(vigil->pid, 0) && errno == ESRCH ? "it has ended" : "it is not profiled any more";
}

static int take_many(pid_t pid, const char *live)
{
    struct vigil vigil = {
        .pid = pid,
        .follow = {.series = pl_series_new(given.every_ns, given.keep, pl_follow_now_ns()),
                   .options = {.out = given.out, .alone = true, .no_symbols = given.no_symbols}},
    };
    if (!pl_proc_header(live, &vigil.header))
        return pl_say_failure("cannot read %s: %m", live);
    sigemptyset(&vigil.interrupts);
    sigaddset(&vigil.interrupts, SIGINT);
    sigaddset(&vigil.interrupts, SIGTERM);
    sigaddset(&vigil.interrupts, SIGHUP);
    sigprocmask(SIG_BLOCK, &vigil.interrupts, NULL);
    const char *ending = keep_vigil(&vigil);
    char *words = pl_follow_words(&vigil.follow);
    uint64_t taken = vigil.follow.series.taken_in_all, failed = vigil.follow.failed;
    if (!given.quiet || !taken)
        pl_say("process %d: %s: took %s", pid, ending, words);
    if (failed && taken)
        pl_say("%llu snapshot%s could not be taken", (unsigned long long) failed, failed == 1 ? "" : "s");
    free(words);
    pl_follow_free(&vigil.follow);
    return taken ? PL_EXIT_OK : PL_EXIT_FAILURE;
}

/* --- the command line --- */

static enum pl_exit check_words(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : NULL;
    if (!argc)
        return pl_say_usage("snapshot needs the PID of a process that is being profiled; `%s ls` lists them",
                            pl_say_self());
    if (argc > 2)
        return pl_say_usage("snapshot takes a PID and a NAME; got %s as well", argv[2]);
    if (!*argv[0] || argv[0][strspn(argv[0], "0123456789")] || strlen(argv[0]) > PID_DIGITS_MAX)
        return pl_say_usage("snapshot %s: not a PID; `%s ls` lists the processes that are being profiled", argv[0],
                            pl_say_self());
    if (name && given.every_text)
        return pl_say_usage("a series (--every) is numbered; leave out the name %s, or use -o %s.plim", name, name);
    if (name && (!*name || strchr(name, '/')))
        return pl_say_usage("a NAME is part of a file name, without /; for a file of your choice: -o FILE");
    if (!given.every_text && (given.count_text || given.keep_text))
        return pl_say_usage("--%s is for a series: add --every 10s", given.count_text ? "count" : "keep");
    return PL_EXIT_OK;
}

static int snapshot_main(int argc, char **argv)
{
    char *live;
    enum pl_exit status = check_words(argc, argv);
    if (status != PL_EXIT_OK)
        return status;
    pid_t pid = (pid_t) atoi(argv[0]);
    status = pl_subject_live(pid, &live);
    if (status != PL_EXIT_OK)
        return status;
    signal(SIGXFSZ, SIG_IGN); /* a limit on the size of files is an error like others */
    int result = given.every_text ? take_many(pid, live) : take_one(pid, live, argc > 1 ? argv[1] : NULL);
    free(live);
    return result;
}

const struct pl_command pl_command_snapshot = {
    .name = "snapshot",
    .arguments = "PID [NAME]",
    .summary = "copy the profile of a running process, once or at an interval",
    .details =
        "Writes a copy of the profile of process PID as it is now, and prints its path. The process is not stopped, "
        "signalled or asked, so one that is idle, or stuck, is no different. The copy is a profile like any other, "
        "with names in it: report and export read it, here and on another machine.\n"
        "\n"
        "It goes beside where the process will leave its profile: that of app.plim is app.NAME.plim or, without a "
        "NAME, app.0001.plim, app.0002.plim, and so on. The profile of another user's process, or of one in a "
        "container, is copied to the directory in which you are. No file is ever replaced.\n"
        "\n"
        "With --every a numbered series is taken, until the process ends or you interrupt it. See also `plimsoll run "
        "--snapshot-every`, and docs/snapshots.md.",
    .examples = "plimsoll snapshot PID\n"
                "plimsoll snapshot PID warm\n"
                "plimsoll snapshot PID --every 500ms --count 3",
    .options = options,
    .main = snapshot_main,
};
