/* SPDX-License-Identifier: MIT */
/*
 * ls.c - the ls command: which processes are being profiled now, and what others left behind.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "figure.h"
#include "option.h"
#include "proc.h"
#include "profile.h"
#include "summary.h"
#include "term.h"
#include "utf8.h"

static struct {
    int colour;
    bool no_header;
    bool all;
} given;

/* What many killed processes left behind must not push those that run off the screen. */
#define ENDED_SHOWN 10

/* clang-format off */
static const struct pl_option options[] = {
    {.name = "all", .letter = 'a', .help = "list all profiles of ended processes, not the newest ten only",
     .type = &pl_type_flag, .into = &given.all},
    PL_COLOUR_OPTION(given.colour),
    {.name = "no-header", .help = "leave out the titles of the columns", .type = &pl_type_flag,
     .into = &given.no_header},
    {0},
};
/* clang-format on */

#define COLUMNS_COUNT 7
static const struct column {
    const char *title;
    bool right;
} columns[COLUMNS_COUNT] = {{"PID", true},     {"COMMAND", false}, {"STATE", false}, {"SINCE", false},
                            {"COUNTED", true}, {"LIVE", true},     {"FILE", false}};

struct row {
    uint64_t start_ns;
    bool running;
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

/* "exact", "2,331 samples", or both; or "damaged". */
static char *print_counted(const struct pl_profile *profile)
{
    char samples[PL_FIGURE_BYTES];
    pl_figure_exact(samples, profile->samples);
    if (profile->damage)
        return pl_say_print("damaged");
    if (profile->exact)
        return pl_say_print("exact");
    return pl_say_print("%s%s sample%s", profile->exact_calls > 0 ? "exact + " : "", samples,
                        profile->samples == 1 ? "" : "s");
}

/* What older versions of Plimsoll left behind: there may be many, and all there is to say of them is how many. */
static bool is_older(const char *path)
{
    struct pl_header header = {.magic = ""};
    FILE *file = fopen(path, "re");
    size_t got = file ? fread(&header, offsetof(struct pl_header, byte_order), 1, file) : 0;
    if (file)
        fclose(file);
    return got && !memcmp(header.magic, PL_MAGIC, sizeof header.magic) && header.version && header.version < PL_VERSION;
}

static bool describe(const struct pl_found *found, struct row *row, size_t *older)
{
    struct pl_profile *profile;
    char why[PL_WHY_BYTES];
    if (pl_profile_open(found->path, &profile, why)) {
        if (is_older(found->path))
            ++*older;
        else
            pl_say("%s", why);
        return false;
    }
    *row = (struct row){
        .start_ns = profile->header.start_realtime_ns,
        .running = found->pid,
        .cell = {pl_say_print("%u", found->pid ? (unsigned) found->pid : profile->header.pid),
                 pl_say_clean(profile->comm), pl_say_print("%s", found->pid ? "running" : "ended"),
                 print_since(profile->header.start_realtime_ns), print_counted(profile), print_live(profile),
                 pl_summary_typed(found->path)},
    };
    pl_profile_close(profile);
    return true;
}

/* Then the newest, which is what somebody has just killed. */
static int running_first(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    if (a->running != b->running)
        return b->running - a->running;
    return (a->start_ns < b->start_ns) - (a->start_ns > b->start_ns);
}

static size_t count_running(const struct row *rows, size_t count)
{
    size_t running = 0;
    while (running < count && rows[running].running)
        running++;
    return running;
}

static size_t describe_all(const struct pl_finds *finds, struct row **rows)
{
    size_t count = 0, older = 0;
    *rows = pl_say_memory(calloc(finds->count + 1, sizeof **rows));
    for (size_t i = 0; i < finds->count; i++)
        count += describe(&finds->found[i], &(*rows)[count], &older);
    qsort(*rows, count, sizeof **rows, running_first);
    if (older)
        pl_say("%zu profile%s in an older format %s left out; this plimsoll reads format %u", older,
               older == 1 ? "" : "s", older == 1 ? "is" : "are", PL_VERSION);
    return count;
}

static void measure(const struct row *rows, size_t count, size_t width[COLUMNS_COUNT])
{
    for (size_t c = 0; c < COLUMNS_COUNT; c++) {
        width[c] = strlen(columns[c].title);
        for (size_t i = 0; i < count; i++) {
            size_t cell = pl_utf8_width(rows[i].cell[c]);
            width[c] = cell > width[c] ? cell : width[c];
        }
    }
}

static void print_cells(struct pl_term *term, enum pl_style style, char *const cell[COLUMNS_COUNT],
                        const size_t width[COLUMNS_COUNT])
{
    size_t column = 0;
    for (size_t c = 0; c < COLUMNS_COUNT; c++) {
        pl_term_pad(term, column);
        if (columns[c].right)
            pl_term_right(term, style, cell[c], width[c]);
        else
            pl_term_put(term, style, cell[c]);
        column += width[c] + 2;
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

/* Data goes to stdout, what to do with it to stderr. */
static void say_next(const struct row *rows, size_t count, size_t shown)
{
    size_t running = count_running(rows, count);
    pl_say_flush();
    if (!count)
        pl_say("no process is being profiled; to start one: %s run -- PROGRAM", pl_say_self());
    if (running)
        pl_say("to look into a running process: %s report %s", pl_say_self(), rows[0].cell[0]);
    if (running < count)
        pl_say("ended without moving its profile: read it with %s report %s, then move or remove it", pl_say_self(),
               rows[running].cell[COLUMNS_COUNT - 1]);
    if (shown < count)
        pl_say("and %zu older ones: %s ls --all", count - shown, pl_say_self());
}

static int ls_main(int argc, char **argv)
{
    if (argc)
        return pl_say_usage("ls takes no arguments; to read a profile: %s report %s", pl_say_self(), argv[0]);
    struct pl_proc_table table = pl_proc_read();
    struct pl_term term = pl_term_open(stdout, (enum pl_colour) given.colour);
    struct pl_finds finds = {0};
    struct row *rows;
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
        "Lists the processes that are being profiled, found by what they have mapped (/proc/PID/maps): there is no "
        "daemon and no registry. Below them are profiles whose process was killed before it could move them to "
        "where they belong, the newest ten; `plimsoll report` reads those, too. Processes of other users are seen by "
        "root alone.",
    .examples = "plimsoll ls",
    .options = options,
    .main = ls_main,
};
