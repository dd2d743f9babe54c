/* SPDX-License-Identifier: MIT */
/*
 * massif.c - the heap over time, for ms_print and massif-visualizer.
 *
 * Massif's file is a list of its snapshots in order of time, some of them with a tree of who held the heap. The moments
 * of the timeline give those without a tree; the heap compositions, the peak and the end give those with one. A part of
 * a profile has no moments: they are about the whole process.
 *
 * Trees have the allocating function on top and its callers below it. One is written by sorting rows by their innermost
 * line, then each group of them by the next one, and so on; groups that are too small are combined, as massif does. So
 * there is never a tree in memory, only rows and the way down.
 *
 * The chosen metric takes the place of massif's bytes. Of temporary allocations only the end is known.
 *
 * Moments have what threads had reported by then; the peak and the heap compositions are counted. They may differ by
 * what threads had not reported yet. So a moment that is higher than the peak by no more than that is drawn as high as
 * the peak.
 */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figure.h"
#include "export/export.h"
#include "export/label.h"
#include "export/wording.h"
#include "reader/base/grow.h"
#include "reader/describe.h"

#define SNAPSHOTS_ABOUT 100 /* massif's own number */
#define BRIEF_RUN_S 10      /* whole milliseconds are too coarse for it */
#define DEPTH_MAX 30        /* massif's own, too: of deeper stacks the outer part is not shown */
#define NOWHERE UINT32_MAX  /* the stack ends here */
#define NO_METRIC PL_METRIC_COUNT

/* --- the values of the graph --- */

/* Where the metric is found at each time. */
struct curve {
    enum pl_metric end, peak;
    bool over_time;
    size_t in_moment, in_snapshot, in_share;
};
#define OVER_TIME(moment, share)                                                                                       \
    .over_time = true, .in_moment = offsetof(struct pl_moment_view, moment),                                           \
    .in_snapshot = offsetof(struct pl_composition_view, moment),                                                       \
    .in_share = offsetof(struct pl_composition_share, share)

static const struct curve curves[PL_METRIC_COUNT] = {
    [PL_METRIC_ALLOC_OBJECTS] = {PL_METRIC_ALLOC_OBJECTS, NO_METRIC, OVER_TIME(allocated_calls, calls)},
    [PL_METRIC_ALLOC_SPACE] = {PL_METRIC_ALLOC_SPACE, NO_METRIC, OVER_TIME(allocated_bytes, allocated)},
    [PL_METRIC_INUSE_OBJECTS] = {PL_METRIC_INUSE_OBJECTS, PL_METRIC_PEAK_OBJECTS, OVER_TIME(live_objects, objects)},
    [PL_METRIC_INUSE_SPACE] = {PL_METRIC_INUSE_SPACE, PL_METRIC_PEAK_SPACE, OVER_TIME(live_bytes, bytes)},
    [PL_METRIC_PEAK_OBJECTS] = {PL_METRIC_INUSE_OBJECTS, PL_METRIC_PEAK_OBJECTS, OVER_TIME(live_objects, objects)},
    [PL_METRIC_PEAK_SPACE] = {PL_METRIC_INUSE_SPACE, PL_METRIC_PEAK_SPACE, OVER_TIME(live_bytes, bytes)},
    [PL_METRIC_TEMP_OBJECTS] = {PL_METRIC_TEMP_OBJECTS, NO_METRIC, .over_time = false},
    [PL_METRIC_LOST_OBJECTS] = {PL_METRIC_LOST_OBJECTS, NO_METRIC, .over_time = false},
    [PL_METRIC_LOST_SPACE] = {PL_METRIC_LOST_SPACE, NO_METRIC, .over_time = false},
};

static double figure_at(const void *view, size_t offset)
{
    double figure;
    memcpy(&figure, (const char *) view + offset, sizeof figure);
    return figure;
}

static int64_t whole_at(const void *view, size_t offset)
{
    return llround(fmax(figure_at(view, offset), 0));
}

/* A row at some time. `line` is the one at the depth where it is being sorted. */
struct item {
    uint32_t row;
    uint32_t line;
    int64_t value;
};

struct massif {
    FILE *out;
    const struct pl_profile *profile;
    const struct pl_flat *flat;
    const struct curve *curve;
    double threshold;
    uint64_t *address; /* by line */
    uint32_t *line;    /* of the current stack, outermost first */
    struct item *item;
    int64_t *of_row; /* sums of the shares of a heap composition; 0 again when they have been used */
    int64_t total;   /* of the tree that is being written */
    uint32_t written;
};

/* --- trees --- */

/* Massif's readers take everything after a # for a comment, wherever it is. */
static void put_text(FILE *out, const char *text)
{
    char *clean = pl_label_clean(text);
    for (const char *c = clean; *c; c++)
        if (*c == '#')
            fputs("＃", out);
        else
            fputc(*c, out);
    free(clean);
}

static void put_frame(const struct massif *massif, uint32_t children, uint32_t depth, int64_t value, uint32_t line)
{
    char *text = pl_wording_frame(massif->flat, line, massif->address[line], true);
    fprintf(massif->out, "%*sn%" PRIu32 ": %" PRId64 " ", (int) depth, "", children, value);
    put_text(massif->out, text);
    fputc('\n', massif->out);
    free(text);
}

/* Rows with the same line at some depth. */
struct group {
    struct item *item;
    uint32_t items;
    uint32_t line;
    int64_t value;
};

struct groups {
    struct group *group; /* the heaviest first */
    uint32_t shown;      /* those that are large enough */
    uint32_t small;
    int64_t small_value;
};

static int by_line(const void *left, const void *right)
{
    const struct item *a = left, *b = right;
    return (a->line > b->line) - (a->line < b->line);
}

static int by_value(const void *left, const void *right)
{
    const struct group *a = left, *b = right;
    if (a->value != b->value)
        return a->value > b->value ? -1 : 1;
    return (a->line > b->line) - (a->line < b->line);
}

static void find_lines(const struct massif *massif, struct item *item, uint32_t items, uint32_t depth)
{
    for (uint32_t i = 0; i < items; i++) {
        uint32_t lines = pl_flat_stack(massif->flat, massif->flat->row[item[i].row].stack, massif->line);
        item[i].line = depth < lines ? massif->line[lines - 1 - depth] : NOWHERE;
    }
    qsort(item, items, sizeof *item, by_line);
}

static uint32_t gather(struct item *item, uint32_t items, struct group **group)
{
    uint32_t groups = 0, room = 0;
    for (uint32_t i = 0; i < items && item[i].line != NOWHERE; i++) {
        if (i == 0 || item[i].line != item[i - 1].line) {
            *group = pl_grow(*group, groups, &room, sizeof **group);
            (*group)[groups++] = (struct group){.item = &item[i], .line = item[i].line};
        }
        (*group)[groups - 1].items++;
        (*group)[groups - 1].value += item[i].value;
    }
    return groups;
}

static struct groups split(const struct massif *massif, struct item *item, uint32_t items, uint32_t depth)
{
    struct groups all = {0};
    find_lines(massif, item, items, depth);
    uint32_t groups = gather(item, items, &all.group);
    if (groups)
        qsort(all.group, groups, sizeof *all.group, by_value);
    while (all.shown < groups && (double) all.group[all.shown].value >= massif->threshold * (double) massif->total)
        all.shown++;
    for (uint32_t i = all.shown; i < groups; i++)
        all.small_value += all.group[i].value;
    all.small = groups - all.shown;
    return all;
}

static void put_small(const struct massif *massif, const struct groups *all, uint32_t depth)
{
    if (all->small)
        fprintf(massif->out, "%*sn0: %" PRId64 " in %" PRIu32 " place%s below massif's threshold (%.2f%%)\n",
                (int) depth, "", all->small_value, all->small, all->small == 1 ? "," : "s, all",
                100 * massif->threshold);
}

/* The rest of a stack that no other row shares. */
static void put_alone(const struct massif *massif, const struct item *item, uint32_t depth)
{
    uint32_t lines = pl_flat_stack(massif->flat, massif->flat->row[item->row].stack, massif->line);
    uint32_t shown = lines < DEPTH_MAX ? lines : DEPTH_MAX;
    for (uint32_t i = depth; i < shown; i++)
        put_frame(massif, i + 1 < shown, i + 1, item->value, massif->line[lines - 1 - i]);
}

static void put_group(const struct massif *massif, const struct group *group, uint32_t depth)
{
    if (group->items == 1) {
        put_alone(massif, group->item, depth);
        return;
    }
    uint32_t line = group->line;
    struct groups below = {0};
    if (depth + 1 < DEPTH_MAX)
        below = split(massif, group->item, group->items, depth + 1);
    put_frame(massif, below.shown + (below.small > 0), depth + 1, group->value, line);
    for (uint32_t i = 0; i < below.shown; i++)
        put_group(massif, &below.group[i], depth + 1);
    put_small(massif, &below, depth + 2);
    free(below.group);
}

/* `left_out` is what no row has. */
static void put_tree(const struct massif *massif, uint32_t items, int64_t left_out)
{
    struct groups top = split(massif, massif->item, items, 0);
    fprintf(massif->out, "n%" PRIu32 ": %" PRId64 " (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n",
            top.shown + (top.small > 0) + (left_out > 0), massif->total);
    for (uint32_t i = 0; i < top.shown; i++)
        put_group(massif, &top.group[i], 0);
    put_small(massif, &top, 1);
    if (left_out > 0)
        fprintf(massif->out, " n0: %" PRId64 " (too small to be listed at this time)\n", left_out);
    free(top.group);
}

/* --- massif's snapshots --- */

enum kind {
    MOMENT,
    SNAPSHOT,
    PEAK,
    END,
};

struct instant {
    double seconds;
    enum kind kind;
    uint32_t index;
};

static void put_instant(struct massif *massif, const struct instant *instant, const char *tree)
{
    bool brief = massif->profile->duration_s < BRIEF_RUN_S;
    fprintf(massif->out, "#-----------\nsnapshot=%" PRIu32 "\n#-----------\n", massif->written++);
    fprintf(massif->out, "time=%.*f\n", brief ? 3 : 0, 1e3 * fmax(instant->seconds, 0));
    fprintf(massif->out, "mem_heap_B=%" PRId64 "\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=%s\n", massif->total,
            tree);
}

/* The sum of several peaks has no time. */
static bool has_peak(const struct massif *massif)
{
    enum pl_metric peak = massif->curve->peak;
    return peak != NO_METRIC && massif->flat->total[peak] > 0 && !massif->profile->merged;
}

/* The peak is that of bytes: there may have been more blocks at another time. */
static bool is_bounded(const struct massif *massif)
{
    return has_peak(massif) && massif->curve->peak == PL_METRIC_PEAK_SPACE;
}

static int64_t below_peak(const struct massif *massif, int64_t value)
{
    int64_t peak = massif->flat->total[PL_METRIC_PEAK_SPACE];
    bool by_chance = value > peak && (double) (value - peak) <= massif->profile->peak_slack_bytes;
    return is_bounded(massif) && by_chance ? peak : value;
}

static void put_moment(struct massif *massif, const struct instant *instant)
{
    massif->total = below_peak(massif, whole_at(&massif->profile->moment[instant->index], massif->curve->in_moment));
    put_instant(massif, instant, "empty");
}

static void put_rows(struct massif *massif, const struct instant *instant, enum pl_metric metric, const char *word)
{
    uint32_t items = 0;
    for (uint32_t i = 0; i < massif->flat->rows; i++)
        if (massif->flat->row[i].value[metric] > 0)
            massif->item[items++] = (struct item){.row = i, .value = massif->flat->row[i].value[metric]};
    massif->total = massif->flat->total[metric];
    put_instant(massif, instant, word);
    put_tree(massif, items, 0);
}

static void put_peak(struct massif *massif, const struct instant *instant)
{
    put_rows(massif, instant, massif->curve->peak, "peak");
}

static void put_end(struct massif *massif, const struct instant *instant)
{
    put_rows(massif, instant, massif->curve->end, "detailed");
}

static void put_snapshot(struct massif *massif, const struct instant *instant)
{
    const struct pl_composition_view *composition = &massif->profile->composition[instant->index];
    int64_t sum = 0;
    uint32_t items = 0;
    for (uint32_t i = 0; i < composition->shares; i++) {
        uint32_t row = massif->flat->row_of_site[composition->share[i].site];
        if (row != PL_FLAT_NONE)
            massif->of_row[row] += whole_at(&composition->share[i], massif->curve->in_share);
    }
    for (uint32_t i = 0; i < massif->flat->rows; i++) {
        if (massif->of_row[i])
            massif->item[items++] = (struct item){.row = i, .value = massif->of_row[i]};
        sum += massif->of_row[i];
        massif->of_row[i] = 0;
    }
    massif->total = below_peak(massif, whole_at(composition, massif->curve->in_snapshot));
    massif->total = massif->total < sum ? sum : massif->total;
    put_instant(massif, instant, "detailed");
    put_tree(massif, items, massif->total - sum);
}

/* --- which ones --- */

static int by_time(const void *left, const void *right)
{
    const struct instant *a = left, *b = right;
    if (a->seconds != b->seconds)
        return a->seconds < b->seconds ? -1 : 1;
    return (int) a->kind - (int) b->kind;
}

static bool has_snapshot(const struct pl_profile *profile, double seconds)
{
    for (uint32_t i = 0; i < profile->compositions; i++)
        if (profile->composition[i].seconds == seconds)
            return true;
    return false;
}

/* A difference between two moments of one run. Moments have the whole height of the heap, not its change. */
static bool is_stretch(const struct pl_profile *profile)
{
    return profile->difference && profile->until_s > 0;
}

static bool is_within(const struct pl_profile *profile, double seconds)
{
    return !is_stretch(profile) || (seconds >= profile->since_s && seconds <= profile->until_s);
}

/* In order of time; the end is the last of them. */
static uint32_t choose(const struct massif *massif, struct instant *instant)
{
    const struct pl_profile *profile = massif->profile;
    bool stretch = is_stretch(profile), over_time = massif->curve->over_time && (!profile->difference || stretch);
    uint32_t count = 0, moments = over_time && !profile->part ? profile->moments : 0;
    uint32_t compositions = over_time ? profile->compositions : 0, step = 1 + moments / SNAPSHOTS_ABOUT;
    double end_s = profile->duration_s;
    for (uint32_t i = 0; i < moments; i += step)
        if (is_within(profile, profile->moment[i].seconds) && !has_snapshot(profile, profile->moment[i].seconds))
            instant[count++] = (struct instant){profile->moment[i].seconds, MOMENT, i};
    for (uint32_t i = 0; i < compositions; i++)
        instant[count++] = (struct instant){profile->composition[i].seconds, SNAPSHOT, i};
    if (has_peak(massif))
        instant[count++] = (struct instant){profile->peak_s, PEAK, 0};
    for (uint32_t i = 0; i < count; i++)
        end_s = fmax(end_s, instant[i].seconds);
    if (!stretch || count == 0) /* rows have changes, not live bytes */
        instant[count++] = (struct instant){end_s, END, 0};
    qsort(instant, count, sizeof *instant, by_time);
    return count;
}

static void put_head(const struct massif *massif, const struct pl_export_options *options)
{
    const struct pl_metric_info *info = pl_describe_metric(massif->profile, options->metric);
    char *command = pl_wording_command(massif->profile), *subtitle = pl_label_subtitle(massif->profile, options);
    const struct pl_estimate *total = massif->profile->total;
    char slack[2 * PL_FIGURE_BYTES] = "", peak[PL_FIGURE_BYTES];
    if (is_bounded(massif))
        pl_figure_slack(slack, total[PL_METRIC_PEAK_SPACE].value, massif->profile->peak_slack_bytes,
                        total[PL_METRIC_ALLOC_SPACE].value);
    pl_figure_bytes(peak, total[PL_METRIC_PEAK_SPACE].value);
    fprintf(massif->out, "desc: plimsoll: %s, %s; ", info->word, info->help);
    put_text(massif->out, subtitle);
    fprintf(massif->out, "%s%s%s\ncmd: ", *slack ? " · peak " : "", *slack ? peak : "", slack);
    put_text(massif->out, command);
    fputs("\ntime_unit: ms\n", massif->out);
    free(subtitle);
    free(command);
}

static void put_instants(struct massif *massif)
{
    static void (*const put[])(struct massif *, const struct instant *) = {
        [MOMENT] = put_moment, [SNAPSHOT] = put_snapshot, [PEAK] = put_peak, [END] = put_end};
    const struct pl_profile *profile = massif->profile;
    struct instant *instant = pl_grow_zeroed(profile->moments + profile->compositions + 2ull, sizeof *instant);
    uint32_t count = choose(massif, instant);
    for (uint32_t i = 0; i < count; i++)
        put[instant[i].kind](massif, &instant[i]);
    free(instant);
}

void pl_export_massif(const struct pl_profile *profile, const struct pl_export_options *options, FILE *out)
{
    const struct pl_flat *flat = options->flat;
    struct massif massif = {
        .out = out,
        .profile = profile,
        .flat = flat,
        .curve = &curves[options->metric],
        .threshold = options->threshold,
        .address = pl_wording_addresses(flat),
        .line = pl_grow_zeroed(flat->depth_max + 1ull, sizeof *massif.line),
        .item = pl_grow_zeroed(flat->rows + 1ull, sizeof *massif.item),
        .of_row = pl_grow_zeroed(flat->rows + 1ull, sizeof *massif.of_row),
    };
    put_head(&massif, options);
    put_instants(&massif);
    free(massif.of_row);
    free(massif.item);
    free(massif.line);
    free(massif.address);
}
