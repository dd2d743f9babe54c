/* SPDX-License-Identifier: MIT */
/*
 * highlights.c - what stands out: one list of advice and of the heaviest functions. The largest suspected leak comes
 * first, then the line of code that holds most of the memory, then the largest weight.
 *
 * Each line says what, where, how much, and what to do. A piece of advice (analysis/advice.h) has its own weight. A
 * line of code that merely holds, allocates or calls the most may do so for a good reason, so its share counts half.
 * The list names lines, not stacks: people read it first, and the tables below it have the stacks. A line appears at
 * most once for being heavy, with the sum of its sites and their number; it may have advice as well.
 *
 * Memory that the built-in suppressions cover is kept by libraries on purpose, and is not counted against anybody.
 */
#include <math.h>
#include <stdlib.h>

#include "analysis/advice/advice.h"
#include "analysis/figure.h"
#include "analysis/leaks/leftovers.h"
#include "analysis/metric.h"
#include "analysis/path.h"
#include "cli/report/print.h"
#include "reader/site.h"

#define LINES_MAX 5
#define KIND_MAX 2 /* of one kind of advice */
#define FIRST 3    /* more than any weight */
#define SECOND 2
#define SAMPLES_LEAST 5 /* with fewer, a function is not listed */
#define INDENT 4
#define HEAVY_COUNTS 0.5
#define HOLDER_SHARE 0.25      /* of live memory or of the peak: a line with less does not explain where memory goes */
#define HELD_LEAST 4096        /* bytes: nobody needs to begin with less */
#define MOST 0.5               /* of what a function holds */
#define MOSTLY 0.9             /* of all calls */
#define SUPPRESSED_MATTERS 0.1 /* of live bytes */
#define ANY_ADVICE ~0u

/* "F held 2 MiB when the heap was largest: 91% of the peak, 74 B a block on average; to lower the peak, begin here" */
static const struct heavy {
    enum pl_metric metric;
    double share; /* functions with less are not listed */
    const char *verb, *unit, *each, *todo;
    enum pl_metric bytes, objects;         /* their ratio is the mean size */
    enum pl_advice_kind said_by;           /* kinds of advice that make this line redundant, as bits */
    const char *merged_unit, *merged_todo; /* for merged profiles, in place of unit and todo */
    const char *running_verb;              /* while the process runs, in place of verb; NULL: the same */
    double least;                          /* of the metric: less is not worth a line, whatever its share */
} heavies[] = {
    {PL_METRIC_INUSE_SPACE, 0.10, "held", "", "a block", "", PL_METRIC_INUSE_SPACE, PL_METRIC_INUSE_OBJECTS,
     1u << PL_ADVICE_LEAK, NULL, NULL, "holds", HELD_LEAST},
    {PL_METRIC_PEAK_SPACE, 0.25, "held", " when the heap was largest", "a block", "; to lower the peak, begin here",
     PL_METRIC_PEAK_SPACE, PL_METRIC_PEAK_OBJECTS, 1u << PL_ADVICE_LEAK | 1u << PL_ADVICE_GROWTH,
     " in all when each process's heap was largest", "; to lower the peaks, begin here", NULL, HELD_LEAST},
    {PL_METRIC_ALLOC_SPACE, 0.25, "allocates", "", "a call", "", PL_METRIC_ALLOC_SPACE, PL_METRIC_ALLOC_OBJECTS,
     ANY_ADVICE, NULL, NULL, NULL, PL_ADVICE_BYTES_LEAST},
    {PL_METRIC_ALLOC_OBJECTS, 0.25, "makes", " calls", "each", "; fewer and larger blocks cost less",
     PL_METRIC_ALLOC_SPACE, PL_METRIC_ALLOC_OBJECTS, ANY_ADVICE, NULL, NULL, NULL, PL_ADVICE_CALLS_LEAST},
};

struct finding {
    const struct pl_path *path; /* the site that it is about; NULL: a sum of sites, or the whole process */
    uint32_t location; /* PL_PATH_NO_LOCATION: the whole process */
    uint32_t via;      /* the library function that it called; PL_PATH_NO_LOCATION: none */
    uint32_t others;   /* how many more lines it is about */
    uint32_t *other;   /* their locations */
    char *text;        /* printed after the name */
    double weight;
    double bytes;      /* that it is about, at least */
    double held_bytes; /* of live memory or of the peak, if it explains much of that; else 0 */
    bool advice;
    enum pl_advice_kind kind;
};

struct findings {
    const struct pl_view *view;
    const struct pl_paths *sites;
    struct pl_paths functions;
    char *leaks_command; /* to suggest */
    struct kept *kept;
    struct pl_estimate suppressed; /* live bytes */
    bool judged;                   /* the run was long enough for `report --leaks` to see growth */
    struct finding *finding;
    uint32_t count, room;
};

static void add(struct findings *all, struct finding finding)
{
    if (all->count == all->room) {
        all->room = all->room ? 2 * all->room : 16;
        all->finding = pl_say_memory(realloc(all->finding, all->room * sizeof *all->finding));
    }
    all->finding[all->count++] = finding;
}

/* --- advice --- */

static uint32_t *list_locations(const struct pl_paths *sites, const uint32_t *path, uint32_t count)
{
    uint32_t *location = pl_say_memory(calloc(count + 1ull, sizeof *location));
    for (uint32_t i = 0; i < count; i++)
        location[i] = sites->path[path[i]].location[0];
    return location;
}

static double held_by(const struct pl_advice *advice)
{
    return advice->kind == PL_ADVICE_GROWTH && advice->weight >= HOLDER_SHARE ? advice->gain_bytes : 0;
}

static void add_advice(struct findings *all)
{
    const struct pl_view *view = all->view;
    struct pl_advices advices = {0};
    char *mappings = pl_print_mappings_command(view);
    pl_advice_find(view->profile, view->locations, all->sites,
                   &(struct pl_advice_commands){all->leaks_command, mappings}, NULL, &advices);
    free(mappings);
    for (uint32_t i = 0; i < advices.count; i++) {
        const struct pl_advice *advice = &advices.advice[i];
        const struct pl_path *path = advice->path == PL_ADVICE_NO_PATH ? NULL : &all->sites->path[advice->path];
        add(all, (struct finding){.path = path,
                                  .location = path ? path->location[0] : PL_PATH_NO_LOCATION,
                                  .via = path ? path->via : PL_PATH_NO_LOCATION,
                                  .others = advice->other_count,
                                  .other = list_locations(all->sites, advice->others, advice->other_count),
                                  .text = pl_say_print("%s%s: %s", path ? " " : "", advice->headline, advice->action),
                                  .weight = advice->weight,
                                  .bytes = advice->gain_bytes,
                                  .held_bytes = held_by(advice),
                                  .advice = true,
                                  .kind = advice->kind});
    }
    pl_advice_free(&advices);
}

/* --- the heaviest functions --- */

static char *describe_whole(const struct pl_view *view, enum pl_metric metric)
{
    static const char *const wholes[PL_METRIC_COUNT] = {
        [PL_METRIC_ALLOC_OBJECTS] = "all calls",
        [PL_METRIC_ALLOC_SPACE] = "all bytes",
        [PL_METRIC_PEAK_SPACE] = "the peak",
    };
    if (view->profile->merged && metric == PL_METRIC_PEAK_SPACE)
        return pl_say_print("the sum of peaks");
    if (wholes[metric])
        return pl_say_print("%s", wholes[metric]);
    return pl_say_print("what %s %s", view->profile->running ? "is" : "was", pl_metric_live_word(view->profile));
}

/* Whether advice was found of this kind. */
static bool has_advice(const struct findings *all, enum pl_advice_kind kind)
{
    for (uint32_t i = 0; i < all->count; i++)
        if (all->finding[i].advice && all->finding[i].kind == kind)
            return true;
    return false;
}

/* Each realloc counts all bytes of the block again. In place it copies nothing, so the count overstates the cost. The
 * caller frees the text. */
static char *describe_todo(const struct findings *all, const struct heavy *heavy, uint32_t function)
{
    const struct pl_profile *profile = all->view->profile;
    double calls = all->functions.path[function].metric[PL_METRIC_ALLOC_OBJECTS].value;
    bool made = heavy->metric == PL_METRIC_ALLOC_SPACE || heavy->metric == PL_METRIC_ALLOC_OBJECTS;
    if (made && pl_paths_spread(profile, &all->functions, function).realloc_in_place >= MOSTLY * calls)
        return pl_say_print("; nearly all by realloc in place, which copies nothing");
    if (heavy->metric == PL_METRIC_INUSE_SPACE && all->judged)
        return pl_say_print("; %s says whether it grows", all->leaks_command);
    if (heavy->metric == PL_METRIC_PEAK_SPACE && (has_advice(all, PL_ADVICE_OUTSIDE) || profile->addresses))
        return pl_say_print("%s", ""); /* memory is elsewhere, or perhaps never touched: nobody should begin here */
    return pl_say_print("%s", profile->merged && heavy->merged_todo ? heavy->merged_todo : heavy->todo);
}

/* The sites whose sum a finding has: how many, and the library function that all of them call. */
struct summed {
    uint32_t sites;
    uint32_t via; /* PL_PATH_NO_LOCATION: none, or different ones */
};

static struct summed find_summed(const struct findings *all, uint32_t function, enum pl_metric metric)
{
    const struct pl_profile *profile = all->view->profile;
    struct summed summed = {.via = PL_PATH_NO_LOCATION};
    bool *seen = pl_say_memory(calloc(all->sites->count + 1ull, sizeof *seen));
    for (uint32_t i = 0; i < profile->sites; i++) {
        uint32_t site = all->sites->of_site[i], via = all->sites->path[site].via;
        if (all->functions.of_site[i] != function || seen[site] || !(pl_site_value(&profile->site[i], metric) > 0))
            continue;
        seen[site] = true;
        summed.via = !summed.sites++ || summed.via == via ? via : PL_PATH_NO_LOCATION;
    }
    free(seen);
    return summed;
}

/* ", 74 B a block on average"; "" if the number of blocks is not even known to within itself. */
static char *describe_mean(const struct heavy *heavy, const struct pl_path *path)
{
    const struct pl_estimate *bytes = &path->metric[heavy->bytes], *objects = &path->metric[heavy->objects];
    char size[PL_FIGURE_BYTES];
    if (objects->error > objects->value)
        return pl_say_print("%s", "");
    pl_figure_bytes(size, bytes->value / fmax(objects->value, 1));
    return pl_say_print(", %s %s on average", size, heavy->each);
}

static char *describe_heavy(const struct findings *all, const struct heavy *heavy, uint32_t function, uint32_t sites)
{
    const struct pl_view *view = all->view;
    const struct pl_path *path = &all->functions.path[function];
    const struct pl_estimate *estimate = &path->metric[heavy->metric];
    char value[2 * PL_FIGURE_BYTES], share[PL_FIGURE_BYTES], count[PL_FIGURE_BYTES];
    char *whole = describe_whole(view, heavy->metric), *mean = describe_mean(heavy, path);
    pl_figure_estimate(value, heavy->metric, estimate);
    pl_figure_percent(share, pl_metric_share(view->profile, heavy->metric, estimate->value));
    pl_figure_exact(count, sites);
    const char *unit = view->profile->merged && heavy->merged_unit ? heavy->merged_unit : heavy->unit;
    const char *verb = view->profile->running && heavy->running_verb ? heavy->running_verb : heavy->verb;
    char *todo = describe_todo(all, heavy, function);
    char *text = pl_say_print(" %s %s%s: %s of %s%s%s%s%s%s", verb, value, unit, share, whole, mean,
                              sites > 1 ? ", in " : "", sites > 1 ? count : "", sites > 1 ? " sites" : "", todo);
    free(todo);
    free(mean);
    free(whole);
    return text;
}

/* Live memory of a function that libraries keep on purpose, in bytes and in blocks. */
struct kept {
    double space, objects;
};

/* By function: all live memory, less the part that no built-in suppression covers. */
static void find_kept(struct findings *all, struct pl_suppressions *set)
{
    const struct pl_profile *profile = all->view->profile;
    const struct pl_paths *functions = &all->functions;
    struct kept *kept = pl_say_memory(calloc(functions->count + 1ull, sizeof *kept));
    uint32_t *group = pl_paths_of_stacks(profile, functions);
    struct pl_leftovers *left = pl_leftovers_new(profile, set, group, functions->count);
    for (uint32_t i = 0; i < functions->count; i++) {
        const struct pl_estimate *metric = functions->path[i].metric;
        kept[i] = (struct kept){metric[PL_METRIC_INUSE_SPACE].value, metric[PL_METRIC_INUSE_OBJECTS].value};
    }
    for (uint32_t i = 0; i < left->count; i++) {
        kept[left->item[i].group].space -= left->item[i].metric[PL_METRIC_INUSE_SPACE].value;
        kept[left->item[i].group].objects -= left->item[i].metric[PL_METRIC_INUSE_OBJECTS].value;
    }
    all->kept = kept;
    all->suppressed = left->suppressed_metric[PL_METRIC_INUSE_SPACE];
    all->judged = left->aged && left->timed;
    pl_leftovers_free(left);
    free(group);
}

static bool counts_bytes(enum pl_metric metric)
{
    return metric != PL_METRIC_ALLOC_OBJECTS;
}

static bool is_excused(const struct findings *all, uint32_t function, enum pl_metric metric)
{
    double value = all->functions.path[function].metric[metric].value;
    const struct kept *kept = &all->kept[function];
    return (counts_bytes(metric) ? kept->space : kept->objects) * 2 > value;
}

static bool is_function(const struct findings *all, uint32_t function)
{
    return !pl_locations_stands_in(all->view->locations, all->functions.path[function].location[0]);
}

static bool is_about(const struct finding *finding, uint32_t location)
{
    bool about = finding->location == location;
    for (uint32_t i = 0; i < finding->others; i++)
        about |= finding->other[i] == location;
    return about;
}

static bool is_held(enum pl_metric metric)
{
    return metric == PL_METRIC_INUSE_SPACE || metric == PL_METRIC_PEAK_SPACE;
}

/* Whether advice or other lines already name the function. What it holds is only said by lines about most of that: a
 * small leak must not hide the bulk. */
static bool is_named(const struct findings *all, const struct pl_path *path, const struct heavy *heavy)
{
    double bytes = 0;
    bool named = false;
    for (uint32_t i = 0; i < all->count; i++) {
        const struct finding *finding = &all->finding[i];
        if (!is_about(finding, path->location[0]) || (finding->advice && !(heavy->said_by >> finding->kind & 1)))
            continue;
        named = true;
        bytes += finding->bytes;
    }
    return named && (!is_held(heavy->metric) || bytes >= MOST * path->metric[heavy->metric].low);
}

/* The heaviest function that may be named and is not yet; UINT32_MAX if there is none. */
static uint32_t find_first(const struct findings *all, const struct heavy *heavy)
{
    uint32_t first = UINT32_MAX;
    double most = 0;
    for (uint32_t i = 0; i < all->functions.count; i++) {
        const struct pl_path *path = &all->functions.path[i];
        double value = path->metric[heavy->metric].value;
        if (value > most && is_function(all, i) && !is_excused(all, i, heavy->metric) && !is_named(all, path, heavy)) {
            first = i;
            most = value;
        }
    }
    return first;
}

/* One counted block is enough; with samples it takes several. A figure that is not known to within itself explains
 * nothing. */
static bool is_known(const struct pl_path *path, enum pl_metric metric)
{
    const struct pl_amount *allocated = &path->figures.allocated, *freed = &path->figures.freed;
    bool live = metric == PL_METRIC_INUSE_SPACE;
    double counted = allocated->exact_objects - (live ? freed->exact_objects : 0);
    uint64_t gone = live ? freed->sampled.samples : 0;
    const struct pl_estimate *estimate = &path->metric[metric];
    return (counted >= 1 || allocated->sampled.samples >= gone + SAMPLES_LEAST) && estimate->error <= estimate->value;
}

static void add_heavy(struct findings *all, const struct heavy *heavy)
{
    const struct pl_view *view = all->view;
    uint32_t first = find_first(all, heavy);
    if (first == UINT32_MAX || (heavy->metric == PL_METRIC_INUSE_SPACE && !pl_metric_live_matters(view->profile)))
        return;
    const struct pl_path *path = &all->functions.path[first];
    double value = path->metric[heavy->metric].value, share = pl_metric_share(view->profile, heavy->metric, value);
    bool holds = is_held(heavy->metric);
    if (share < heavy->share || value < heavy->least || !is_known(path, heavy->metric))
        return;
    struct summed summed = find_summed(all, first, heavy->metric);
    add(all, (struct finding){.location = path->location[0],
                              .via = summed.via,
                              .text = describe_heavy(all, heavy, first, summed.sites),
                              .weight = HEAVY_COUNTS * share,
                              .bytes = holds ? path->metric[heavy->metric].low : 0,
                              .held_bytes = holds && share >= HOLDER_SHARE ? value : 0});
}

/* --- lines --- */

static int weightiest_first(const void *left, const void *right)
{
    const struct finding *a = left, *b = right;
    return (a->weight < b->weight) - (a->weight > b->weight);
}

/* People ask first where the memory is: the line that holds most of it comes before those that are about calls. */
static void raise_holder(struct findings *all)
{
    struct finding *most = NULL;
    for (uint32_t i = 0; i < all->count; i++)
        if (all->finding[i].held_bytes > (most ? most->held_bytes : 0))
            most = &all->finding[i];
    if (most)
        most->weight = SECOND;
}

/* The largest suspected leak comes first, however small it is: it will grow. Each kind gets at most KIND_MAX lines, so
 * that other kinds are seen too; --advice lists all. Advice of one kind arrives in the order of its weight. */
static void rank(struct findings *all)
{
    unsigned of_kind[PL_ADVICE_COUNT] = {0};
    raise_holder(all);
    for (uint32_t i = 0; i < all->count; i++) {
        struct finding *finding = &all->finding[i];
        if (!finding->advice)
            continue;
        unsigned before = of_kind[finding->kind]++;
        if (before >= KIND_MAX)
            finding->weight = 0;
        else if (finding->kind == PL_ADVICE_OUTSIDE)
            finding->weight = FIRST + 1; /* no other line is about most of the memory */
        else if (finding->kind == PL_ADVICE_LEAK && !before)
            finding->weight = FIRST;
    }
    if (all->count)
        qsort(all->finding, all->count, sizeof *all->finding, weightiest_first);
}

/* How many of the locations of both, from the innermost on, are the same. */
static uint32_t count_common(const struct pl_path *a, const struct pl_path *b)
{
    uint32_t common = 0;
    while (common < a->count && common < b->count && a->location[common] == b->location[common])
        common++;
    return common;
}

/* A wrapper of malloc may be the name of several lines: then it needs the caller in which they differ. 0: it does not,
 * or there is none. */
static uint32_t find_apart(const struct findings *all, uint32_t shown, uint32_t which)
{
    const struct finding *finding = &all->finding[which];
    uint32_t apart = 0;
    for (uint32_t i = 0; i < shown && finding->path; i++) {
        const struct finding *other = &all->finding[i];
        uint32_t common = i != which && other->path && other->via == finding->via
                              ? count_common(finding->path, other->path)
                              : 0;
        apart = common > apart ? common : apart;
    }
    return finding->path && apart < finding->path->count ? apart : 0;
}

static void put_caller(const struct pl_view *view, const struct pl_location *location, bool indirect)
{
    char file_line[PL_PRINT_FILE_LINE_BYTES];
    pl_print_file_line(location, file_line, sizeof file_line);
    char *text = pl_say_print(" ← %s%s%s%s%s", indirect ? "… ← " : "", location->name, *file_line ? " (" : "", file_line,
                              *file_line ? ")" : "");
    pl_term_words(view->term, PL_STYLE_DIM, text, INDENT);
    free(text);
}

static void put_finding(const struct findings *all, uint32_t shown, uint32_t which)
{
    const struct pl_view *view = all->view;
    const struct finding *finding = &all->finding[which];
    const struct pl_location *locations = view->locations->location;
    uint32_t apart = find_apart(all, shown, which);
    pl_term_print(view->term, PL_STYLE_PLAIN, "%2u. ", which + 1);
    if (finding->location != PL_PATH_NO_LOCATION)
        pl_print_function(view, &locations[finding->location],
                          finding->via == PL_PATH_NO_LOCATION ? NULL : &locations[finding->via]);
    if (apart)
        put_caller(view, &locations[finding->path->location[apart]], apart > 1);
    pl_term_words(view->term, PL_STYLE_PLAIN, finding->text, INDENT);
    pl_term_end(view->term);
}

static void put_note(const struct pl_view *view, char *text)
{
    pl_term_pad(view->term, INDENT);
    pl_term_words(view->term, PL_STYLE_DIM, text, INDENT);
    pl_term_end(view->term);
    free(text);
}

/* The table of live memory may begin with a site that is not listed here; this says why. */
static void put_suppressed(const struct findings *all)
{
    const struct pl_profile *profile = all->view->profile;
    const struct pl_estimate *live = &profile->total[PL_METRIC_INUSE_SPACE];
    char part[2 * PL_FIGURE_BYTES], whole[2 * PL_FIGURE_BYTES];
    if (!pl_metric_live_matters(profile) || !(all->suppressed.value >= SUPPRESSED_MATTERS * live->value))
        return;
    pl_figure_estimate(part, PL_METRIC_INUSE_SPACE, &all->suppressed);
    pl_figure_estimate(whole, PL_METRIC_INUSE_SPACE, live);
    put_note(all->view, pl_say_print("(%s of %s %s matches suppressions: %s)", part, whole,
                                     pl_metric_live_word(profile), all->leaks_command));
}

static void put_findings(const struct findings *all)
{
    const struct pl_view *view = all->view;
    uint32_t shown = all->count < LINES_MAX ? all->count : LINES_MAX;
    if (!shown)
        return;
    pl_print_heading(view, "What stands out");
    pl_term_end(view->term);
    for (uint32_t i = 0; i < shown; i++)
        put_finding(all, shown, i);
    uint32_t advice = 0;
    for (uint32_t i = shown; i < all->count; i++)
        advice += all->finding[i].advice;
    if (advice)
        put_note(view, pl_say_print("(%u more: %s report --advice %s)", advice, pl_say_self(), view->subject));
    put_suppressed(all);
}

void pl_highlights_print(const struct pl_view *view, const struct pl_paths *sites)
{
    if (view->profile->difference)
        return;
    struct findings all = {.view = view, .sites = sites, .leaks_command = pl_print_leaks_command(view)};
    struct pl_suppressions *set = pl_suppressions_new();
    pl_term_busy("plimsoll: looking for what stands out");
    pl_suppressions_add_builtin(set);
    all.functions = pl_paths_new(view->profile, view->locations, PL_SHAPE_OWN, 0);
    find_kept(&all, set);
    add_advice(&all);
    for (size_t i = 0; i < sizeof heavies / sizeof *heavies; i++)
        add_heavy(&all, &heavies[i]);
    rank(&all);
    pl_term_busy(NULL);
    put_findings(&all);
    for (uint32_t i = 0; i < all.count; i++) {
        free(all.finding[i].other);
        free(all.finding[i].text);
    }
    free(all.finding);
    free(all.kept);
    free(all.leaks_command);
    pl_suppressions_free(set);
}
