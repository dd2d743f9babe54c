/* SPDX-License-Identifier: MIT */
/*
 * tagview.c - prints the tree of tags:
 *
 *   Allocated, by tag
 *       total   share      self    calls     live  entered    tag
 *    96.1 MiB  100.0%            412,918  2.1 MiB           ▶ all
 *    88.0 MiB   91.6%   1.2 MiB  391,004  1.9 MiB   12,000  ▶ ├─ request
 *    86.8 MiB   90.3%  86.8 MiB  390,000  1.9 MiB   12,000  ▶ │  └─ parse
 *     8.1 MiB    8.4%   8.1 MiB   21,914  0.2 MiB             └─ (no tag)
 *
 * Figures include a tag and all tags below it, except for `self` and `entered`. The hot path is marked with ▶. It leads
 * from the root to the heaviest tag: each tag on it has at least half of its parent.
 */
#include "cli/report/tagview.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/metric.h"
#include "analysis/tags/tagfigures.h"
#include "analysis/traits.h"
#include "cli/report/print.h"
#include "cli/report/tagtable.h"
#include "reader/base/rank.h"
#include "reader/base/utf8.h"
#include "reader/site.h"

#define GUIDES_BYTES 512 /* before a name; deeper levels use their parent's */
#define HOT 0.5
#define TOP_PATHS 5

/* --- names --- */

/* An empty name is a valid name, so it is printed as "". */
static const char *or_quotes(const char *name)
{
    return *name ? name : "\"\"";
}

const char *pl_tagview_path(const struct pl_profile *profile, uint32_t tag)
{
    return tag ? or_quotes(profile->tag[tag].path) : PL_NO_TAG;
}

const char *pl_tagview_name(const struct pl_profile *profile, uint32_t tag)
{
    return tag ? or_quotes(profile->tag[tag].name) : PL_NO_TAG;
}

/* --- the tree --- */

struct walk {
    struct pl_tag_table *table;
    const struct pl_profile *profile;
    const struct pl_tag_tree *tree;
    bool *shown; /* by node: it has a line */
    bool few;    /* every tag is below the threshold, so the largest are shown anyway */
    char guides[GUIDES_BYTES];
};

/* A branch of a node: a tag below it, the root's untagged allocations, or the sum of tags without their own line. */
struct branch {
    uint32_t node; /* NO_NODE: not a node of the tree */
    char *name;
    const struct pl_tag_figures *self, *total;
    bool dim;
};
#define NO_NODE UINT32_MAX

static double value_of(const struct walk *walk, const struct pl_tag_figures *figures)
{
    return figures->metric[walk->table->metric].value;
}

static bool worth_a_line(const struct walk *walk, const struct pl_tag_figures *total)
{
    double threshold = walk->table->view->threshold;
    return !(threshold > 0) || pl_tagtable_share_of(walk->table, total) >= threshold;
}

static bool has_something(const struct pl_tag_figures *figures)
{
    return figures->all_calls || figures->metric[PL_METRIC_INUSE_SPACE].value > 0;
}

/* By weight. A tag is not heavier than its parent, and of equal tags the parent comes first. The caller frees it. */
static struct pl_ranked *rank_nodes(const struct walk *walk)
{
    struct pl_ranked *ranked = pl_say_memory(calloc(walk->tree->nodes, sizeof *ranked));
    for (uint32_t i = 1; i < walk->tree->nodes; i++)
        ranked[i - 1] = (struct pl_ranked){i, value_of(walk, &walk->tree->node[i].total)};
    pl_rank(ranked, walk->tree->nodes - 1);
    return ranked;
}

/* Chooses the tags that get a line: those that are heavy enough and not too deep, up to the requested number. */
static void choose_nodes(struct walk *walk, uint32_t at_least)
{
    const struct pl_view *view = walk->table->view;
    struct pl_ranked *ranked = rank_nodes(walk);
    uint32_t tags = walk->tree->nodes - 1, count = 0;
    walk->shown = pl_say_memory(calloc(walk->tree->nodes, 1));
    walk->few = at_least && tags && !worth_a_line(walk, &walk->tree->node[ranked[0].item].total);
    uint32_t most = view->top ? view->top : walk->few ? at_least : tags;
    for (uint32_t i = 0; i < tags && count < most; i++) {
        const struct pl_tag_node *node = &walk->tree->node[ranked[i].item];
        bool near = !view->depth || node->depth <= view->depth;
        bool enough = walk->few || worth_a_line(walk, &node->total);
        walk->shown[ranked[i].item] = near && enough;
        walk->table->deep |= enough && !near;
        count += near && enough;
    }
    walk->table->few |= walk->few && count < tags;
    free(ranked);
}

/* The sum of tags that have no line of their own. */
struct rest {
    struct pl_tag_figures *sum;
    uint32_t tags;
    const char *name; /* of the last one */
    bool others;      /* some are left out for another reason than being small */
};

static void hide(const struct walk *walk, struct rest *rest, const struct pl_tag_figures *figures, uint32_t tags,
                 const char *name)
{
    rest->others |= walk->few || worth_a_line(walk, figures);
    if (!rest->sum)
        rest->sum = pl_arena_alloc(walk->table->arena, sizeof *rest->sum);
    pl_tagfigures_add(rest->sum, figures);
    rest->tags += tags;
    rest->name = name;
}

/* Sorts the untagged allocations in among the tags. */
static void add_untagged(const struct walk *walk, struct branch *branch, uint32_t *count, struct rest *rest)
{
    const struct pl_tag_figures *self = &walk->tree->node[0].self;
    uint32_t at = *count;
    if (!has_something(self))
        return;
    if (!worth_a_line(walk, self) && !walk->few) {
        hide(walk, rest, self, 1, PL_NO_TAG);
        return;
    }
    for (; at > 0 && value_of(walk, branch[at - 1].total) < value_of(walk, self); at--)
        branch[at] = branch[at - 1];
    branch[at] = (struct branch){.node = NO_NODE, .name = pl_say_print("%s", PL_NO_TAG), .self = self, .total = self};
    ++*count;
}

/* A single tag keeps its name: it would take a line anyway. */
static void add_rest(struct walk *walk, const struct rest *rest, struct branch *branch, uint32_t *count)
{
    char threshold[PL_FIGURE_BYTES], number[PL_FIGURE_BYTES];
    if (!rest->tags)
        return;
    pl_tagtable_estimate(walk->profile, rest->sum);
    pl_figure_percent(threshold, walk->table->view->threshold);
    pl_figure_exact(number, rest->tags);
    bool single = rest->tags == 1;
    char *name = single         ? pl_say_print("%s", rest->name)
                 : rest->others ? pl_say_print("(%s more)", number)
                                : pl_say_print("(%s more below %s)", number, threshold);
    const struct pl_tag_figures *self = single ? rest->sum : NULL;
    walk->table->folded |= !single && !rest->others;
    branch[(*count)++] = (struct branch){.node = NO_NODE, .name = name, .self = self, .total = rest->sum, .dim = true};
}

/* "work", or "work  ×16,383" if the tag is nested in itself. The caller frees it. */
static char *name_node(const struct walk *walk, const struct pl_tag_node *node)
{
    const char *name = pl_tagview_name(walk->profile, node->tag);
    char nested[PL_FIGURE_BYTES];
    pl_figure_exact(nested, node->nested);
    return node->nested ? pl_say_print("%s  ×%s", name, nested) : pl_say_print("%s", name);
}

/* The branches that are shown below a node. The caller frees them. */
static struct branch *branches_of(struct walk *walk, uint32_t at, uint32_t *count)
{
    const struct pl_tag_node *node = &walk->tree->node[at];
    struct branch *branch = pl_say_memory(calloc(node->children + 2ull, sizeof *branch));
    struct rest rest = {0};
    uint32_t last = at + node->below;
    *count = 0;
    for (uint32_t i = at + 1; i <= last; i += walk->tree->node[i].below + 1) {
        const struct pl_tag_node *child = &walk->tree->node[i];
        if (walk->shown[i])
            branch[(*count)++] = (struct branch){i, name_node(walk, child), &child->self, &child->total, false};
        else
            hide(walk, &rest, &child->total, child->below + 1, pl_tagview_name(walk->profile, child->tag));
    }
    if (at == 0)
        add_untagged(walk, branch, count, &rest);
    add_rest(walk, &rest, branch, count);
    return branch;
}

static void add_branches(struct walk *walk, uint32_t at, bool hot);

static void add_branch(struct walk *walk, struct branch *branch, bool last, bool hot)
{
    struct pl_tag_line *line = pl_tagtable_line(walk->table);
    size_t bytes = strlen(walk->guides);
    line->guides = pl_say_print("%s", walk->guides);
    line->branch = last ? "└─ " : "├─ ";
    line->name = branch->name;
    line->self = branch->self;
    line->total = branch->total;
    line->dim = branch->dim;
    line->hot = hot;
    walk->table->hot |= hot;
    if (branch->node == NO_NODE)
        return;
    if (bytes + 8 < sizeof walk->guides)
        strcpy(walk->guides + bytes, last ? "   " : "│  ");
    add_branches(walk, branch->node, hot);
    walk->guides[bytes] = 0;
}

/* If no tag below the last line gets its own line, appends "(12 more)" to that line. */
static void say_below(struct walk *walk, struct branch *rest)
{
    struct pl_tag_line *line = &walk->table->line[walk->table->lines - 1];
    char *longer = pl_say_print("%s  %s", line->name, rest->name);
    free(line->name);
    free(rest->name);
    line->name = longer;
}

/* A branch is hot if its parent is and it has at least half of it. Only the first, the heaviest, can be. */
static void add_branches(struct walk *walk, uint32_t at, bool hot)
{
    uint32_t count;
    struct branch *branch = branches_of(walk, at, &count);
    double whole = value_of(walk, &walk->tree->node[at].total);
    bool unseen = at != 0 && count == 1 && branch[0].node == NO_NODE && !branch[0].self;
    if (unseen)
        say_below(walk, &branch[0]);
    for (uint32_t i = 0; i < count && !unseen; i++) {
        bool tag = branch[i].node != NO_NODE;
        bool most = i == 0 && tag && whole > 0 && value_of(walk, branch[i].total) >= HOT * whole;
        add_branch(walk, &branch[i], i + 1 == count, hot && most);
    }
    free(branch);
}

static char *name_tree(const struct pl_tag_tree *tree, uint32_t trees)
{
    char number[PL_FIGURE_BYTES];
    pl_figure_exact(number, tree->threads);
    if (trees == 1)
        return pl_say_print("all");
    if (tree->threads == 1)
        return pl_say_print("%s", *tree->name ? tree->name : "?");
    return pl_say_print("%s (%s threads)", *tree->name ? tree->name : "?", number);
}

static void add_tree(struct pl_tag_table *table, const struct pl_tag_forest *forest, uint32_t number, uint32_t at_least)
{
    struct walk walk = {.table = table, .profile = table->view->profile, .tree = &forest->tree[number]};
    if (!walk.tree->nodes || (forest->trees > 1 && !has_something(&walk.tree->node[0].total)))
        return;
    struct pl_tag_line *line = pl_tagtable_line(table);
    line->name = name_tree(walk.tree, forest->trees);
    line->total = &walk.tree->node[0].total;
    line->head = true;
    choose_nodes(&walk, at_least);
    add_branches(&walk, 0, true);
    free(walk.shown);
}

static void add_functions(struct pl_tag_table *table, const struct pl_tag_forest *forest)
{
    for (int f = 0; f < PL_FN_COUNT; f++) {
        uint64_t calls = 0;
        for (uint32_t i = 0; i < forest->trees; i++)
            calls += forest->tree[i].nodes ? forest->tree[i].node[0].total.calls[f] : 0;
        if (calls)
            pl_tagtable_column(table, pl_function_name[f], pl_tagtable_function, f);
    }
}

static void put_folded(const struct pl_tag_table *table)
{
    char threshold[PL_FIGURE_BYTES];
    pl_figure_percent(threshold, table->view->threshold);
    if (table->few)
        pl_print_paragraph(table->view, "Every tag is below %s: these are the largest; --threshold 0 shows each.",
                           threshold);
    else if (table->folded)
        pl_print_paragraph(table->view, "Tags below %s are combined; --threshold 0 shows each.", threshold);
    if (table->deep)
        pl_print_paragraph(table->view, "Of nested tags, %u levels are shown; --depth %u shows twice as many.",
                           table->view->depth, 2 * table->view->depth);
}

/* The peak of a tag is what it held at the peak of the whole heap. With several threads, that is only roughly known. */
static void put_slack(const struct pl_view *view, enum pl_metric metric)
{
    char slack[2 * PL_FIGURE_BYTES], peak[2 * PL_FIGURE_BYTES];
    const struct pl_estimate *total = view->whole->total;
    pl_figure_slack(slack, total[PL_METRIC_PEAK_SPACE].value, view->whole->peak_slack_bytes,
                    total[PL_METRIC_ALLOC_SPACE].value);
    pl_figure_estimate(peak, PL_METRIC_PEAK_SPACE, &total[PL_METRIC_PEAK_SPACE]);
    if (*slack && (metric == PL_METRIC_PEAK_SPACE || metric == PL_METRIC_PEAK_OBJECTS))
        pl_print_paragraph(view, "The peak of the whole heap is %s%s, as several threads allocate.", peak, slack);
}

/* Claims "exact" only if nothing was lost. */
static void put_exactness(const struct pl_view *view)
{
    static const char what[] = "Calls, bytes and how often a tag was entered";
    const char *rest = pl_traits_estimated(view->profile) ? "; figures with ± are estimated" : "";
    if (pl_traits_lossy(view->whole))
        pl_print_paragraph(
            view, "%s may be too low or charged to the enclosing tag, because records were lost: see Losses%s.", what,
            rest);
    else if (pl_traits_behind(view->whole))
        pl_print_paragraph(view, "%s are exact, " PL_TRAITS_BEHIND "%s.", what, rest);
    else if (pl_traits_estimated(view->profile))
        pl_print_paragraph(view, "%s are exact%s.", what, rest);
}

static void put_forest(const struct pl_view *view, const struct pl_tagview_options *options)
{
    char *title = pl_say_print("%s, by tag", pl_metric_title(view->profile, options->metric));
    struct pl_tag_table table = pl_tagtable_new(view, title, options->metric);
    struct pl_tag_forest forest;
    pl_tagtree_grow(view->profile, options->groups, options->metric, &forest);
    pl_tagtable_column(&table, "total", pl_tagtable_total, (int) options->metric);
    pl_tagtable_column(&table, "share", pl_tagtable_share, 0);
    pl_tagtable_column(&table, "self", pl_tagtable_self, (int) options->metric);
    if (options->functions)
        add_functions(&table, &forest);
    if (options->functions && options->freed)
        pl_tagtable_freed(&table);
    if (!options->functions)
        pl_tagtable_figures(&table, options->freed);
    for (uint32_t i = 0; i < forest.trees; i++)
        add_tree(&table, &forest, i, options->at_least);
    pl_tagtable_put(&table);
    put_folded(&table);
    put_slack(view, options->metric);
    pl_tagtable_free(&table);
    pl_tagtree_free(&forest);
    free(title);
}

void pl_tagview_print(const struct pl_view *view, const struct pl_tagview_options *options)
{
    if (view->whole->tags <= 1) {
        pl_print_paragraph(view,
                           "This program used no tags. `%s help tags` explains how a program can tag its memory. (If "
                           "it does push tags: code compiled with -fno-pic must be linked with -lplimsoll-stub.)",
                           pl_say_self());
        return;
    }
    put_forest(view, options);
    put_exactness(view);
}

/* --- the heaviest tags --- */

/* The share of allocated or of live bytes, whichever is larger. */
static double weight_of(const struct pl_profile *profile, const struct pl_tag_node *node)
{
    const struct pl_estimate *metric = node->self.metric;
    return fmax(pl_metric_share(profile, PL_METRIC_ALLOC_SPACE, metric[PL_METRIC_ALLOC_SPACE].value),
                pl_metric_share(profile, PL_METRIC_INUSE_SPACE, metric[PL_METRIC_INUSE_SPACE].value));
}

/* The nodes that have allocations of their own: first the heaviest TOP_PATHS, sorted by allocated bytes, then the
 * others. The caller frees it. */
static struct pl_ranked *rank(const struct pl_profile *profile, const struct pl_tag_tree *tree, uint32_t *count)
{
    struct pl_ranked *ranked = pl_say_memory(calloc(tree->nodes + 1ull, sizeof *ranked));
    *count = 0;
    for (uint32_t i = 0; i < tree->nodes; i++)
        if (has_something(&tree->node[i].self))
            ranked[(*count)++] = (struct pl_ranked){i, weight_of(profile, &tree->node[i])};
    pl_rank(ranked, *count);
    uint32_t shown = *count < TOP_PATHS ? *count : TOP_PATHS;
    for (uint32_t i = 0; i < shown; i++)
        ranked[i].weight = (double) tree->node[ranked[i].item].self.bytes;
    pl_rank(ranked, shown);
    return ranked;
}

static void add_others(struct pl_tag_table *table, const struct pl_tag_tree *tree, const struct pl_ranked *ranked,
                       uint32_t count)
{
    struct pl_tag_figures *sum = pl_arena_alloc(table->arena, sizeof *sum);
    if (!count)
        return;
    for (uint32_t i = 0; i < count; i++)
        pl_tagfigures_add(sum, &tree->node[ranked[i].item].self);
    pl_tagtable_estimate(table->view->profile, sum);
    struct pl_tag_line *line = pl_tagtable_line(table);
    line->name = pl_say_print("(%u more)", count);
    line->total = sum;
    line->dim = true;
}

static void add_heaviest(struct pl_tag_table *table, const struct pl_tag_tree *tree)
{
    const struct pl_profile *profile = table->view->profile;
    uint32_t count;
    struct pl_ranked *ranked = rank(profile, tree, &count);
    for (uint32_t i = 0; i < count && i < TOP_PATHS; i++) {
        const struct pl_tag_node *node = &tree->node[ranked[i].item];
        struct pl_tag_line *line = pl_tagtable_line(table);
        line->name = pl_say_print("%s", pl_tagview_path(profile, node->tag));
        line->path = true;
        line->self = line->total = &node->self;
    }
    add_others(table, tree, ranked + TOP_PATHS, count > TOP_PATHS ? count - TOP_PATHS : 0);
    free(ranked);
}

void pl_tagview_print_top(const struct pl_view *view)
{
    struct pl_tag_table table = pl_tagtable_new(view, "Tags", PL_METRIC_ALLOC_SPACE);
    struct pl_groups groups;
    struct pl_tag_forest forest;
    char why[PL_WHY_BYTES];
    if (pl_groups_make(view->profile, PL_GROUP_ALL, &(struct pl_choice){0}, &groups, why) == 0) {
        pl_tagtree_grow(view->profile, &groups, PL_METRIC_ALLOC_SPACE, &forest);
        pl_tagtable_column(&table, "bytes", pl_tagtable_total, PL_METRIC_ALLOC_SPACE);
        pl_tagtable_column(&table, "share", pl_tagtable_share, 0);
        pl_tagtable_figures(&table, false);
        if (forest.trees)
            add_heaviest(&table, &forest.tree[0]);
        if (table.lines > 1) /* a single tag has nothing to compare with */
            pl_tagtable_put(&table);
        pl_tagtree_free(&forest);
        pl_groups_free(&groups);
    }
    pl_tagtable_free(&table);
}

/* --- the tag of a site --- */

static uint32_t count_tags(const double *value, uint32_t tags, uint32_t *most)
{
    uint32_t count = 0;
    *most = UINT32_MAX;
    for (uint32_t i = 0; i < tags; i++) {
        if (!(value[i] > 0))
            continue;
        count++;
        if (*most == UINT32_MAX || value[i] > value[*most])
            *most = i;
    }
    return count;
}

char *pl_tagview_of_path(const struct pl_profile *profile, const struct pl_paths *paths, uint32_t path,
                         enum pl_metric metric)
{
    if (profile->tags <= 1)
        return NULL;
    double *value = pl_say_memory(calloc(profile->tags, sizeof *value));
    for (uint32_t i = 0; i < profile->sites; i++)
        if (paths->of_site[i] == path)
            value[profile->site[i].tag] += pl_site_value(&profile->site[i], metric);
    uint32_t most, count = count_tags(value, profile->tags, &most);
    free(value);
    if (!count || (count == 1 && most == 0))
        return NULL;
    const char *name = pl_tagview_path(profile, most);
    if (count == 1)
        return pl_say_print("tag %s", name);
    return pl_say_print("tags %s and %u more", name, count - 1);
}

void pl_tagview_put(struct pl_term *term, char *text, size_t indent)
{
    if (!text)
        return;
    char *clean = pl_say_clean(text);
    pl_term_room(term, 2, pl_utf8_width(clean), indent);
    pl_term_cut(term, PL_STYLE_PLAIN, clean, term->width > term->column ? term->width - term->column : 1);
    free(clean);
    free(text);
}
