/* SPDX-License-Identifier: MIT */
/*
 * call_label.c - what pictures of calls say.
 */
#include "call_label.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "figure.h"
#include "label.h"
#include "metric.h"
#include "shorten.h"

#define NAME_COLUMNS_MAX 8192 /* in a tooltip: hundreds of them may be in one picture */

char *pl_call_label_name(const struct pl_flat_function *function)
{
    struct pl_arena *arena = pl_arena_new();
    bool code = function->kind == PL_FLAT_CODE;
    char *clean = pl_label_clean(code ? pl_shorten_function(arena, function->name) : function->name);
    pl_arena_free(arena);
    return clean;
}

const char *pl_call_label_brief(const char *name)
{
    const char *brief = name;
    int inside = 0; /* of brackets */
    for (const char *at = name; *at; at++) {
        inside += strchr("<({[", *at) ? 1 : strchr(">)}]", *at) ? -1 : 0;
        if (inside == 0 && at[0] == ':' && at[1] == ':' && at[2])
            brief = at + 2;
    }
    return brief;
}

/* --- figures --- */

static const char *sign_of(int64_t change)
{
    return change > 0 ? "+" : change < 0 ? "−" : "±";
}

char *pl_call_label_figure(const struct pl_calltree *tree, const struct pl_weight *weight)
{
    char figure[PL_FIGURE_BYTES];
    bool difference = tree->flat->profile->difference;
    pl_figure_metric(figure, tree->metric, fabs((double) weight->value));
    return pl_label_print("%s%s", difference ? sign_of(weight->value) : "", figure);
}

static char *print_change(const struct pl_calltree *tree, const struct pl_weight *weight, const char *figure)
{
    char before[PL_FIGURE_BYTES], after[PL_FIGURE_BYTES];
    pl_figure_metric(before, tree->metric, (double) weight->before);
    pl_figure_metric(after, tree->metric, (double) (weight->before + weight->value));
    return pl_label_print("%s (%s → %s)", figure, before, after);
}

static char *print_share(const struct pl_calltree *tree, const struct pl_weight *weight, const char *figure)
{
    double whole = (double) tree->node[0].total.value;
    return pl_label_print("%s (%.1f%%)", figure, whole > 0 ? (double) weight->value / whole * 100 : 0);
}

char *pl_call_label_weight(const struct pl_calltree *tree, const struct pl_weight *weight)
{
    bool difference = tree->flat->profile->difference;
    struct pl_estimate estimate = {.value = fabs((double) weight->value), .error = (double) weight->error};
    char error[PL_FIGURE_BYTES];
    pl_figure_error(error, tree->metric, &estimate);
    char *value = pl_call_label_figure(tree, weight);
    char *figure = pl_label_print("%s%s%s", value, *error ? " " : "", error);
    char *text = (difference ? print_change : print_share)(tree, weight, figure);
    free(figure);
    free(value);
    return text;
}

/* Every digit, with the sign of a change. */
static char *print_exact(const struct pl_calltree *tree, const struct pl_weight *weight)
{
    char figure[PL_FIGURE_BYTES];
    bool difference = tree->flat->profile->difference;
    pl_figure_exact(figure, (uint64_t) llabs(weight->value));
    return pl_label_print("%s%s", difference || weight->value < 0 ? sign_of(weight->value) : "", figure);
}

char *pl_call_label_both(const struct pl_calltree *tree, const struct pl_weight *self, const struct pl_weight *total)
{
    const struct pl_metric_info *metric = pl_metric_of(tree->flat->profile, tree->metric);
    char *own = pl_call_label_weight(tree, self), *of_all = pl_call_label_weight(tree, total);
    char *exact_own = print_exact(tree, self), *exact_of_all = print_exact(tree, total);
    char *text = pl_label_print("%s: total %s, self %s\n%s: total %s, self %s", metric->word, of_all, own, metric->unit,
                                exact_of_all, exact_own);
    free(exact_of_all);
    free(exact_own);
    free(of_all);
    free(own);
    return text;
}

/* --- tooltips --- */

static const char *const kinds[] = {
    [PL_FLAT_CODE] = "",
    [PL_FLAT_TAG] = "\na tag",
    [PL_FLAT_THREAD] = "\nthreads of this name",
    [PL_FLAT_OTHER] = "",
};

/* "\nsrc/index.c · /usr/bin/indexer", as far as it is known. */
static char *print_where(const struct pl_profile *profile, const struct pl_flat_function *function)
{
    const char *module = function->module == PL_FLAT_NONE ? "" : profile->module[function->module].path;
    if (!*function->file && !*module)
        return pl_label_print("%s", kinds[function->kind]);
    char *text = pl_label_print("%s%s%s", function->file, *function->file && *module ? " · " : "", module);
    char *clean = pl_label_clean(text), *line = pl_label_print("\n%s", clean);
    free(clean);
    free(text);
    return line;
}

char *pl_call_label_tooltip(const struct pl_calltree *tree, const struct pl_flat_function *function,
                            const struct pl_weight *self, const struct pl_weight *total)
{
    char *clean = pl_label_clean(function->name), *name = pl_label_cut(clean, NAME_COLUMNS_MAX);
    char *where = print_where(tree->flat->profile, function);
    char *both = pl_call_label_both(tree, self, total);
    char *text = pl_label_print("%s%s\n%s", name, where, both);
    free(both);
    free(where);
    free(name);
    free(clean);
    return text;
}
