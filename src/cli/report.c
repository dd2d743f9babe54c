/* SPDX-License-Identifier: MIT */
/*
 * report.c - the report command: a profile, for a person.
 *
 * Answer first, evidence under it, everything else one option away.
 */
#include <string.h>
#include <unistd.h>

#include "listing.h"
#include "option.h"
#include "page.h"
#include "path.h"
#include "roster.h"
#include "subject.h"
#include "term.h"
#include "tree.h"

#define TOP_OVERVIEW 5 /* sites in each of three tables: together they fit on a screen or two */
#define TOP_METRIC 20
#define DEPTH_SITES 6
#define THRESHOLD_SITES 0.0 /* --top is bound enough */
#define THRESHOLD_TREE 1.0

#define NO_METRIC (-1)

/* --metric takes both spellings: the words of reports and the keys of JSON. */
static const char *const metric_words[2 * PL_METRIC_COUNT + 1] = {
#define WORD(name, key, word, unit, help) word,
    PL_METRICS(WORD)
#undef WORD
#define KEY(name, key, word, unit, help) key,
        PL_METRICS(KEY)
#undef KEY
};

static struct {
    int metric;
    uint64_t top, depth;
    double threshold;
    bool tree, reverse, force, full_names, no_symbols;
    int colour;
} given = {.metric = NO_METRIC, .threshold = -1};

/* clang-format off */
static const struct pl_option options[] = {
    {.name = "metric", .letter = 'm', .takes = "METRIC", .fallback = "live, allocated and calls, one after the other",
     .help = "what to sort by: live, allocated, calls or blocks", .type = &pl_type_choice, .into = &given.metric,
     .choices = metric_words},
    {.name = "top", .letter = 'n', .takes = "N", .fallback = "5 for each of several metrics, 20 for one",
     .help = "how many sites to show", .type = &pl_type_count, .into = &given.top, .min = 1, .max = UINT32_MAX},
    {.name = "depth", .letter = 'd', .takes = "N", .fallback = "6; all in a tree",
     .help = "how many frames of a stack to show; stacks that agree in those are shown as one", .type = &pl_type_count,
     .into = &given.depth, .min = 1, .max = UINT32_MAX},
    {.name = "threshold", .letter = 't', .takes = "PCT", .fallback = "0; 1% in a tree",
     .help = "leave out what has less of the whole", .type = &pl_type_percent, .into = &given.threshold},
    {.name = "tree", .help = "show the call tree, from main and thread functions inward", .type = &pl_type_flag,
     .into = &given.tree},
    {.name = "reverse", .help = "show the call tree from whoever called the allocator outward", .type = &pl_type_flag,
     .into = &given.reverse},
    {.name = "full-names", .help = "do not shorten names and paths", .type = &pl_type_flag, .into = &given.full_names},
    {.name = "no-symbols", .help = "show addresses instead of names", .type = &pl_type_flag,
     .into = &given.no_symbols},
    {.name = "force", .help = "use binaries that were rebuilt since the profile was made", .type = &pl_type_flag,
     .into = &given.force},
    {.name = "color", .takes = "WHEN", .fallback = "auto",
     .help = "colours: auto (on a terminal, unless NO_COLOR is set), always or never", .type = &pl_type_choice,
     .into = &given.colour, .choices = pl_colour_words},
    {0},
};
/* clang-format on */

static bool chosen(void)
{
    return given.metric != NO_METRIC;
}

/* The list of words has every metric twice. */
static enum pl_metric chosen_metric(void)
{
    int metric = given.metric % PL_METRIC_COUNT;
    return (enum pl_metric) metric;
}

/* What is still live, if anything is: that is what most people come for. */
static enum pl_metric tree_metric(const struct pl_profile *profile)
{
    if (chosen())
        return chosen_metric();
    return profile->total[PL_METRIC_INUSE_SPACE].value > 0 ? PL_METRIC_INUSE_SPACE : PL_METRIC_ALLOC_SPACE;
}

static void print_tree(const struct pl_view *view)
{
    enum pl_shape shape = given.reverse ? PL_SHAPE_REVERSE : PL_SHAPE_ROOTS;
    struct pl_paths paths = pl_paths_new(view->profile, view->spots, shape, view->depth);
    pl_page_head(view);
    pl_tree_print(view, &paths, tree_metric(view->profile));
    pl_page_losses(view);
}

static void print_sites(const struct pl_view *view)
{
    static const enum pl_metric usual[] = {PL_METRIC_INUSE_SPACE, PL_METRIC_ALLOC_SPACE, PL_METRIC_ALLOC_OBJECTS};
    struct pl_paths sites = pl_paths_new(view->profile, view->spots, PL_SHAPE_SITE, view->depth);
    pl_page_head(view);
    pl_page_summary(view);
    pl_page_highlights(view);
    if (chosen() && sites.count)
        pl_listing_print(view, &sites, chosen_metric());
    for (size_t i = 0; i < sizeof usual / sizeof *usual && !chosen() && sites.count; i++)
        if (view->profile->total[usual[i]].value > 0)
            pl_listing_print(view, &sites, usual[i]);
    if (view->profile->threads > 1)
        pl_roster_print(view);
    pl_page_losses(view);
}

static double default_threshold(bool tree)
{
    return tree ? THRESHOLD_TREE : THRESHOLD_SITES;
}

static uint64_t default_top(void)
{
    return chosen() ? TOP_METRIC : TOP_OVERVIEW;
}

static uint64_t default_depth(bool tree)
{
    return tree ? 0 : DEPTH_SITES;
}

static void print_report(const struct pl_profile *profile)
{
    struct pl_term term = pl_term_open(stdout, (enum pl_colour) given.colour);
    struct pl_spot_options names = {.full_names = given.full_names, .no_symbols = given.no_symbols};
    bool tree = given.tree || given.reverse;
    struct pl_view view = {
        .profile = profile,
        .spots = pl_spots_new(profile, &names),
        .term = &term,
        .threshold = (given.threshold >= 0 ? given.threshold : default_threshold(tree)) / 100,
        .top = (uint32_t) (given.top ? given.top : default_top()),
        .depth = (uint32_t) (given.depth ? given.depth : default_depth(tree)),
    };
    if (tree)
        print_tree(&view);
    else
        print_sites(&view);
    pl_spots_free(view.spots);
}

static void say_next(const char *subject)
{
    fflush(stdout);
    if (isatty(STDOUT_FILENO) && !chosen() && !given.tree && !given.reverse)
        pl_say("more: plimsoll report --tree %s; --metric calls, --top 50, --reverse", subject);
}

static int report_main(int argc, char **argv)
{
    struct pl_profile *profile;
    struct pl_subject_options how = {.command = "report", .force = given.force, .no_symbols = given.no_symbols};
    if (given.tree && given.reverse)
        return pl_say_usage("--tree and --reverse are two directions; choose one");
    enum pl_exit status = pl_subject_open(&how, argc, argv, &profile);
    if (status != PL_EXIT_OK)
        return status;
    print_report(profile);
    say_next(argv[0]);
    pl_profile_close(profile);
    return PL_EXIT_OK;
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
        "A site is a call stack, from the first function that is the program's own: functions of the allocator and of "
        "system libraries inside of it are left out (`→` names the one that was called). Sites that look the same are "
        "one "
        "line. Estimated figures come with ±, the half width of a 95% interval; see `plimsoll help figures`.",
    .examples = "plimsoll report out.plim\n"
                "plimsoll report --tree --metric calls --threshold 1% out.plim\n"
                "plimsoll report PID",
    .options = options,
    .main = report_main,
};
