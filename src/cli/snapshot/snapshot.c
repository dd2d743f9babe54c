/* SPDX-License-Identifier: MIT */
/*
 * snapshot.c - the snapshot command: copies the profile of a running process, once or at an interval.
 *
 * The paths of snapshots are data and go to stdout. A series ends after --count snapshots, when the process ends, or
 * when the user interrupts it. Files are always complete: signals are blocked while a snapshot is taken.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/figure.h"
#include "cli/option.h"
#include "cli/proc.h"
#include "cli/run/summary.h"
#include "cli/snapshot/take.h"
#include "cli/subject.h"

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
    {.name = "output", .letter = 'o', .takes = "FILE", .fallback = "beside the profile's destination",
     .help = "file or directory to write to; --every adds numbers to the name",
     .type = &pl_type_text, .into = &given.out},
    {.name = "every", .takes = "TIME",
     .help = "take one now and one every TIME, until the process ends: 500ms, 10s, 5m, 1h",
     .type = &pl_type_time, .into = &given.every_ns, .raw = &given.every_text, .min = EVERY_MIN_NS,
     .max = EVERY_MAX_NS, .example = "10s"},
    {.name = "count", .takes = "N", .help = "with --every: stop after N snapshots",
     .type = &pl_type_count, .into = &given.count, .raw = &given.count_text, .min = 1},
    {.name = "keep", .takes = "N", .fallback = "all",
     .help = "with --every: keep at most N; at the limit, remove every second one and double the interval",
     .type = &pl_type_count, .into = &given.keep, .raw = &given.keep_text, .min = 2},
    {.name = "no-symbols", .help = "do not store names; faster, but reading the profile then needs the program's files",
     .type = &pl_type_flag, .into = &given.no_symbols},
    {.name = "quiet", .letter = 'q', .help = "print only paths, unless something goes wrong",
     .type = &pl_type_flag, .into = &given.quiet},
    {0},
};
/* clang-format on */

static int say_nameless(const char *why)
{
    pl_say("%s; the snapshot is complete, but reading it needs the program's files", why);
    return PL_EXIT_OK;
}

/* --- one --- */

static int take_one(pid_t pid, const char *live, const char *name)
{
    struct pl_take_options how = {
        .out = given.out, .name = name, .sole = given.out != NULL, .alone = true, .no_symbols = given.no_symbols};
    struct pl_take_file shot;
    char why[PL_WHY_BYTES], size[PL_FIGURE_BYTES], *root = pl_proc_root(pid);
    int result = pl_take_one(&how, live, root, 1, NULL, &shot, why);
    free(root);
    if (result < 0)
        return pl_say_failure("%s", why);
    if (result == PL_TAKE_NAMELESS)
        say_nameless(why);
    puts(shot.path);
    pl_say_flush();
    pl_figure_bytes(size, (double) shot.file_bytes);
    char *typed = pl_summary_typed(shot.path);
    if (!given.quiet)
        pl_say("process %d keeps running; wrote %s; next: %s report %s", pid, size, pl_say_self(), typed);
    free(typed);
    pl_take_free(&shot);
    return PL_EXIT_OK;
}

/* --- many --- */

struct vigil {
    pid_t pid;
    struct pl_header header; /* tells this process from a later one with the same pid */
    sigset_t interrupts;
    struct pl_take_series follow;
    bool said;
};

/* Takes a snapshot if one is due. False: the process has ended, or is not profiled any more. A process that executes
 * another program gets another profile, and is still followed. */
static bool take_due(struct vigil *vigil)
{
    char why[PL_WHY_BYTES], *live = pl_proc_profile(vigil->pid), *root = pl_proc_root(vigil->pid);
    const char *path = NULL;
    struct pl_header header;
    bool there = live && pl_proc_header(live, &header) && header.start_ticks == vigil->header.start_ticks;
    int result = there ? pl_take_due(&vigil->follow, live, root, pl_proc_now_ns(), &path, why) : 0;
    if (result && !vigil->said) {
        vigil->said = true;
        if (result == PL_TAKE_NAMELESS)
            say_nameless(why);
        else
            pl_say("%s%s", why, vigil->follow.places.taken_in_all ? "; will try again when the next is due" : "");
    }
    if (path) {
        puts(path);
        fflush(stdout);
    }
    free(root);
    free(live);
    return there;
}

/* Waits until the next is due, but at most GLANCE_NS. True: interrupted. */
static bool rest(const struct vigil *vigil)
{
    uint64_t now_ns = pl_proc_now_ns(), next_ns = pl_series_next_ns(&vigil->follow.places);
    uint64_t wait_ns = next_ns <= now_ns ? 0 : next_ns - now_ns;
    wait_ns = wait_ns < GLANCE_NS ? wait_ns : GLANCE_NS;
    struct timespec wait = {(time_t) (wait_ns / 1000000000u), (long) (wait_ns % 1000000000u)};
    return sigtimedwait(&vigil->interrupts, NULL, &wait) > 0;
}

static bool is_complete(const struct vigil *vigil)
{
    return given.count && vigil->follow.places.taken_in_all + vigil->follow.failed >= given.count;
}

/* If the first one fails, so will the others: the directory does not exist, or is not writable. */
static bool is_hopeless(const struct vigil *vigil)
{
    return vigil->follow.failed && !vigil->follow.places.taken_in_all;
}

/* Returns why it ended, in words. */
static const char *keep_vigil(struct vigil *vigil)
{
    while (take_due(vigil)) {
        if (is_complete(vigil) || is_hopeless(vigil))
            return "it keeps running";
        if (rest(vigil))
            return "interrupted";
    }
    return kill(vigil->pid, 0) && errno == ESRCH ? "it has ended" : "it is not profiled any more";
}

static int take_many(pid_t pid, const char *live)
{
    struct vigil vigil = {
        .pid = pid,
        .follow = {.places = pl_series_new(given.every_ns, given.keep, pl_proc_now_ns()),
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
    char *words = pl_take_words(&vigil.follow);
    uint64_t taken = vigil.follow.places.taken_in_all, failed = vigil.follow.failed;
    if (!given.quiet || !taken)
        pl_say("process %d: %s: took %s", pid, ending, words);
    if (failed && taken)
        pl_say("%llu snapshot%s could not be taken", (unsigned long long) failed, failed == 1 ? "" : "s");
    free(words);
    pl_take_free_series(&vigil.follow);
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
        return pl_say_usage("--every numbers its snapshots; leave out the name %s, or use -o %s.plim", name, name);
    if (name && (!*name || strchr(name, '/')))
        return pl_say_usage("NAME becomes part of a file name and cannot contain /; to choose the file, use -o FILE");
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
    signal(SIGXFSZ, SIG_IGN); /* a file size limit then fails write() like any other error */
    int result = given.every_text ? take_many(pid, live) : take_one(pid, live, argc > 1 ? argv[1] : NULL);
    free(live);
    return result;
}

const struct pl_command pl_command_snapshot = {
    .name = "snapshot",
    .arguments = "PID [NAME]",
    .summary = "copy the profile of a running process, once or at an interval",
    .details =
        "Writes a copy of the profile of process PID, as it is now, and prints its path. The process is not stopped or "
        "signalled and does not take part, so it may be idle or stuck. The copy is a complete profile with names: "
        "report and export read it, here and on other machines.\n"
        "\n"
        "The copy goes beside the file that the process will write: a snapshot of app.plim is app.NAME.plim or, "
        "without a NAME, app.0001.plim, app.0002.plim, and so on. If the process belongs to another user or runs in a "
        "container, the copy goes to the working directory. No file is ever replaced.\n"
        "\n"
        "--every takes a numbered series, until the process ends or you interrupt it. See also `plimsoll run "
        "--snapshot-every`, and docs/snapshots.md.",
    .examples = "plimsoll snapshot PID\n"
                "plimsoll snapshot PID warm\n"
                "plimsoll snapshot PID --every 500ms --count 3",
    .options = options,
    .main = snapshot_main,
};
