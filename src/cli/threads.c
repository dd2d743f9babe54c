/* SPDX-License-Identifier: MIT */
/*
 * threads.c - `report --by thread`:
 *
 *   worker-*  8 threads
 *     29.4 MiB in 131,072 calls (31.0% of all) · 2.0 MiB in 12 blocks never freed · 3.1 MiB in 18 blocks at the peak
 *
 * and the table of its sites. A pool of forty workers is one thing to a reader, not forty, so threads of one name are
 * one. Where even that leaves more than is worth reading, names that differ only in a number at their end are one name,
 * too: worker-1 to worker-40 are worker-*.
 */
#include "threads.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "listing.h"
#include "narrow.h"
#include "rank.h"

#define GROUPS_MAX 10 /* that are shown; where there are more, numbers at the end of names do not count */

/* --- who belongs together --- */

static size_t stem_bytes(const char *name)
{
    size_t bytes = strlen(name);
    while (bytes > 1 && strchr("0123456789", name[bytes - 1]))
        bytes--;
    return bytes;
}

struct stem {
    const char *name;
    size_t bytes;
    uint32_t group;
};

static int by_stem(const void *left, const void *right)
{
    const struct stem *a = left, *b = right;
    int order = strncmp(a->name, b->name, a->bytes < b->bytes ? a->bytes : b->bytes);
    if (order == 0)
        order = (a->bytes > b->bytes) - (a->bytes < b->bytes);
    return order ? order : (a->group > b->group) - (a->group < b->group);
}

static bool same_stem(const struct stem *a, const struct stem *b)
{
    return a->bytes == b->bytes && !memcmp(a->name, b->name, a->bytes);
}

/* first[group]: the first group of the same stem. */
static void find_first(const struct pl_groups *groups, uint32_t *first)
{
    struct stem *stem = pl_say_memory(calloc(groups->groups + 1ull, sizeof *stem));
    for (uint32_t i = 0; i < groups->groups; i++)
        stem[i] = (struct stem){groups->name[i], stem_bytes(groups->name[i]), i};
    qsort(stem, groups->groups, sizeof *stem, by_stem);
    for (uint32_t i = 0; i < groups->groups; i++)
        first[stem[i].group] = i && same_stem(&stem[i], &stem[i - 1]) ? first[stem[i - 1].group] : stem[i].group;
    free(stem);
}

static const char *starred(const struct pl_groups *groups, const char *name)
{
    char *text = pl_say_print("%.*s*", (int) stem_bytes(name), name);
    const char *kept = pl_arena_text(groups->arena, text, strlen(text));
    free(text);
    return kept;
}

/* Groups of one stem become one, in the order of the first of them. */
static void fold_numbers(struct pl_groups *groups, uint32_t threads)
{
    uint32_t *first = pl_say_memory(calloc(groups->groups + 1ull, sizeof *first));
    uint32_t *became = pl_say_memory(calloc(groups->groups + 1ull, sizeof *became)), kept = 0;
    find_first(groups, first);
    for (uint32_t i = 0; i < groups->groups; i++) {
        became[i] = first[i] == i ? kept++ : became[first[i]];
        uint32_t to = became[i];
        if (first[i] == i) {
            groups->name[to] = groups->name[i];
            groups->threads[to] = groups->threads[i];
            continue;
        }
        groups->threads[to] += groups->threads[i];
        if (groups
                ->name[to][stem_bytes(groups->name[to])]) /* not starred yet, and with a number that now says nothing */
            groups->name[to] = starred(groups, groups->name[to]);
    }
    for (uint32_t i = 0; i < threads; i++)
        if (groups->of[i] != PL_NO_GROUP)
            groups->of[i] = became[groups->of[i]];
    groups->groups = kept;
    free(became);
    free(first);
}

enum pl_exit pl_threads_groups(const struct pl_select *select, const struct pl_profile *profile, struct pl_groups *out)
{
    enum pl_exit status = pl_select_groups(select, profile, PL_GROUP_NAME, out);
    if (status == PL_EXIT_OK && !select->merge && out->groups > GROUPS_MAX)
        fold_numbers(out, profile->threads);
    return status;
}

const char *pl_threads_name(const struct pl_groups *groups, uint32_t group)
{
    return *groups->name[group] ? groups->name[group] : "?";
}

/* --- one of them --- */

static void put_title(const struct pl_view *view, uint32_t group)
{
    const struct pl_groups *groups = view->threads;
    char number[PL_FIGURE_BYTES];
    pl_view_heading(view, pl_threads_name(groups, group));
    pl_figure_exact(number, groups->threads[group]);
    if (groups->threads[group] > 1)
        pl_term_print(view->term, PL_STYLE_PLAIN, "  %s threads", number);
    pl_term_end(view->term);
}

static void put_amount(struct pl_term *term, const struct pl_profile *profile, enum pl_metric space,
                       enum pl_metric objects, const char *words)
{
    char bytes[2 * PL_FIGURE_BYTES], blocks[2 * PL_FIGURE_BYTES];
    pl_figure_estimate(bytes, space, &profile->total[space]);
    pl_figure_estimate(blocks, objects, &profile->total[objects]);
    bool any = profile->total[space].high > 0;
    char *text = pl_say_print(" · %s%s%s%s%s %s", bytes, any ? " in " : "", any ? blocks : "", any ? " block" : "",
                              any ? pl_figure_plural(blocks) : "", words);
    pl_term_words(term, PL_STYLE_PLAIN, text, 2);
    free(text);
}

static void put_figures(const struct pl_view *view, const struct pl_profile *part)
{
    struct pl_term *term = view->term;
    double space = part->total[PL_METRIC_ALLOC_SPACE].value;
    char bytes[PL_FIGURE_BYTES], calls[PL_FIGURE_BYTES], share[PL_FIGURE_BYTES];
    pl_figure_bytes(bytes, space);
    pl_figure_exact(calls, (uint64_t) part->total[PL_METRIC_ALLOC_OBJECTS].value);
    pl_figure_percent(share, pl_view_share(view->profile, PL_METRIC_ALLOC_SPACE, space));
    char *text = pl_say_print("%s in %s call%s (%s of all)", bytes, calls, pl_figure_plural(calls), share);
    pl_term_pad(term, 2);
    pl_term_words(term, PL_STYLE_PLAIN, text, 2);
    put_amount(term, part, PL_METRIC_INUSE_SPACE, PL_METRIC_INUSE_OBJECTS, pl_view_live_word(part));
    if (part->total[PL_METRIC_PEAK_SPACE].value > 0)
        put_amount(term, part, PL_METRIC_PEAK_SPACE, PL_METRIC_PEAK_OBJECTS,
                   part->merged ? "at their peaks" : "at the peak");
    pl_term_end(term);
    free(text);
}

/* --- all of them --- */

/* What was allocated is known of threads, exactly; the rest of their sites. */
static double weight_of_thread(const struct pl_thread_view *thread, enum pl_metric metric)
{
    double calls = 0;
    for (int f = 0; f < PL_FN_COUNT && metric == PL_METRIC_ALLOC_OBJECTS; f++)
        calls += (double) thread->calls[f];
    return metric == PL_METRIC_ALLOC_SPACE ? (double) thread->bytes : calls;
}

/* The groups. The caller frees it. */
static struct pl_ranked *rank(const struct pl_view *view, enum pl_metric metric)
{
    const struct pl_profile *profile = view->profile;
    const struct pl_groups *groups = view->threads;
    bool counted = metric == PL_METRIC_ALLOC_SPACE || metric == PL_METRIC_ALLOC_OBJECTS;
    struct pl_ranked *ranked = pl_say_memory(calloc(groups->groups + 1ull, sizeof *ranked));
    for (uint32_t g = 0; g < groups->groups; g++)
        ranked[g].item = g;
    for (uint32_t i = 0; i < profile->threads && counted; i++)
        if (groups->of[i] != PL_NO_GROUP)
            ranked[groups->of[i]].weight += weight_of_thread(&profile->thread[i], metric);
    for (uint32_t i = 0; i < profile->sites && !counted; i++)
        if (groups->of[profile->site[i].thread] != PL_NO_GROUP)
            ranked[groups->of[profile->site[i].thread]].weight += profile->site[i].metric[metric].value;
    pl_rank(ranked, groups->groups);
    return ranked;
}

static void put_group(const struct pl_view *view, uint32_t group, enum pl_metric metric)
{
    struct pl_arena *arena = pl_arena_new();
    struct pl_view part = *view;
    bool *in = pl_arena_alloc(arena, view->profile->threads + 1ull);
    for (uint32_t i = 0; i < view->profile->threads; i++)
        in[i] = view->threads->of[i] == group;
    part.profile = pl_narrow(view->profile, &(struct pl_part){.thread = in}, arena);
    put_title(view, group);
    put_figures(view, part.profile);
    struct pl_paths paths = pl_paths_new(part.profile, part.spots, PL_SHAPE_SITE, part.depth);
    if (part.profile->total[metric].value > 0 && paths.count)
        pl_listing_print(&part, &paths, metric);
    pl_arena_free(arena);
}

void pl_threads_print(const struct pl_view *view, enum pl_metric metric)
{
    struct pl_ranked *ranked = rank(view, metric);
    uint32_t count = view->threads->groups, shown = 0;
    while (shown < count && shown < GROUPS_MAX &&
           pl_view_share(view->profile, metric, ranked[shown].weight) >= view->threshold)
        put_group(view, ranked[shown++].item, metric);
    if (shown < count)
        pl_view_paragraph(view, "(%u more; --thread shows those whose names it matches)", count - shown);
    free(ranked);
}
