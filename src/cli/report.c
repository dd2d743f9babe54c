/* SPDX-License-Identifier: MIT */
/*
 * report.c - the report command: a profile, for a person.
 *
 * Answer first, evidence under it, everything else one option away.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "advise.h"
#include "facts.h"
#include "figure.h"
#include "highlights.h"
#include "leaks.h"
#include "listing.h"
#include "option.h"
#include "page.h"
#include "path.h"
#include "peak.h"
#include "reallocs.h"
#include "roster.h"
#include "select.h"
#include "sizes.h"
#include "source.h"
#include "subject.h"
#include "summary.h"
#include "tags.h"
#include "temporary.h"
#include "term.h"
#include "threads.h"
#include "timeline.h"
#include "tree.h"

#define DEPTH_SITES 6
#define DEPTH_TAGS 100 /* levels: more are a mistake in the program rather than something to read */
#define TOP_OVERVIEW 4 /* sites in each of three tables: together they fit on a screen */
#define TOP_METRIC 20
#define TAGS_AT_LEAST 10

#define TOP_THREAD 3 /* of each thread */

/*
 * Views: an option each, and what it prints instead of the overview, between the head and the losses. Each has its own
 * number of sites, depth of stacks (0: all), and threshold in percent. Adding one is a file and a row.
 */
#define VIEWS(X)                                                                                                       \
    X(ADVICE, "advice", pl_advise_print, TOP_METRIC, DEPTH_SITES, 0,                                                   \
      "what could be done about it, with the evidence and what it would gain")                                         \
    X(LEAKS, "leaks", NULL, TOP_METRIC, DEPTH_SITES, 0,                                                                \
      "what was never freed, after suppressions, and what speaks for a leak")                                          \
    X(PEAK, "peak", pl_peak_print, TOP_METRIC, DEPTH_SITES, 0, "who held the heap when it was largest")                \
    X(TIMELINE, "timeline", pl_timeline_print, 10, DEPTH_SITES, 0,                                                     \
      "the heap over time, as a plot, and which sites grew")                                                           \
    X(SIZES, "sizes", pl_sizes_print, 10, DEPTH_SITES, 0, "how large blocks are and how long they live, and whose")    \
    X(TEMPORARY, "temporary", pl_temporary_print, TOP_METRIC, DEPTH_SITES, 0,                                          \
      "who allocates what its thread frees again before its next allocation")                                          \
    X(REALLOCS, "reallocs", pl_reallocs_print, TOP_METRIC, DEPTH_SITES, 0,                                             \
      "who makes blocks larger, and what that copies")                                                                 \
    X(TREE, "tree", print_roots, TOP_METRIC, 0, 1, "the call tree, from main and thread functions inward")             \
    X(REVERSE, "reverse", print_reverse, TOP_METRIC, 0, 1, "the call tree from whoever called the allocator outward")

enum view {
#define ENUM(name, option, print, top, depth, threshold, help) VIEW_##name,
    VIEWS(ENUM)
#undef ENUM
        VIEW_COUNT
};

/* --by: what a line stands for. X(name, word, print, top, depth, threshold). By stack is what all views are. */
#define KINDS(X)                                                                                                       \
    X(STACK, "stack", NULL, 0, 0, 0)                                                                                   \
    X(TAG, "tag", print_tags, 0, DEPTH_TAGS, 1)                                                                        \
    X(THREAD, "thread", print_threads, TOP_THREAD, DEPTH_SITES, 0)                                                     \
    X(THREAD_TAG, "thread,tag", print_thread_tags, 0, DEPTH_TAGS, 1)

enum by {
#define ENUM(name, word, print, top, depth, threshold) BY_##name,
    KINDS(ENUM)
#undef ENUM
        BY_COUNT
};
static const char *const by_words[] = {
#define WORD(name, word, print, top, depth, threshold) word,
    KINDS(WORD)
#undef WORD
        NULL,
};

static struct {
    bool view[VIEW_COUNT];
    int by;
    struct pl_select select;
    uint64_t top, depth;
    double threshold;
    bool force, full_names, no_symbols, functions, freed, histogram, source, all_digits;
    const char *names;
    struct pl_leaks_options leaks;
    int colour;
} given = {.select = PL_SELECT_NOTHING, .threshold = -1};

/* clang-format off */
static const struct pl_option options[] = {
#define ROW(name_, option_, print_, top_, depth_, threshold_, help_)                                                   \
    {.name = option_, .help = "show " help_, .type = &pl_type_flag, .into = &given.view[VIEW_##name_]},
    VIEWS(ROW)
#undef ROW
    {.name = "by", .takes = "WHAT", .fallback = "stack", .help = "what a line stands for: stack; tag, the tree of what "
     "the program says its memory is for; thread, each with its heaviest sites; or thread,tag, a tree for each thread",
     .type = &pl_type_choice, .into = &given.by, .choices = by_words},
    PL_SELECT_TAG(given.select),
    PL_SELECT_THREAD(given.select),
    PL_SELECT_MERGE(given.select),
    PL_SELECT_STACKS(given.select),
    PL_SELECT_SNAPSHOT(given.select),
    PL_SELECT_TIMES(given.select),
    {.name = "functions", .help = "for --by tag: show how often malloc, calloc, realloc and others were called",
     .type = &pl_type_flag, .into = &given.functions},
    {.name = "freed", .help = "for --by tag: show how many blocks and bytes were freed, too, wherever that was done",
     .type = &pl_type_flag, .into = &given.freed},
    PL_SELECT_METRIC(given.select, "live, allocated and calls, one after the other; allocated by tag or thread"),
    {.name = "top", .letter = 'n', .takes = "N", .fallback = "4 for each of several metrics, 10 or 20 for one, 3 for each thread, all tags",
     .help = "how many sites, or tags, to show", .type = &pl_type_count, .into = &given.top, .min = 1, .max = UINT32_MAX},
    {.name = "depth", .letter = 'd', .takes = "N", .fallback = "6; all in a tree; 100 of tags",
     .help = "how many frames of a stack to show (stacks that agree in those are shown as one), or levels of tags", .type = &pl_type_count,
     .into = &given.depth, .min = 1, .max = UINT32_MAX},
    {.name = "threshold", .letter = 't', .takes = "PCT", .fallback = "0; 1% in a tree",
     .help = "leave out what has less of the whole", .type = &pl_type_percent, .into = &given.threshold},
    {.name = "histogram", .help = "show the sizes of each site's blocks below it, in a line: the smallest, how many of "
     "each power of two, the largest, and half of them and 99% (p50, p99)",
     .type = &pl_type_flag, .into = &given.histogram},
    {.name = "source", .help = "show each site's line of source below it, where the file is there; one that is younger "
     "than the binary is shown, and called that",
     .type = &pl_type_flag, .into = &given.source},
    {.name = "all-digits", .help = "show bytes, blocks and calls to the unit: 13,002,342 B instead of 12.4 MiB",
     .type = &pl_type_flag, .into = &given.all_digits},
    {.name = "suppressions", .takes = "FILE", .help = "for --leaks: leave out what FILE names, in LeakSanitizer's "
     "format; may be given several times", .type = &pl_type_files, .into = &given.leaks.suppressions},
    {.name = "no-default-suppressions", .help = "for --leaks: show what the C and C++ libraries keep on purpose, too",
     .type = &pl_type_flag, .into = &given.leaks.no_defaults},
    PL_NAMES_OPTION(given.names),
    PL_FULL_NAMES_OPTION(given.full_names),
    {.name = "no-symbols", .help = "show addresses instead of names", .type = &pl_type_flag,
     .into = &given.no_symbols},
    PL_FORCE_OPTION(given.force),
    PL_COLOUR_OPTION(given.colour),
    {0},
};
/* clang-format on */

static bool chosen(void)
{
    return given.select.metric != PL_SELECT_NO_METRIC;
}

/* --- views that are made here --- */

/* What is still live, if anything is: that is what most people come for. */
static enum pl_metric tree_metric(const struct pl_profile *profile)
{
    bool live = profile->total[PL_METRIC_INUSE_SPACE].value > 0;
    return pl_select_metric(&given.select, live ? PL_METRIC_INUSE_SPACE : PL_METRIC_ALLOC_SPACE);
}

static void print_roots(const struct pl_view *view)
{
    struct pl_paths paths = pl_view_paths(view, PL_SHAPE_ROOTS);
    pl_tree_print(view, &paths, tree_metric(view->profile));
}

static void print_reverse(const struct pl_view *view)
{
    struct pl_paths paths = pl_view_paths(view, PL_SHAPE_REVERSE);
    pl_tree_print(view, &paths, tree_metric(view->profile));
}

/* One tree, but for threads that --merge-threads tells from others. */
static void print_tags(const struct pl_view *view)
{
    struct pl_groups all;
    struct pl_select none = PL_SELECT_NOTHING;
    struct pl_tags_options tree = {.metric = pl_select_metric(&given.select, PL_METRIC_ALLOC_SPACE),
                                   .groups = given.select.merge ? view->threads : &all,
                                   .at_least = given.threshold < 0 ? TAGS_AT_LEAST : 0,
                                   .functions = given.functions,
                                   .freed = given.freed};
    if (pl_select_groups(&none, view->profile, PL_GROUP_ALL, &all) != PL_EXIT_OK)
        return;
    pl_tags_print(view, &tree);
    pl_groups_free(&all);
}

static void print_thread_tags(const struct pl_view *view)
{
    struct pl_tags_options tree = {.metric = pl_select_metric(&given.select, PL_METRIC_ALLOC_SPACE),
                                   .groups = view->threads,
                                   .at_least = given.threshold < 0 ? TAGS_AT_LEAST : 0,
                                   .functions = given.functions,
                                   .freed = given.freed};
    pl_tags_print(view, &tree);
}

static void print_threads(const struct pl_view *view)
{
    pl_threads_print(view, pl_select_metric(&given.select, PL_METRIC_ALLOC_SPACE));
}

static bool has_any(const struct pl_paths *sites, enum pl_metric metric)
{
    for (uint32_t i = 0; i < sites->count; i++)
        if (sites->path[i].metric[metric].value > 0)
            return true;
    return false;
}

/* Of a part of the run: who holds less at its end than at its start. */
static void print_shrunk(const struct pl_view *view, const struct pl_paths *sites)
{
    double *weight = pl_say_memory(calloc(sites->count + 1ull, sizeof *weight)), sum = 0;
    for (uint32_t i = 0; i < sites->count; i++) {
        double change = sites->path[i].metric[PL_METRIC_INUSE_SPACE].value;
        weight[i] = change < 0 ? -change : 0;
        sum += weight[i];
    }
    if (sum > 0)
        pl_listing_put(&(struct pl_listing){
            .view = view,
            .paths = sites,
            .title = "What shrank",
            .metric = PL_METRIC_INUSE_SPACE,
            .weight = weight,
            .column = {{"bytes", pl_listing_fill_metric}, {"blocks", pl_listing_fill_companion}},
        });
    free(weight);
}

/* What is live, or, where hardly anything is any more, what was at the peak; then who allocates. */
static void print_tables(const struct pl_view *view, const struct pl_paths *sites)
{
    const struct pl_profile *profile = view->profile;
    bool live = pl_highlights_live(profile) || profile->difference;
    const enum pl_metric usual[] = {live ? PL_METRIC_INUSE_SPACE : PL_METRIC_PEAK_SPACE, PL_METRIC_ALLOC_SPACE,
                                    PL_METRIC_ALLOC_OBJECTS};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        if (has_any(sites, usual[i]))
            pl_listing_print(view, sites, usual[i]);
        if (i == 0 && profile->difference)
            print_shrunk(view, sites);
    }
}

static void print_overview(const struct pl_view *whole)
{
    struct pl_view view = *whole;
    struct pl_paths sites = pl_view_paths(&view, PL_SHAPE_SITE);
    view.brief = !chosen() && !given.depth && !given.top && !given.full_names;
    view.shown = pl_say_memory(calloc(sites.count + 1ull, sizeof *view.shown));
    pl_facts_print(&view);
    pl_highlights_print(&view, &sites);
    if (pl_view_tagged(view.profile))
        pl_tags_print_top(&view);
    if (chosen() && sites.count)
        pl_listing_print(&view, &sites, pl_select_metric(&given.select, PL_METRIC_INUSE_SPACE));
    else if (sites.count)
        print_tables(&view, &sites);
    if (view.profile->threads > 1 && !view.profile->difference)
        pl_roster_print(&view);
    free(view.shown);
}

/* --- and which of them --- */

struct shown {
    const char *option;                        /* "": the overview */
    void (*print)(const struct pl_view *view); /* NULL: --leaks, which prints head and losses itself, or fails first */
    uint32_t top, depth;
    double threshold;
};

static const struct shown views[VIEW_COUNT] = {
#define SHOWN(name, option, print, top, depth, threshold, help) {option, print, top, depth, threshold},
    VIEWS(SHOWN)
#undef SHOWN
};
static const struct shown kinds[BY_COUNT] = {
#define SHOWN(name, word, print, top, depth, threshold) {"by " word, print, top, depth, threshold},
    KINDS(SHOWN)
#undef SHOWN
};
static const struct shown overview = {"", print_overview, TOP_OVERVIEW, DEPTH_SITES, 0};
static const struct shown one_metric = {"", print_overview, TOP_METRIC, DEPTH_SITES, 0};

static bool by_tag(void)
{
    return given.by == BY_TAG || given.by == BY_THREAD_TAG;
}

/* The views that were asked for, and whether there is more than one. */
static enum pl_exit find_view(const struct shown **out)
{
    const struct shown *view = given.by == BY_STACK ? NULL : &kinds[given.by];
    for (int i = 0; i < VIEW_COUNT; i++) {
        if (!given.view[i])
            continue;
        if (view)
            return pl_say_usage("--%s and --%s are two views; choose one", view->option, views[i].option);
        view = &views[i];
    }
    *out = view;
    return PL_EXIT_OK;
}

static bool is_tree(void)
{
    return given.view[VIEW_TREE] || given.view[VIEW_REVERSE];
}

static bool has_sites(void)
{
    return !is_tree() && !by_tag();
}

/* A part of the run: of that, not everything is known. */
static bool in_time(void)
{
    return given.select.since != PL_SELECT_NO_TIME || given.select.until != PL_SELECT_NO_TIME;
}

static enum pl_exit choose_view(const struct shown **out)
{
    const struct shown *view = NULL;
    enum pl_exit status = find_view(&view);
    if (status != PL_EXIT_OK)
        return status;
    bool any_metric = !view || given.by != BY_STACK || is_tree();
    if (chosen() && !any_metric)
        return pl_say_usage("--%s has an order of its own; leave out --metric, or --%s", view->option, view->option);
    if (!given.view[VIEW_LEAKS] && (given.leaks.suppressions.count || given.leaks.no_defaults))
        return pl_say_usage("suppressions are for --leaks; add that");
    if (given.functions && !by_tag())
        return pl_say_usage("--functions is for --by tag; add that");
    if (given.freed && !by_tag())
        return pl_say_usage("--freed is for --by tag; add that");
    if (in_time() && (given.by != BY_STACK || (view && !is_tree())))
        return pl_say_usage(
            "--since and --until are for the overview, --metric, --tree and --reverse; leave them out, or "
            "--%s",
            view->option);
    if ((given.histogram || given.source) && !has_sites())
        return pl_say_usage("--%s is for tables of sites; leave it out, or --%s", given.source ? "source" : "histogram",
                            view->option);
    if (given.select.merge && view && given.by == BY_STACK)
        return pl_say_usage("--merge-threads is for --by thread and --by tag; add one of them, or leave out --%s",
                            view->option);
    *out = view ? view : chosen() ? &one_metric : &overview;
    return PL_EXIT_OK;
}

static enum pl_exit print_view(const struct shown *shown, const struct pl_view *view)
{
    if (!shown->print)
        return pl_leaks_print(view, &given.leaks);
    pl_page_head(view);
    shown->print(view);
    pl_page_losses(view);
    return PL_EXIT_OK;
}

static enum pl_exit print_selected(const struct pl_profile *whole, const struct pl_selection *selection,
                                   const char *subject, const struct shown *shown)
{
    struct pl_groups threads;
    enum pl_exit status = pl_threads_groups(&given.select, selection->profile, &threads);
    if (status != PL_EXIT_OK)
        return status;
    struct pl_term term = pl_term_open(stdout, (enum pl_colour) given.colour);
    term.whole = given.full_names;
    struct pl_spot_options names = {.full_names = given.full_names, .no_symbols = given.no_symbols};
    struct pl_view view = {
        .profile = selection->profile,
        .whole = whole,
        .selection = selection->words,
        .threads = &threads,
        .spots = pl_spots_new(whole, &names),
        .term = &term,
        .subject = subject,
        .threshold = (given.threshold >= 0 ? given.threshold : shown->threshold) / 100,
        .top = given.top ? (uint32_t) given.top : shown->top,
        .depth = given.depth ? (uint32_t) given.depth : shown->depth,
        .full_names = given.full_names,
        .histogram = given.histogram,
        .source = given.source ? pl_source_new(whole) : NULL,
    };
    status = print_view(shown, &view);
    pl_source_free(view.source);
    pl_spots_free(view.spots);
    pl_groups_free(&threads);
    return status;
}

static enum pl_exit print_report(const struct pl_profile *profile, const char *subject, const struct shown *shown)
{
    struct pl_selection selection;
    enum pl_exit status = pl_select_apply(&given.select, profile, subject, &selection);
    if (status != PL_EXIT_OK)
        return status;
    status = print_selected(profile, &selection, subject, shown);
    pl_selection_free(&selection);
    return status;
}

static void say_next(const struct pl_profile *profile, const char *subject, const struct shown *shown)
{
    pl_say_flush();
    if (!isatty(STDOUT_FILENO))
        return;
    if (shown == &overview)
        pl_say("more: %s report --tree %s; --advice, --leaks, --peak, --timeline, --sizes, --temporary, "
               "--metric calls, --by thread%s; in a browser: %s view %s",
               pl_say_self(), subject, pl_view_tagged(profile) ? ", --by tag" : "", pl_say_self(), subject);
    else if (by_tag() && pl_view_tagged(profile))
        pl_say("more: %s report --tag NAME %s shows the stacks of one; --by thread,tag a tree for each thread",
               pl_say_self(), subject);
}

static enum pl_exit open_and_print(char *name, const struct shown *shown)
{
    struct pl_profile *profile;
    struct pl_subject_options how = {.command = "report",
                                     .force = given.force,
                                     .no_symbols = given.no_symbols,
                                     .names = {.file = given.names, .full = given.full_names}};
    enum pl_exit status = pl_subject_open(&how, 1, &name, &profile);
    if (status != PL_EXIT_OK)
        return status;
    char *subject = pl_summary_typed(name);
    status = print_report(profile, subject, shown);
    if (status == PL_EXIT_OK)
        say_next(profile, subject, shown);
    free(subject);
    pl_profile_close(profile);
    return status;
}

static int report_main(int argc, char **argv)
{
    const struct shown *shown = &overview;
    enum pl_exit status = choose_view(&shown);
    if (status == PL_EXIT_OK)
        status = pl_subject_check("report", argc, argv);
    if (status != PL_EXIT_OK)
        return status;
    if (given.all_digits)
        pl_figure_all_digits();
    char *name = pl_select_file(&given.select, argv[0]);
    status = name ? open_and_print(name, shown) : PL_EXIT_FAILURE;
    free(name);
    return status;
}

const struct pl_command pl_command_report = {
    .name = "report",
    .arguments = "FILE|PID",
    .summary = "show a profile to a person",
    .details =
        "Prints what a profile says: totals, what stands out, the sites that hold and allocate the most, threads, and "
        "what "
        "could not be recorded. FILE is a profile; with a PID a running process is read as it is now, without stopping "
        "it.\n"
        "\n"
        "--advice, --leaks, --peak, --timeline, --sizes, --temporary, --reallocs, --tree and --reverse each show one "
        "thing instead, at length. --reallocs is about realloc alone: a std::vector grows by operator new, a copy and "
        "operator delete, which is not seen there.\n"
        "\n"
        "--by tag shows the tree of tags: what a program that uses them says its memory is for; --by thread shows "
        "threads. --tag and --thread limit every view to a part of the profile, and the figures are then of that part. "
        "See `plimsoll help tags`.\n"
        "\n"
        "A site is a call stack, from the first function that is the program's own: functions of the allocator and of "
        "system libraries inside of it are left out (`→` names the one that was called). Sites that look the same are "
        "one "
        "line. Between two functions of the program's own only the one of a library that was called is named, and a "
        "function "
        "that calls itself once. Estimated figures come with ±, the half width of a 95% interval; see `plimsoll help "
        "figures`. docs/report.md explains the first screen line by line.",
    .examples = "plimsoll report out.plim\n"
                "plimsoll report --advice out.plim\n"
                "plimsoll report --source --histogram out.plim\n"
                "plimsoll report --peak out.plim\n"
                "plimsoll report --timeline out.plim\n"
                "plimsoll report --tree --metric calls --threshold 1% out.plim\n"
                "plimsoll report --by tag out.plim\n"
                "plimsoll report --by thread out.plim\n"
                "plimsoll report PID",
    .files = PL_NAMES_FILES,
    .options = options,
    .main = report_main,
};
