/* SPDX-License-Identifier: MIT */
/*
 * control.c - the control command: switches a profiled process on and off, resets it, changes how it counts.
 *
 * The process has its profile mapped, so we write control words there (struct pl_control) and wait until it says that
 * it has taken them up. It is not stopped or signalled. It looks at the words when it records something: a process that
 * does not allocate takes a request up later, and we say so.
 *
 * Only the owner of the profile may write to it. That includes root: the path comes from a process of another user, who
 * could make root write elsewhere.
 */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analysis/figure.h"
#include "cli/nearest.h"
#include "cli/option.h"
#include "cli/proc.h"
#include "cli/subject.h"
#include "format/settings.h"
#include "reader/describe.h"

#define WAIT_DEFAULT_NS 2000000000ull
#define WAIT_MAX_NS (86400 * 1000000000ull)
#define DOZE_NS 2000000u
#define EXIT_LATER 3 /* requested, but not taken up yet */

static struct {
    uint64_t wait_ns;
    bool quiet;
} given = {.wait_ns = WAIT_DEFAULT_NS};

/* clang-format off */
static const struct pl_option options[] = {
    {.name = "wait", .takes = "TIME", .fallback = "2s",
     .help = "how long to wait until the process has taken the request up: 0, 500ms, 10s",
     .type = &pl_type_time, .into = &given.wait_ns, .max = WAIT_MAX_NS, .example = "10s"},
    {.name = "quiet", .letter = 'q', .help = "print nothing, unless something goes wrong",
     .type = &pl_type_flag, .into = &given.quiet},
    {0},
};
/* clang-format on */

/* A running process, with the header of its profile mapped: the process reads and writes it at the same time. */
struct steered {
    pid_t pid;
    struct pl_header *header;
};

/* ---- the words ---- */

static uint64_t value;

static void set_off(struct pl_control *control)
{
    __atomic_store_n(&control->off, 1, __ATOMIC_RELAXED);
}

static void set_on(struct pl_control *control)
{
    __atomic_store_n(&control->off, 0, __ATOMIC_RELAXED);
}

static void reset(struct pl_control *control)
{
    __atomic_fetch_add(&control->reset, 1, __ATOMIC_RELAXED);
}

static void set_interval(struct pl_control *control)
{
    __atomic_store_n(&control->interval_bytes, value, __ATOMIC_RELAXED);
}

/* The interval last: until it is gone, it overrules the mode. */
static void set_mode(struct pl_control *control, enum pl_mode mode)
{
    __atomic_store_n(&control->mode, mode, __ATOMIC_RELAXED);
    __atomic_store_n(&control->interval_bytes, 0, __ATOMIC_RELAXED);
}

static void set_exact(struct pl_control *control)
{
    set_mode(control, PL_MODE_EXACT);
}

static void set_auto(struct pl_control *control)
{
    set_mode(control, PL_MODE_AUTO);
}

static void set_budget(struct pl_control *control)
{
    __atomic_store_n(&control->overhead_ppm, (uint32_t) value, __ATOMIC_RELAXED);
    set_auto(control);
}

static const struct pl_option bytes_option = {.type = &pl_type_size,
                                              .takes = "BYTES",
                                              .into = &value,
                                              .min = PL_SAMPLE_MIN,
                                              .max = PL_SAMPLE_MAX,
                                              .example = "64K"};
static const struct pl_option budget_option = {.type = &pl_type_budget,
                                               .takes = "PERCENT",
                                               .into = &value,
                                               .min = PL_OVERHEAD_MIN_PPM,
                                               .max = PL_OVERHEAD_MAX_PPM,
                                               .example = "1%"};

static const struct word {
    const char *name;
    enum pl_asked asked;
    void (*write)(struct pl_control *control);
    const struct pl_option *takes; /* NULL: no value */
    const char *done;              /* what the process does now */
} words[] = {
    {"off", PL_ASKED_OFF, set_off, NULL, "records nothing until it is switched on again"},
    {"on", PL_ASKED_ON, set_on, NULL, "records"},
    {"reset", PL_ASKED_RESET, reset, NULL, "begins again: all figures count from now on"},
    {"sample", PL_ASKED_SAMPLE, set_interval, &bytes_option, NULL},
    {"exact", PL_ASKED_EXACT, set_exact, NULL, "counts every allocation"},
    {"auto", PL_ASKED_AUTO, set_auto, NULL,
     "counts every allocation while its budget allows it, and samples otherwise"},
    {"overhead", PL_ASKED_OVERHEAD, set_budget, &budget_option, NULL},
    {"snapshot", PL_ASKED_NOTHING, NULL, NULL, NULL},
};
#define WORDS (sizeof words / sizeof *words)

static enum pl_exit refuse_word(const char *typed)
{
    struct pl_nearest nearest = {.word = typed};
    char *list = pl_say_print("%s", "");
    for (size_t i = 0; i < WORDS; i++) {
        pl_nearest_offer(&nearest, words[i].name);
        pl_say_append(&list, ", ", words[i].name);
    }
    if (nearest.best)
        pl_say("control %s: no such word; did you mean %s?", typed, nearest.best);
    else
        pl_say("control %s: no such word; use one of %s", typed, list);
    free(list);
    return PL_EXIT_USAGE;
}

static const struct word *find_word(const char *typed)
{
    for (size_t i = 0; i < WORDS; i++)
        if (!strcmp(words[i].name, typed))
            return &words[i];
    return NULL;
}

static enum pl_exit read_value(const struct word *word, const char *typed)
{
    if (!typed)
        return pl_say_usage("control %s needs a value: %s %s, for example %s %s", word->name, word->name,
                            word->takes->takes, word->name, word->takes->example);
    enum pl_verdict verdict = word->takes->type->read(word->takes, typed);
    if (verdict == PL_VALUE_OK)
        return PL_EXIT_OK;
    char *complaint = pl_option_complaint(word->takes, word->name, verdict);
    pl_say("control %s %s: %s", word->name, typed, complaint);
    free(complaint);
    return PL_EXIT_USAGE;
}

/* ---- the process ---- */

static enum pl_exit refuse_foreign(const struct steered *steered, uid_t owner)
{
    const struct passwd *user = getpwuid(owner);
    char *name = user ? pl_say_print("%s", user->pw_name) : pl_say_print("%u", owner);
    pl_say("process %d belongs to the user %s; only its owner can steer it", steered->pid, name);
    free(name);
    return PL_EXIT_FAILURE;
}

static bool is_profile(const struct pl_header *header)
{
    return !memcmp(header->magic, PL_MAGIC, sizeof header->magic) && header->byte_order == PL_BYTE_ORDER;
}

static enum pl_exit map_header(struct steered *steered, const char *live, int file)
{
    struct stat status;
    if (fstat(file, &status) || !S_ISREG(status.st_mode) || status.st_size < (off_t) PL_HEADER_BYTES)
        return pl_say_failure("cannot steer process %d: %s is not a profile", steered->pid, live);
    if (status.st_uid != geteuid())
        return refuse_foreign(steered, status.st_uid);
    void *map = mmap(NULL, PL_HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map == MAP_FAILED)
        return pl_say_failure("cannot map %s: %m", live);
    steered->header = map;
    if (!is_profile(steered->header))
        return pl_say_failure("cannot steer process %d: %s is not a profile", steered->pid, live);
    if (!steered->header->steerable)
        return pl_say_failure("process %d was started with an older Plimsoll, which cannot be steered from outside",
                              steered->pid);
    return PL_EXIT_OK;
}

/* The owner is checked before the file is opened for writing, and on the open file. */
static enum pl_exit open_process(struct steered *steered)
{
    char *live;
    struct stat status;
    enum pl_exit result = pl_subject_live(steered->pid, &live);
    if (result != PL_EXIT_OK)
        return result;
    if (!stat(live, &status) && status.st_uid != geteuid())
        result = refuse_foreign(steered, status.st_uid);
    int file = result == PL_EXIT_OK ? open(live, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) : -1;
    if (file >= 0)
        result = map_header(steered, live, file);
    else if (result == PL_EXIT_OK)
        result = pl_say_failure("cannot write to %s: %m", live);
    if (file >= 0)
        close(file);
    free(live);
    return result;
}

/* ---- requests ---- */

static uint32_t request(const struct steered *steered, const struct word *word)
{
    struct pl_control *control = &steered->header->control;
    word->write(control);
    __atomic_store_n(&control->asked, word->asked, __ATOMIC_RELAXED);
    return __atomic_add_fetch(&control->request, 1, __ATOMIC_RELEASE);
}

/* A later request includes ours. */
static bool is_taken(const struct steered *steered, uint32_t number)
{
    return (int32_t) (__atomic_load_n(&steered->header->taken, __ATOMIC_ACQUIRE) - number) >= 0;
}

static bool has_ended(const struct steered *steered)
{
    return __atomic_load_n(&steered->header->end, __ATOMIC_ACQUIRE) != PL_END_NONE ||
           (kill(steered->pid, 0) && errno == ESRCH);
}

static bool wait_until_taken(const struct steered *steered, uint32_t number)
{
    const struct timespec doze = {.tv_nsec = DOZE_NS};
    uint64_t end_ns = pl_proc_now_ns() + given.wait_ns;
    while (!is_taken(steered, number)) {
        if (pl_proc_now_ns() >= end_ns || has_ended(steered))
            return is_taken(steered, number);
        nanosleep(&doze, NULL);
    }
    return true;
}

/* ---- what we say ---- */

static char *describe_done(const struct word *word)
{
    char size[PL_FIGURE_BYTES];
    pl_figure_setting(size, value);
    if (word->asked == PL_ASKED_SAMPLE)
        return pl_say_print("samples every %s on average", size);
    if (word->asked == PL_ASKED_OVERHEAD)
        return pl_say_print("counts every allocation while that costs at most %g%%, and samples otherwise",
                            (double) value / 1e4);
    return pl_say_print("%s", word->done);
}

/* When a process that has not taken the request up will do so: it depends on how it counts now. */
static const char *describe_later(const struct pl_header *header)
{
    if (header->control.off)
        return "after its next 64 KiB of allocations";
    bool counts = header->mode == PL_MODE_EXACT || (header->mode == PL_MODE_AUTO && header->automatic.exact);
    return counts && !header->control.interval_bytes ? "at its next allocation" : "when it takes its next sample";
}

static int say_later(const struct steered *steered, const struct word *word, const char *when)
{
    char waited[PL_FIGURE_BYTES];
    pl_figure_seconds(waited, (double) given.wait_ns / 1e9);
    if (has_ended(steered))
        return pl_say_failure("process %d %s before it could take up `%s`", steered->pid,
                              steered->header->end == PL_END_DETACHED ? "was detached from" : "ended", word->name);
    if (given.wait_ns)
        pl_say("requested `%s`: process %d will take it up %s; it has not in %s", word->name, steered->pid, when,
               waited);
    else
        pl_say("requested `%s`: process %d will take it up %s", word->name, steered->pid, when);
    return EXIT_LATER;
}

static void say_state(const struct steered *steered)
{
    struct pl_header header = *steered->header;
    bool off = header.control.off, waiting = !is_taken(steered, header.control.request);
    char now[PL_FIGURE_BYTES];
    header.control.off = 0;
    pl_describe_now(&header, now, sizeof now);
    char *comm = pl_say_print("%.*s", (int) sizeof header.comm, header.comm), *clean = pl_say_clean(comm);
    printf("process %d (%s): %s%s", steered->pid, clean, off ? "off; otherwise " : "", now);
    free(clean);
    free(comm);
    if (header.mode == PL_MODE_AUTO && !header.control.interval_bytes)
        printf(", auto within %g%%", header.automatic.overhead_ppm / 1e4);
    printf("%s\n", waiting ? "; a request is waiting" : "");
}

static int steer(const struct steered *steered, const struct word *word)
{
    const char *later = describe_later(steered->header);
    if (!wait_until_taken(steered, request(steered, word)))
        return say_later(steered, word, later);
    char *done = describe_done(word);
    if (!given.quiet)
        pl_say("process %d %s", steered->pid, done);
    free(done);
    return PL_EXIT_OK;
}

/* ---- the command line ---- */

static enum pl_exit check_arguments(int argc, char **argv, const struct word **word)
{
    if (!argc)
        return pl_say_usage("control needs the PID of a process that is being profiled; `%s ls` lists them",
                            pl_say_self());
    if (pl_subject_pid(argv[0]) < 0)
        return pl_say_usage("control %s: not a PID; `%s ls` lists the processes that are being profiled", argv[0],
                            pl_say_self());
    *word = argc > 1 ? find_word(argv[1]) : NULL;
    if (argc > 1 && !*word)
        return refuse_word(argv[1]);
    int most = !*word ? 1 : (*word)->takes || !(*word)->write ? 3 : 2;
    if (argc > most)
        return pl_say_usage("control %s%s%s takes no more words; got %s", argv[1], most > 2 ? " " : "",
                            most > 2 ? argv[2] : "", argv[most]);
    return *word && (*word)->takes ? read_value(*word, argv[2]) : PL_EXIT_OK;
}

/* As `plimsoll snapshot PID [NAME]`. */
static int take_snapshot(int argc, char **argv)
{
    char *arguments[] = {argv[0], argc > 2 ? argv[2] : NULL, NULL};
    return pl_command_snapshot.main(argc - 1, arguments);
}

static int control_main(int argc, char **argv)
{
    const struct word *word = NULL;
    enum pl_exit status = check_arguments(argc, argv, &word);
    if (status != PL_EXIT_OK)
        return (int) status;
    if (word && !word->write)
        return take_snapshot(argc, argv);
    struct steered steered = {.pid = pl_subject_pid(argv[0])};
    status = open_process(&steered);
    if (status != PL_EXIT_OK)
        return (int) status;
    if (word)
        return steer(&steered, word);
    say_state(&steered);
    return PL_EXIT_OK;
}

const struct pl_command pl_command_control = {
    .name = "control",
    .arguments = "PID [off|on|reset|sample BYTES|exact|auto|overhead PERCENT|snapshot [NAME]]",
    .summary = "steer a process that is being profiled: off, on, reset, sample, exact, auto",
    .details =
        "Changes how a running process is profiled, without restarting it. The process is not stopped or signalled: it "
        "finds the request in its profile when it next records something. Without a word, control prints how the "
        "process is being profiled now. Only the owner of the process can steer it.\n"
        "\n"
        "`off` records nothing until `on`. Calls and bytes of that time are still counted, as (off), and frees of "
        "blocks that are in the profile are still recorded. `reset` lets all figures begin again. `sample 64K` samples "
        "every 64 KiB on average, `exact` counts every allocation, whatever that costs, and `auto` does so while its "
        "budget allows it, as `plimsoll run` does by default; `overhead 1%` is `auto` with that budget. `snapshot` is "
        "`plimsoll snapshot PID`.\n"
        "\n"
        "control waits until the process has taken the request up. A process that counts exactly does that at its next "
        "allocation, one that samples when it takes its next sample, and one that is off after its next 64 KiB of "
        "allocations. If that takes longer than --wait, control says so; the request stays. A change reaches other "
        "threads of the process in the same way, each by itself. What was exact stays exact, each sample keeps the "
        "weight of its own interval, and the report lists the requests with their times. Children that the process "
        "forks later inherit the change.",
    .examples = "plimsoll control PID off\n"
                "plimsoll control PID on\n"
                "plimsoll control PID sample 64K\n"
                "plimsoll control PID exact\n"
                "plimsoll control PID overhead 1%",
    .statuses = "3: the request stays, but the process has not taken it up within --wait.",
    .options = options,
    .main = control_main,
};
