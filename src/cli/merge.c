/* SPDX-License-Identifier: MIT */
/*
 * merge.c - the merge command: adds up many profiles into one.
 *
 * The profiles of a fleet may not fit into memory together, so they are added up a few at a time (sum.h). Symbols that
 * the files lack are looked up at the end, once for all of them.
 *
 * Nothing is written before everything has been read, so that a failure leaves no file behind.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/figure.h"
#include "cli/cache.h"
#include "cli/option.h"
#include "cli/run/glibc.h"
#include "cli/run/summary.h"
#include "cli/subject.h"
#include "cli/sum.h"
#include "cli/term.h"
#include "format/settings.h"
#include "reader/symbols/symbolize.h"
#include "reader/write/save.h"

#define OUTPUT "merged.plim"
#define PROGRESS "plimsoll: merging"

static struct {
    const char *out;
    bool force, no_symbols, quiet;
} given = {.out = OUTPUT};

/* clang-format off */
static const struct pl_option options[] = {
    {.name = "output", .letter = 'o', .takes = "FILE", .fallback = OUTPUT, .help = "file to write to",
     .type = &pl_type_text, .into = &given.out},
    {.name = "force", .letter = 'f',
     .help = "replace FILE if it exists, and merge profiles even if two of them are of the same process",
     .type = &pl_type_flag, .into = &given.force},
    {.name = "no-symbols", .help = "do not look up names that the profiles lack",
     .type = &pl_type_flag, .into = &given.no_symbols},
    {.name = "quiet", .letter = 'q', .help = "print nothing unless something goes wrong",
     .type = &pl_type_flag, .into = &given.quiet},
    {0},
};
/* clang-format on */

/* --- refusing profiles --- */

static bool is_same_file(const char *path, const struct stat *other)
{
    struct stat status;
    return !stat(path, &status) && status.st_dev == other->st_dev && status.st_ino == other->st_ino;
}

static enum pl_exit check_output(int argc, char **argv)
{
    struct stat status;
    if (strcmp(given.out, "-") == 0)
        return pl_say_usage("-o -: a profile cannot be written to a pipe; use -o FILE" PL_SUFFIX);
    if (stat(given.out, &status))
        return PL_EXIT_OK;
    if (!S_ISREG(status.st_mode))
        return pl_say_usage("-o %s: not a regular file; use -o FILE" PL_SUFFIX, given.out);
    if (given.force)
        return PL_EXIT_OK;
    for (int i = 0; i < argc; i++)
        if (is_same_file(argv[i], &status))
            return pl_say_usage("%s is both input and output; leave it out, or use -o for another name, or --force to "
                                "replace it by the sum of itself and the others",
                                argv[i]);
    return pl_say_failure("%s already exists; use -o for another name, or --force to replace it", given.out);
}

/* A profile that has been added. */
struct seen {
    struct pl_header header;
    const char *name;
};

static enum pl_exit check_twice(const struct seen *seen, int count, const struct pl_profile *profile, const char *name)
{
    for (int i = 0; i < count && !given.force; i++) {
        if (!pl_sum_twice(&seen[i].header, &profile->header))
            continue;
        char *what = profile->merged ? pl_say_print("the same sum of %u profiles", profile->merged)
                                     : pl_say_print("of the same process (pid %u)", profile->header.pid);
        enum pl_exit status = pl_say_failure("%s and %s are %s, which would count twice; leave one out, or use --force",
                                             seen[i].name, name, what);
        free(what);
        return status;
    }
    return PL_EXIT_OK;
}

/* --- adding up --- */

/* A file keeps the names that it has. Those of a running process are looked up now: it may have another root
 * directory, which is known only here. */
static enum pl_exit open_one(char *name, struct pl_profile **out)
{
    struct stat status;
    struct pl_subject_options how = {
        .command = "merge", .no_symbols = given.no_symbols || !stat(name, &status), .languages = PL_LANGUAGES_ALL};
    enum pl_exit result = pl_subject_open(&how, 1, &name, out);
    if (result == PL_EXIT_OK && (*out)->damage > 0)
        pl_say("%s is damaged; only its readable part is added", name);
    return result;
}

static enum pl_exit add_all(int argc, char **argv, struct pl_sum *sum)
{
    struct seen *seen = pl_say_memory(calloc((size_t) argc, sizeof *seen));
    enum pl_exit status = PL_EXIT_OK;
    for (int i = 0; i < argc && status == PL_EXIT_OK; i++) {
        struct pl_profile *profile;
        status = open_one(argv[i], &profile);
        if (status != PL_EXIT_OK)
            break;
        status = check_twice(seen, i, profile, argv[i]);
        seen[i] = (struct seen){profile->header, argv[i]};
        pl_sum_add(sum, profile);
        pl_term_progress(PROGRESS, (i + 1.0) / (argc + 1));
    }
    pl_term_progress(PROGRESS, 1);
    free(seen);
    return status;
}

/* --- the result --- */

static void find_names(struct pl_profile *sum)
{
    struct pl_symbolize_options how = {.beside = pl_glibc_libraries(),
                                       .cache = pl_cache_symbols(),
                                       .progress = pl_term_progress,
                                       .context = "plimsoll: reading symbols"};
    int error = given.no_symbols ? 0 : pl_symbolize(sum, &how, NULL);
    pl_term_progress(how.context, 1);
    if (error)
        pl_say("cannot read symbols: %s", strerror(-error));
}

static void say_sum(const struct pl_profile *sum)
{
    const struct pl_estimate *total = sum->total;
    char count[PL_FIGURE_BYTES], calls[PL_FIGURE_BYTES], bytes[PL_FIGURE_BYTES];
    char peak[2 * PL_FIGURE_BYTES], live[2 * PL_FIGURE_BYTES];
    char *typed = pl_summary_typed(given.out);
    pl_figure_exact(count, sum->merged);
    pl_figure_exact(calls, (uint64_t) total[PL_METRIC_ALLOC_OBJECTS].value);
    pl_figure_bytes(bytes, total[PL_METRIC_ALLOC_SPACE].value);
    pl_figure_estimate(peak, PL_METRIC_PEAK_SPACE, &total[PL_METRIC_PEAK_SPACE]);
    pl_figure_estimate(live, PL_METRIC_INUSE_SPACE, &total[PL_METRIC_INUSE_SPACE]);
    pl_say("merged %s profile%s: %s allocation%s, %s in all; sum of peaks %s; %s never freed; next: %s report %s",
           count, pl_figure_plural(count), calls, pl_figure_plural(calls), bytes, peak, live, pl_say_self(), typed);
    free(typed);
}

static int merge_main(int argc, char **argv)
{
    struct pl_sum sum = {.parts = 0};
    char why[PL_WHY_BYTES];
    if (!argc)
        return pl_say_usage("merge needs FILEs or PIDs: %s merge a.plim b.plim -o both.plim", pl_say_self());
    enum pl_exit status = check_output(argc, argv);
    if (status == PL_EXIT_OK)
        status = add_all(argc, argv, &sum);
    if (status == PL_EXIT_OK) {
        struct pl_profile *total = pl_sum_total(&sum);
        find_names(total);
        if (pl_save(total, given.out, why))
            status = pl_say_failure("%s", why);
        else if (!given.quiet)
            say_sum(total);
    }
    pl_sum_close(&sum);
    return status;
}

const struct pl_command pl_command_merge = {
    .name = "merge",
    .arguments = "FILE|PID...",
    .summary = "merge profiles into one: a process tree, a fleet, repeated runs",
    .details =
        "Adds up profiles of files, directories and running processes, and writes the sum as one profile, which "
        "report, export, "
        "diff and check read. Sites with the same stack, tag and thread name become one. Modules with different paths "
        "or build-ids stay apart, so two builds of a program do, too. Exact figures stay exact; errors of samples "
        "combine like those of one larger sample, whatever the sampling intervals were.\n"
        "\n"
        "Each process had its peak at a different time. The merged profile has the sum of these peaks: an upper limit "
        "of the memory live at once. Timelines, heap compositions over time and ages of blocks are dropped.\n"
        "\n"
        "The merged profile contains names, so it can be read on a machine without the programs. Two profiles of the "
        "same process, for example snapshots, would count the same allocations twice, so `merge` refuses them; also "
        "the same merged profile twice. See docs/merge.md.",
    .examples = "plimsoll run -o tree.%p.plim -- sh -c 'ls /; ls -l /'\n"
                "plimsoll merge tree.*.plim -o tree.plim\n"
                "plimsoll report tree.plim\n"
                "plimsoll merge --force -o tree.plim tree.plim out.plim  # adds to a merged profile",
    .options = options,
    .main = merge_main,
};
