/* SPDX-License-Identifier: MIT */
/*
 * model.c - see model.h.
 *
 * A reading keeps its profile. Tables are made from it when somebody asks: of the newest reading and of the one it is
 * compared with, for the grouping that is shown. So a refresh costs one pass over the sites.
 */
#include "cli/top/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reader/base/grow.h"
#include "reader/figures.h"
#include "reader/site.h"

#define ERROR_FACTOR 1.96 /* of a standard deviation: 95% confidence */

struct total {
    uint32_t subject;
    bool counted;
    double calls, bytes; /* with `counted`: exact counters of a tag or thread */
    struct pl_figures figures;
};

struct table {
    struct total *total;
    uint32_t count, room;
    uint32_t *of_subject; /* index + 1; 0: it has no row */
    uint32_t subjects;
};

struct reading {
    struct pl_profile *profile;
    double seconds, rss_bytes;
    uint32_t *stack; /* by stack: its number in the atlas */
    struct table table[PL_BY_COUNT];
    unsigned users; /* newest, previous, baseline: it is freed when nobody needs it */
};

struct pl_model {
    struct pl_atlas *atlas;
    struct reading *now, *before, *base;
    struct pl_model_row *row;
    struct pl_model_point history[PL_MODEL_HISTORY];
    uint32_t points;
};

/* ---- readings ---- */

static struct reading *keep(struct reading *reading)
{
    if (reading)
        reading->users++;
    return reading;
}

static void drop(struct reading *reading)
{
    if (!reading || --reading->users)
        return;
    for (int by = 0; by < PL_BY_COUNT; by++) {
        free(reading->table[by].total);
        free(reading->table[by].of_subject);
    }
    free(reading->stack);
    pl_profile_close(reading->profile);
    free(reading);
}

struct pl_model *pl_model_new(void)
{
    struct pl_model *model = pl_grow_zeroed(1, sizeof *model);
    model->atlas = pl_atlas_new();
    return model;
}

void pl_model_free(struct pl_model *model)
{
    if (!model)
        return;
    drop(model->now);
    drop(model->before);
    drop(model->base);
    pl_atlas_free(model->atlas);
    free(model->row);
    free(model);
}

bool pl_model_knows(const struct pl_model *model, const struct pl_profile *profile)
{
    uint32_t *number = pl_grow_zeroed(profile->stacks + 1u, sizeof *number);
    bool all = pl_atlas_find(model->atlas, profile, number);
    free(number);
    return all;
}

static void add_point(struct pl_model *model, struct pl_model_point point)
{
    model->history[model->points++ % PL_MODEL_HISTORY] = point;
}

/* After a reset, and in another program, figures begin again. */
static bool is_comparable(const struct reading *old, const struct reading *new)
{
    return old && old->profile->header.resets == new->profile->header.resets &&pl_profile_same_process(
                                                     &old->profile->header, &new->profile->header);
}

void pl_model_put(struct pl_model *model, struct pl_profile *profile, bool named, double seconds, double rss_bytes)
{
    struct reading *reading = pl_grow_zeroed(1, sizeof *reading);
    if (named)
        pl_atlas_learn(model->atlas, profile);
    *reading = (struct reading){.profile = profile, .seconds = seconds, .rss_bytes = rss_bytes, .users = 1};
    reading->stack = pl_grow_zeroed(profile->stacks + 1u, sizeof *reading->stack);
    pl_atlas_find(model->atlas, profile, reading->stack);
    drop(model->before);
    model->before = model->now;
    model->now = reading;
    if (model->before && !is_comparable(model->before, reading)) {
        drop(model->before);
        model->before = NULL;
    }
    if (model->base && !is_comparable(model->base, reading))
        pl_model_set_base(model, false);
    add_point(model, (struct pl_model_point){profile->total[PL_METRIC_INUSE_SPACE].value, rss_bytes});
}

const struct pl_profile *pl_model_profile(const struct pl_model *model)
{
    return model->now ? model->now->profile : NULL;
}

void pl_model_set_base(struct pl_model *model, bool set)
{
    drop(model->base);
    model->base = set ? keep(model->now) : NULL;
}

double pl_model_base(const struct pl_model *model)
{
    return model->base ? model->base->seconds : 0;
}

/* What the newest reading is compared with. Just after it was set, the baseline is the newest reading itself. */
static struct reading *then_of(const struct pl_model *model)
{
    return model->base && model->base != model->now ? model->base : model->before;
}

/* ---- the head ---- */

static double at_least_0(double value)
{
    return value > 0 ? value : 0;
}

static double cost_between(const struct pl_profile *then, const struct pl_profile *now)
{
    double cpu = now->cpu_s - (then ? then->cpu_s : 0), cost = now->cost_s - (then ? then->cost_s : 0);
    if (cpu > 0)
        return at_least_0(cost / cpu);
    return then ? cost_between(NULL, now) : -1;
}

struct pl_model_head pl_model_head(const struct pl_model *model)
{
    const struct reading *now = model->now, *then = then_of(model);
    const struct pl_estimate *total = now->profile->total, *old = then ? then->profile->total : NULL;
    double elapsed = then ? now->seconds - then->seconds : 0;
    struct pl_model_head head = {
        .live = total[PL_METRIC_INUSE_SPACE],
        .peak = total[PL_METRIC_PEAK_SPACE],
        .rss_bytes = now->rss_bytes,
        .cost = cost_between(then ? then->profile : NULL, now->profile),
        .elapsed_s = elapsed,
        .estimated = !now->profile->exact,
        .first = !(elapsed > 0),
        .stacks = now->profile->stacks,
    };
    for (uint32_t i = 0; i < now->profile->threads; i++)
        head.threads += now->profile->thread[i].alive;
    if (head.first)
        return head;
    head.change = head.live.value - old[PL_METRIC_INUSE_SPACE].value;
    head.rate = at_least_0(total[PL_METRIC_ALLOC_SPACE].value - old[PL_METRIC_ALLOC_SPACE].value) / elapsed;
    head.calls = at_least_0(total[PL_METRIC_ALLOC_OBJECTS].value - old[PL_METRIC_ALLOC_OBJECTS].value) / elapsed;
    return head;
}

/* ---- tables ---- */

static struct total *total_of(struct table *table, const struct pl_atlas *atlas, uint32_t subject)
{
    uint32_t subjects = pl_atlas_subjects(atlas);
    if (subject >= table->subjects) {
        table->of_subject = pl_grow_check(reallocarray(table->of_subject, subjects, sizeof(uint32_t)), subjects, 4);
        memset(table->of_subject + table->subjects, 0, (subjects - table->subjects) * sizeof(uint32_t));
        table->subjects = subjects;
    }
    if (!table->of_subject[subject]) {
        table->total = pl_grow(table->total, table->count, &table->room, sizeof *table->total);
        table->total[table->count] = (struct total){.subject = subject};
        table->of_subject[subject] = ++table->count;
    }
    return &table->total[table->of_subject[subject] - 1];
}

static const struct total *find_total(const struct table *table, uint32_t subject)
{
    bool there = subject < table->subjects && table->of_subject[subject];
    return there ? &table->total[table->of_subject[subject] - 1] : NULL;
}

static uint32_t tag_subject(struct pl_atlas *atlas, const struct pl_profile *profile, uint32_t tag)
{
    const char *path = profile->tag[tag].path;
    return pl_atlas_subject(atlas, 't', tag == PL_ROOT_TAG ? "(no tag)" : *path ? path : profile->tag[tag].name);
}

static uint32_t thread_subject(struct pl_atlas *atlas, const struct pl_profile *profile, uint32_t thread)
{
    const char *name = profile->thread[thread].name;
    return pl_atlas_subject(atlas, 'n', *name ? name : "?");
}

/* NULL: the site has no stack, or one that the atlas does not know. */
static const struct pl_atlas_stack *stack_of(const struct pl_model *model, const struct reading *reading,
                                             const struct pl_site_view *site)
{
    uint32_t number = site->stack == PL_NO_STACK ? PL_ATLAS_NONE : reading->stack[site->stack];
    return number == PL_ATLAS_NONE ? NULL : pl_atlas_stack(model->atlas, number);
}

static uint32_t stand_in(struct pl_model *model, const struct pl_site_view *site)
{
    return pl_atlas_subject(model->atlas, 'o', site->other_sizes ? "(other sizes)" : "(no stack)");
}

static uint32_t site_subject(struct pl_model *model, const struct reading *reading, const struct pl_site_view *site)
{
    const struct pl_atlas_stack *stack = stack_of(model, reading, site);
    return stack ? stack->site[stack->own] : stand_in(model, site);
}

static bool is_first(const uint32_t *list, uint32_t at)
{
    for (uint32_t i = 0; i < at; i++)
        if (list[i] == list[at])
            return false;
    return true;
}

/* A function has what it allocates and what the functions that it calls allocate; recursion counts once. */
static void add_functions(struct pl_model *model, struct reading *reading, const struct pl_site_view *site,
                          const struct pl_figures *figures)
{
    struct table *table = &reading->table[PL_BY_FUNCTION];
    const struct pl_atlas_stack *stack = stack_of(model, reading, site);
    if (!stack)
        pl_figures_add(&total_of(table, model->atlas, stand_in(model, site))->figures, figures);
    for (uint32_t i = 0; stack && i < stack->count; i++)
        if (is_first(stack->function, i))
            pl_figures_add(&total_of(table, model->atlas, stack->function[i])->figures, figures);
}

static uint32_t subject_of(struct pl_model *model, const struct reading *reading, const struct pl_site_view *site,
                           enum pl_model_by by)
{
    return by == PL_BY_TAG      ? tag_subject(model->atlas, reading->profile, site->tag)
           : by == PL_BY_THREAD ? thread_subject(model->atlas, reading->profile, site->thread)
                                : site_subject(model, reading, site);
}

static void count(struct total *total, const uint64_t calls[PL_FN_MAX], uint64_t bytes)
{
    total->counted = true;
    total->bytes += (double) bytes;
    for (int f = 0; f < PL_FN_COUNT; f++)
        total->calls += (double) calls[f];
}

/* Tags and threads have exact counters of their own, in every mode. */
static void add_counters(struct pl_model *model, struct reading *reading, enum pl_model_by by)
{
    const struct pl_profile *profile = reading->profile;
    struct table *table = &reading->table[by];
    for (uint32_t i = 0; by == PL_BY_TAG && i < profile->scopes; i++) {
        uint32_t subject = tag_subject(model->atlas, profile, profile->scope[i].tag);
        count(total_of(table, model->atlas, subject), profile->scope[i].calls, profile->scope[i].bytes);
    }
    for (uint32_t i = 0; by == PL_BY_THREAD && i < profile->threads; i++) {
        uint32_t subject = thread_subject(model->atlas, profile, i);
        count(total_of(table, model->atlas, subject), profile->thread[i].calls, profile->thread[i].bytes);
    }
}

static const struct table *table_of(struct pl_model *model, struct reading *reading, enum pl_model_by by)
{
    struct table *table = &reading->table[by];
    const struct pl_profile *profile = reading->profile;
    if (table->count)
        return table;
    for (uint32_t i = 0; i < profile->sites; i++) {
        struct pl_figures figures = pl_site_figures(&profile->site[i]);
        if (by == PL_BY_FUNCTION)
            add_functions(model, reading, &profile->site[i], &figures);
        else
            pl_figures_add(&total_of(table, model->atlas, subject_of(model, reading, &profile->site[i], by))->figures,
                           &figures);
    }
    add_counters(model, reading, by);
    return table;
}

/* ---- rows ---- */

static double live_of(const struct pl_figures *figures)
{
    return figures ? at_least_0(pl_amount_space(&figures->allocated) - pl_amount_space(&figures->freed)) : 0;
}

static void fill(struct pl_model_row *row, const struct total *now, const struct total *then, double elapsed)
{
    static const struct total none;
    const struct total *old = then ? then : &none;
    bool counted = now->counted && (!then || then->counted);
    double bytes = counted ? now->bytes - old->bytes
                           : pl_amount_space(&now->figures.allocated) - pl_amount_space(&old->figures.allocated);
    double calls = counted ? now->calls - old->calls
                           : pl_amount_objects(&now->figures.allocated) - pl_amount_objects(&old->figures.allocated);
    *row = (struct pl_model_row){
        .subject = now->subject,
        .now = &now->figures,
        .then = then ? &then->figures : NULL,
        .counted = counted,
        .value = {[PL_COLUMN_LIVE] = live_of(&now->figures), [PL_COLUMN_PEAK] = pl_amount_space(&now->figures.peak)},
    };
    if (!(elapsed > 0))
        return;
    row->value[PL_COLUMN_CHANGE] = row->value[PL_COLUMN_LIVE] - live_of(&old->figures);
    row->value[PL_COLUMN_RATE] = at_least_0(bytes) / elapsed;
    row->value[PL_COLUMN_CALLS] = at_least_0(calls) / elapsed;
}

static bool contains(const char *text, const char *filter)
{
    return strcasestr(text, filter) != NULL;
}

static bool passes(const struct pl_subject_name *name, const char *filter)
{
    return !filter || !*filter || contains(name->name, filter) || contains(name->where, filter);
}

struct ordering {
    const struct pl_atlas *atlas;
    enum pl_model_column order;
    int sign;
};

static int by_name(const struct ordering *ordering, const struct pl_model_row *a, const struct pl_model_row *b)
{
    const struct pl_subject_name *left = pl_atlas_name(ordering->atlas, a->subject),
                                 *right = pl_atlas_name(ordering->atlas, b->subject);
    int order = strcmp(left->name, right->name);
    return order ? order : strcmp(left->where, right->where);
}

static int compare(const void *left, const void *right, void *context)
{
    const struct ordering *ordering = context;
    const struct pl_model_row *a = left, *b = right;
    if (ordering->order == PL_COLUMN_NAME)
        return ordering->sign * by_name(ordering, a, b);
    double x = a->value[ordering->order], y = b->value[ordering->order];
    int order = (x < y) - (x > y);
    return order ? ordering->sign * order : by_name(ordering, a, b);
}

/* Shares are of the column that decides the order; of live bytes, if that is the name or the share. */
static enum pl_model_column shared(enum pl_model_column order)
{
    return order == PL_COLUMN_NAME || order == PL_COLUMN_SHARE ? PL_COLUMN_LIVE : order;
}

/* The whole of which a share is one. Functions overlap, so it is not the sum of the rows. */
static double whole_of(const struct pl_model *model, const struct pl_model_row *row, uint32_t rows, enum pl_model_by by,
                       enum pl_model_column column)
{
    double sum = 0;
    struct pl_model_head head = pl_model_head(model);
    if (by == PL_BY_FUNCTION)
        return column == PL_COLUMN_LIVE    ? head.live.value
               : column == PL_COLUMN_PEAK  ? head.peak.value
               : column == PL_COLUMN_RATE  ? head.rate
               : column == PL_COLUMN_CALLS ? head.calls
                                           : fabs(head.change);
    for (uint32_t i = 0; i < rows; i++)
        sum += fabs(row[i].value[column]);
    return sum;
}

struct pl_model_rows pl_model_rows(struct pl_model *model, enum pl_model_by by, enum pl_model_column order,
                                   bool reversed, const char *filter)
{
    struct reading *then = then_of(model);
    const struct table *now = table_of(model, model->now, by), *old = then ? table_of(model, then, by) : NULL;
    double elapsed = then ? model->now->seconds - then->seconds : 0;
    struct pl_model_rows rows = {0};
    model->row = pl_grow_check(reallocarray(model->row, now->count + 1u, sizeof *model->row), now->count, 1);
    for (uint32_t i = 0; i < now->count; i++)
        fill(&model->row[i], &now->total[i], old ? find_total(old, now->total[i].subject) : NULL, elapsed);
    double whole = whole_of(model, model->row, now->count, by, shared(order));
    for (uint32_t i = 0; i < now->count; i++) {
        struct pl_model_row *row = &model->row[i];
        row->value[PL_COLUMN_SHARE] = whole > 0 ? fabs(row->value[shared(order)]) / whole : 0;
        if (passes(pl_atlas_name(model->atlas, row->subject), filter))
            model->row[rows.count++] = *row;
        else
            rows.hidden++;
    }
    struct ordering ordering = {model->atlas, order, reversed ? -1 : 1};
    qsort_r(model->row, rows.count, sizeof *model->row, compare, &ordering);
    rows.row = model->row;
    return rows;
}

/* ---- errors ---- */

static double variance_between(const struct pl_sums *then, const struct pl_sums *now)
{
    return at_least_0(now->space_variance - (then ? then->space_variance : 0));
}

/* The samples since then are independent of those before. Blocks that were freed since then were sampled, too. */
static double error_of_change(const struct pl_model_row *row)
{
    const struct pl_figures *then = row->then;
    return ERROR_FACTOR * sqrt(variance_between(then ? &then->allocated.sampled : NULL, &row->now->allocated.sampled) +
                               variance_between(then ? &then->freed.sampled : NULL, &row->now->freed.sampled));
}

static double error_of_rate(const struct pl_model_row *row, enum pl_metric metric, double elapsed)
{
    struct pl_figures since = {.call_charge = row->now->call_charge};
    struct pl_estimate estimate[PL_METRIC_COUNT];
    since.allocated = row->then ? pl_amount_rest(&row->now->allocated, &row->then->allocated) : row->now->allocated;
    pl_estimate_figures(&since, estimate);
    return elapsed > 0 ? estimate[metric].error / elapsed : 0;
}

double pl_model_error(const struct pl_model *model, const struct pl_model_row *row, enum pl_model_column column)
{
    struct pl_estimate estimate[PL_METRIC_COUNT];
    const struct reading *then = then_of(model);
    double elapsed = then ? model->now->seconds - then->seconds : 0;
    if (model->now->profile->exact || column >= PL_COLUMN_SHARE)
        return 0;
    if (column == PL_COLUMN_CHANGE)
        return error_of_change(row);
    if (column == PL_COLUMN_RATE || column == PL_COLUMN_CALLS)
        return row->counted
                   ? 0
                   : error_of_rate(row, column == PL_COLUMN_RATE ? PL_METRIC_ALLOC_SPACE : PL_METRIC_ALLOC_OBJECTS,
                                   elapsed);
    pl_estimate_figures(row->now, estimate);
    return estimate[column == PL_COLUMN_PEAK ? PL_METRIC_PEAK_SPACE : PL_METRIC_INUSE_SPACE].error;
}

const struct pl_subject_name *pl_model_name(const struct pl_model *model, uint32_t subject)
{
    return pl_atlas_name(model->atlas, subject);
}

/* ---- details ---- */

static bool has_function(const struct pl_atlas_stack *stack, uint32_t subject)
{
    for (uint32_t i = 0; stack && i < stack->count; i++)
        if (stack->function[i] == subject)
            return true;
    return false;
}

static bool belongs(struct pl_model *model, const struct pl_site_view *site, enum pl_model_by by, uint32_t subject)
{
    if (by == PL_BY_FUNCTION)
        return has_function(stack_of(model, model->now, site), subject);
    return subject_of(model, model->now, site, by) == subject;
}

static double weigh(const struct pl_site_view *site, enum pl_model_column order)
{
    struct pl_figures figures = pl_site_figures(site);
    return order == PL_COLUMN_PEAK                                 ? pl_amount_space(&figures.peak)
           : order == PL_COLUMN_RATE                               ? pl_amount_space(&figures.allocated)
           : order == PL_COLUMN_CALLS || order == PL_COLUMN_CHANGE ? pl_amount_objects(&figures.allocated)
                                                                   : live_of(&figures);
}

struct weight {
    uint32_t number; /* of a stack of the profile, or a subject */
    double value;
};

static int heaviest_first(const void *left, const void *right)
{
    const struct weight *a = left, *b = right;
    return (a->value < b->value) - (a->value > b->value);
}

/* Adds up the sites of a row by stack or by site, heaviest first. The caller frees it. */
static struct weight *weigh_parts(struct pl_model *model, enum pl_model_by by, uint32_t subject,
                                  enum pl_model_column order, bool stacks, uint32_t *parts)
{
    const struct pl_profile *profile = model->now->profile;
    uint32_t most = stacks ? profile->stacks + 1 : pl_atlas_subjects(model->atlas) + profile->sites + 1;
    double *sum = pl_grow_zeroed(most, sizeof *sum);
    bool *seen = pl_grow_zeroed(most, sizeof *seen);
    for (uint32_t i = 0; i < profile->sites; i++) {
        const struct pl_site_view *site = &profile->site[i];
        if (!belongs(model, site, by, subject))
            continue;
        uint32_t number = !stacks                      ? site_subject(model, model->now, site)
                          : site->stack == PL_NO_STACK ? profile->stacks
                                                       : site->stack;
        sum[number] += weigh(site, order);
        seen[number] = true;
    }
    struct weight *weight = pl_grow_zeroed(most, sizeof *weight);
    for (uint32_t i = 0; i < most; i++)
        if (seen[i])
            weight[(*parts)++] = (struct weight){i, sum[i]};
    qsort(weight, *parts, sizeof *weight, heaviest_first);
    free(seen);
    free(sum);
    return weight;
}

/* The callers of the site itself are what the reader does not see yet. Of a function, the whole stack. */
static void detail_stack(const struct pl_model *model, enum pl_model_by by, uint32_t number,
                         struct pl_model_detail *out)
{
    uint32_t known = number < model->now->profile->stacks ? model->now->stack[number] : PL_ATLAS_NONE;
    const struct pl_atlas_stack *stack = known == PL_ATLAS_NONE ? NULL : pl_atlas_stack(model->atlas, known);
    for (uint32_t i = stack && by == PL_BY_SITE ? stack->own + 1 : 0; stack && i < stack->count; i++)
        if (out->count < PL_DETAIL_MOST)
            out->subject[out->count++] = stack->site[i];
}

#define DETAIL_SITES 8
void pl_model_detail(struct pl_model *model, enum pl_model_by by, uint32_t subject, enum pl_model_column order,
                     struct pl_model_detail *out)
{
    uint32_t parts = 0;
    bool stacks = by == PL_BY_SITE || by == PL_BY_FUNCTION;
    struct weight *weight = weigh_parts(model, by, subject, order, stacks, &parts);
    double sum = 0;
    for (uint32_t i = 0; i < parts; i++)
        sum += weight[i].value;
    *out = (struct pl_model_detail){.stack = stacks, .stacks = parts, .share = sum > 0 ? weight[0].value / sum : 1};
    if (stacks && parts)
        detail_stack(model, by, weight[0].number, out);
    for (uint32_t i = 0; !stacks && i < parts && i < DETAIL_SITES; i++) {
        out->subject[out->count] = weight[i].number;
        out->value[out->count++] = weight[i].value;
    }
    free(weight);
}

/* ---- history ---- */

uint32_t pl_model_history(const struct pl_model *model, struct pl_model_point *out, uint32_t room)
{
    uint32_t kept = model->points < PL_MODEL_HISTORY ? model->points : PL_MODEL_HISTORY;
    uint32_t count = kept < room ? kept : room;
    for (uint32_t i = 0; i < count; i++)
        out[i] = model->history[(model->points - count + i) % PL_MODEL_HISTORY];
    return count;
}

void pl_model_remember(struct pl_model *model, const struct pl_profile *profile, double apart_s)
{
    double end = profile->duration_s;
    uint32_t most = PL_MODEL_HISTORY - 1, at = 0;
    for (uint32_t i = most; i > 0 && profile->moments; i--) {
        double time = end - i * apart_s;
        while (at + 1 < profile->moments && profile->moment[at + 1].seconds <= time)
            at++;
        if (profile->moment[at].seconds <= time)
            add_point(model, (struct pl_model_point){profile->moment[at].live_bytes, profile->moment[at].rss_bytes});
    }
}
