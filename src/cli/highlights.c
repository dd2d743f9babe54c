/* SPDX-License-Identifier: MIT */
/*
 * highlights.c - what stands out: one list of advice and of the heaviest functions, suspected leaks and then the
 * weightiest first.
 *
 * Each line says what, where, how much, and what to do. Advice (analysis/advice.h) weighs as much as it says; who
 * merely holds, allocates or calls the most may be doing what it is there for, so that counts half. These are
 * functions, not stacks: this is the first thing people read, and the tables below have the stacks. A function is named
 * by one line of each sort.
 *
 * What the built-in suppressions cover is kept on purpose by libraries: nobody is accused of that.
 */
#include "highlights.h"

#include <math.h>
#include <stdlib.h>

#include "advice.h"
#include "figure.h"
#include "leftovers.h"
#include "stackgroups.h"
#include "utf8.h"

#define LINES_MAX 5
#define KIND_MAX 2      /* of one kind of advice */
#define FIRST 2         /* more than any weight */
#define SAMPLES_LEAST 5 /* fewer say nothing */
#define NAME_WIDTH 60
#define INDENT 4
#define HEAVY_COUNTS 0.5
#define MOSTLY 0.9 /* of all calls */
#define ANY_ADVICE ~0u
#define LIVE_MATTERS 0.05 /* of the peak: less that is live is not what one looks for */

/* "F holds 2 MiB: 91% of what was never freed, 74 B a block on average; --leaks says whether it grows" */
static const struct heavy {
    enum pl_metric metric;
    double share; /* the least that is worth a sentence */
    const char *verb, *unit, *each, *todo;
    enum pl_metric bytes, objects;         /* whose ratio is the mean size */
    enum pl_advice_kind said_by;           /* advice that says as much of a function */
    const char *merged_unit, *merged_todo; /* what to say instead of profiles that were merged */
} heavies[] = {
    {PL_METRIC_INUSE_SPACE, 0.10, "holds", "", "a block", "; --leaks says whether it grows", PL_METRIC_INUSE_SPACE,
     PL_METRIC_INUSE_OBJECTS, 1u << PL_ADVICE_LEAK, NULL, NULL},
    {PL_METRIC_PEAK_SPACE, 0.25, "held", " when the heap was largest", "a block", "; to lower the peak, begin here",
     PL_METRIC_PEAK_SPACE, PL_METRIC_PEAK_OBJECTS, 1u << PL_ADVICE_LEAK, " when each process held most",
     "; to lower the peaks, begin here"},
    {PL_METRIC_ALLOC_SPACE, 0.25, "allocates", "", "a call", "", PL_METRIC_ALLOC_SPACE, PL_METRIC_ALLOC_OBJECTS,
     ANY_ADVICE, NULL, NULL},
    {PL_METRIC_ALLOC_OBJECTS, 0.25, "makes", " calls", "each", "; fewer and larger blocks cost less",
     PL_METRIC_ALLOC_SPACE, PL_METRIC_ALLOC_OBJECTS, ANY_ADVICE, NULL, NULL},
};

struct finding {
    uint32_t spot; /* PL_PATH_NO_SPOT: the whole process */
    uint32_t via;  /* what of a library it called; PL_PATH_NO_SPOT */
    char *text;    /* what follows the name */
    double weight;
    bool advice;
    enum pl_advice_kind kind;
};

struct findings {
    const struct pl_view *view;
    const struct pl_paths *sites;
    struct pl_paths functions;
    struct kept *kept;
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

static void add_advice(struct findings *all)
{
    const struct pl_view *view = all->view;
    struct pl_advices advices = {0};
    pl_advice_find(view->profile, view->spots, all->sites, pl_say_self(), &advices);
    for (uint32_t i = 0; i < advices.count; i++) {
        const struct pl_advice *advice = &advices.advice[i];
        const struct pl_path *path = advice->path == PL_ADVICE_NO_PATH ? NULL : &all->sites->path[advice->path];
        add(all, (struct finding){.spot = path ? path->spot[0] : PL_PATH_NO_SPOT,
                                  .via = path ? path->via : PL_PATH_NO_SPOT,
                                  .text = pl_say_print("%s%s: %s", path ? " " : "", advice->headline, advice->action),
                                  .weight = advice->weight,
                                  .advice = true,
                                  .kind = advice->kind});
    }
    pl_advice_free(&advices);
}

/* --- the heaviest --- */

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
    return pl_say_print("what %s %s", view->profile->running ? "is" : "was", pl_view_live_word(view->profile));
}

/* A block that grows where it is asks for all of its bytes again, which costs next to nothing. */
static const char *find_todo(const struct findings *all, const struct heavy *heavy, uint32_t function)
{
    const struct pl_profile *profile = all->view->profile;
    double calls = all->functions.path[function].metric[PL_METRIC_ALLOC_OBJECTS].value;
    bool made = heavy->metric == PL_METRIC_ALLOC_SPACE || heavy->metric == PL_METRIC_ALLOC_OBJECTS;
    if (made && pl_paths_spread(profile, &all->functions, function).realloc_in_place >= MOSTLY * calls)
        return "; nearly all by realloc in place, which copies nothing";
    return profile->merged && heavy->merged_todo ? heavy->merged_todo : heavy->todo;
}

static char *describe_heavy(const struct findings *all, const struct heavy *heavy, uint32_t function)
{
    const struct pl_view *view = all->view;
    const struct pl_path *path = &all->functions.path[function];
    const struct pl_estimate *estimate = &path->metric[heavy->metric];
    char value[2 * PL_FIGURE_BYTES], share[PL_FIGURE_BYTES], size[PL_FIGURE_BYTES];
    char *whole = describe_whole(view, heavy->metric);
    pl_figure_estimate(value, heavy->metric, estimate);
    pl_figure_percent(share, pl_view_share(view->profile, heavy->metric, estimate->value));
    pl_figure_bytes(size, path->metric[heavy->bytes].value / fmax(path->metric[heavy->objects].value, 1));
    const char *unit = view->profile->merged && heavy->merged_unit ? heavy->merged_unit : heavy->unit;
    char *text = pl_say_print(" %s %s%s: %s of %s, %s %s on average%s", heavy->verb, value, unit, share, whole, size,
                              heavy->each, find_todo(all, heavy, function));
    free(whole);
    return text;
}

/* What of each function's is kept on purpose, in bytes and in blocks. */
struct kept {
    double space, objects;
};

/* Everything that is left, but for what is left over after the built-in suppressions. */
static struct kept *find_kept(const struct pl_profile *profile, const struct pl_paths *functions,
                              struct pl_suppressions *set)
{
    struct kept *kept = pl_say_memory(calloc(functions->count + 1ull, sizeof *kept));
    uint32_t *group = pl_stackgroups_new(profile, functions);
    struct pl_leftovers *left = pl_leftovers_new(profile, set, group, functions->count);
    for (uint32_t i = 0; i < functions->count; i++) {
        const struct pl_estimate *metric = functions->path[i].metric;
        kept[i] = (struct kept){metric[PL_METRIC_INUSE_SPACE].value, metric[PL_METRIC_INUSE_OBJECTS].value};
    }
    for (uint32_t i = 0; i < left->count; i++) {
        kept[left->item[i].group].space -= left->item[i].metric[PL_METRIC_INUSE_SPACE].value;
        kept[left->item[i].group].objects -= left->item[i].metric[PL_METRIC_INUSE_OBJECTS].value;
    }
    pl_leftovers_free(left);
    free(group);
    return kept;
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

/* Other sizes were left out on purpose, and some stacks found no room or cannot be read: nobody can be named. */
static bool is_function(const struct findings *all, uint32_t function)
{
    uint32_t spot = all->functions.path[function].spot[0];
    return spot != all->view->spots->other_sizes && spot != all->view->spots->overflow;
}

/* By advice that says as much, or by another line of this sort. */
static bool is_named(const struct findings *all, uint32_t spot, unsigned said_by)
{
    for (uint32_t i = 0; i < all->count; i++)
        if (all->finding[i].spot == spot && (!all->finding[i].advice || said_by >> all->finding[i].kind & 1))
            return true;
    return false;
}

/* The first among those that may be named and have not been; UINT32_MAX if there is none. */
static uint32_t find_first(const struct findings *all, const struct heavy *heavy)
{
    uint32_t first = UINT32_MAX;
    double most = 0;
    for (uint32_t i = 0; i < all->functions.count; i++) {
        const struct pl_path *path = &all->functions.path[i];
        double value = path->metric[heavy->metric].value;
        if (value > most && is_function(all, i) && !is_excused(all, i, heavy->metric) &&
            !is_named(all, path->spot[0], heavy->said_by)) {
            first = i;
            most = value;
        }
    }
    return first;
}

/* What was counted is certain; of samples it takes a few. */
static bool is_known(const struct pl_path *path, enum pl_metric metric)
{
    const struct pl_amount *allocated = &path->figures.allocated, *freed = &path->figures.freed;
    bool live = metric == PL_METRIC_INUSE_SPACE;
    double counted = allocated->exact_objects - (live ? freed->exact_objects : 0);
    uint64_t gone = live ? freed->sampled.samples : 0;
    return counted >= 1 || allocated->sampled.samples >= gone + SAMPLES_LEAST;
}

/* What of a library most of it went through. */
static uint32_t find_via(const struct findings *all, uint32_t function, enum pl_metric metric)
{
    const struct pl_profile *profile = all->view->profile;
    double most = 0;
    uint32_t via = PL_PATH_NO_SPOT;
    for (uint32_t i = 0; i < profile->sites; i++) {
        const struct pl_path *site = &all->sites->path[all->sites->of_site[i]];
        if (all->functions.of_site[i] != function || !(site->metric[metric].value > most))
            continue;
        most = site->metric[metric].value;
        via = site->via;
    }
    return most * 2 > all->functions.path[function].metric[metric].value ? via : PL_PATH_NO_SPOT;
}

static void add_heavy(struct findings *all, const struct heavy *heavy)
{
    const struct pl_view *view = all->view;
    uint32_t first = find_first(all, heavy);
    if (first == UINT32_MAX || (heavy->metric == PL_METRIC_INUSE_SPACE && !pl_highlights_live(view->profile)))
        return;
    const struct pl_path *path = &all->functions.path[first];
    double share = pl_view_share(view->profile, heavy->metric, path->metric[heavy->metric].value);
    if (share < heavy->share || !is_known(path, heavy->metric))
        return;
    add(all, (struct finding){.spot = path->spot[0],
                              .via = find_via(all, first, heavy->metric),
                              .text = describe_heavy(all, heavy, first),
                              .weight = HEAVY_COUNTS * share});
}

/* --- lines --- */

static int weightiest_first(const void *left, const void *right)
{
    const struct finding *a = left, *b = right;
    return (a->weight < b->weight) - (a->weight > b->weight);
}

/* A suspected leak comes first, however small it is: it will grow. Of a kind there are few, so that other kinds are
 * seen: the list of --advice has all of them. Advice of a kind is here in the order of its weight. */
static void rank(struct findings *all)
{
    unsigned of_kind[PL_ADVICE_COUNT] = {0};
    for (uint32_t i = 0; i < all->count; i++) {
        struct finding *finding = &all->finding[i];
        if (!finding->advice)
            continue;
        unsigned before = of_kind[finding->kind]++;
        if (before >= KIND_MAX)
            finding->weight = 0;
        else if (finding->kind == PL_ADVICE_LEAK && !before)
            finding->weight = FIRST;
    }
    if (all->count)
        qsort(all->finding, all->count, sizeof *all->finding, weightiest_first);
}

void pl_highlights_name(const struct pl_view *view, const struct pl_spot *spot, const struct pl_spot *via)
{
    struct pl_term *term = view->term;
    char location[PL_VIEW_LOCATION_BYTES];
    size_t room = term->width - INDENT, most = room < NAME_WIDTH ? room : NAME_WIDTH;
    pl_view_location(spot, location, sizeof location);
    if (!*location)
        snprintf(location, sizeof location, "%s", spot->module);
    pl_term_cut(term, PL_STYLE_BOLD, spot->name, most);
    if (*location) {
        size_t width = pl_utf8_width(location) + 2; /* the parentheses */
        width = width < most ? width : most;
        pl_term_room(term, 1, width, INDENT);
        pl_term_put(term, PL_STYLE_PLAIN, "(");
        pl_term_cut(term, PL_STYLE_PLAIN, location, width - 2);
        pl_term_put(term, PL_STYLE_PLAIN, ")");
    }
    if (!via)
        return;
    size_t width = pl_utf8_width(via->name) + 2;
    width = width < most ? width : most;
    pl_term_room(term, 1, width, INDENT);
    pl_term_put(term, PL_STYLE_DIM, "→ ");
    pl_term_cut(term, PL_STYLE_DIM, via->name, width - 2);
}

static void put_finding(const struct pl_view *view, unsigned number, const struct finding *finding)
{
    const struct pl_spot *spots = view->spots->spot;
    pl_term_print(view->term, PL_STYLE_PLAIN, "%2u. ", number);
    if (finding->spot != PL_PATH_NO_SPOT)
        pl_highlights_name(view, &spots[finding->spot], finding->via == PL_PATH_NO_SPOT ? NULL : &spots[finding->via]);
    pl_term_words(view->term, PL_STYLE_PLAIN, finding->text, INDENT);
    pl_term_end(view->term);
}

static void put_findings(const struct findings *all)
{
    const struct pl_view *view = all->view;
    uint32_t shown = all->count < LINES_MAX ? all->count : LINES_MAX;
    if (!shown)
        return;
    pl_view_heading(view, "What stands out");
    pl_term_end(view->term);
    for (uint32_t i = 0; i < shown; i++)
        put_finding(view, i + 1, &all->finding[i]);
    uint32_t advice = 0;
    for (uint32_t i = shown; i < all->count; i++)
        advice += all->finding[i].advice;
    if (!advice)
        return;
    char *more = pl_say_print("(%u more: %s report --advice %s)", advice, pl_say_self(), view->subject);
    pl_term_pad(view->term, INDENT);
    pl_term_words(view->term, PL_STYLE_DIM, more, INDENT);
    pl_term_end(view->term);
    free(more);
}

bool pl_highlights_live(const struct pl_profile *profile)
{
    const struct pl_estimate *total = profile->total;
    return total[PL_METRIC_INUSE_SPACE].value > LIVE_MATTERS * total[PL_METRIC_PEAK_SPACE].value;
}

enum pl_metric pl_highlights_metric(const struct pl_profile *profile, bool live)
{
    if (live)
        return PL_METRIC_INUSE_SPACE;
    return profile->total[PL_METRIC_PEAK_SPACE].value > 0 ? PL_METRIC_PEAK_SPACE : PL_METRIC_ALLOC_SPACE;
}

void pl_highlights_print(const struct pl_view *view, const struct pl_paths *sites)
{
    if (view->profile->difference)
        return;
    struct findings all = {.view = view, .sites = sites};
    struct pl_suppressions *set = pl_suppressions_new();
    pl_term_busy("plimsoll: looking for what stands out");
    pl_suppressions_add_builtin(set);
    all.functions = pl_paths_new(view->profile, view->spots, PL_SHAPE_OWN, 0);
    all.kept = find_kept(view->profile, &all.functions, set);
    add_advice(&all);
    for (size_t i = 0; i < sizeof heavies / sizeof *heavies; i++)
        add_heavy(&all, &heavies[i]);
    rank(&all);
    pl_term_busy(NULL);
    put_findings(&all);
    for (uint32_t i = 0; i < all.count; i++)
        free(all.finding[i].text);
    free(all.finding);
    free(all.kept);
    pl_suppressions_free(set);
}
