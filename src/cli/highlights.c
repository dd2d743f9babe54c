/* SPDX-License-Identifier: MIT */
/*
 * highlights.c - what stands out: at most one function for each thing that is worth a sentence.
 *
 * Functions, not stacks: this is the first thing people read, and the tables below have the stacks. A function that has
 * just been named is not named again by the next row.
 *
 * A suspected leak comes first, judged as --leaks judges it. What the built-in suppressions cover is kept on purpose by
 * libraries: nobody is accused of that.
 */
#include "highlights.h"

#include <math.h>
#include <stdlib.h>

#include "figure.h"
#include "leaks.h"
#include "utf8.h"

#define SAMPLES_LEAST 5 /* fewer say nothing */
#define NAME_WIDTH 60
#define INDENT 4

/* "F holds 2 MiB: 91% of what was never freed, 74 B a block on average" */
static const struct highlight {
    enum pl_metric metric;
    enum pl_metric of; /* the whole that its share is of */
    double share;      /* the least that is worth a sentence */
    const char *verb, *unit, *each, *advice;
    enum pl_metric bytes, objects; /* whose ratio is the mean size */
} highlights[] = {
    {PL_METRIC_INUSE_SPACE, PL_METRIC_INUSE_SPACE, 0.10, "holds", "", "a block", "", PL_METRIC_INUSE_SPACE,
     PL_METRIC_INUSE_OBJECTS},
    {PL_METRIC_PEAK_SPACE, PL_METRIC_PEAK_SPACE, 0.25, "held", " when the heap was largest", "a block", "",
     PL_METRIC_PEAK_SPACE, PL_METRIC_PEAK_OBJECTS},
    {PL_METRIC_ALLOC_SPACE, PL_METRIC_ALLOC_SPACE, 0.25, "allocates", "", "a call", "", PL_METRIC_ALLOC_SPACE,
     PL_METRIC_ALLOC_OBJECTS},
    {PL_METRIC_TEMP_OBJECTS, PL_METRIC_ALLOC_OBJECTS, 0.20, "makes", " temporary blocks", "each",
     "; one buffer, used again, would do", PL_METRIC_ALLOC_SPACE, PL_METRIC_ALLOC_OBJECTS},
    {PL_METRIC_ALLOC_OBJECTS, PL_METRIC_ALLOC_OBJECTS, 0.25, "makes", " calls", "each", "", PL_METRIC_ALLOC_SPACE,
     PL_METRIC_ALLOC_OBJECTS},
};
#define REALLOC_SHARE 0.10 /* of all bytes, copied by one function */

/* --- sentences --- */

static char *describe_whole(const struct pl_view *view, enum pl_metric metric)
{
    static const char *const wholes[PL_METRIC_COUNT] = {
        [PL_METRIC_ALLOC_OBJECTS] = "all calls",
        [PL_METRIC_ALLOC_SPACE] = "all bytes",
        [PL_METRIC_PEAK_SPACE] = "the peak",
    };
    if (wholes[metric])
        return pl_say_print("%s", wholes[metric]);
    return pl_say_print("what %s %s", view->profile->running ? "is" : "was", pl_view_live_word(view->profile));
}

/* Behind the name, where it is: an address is nothing without its module. */
static void put_name(struct pl_term *term, const struct pl_spot *spot)
{
    char location[512];
    size_t room = term->width - INDENT, most = room < NAME_WIDTH ? room : NAME_WIDTH;
    pl_view_location(spot, location, sizeof location);
    if (!*location)
        snprintf(location, sizeof location, "%s", spot->module);
    pl_term_cut(term, PL_STYLE_BOLD, spot->name, most);
    if (!*location)
        return;
    size_t width = pl_utf8_width(location) + 2; /* the parentheses */
    width = width < most ? width : most;
    pl_term_room(term, 1, width, INDENT);
    pl_term_put(term, PL_STYLE_PLAIN, "(");
    pl_term_cut(term, PL_STYLE_PLAIN, location, width - 2);
    pl_term_put(term, PL_STYLE_PLAIN, ")");
}

static void put_sentence(const struct pl_view *view, unsigned number, const struct pl_path *path, char *text)
{
    if (number == 1) {
        pl_view_heading(view, "What stands out");
        pl_term_end(view->term);
    }
    pl_term_print(view->term, PL_STYLE_PLAIN, " %u. ", number);
    put_name(view->term, &view->spots->spot[path->spot[0]]);
    pl_term_words(view->term, PL_STYLE_PLAIN, text, INDENT);
    pl_term_end(view->term);
    free(text);
}

static char *make_sentence(const struct pl_view *view, const struct highlight *highlight, const struct pl_path *path)
{
    const struct pl_estimate *estimate = &path->metric[highlight->metric];
    char value[2 * PL_FIGURE_BYTES], share[PL_FIGURE_BYTES], size[PL_FIGURE_BYTES];
    char *whole = describe_whole(view, highlight->of);
    pl_figure_estimate(value, highlight->metric, estimate);
    pl_figure_percent(share, pl_view_share(view->profile, highlight->of, estimate->value));
    pl_figure_bytes(size, path->metric[highlight->bytes].value / fmax(path->metric[highlight->objects].value, 1));
    char *text = pl_say_print(" %s %s%s: %s of %s, %s %s on average%s", highlight->verb, value, highlight->unit, share,
                              whole, size, highlight->each, highlight->advice);
    free(whole);
    return text;
}

/* --- which of them --- */

/* What of each function's is kept on purpose, in bytes and in blocks. */
struct kept {
    double space, objects;
};

struct choice {
    const struct pl_view *view;
    struct pl_paths functions;
    struct kept *kept;
    uint32_t before; /* the function that was named last; UINT32_MAX: none */
    unsigned number; /* of sentences so far */
};

/* Everything that is left, but for what is left over after the built-in suppressions. */
static struct kept *find_kept(const struct pl_profile *profile, const struct pl_paths *functions,
                              struct pl_suppressions *set)
{
    struct kept *kept = pl_say_memory(calloc(functions->count + 1ull, sizeof *kept));
    uint32_t *group = pl_leaks_groups(profile, functions);
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
    return metric == PL_METRIC_INUSE_SPACE || metric == PL_METRIC_PEAK_SPACE || metric == PL_METRIC_ALLOC_SPACE;
}

static bool is_excused(const struct choice *choice, uint32_t function, enum pl_metric metric)
{
    double value = choice->functions.path[function].metric[metric].value;
    const struct kept *kept = &choice->kept[function];
    return (counts_bytes(metric) ? kept->space : kept->objects) * 2 > value;
}

/* Other sizes were left out on purpose: nobody can be named for them. */
static bool is_function(const struct choice *choice, uint32_t function)
{
    return choice->functions.path[function].spot[0] != choice->view->spots->other_sizes;
}

/* The first among those that may be named; UINT32_MAX if there is none. */
static uint32_t find_first(const struct choice *choice, enum pl_metric metric)
{
    uint32_t first = UINT32_MAX;
    double most = 0;
    for (uint32_t i = 0; i < choice->functions.count; i++) {
        double value = choice->functions.path[i].metric[metric].value;
        if (value > most && is_function(choice, i) && !is_excused(choice, i, metric)) {
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

static bool stands_out(const struct pl_view *view, const struct highlight *highlight, const struct pl_path *path)
{
    double value = path->metric[highlight->metric].value;
    return is_known(path, highlight->metric) && pl_view_share(view->profile, highlight->of, value) >= highlight->share;
}

/* --- one after the other --- */

static uint32_t function_of(const struct choice *choice, const struct pl_paths *sites, uint32_t site)
{
    for (uint32_t i = 0; i < choice->view->profile->sites; i++)
        if (sites->of_site[i] == site)
            return choice->functions.of_site[i];
    return UINT32_MAX;
}

static void put_suspect(struct choice *choice, const struct pl_leftovers *leftovers, const struct pl_paths *sites)
{
    const struct pl_view *view = choice->view;
    const struct pl_leftover *item = &leftovers->item[0];
    char bytes[2 * PL_FIGURE_BYTES], *growth = pl_leaks_growth(item);
    char *others = leftovers->suspected > 1 ? pl_say_print(" %u more,", leftovers->suspected - 1) : NULL;
    pl_figure_estimate(bytes, PL_METRIC_INUSE_SPACE, &item->metric[PL_METRIC_INUSE_SPACE]);
    put_sentence(view, ++choice->number, &sites->path[item->group],
                 pl_say_print(" holds %s: suspected leak: %s;%s plimsoll report --leaks %s shows all", bytes, growth,
                              others ? others : "", view->subject));
    choice->before = function_of(choice, sites, item->group);
    free(others);
    free(growth);
}

static void put_suspected(struct choice *choice, struct pl_suppressions *set)
{
    const struct pl_view *view = choice->view;
    struct pl_paths sites = pl_paths_new(view->profile, view->spots, PL_SHAPE_SITE, view->depth);
    uint32_t *group = pl_leaks_groups(view->profile, &sites);
    struct pl_leftovers *leftovers = pl_leftovers_new(view->profile, set, group, sites.count);
    if (leftovers->suspected)
        put_suspect(choice, leftovers, &sites);
    pl_leftovers_free(leftovers);
    free(group);
}

static void put_highlight(struct choice *choice, const struct highlight *highlight)
{
    uint32_t first = find_first(choice, highlight->metric);
    if (first == UINT32_MAX || first == choice->before)
        return;
    const struct pl_path *path = &choice->functions.path[first];
    if (!stands_out(choice->view, highlight, path))
        return;
    put_sentence(choice->view, ++choice->number, path, make_sentence(choice->view, highlight, path));
    choice->before = first;
}

static void put_reallocs(const struct pl_view *view, const struct pl_paths *functions, unsigned number)
{
    const struct pl_profile *profile = view->profile;
    double *moved = pl_say_memory(calloc(functions->count + 1ull, sizeof *moved));
    uint32_t most = 0;
    for (uint32_t i = 0; i < profile->sites; i++)
        moved[functions->of_site[i]] += profile->site[i].spread.realloc_moved;
    for (uint32_t i = 0; i < functions->count; i++)
        most = moved[i] > moved[most] ? i : most;
    if (functions->count && pl_view_share(profile, PL_METRIC_ALLOC_SPACE, moved[most]) >= REALLOC_SHARE) {
        struct pl_spread spread = pl_paths_spread(profile, functions, most);
        char bytes[PL_FIGURE_BYTES], calls[PL_FIGURE_BYTES], largest[PL_FIGURE_BYTES];
        pl_figure_bytes(bytes, spread.realloc_moved);
        pl_figure_count(calls, spread.realloc_calls);
        pl_figure_bytes(largest, (double) spread.largest);
        put_sentence(view, number, &functions->path[most],
                     pl_say_print(" copies %s in %s reallocs, to blocks of up to %s: reserve room ahead", bytes, calls,
                                  largest));
    }
    free(moved);
}

void pl_highlights_print(const struct pl_view *view)
{
    struct pl_suppressions *set = pl_suppressions_new();
    struct choice choice = {.view = view, .before = UINT32_MAX};
    pl_suppressions_add_builtin(set);
    choice.functions = pl_paths_new(view->profile, view->spots, PL_SHAPE_OWN, 0);
    choice.kept = find_kept(view->profile, &choice.functions, set);
    put_suspected(&choice, set);
    for (size_t i = 0; i < sizeof highlights / sizeof *highlights; i++)
        put_highlight(&choice, &highlights[i]);
    put_reallocs(view, &choice.functions, choice.number + 1);
    free(choice.kept);
    pl_suppressions_free(set);
}
