/* SPDX-License-Identifier: MIT */
/*
 * report.c - the report command: prints a profile for people to read.
 *
 * The answer comes first, the evidence below it, everything else is one option away.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/figure.h"
#include "analysis/metric.h"
#include "analysis/path.h"
#include "analysis/traits.h"
#include "cli/files.h"
#include "cli/option.h"
#include "cli/pager.h"
#include "cli/proc.h"
#include "cli/report/leaks.h"
#include "cli/report/listing.h"
#include "cli/report/memory.h"
#include "cli/report/print.h"
#include "cli/report/resident.h"
#include "cli/report/tagview.h"
#include "cli/run/summary.h"
#include "cli/select.h"
#include "cli/subject.h"
#include "cli/term.h"

#define DEPTH_SITES 6
#define DEPTH_TAGS 100 /* levels: deeper nesting is more likely a bug in the program than worth reading */
#define TOP_OVERVIEW 4 /* sites in each of three or four tables: together they fit on a screen */
#define TOP_METRIC 20
#define TAGS_AT_LEAST 10

#define TOUCHED_MIN_NS 1000000ull
#define TOUCHED_MAX_NS (24 * 3600 * 1000000000ull)

#define TOP_THREAD 3 /* of each thread */

/*
 * Views. Each has an option and prints its text in place of the overview, between the head and the losses. Each has its
 * own defaults: number of sites, depth of stacks (0: all), threshold in percent. A new view is one file and one row.
 */
#define VIEWS(X)                                                                                                       \
    X(ADVICE, "advice", pl_advise_print, TOP_METRIC, DEPTH_SITES, 0,                                                   \
      "possible improvements, with evidence and expected gain")                                                        \
    X(LEAKS, "leaks", NULL, TOP_METRIC, DEPTH_SITES, 0, "memory never freed, and leak suspects, after suppressions")   \
    X(PEAK, "peak", pl_rankings_peak, TOP_METRIC, DEPTH_SITES, 0, "which sites held the heap at its peak")             \
    X(TIMELINE, "timeline", pl_timeline_print, 10, DEPTH_SITES, 0,                                                     \
      "a plot of the heap over time, and which sites grew")                                                            \
    X(MEMORY, "memory", NULL, TOP_METRIC, DEPTH_SITES, 0,                                                              \
      "what RSS consists of: a table that adds up, of a running process or of a profile of run --memory")                                              \
    X(RESIDENT, "resident", NULL, TOP_METRIC, DEPTH_SITES, 0,                                                          \
      "how much of what each site holds is resident, swapped out, or was never touched, of a running process or of a "       \
      "profile of run --resident")         \
    X(SIZES, "sizes", pl_sizes_print, 10, DEPTH_SITES, 0, "sizes and lifetimes of blocks, overall and by site")        \
    X(TEMPORARY, "temporary", pl_rankings_temporary, TOP_METRIC, DEPTH_SITES, 0,                                       \
      "temporary allocations: those that their thread frees before its next allocation")                               \
    X(REALLOCS, "reallocs", pl_rankings_reallocs, TOP_METRIC, DEPTH_SITES, 0,                                          \
      "which sites grow blocks with realloc, and how much that copies")                                                \
    X(TREE, "tree", print_roots, TOP_METRIC, 0, 1, "the call tree from main and thread functions down")                \
    X(REVERSE, "reverse", print_reverse, TOP_METRIC, 0, 1,                                                             \
      "the call tree from allocating functions up to their callers")

enum view {
#define ENUM(name, option, print, top, depth, threshold, help) VIEW_##name,
    VIEWS(ENUM)
#undef ENUM
        VIEW_COUNT
};

/* --by: what one line stands for. X(name, word, print, top, depth, threshold). All views above are by stack. */
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
    const char *sysroot;
    bool force, full_names, no_symbols, python, native, functions, freed, histogram, source, all_digits;
    const char *names;
    uint64_t touched_ns;
    struct pl_leaks_options leaks;
    int colour;
} given = {.select = PL_SELECT_NOTHING, .threshold = -1};

/* clang-format off */
static const struct pl_option options[] = {
#define ROW(name_, option_, print_, top_, depth_, threshold_, help_)                                                   \
    {.name = option_, .help = "show " help_, .type = &pl_type_flag, .into = &given.view[VIEW_##name_]},
    VIEWS(ROW)
#undef ROW
    {.name = "touched", .takes = "TIME", .fallback = "off",
     .help = "of a running process: watch it for TIME, and show how much of what each site holds was not written "
     "meanwhile; the process pays for the first write to each page",
     .type = &pl_type_time, .into = &given.touched_ns, .min = TOUCHED_MIN_NS, .max = TOUCHED_MAX_NS, .example = "10s"},
    {.name = "by", .takes = "WHAT", .fallback = "stack", .help = "group by stack, tag, thread or thread,tag; tag shows "
     "the tag tree, thread the largest sites of each thread, thread,tag a tag tree for each thread",
     .type = &pl_type_choice, .into = &given.by, .choices = by_words},
    PL_SELECT_METRIC(given.select, "live, peak if it matters, allocated and calls; allocated with --by tag or thread"),
    {.name = "top", .letter = 'n', .takes = "N",
     .fallback = "4 for each of several metrics, 10 or 20 for one; 3 for each thread; all tags",
     .help = "number of sites, or tags, to show", .type = &pl_type_count, .into = &given.top, .min = 1,
     .max = UINT32_MAX},
    PL_SELECT_HEAP(given.select),
    PL_SELECT_TAG(given.select),
    PL_SELECT_THREAD(given.select),
    PL_SELECT_STACKS(given.select),
    PL_SELECT_TIMES(given.select),
    {.name = "source", .help = "show each site's source line below it, if the file exists; warns if the source is "
     "newer than the binary",
     .type = &pl_type_flag, .into = &given.source},
    {.name = "suppressions", .takes = "FILE", .help = "with --leaks: exclude leaks that FILE lists in LeakSanitizer's "
     "format; may be repeated", .type = &pl_type_files, .into = &given.leaks.suppressions},
    PL_OPTION_MORE,
    PL_SELECT_MERGE(given.select),
    PL_SELECT_SNAPSHOT(given.select),
    {.name = "functions", .help = "with --by tag: also show the calls of each allocation function: malloc, calloc, ...",
     .type = &pl_type_flag, .into = &given.functions},
    {.name = "freed", .help = "with --by tag: also show the blocks and bytes that were freed, whichever tag was active "
     "at the free", .type = &pl_type_flag, .into = &given.freed},
    {.name = "depth", .letter = 'd', .takes = "N", .fallback = "6; all in a tree; 100 for tags",
     .help = "number of frames per stack, or levels of tags, to show; stacks with the same frames become one",
     .type = &pl_type_count, .into = &given.depth, .min = 1, .max = UINT32_MAX},
    {.name = "threshold", .letter = 't', .takes = "PCT", .fallback = "0; 1% in a tree",
     .help = "hide lines with a smaller share of the total", .type = &pl_type_percent, .into = &given.threshold},
    {.name = "histogram", .help = "show the block sizes of each site below it: minimum, histogram by powers of two, "
     "maximum, median and 99th percentile (p50, p99)",
     .type = &pl_type_flag, .into = &given.histogram},
    {.name = "all-digits", .help = "show all digits of bytes, blocks and calls: 13,002,342 B instead of 12.4 MiB",
     .type = &pl_type_flag, .into = &given.all_digits},
    {.name = "no-default-suppressions", .help = "with --leaks: include memory that system libraries keep on purpose",
     .type = &pl_type_flag, .into = &given.leaks.no_defaults},
    PL_LANGUAGE_OPTIONS(given.python, given.native),
    PL_NAMES_OPTION(given.names),
    PL_FULL_NAMES_OPTION(given.full_names),
    {.name = "no-symbols", .help = "show addresses instead of names", .type = &pl_type_flag,
     .into = &given.no_symbols},
    PL_FORCE_OPTION(given.force),
    PL_SYSROOT_OPTION(given.sysroot),
    PL_COLOUR_OPTION(given.colour),
    {0},
};
/* clang-format on */

static bool chosen(void)
{
    return given.select.metric != PL_SELECT_NO_METRIC;
}

/* --- views that this file prints itself --- */

/* Live bytes if there are any, since most people look for those; else allocated bytes. */
static enum pl_metric tree_metric(const struct pl_profile *profile)
{
    bool live = profile->total[PL_METRIC_INUSE_SPACE].value > 0;
    return pl_select_metric(&given.select, live ? PL_METRIC_INUSE_SPACE : PL_METRIC_ALLOC_SPACE);
}

static void print_roots(const struct pl_view *view)
{
    struct pl_paths paths = pl_print_paths(view, PL_SHAPE_ROOTS);
    pl_tree_print(view, &paths, tree_metric(view->profile));
}

static void print_reverse(const struct pl_view *view)
{
    struct pl_paths paths = pl_print_paths(view, PL_SHAPE_REVERSE);
    pl_tree_print(view, &paths, tree_metric(view->profile));
}

/* One tree for all threads, or with --merge-threads one for each group of threads. */
static void print_tags(const struct pl_view *view)
{
    struct pl_groups all;
    struct pl_select none = PL_SELECT_NOTHING;
    struct pl_tagview_options tree = {.metric = pl_select_metric(&given.select, PL_METRIC_ALLOC_SPACE),
                                      .groups = given.select.merge ? view->threads : &all,
                                      .at_least = given.threshold < 0 ? TAGS_AT_LEAST : 0,
                                      .functions = given.functions,
                                      .freed = given.freed};
    if (pl_select_groups(&none, view->profile, PL_GROUP_ALL, &all) != PL_EXIT_OK)
        return;
    pl_tagview_print(view, &tree);
    pl_groups_free(&all);
}

static void print_thread_tags(const struct pl_view *view)
{
    struct pl_tagview_options tree = {.metric = pl_select_metric(&given.select, PL_METRIC_ALLOC_SPACE),
                                      .groups = view->threads,
                                      .at_least = given.threshold < 0 ? TAGS_AT_LEAST : 0,
                                      .functions = given.functions,
                                      .freed = given.freed};
    pl_tagview_print(view, &tree);
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

/* For a part of the run: the sites that hold less at its end than at its start. */
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

/* Live bytes; those at the peak, if much was freed since; allocated bytes and calls. */
static void print_tables(const struct pl_view *view, const struct pl_paths *sites)
{
    const struct pl_profile *profile = view->profile;
    const struct {
        enum pl_metric metric;
        bool shown;
    } usual[] = {
        {PL_METRIC_INUSE_SPACE, pl_metric_live_matters(profile) || profile->difference},
        {PL_METRIC_PEAK_SPACE, pl_metric_peak_matters(profile) && !profile->difference},
        {PL_METRIC_ALLOC_SPACE, true},
        {PL_METRIC_ALLOC_OBJECTS, true},
    };
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        if (usual[i].shown && has_any(sites, usual[i].metric))
            pl_listing_print(view, sites, usual[i].metric);
        if (i == 0 && profile->difference)
            print_shrunk(view, sites);
    }
}

static void print_overview(const struct pl_view *whole)
{
    struct pl_view view = *whole;
    struct pl_paths sites = pl_print_paths(&view, PL_SHAPE_SITE);
    view.brief = !chosen() && !given.depth && !given.top && !given.full_names;
    view.shown = pl_say_memory(calloc(sites.count + 1ull, sizeof *view.shown));
    pl_keyfigures_print(&view);
    pl_highlights_print(&view, &sites);
    if (pl_traits_tagged(view.profile))
        pl_tagview_print_top(&view);
    if (chosen() && sites.count)
        pl_listing_print(&view, &sites, pl_select_metric(&given.select, PL_METRIC_INUSE_SPACE));
    else if (sites.count)
        print_tables(&view, &sites);
    if (view.profile->threads > 1 && !view.profile->difference)
        pl_threads_print_table(&view);
    free(view.shown);
}

/* --- the choice of a view --- */

struct shown {
    const char *option;                        /* "": the overview */
    void (*print)(const struct pl_view *view); /* NULL: views that print head and losses themselves, or fail first */
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

/* The view that the options ask for: NULL for none, an error for more than one. */
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

static enum pl_exit choose_view(const struct shown **out)
{
    const struct shown *view = NULL;
    given.view[VIEW_RESIDENT] |= given.touched_ns > 0;
    enum pl_exit status = find_view(&view);
    if (status != PL_EXIT_OK)
        return status;
    bool any_metric = !view || given.by != BY_STACK || is_tree();
    if (chosen() && !any_metric)
        return pl_say_usage("--%s has a fixed order; drop --metric or --%s", view->option, view->option);
    if (!given.view[VIEW_LEAKS] && (given.leaks.suppressions.count || given.leaks.no_defaults))
        return pl_say_usage("suppressions work only with --leaks; add --leaks");
    if (given.functions && !by_tag())
        return pl_say_usage("--functions works only with --by tag; add --by tag");
    if (given.freed && !by_tag())
        return pl_say_usage("--freed works only with --by tag; add --by tag");
    if (pl_select_in_time(&given.select) && (given.by != BY_STACK || (view && !is_tree())))
        return pl_say_usage(
            "--since and --until work only with the overview, --metric, --tree and --reverse; drop them or "
            "--%s",
            view->option);
    if ((given.histogram || given.source) && !has_sites())
        return pl_say_usage("--%s works only with tables of sites; drop it or --%s",
                            given.source ? "source" : "histogram", view->option);
    if (given.select.merge && view && given.by == BY_STACK)
        return pl_say_usage("--merge-threads works only with --by thread and --by tag; add one of them or drop --%s",
                            view->option);
    *out = view ? view : chosen() ? &one_metric : &overview;
    return PL_EXIT_OK;
}

static enum pl_exit print_view(const struct shown *shown, const struct pl_view *view)
{
    if (shown == &views[VIEW_MEMORY])
        return pl_memory_print(view);
    if (shown == &views[VIEW_RESIDENT])
        return pl_resident_print(view);
    if (shown == &views[VIEW_LEAKS])
        return pl_leaks_print(view, &given.leaks);
    pl_head_print(view);
    shown->print(view);
    pl_head_losses(view);
    return PL_EXIT_OK;
}

static enum pl_exit print_selected(const struct pl_selection *selection, const struct shown *shown,
                                   const struct pl_watch *watch)
{
    struct pl_groups threads;
    enum pl_exit status = pl_select_threads(&given.select, selection->profile, &threads);
    if (status != PL_EXIT_OK)
        return status;
    struct pl_term term = pl_term_open(stdout, (enum pl_colour) given.colour);
    term.whole = given.full_names;
    struct pl_location_options names = {.full_names = given.full_names, .no_symbols = given.no_symbols};
    struct pl_view view = {
        .profile = selection->profile,
        .whole = selection->whole,
        .selection = selection->words,
        .threads = &threads,
        .locations = pl_locations_new(selection->whole, &names),
        .term = &term,
        .subject = selection->subject,
        .threshold = (given.threshold >= 0 ? given.threshold : shown->threshold) / 100,
        .top = given.top ? (uint32_t) given.top : shown->top,
        .depth = given.depth ? (uint32_t) given.depth : shown->depth,
        .full_names = given.full_names,
        .histogram = given.histogram,
        .source = given.source,
        .watch = watch,
    };
    status = print_view(shown, &view);
    pl_locations_free(view.locations);
    pl_groups_free(&threads);
    return status;
}

static void say_next(const struct pl_selection *selection, const struct shown *shown)
{
    const struct pl_profile *profile = selection->whole;
    const char *subject = selection->subject;
    pl_say_flush();
    pl_pager_end();
    if (!isatty(STDOUT_FILENO))
        return;
    if (shown == &overview)
        pl_say("more: %s report --tree %s; --advice, --leaks, --peak, --timeline, --sizes, --temporary, "
               "--metric calls, --by thread%s; in a browser: %s view %s",
               pl_say_self(), subject, pl_traits_tagged(profile) ? ", --by tag" : "", pl_say_self(), subject);
    else if (by_tag() && pl_traits_tagged(profile))
        pl_say("more: %s report --tag NAME %s shows the stacks of one tag; --by thread,tag one tree for each thread",
               pl_say_self(), subject);
}

/* --- other processes of the run --- */

#define RELATIVES_LISTED 3

/* A profile of another process of the same run. */
struct relative {
    char *text; /* "cc1plus (app.plim.4712)" */
    off_t file_bytes;
};

/* `run -o app.plim` names the profile of a child app.plim.PID. An older run may have left files with such names: a
 * child started while its parent ran. */
static bool is_relative(const struct pl_profile *profile, const char *path, struct pl_header *header)
{
    const struct pl_header *own = &profile->header;
    return pl_proc_header(path, header) && header->end != PL_END_EXEC && header->pid != own->pid &&
           header->start_realtime_ns >= own->start_realtime_ns &&
           (double) (header->start_realtime_ns - own->start_realtime_ns) <= profile->duration_s * 1e9;
}

/* "4712" of "app.plim.4712" for the file app.plim; NULL if the name is not of this form. */
static const char *pid_behind(const char *name, const char *file)
{
    size_t bytes = strlen(file);
    const char *pid = strncmp(name, file, bytes) == 0 && name[bytes] == '.' ? name + bytes + 1 : "";
    return *pid && strspn(pid, "0123456789") == strlen(pid) ? pid : NULL;
}

static size_t find_relatives(const struct pl_profile *profile, const char *path, struct relative **out)
{
    const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
    char *around = slash ? pl_say_print("%.*s", (int) (slash - path) + 1, path) : pl_say_print("./");
    size_t count = 0;
    DIR *directory = opendir(around);
    *out = NULL;
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        const char *pid = pid_behind(entry->d_name, file);
        struct pl_header header;
        struct stat status;
        if (!pid)
            continue;
        char *other = pl_say_print("%s.%s", path, pid);
        if (is_relative(profile, other, &header) && stat(other, &status) == 0) {
            char *typed = pl_summary_typed(other), *comm = pl_say_print("%.16s", header.comm);
            *out = pl_say_memory(realloc(*out, (count + 1) * sizeof **out));
            (*out)[count++] = (struct relative){pl_say_print("%s (%s)", comm, typed), status.st_size};
            free(comm);
            free(typed);
        }
        free(other);
    }
    if (directory)
        closedir(directory);
    free(around);
    return count;
}

/* The more stacks a process had, the larger is its profile. */
static int largest_first(const void *left, const void *right)
{
    const struct relative *a = left, *b = right;
    return (a->file_bytes < b->file_bytes) - (a->file_bytes > b->file_bytes);
}

/* `run` has put the sums of all programs into a directory beside this profile. */
static bool say_tree(const char *path)
{
    char *stem = pl_files_stem(path), *tree = pl_say_print("%s" PL_COLLECT_TREE, stem);
    char *typed = pl_summary_typed(tree);
    bool exists = !pl_files_is_directory(path) && pl_files_is_directory(tree);
    if (exists)
        pl_say("this is one process of a tree; all of them as one: %s report %s", pl_say_self(), typed);
    free(typed);
    free(tree);
    free(stem);
    return exists;
}

/* The heap of a compiler driver, or of a server's first process, is rarely the one that was asked for. */
static void say_relatives(const struct pl_profile *profile, const char *path)
{
    if (say_tree(path))
        return;
    struct relative *relative;
    size_t count = find_relatives(profile, path, &relative);
    char *list = pl_say_print("%s", "");
    if (count)
        qsort(relative, count, sizeof *relative, largest_first);
    for (size_t i = 0; i < count; i++) {
        char *longer = pl_say_print("%s%s%s", list, i ? ", " : "", relative[i].text);
        free(relative[i].text);
        free(i < RELATIVES_LISTED ? list : longer);
        list = i < RELATIVES_LISTED ? longer : list;
    }
    if (count > RELATIVES_LISTED)
        pl_say("this is one of %zu profiles of the run; others: %s, and %zu more", count + 1, list,
               count - RELATIVES_LISTED);
    else if (count)
        pl_say("this is one of %zu profiles of the run; %s: %s", count + 1, count == 1 ? "the other" : "others", list);
    free(list);
    free(relative);
}

static enum pl_exit open_and_print(char *name, const struct shown *shown, const struct pl_watch *watch)
{
    struct pl_profile *profile;
    struct pl_selection selection;
    struct pl_subject_options how = {.command = "report",
                                     .force = given.force,
                                     .sysroot = given.sysroot,
                                     .no_symbols = given.no_symbols,
                                     .languages = pl_subject_languages(given.python, given.native),
                                     .names = {.file = given.names, .full = given.full_names}};
    enum pl_exit status = pl_subject_open(&how, 1, &name, &profile);
    if (status == PL_EXIT_OK)
        status = pl_select_take(&given.select, profile, name, &selection);
    if (status != PL_EXIT_OK)
        return status;
    if (shown == &overview)
        say_relatives(selection.whole, name);
    status = print_selected(&selection, shown, watch);
    if (status == PL_EXIT_OK)
        say_next(&selection, shown);
    pl_select_free(&selection);
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
    struct pl_watch watch = PL_WATCH_NONE;
    if (given.touched_ns)
        status = pl_watch(&watch, argv[0], given.touched_ns);
    if (status != PL_EXIT_OK)
        return status;
    char *name = pl_subject_snapshot(argv[0], given.select.snapshot);
    status = name ? open_and_print(name, shown, &watch) : PL_EXIT_FAILURE;
    pl_written_end(&watch.written);
    free(name);
    return status;
}

const struct pl_command pl_command_report = {
    .name = "report",
    .arguments = "[FILE|PID]",
    .summary = "print a report",
    .details =
        "Prints a report on a profile: totals, what stands out, the sites that hold and allocate the most, threads, "
        "and losses. FILE is a profile, or a directory: its profiles are read as one, as `plimsoll merge` would add "
        "them up. With a PID, report reads the running process as it is now, "
        "without stopping it. " PL_SUBJECT_NEWEST "\n"
        "\n"
        "On a terminal, PAGER (default: less) shows the output one screen at a time; PAGER=cat turns that off.\n"
        "\n"
        "--advice, --leaks, --peak, --timeline, --sizes, --temporary, --reallocs, --tree and --reverse each print one "
        "subject in detail instead. --reallocs counts realloc only: a std::vector grows by operator new, a copy and "
        "operator delete, so it does not show there.\n"
        "\n"
        "Tags are names that a program gives to its memory; --by tag prints their tree. --by thread prints the "
        "threads. --tag and --thread limit every view to a part of the profile; all figures are then those of the "
        "part. See `plimsoll help tags`.\n"
        "\n"
        "A site is a call stack that starts at the innermost function of the program itself. Functions of the "
        "allocator and of system libraries that it calls are left out; `→` names the library function that it called. "
        "Sites that look the same share one line. Between two functions of the program, a library appears as one "
        "frame: the function that the program called. Recursion appears once. Estimated figures come with ±, half the "
        "width of their 95% confidence interval; see `plimsoll help figures`. docs/report.md explains the first screen "
        "line by line.",
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
    .reads_newest = true,
    .options = options,
    .main = report_main,
};
