/* SPDX-License-Identifier: MIT */
/*
 * tagtree.c - grows a tree of tags for each group of threads.
 *
 * Groups are done one after the other, each in time proportional to its own scopes, sites and tags: first the outline
 * (which tags, how heavy, so which node is where), then the figures, which are large, right in their place. Arrays by
 * tag are shared by all groups, and each group leaves them as it found them.
 *
 * Parents come before their children both among tags and among nodes. So one pass backwards adds up all totals.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/tags/tagfigures.h"
#include "analysis/tags/tagfold.h"
#include "analysis/tags/tagtree.h"
#include "reader/base/arena.h"
#include "reader/base/rank.h"
#include "reader/site.h"
#include "reader/totals.h"

#define NODES_MAX (1u << 20) /* of a forest: charges to further tags go to the root */
#define NOTHING UINT32_MAX
#define COUNTED_MAX 0x1p62

/* A tag in the current group. */
struct member {
    bool used;
    uint32_t children, below;
    uint32_t node;        /* its index */
    uint32_t next;        /* the index of its next child */
    double weight;        /* its own, then with all below it */
    double told, counted; /* allocated, in the weight's unit: according to scopes, and exactly by sites */
    double most;          /* the weight's limit: allocated by it and the tags below it */
};

/* A charge is a scope or a site: first all scopes, then all sites. */
struct work {
    const struct pl_profile *profile;
    const struct pl_groups *groups;
    enum pl_metric metric;
    struct pl_arena *arena;
    struct pl_tag_fold fold;
    struct pl_estimate hidden[PL_METRIC_COUNT];
    uint32_t *first; /* group -> its first charge, or NOTHING */
    uint32_t *next;  /* charge -> the next of its group */
    struct member *member;
    uint32_t *used; /* tags in use, in ascending order; later by parent and weight */
    uint32_t uses;
    uint32_t room; /* for nodes */
};

/* ---- charges ---- */

static bool is_scope(const struct work *work, uint32_t charge)
{
    return charge < work->profile->scopes;
}

static const struct pl_scope_view *scope_of(const struct work *work, uint32_t charge)
{
    return &work->profile->scope[charge];
}

static const struct pl_site_view *site_of(const struct work *work, uint32_t charge)
{
    return &work->profile->site[charge - work->profile->scopes];
}

static uint32_t tag_of(const struct work *work, uint32_t charge)
{
    return work->fold.of[is_scope(work, charge) ? scope_of(work, charge)->tag : site_of(work, charge)->tag];
}

static uint32_t parent_of(const struct work *work, uint32_t tag)
{
    return work->fold.of[work->profile->tag[tag].parent];
}

static uint32_t thread_of(const struct work *work, uint32_t charge)
{
    return is_scope(work, charge) ? scope_of(work, charge)->thread : site_of(work, charge)->thread;
}

static uint64_t count_calls(const uint64_t calls[PL_FN_MAX])
{
    uint64_t all = 0;
    for (int f = 0; f < PL_FN_MAX; f++)
        all += calls[f];
    return all;
}

/* Calls and bytes come from scopes, everything else from sites. */
static double weight_of(const struct work *work, uint32_t charge)
{
    bool scope = is_scope(work, charge);
    if (work->metric == PL_METRIC_ALLOC_OBJECTS)
        return scope ? (double) count_calls(scope_of(work, charge)->calls) : 0;
    if (work->metric == PL_METRIC_ALLOC_SPACE)
        return scope ? (double) scope_of(work, charge)->bytes : 0;
    return scope ? 0 : pl_site_value(site_of(work, charge), work->metric);
}

static bool in_bytes(enum pl_metric metric)
{
    return strcmp(pl_metric_info[metric].unit, "bytes") == 0;
}

static void add_weight(const struct work *work, uint32_t charge, struct member *to)
{
    bool bytes = in_bytes(work->metric);
    to->weight += weight_of(work, charge);
    if (is_scope(work, charge)) {
        const struct pl_scope_view *scope = scope_of(work, charge);
        to->told += bytes ? (double) scope->bytes : (double) count_calls(scope->calls);
    } else {
        struct pl_amount allocated = pl_site_figures(site_of(work, charge)).allocated;
        to->counted += bytes ? allocated.exact_space : allocated.exact_objects;
    }
}

static void share_out(struct work *work, struct pl_arena *scratch)
{
    uint32_t charges = work->profile->scopes + work->profile->sites;
    work->first = pl_arena_alloc(scratch, (work->groups->groups + 1ull) * sizeof *work->first);
    work->next = pl_arena_alloc(scratch, (charges + 1ull) * sizeof *work->next);
    for (uint32_t i = 0; i < work->groups->groups; i++)
        work->first[i] = NOTHING;
    for (uint32_t i = charges; i-- > 0;) {
        uint32_t group = work->groups->of[thread_of(work, i)];
        if (group == PL_NO_GROUP)
            continue;
        work->next[i] = work->first[group];
        work->first[group] = i;
    }
}

/* ---- the outline ---- */

static void use(struct work *work, uint32_t tag)
{
    work->member[tag] = (struct member){.used = true};
    work->used[work->uses++] = tag;
}

/* Marks the tag and all tags above it as used. The root always is. */
static void use_with_parents(struct work *work, uint32_t tag)
{
    uint32_t missing = 0;
    for (uint32_t at = tag; work->room > 0 && !work->member[at].used; at = parent_of(work, at))
        missing++;
    if (missing > work->room) {
        work->room = 0;
        return;
    }
    work->room -= missing;
    for (; missing > 0; missing--, tag = parent_of(work, tag))
        use(work, tag);
}

static uint32_t place_of(const struct work *work, uint32_t charge)
{
    uint32_t tag = tag_of(work, charge);
    return work->member[tag].used ? tag : PL_ROOT_TAG;
}

static int by_number(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* Limited, as it will be shown. */
static double shown_weight(const struct member *member)
{
    return fmin(member->weight, member->most);
}

static int by_parent_and_weight(const void *left, const void *right, void *context)
{
    const struct work *work = context;
    uint32_t a = *(const uint32_t *) left, b = *(const uint32_t *) right;
    uint32_t parent_a = parent_of(work, a), parent_b = parent_of(work, b);
    double weight_a = shown_weight(&work->member[a]), weight_b = shown_weight(&work->member[b]);
    if (parent_a != parent_b)
        return parent_a < parent_b ? -1 : 1;
    return weight_a != weight_b ? (weight_a < weight_b) - (weight_a > weight_b) : (a > b) - (a < b);
}

static void weigh(struct work *work)
{
    qsort(work->used, work->uses, sizeof *work->used, by_number);
    for (uint32_t i = work->uses; i-- > 1;) {
        struct member *member = &work->member[work->used[i]];
        struct member *parent = &work->member[parent_of(work, work->used[i])];
        member->most += fmax(member->told, member->counted);
        parent->most += member->most;
        parent->weight += member->weight;
        parent->below += member->below + 1;
        parent->children++;
    }
}

/* Tags are sorted by parent, so a parent's place is known before those of its children. The root stays the first. */
static void find_places(struct work *work)
{
    qsort_r(work->used + 1, work->uses - 1, sizeof *work->used, by_parent_and_weight, work);
    work->member[PL_ROOT_TAG].next = 1;
    for (uint32_t i = 1; i < work->uses; i++) {
        struct member *member = &work->member[work->used[i]];
        struct member *parent = &work->member[parent_of(work, work->used[i])];
        member->node = parent->next;
        member->next = member->node + 1;
        parent->next += member->below + 1;
    }
}

static void outline(struct work *work, uint32_t group)
{
    work->uses = 0;
    use(work, PL_ROOT_TAG);
    for (uint32_t i = work->first[group]; i != NOTHING; i = work->next[i])
        use_with_parents(work, tag_of(work, i));
    for (uint32_t i = work->first[group]; i != NOTHING; i = work->next[i])
        add_weight(work, i, &work->member[place_of(work, i)]);
    weigh(work);
    find_places(work);
}

static struct pl_tag_node *make_nodes(struct work *work)
{
    struct pl_tag_node *node = pl_arena_alloc(work->arena, (size_t) work->uses * sizeof *node);
    for (uint32_t i = 0; i < work->uses; i++) {
        uint32_t tag = work->used[i];
        const struct member *member = &work->member[tag];
        uint32_t parent = work->member[parent_of(work, tag)].node;
        node[member->node].tag = tag;
        node[member->node].parent = parent;
        node[member->node].depth = tag == PL_ROOT_TAG ? 0 : node[parent].depth + 1;
        node[member->node].nested = work->fold.nested[tag];
        node[member->node].children = member->children;
        node[member->node].below = member->below;
    }
    return node;
}

/* ---- figures ---- */

static void add_scope(struct pl_tag_figures *to, const struct pl_scope_view *scope)
{
    to->entered += scope->entered;
    to->bytes += scope->bytes;
    to->all_calls += count_calls(scope->calls);
    for (int f = 0; f < PL_FN_MAX; f++)
        to->calls[f] += scope->calls[f];
}

static void charge(const struct work *work, uint32_t group, struct pl_tag_node *node)
{
    for (uint32_t i = work->first[group]; i != NOTHING; i = work->next[i]) {
        struct pl_tag_figures *self = &node[work->member[place_of(work, i)].node].self;
        if (is_scope(work, i))
            add_scope(self, scope_of(work, i));
        else
            pl_site_add_figures(&self->figures, site_of(work, i));
    }
}

/* At least the exact count; a damaged file may claim more than fits into 64 bits. */
static uint64_t at_least(uint64_t told, double counted)
{
    return counted > (double) told ? (uint64_t) fmin(counted, COUNTED_MAX) : told;
}

/* Sites have more calls than scopes if the process was killed before a thread had written its last calls to its
 * record. */
static void settle(struct pl_tag_figures *self)
{
    self->all_calls = at_least(self->all_calls, self->figures.allocated.exact_objects);
    self->bytes = at_least(self->bytes, self->figures.allocated.exact_space);
}

/* A tag without samples may still have memory. */
static void allow_for_the_unseen(const struct work *work, struct pl_tag_figures *of)
{
    if (work->profile->exact || of->figures.allocated.sampled.samples > 0)
        return;
    for (int m = 0; m < PL_METRIC_COUNT; m++) {
        struct pl_estimate *estimate = &of->metric[m];
        estimate->high = fmax(estimate->high, estimate->value + work->hidden[m].high);
        estimate->error = estimate->value > 0 ? (estimate->high - estimate->low) / 2 : estimate->high;
    }
}

static void estimate(const struct work *work, const struct pl_tag_node *node, struct pl_tag_figures *of)
{
    pl_estimate_figures(&of->figures, of->metric);
    if (work->profile->tag[node->tag].kind == PL_TAG_NAMED)
        allow_for_the_unseen(work, of);
    pl_tagfigures_bound(of->metric, (double) of->all_calls, (double) of->bytes);
}

static void raise_high(struct pl_estimate whole[PL_METRIC_COUNT], const struct pl_estimate part[PL_METRIC_COUNT])
{
    for (int m = 0; m < PL_METRIC_COUNT; m++) {
        if (whole[m].high >= part[m].high)
            continue;
        whole[m].high = part[m].high;
        whole[m].error = whole[m].value > 0 ? (whole[m].high - whole[m].low) / 2 : whole[m].high;
    }
}

/* The upper end of a total is not below that of any part: samples of one part say little about a part without samples.
 * Until it is estimated, a total's `high` is the highest of those below it. */
static void estimate_total(const struct work *work, struct pl_tag_node *node)
{
    struct pl_estimate below[PL_METRIC_COUNT];
    memcpy(below, node->total.metric, sizeof below);
    estimate(work, node, &node->total);
    raise_high(node->total.metric, node->self.metric);
    raise_high(node->total.metric, below);
}

static void add_up(const struct work *work, struct pl_tag_node *node)
{
    for (uint32_t i = work->uses; i-- > 0;) {
        struct pl_tag_figures *above = &node[node[i].parent].total;
        settle(&node[i].self);
        pl_tagfigures_add(&node[i].total, &node[i].self);
        estimate(work, &node[i], &node[i].self);
        estimate_total(work, &node[i]);
        if (i == 0)
            break;
        pl_tagfigures_add(above, &node[i].total);
        raise_high(above->metric, node[i].total.metric);
    }
}

/* ---- the forest ---- */

static struct pl_tag_tree grow_tree(struct work *work, uint32_t group)
{
    const char *name = work->groups->name[group];
    outline(work, group);
    struct pl_tag_tree tree = {
        .name = pl_arena_text(work->arena, name, strlen(name)),
        .threads = work->groups->threads[group],
        .nodes = work->uses,
        .node = make_nodes(work),
    };
    charge(work, group, tree.node);
    add_up(work, tree.node);
    for (uint32_t i = 0; i < work->uses; i++)
        work->member[work->used[i]].used = false;
    return tree;
}

static void put_in_order(struct pl_tag_forest *forest, enum pl_metric metric, struct pl_arena *scratch)
{
    struct pl_ranked *order = pl_arena_alloc(scratch, (forest->trees + 1ull) * sizeof *order);
    struct pl_tag_tree *tree = pl_arena_alloc(forest->arena, (forest->trees + 1ull) * sizeof *tree);
    for (uint32_t i = 0; i < forest->trees; i++)
        order[i] = (struct pl_ranked){i, forest->tree[i].node[0].total.metric[metric].value};
    pl_rank(order, forest->trees);
    for (uint32_t i = 0; i < forest->trees; i++)
        tree[i] = forest->tree[order[i].item];
    forest->tree = tree;
}

void pl_tagtree_grow(const struct pl_profile *profile, const struct pl_groups *groups, enum pl_metric metric,
                     struct pl_tag_forest *out)
{
    struct pl_arena *scratch = pl_arena_new();
    struct pl_tag_forest forest = {.trees = groups->groups, .arena = pl_arena_new()};
    struct work work = {
        .profile = profile,
        .groups = groups,
        .metric = metric,
        .arena = forest.arena,
        .fold = pl_tagfold_make(profile, scratch),
        .member = pl_arena_alloc(scratch, profile->tags * sizeof *work.member),
        .used = pl_arena_alloc(scratch, profile->tags * sizeof *work.used),
        .room = NODES_MAX,
    };
    pl_totals_hidden(profile, work.hidden);
    share_out(&work, scratch);
    forest.tree = pl_arena_alloc(scratch, (forest.trees + 1ull) * sizeof *forest.tree);
    for (uint32_t i = 0; i < forest.trees; i++)
        forest.tree[i] = grow_tree(&work, i);
    put_in_order(&forest, metric, scratch);
    pl_arena_free(scratch);
    *out = forest;
}

void pl_tagtree_free(struct pl_tag_forest *forest)
{
    pl_arena_free(forest->arena);
    *forest = (struct pl_tag_forest){0};
}
