/* SPDX-License-Identifier: MIT */
/*
 * threads.c - threads as a table, and `report --by thread`:
 *
 *   worker-*  8 threads
 *     29.4 MiB in 131,072 calls (31.0% of all) · 2.0 MiB in 12 blocks never freed · 3.1 MiB in 18 blocks at the peak
 *
 * with a table of the sites of each. analysis/groups.h says which threads are one group.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/figure.h"
#include "analysis/metric.h"
#include "analysis/narrow.h"
#include "cli/report/listing.h"
#include "cli/report/print.h"
#include "reader/base/arena.h"
#include "reader/base/rank.h"
#include "reader/site.h"

#define LINES_MAX 10
#define LINES_BRIEF 4
#define NAME_WIDTH 22 /* at most; a narrow terminal has less */
#define NAME_WIDTH_LEAST 8
#define WHO_WIDTH 16
#define CALLS_WIDTH 14
#define BYTES_WIDTH 12
#define SHARE_WIDTH 8

/* --- one group --- */

static void put_title(const struct pl_view *view, uint32_t group)
{
    const struct pl_groups *groups = view->threads;
    char number[PL_FIGURE_BYTES];
    pl_print_heading(view, pl_groups_name(groups, group));
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
    pl_figure_percent(share, pl_metric_share(view->profile, PL_METRIC_ALLOC_SPACE, space));
    char *text = pl_say_print("%s in %s call%s (%s of all)", bytes, calls, pl_figure_plural(calls), share);
    pl_term_pad(term, 2);
    pl_term_words(term, PL_STYLE_PLAIN, text, 2);
    put_amount(term, part, PL_METRIC_INUSE_SPACE, PL_METRIC_INUSE_OBJECTS, pl_metric_live_word(part));
    if (part->total[PL_METRIC_PEAK_SPACE].value > 0)
        put_amount(term, part, PL_METRIC_PEAK_SPACE, PL_METRIC_PEAK_OBJECTS,
                   part->merged ? "at their peaks" : "at the peak");
    pl_term_end(term);
    free(text);
}

/* --- all groups --- */

static uint64_t sum_calls(const struct pl_thread_view *thread)
{
    uint64_t calls = 0;
    for (int i = 0; i < PL_FN_COUNT; i++)
        calls += thread->calls[i];
    return calls;
}

/* Calls and bytes are exact in thread records. Other metrics are sums over sites: see rank(). */
static double weight_of_thread(const struct pl_thread_view *thread, enum pl_metric metric)
{
    return (double) (metric == PL_METRIC_ALLOC_SPACE ? thread->bytes : sum_calls(thread));
}

/* The groups, heaviest first. The caller frees it. */
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
            ranked[groups->of[profile->site[i].thread]].weight += pl_site_value(&profile->site[i], metric);
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
    struct pl_paths paths = pl_paths_new(part.profile, part.locations, PL_SHAPE_SITE, part.depth);
    if (part.profile->total[metric].value > 0 && paths.count)
        pl_listing_print(&part, &paths, metric);
    pl_arena_free(arena);
}

void pl_threads_print(const struct pl_view *view, enum pl_metric metric)
{
    struct pl_ranked *ranked = rank(view, metric);
    uint32_t count = view->threads->groups, shown = 0;
    while (shown < count && shown < PL_GROUPS_MOST &&
           pl_metric_share(view->profile, metric, ranked[shown].weight) >= view->threshold)
        put_group(view, ranked[shown++].item, metric);
    if (shown < count)
        pl_print_paragraph(view, "(%u more; --thread selects threads by name)", count - shown);
    free(ranked);
}

/* --- the table --- */

/* Threads that are shown as one. */
struct line {
    const char *name;
    uint64_t threads, calls, bytes;
    uint32_t tid; /* of one of them */
};

static int most_bytes_first(const void *left, const void *right)
{
    const struct line *a = left, *b = right;
    return a->bytes != b->bytes   ? (a->bytes < b->bytes ? 1 : -1)
           : a->calls != b->calls ? (a->calls < b->calls ? 1 : -1)
                                  : strcmp(a->name, b->name);
}

/* The caller frees it. */
static struct line *gather_lines(const struct pl_view *view)
{
    const struct pl_groups *threads = view->threads;
    struct line *line = pl_say_memory(calloc(threads->groups + 1ull, sizeof *line));
    for (uint32_t i = 0; i < threads->groups; i++)
        line[i] = (struct line){.name = pl_groups_name(threads, i), .threads = threads->threads[i]};
    for (uint32_t i = 0; i < view->profile->threads; i++) {
        const struct pl_thread_view *thread = &view->profile->thread[i];
        if (threads->of[i] == PL_NO_GROUP)
            continue;
        struct line *of = &line[threads->of[i]];
        of->calls += sum_calls(thread);
        of->bytes += thread->bytes;
        of->tid = thread->tid;
    }
    qsort(line, threads->groups, sizeof *line, most_bytes_first);
    return line;
}

/* The room that the other columns leave for the name. */
static size_t name_width(const struct pl_term *term)
{
    size_t others = 2 + WHO_WIDTH + CALLS_WIDTH + BYTES_WIDTH + SHARE_WIDTH;
    size_t width = term->width > others + NAME_WIDTH_LEAST ? term->width - others : NAME_WIDTH_LEAST;
    return width < NAME_WIDTH ? width : NAME_WIDTH;
}

static void put_who(struct pl_term *term, const struct line *line)
{
    char number[PL_FIGURE_BYTES];
    pl_figure_exact(number, line->threads);
    char *who = line->threads > 1 ? pl_say_print("%s threads", number) : pl_say_print("%u", line->tid);
    pl_term_pad(term, 2);
    pl_term_cut(term, PL_STYLE_PLAIN, line->name, name_width(term) - 1);
    pl_term_pad(term, 2 + name_width(term));
    pl_term_right(term, PL_STYLE_PLAIN, who, WHO_WIDTH);
    free(who);
}

static void put_table_line(const struct pl_view *view, const struct line *line)
{
    struct pl_term *term = view->term;
    char calls[PL_FIGURE_BYTES], bytes[PL_FIGURE_BYTES], share[PL_FIGURE_BYTES];
    pl_figure_exact(calls, line->calls);
    pl_figure_bytes(bytes, (double) line->bytes);
    pl_figure_percent(share, pl_metric_share(view->profile, PL_METRIC_ALLOC_SPACE, (double) line->bytes));
    put_who(term, line);
    pl_term_right(term, PL_STYLE_PLAIN, calls, CALLS_WIDTH);
    pl_term_right(term, PL_STYLE_PLAIN, bytes, BYTES_WIDTH);
    pl_term_right(term, PL_STYLE_BOLD, share, SHARE_WIDTH);
    pl_term_end(term);
}

static void put_table_title(struct pl_term *term)
{
    pl_term_end(term);
    pl_term_put(term, PL_STYLE_HEAD, "Threads");
    pl_term_pad(term, 2 + name_width(term));
    pl_term_right(term, PL_STYLE_DIM, "tid", WHO_WIDTH);
    pl_term_right(term, PL_STYLE_DIM, "calls", CALLS_WIDTH);
    pl_term_right(term, PL_STYLE_DIM, "bytes", BYTES_WIDTH);
    pl_term_right(term, PL_STYLE_DIM, "share", SHARE_WIDTH);
    pl_term_end(term);
}

void pl_threads_print_table(const struct pl_view *view)
{
    struct line *line = gather_lines(view);
    uint32_t count = view->threads->groups, most = view->brief ? LINES_BRIEF : LINES_MAX;
    while (count > 1 && !line[count - 1].calls) /* no calls since the reset */
        count--;
    put_table_title(view->term);
    for (uint32_t i = 0; i < count && i < most; i++)
        put_table_line(view, &line[i]);
    if (count > most) {
        pl_term_print(view->term, PL_STYLE_DIM, "  (%u more: --by thread)", count - most);
        pl_term_end(view->term);
    }
    free(line);
}
