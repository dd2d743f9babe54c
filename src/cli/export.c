/* SPDX-License-Identifier: MIT */
/*
 * export.c - the export command: writes a profile in another format, for other tools.
 */
#include "analysis/traits.h"
#include "export/export.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/metric.h"
#include "cli/option.h"
#include "cli/files.h"
#include "cli/select.h"
#include "cli/subject.h"
#include "cli/term.h"
#include "export/flat.h"
#include "page/data/page_data.h"
#include "reader/describe.h"
#include "reader/join/join.h"
#include "reader/site.h"

/* Facts that the page shows besides the profile's figures. Only the format `page` has them. */
static struct pl_page_about page_about;

static void write_page(const struct pl_profile *profile, const struct pl_export_options *options, FILE *out)
{
    struct pl_page_about about = page_about;
    about.selection = options->selection;
    about.metric = options->metric;
    pl_page_data_write(profile, &about, out);
}

/* The last format, page data, is for tests and for people who work on the page. Help does not list it. */
#define PAGE_TRAITS (PL_EXPORT_WHOLE | PL_EXPORT_SIGNED | PL_EXPORT_BINARY)

static const struct format {
    const char *word;
    pl_export_function *write;
    unsigned traits; /* enum pl_export_trait */
    double threshold;
} formats[] = {
#define ROW(name, word, traits, threshold, help) {word, pl_export_##name, traits, threshold},
    PL_EXPORT_FORMATS(ROW)
#undef ROW
        {"page", write_page, PAGE_TRAITS, 0},
};

static const char *const words[] = {
#define ROW(name, word, traits, threshold, help) word,
    PL_EXPORT_FORMATS(ROW)
#undef ROW
        "page",
    NULL,
};
#define WORDS_OFFERED (sizeof words / sizeof *words - 2)

/* In the order of enum pl_flat_by, whose bits they are. */
static const char *const by_words[] = {"stack", "tag", "thread", "thread,tag", NULL};
#define BY_NOT_GIVEN (-1)

/* In the order of enum pl_digest_figures. */
static const char *const figures_words[] = {"all", "live", "allocated", NULL};

static struct {
    int format;
    int by;
    int figures;
    struct pl_select select;
    double threshold;
    const char *output;
    const char *names;
    const char *base;
    bool force;
    const char *sysroot;
    bool no_symbols;
    bool python, native;
} given = {.select = PL_SELECT_NOTHING, .threshold = -1, .by = BY_NOT_GIVEN};

#define HELP(name, word, traits, threshold, help) "; " word ": " help
/* clang-format off */
static const struct pl_option options[] = {
    {.name = "format", .letter = 'f', .takes = "NAME", .fallback = "json",
     .help = "the format to write" PL_EXPORT_FORMATS(HELP), .type = &pl_type_choice, .into = &given.format,
     .choices = words, .offered = WORDS_OFFERED},
    {.name = "output", .letter = 'o', .takes = "FILE", .fallback = "stdout", .help = "file to write to",
     .type = &pl_type_text, .into = &given.output},
    PL_SELECT_METRIC(given.select, "live; peak if hardly anything is live; allocated for tag trees"),
    {.name = "by", .takes = "WHAT", .fallback = "stack; tag for tag trees", .help = "frames to add in front of each "
     "stack; none (stack), its tag, its thread, or both (thread,tag); for tag trees: one tree (tag), or one for each "
     "thread (thread,tag)", .type = &pl_type_choice, .into = &given.by, .choices = by_words},
    PL_SELECT_HEAP(given.select),
    PL_SELECT_TAG(given.select),
    PL_SELECT_THREAD(given.select),
    PL_SELECT_MERGE(given.select),
    PL_SELECT_STACKS(given.select),
    PL_SELECT_TIMES(given.select),
    PL_SELECT_SNAPSHOT(given.select),
    {.name = "threshold", .letter = 't', .takes = "PCT", .fallback = "0; more for pictures and massif",
     .help = "combine stacks, or tags, with a smaller share of the total; they stay in the totals",
     .type = &pl_type_percent, .into = &given.threshold},
    {.name = "figures", .takes = "WHICH", .fallback = "all", .help = "for stores of profiles (pprof and otlp), which "
     "tell them apart by the duration: `live` memory at the end, with duration 0, or what was `allocated` in the run",
     .type = &pl_type_choice, .into = &given.figures, .choices = figures_words},
    {.name = "diff-base", .takes = "FILE|PID", .help = "write the difference vs this profile of the same program; "
     "figures may be negative (json, pprof, collapsed, csv, dot and svg)", .type = &pl_type_text,
     .into = &given.base},
    PL_LANGUAGE_OPTIONS(given.python, given.native),
    PL_NAMES_OPTION(given.names),
    PL_FORCE_OPTION(given.force),
    PL_SYSROOT_OPTION(given.sysroot),
    {.name = "no-symbols", .help = "write addresses instead of names", .type = &pl_type_flag,
     .into = &given.no_symbols},
    {0},
};
/* clang-format on */

static bool is(enum pl_export_trait trait)
{
    return formats[given.format].traits & trait;
}

/* --- output --- */

struct content {
    const struct pl_profile *profile;
    struct pl_export_options options;
};

static void write_content(void *content, FILE *out)
{
    const struct content *what = content;
    formats[given.format].write(what->profile, &what->options, out);
}

static enum pl_exit write_file(const struct content *content, const char *path)
{
    struct content copy = *content;
    char *what = pl_say_print("the %s", words[given.format]);
    struct pl_files_content written = {what, PL_FILES_USUAL, write_content, &copy};
    enum pl_exit status = pl_files_write(&written, path);
    free(what);
    return status;
}

static enum pl_exit write_export(const struct content *content)
{
    if (given.output && strcmp(given.output, "-"))
        return write_file(content, given.output);
    if (is(PL_EXPORT_BINARY) && isatty(STDOUT_FILENO))
        return pl_say_usage("%s is a binary format and cannot be written to a terminal; add -o FILE",
                            words[given.format]);
    formats[given.format].write(content->profile, &content->options, stdout);
    return PL_EXIT_OK;
}

/* --- what to write --- */

static enum pl_exit refuse_difference(void)
{
    char *able = pl_say_print("%s", "");
    for (size_t i = 0; i < WORDS_OFFERED; i++)
        if (formats[i].traits & PL_EXPORT_SIGNED)
            pl_say_append(&able, ", ", words[i]);
    enum pl_exit status = pl_say_usage("%s has no negative figures, so it cannot show a difference; use %s, or see "
                                       "`%s diff`",
                                       words[given.format], able, pl_say_self());
    free(able);
    return status;
}

static enum pl_exit check_options(void)
{
    if (given.select.merge && !is(PL_EXPORT_TAGS))
        return pl_say_usage("--merge-threads is for tag trees; add --format tags-json, tags-dot or tags-svg");
    if (given.figures != PL_FIGURES_ALL && !is(PL_EXPORT_FIGURES))
        return pl_say_usage("--figures is for stores of profiles; add --format pprof or otlp");
    if (given.base && !is(PL_EXPORT_SIGNED))
        return refuse_difference();
    if (given.base && (pl_select_in_time(&given.select)))
        return pl_say_usage("--diff-base cannot be combined with --since or --until; choose one");
    if (is(PL_EXPORT_WHOLE) && (given.by != BY_NOT_GIVEN || given.threshold >= 0))
        return pl_say_usage("%s contains everything, so --by and --threshold have no effect; leave them out",
                            words[given.format]);
    return PL_EXIT_OK;
}

static bool any_live(const struct pl_profile *profile)
{
    for (uint32_t i = 0; i < profile->sites; i++)
        if (pl_site_value(&profile->site[i], PL_METRIC_INUSE_SPACE) > 0)
            return true;
    return false;
}

/* As in report. */
static enum pl_metric usual_metric(const struct pl_profile *profile)
{
    if (is(PL_EXPORT_TAGS))
        return PL_METRIC_ALLOC_SPACE;
    bool live = profile->difference ? any_live(profile) : pl_metric_live_matters(profile);
    return pl_metric_first(profile, live || is(PL_EXPORT_OVER_TIME));
}

static struct pl_export_options make_options(const struct pl_profile *profile, const char *selection)
{
    double percent = given.threshold >= 0 ? given.threshold : formats[given.format].threshold;
    return (struct pl_export_options){
        .selection = selection,
        .metric = pl_select_metric(&given.select, usual_metric(profile)),
        .threshold = percent / 100,
        .by = given.by == BY_NOT_GIVEN ? PL_FLAT_BY_STACK : (unsigned) given.by,
        .figures = (enum pl_digest_figures) given.figures,
    };
}

/* As in report. */
static enum pl_exit make_groups(const struct pl_profile *profile, struct pl_groups *out)
{
    if (given.select.merge || (given.by != BY_NOT_GIVEN && given.by & PL_FLAT_BY_THREAD))
        return pl_select_threads(&given.select, profile, out);
    return pl_select_groups(&given.select, profile, PL_GROUP_ALL, out);
}

static enum pl_exit write_tags(const struct pl_profile *profile, struct pl_export_options how)
{
    struct pl_groups groups;
    struct pl_tag_forest forest;
    enum pl_exit status = make_groups(profile, &groups);
    if (status != PL_EXIT_OK)
        return status;
    pl_tagtree_grow(profile, &groups, how.metric, &forest);
    how.forest = &forest;
    status = write_export(&(struct content){profile, how});
    pl_tagtree_free(&forest);
    pl_groups_free(&groups);
    return status;
}

static enum pl_exit write_stacks(const struct pl_profile *profile, struct pl_export_options how)
{
    struct pl_flat_options wanted = {
        .by = how.by,
        .apart = is(PL_EXPORT_APART),
        .metric = how.metric,
        .threshold = is(PL_EXPORT_BY_NODE) ? 0 : how.threshold,
        .no_negatives = !is(PL_EXPORT_SIGNED),
    };
    struct pl_flat *flat = pl_flat_new(profile, &wanted);
    how.flat = flat;
    if (flat->shrank)
        pl_say("%u stacks shrank; %s has no negative figures, so they count as 0", flat->shrank, words[given.format]);
    enum pl_exit status = write_export(&(struct content){profile, how});
    pl_flat_free(flat);
    return status;
}

static enum pl_exit write_any(const struct pl_profile *profile, const char *selection)
{
    struct pl_export_options how = make_options(profile, selection);
    if (profile->difference && is(PL_EXPORT_TAGS))
        return pl_say_usage("%s cannot show a difference; use --by tag with another format", words[given.format]);
    if (is(PL_EXPORT_TAGS))
        return write_tags(profile, how);
    if (is(PL_EXPORT_STACKS))
        return write_stacks(profile, how);
    return write_export(&(struct content){profile, how});
}

/* Shows that it is busy, as large profiles take a while; but not while it writes to a terminal, where the output shows
 * that. */
static enum pl_exit write_profile(const struct pl_profile *profile, const char *selection)
{
    if (given.output || !isatty(STDOUT_FILENO))
        pl_term_busy("plimsoll: writing");
    enum pl_exit status = write_any(profile, selection);
    pl_term_busy(NULL);
    return status;
}

/* --- the profiles --- */

/* An open profile, and the selected part of it. */
struct asked {
    struct pl_selection selection;
    char *title;
};

/* Prints what a report would say in its first lines. */
static void say_flaws(const char *typed, const struct asked *asked)
{
    char method[PL_WHY_BYTES];
    pl_describe_method(asked->selection.whole, method, sizeof method);
    if (asked->selection.whole->damage)
        pl_say("%s: %s", typed, method);
    if (pl_select_in_time(&given.select))
        pl_say("%s: %s", typed, asked->selection.words);
}

/* Also removes names that are stored in the file. */
static void forget_names(struct pl_profile *profile)
{
    for (uint32_t i = 0; i < profile->frames; i++)
        profile->frame[i].places = 0;
}

static enum pl_exit open_asked(const char *typed, struct asked *out)
{
    struct pl_subject_options how = {
        .command = "export",
        .force = given.force,
        .sysroot = given.sysroot,
        .no_symbols = given.no_symbols || (is(PL_EXPORT_TAGS) && !given.select.focus && !given.select.ignore),
        .languages = pl_subject_languages(given.python, given.native),
        .names = {.file = given.names},
    };
    char *path = pl_subject_snapshot(typed, given.select.snapshot);
    if (!path)
        return PL_EXIT_USAGE;
    struct pl_profile *profile;
    enum pl_exit status = pl_subject_open(&how, 1, &path, &profile);
    if (status == PL_EXIT_OK && given.no_symbols)
        forget_names(profile);
    if (status == PL_EXIT_OK)
        status = pl_select_take(&given.select, profile, path, &out->selection);
    if (status == PL_EXIT_OK) {
        out->title = pl_traits_command(profile);
        say_flaws(path, out);
    }
    free(path);
    return status;
}

static void close_asked(struct asked *asked)
{
    pl_select_free(&asked->selection);
    free(asked->title);
}

static struct pl_page_about describe(const struct asked *asked)
{
    return (struct pl_page_about){
        .subject = asked->selection.subject,
        .title = asked->title,
        .title_live = pl_metric_title(asked->selection.whole, PL_METRIC_INUSE_SPACE),
    };
}

static enum pl_exit write_difference(const struct asked *base, const struct asked *now)
{
    const struct pl_profile *part[] = {base->selection.profile, now->selection.profile};
    struct pl_profile *joined = pl_join(part, 2, PL_JOIN_DIFFERENCE);
    const char *part_of = now->selection.words;
    char *compared = pl_say_print("%s%scompared with %s", part_of ? part_of : "", part_of ? "; " : "", given.base);
    page_about = describe(now);
    page_about.before = part[0];
    page_about.after = part[1];
    page_about.before_subject = base->selection.subject;
    enum pl_exit status = write_profile(joined, compared);
    free(compared);
    pl_profile_close(joined);
    return status;
}

static enum pl_exit write_part(const struct asked *asked)
{
    page_about = describe(asked);
    return write_profile(asked->selection.profile, asked->selection.words);
}

/* The selection may be empty in one of the two profiles, but not in both. */
static enum pl_exit open_base(const struct pl_profile *now, struct asked *out)
{
    given.select.may_be_empty = now->sites > 0;
    return open_asked(given.base, out);
}

static enum pl_exit write_one(const char *typed)
{
    struct asked now, base;
    given.select.may_be_empty = given.base != NULL;
    enum pl_exit status = open_asked(typed, &now);
    if (status != PL_EXIT_OK)
        return status;
    if (!given.base)
        status = write_part(&now);
    else if ((status = open_base(now.selection.profile, &base)) == PL_EXIT_OK) {
        status = write_difference(&base, &now);
        close_asked(&base);
    }
    close_asked(&now);
    return status;
}

static int export_main(int argc, char **argv)
{
    enum pl_exit status = check_options();
    if (status == PL_EXIT_OK)
        status = pl_subject_check("export", argc, argv);
    return status == PL_EXIT_OK ? write_one(argv[0]) : status;
}

const struct pl_command pl_command_export = {
    .name = "export",
    .arguments = "[FILE|PID]",
    .summary = "write a profile in another format, for other tools",
    .details =
        "Writes a profile, with names, in the given format; docs/exports.md shows which tools read it. Like report, it "
        "reads a finished profile, a directory of them as one, or a running process. " PL_SUBJECT_NEWEST "\n"
        "\n"
        "All formats have the same totals: the sum of all stacks. Estimates are rounded to whole numbers, stack by "
        "stack. --tag, --thread, --focus, --ignore, --since and --until select a part; stacks that --threshold "
        "combines stay in the totals.\n"
        "\n"
        "--since and --until use the nearest moments at which the profile recorded which sites hold the heap: there "
        "are at most 16, evenly spaced over the run.\n"
        "\n"
        "The formats whose names begin with tags- show the tag tree, with self and total of each tag.",
    .examples = "plimsoll export --format pprof out.plim -o out.pb.gz\n"
                "plimsoll export --format speedscope out.plim -o out.speedscope.json\n"
                "plimsoll export --format collapsed --metric calls out.plim > calls.txt\n"
                "plimsoll export --format svg --focus libc out.plim -o part.svg\n"
                "plimsoll export --format pprof --diff-base before.plim after.plim -o change.pb.gz\n"
                "plimsoll export --format tags-svg out.plim -o tags.svg\n"
                "plimsoll export --format tags-json --metric calls --merge-threads 'worker-.*' out.plim\n"
                "plimsoll export PID",
    .files = PL_NAMES_FILES,
    .reads_newest = true,
    .options = options,
    .main = export_main,
};
