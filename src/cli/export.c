/* SPDX-License-Identifier: MIT */
/*
 * export.c - the export command: a profile in another format, for other tools.
 */
#include "export.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "flat.h"
#include "highlights.h"
#include "invocation.h"
#include "join.h"
#include "option.h"
#include "output.h"
#include "select.h"
#include "subject.h"
#include "summary.h"
#include "term.h"
#include "threads.h"
#include "view.h"

static const struct format {
    const char *word;
    pl_export_function *write;
    unsigned traits; /* enum pl_export_trait */
    double threshold;
} formats[] = {
#define ROW(name, word, traits, threshold, help) {word, pl_export_##name, traits, threshold},
    PL_EXPORT_FORMATS(ROW)
#undef ROW
};

enum {
#define ROW(name, word, traits, threshold, help) FORMAT_##name,
    PL_EXPORT_FORMATS(ROW)
#undef ROW
};

static const char *const words[] = {
#define ROW(name, word, traits, threshold, help) word,
    PL_EXPORT_FORMATS(ROW)
#undef ROW
        NULL,
};

/* In the order of enum pl_flat_by, whose bits they are. */
static const char *const by_words[] = {"stack", "tag", "thread", "thread,tag", NULL};
#define BY_NOT_GIVEN (-1)

static struct {
    int format;
    int by;
    struct pl_select select;
    double threshold;
    const char *output;
    const char *names;
    const char *base;
    bool force;
    bool no_symbols;
} given = {.select = PL_SELECT_NOTHING, .threshold = -1, .by = BY_NOT_GIVEN};

#define HELP(name, word, traits, threshold, help) "; " word ": " help
/* clang-format off */
static const struct pl_option options[] = {
    {.name = "format", .letter = 'f', .takes = "NAME", .fallback = "json", .help = "the format" PL_EXPORT_FORMATS(HELP),
     .type = &pl_type_choice, .into = &given.format, .choices = words},
    {.name = "output", .letter = 'o', .takes = "FILE", .fallback = "stdout", .help = "where to write it",
     .type = &pl_type_text, .into = &given.output},
    PL_SELECT_METRIC(given.select, "live; peak, where hardly anything is live any more; allocated in trees of tags"),
    {.name = "by", .takes = "WHAT", .fallback = "stack; tag in trees of tags", .help = "what is in front of a stack, as "
     "if it had been called from there: nothing (stack), its tag, its thread, or both (thread,tag). For trees of tags: "
     "one tree (tag), or one for each thread (thread,tag)", .type = &pl_type_choice, .into = &given.by,
     .choices = by_words},
    PL_SELECT_TAG(given.select),
    PL_SELECT_THREAD(given.select),
    PL_SELECT_MERGE(given.select),
    PL_SELECT_STACKS(given.select),
    PL_SELECT_TIMES(given.select),
    PL_SELECT_SNAPSHOT(given.select),
    {.name = "threshold", .letter = 't', .takes = "PCT", .fallback = "0; what can be looked at in pictures and massif",
     .help = "take stacks, or tags, together that have less of the whole; they stay in the totals",
     .type = &pl_type_percent, .into = &given.threshold},
    {.name = "diff-base", .takes = "FILE|PID", .help = "write what has changed since this profile of the same program: "
     "figures are differences, and may be negative (" "json, page, pprof, collapsed, csv, dot and svg" ")", .type = &pl_type_text, .into = &given.base},
    PL_NAMES_OPTION(given.names),
    PL_FORCE_OPTION(given.force),
    {.name = "no-symbols", .help = "leave addresses as they are", .type = &pl_type_flag, .into = &given.no_symbols},
    {0},
};
/* clang-format on */

static bool is(enum pl_export_trait trait)
{
    return formats[given.format].traits & trait;
}

/* --- where it goes --- */

/* What is written, and how. */
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
    struct pl_output output = {what, PL_OUTPUT_USUAL, write_content, &copy};
    enum pl_exit status = pl_output_write(&output, path);
    free(what);
    return status;
}

static enum pl_exit write_export(const struct content *content)
{
    if (given.output && strcmp(given.output, "-"))
        return write_file(content, given.output);
    if (is(PL_EXPORT_BINARY) && isatty(STDOUT_FILENO))
        return pl_say_usage("%s is not for a terminal; add -o FILE", words[given.format]);
    formats[given.format].write(content->profile, &content->options, stdout);
    return PL_EXIT_OK;
}

/* --- what it is --- */

static enum pl_exit check_options(void)
{
    if (given.select.merge && !is(PL_EXPORT_TAGS))
        return pl_say_usage("--merge-threads is for trees of tags; add --format tags-json, tags-dot or tags-svg");
    if (given.base && !is(PL_EXPORT_SIGNED))
        return pl_say_usage(
            "%s has no negative figures, so it cannot be a difference; use json, pprof, collapsed, csv, "
            "dot or svg, or see `%s diff`",
            words[given.format], pl_say_self());
    if (given.base && (given.select.since != PL_SELECT_NO_TIME || given.select.until != PL_SELECT_NO_TIME))
        return pl_say_usage("--diff-base, and --since or --until, are two differences; choose one");
    if (is(PL_EXPORT_WHOLE) && (given.by != BY_NOT_GIVEN || given.threshold >= 0))
        return pl_say_usage("%s has everything, so there is nothing to do for --by and --threshold; leave them out",
                            words[given.format]);
    return PL_EXIT_OK;
}

static bool any_live(const struct pl_profile *profile)
{
    for (uint32_t i = 0; i < profile->sites; i++)
        if (profile->site[i].metric[PL_METRIC_INUSE_SPACE].value > 0)
            return true;
    return false;
}

/* As in report. */
static enum pl_metric usual_metric(const struct pl_profile *profile)
{
    if (is(PL_EXPORT_TAGS))
        return PL_METRIC_ALLOC_SPACE;
    bool live = profile->difference ? any_live(profile) : pl_highlights_live(profile);
    return pl_highlights_metric(profile, live || is(PL_EXPORT_OVER_TIME));
}

static struct pl_export_options make_options(const struct pl_profile *profile, const char *selection,
                                             const struct pl_page_about *page)
{
    double percent = given.threshold >= 0 ? given.threshold : formats[given.format].threshold;
    return (struct pl_export_options){
        .selection = selection,
        .metric = pl_select_metric(&given.select, usual_metric(profile)),
        .threshold = percent / 100,
        .by = given.by == BY_NOT_GIVEN ? PL_FLAT_BY_STACK : (unsigned) given.by,
        .page = *page,
    };
}

/* As in report. */
static enum pl_exit make_groups(const struct pl_profile *profile, struct pl_groups *out)
{
    if (given.select.merge || (given.by != BY_NOT_GIVEN && given.by & PL_FLAT_BY_THREAD))
        return pl_threads_groups(&given.select, profile, out);
    return pl_select_groups(&given.select, profile, PL_GROUP_ALL, out);
}

static enum pl_exit write_tags(const struct pl_profile *profile, struct pl_export_options how)
{
    struct pl_groups groups;
    struct pl_tag_forest forest;
    enum pl_exit status = make_groups(profile, &groups);
    if (status != PL_EXIT_OK)
        return status;
    pl_tag_forest_grow(profile, &groups, how.metric, &forest);
    how.forest = &forest;
    status = write_export(&(struct content){profile, how});
    pl_tag_forest_free(&forest);
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
        pl_say("%u stacks have less than before; %s has no negative figures, so they count as 0", flat->shrank,
               words[given.format]);
    enum pl_exit status = write_export(&(struct content){profile, how});
    pl_flat_free(flat);
    return status;
}

static enum pl_exit write_any(const struct pl_profile *profile, const char *selection, const struct pl_page_about *page)
{
    struct pl_export_options how = make_options(profile, selection, page);
    if (profile->difference && is(PL_EXPORT_TAGS))
        return pl_say_usage("%s is about what there is, not about what has changed; use --by tag with another format",
                            words[given.format]);
    if (is(PL_EXPORT_TAGS))
        return write_tags(profile, how);
    if (is(PL_EXPORT_STACKS))
        return write_stacks(profile, how);
    return write_export(&(struct content){profile, how});
}

/* Large ones take a while. On a terminal, what is written there shows that by itself. */
static enum pl_exit write_profile(const struct pl_profile *profile, const char *selection,
                                  const struct pl_page_about *page)
{
    if (given.output || !isatty(STDOUT_FILENO))
        pl_term_busy("plimsoll: writing");
    enum pl_exit status = write_any(profile, selection, page);
    pl_term_busy(NULL);
    return status;
}

/* --- which --- */

/* A profile as it was asked for: opened, and the part of it. */
struct asked {
    struct pl_profile *whole;
    struct pl_selection selection;
    char *subject; /* as one would type it */
    char *title;
};

/* What a report would say at its head. */
static void say_flaws(const char *typed, const struct asked *asked)
{
    char method[PL_WHY_BYTES];
    pl_profile_method(asked->whole, method, sizeof method);
    if (asked->whole->damage)
        pl_say("%s: %s", typed, method);
    if (given.select.since != PL_SELECT_NO_TIME || given.select.until != PL_SELECT_NO_TIME)
        pl_say("%s: %s", typed, asked->selection.words);
}

/* Also those that the file has brought along. */
static void forget_names(struct pl_profile *profile)
{
    for (uint32_t i = 0; i < profile->frames; i++)
        profile->frame[i].places = 0;
}

static void close_whole(struct asked *asked)
{
    free(asked->subject);
    free(asked->title);
    pl_profile_close(asked->whole);
}

static enum pl_exit open_asked(const char *typed, struct asked *out)
{
    struct pl_subject_options how = {
        .command = "export",
        .force = given.force,
        .no_symbols = given.no_symbols || (is(PL_EXPORT_TAGS) && !given.select.focus && !given.select.ignore),
        .names = {.file = given.names},
    };
    char *path = pl_select_file(&given.select, typed);
    if (!path)
        return PL_EXIT_USAGE;
    enum pl_exit status = pl_subject_open(&how, 1, &path, &out->whole);
    if (status == PL_EXIT_OK && given.no_symbols)
        forget_names(out->whole);
    if (status == PL_EXIT_OK) {
        out->subject = pl_summary_typed(path);
        out->title = pl_invocation_print(out->whole);
        status = pl_select_apply(&given.select, out->whole, out->subject, &out->selection);
        if (status != PL_EXIT_OK)
            close_whole(out);
        else
            say_flaws(path, out);
    }
    free(path);
    return status;
}

static void close_asked(struct asked *asked)
{
    pl_selection_free(&asked->selection);
    close_whole(asked);
}

static struct pl_page_about describe(const struct asked *asked)
{
    return (struct pl_page_about){
        .subject = asked->subject,
        .title = asked->title,
        .title_live = pl_view_title(asked->whole, PL_METRIC_INUSE_SPACE),
    };
}

static enum pl_exit write_difference(const struct asked *base, const struct asked *now)
{
    const struct pl_profile *part[] = {base->selection.profile, now->selection.profile};
    struct pl_profile *joined = pl_join(part, 2, PL_JOIN_DIFFERENCE);
    const char *part_of = now->selection.words;
    char *compared = pl_say_print("%s%scompared with %s", part_of ? part_of : "", part_of ? "; " : "", given.base);
    struct pl_page_about page = describe(now);
    page.before = part[0];
    page.after = part[1];
    page.before_subject = base->subject;
    enum pl_exit status = write_profile(joined, compared, &page);
    free(compared);
    pl_profile_close(joined);
    return status;
}

static enum pl_exit write_part(const struct asked *asked)
{
    struct pl_page_about page = describe(asked);
    return write_profile(asked->selection.profile, asked->selection.words, &page);
}

/* A side may have nothing of what was selected, but not both. */
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
    .arguments = "FILE|PID",
    .summary = "write a profile in another format, for other tools",
    .details =
        "Writes a profile, with names, in the chosen format; docs/exports.md shows what to open each with. Like "
        "report, "
        "it reads a finished profile or a running process.\n"
        "\n"
        "All formats have the same totals: those of all stacks together. Estimates are rounded to whole numbers, stack "
        "by stack. --tag, --thread, --focus, --ignore, --since and --until choose a part; what --threshold takes "
        "together "
        "stays in the totals.\n"
        "\n"
        "The moments for --since and --until are those at which the profile has looked at who holds the heap: at most "
        "16, "
        "evenly spaced over the run. The nearest ones are taken.\n"
        "\n"
        "The formats whose names begin with tags- are about what memory was for: the tree of tags, with self and total "
        "of each.",
    .examples = "plimsoll export --format pprof out.plim -o out.pb.gz\n"
                "plimsoll export --format speedscope out.plim -o out.speedscope.json\n"
                "plimsoll export --format collapsed --metric calls out.plim > calls.txt\n"
                "plimsoll export --format svg --focus libc out.plim -o part.svg\n"
                "plimsoll export --format pprof --diff-base before.plim after.plim -o change.pb.gz\n"
                "plimsoll export --format tags-svg out.plim -o tags.svg\n"
                "plimsoll export --format tags-json --metric calls --merge-threads 'worker-.*' out.plim\n"
                "plimsoll export PID",
    .files = PL_NAMES_FILES,
    .options = options,
    .main = export_main,
};
