/* SPDX-License-Identifier: MIT */
/*
 * measure.c - measures the figure of a rule of `check` in a profile.
 *
 * A table gives for each kind of rule how to measure its figure, and how to find the site that contributes most to it.
 */
#include "cli/check/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/diff/diff.h"
#include "analysis/figure.h"
#include "analysis/leaks/suspicion.h"
#include "analysis/narrow.h"
#include "analysis/path.h"
#include "cli/report/leaks.h"
#include "cli/report/print.h"
#include "cli/select.h"
#include "export/label.h"
#include "reader/base/arena.h"
#include "reader/join/join.h"
#include "reader/describe.h"

#define DEPTH 6          /* of stacks, as in report --leaks: sites with the same frames are judged together */
#define DISCOVERIES 0.05 /* false discovery rate, as in diff */
#define NAME_COLUMNS 80u
#define WORDS_BYTES 512

/* --- names --- */

static char *cut(const char *text)
{
    char *clean = pl_label_clean(text), *shorter = pl_label_cut(clean, NAME_COLUMNS);
    free(clean);
    return shorter;
}

static char *name_location(const struct pl_location *location)
{
    char file_line[WORDS_BYTES];
    pl_print_file_line(location, file_line, sizeof file_line);
    char *name = cut(location->name), *place = *file_line ? cut(file_line) : NULL;
    char *text = pl_say_print("%s%s%s", name, place ? " " : "", place ? place : "");
    free(place);
    free(name);
    return text;
}

/* --- measuring --- */

static struct pl_locations *locations_of(struct pl_measure *measure)
{
    struct pl_location_options names = {0};
    if (!measure->locations)
        measure->locations = pl_locations_new(measure->whole, &names);
    return measure->locations;
}

static struct pl_estimate exactly(double value)
{
    return (struct pl_estimate){.value = value, .low = value, .high = value};
}

static bool is_of_calls(enum pl_metric metric)
{
    return metric == PL_METRIC_ALLOC_OBJECTS || metric == PL_METRIC_ALLOC_SPACE;
}

/* No figure of a damaged file can be trusted: records may be missing or wrong. */
static char *say_damage(const struct pl_profile *profile)
{
    return profile->damage ? pl_say_print("cannot tell: the file is damaged or truncated") : NULL;
}

/* Calls are always counted, everything else only while recording is on. True: there were calls, but none while it was
 * on. That there are no samples does not prove this: a few calls may just not have been sampled. */
static bool is_dark(const struct pl_profile *profile)
{
    bool missing = profile->exact && !(profile->exact_calls > 0);
    return (missing || !(profile->recorded_calls > 0)) && profile->total[PL_METRIC_ALLOC_OBJECTS].value > 0;
}

static void measure_metric(struct pl_measure *measure, enum pl_metric metric)
{
    measure->figure = measure->part->total[metric];
    if (!is_of_calls(metric) && is_dark(measure->whole))
        measure->cannot = pl_say_print("cannot tell: nothing was recorded while it ran");
}

static void measure_lost(struct pl_measure *measure, enum pl_metric metric)
{
    measure_metric(measure, metric);
    if (measure->whole->looked == PL_LOOKED_NOT)
        measure->cannot =
            pl_say_print("cannot tell: nobody has looked what is lost; see `%s help leaks`", pl_say_self());
}

/* Threads add to the total in batches, so the peak of several threads is known only to within these batches. */
static void measure_peak(struct pl_measure *measure, enum pl_metric metric)
{
    double slack = measure->whole->peak_slack_bytes;
    measure_metric(measure, metric);
    if (metric == PL_METRIC_PEAK_SPACE && measure->figure.value > 0) {
        measure->figure.low = fmax(0, measure->figure.low - slack);
        measure->figure.high += slack;
    }
}

/* Numerator and denominator may be estimates from the same samples: uses the widest interval of the quotient. */
static void measure_share(struct pl_measure *measure, enum pl_metric metric)
{
    const struct pl_estimate *calls = &measure->part->total[PL_METRIC_ALLOC_OBJECTS];
    measure_metric(measure, metric);
    struct pl_estimate *share = &measure->figure;
    share->value = calls->value > 0 ? fmin(share->value / calls->value, 1) : 0;
    share->low = calls->high > 0 ? fmin(share->low / calls->high, share->value) : 0;
    share->high = share->high > 0 && calls->low > 0 ? fmin(share->high / calls->low, 1) : share->high > 0;
    share->error = (share->high - share->low) / 2;
}

static void measure_rss(struct pl_measure *measure, enum pl_metric metric)
{
    double highest = 0;
    (void) metric;
    for (uint32_t i = 0; i < measure->whole->moments; i++)
        highest = fmax(highest, measure->whole->moment[i].rss_bytes);
    measure->figure = exactly(highest);
    if (!(highest > 0))
        measure->cannot = pl_say_print("cannot tell: the profile has no RSS");
}

static void find_leftovers(struct pl_measure *measure)
{
    measure->left_paths = pl_paths_new(measure->part, locations_of(measure), PL_SHAPE_SITE, DEPTH);
    uint32_t *group = pl_paths_of_stacks(measure->part, &measure->left_paths);
    measure->leftovers = pl_leftovers_new(measure->part, measure->suppressions, group, measure->left_paths.count);
    free(group);
}

static void measure_left(struct pl_measure *measure, enum pl_metric metric)
{
    char ending[WORDS_BYTES];
    find_leftovers(measure);
    struct pl_leftovers *left = measure->leftovers;
    pl_narrow_allow(measure->whole, left->left.allocated.sampled.samples, left->left_metric);
    measure->figure = left->left_metric[metric];
    pl_describe_ending(measure->whole, ending, sizeof ending);
    if (is_dark(measure->whole))
        measure->cannot = pl_say_print("cannot tell: nothing was recorded while it ran");
    else if (left->ending != PL_ENDING_EXITED)
        measure->cannot = pl_say_print("cannot tell: %s, so live blocks may be in use; use max-live, or "
                                       "no-suspected-leaks",
                                       ending);
}

static void measure_suspects(struct pl_measure *measure, enum pl_metric metric)
{
    char duration[PL_FIGURE_BYTES];
    (void) metric;
    find_leftovers(measure);
    const struct pl_leftovers *left = measure->leftovers;
    pl_figure_seconds(duration, measure->whole->duration_s);
    measure->figure = exactly(left->suspected);
    for (uint32_t i = 0; i < left->count; i++)
        measure->blind |= left->item[i].doubt == PL_DOUBT_UNSEEN || left->item[i].doubt == PL_DOUBT_SAMPLES;
    if (is_dark(measure->whole))
        measure->cannot = pl_say_print("cannot tell: nothing was recorded while it ran");
    else if (left->count && !left->suspected && !left->aged)
        measure->cannot = pl_say_print("cannot tell: the profile has no ages of blocks");
    else if (left->count && !left->suspected && !left->timed)
        measure->cannot = pl_say_print("cannot tell: a run of %s is too short to see growth", duration);
}

/* --- the site that contributes most --- */

/* `unknown`: more than that belongs to stacks that are not in the profile, or to sizes that were excluded. */
static char *print_worst(const char *name, const char *figure, bool unknown)
{
    if (!name)
        return pl_say_print("their stacks are not known");
    return pl_say_print("%s%s (%s)", unknown ? "worst of the known stacks: " : "worst: ", name, figure);
}

/* No site has more than all together: of calls and bytes that total is exact, and the site's figure may not be. */
static char *print_share(const struct pl_measure *measure, enum pl_metric metric, struct pl_estimate site)
{
    const struct pl_estimate *all = &measure->part->total[metric];
    char figure[2 * PL_FIGURE_BYTES];
    if (site.high > all->high) {
        site.high = all->high;
        site.value = fmin(site.value, all->high);
        site.low = fmin(site.low, all->high);
        site.error = fmax(site.error > 0 ? (site.high - site.low) / 2 : 0, 0);
    }
    pl_figure_estimate(figure, metric, &site);
    return pl_say_print("%s", figure);
}

static bool has_function(const struct pl_measure *measure, const struct pl_path *path)
{
    return path->count && !pl_locations_stands_in(measure->locations, path->location[0]);
}

/* By this metric, in the part. */
static char *worst_of_metric(struct pl_measure *measure, enum pl_metric metric)
{
    struct pl_paths paths = pl_paths_new(measure->part, locations_of(measure), PL_SHAPE_OWN, 0);
    const struct pl_path *worst = NULL, *unknown = NULL;
    for (uint32_t i = 0; i < paths.count; i++) {
        const struct pl_path **which = has_function(measure, &paths.path[i]) ? &worst : &unknown;
        if (!*which || paths.path[i].metric[metric].value > (*which)->metric[metric].value)
            *which = &paths.path[i];
    }
    if (!worst || !(worst->metric[metric].value > 0))
        return NULL;
    char *name = name_location(&measure->locations->location[worst->location[0]]);
    char *figure = print_share(measure, metric, worst->metric[metric]);
    char *text = print_worst(name, figure, unknown && unknown->metric[metric].value > worst->metric[metric].value);
    free(figure);
    free(name);
    return text;
}

static char *name_leftover(const struct pl_measure *measure, const struct pl_leftover *item)
{
    const struct pl_path *path = &measure->left_paths.path[item->group];
    return path->count ? name_location(&measure->locations->location[path->location[0]]) : pl_say_print("?");
}

static char *worst_left(struct pl_measure *measure, enum pl_metric metric)
{
    const struct pl_leftovers *left = measure->leftovers;
    const struct pl_leftover *worst = NULL, *unknown = NULL;
    char figure[2 * PL_FIGURE_BYTES], blocks[2 * PL_FIGURE_BYTES];
    for (uint32_t i = 0; i < left->count; i++) {
        const struct pl_path *path = &measure->left_paths.path[left->item[i].group];
        const struct pl_leftover **which = has_function(measure, path) ? &worst : &unknown;
        if (!*which || left->item[i].metric[metric].value > (*which)->metric[metric].value)
            *which = &left->item[i];
    }
    if (!left->count)
        return NULL;
    pl_figure_estimate(blocks, PL_METRIC_INUSE_OBJECTS, &left->left_metric[PL_METRIC_INUSE_OBJECTS]);
    pl_figure_estimate(figure, metric, worst ? &worst->metric[metric] : &unknown->metric[metric]);
    char *name = worst ? name_leftover(measure, worst) : NULL;
    char *which =
        print_worst(name, figure, unknown && (!worst || unknown->metric[metric].value > worst->metric[metric].value));
    char *text = pl_say_print("in %s block%s%s; %s", blocks, pl_figure_plural(blocks),
                              left->rules_used ? " (after suppressions)" : "", which);
    free(which);
    free(name);
    return text;
}

static char *worst_suspect(struct pl_measure *measure, enum pl_metric metric)
{
    const struct pl_leftovers *left = measure->leftovers;
    (void) metric;
    if (!left->suspected)
        return NULL;
    char *name = name_leftover(measure, left->item), *growth = pl_suspicion_growth(left->item);
    char *text = pl_say_print("worst: %s, %s", name, growth);
    free(growth);
    free(name);
    return text;
}

static char *worst_nowhere(struct pl_measure *measure, enum pl_metric metric)
{
    (void) measure, (void) metric;
    return NULL;
}

/* The rules: how to measure the figure, and how to find the site that contributes most. */
static const struct how {
    void (*measure)(struct pl_measure *measure, enum pl_metric metric);
    char *(*worst)(struct pl_measure *measure, enum pl_metric metric);
    enum pl_metric metric; /* the metric of the figure, or at least one with the same unit */
    bool diffs;            /* sites of two profiles can be compared by the metric */
} hows[PL_CHECKRULE_KINDS] = {
    [PL_CHECKRULE_PEAK] = {measure_peak, worst_of_metric, PL_METRIC_PEAK_SPACE, true},
    [PL_CHECKRULE_PEAK_BLOCKS] = {measure_peak, worst_of_metric, PL_METRIC_PEAK_OBJECTS, true},
    [PL_CHECKRULE_LIVE] = {measure_metric, worst_of_metric, PL_METRIC_INUSE_SPACE, true},
    [PL_CHECKRULE_BLOCKS] = {measure_metric, worst_of_metric, PL_METRIC_INUSE_OBJECTS, true},
    [PL_CHECKRULE_NEVER_FREED] = {measure_left, worst_left, PL_METRIC_INUSE_SPACE, false},
    [PL_CHECKRULE_ALLOCATED] = {measure_metric, worst_of_metric, PL_METRIC_ALLOC_SPACE, true},
    [PL_CHECKRULE_CALLS] = {measure_metric, worst_of_metric, PL_METRIC_ALLOC_OBJECTS, true},
    [PL_CHECKRULE_TEMPORARY] = {measure_share, worst_of_metric, PL_METRIC_TEMP_OBJECTS, false},
    [PL_CHECKRULE_RSS] = {measure_rss, worst_nowhere, PL_METRIC_PEAK_SPACE, false},
    [PL_CHECKRULE_NO_LEAKS] = {measure_left, worst_left, PL_METRIC_INUSE_SPACE, false},
    [PL_CHECKRULE_LOST] = {measure_lost, worst_of_metric, PL_METRIC_LOST_SPACE, true},
    [PL_CHECKRULE_NO_LOST] = {measure_lost, worst_of_metric, PL_METRIC_LOST_OBJECTS, true},
    [PL_CHECKRULE_NO_SUSPECTS] = {measure_suspects, worst_suspect, PL_METRIC_INUSE_OBJECTS, false},
};

/* --- the part that a rule names --- */

static bool find_threads(const struct pl_profile *profile, const regex_t *regex, bool *in)
{
    bool found = false;
    for (uint32_t i = 0; i < profile->threads; i++) {
        in[i] = !regexec(regex, profile->thread[i].name, 0, NULL, 0);
        found |= in[i];
    }
    return found;
}

static void choose_part(struct pl_measure *measure, const struct pl_checkrule *rule)
{
    const struct pl_profile *whole = measure->whole;
    size_t most = 1ull + whole->tags + whole->threads + whole->stacks;
    bool *in = pl_arena_alloc(measure->arena, most * sizeof *in);
    struct pl_part part = {0};
    uint32_t one = 0;
    measure->part = whole;
    measure->matched = true;
    if (rule->where == PL_WHERE_ALL)
        return;
    if (rule->where == PL_WHERE_TAG) {
        measure->matched = pl_select_tags(whole, rule->name, in, &one) > 0;
        part.tag = in;
    } else if (rule->where == PL_WHERE_THREAD) {
        measure->matched = find_threads(whole, &rule->regex, in);
        part.thread = in;
    } else {
        memset(in, true, most * sizeof *in);
        measure->matched = pl_select_stacks(whole, &rule->regex, true, in) > 0;
        part.stack = in;
    }
    measure->part = pl_narrow(whole, &part, measure->arena);
}

struct pl_measure pl_measure_take(const struct pl_checkrule *rule, const struct pl_profile *whole,
                                  struct pl_suppressions *suppressions)
{
    struct pl_measure measure = {.whole = whole, .suppressions = suppressions, .arena = pl_arena_new()};
    choose_part(&measure, rule);
    measure.cannot = say_damage(whole);
    if (!measure.cannot)
        hows[rule->kind].measure(&measure, hows[rule->kind].metric);
    return measure;
}

void pl_measure_free(struct pl_measure *measure)
{
    if (measure->leftovers)
        pl_leftovers_free(measure->leftovers);
    if (measure->locations)
        pl_locations_free(measure->locations);
    pl_arena_free(measure->arena);
    free(measure->cannot);
}

/* --- printing --- */

char *pl_measure_print(const struct pl_checkrule *rule, const struct pl_estimate *figure)
{
    char text[2 * PL_FIGURE_BYTES];
    if (pl_checkrules_info[rule->kind].unit != PL_UNIT_SHARE)
        pl_figure_estimate(text, hows[rule->kind].metric, figure);
    else
        pl_figure_percent(text, figure->value);
    return pl_say_print("%s", text);
}

/* The site that has grown most, if any growth is significant. */
static char *worst_change(const struct pl_checkrule *rule, const struct pl_profile *before,
                          const struct pl_profile *after)
{
    const struct pl_profile *part[] = {before, after};
    struct pl_profile *joined = pl_join(part, 2, PL_JOIN_DIFFERENCE);
    struct pl_location_options names = {0};
    enum pl_metric metric = hows[rule->kind].metric;
    struct pl_diff_options options = {
        .metric = metric, .rate = DISCOVERIES, .depth = 1, .names = &names, .before = part[0], .after = part[1]};
    struct pl_diff diff;
    char *text = NULL, figure[PL_FIGURE_BYTES];
    pl_diff_make(joined, &options, &diff);
    for (uint32_t i = 0; i < diff.significant && !text; i++) {
        const struct pl_path *path = &diff.paths.path[diff.change[i].who];
        if (!(diff.change[i].change.value > 0) || !path->count)
            continue;
        char *name = name_location(&diff.locations->location[path->location[0]]);
        pl_figure_metric(figure, metric, diff.change[i].change.value);
        text = pl_say_print("worst: %s (+%s)", name, figure);
        free(name);
    }
    pl_diff_free(&diff);
    pl_profile_close(joined);
    return text;
}

char *pl_measure_worst(const struct pl_checkrule *rule, struct pl_measure *measure)
{
    return hows[rule->kind].worst(measure, hows[rule->kind].metric);
}

char *pl_measure_worst_growth(const struct pl_checkrule *rule, const struct pl_measure *before,
                              struct pl_measure *after)
{
    return hows[rule->kind].diffs ? worst_change(rule, before->part, after->part) : pl_measure_worst(rule, after);
}
