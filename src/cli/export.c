/* SPDX-License-Identifier: MIT */
/*
 * export.c - the export command: a profile in another format, for machines.
 */
#include "export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "figure.h"
#include "option.h"
#include "proc.h"
#include "select.h"
#include "subject.h"
#include "summary.h"
#include "threads.h"

static const struct format {
    const char *word;
    pl_export_function *write;
    double threshold; /* percent; -1: not a format of tags */
} formats[] = {
#define ROW(name, word, threshold, help) {word, pl_export_##name, threshold},
    PL_EXPORT_FORMATS(ROW)
#undef ROW
};

static const char *const words[] = {
#define ROW(name, word, threshold, help) word,
    PL_EXPORT_FORMATS(ROW)
#undef ROW
        NULL,
};

enum by { BY_TAG, BY_THREAD_TAG };
static const char *const by_words[] = {[BY_TAG] = "tag", [BY_THREAD_TAG] = "thread,tag", NULL};

static struct {
    int format;
    int by;
    struct pl_select select;
    double threshold;
    const char *output;
    const char *names;
    bool force;
    bool no_symbols;
} given = {.select = PL_SELECT_NOTHING, .threshold = -1};

#define HELP(name, word, threshold, help) "; " word ": " help
/* clang-format off */
static const struct pl_option options[] = {
    {.name = "format", .letter = 'f', .takes = "NAME", .fallback = "json", .help = "the format" PL_EXPORT_FORMATS(HELP),
     .type = &pl_type_choice, .into = &given.format, .choices = words},
    {.name = "output", .letter = 'o', .takes = "FILE", .fallback = "stdout", .help = "where to write it",
     .type = &pl_type_text, .into = &given.output},
    PL_SELECT_TAG(given.select),
    PL_SELECT_THREAD(given.select),
    PL_SELECT_MERGE(given.select),
    {.name = "by", .takes = "WHAT", .fallback = "tag", .help = "for trees of tags: tag, one tree (or as many as "
     "--merge-threads tells apart); or thread,tag, a tree for each thread", .type = &pl_type_choice, .into = &given.by,
     .choices = by_words},
    PL_SELECT_METRIC(given.select, "allocated"),
    {.name = "threshold", .letter = 't', .takes = "PCT", .fallback = "0; 1% in tags-dot, 0.1% in tags-svg",
     .help = "take tags together that have less of the whole", .type = &pl_type_percent, .into = &given.threshold},
    PL_NAMES_OPTION(given.names),
    {.name = "force", .help = "use binaries that were rebuilt since the profile was made", .type = &pl_type_flag,
     .into = &given.force},
    {.name = "no-symbols", .help = "leave addresses as they are", .type = &pl_type_flag, .into = &given.no_symbols},
    {0},
};
/* clang-format on */

static bool about_tags(void)
{
    return formats[given.format].threshold >= 0;
}

/* --- where it goes --- */

/* What is written, and how. */
struct content {
    const struct pl_profile *profile;
    struct pl_export_options options;
};

/* 0 or an errno. */
static int write_stream(const struct content *content, FILE *out)
{
    if (!out)
        return errno;
    formats[given.format].write(content->profile, &content->options, out);
    int error = ferror(out) ? EIO : 0;
    return fclose(out) ? errno : error;
}

/* Into a temporary file that then takes the name: an export that failed leaves what was there before. */
static int replace(const struct content *content, const char *path)
{
    char *temporary = pl_say_print("%s.%d.tmp", path, getpid());
    FILE *out = fopen(temporary, "wex");
    bool made = out;
    int error = write_stream(content, out);
    if (!error && rename(temporary, path))
        error = errno;
    if (error && made)
        unlink(temporary);
    free(temporary);
    return error;
}

/* A device, a pipe or a link is written to as it is: to replace /dev/full by a file would be somebody's bad day. */
static int write_file(const struct content *content, const char *path)
{
    struct pl_header header;
    struct stat status;
    if (pl_proc_header(path, &header))
        return pl_say_usage("--output %s is a profile; choose another name for the %s", path, words[given.format]);
    bool plain = lstat(path, &status) || S_ISREG(status.st_mode);
    int error = plain ? replace(content, path) : write_stream(content, fopen(path, "we"));
    return error ? pl_say_failure("cannot write %s: %s", path, strerror(error)) : PL_EXIT_OK;
}

static enum pl_exit write_export(const struct content *content)
{
    if (given.output && strcmp(given.output, "-"))
        return write_file(content, given.output);
    formats[given.format].write(content->profile, &content->options, stdout);
    return PL_EXIT_OK;
}

/* --- what it is --- */

static enum pl_exit check_options(void)
{
    const char *wrong = given.select.merge                           ? "--merge-threads"
                        : given.select.metric != PL_SELECT_NO_METRIC ? "--metric"
                        : given.by != BY_TAG                         ? "--by"
                        : given.threshold >= 0                       ? "--threshold"
                                                                     : NULL;
    if (about_tags() || !wrong)
        return PL_EXIT_OK;
    return pl_say_usage("%s is for trees of tags; add --format tags-json, tags-dot or tags-svg", wrong);
}

/* As in report. */
static enum pl_exit make_groups(const struct pl_profile *profile, struct pl_groups *out)
{
    if (given.select.merge || given.by == BY_THREAD_TAG)
        return pl_threads_groups(&given.select, profile, out);
    return pl_select_groups(&given.select, profile, PL_GROUP_ALL, out);
}

static enum pl_exit write_tags(const struct pl_profile *profile, const char *selection)
{
    struct pl_groups groups;
    struct pl_tag_forest forest;
    enum pl_metric metric = pl_select_metric(&given.select, PL_METRIC_ALLOC_SPACE);
    enum pl_exit status = make_groups(profile, &groups);
    if (status != PL_EXIT_OK)
        return status;
    pl_tag_forest_grow(profile, &groups, metric, &forest);
    double percent = given.threshold >= 0 ? given.threshold : formats[given.format].threshold;
    status = write_export(&(struct content){profile,
                                            {.selection = selection,
                                             .forest = &forest,
                                             .metric = metric,
                                             .threshold = percent / 100,
                                             .figure = pl_figure_estimate}});
    pl_tag_forest_free(&forest);
    pl_groups_free(&groups);
    return status;
}

static enum pl_exit write_selection(const struct pl_profile *whole, const char *subject)
{
    struct pl_selection selection;
    enum pl_exit status = pl_select_apply(&given.select, whole, subject, &selection);
    if (status != PL_EXIT_OK)
        return status;
    if (about_tags())
        status = write_tags(selection.profile, selection.words);
    else
        status = write_export(&(struct content){selection.profile, {.selection = selection.words}});
    pl_selection_free(&selection);
    return status;
}

static int export_main(int argc, char **argv)
{
    struct pl_profile *profile;
    struct pl_subject_options how = {
        .command = "export",
        .force = given.force,
        .no_symbols = given.no_symbols || about_tags(),
        .names = {.file = given.names},
    };
    enum pl_exit status = check_options();
    if (status == PL_EXIT_OK)
        status = pl_subject_open(&how, argc, argv, &profile);
    if (status != PL_EXIT_OK)
        return status;
    char *subject = pl_summary_typed(argv[0]);
    status = write_selection(profile, subject);
    free(subject);
    pl_profile_close(profile);
    return status;
}

const struct pl_command pl_command_export = {
    .name = "export",
    .arguments = "FILE|PID",
    .summary = "write a profile in another format, for machines",
    .details =
        "Writes everything that is in a profile, with names, in the chosen format. The JSON schema is described in "
        "docs/json.md. Like report, it reads a finished profile or a running process.\n"
        "\n"
        "The formats whose names begin with tags- are about what memory was for: the tree of tags, with self and total "
        "of each. --threshold takes small ones together: nothing is left out of the totals.",
    .examples = "plimsoll export --format json out.plim -o out.json\n"
                "plimsoll export --format tags-svg out.plim -o tags.svg\n"
                "plimsoll export --format tags-dot --metric live out.plim | dot -Tpdf -o tags.pdf\n"
                "plimsoll export --format tags-json --metric calls --merge-threads 'worker-.*' out.plim\n"
                "plimsoll export PID",
    .options = options,
    .main = export_main,
};
