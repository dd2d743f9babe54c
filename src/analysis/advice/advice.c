/* SPDX-License-Identifier: MIT */
/*
 * advice.c - runs every kind of advice on a profile, and sorts the results.
 *
 * There is no advice for a difference of two profiles. A merged profile has no timeline, so kinds that need one are
 * skipped.
 */
#include "analysis/advice/advice.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/advice/advice_work.h"
#include "reader/base/arena.h"
#include "reader/base/grow.h"
#include "reader/figures.h"
#include "reader/site.h"

#define MOST_OF_A_KIND 5
#define OTHER_SIZES_MOST 0.03   /* of the blocks that are claimed to have one size */
#define PLACE_SHARE_LEAST 0.005 /* of any metric: a place with less of all of them gets no advice */

const struct pl_advice_info pl_advice_info[PL_ADVICE_COUNT] = {
#define INFO(name, word, title) {word, title},
    PL_ADVICE_KINDS(INFO)
#undef INFO
};

/* In the order in which they run: slack skips places that pool has reported. */
static const struct kind {
    pl_advice_function *advise;
    bool timed; /* needs the timeline of one process */
} kinds[PL_ADVICE_COUNT] = {
    [PL_ADVICE_LEAK] = {pl_advice_leak, true},       [PL_ADVICE_RESERVE] = {pl_advice_reserve, false},
    [PL_ADVICE_REUSE] = {pl_advice_reuse, false},    [PL_ADVICE_POOL] = {pl_advice_pool, false},
    [PL_ADVICE_SLACK] = {pl_advice_slack, false},    [PL_ADVICE_FRAGMENTATION] = {pl_advice_fragmentation, true},
    [PL_ADVICE_OUTSIDE] = {pl_advice_outside, true}, [PL_ADVICE_GROWTH] = {pl_advice_growth, true},
    [PL_ADVICE_ARENAS] = {pl_advice_arenas, false},  [PL_ADVICE_UNTOUCHED] = {pl_advice_untouched, false},
    [PL_ADVICE_TRIM] = {pl_advice_trim, false},      [PL_ADVICE_HOLES] = {pl_advice_holes, false},
    [PL_ADVICE_STACKS] = {pl_advice_stacks, false},  [PL_ADVICE_HUGEPAGES] = {pl_advice_hugepages, false},
};

/* --- for the kinds of advice (work.h) --- */

void pl_advice_add(struct pl_advice_work *work, const struct pl_advice *advice)
{
    struct pl_advices *out = work->out;
    out->advice = pl_grow(out->advice, out->count, &work->capacity, sizeof *out->advice);
    out->advice[out->count++] = *advice;
}

bool pl_advice_has(const struct pl_advice_work *work, enum pl_advice_kind kind, uint32_t path)
{
    for (uint32_t i = 0; i < work->out->count; i++)
        if (work->out->advice[i].kind == kind && work->out->advice[i].path == path)
            return true;
    return false;
}

const char *pl_advice_print(struct pl_advice_work *work, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = NULL;
    int bytes = vasprintf(&text, format, arguments);
    va_end(arguments);
    pl_grow_check(bytes < 0 ? NULL : text, 1, 1);
    const char *kept = pl_arena_text(work->out->arena, text, (size_t) bytes);
    free(text);
    return kept;
}

double pl_advice_share(const struct pl_advice_work *work, enum pl_metric metric, double part)
{
    double whole = work->profile->total[metric].value;
    return whole > 0 && part > 0 ? (part < whole ? part / whole : 1) : 0;
}

double pl_advice_sure(const struct pl_advice_place *place, enum pl_metric metric)
{
    const struct pl_amount *allocated = &place->figures.allocated;
    const struct pl_estimate *estimate = &place->metric[metric];
    double witnesses = allocated->exact_objects + (double) allocated->sampled.samples;
    bool enough = allocated->sampled.samples == 0 || witnesses >= PL_ADVICE_WITNESSES_LEAST;
    return enough && estimate->value > 0 ? estimate->low / estimate->value : 0;
}

bool pl_advice_is_whole(const struct pl_profile *profile)
{
    return profile->moments > 0 && profile->total[PL_METRIC_ALLOC_OBJECTS].value >=
                                       profile->moment[profile->moments - 1].allocated_calls * 0.999;
}

const char *pl_advice_basis(struct pl_advice_work *work, const struct pl_figures *figures)
{
    char samples[PL_FIGURE_BYTES];
    if (figures->allocated.sampled.samples == 0)
        return "";
    pl_figure_exact(samples, figures->allocated.sampled.samples);
    return pl_advice_print(work, "; estimated%s from %s sample%s",
                           figures->allocated.exact_objects > 0 ? ", in part," : "", samples,
                           pl_figure_plural(samples));
}

/* If none of n samples has another size, then with 95% confidence less than 3/n of the requests do. */
static bool sizes_are_known(const struct pl_advice_place *place)
{
    const struct pl_amount *allocated = &place->figures.allocated;
    return allocated->sampled.objects <= OTHER_SIZES_MOST * pl_amount_objects(allocated) ||
           (double) allocated->sampled.samples * OTHER_SIZES_MOST >= 3;
}

uint64_t pl_advice_taken(const struct pl_advice_work *work, const struct pl_advice_place *place)
{
    const struct pl_spread *spread = &place->spread;
    if (!sizes_are_known(place))
        return 0;
    uint64_t taken = pl_sizing_taken(work->sizing, spread->largest);
    return spread->largest > 0 && pl_sizing_taken(work->sizing, spread->smallest) == taken ? taken : 0;
}

const char *pl_advice_sizes(struct pl_advice_work *work, const struct pl_spread *spread)
{
    char smallest[PL_FIGURE_BYTES], largest[PL_FIGURE_BYTES];
    pl_figure_exact(smallest, spread->smallest);
    pl_figure_exact(largest, spread->largest);
    if (spread->smallest == spread->largest)
        return pl_advice_print(work, "%s bytes", largest);
    return pl_advice_print(work, "%s to %s bytes", smallest, largest);
}

/* --- places --- */

static int compare_first(const struct pl_path *a, const struct pl_path *b)
{
    if (a->location[0] != b->location[0])
        return a->location[0] < b->location[0] ? -1 : 1;
    return (a->via > b->via) - (a->via < b->via);
}

static int by_first(const void *left, const void *right, void *paths)
{
    const struct pl_path *path = ((const struct pl_paths *) paths)->path;
    uint32_t a = *(const uint32_t *) left, b = *(const uint32_t *) right;
    int order = compare_first(&path[a], &path[b]);
    return order ? order : (a > b) - (a < b);
}

static uint32_t *sort_paths(const struct pl_paths *paths)
{
    uint32_t *sorted = pl_grow_zeroed(paths->count + 1ull, sizeof *sorted);
    for (uint32_t i = 0; i < paths->count; i++)
        sorted[i] = i;
    qsort_r(sorted, paths->count, sizeof *sorted, by_first, (void *) paths);
    return sorted;
}

static bool is_worth_it(const struct pl_advice_work *work, const struct pl_advice_place *place)
{
    for (int i = 0; i < PL_METRIC_COUNT; i++)
        if (pl_advice_share(work, (enum pl_metric) i, place->metric[i].value) >= PLACE_SHARE_LEAST)
            return true;
    return false;
}

static bool is_named(const struct pl_advice_work *work, uint32_t path)
{
    return !pl_locations_stands_in(work->locations, work->paths->path[path].location[0]);
}

/* The place of sorted[from] .. sorted[to - 1]. */
static void add_place(struct pl_advice_work *work, const uint32_t *sorted, uint32_t from, uint32_t to,
                      uint32_t *capacity)
{
    struct pl_advice_place place = {.path = sorted[from]};
    const struct pl_path *path = work->paths->path;
    for (uint32_t i = from; i < to; i++) {
        pl_figures_add(&place.figures, &path[sorted[i]].figures);
        double calls = path[sorted[i]].metric[PL_METRIC_ALLOC_OBJECTS].value;
        if (calls > path[place.path].metric[PL_METRIC_ALLOC_OBJECTS].value)
            place.path = sorted[i];
    }
    pl_estimate_figures(&place.figures, place.metric);
    bool kept = is_named(work, place.path) && is_worth_it(work, &place);
    for (uint32_t i = from; i < to; i++)
        work->place_of_path[sorted[i]] = kept ? work->places : PL_ADVICE_NOWHERE;
    if (!kept)
        return;
    work->place = pl_grow(work->place, work->places, capacity, sizeof place);
    work->place[work->places++] = place;
}

static void add_spreads(struct pl_advice_work *work)
{
    for (uint32_t i = 0; i < work->profile->sites; i++) {
        uint32_t place = work->place_of_path[work->paths->of_site[i]];
        if (place != PL_ADVICE_NOWHERE)
            pl_site_add_spread(&work->place[place].spread, &work->profile->site[i]);
    }
}

static void find_places(struct pl_advice_work *work)
{
    const struct pl_paths *paths = work->paths;
    uint32_t *sorted = sort_paths(paths), capacity = 0;
    for (uint32_t from = 0, to; from < paths->count; from = to) {
        to = from + 1;
        while (to < paths->count && compare_first(&paths->path[sorted[from]], &paths->path[sorted[to]]) == 0)
            to++;
        add_place(work, sorted, from, to, &capacity);
    }
    add_spreads(work);
    free(sorted);
}

/* --- all advice --- */

static int by_weight(const void *left, const void *right)
{
    const struct pl_advice *a = left, *b = right;
    if (a->weight != b->weight)
        return a->weight < b->weight ? 1 : -1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return (a->path > b->path) - (a->path < b->path);
}

/* Runs one kind, and keeps its weightiest results. */
static void ask(struct pl_advice_work *work, const struct kind *kind)
{
    struct pl_advices *out = work->out;
    uint32_t before = out->count;
    kind->advise(work);
    if (out->count > before)
        qsort(out->advice + before, out->count - before, sizeof *out->advice, by_weight);
    if (out->count > before + MOST_OF_A_KIND)
        out->count = before + MOST_OF_A_KIND;
}

void pl_advice_find(const struct pl_profile *profile, const struct pl_locations *locations,
                    const struct pl_paths *paths, const struct pl_advice_commands *commands,
                    const struct pl_advice_touch *touch, struct pl_advices *out)
{
    *out = (struct pl_advices){.arena = pl_arena_new()};
    if (profile->difference)
        return;
    struct pl_advice_work work = {
        .profile = profile,
        .locations = locations,
        .paths = paths,
        .commands = commands,
        .touch = touch,
        .sizing = pl_sizing_of(profile),
        .place_of_path = pl_grow_zeroed(paths->count + 1ull, sizeof *work.place_of_path),
        .out = out,
    };
    find_places(&work);
    for (int i = 0; i < PL_ADVICE_COUNT; i++)
        if (!kinds[i].timed || !profile->merged)
            ask(&work, &kinds[i]);
    if (out->count)
        qsort(out->advice, out->count, sizeof *out->advice, by_weight);
    free(work.place);
    free(work.place_of_path);
}

void pl_advice_free(struct pl_advices *advices)
{
    free(advices->advice);
    pl_arena_free(advices->arena);
}
