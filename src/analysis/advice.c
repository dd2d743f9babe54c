/* SPDX-License-Identifier: MIT */
/*
 * advice.c - asks every kind of advice what it has to say, and sorts the answers.
 *
 * A difference of two profiles is not a program's memory: there is no advice for it. One that was merged of several has
 * no course of time, so that kinds which need one are not asked.
 */
#include "advice.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "adviser.h"
#include "arena.h"
#include "figures.h"
#include "grow.h"

#define MOST_OF_A_KIND 5
#define OTHER_SIZES_MOST 0.03   /* of what is said to have one size */
#define PLACE_SHARE_LEAST 0.005 /* of calls, bytes, or what is live, then or now: less is no place worth advice */

const struct pl_advice_info pl_advice_info[PL_ADVICE_COUNT] = {
#define INFO(name, word, title) {word, title},
    PL_ADVICE_KINDS(INFO)
#undef INFO
};

/* In the order in which they are asked: slack does not repeat what pool has said. */
static const struct kind {
    pl_advise *advise;
    bool timed; /* from the course of one process */
} kinds[PL_ADVICE_COUNT] = {
    [PL_ADVICE_LEAK] = {pl_advise_leak, true},    [PL_ADVICE_RESERVE] = {pl_advise_reserve, false},
    [PL_ADVICE_REUSE] = {pl_advise_reuse, false}, [PL_ADVICE_POOL] = {pl_advise_pool, false},
    [PL_ADVICE_SLACK] = {pl_advise_slack, false}, [PL_ADVICE_FRAGMENTATION] = {pl_advise_fragmentation, true},
};

/* --- what kinds work with --- */

void pl_adviser_add(struct pl_adviser *adviser, const struct pl_advice *advice)
{
    struct pl_advices *out = adviser->out;
    out->advice = pl_grow(out->advice, out->count, &adviser->capacity, sizeof *out->advice);
    out->advice[out->count++] = *advice;
}

bool pl_adviser_has(const struct pl_adviser *adviser, enum pl_advice_kind kind, uint32_t path)
{
    for (uint32_t i = 0; i < adviser->out->count; i++)
        if (adviser->out->advice[i].kind == kind && adviser->out->advice[i].path == path)
            return true;
    return false;
}

const char *pl_adviser_print(struct pl_adviser *adviser, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = NULL;
    int bytes = vasprintf(&text, format, arguments);
    va_end(arguments);
    pl_grow_check(bytes < 0 ? NULL : text, 1, 1);
    const char *kept = pl_arena_text(adviser->out->arena, text, (size_t) bytes);
    free(text);
    return kept;
}

double pl_adviser_share(const struct pl_adviser *adviser, enum pl_metric metric, double part)
{
    double whole = adviser->profile->total[metric].value;
    return whole > 0 && part > 0 ? (part < whole ? part / whole : 1) : 0;
}

double pl_adviser_sure(const struct pl_adviser_place *place, enum pl_metric metric)
{
    const struct pl_amount *allocated = &place->figures.allocated;
    const struct pl_estimate *estimate = &place->metric[metric];
    double witnesses = allocated->exact_objects + (double) allocated->sampled.samples;
    bool enough = allocated->sampled.samples == 0 || witnesses >= PL_ADVICE_WITNESSES_LEAST;
    return enough && estimate->value > 0 ? estimate->low / estimate->value : 0;
}

const char *pl_adviser_basis(struct pl_adviser *adviser, const struct pl_figures *figures)
{
    char samples[PL_FIGURE_BYTES];
    if (figures->allocated.sampled.samples == 0)
        return "";
    pl_figure_exact(samples, figures->allocated.sampled.samples);
    return pl_adviser_print(adviser, "; estimated%s from %s sample%s",
                            figures->allocated.exact_objects > 0 ? ", in part," : "", samples,
                            pl_figure_plural(samples));
}

/* Of n samples without another size, less than 3/n of what was asked for has one, 19 times out of 20. */
static bool sizes_are_known(const struct pl_adviser_place *place)
{
    const struct pl_amount *allocated = &place->figures.allocated;
    return allocated->sampled.objects <= OTHER_SIZES_MOST * pl_amount_objects(allocated) ||
           (double) allocated->sampled.samples * OTHER_SIZES_MOST >= 3;
}

uint64_t pl_adviser_taken(const struct pl_adviser *adviser, const struct pl_adviser_place *place)
{
    const struct pl_spread *spread = &place->spread;
    if (!sizes_are_known(place))
        return 0;
    uint64_t taken = pl_sizing_taken(adviser->sizing, spread->largest);
    return spread->largest > 0 && pl_sizing_taken(adviser->sizing, spread->smallest) == taken ? taken : 0;
}

const char *pl_adviser_sizes(struct pl_adviser *adviser, const struct pl_spread *spread)
{
    char smallest[PL_FIGURE_BYTES], largest[PL_FIGURE_BYTES];
    pl_figure_exact(smallest, spread->smallest);
    pl_figure_exact(largest, spread->largest);
    if (spread->smallest == spread->largest)
        return pl_adviser_print(adviser, "%s bytes", largest);
    return pl_adviser_print(adviser, "%s to %s bytes", smallest, largest);
}

/* --- places --- */

static int compare_first(const struct pl_path *a, const struct pl_path *b)
{
    if (a->spot[0] != b->spot[0])
        return a->spot[0] < b->spot[0] ? -1 : 1;
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

static bool is_worth_it(const struct pl_adviser *adviser, const struct pl_adviser_place *place)
{
    for (int i = 0; i < PL_METRIC_COUNT; i++)
        if (pl_adviser_share(adviser, (enum pl_metric) i, place->metric[i].value) >= PLACE_SHARE_LEAST)
            return true;
    return false;
}

/* Nobody can be named for what found no room, or for sizes that were left out. */
static bool is_named(const struct pl_adviser *adviser, uint32_t path)
{
    uint32_t spot = adviser->paths->path[path].spot[0];
    return spot != adviser->spots->overflow && spot != adviser->spots->other_sizes;
}

/* The place of sorted[from] .. sorted[to - 1]. */
static void add_place(struct pl_adviser *adviser, const uint32_t *sorted, uint32_t from, uint32_t to,
                      uint32_t *capacity)
{
    struct pl_adviser_place place = {.path = sorted[from]};
    const struct pl_path *path = adviser->paths->path;
    for (uint32_t i = from; i < to; i++) {
        pl_figures_add(&place.figures, &path[sorted[i]].figures);
        double calls = path[sorted[i]].metric[PL_METRIC_ALLOC_OBJECTS].value;
        if (calls > path[place.path].metric[PL_METRIC_ALLOC_OBJECTS].value)
            place.path = sorted[i];
    }
    pl_figures_estimate(&place.figures, place.metric);
    bool kept = is_named(adviser, place.path) && is_worth_it(adviser, &place);
    for (uint32_t i = from; i < to; i++)
        adviser->place_of_path[sorted[i]] = kept ? adviser->places : PL_ADVISER_NOWHERE;
    if (!kept)
        return;
    adviser->place = pl_grow(adviser->place, adviser->places, capacity, sizeof place);
    adviser->place[adviser->places++] = place;
}

static void add_spreads(struct pl_adviser *adviser)
{
    for (uint32_t i = 0; i < adviser->profile->sites; i++) {
        uint32_t place = adviser->place_of_path[adviser->paths->of_site[i]];
        if (place != PL_ADVISER_NOWHERE)
            pl_spread_add(&adviser->place[place].spread, &adviser->profile->site[i].spread);
    }
}

static void find_places(struct pl_adviser *adviser)
{
    const struct pl_paths *paths = adviser->paths;
    uint32_t *sorted = sort_paths(paths), capacity = 0;
    for (uint32_t from = 0, to; from < paths->count; from = to) {
        to = from + 1;
        while (to < paths->count && compare_first(&paths->path[sorted[from]], &paths->path[sorted[to]]) == 0)
            to++;
        add_place(adviser, sorted, from, to, &capacity);
    }
    add_spreads(adviser);
    free(sorted);
}

/* --- all of it --- */

static int by_weight(const void *left, const void *right)
{
    const struct pl_advice *a = left, *b = right;
    if (a->weight != b->weight)
        return a->weight < b->weight ? 1 : -1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return (a->path > b->path) - (a->path < b->path);
}

/* Of each kind the weightiest. */
static void ask(struct pl_adviser *adviser, const struct kind *kind)
{
    struct pl_advices *out = adviser->out;
    uint32_t before = out->count;
    kind->advise(adviser);
    if (out->count > before)
        qsort(out->advice + before, out->count - before, sizeof *out->advice, by_weight);
    if (out->count > before + MOST_OF_A_KIND)
        out->count = before + MOST_OF_A_KIND;
}

void pl_advice_find(const struct pl_profile *profile, const struct pl_spots *spots, const struct pl_paths *paths,
                    const char *command, struct pl_advices *out)
{
    *out = (struct pl_advices){.arena = pl_arena_new()};
    if (profile->difference)
        return;
    struct pl_adviser adviser = {
        .profile = profile,
        .spots = spots,
        .paths = paths,
        .command = command,
        .sizing = pl_sizing_of(profile),
        .place_of_path = pl_grow_zeroed(paths->count + 1ull, sizeof *adviser.place_of_path),
        .out = out,
    };
    find_places(&adviser);
    for (int i = 0; i < PL_ADVICE_COUNT; i++)
        if (!kinds[i].timed || !profile->merged)
            ask(&adviser, &kinds[i]);
    if (out->count)
        qsort(out->advice, out->count, sizeof *out->advice, by_weight);
    free(adviser.place);
    free(adviser.place_of_path);
}

void pl_advice_free(struct pl_advices *advices)
{
    free(advices->advice);
    pl_arena_free(advices->arena);
}
