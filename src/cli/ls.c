/* SPDX-License-Identifier: MIT */
/*
 * ls.c - the ls command: lists the processes that are being profiled, and the profiles that killed ones left behind.
 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analysis/figure.h"
#include "analysis/filefull.h"
#include "cli/option.h"
#include "cli/pager.h"
#include "cli/proc.h"
#include "cli/run/collect.h"
#include "cli/run/summary.h"
#include "cli/table.h"
#include "cli/term.h"
#include "reader/profile.h"

static struct {
    int colour;
    bool no_header;
    bool all;
    bool clean;
} given;

#define BLOCK_BYTES 512 /* of st_blocks */

/* So that profiles of killed processes do not push running processes off the screen. */
#define ENDED_SHOWN 10

#define FILE_LEAST 16 /* of a path: less is not worth reading */
#define GAP 2         /* between columns */

/* clang-format off */
static const struct pl_option options[] = {
    {.name = "all", .letter = 'a', .help = "list all profiles of ended processes, not only the newest ten",
     .type = &pl_type_flag, .into = &given.all},
    {.name = "clean", .help = "remove your profiles of ended processes from the live directories, and list nothing",
     .type = &pl_type_flag, .into = &given.clean},
    PL_COLOUR_OPTION(given.colour),
    {.name = "no-header", .help = "do not print column titles", .type = &pl_type_flag,
     .into = &given.no_header},
    {0},
};
/* clang-format on */

enum {
    COLUMN_PID,
    COLUMN_COMMAND,
    COLUMN_STATE,
    COLUMN_SINCE,
    COLUMN_COUNTED,
    COLUMN_LIVE,
    COLUMN_FILE,
    COLUMNS_COUNT
};
static const struct column {
    const char *title;
    bool right;
} columns[COLUMNS_COUNT] = {
    [COLUMN_PID] = {"PID", true},      [COLUMN_COMMAND] = {"COMMAND", false}, [COLUMN_STATE] = {"STATE", false},
    [COLUMN_SINCE] = {"SINCE", false}, [COLUMN_COUNTED] = {"COUNTED", true},  [COLUMN_LIVE] = {"LIVE", true},
    [COLUMN_FILE] = {"FILE", false},
};

#define COMMAND_WIDE 40 /* of a command on a terminal; the rest is cut */
#define COMMAND_LEAST 12

struct row {
    uint64_t start_ns;
    bool running;
    bool collected; /* its process has ended, and the `plimsoll run` that started it will collect it */
    char *cell[COLUMNS_COUNT];
};

static char *print_since(uint64_t start_ns)
{
    time_t start = (time_t) (start_ns / 1000000000u), now = time(NULL);
    char text[64];
    struct tm parts;
    bool today = now - start < 86400;
    if (!localtime_r(&start, &parts) || !strftime(text, sizeof text, today ? "%H:%M:%S" : "%Y-%m-%d %H:%M", &parts))
        strcpy(text, "?");
    return pl_say_print("%s", text);
}

static char *print_live(const struct pl_profile *profile)
{
    char text[2 * PL_FIGURE_BYTES];
    pl_figure_estimate(text, PL_METRIC_INUSE_SPACE, &profile->total[PL_METRIC_INUSE_SPACE]);
    return pl_say_print("%s", text);
}

/* "exact", "2,331 samples", or both; "exact totals" if the file was full; or "damaged". */
static char *print_counted(const struct pl_profile *profile)
{
    char samples[PL_FIGURE_BYTES];
    pl_figure_exact(samples, profile->samples);
    if (profile->damage)
        return pl_say_print("damaged");
    if (profile->exact)
        return pl_say_print("%s", pl_filefull_lost(&profile->header) ? "exact totals" : "exact");
    return pl_say_print("%s%s sample%s", profile->exact_calls > 0 ? "exact + " : "", samples,
                        profile->samples == 1 ? "" : "s");
}

/* The directory of a `plimsoll run` that is still running, and will collect what is in it? Its name has the pid. */
static bool is_collected(const char *path)
{
    int pid;
    const char *directory = strstr(path, "/" PL_COLLECT_PREFIX);
    return directory && sscanf(directory, "/" PL_COLLECT_PREFIX "%d.", &pid) == 1 && pid > 0 &&
           (kill(pid, 0) == 0 || errno != ESRCH);
}

/* The words of the program alone, as the profile has them. */
static char *print_words(const struct pl_profile *profile)
{
    char *words = pl_say_print("%s", profile->argv[0] ? basename(profile->argv[0]) : profile->comm);
    for (const char **word = profile->argv; *word && word[1]; word++)
        pl_say_append(&words, " ", word[1]);
    return words;
}

/* The title of a running process, which it may have set itself ("postgres: checkpointer"); of an ended one the name. If
 * a loader was started by its own name, the kernel's title begins with the loader's words. */
static char *print_command(const struct pl_proc_found *found, const struct pl_profile *profile)
{
    char *title = found->pid ? pl_proc_title(found->pid) : NULL;
    if (title && (!strncmp(title, "ld-linux", strlen("ld-linux")) || !strncmp(title, "ld-musl", strlen("ld-musl")))) {
        free(title);
        title = print_words(profile);
    }
    char *clean = pl_say_clean(title ? title : profile->comm);
    free(title);
    return clean;
}

/* Is it a profile of an older version of Plimsoll? There may be many of those; they are only counted. */
static bool is_older(const char *path)
{
    struct pl_header header = {.magic = ""};
    FILE *file = fopen(path, "re");
    size_t got = file ? fread(&header, offsetof(struct pl_header, byte_order), 1, file) : 0;
    if (file)
        fclose(file);
    return got && !memcmp(header.magic, PL_MAGIC, sizeof header.magic) && header.version &&
           header.version < PL_VERSION_OLDEST;
}

static bool describe(const struct pl_proc_found *found, struct row *row, size_t *older)
{
    struct pl_profile *profile;
    char why[PL_WHY_BYTES];
    int error = pl_profile_open(found->path, &profile, why);
    if (error) {
        if (is_older(found->path))
            ++*older;
        else if (error != -ENOENT) /* its process has ended meanwhile, and has moved it */
            pl_say("%s", why);
        return false;
    }
    bool collected = !found->pid && is_collected(found->path);
    *row = (struct row){
        .start_ns = profile->header.start_realtime_ns,
        .running = found->pid,
        .collected = collected,
        .cell = {pl_say_print("%u", found->pid ? (unsigned) found->pid : profile->header.pid),
                 print_command(found, profile),
                 pl_say_print("%s", found->pid  ? "running"
                                    : collected ? "collecting"
                                                : "ended"),
                 print_since(profile->header.start_realtime_ns), print_counted(profile), print_live(profile),
                 pl_summary_typed(found->path)},
    };
    pl_profile_close(profile);
    return true;
}

/* Running processes first; then the newest, because that is the one that was just killed; last those that need nobody's
 * attention. */
static int running_first(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    if (a->running != b->running)
        return b->running - a->running;
    if (a->collected != b->collected)
        return a->collected - b->collected;
    return (a->start_ns < b->start_ns) - (a->start_ns > b->start_ns);
}

static size_t count_running(const struct row *rows, size_t count)
{
    size_t running = 0;
    while (running < count && rows[running].running)
        running++;
    return running;
}

static size_t describe_all(const struct pl_proc_finds *finds, struct row **rows)
{
    size_t count = 0, older = 0;
    *rows = pl_say_memory(calloc(finds->count + 1, sizeof **rows));
    for (size_t i = 0; i < finds->count; i++)
        count += describe(&finds->found[i], &(*rows)[count], &older);
    qsort(*rows, count, sizeof **rows, running_first);
    if (older)
        pl_say("%zu profile%s in an older format %s not listed; this plimsoll reads formats %u to %u", older,
               older == 1 ? "" : "s", older == 1 ? "is" : "are", PL_VERSION_OLDEST, PL_VERSION);
    return count;
}

static void measure(const struct row *rows, size_t count, size_t width[COLUMNS_COUNT])
{
    for (size_t c = 0; c < COLUMNS_COUNT; c++) {
        width[c] = strlen(columns[c].title);
        for (size_t i = 0; i < count; i++)
            pl_table_widen(&width[c], rows[i].cell[c]);
    }
}

/* The width of all columns before the path. */
static size_t width_before_file(const size_t width[COLUMNS_COUNT])
{
    size_t sum = 0;
    for (size_t c = 0; c + 1 < COLUMNS_COUNT; c++)
        sum += width[c] ? width[c] + GAP : 0;
    return sum;
}

/* On a narrow terminal, a path of which a few characters are left would not be worth a line of its own: these columns
 * make room for it, one by one. */
static void make_room(const struct pl_term *term, size_t width[COLUMNS_COUNT])
{
    static const size_t least_needed[] = {COLUMN_COUNTED, COLUMN_SINCE};
    if (!term->whole && width[COLUMN_COMMAND] > COMMAND_WIDE)
        width[COLUMN_COMMAND] = COMMAND_WIDE;
    for (size_t i = 0; i < sizeof least_needed / sizeof *least_needed; i++)
        if (!term->whole && width_before_file(width) + FILE_LEAST > term->width)
            width[least_needed[i]] = 0;
    while (!term->whole && width[COLUMN_COMMAND] > COMMAND_LEAST && width_before_file(width) + FILE_LEAST > term->width)
        width[COLUMN_COMMAND]--;
}

/* The path is cut only where the next columns would go to another line. */
static size_t room_for_file(const struct pl_term *term, size_t column)
{
    return column < term->width ? term->width - column : 1;
}

/* A column of width 0 is left out. */
static void print_cells(struct pl_term *term, enum pl_style style, char *const cell[COLUMNS_COUNT],
                        const size_t width[COLUMNS_COUNT])
{
    size_t column = 0;
    for (size_t c = 0; c < COLUMNS_COUNT; c++) {
        if (!width[c])
            continue;
        pl_term_pad(term, column);
        if (columns[c].right)
            pl_term_right(term, style, cell[c], width[c]);
        else
            pl_term_cut(term, style, cell[c], c + 1 < COLUMNS_COUNT ? width[c] : room_for_file(term, column));
        column += width[c] + GAP;
    }
    pl_term_end(term);
}

static void print_rows(struct pl_term *term, const struct row *rows, size_t count)
{
    size_t width[COLUMNS_COUNT];
    char *titles[COLUMNS_COUNT];
    for (size_t c = 0; c < COLUMNS_COUNT; c++)
        titles[c] = (char *) columns[c].title;
    measure(rows, count, width);
    make_room(term, width);
    if (!given.no_header)
        print_cells(term, PL_STYLE_BOLD, titles, width);
    for (size_t i = 0; i < count; i++)
        print_cells(term, PL_STYLE_PLAIN, rows[i].cell, width);
}

static void free_rows(struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t c = 0; c < COLUMNS_COUNT; c++)
            free(rows[i].cell[c]);
    free(rows);
}

/* Prints hints to stderr; the list itself has gone to stdout. */
static void say_next(const struct row *rows, size_t count, size_t shown)
{
    size_t running = count_running(rows, count);
    pl_say_flush();
    pl_pager_end();
    if (!count)
        pl_say("no process is being profiled; to start one: %s run -- PROGRAM", pl_say_self());
    if (running)
        pl_say("to read the profile of a running process: %s report %s", pl_say_self(), rows[0].cell[COLUMN_PID]);
    if (running < count && rows[running].collected)
        pl_say("`%s run` is still running and will collect the profiles of its ended processes", pl_say_self());
    else if (running < count)
        pl_say("to read the profile of an ended process: %s report %s; to remove all of them: %s ls --clean",
               pl_say_self(), rows[running].cell[COLUMN_FILE], pl_say_self());
    if (shown < count)
        pl_say("%zu older ones are not shown; to list all: %s ls --all", count - shown, pl_say_self());
}

/* --- cleaning up --- */

/* Removes the directory of a run that has ended, if nothing is left in it but the mark of its owner. */
static void remove_directory(const char *path)
{
    char *directory = pl_say_print("%.*s", (int) (strrchr(path, '/') - path), path);
    char *owner = pl_say_print("%s/" PL_COLLECT_OWNER, directory);
    if (!strncmp(basename(directory), PL_COLLECT_PREFIX, strlen(PL_COLLECT_PREFIX)) && rmdir(directory)) {
        unlink(owner);
        rmdir(directory);
    }
    free(owner);
    free(directory);
}

static int clean(void)
{
    struct pl_proc_table table = {0};
    struct pl_proc_finds finds = {0};
    size_t removed = 0, failed = 0;
    double bytes = 0;
    pl_proc_find_leftover(&table, &finds);
    for (size_t i = 0; i < finds.count; i++) {
        const char *path = finds.found[i].path;
        struct stat status;
        if (lstat(path, &status) || status.st_uid != geteuid() || is_collected(path))
            continue;
        if (unlink(path)) {
            pl_say("cannot remove %s: %m", path);
            failed++;
            continue;
        }
        removed++;
        bytes += (double) status.st_blocks * BLOCK_BYTES;
        remove_directory(path);
    }
    char size[PL_FIGURE_BYTES];
    pl_figure_bytes(size, bytes);
    if (removed)
        pl_say("removed %zu profile%s of ended processes: %s", removed, removed == 1 ? "" : "s", size);
    else if (!failed)
        pl_say("none of your ended processes has left a profile");
    pl_proc_free_finds(&finds);
    pl_proc_free(&table);
    return failed ? PL_EXIT_FAILURE : PL_EXIT_OK;
}

static int ls_main(int argc, char **argv)
{
    if (argc)
        return pl_say_usage("ls takes no arguments; to read a profile: %s report %s", pl_say_self(), argv[0]);
    if (given.clean)
        return clean();
    struct pl_proc_table table = pl_proc_read();
    struct pl_term term = pl_term_open(stdout, (enum pl_colour) given.colour);
    struct pl_proc_finds finds = {0};
    struct row *rows;
    term.whole = !pl_term_shown(&term); /* programs get whole paths */
    pl_proc_find_mapped(&table, &finds);
    pl_proc_find_leftover(&table, &finds);
    size_t count = describe_all(&finds, &rows);
    size_t most = count_running(rows, count) + ENDED_SHOWN, shown = given.all || count < most ? count : most;
    if (shown)
        print_rows(&term, rows, shown);
    say_next(rows, count, shown);
    free_rows(rows, count);
    pl_proc_free_finds(&finds);
    pl_proc_free(&table);
    return PL_EXIT_OK;
}

const struct pl_command pl_command_ls = {
    .name = "ls",
    .arguments = "",
    .summary = "list the processes that are being profiled now",
    .details =
        "Lists the processes that are being profiled. `ls` finds them by their mapped profiles (/proc/PID/maps); there "
        "is no daemon and no registry. COMMAND is the process's title: its command line, unless it "
        "has set another. Below them, it lists the newest ten profiles of processes that were killed before they "
        "could move their profiles to the destination; `plimsoll report` reads those, too. `collecting` means that a "
        "running `plimsoll run` will collect the profile. Only root sees processes of other users.\n"
        "\n"
        "With --clean, `ls` removes those profiles instead, if they are yours and no `plimsoll run` will collect them. "
        "It "
        "must see all processes that use the directories: do not use it in a container that shares /dev/shm with "
        "others.",
    .examples = "plimsoll ls",
    .options = options,
    .main = ls_main,
};
