/* SPDX-License-Identifier: MIT */
/*
 * keyfigures.c - the totals of a profile, each with a label:
 *
 *   allocated    96.1 MiB in 412,918 calls (7.5 MiB/s)    size       p50 about 48 B · p99 about 4.1 KiB · max 8.0 MiB
 *   peak         31.4 MiB in 99,120 blocks at 9.2 s       RSS        peak 44.7 MiB · 40.2 MiB at the end
 *   never freed  2.1 MiB in 1,204 blocks                  temporary  61.0% of calls
 *
 * A wide terminal gets two facts a line, a narrow one gets one.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/metric.h"
#include "analysis/narrow.h"
#include "analysis/quantile.h"
#include "analysis/resident.h"
#include "analysis/traits.h"
#include "cli/report/histogram.h"
#include "cli/report/views.h"
#include "reader/base/utf8.h"

#define INDENT 2
#define GAP 2
#define PAIR_GAP 4
#define UNTOUCHED_LEAST (8 << 20) /* by so much the peak must exceed RSS: both are not measured at the same instant */
#define FILES_LEAST (16 << 20)
#define FILES_SHARE 0.25 /* of RSS */
#define OWN_LEAST (1 << 20)
#define OWN_SHARE 0.05       /* of RSS */
#define REALLOC_MATTERS 0.05 /* of all bytes: if reallocs copy less, there is no line about them */
#define TEMPORARY_MATTERS 0.001
#define PERCENT_LEAST 0.0005 /* reads as 0.0% */

/* `strong` is the figure, `rest` the text that follows it. If `label` is NULL, there is no fact. */
struct fact {
    const char *label;
    char *strong, *rest;
};

#define ROWS 4
struct facts {
    struct fact left[ROWS], right[ROWS];
};

static struct fact make_fact(const char *label, const char *strong, char *rest)
{
    return (struct fact){label, pl_say_print("%s", strong), rest};
}

/* The word that says how well a figure is known; "" if no figure of this profile is estimated. */
static const char *exactness(const struct pl_profile *profile, const struct pl_estimate *estimate)
{
    if (!pl_traits_estimated(profile))
        return "";
    if (estimate->error > 0)
        return "  estimated";
    return profile->header.losses[PL_LOSS_THREADS] ? "  exact except for losses"
           : pl_traits_behind(profile)             ? "  may lag by one sampling interval"
                                                   : "  exact";
}

static const char *about(const struct pl_profile *profile)
{
    return pl_traits_estimated(profile) ? "about " : "";
}

/* --- the facts --- */

static struct fact allocated(const struct pl_view *view)
{
    const struct pl_profile *profile = view->profile;
    const struct pl_estimate *space = &profile->total[PL_METRIC_ALLOC_SPACE];
    char bytes[PL_FIGURE_BYTES], calls[PL_FIGURE_BYTES], rate[PL_FIGURE_BYTES];
    double seconds = profile->duration_s - profile->reset_s;
    bool timed = pl_traits_timed(profile) && seconds >= 0.001 && !profile->merged && !profile->difference;
    pl_figure_bytes(bytes, space->value);
    pl_figure_exact(calls, (uint64_t) profile->total[PL_METRIC_ALLOC_OBJECTS].value);
    pl_figure_bytes(rate, timed ? space->value / seconds : 0);
    if (!pl_traits_seen(profile))
        return make_fact("allocated", "", pl_say_print("not known: no allocation was seen"));
    return make_fact("allocated", bytes,
                     pl_say_print(" in %s call%s%s%s%s%s", calls, pl_figure_plural(calls), timed ? " (" : "",
                                  timed ? rate : "", timed ? "/s)" : "", exactness(profile, space)));
}

/* A heap may be larger than the memory that the process ever had: blocks that were never written to need none. Of an
 * estimate, it may also be the error. */
static char *beyond_memory(const struct pl_profile *profile, const struct pl_estimate *space)
{
    const struct pl_moment_view *most = pl_resident_highest(profile);
    char text[PL_FIGURE_BYTES];
    if (most && space->low >= most->rss_bytes + UNTOUCHED_LEAST)
        return pl_say_print("; more than RSS: part of it was not resident");
    if (!(space->error > 0) || !most || !(space->value > most->rss_bytes))
        return pl_say_print("%s", "");
    pl_figure_bytes(text, most->rss_bytes);
    return pl_say_print("; RSS never exceeded %s", text);
}

/* Blocks that could not be followed count as freed at once: then the heap was at least as large. */
static const char *least(const struct pl_profile *profile)
{
    return profile->header.losses[PL_LOSS_LIVE_FULL] ? "at least " : "";
}

static struct fact peak(const struct pl_view *view)
{
    const struct pl_profile *profile = view->profile;
    const struct pl_estimate *space = &profile->total[PL_METRIC_PEAK_SPACE];
    char bytes[2 * PL_FIGURE_BYTES], blocks[2 * PL_FIGURE_BYTES], when[PL_FIGURE_BYTES];
    if (!(space->high > 0))
        return (struct fact){0};
    pl_figure_estimate(bytes, PL_METRIC_PEAK_SPACE, space);
    if (!(space->value > 0)) /* too few samples for a peak: its moment is not known */
        return make_fact("peak", bytes, pl_say_print("%s", exactness(profile, space)));
    pl_figure_estimate(blocks, PL_METRIC_PEAK_OBJECTS, &profile->total[PL_METRIC_PEAK_OBJECTS]);
    pl_figure_span(when, profile->peak_s);
    if (profile->merged) /* each process had its peak at its own time */
        return make_fact("peaks", bytes,
                         pl_say_print(" in %s block%s, the sum of the peaks of %u profiles", blocks,
                                      pl_figure_plural(blocks), profile->merged));
    if (view->selection) /* the selection's own peak may have been at another time */
        return make_fact("at the peak", bytes,
                         pl_say_print(" in %s block%s at %s, when the whole heap was largest", blocks,
                                      pl_figure_plural(blocks), when));
    char slack[2 * PL_FIGURE_BYTES];
    pl_figure_slack(slack, space->value, profile->peak_slack_bytes, profile->total[PL_METRIC_ALLOC_SPACE].value);
    char *beyond = beyond_memory(profile, space), *strong = pl_say_print("%s%s", least(profile), bytes);
    struct fact fact = make_fact("peak", strong,
                                 pl_say_print("%s%s in %s block%s at %s%s%s", slack, *slack ? "," : "", blocks,
                                              pl_figure_plural(blocks), when,
                                              *slack && !(space->error > 0) ? "" : exactness(profile, space), beyond));
    free(beyond);
    free(strong);
    return fact;
}

/* For a part of the run: how live bytes and blocks changed. */
static struct fact change(const struct pl_profile *profile)
{
    const struct pl_estimate *space = &profile->total[PL_METRIC_INUSE_SPACE];
    double number = profile->total[PL_METRIC_INUSE_OBJECTS].value;
    char bytes[PL_FIGURE_BYTES], error[PL_FIGURE_BYTES], blocks[PL_FIGURE_BYTES];
    pl_figure_bytes(bytes, fabs(space->value));
    pl_figure_error(error, PL_METRIC_INUSE_SPACE, space);
    pl_figure_count(blocks, fabs(number));
    char *strong = pl_say_print("%s%s", space->value < 0 ? "-" : "+", bytes);
    struct fact fact = make_fact("live", strong,
                                 pl_say_print("%s%s, %s%s block%s", *error ? " " : "", error, number < 0 ? "-" : "+",
                                              blocks, pl_figure_plural(blocks)));
    free(strong);
    return fact;
}

static struct fact live(const struct pl_view *view)
{
    const struct pl_profile *profile = view->profile;
    const struct pl_estimate *space = &profile->total[PL_METRIC_INUSE_SPACE];
    char bytes[2 * PL_FIGURE_BYTES], blocks[2 * PL_FIGURE_BYTES];
    if (profile->difference)
        return change(profile);
    pl_figure_estimate(bytes, PL_METRIC_INUSE_SPACE, space);
    pl_figure_estimate(blocks, PL_METRIC_INUSE_OBJECTS, &profile->total[PL_METRIC_INUSE_OBJECTS]);
    if (!pl_traits_recorded(profile))
        return make_fact(pl_metric_live_word(profile), "",
                         pl_say_print("not known: no allocation was %s", !pl_traits_seen(profile) ? "seen"
                                                                         : profile->exact         ? "recorded"
                                                                                                  : "sampled"));
    char *strong = pl_say_print("%s%s", least(profile), bytes);
    struct fact fact =
        make_fact(pl_metric_live_word(profile), strong,
                  pl_say_print(" in %s block%s%s", blocks, pl_figure_plural(blocks), exactness(profile, space)));
    free(strong);
    return fact;
}

/* Reallocs are listed because of the bytes that they copy. */
static struct fact reallocs(const struct pl_view *view)
{
    const struct pl_profile *profile = view->profile;
    const struct pl_spread *spread = &profile->spread;
    char moved[PL_FIGURE_BYTES], calls[PL_FIGURE_BYTES], in_place[PL_FIGURE_BYTES];
    if (!(pl_metric_share(profile, PL_METRIC_ALLOC_SPACE, spread->realloc_moved) >= REALLOC_MATTERS))
        return (struct fact){0};
    pl_figure_bytes(moved, spread->realloc_moved);
    pl_figure_count(calls, spread->realloc_calls);
    pl_figure_count(in_place, spread->realloc_in_place);
    char *strong = pl_say_print("%s%s", about(profile), calls);
    struct fact fact =
        make_fact("realloc", strong,
                  pl_say_print(" call%s copied %s%s; %s%s of them stayed in place", pl_figure_plural(calls),
                               about(profile), moved, about(profile), in_place));
    free(strong);
    return fact;
}

/* "p50 48 B", or "p50 about 48 B". The caller frees it. */
static char *print_quantile(const struct pl_profile *profile, const char *name, double fraction)
{
    struct pl_quantile quantile = pl_quantile_of_sizes(profile, fraction);
    char bytes[PL_FIGURE_BYTES];
    pl_figure_bytes(bytes, quantile.bytes);
    return pl_say_print("%s %s%s", name, quantile.exact ? about(profile) : "about ", bytes);
}

static struct fact sizes(const struct pl_view *view)
{
    const struct pl_profile *profile = view->profile;
    const struct pl_spread *spread = &profile->spread;
    struct pl_scale scale = pl_histogram_sizes();
    char largest[PL_FIGURE_BYTES];
    if (!(pl_histogram_sum(&scale, spread->sizes) > 0) || spread->largest == 0)
        return (struct fact){0};
    pl_figure_bytes(largest, (double) spread->largest);
    if (spread->smallest == spread->largest)
        return make_fact("size", largest,
                         pl_say_print(", all %s", pl_traits_estimated(profile) ? "samples" : "of them"));
    char *half = print_quantile(profile, "p50", 0.5), *most = print_quantile(profile, "p99", 0.99);
    struct fact fact = make_fact("size", "", pl_say_print("%s · %s · max %s", half, most, largest));
    free(most);
    free(half);
    return fact;
}

/* The parts of RSS that no heap explains, if they are large: ", 50.2 MiB of it files and shared memory, 9.1 MiB of it
 * Plimsoll's own". The caller frees it. */
static char *describe_parts(const struct pl_moment_view *moment)
{
    char files[PL_FIGURE_BYTES], ours[PL_FIGURE_BYTES];
    bool filed = moment->file_bytes >= FILES_LEAST && moment->file_bytes >= FILES_SHARE * moment->rss_bytes;
    bool owned = moment->own_bytes >= OWN_LEAST && moment->own_bytes >= OWN_SHARE * moment->rss_bytes;
    pl_figure_bytes(files, moment->file_bytes);
    pl_figure_bytes(ours, moment->own_bytes);
    return pl_say_print("%s%s%s%s%s%s", filed ? ", " : "", filed ? files : "",
                        filed ? " of it files and shared memory" : "", owned ? ", " : "", owned ? ours : "",
                        owned ? " of it Plimsoll's own" : "");
}

static struct fact rss(const struct pl_view *view)
{
    const struct pl_profile *profile = view->profile;
    const struct pl_moment_view *highest = pl_resident_highest(profile);
    char most[PL_FIGURE_BYTES], last[PL_FIGURE_BYTES];
    double latest = 0;
    for (uint32_t i = 0; i < profile->moments; i++)
        latest = profile->moment[i].rss_bytes > 0 ? profile->moment[i].rss_bytes : latest;
    if (!highest)
        return (struct fact){0};
    pl_figure_bytes(most, highest->rss_bytes);
    pl_figure_bytes(last, latest);
    char *parts = describe_parts(highest);
    struct fact fact =
        strcmp(most, last) == 0
            ? make_fact("RSS", most, pl_say_print("%s", parts))
            : make_fact("RSS", "",
                        pl_say_print("peak %s%s · %s %s", most, parts, last, profile->running ? "now" : "at the end"));
    free(parts);
    return fact;
}

static struct fact temporary(const struct pl_view *view)
{
    const struct pl_profile *profile = view->profile;
    const struct pl_estimate *calls = &profile->total[PL_METRIC_TEMP_OBJECTS];
    char share[PL_FIGURE_BYTES], error[PL_FIGURE_BYTES];
    double part = pl_metric_share(profile, PL_METRIC_ALLOC_OBJECTS, calls->value);
    if (!(part >= TEMPORARY_MATTERS))
        return (struct fact){0};
    double off = pl_metric_share(profile, PL_METRIC_ALLOC_OBJECTS, calls->error);
    pl_figure_percent(share, part);
    pl_figure_percent(error, off);
    bool known = off < PERCENT_LEAST;
    return make_fact("temporary", share, pl_say_print("%s%s of calls", known ? "" : " ± ", known ? "" : error));
}

/* --- layout --- */

/* For a part of the run, only these two are known. */
static bool is_known(const struct pl_profile *profile, struct fact (*maker)(const struct pl_view *))
{
    return !profile->difference || maker == allocated || maker == live;
}

static struct fact (*const makers[ROWS][2])(const struct pl_view *) = {
    {allocated, sizes},
    {peak, rss},
    {live, temporary},
    {reallocs, NULL},
};

/* Appends to the column, so that facts that are not known leave no gap. */
static void add(struct fact fact[ROWS], struct fact more)
{
    size_t i = 0;
    while (fact[i].label)
        i++;
    fact[i] = more;
}

static struct facts gather(const struct pl_view *view)
{
    struct facts facts = {0};
    for (size_t i = 0; i < ROWS; i++) {
        if (is_known(view->profile, makers[i][0]))
            add(facts.left, makers[i][0](view));
        if (makers[i][1] && is_known(view->profile, makers[i][1]))
            add(facts.right, makers[i][1](view));
    }
    return facts;
}

static void forget(struct fact fact[ROWS])
{
    for (size_t i = 0; i < ROWS; i++) {
        free(fact[i].strong);
        free(fact[i].rest);
    }
}

static size_t label_width(const struct fact fact[ROWS])
{
    size_t width = 0;
    for (size_t i = 0; i < ROWS; i++)
        if (fact[i].label && strlen(fact[i].label) > width)
            width = strlen(fact[i].label);
    return width;
}

/* The width of a column. Rows with nothing beside them do not count: they may use the whole line. */
static size_t text_width(const struct fact fact[ROWS], const struct fact beside[ROWS])
{
    size_t width = 0;
    for (size_t i = 0; i < ROWS; i++) {
        bool counts = fact[i].label && beside[i].label;
        size_t needed = counts ? pl_utf8_width(fact[i].strong) + pl_utf8_width(fact[i].rest) : 0;
        width = needed > width ? needed : width;
    }
    return width;
}

/* Breaks lines before a `·` rather than inside the parts that it separates. */
static void put_parts(struct pl_term *term, const char *text, size_t indent)
{
    for (bool first = true; *text; first = false) {
        const char *end = strstr(text + 1, " · ");
        size_t bytes = end ? (size_t) (end - text) : strlen(text);
        char *part = pl_say_print("%.*s", (int) bytes, text);
        if (!first)
            pl_term_room(term, 1, pl_utf8_width(part), indent);
        pl_term_words(term, PL_STYLE_PLAIN, part, indent);
        free(part);
        text += bytes + (end ? 1 : 0);
    }
}

static void put_fact(struct pl_term *term, const struct fact *fact, size_t column, size_t labels)
{
    pl_term_pad(term, column);
    pl_term_put(term, PL_STYLE_PLAIN, fact->label);
    pl_term_pad(term, column + labels + GAP);
    pl_term_put(term, PL_STYLE_BOLD, fact->strong);
    put_parts(term, fact->rest, column + labels + GAP);
}

static void put_pairs(struct pl_term *term, const struct facts *facts, size_t labels, size_t right)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (facts->left[i].label)
            put_fact(term, &facts->left[i], INDENT, labels);
        if (facts->right[i].label)
            put_fact(term, &facts->right[i], right, label_width(facts->right));
        if (term->column)
            pl_term_end(term);
    }
}

static void put_halves(struct pl_term *term, const struct facts *facts, size_t labels)
{
    for (size_t i = 0; i < ROWS; i++)
        for (int half = 0; half < 2; half++) {
            const struct fact *fact = half ? &facts->right[i] : &facts->left[i];
            if (!fact->label)
                continue;
            put_fact(term, fact, INDENT, labels);
            pl_term_end(term);
        }
}

static void put_functions(const struct pl_view *view, size_t indent)
{
    const struct pl_profile *profile = view->profile;
    for (int i = 0; i < PL_FN_COUNT && !profile->by_stack; i++) {
        char calls[PL_FIGURE_BYTES];
        uint64_t sum = 0;
        for (uint32_t t = 0; t < profile->threads; t++)
            sum += profile->thread[t].calls[i];
        if (!sum)
            continue;
        pl_figure_exact(calls, sum);
        char *text = pl_say_print("· %s %s", pl_function_name[i], calls);
        pl_term_room(view->term, 1, pl_utf8_width(text), indent);
        pl_term_put(view->term, PL_STYLE_PLAIN, text);
        free(text);
    }
}

/* The tags that the program pushed. */
static uint32_t count_tags(const struct pl_profile *profile)
{
    bool *seen = pl_say_memory(calloc(profile->tags + 1ull, 1));
    uint32_t count = 0;
    for (uint32_t i = 0; i < profile->scopes; i++)
        seen[profile->scope[i].tag] = true;
    for (uint32_t i = 1; i < profile->tags; i++)
        count += seen[i] && profile->tag[i].kind == PL_TAG_NAMED;
    free(seen);
    return count;
}

static void put_counts(const struct pl_view *view, size_t labels)
{
    const struct pl_profile *profile = view->profile;
    uint64_t threads = 0;
    uint32_t tagged = count_tags(profile);
    char count[PL_FIGURE_BYTES], stacks[PL_FIGURE_BYTES], tags[PL_FIGURE_BYTES];
    for (uint32_t t = 0; t < profile->threads; t++)
        threads += profile->thread[t].threads ? profile->thread[t].threads : 1;
    pl_figure_exact(count, threads);
    pl_figure_exact(stacks, view->selection ? pl_narrow_stacks(profile) : profile->stacks);
    pl_figure_exact(tags, tagged);
    pl_term_print(view->term, PL_STYLE_PLAIN, "%*sthreads", INDENT, "");
    pl_term_pad(view->term, INDENT + labels + GAP);
    pl_term_print(view->term, PL_STYLE_PLAIN, "%s · stacks %s%s%s", count, stacks, tagged ? " · tags " : "",
                  tagged ? tags : "");
    if (!profile->difference)
        put_functions(view, INDENT + labels + GAP);
    pl_term_end(view->term);
}

void pl_keyfigures_print(const struct pl_view *view)
{
    struct facts facts = gather(view);
    size_t labels = label_width(facts.left), others = label_width(facts.right);
    size_t right = INDENT + labels + GAP + text_width(facts.left, facts.right) + PAIR_GAP;
    bool pairs = right + others + GAP + text_width(facts.right, facts.left) <= view->term->width;
    if (!pairs && others > labels)
        labels = others;
    pl_term_end(view->term);
    if (pairs)
        put_pairs(view->term, &facts, labels, right);
    else
        put_halves(view->term, &facts, labels);
    put_counts(view, labels);
    forget(facts.left);
    forget(facts.right);
}
