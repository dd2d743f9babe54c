/* SPDX-License-Identifier: MIT */
/*
 * test_forest.c - groups of threads, and their tag trees.
 */
#include <math.h>

#include "analysis/groups.h"
#include "analysis/tags/tagfigures.h"
#include "analysis/tags/tagfold.h"
#include "analysis/tags/tagtree.h"
#include "forged_profile.h"

static struct pl_groups group(const struct pl_profile *profile, enum pl_grouping grouping, const char *only,
                              const char *merge)
{
    struct pl_groups groups;
    char why[PL_WHY_BYTES] = "";
    if (pl_groups_make(profile, grouping, &(struct pl_choice){only, merge}, &groups, why) != 0)
        fail_msg("%s", why);
    return groups;
}

static struct pl_tag_forest grow(const struct pl_profile *profile, enum pl_grouping grouping, const char *merge,
                                 enum pl_metric metric)
{
    struct pl_groups groups = group(profile, grouping, NULL, merge);
    struct pl_tag_forest forest;
    pl_tagtree_grow(profile, &groups, metric, &forest);
    pl_groups_free(&groups);
    return forest;
}

/* ---- groups ---- */

static void threads_of_one_name_are_one_group(void **state)
{
    (void) state;
    struct pl_profile *profile = load_scenario("pools");
    struct pl_groups groups = group(profile, PL_GROUP_NAME, NULL, NULL);
    assert_int_equal(groups.groups, 2);
    assert_string_equal(groups.name[0], "worker");
    assert_int_equal(groups.threads[0], 8);
    assert_string_equal(groups.name[1], "worker-1");
    assert_int_equal(groups.threads[1], 1);
    assert_int_equal(groups.of[7], 0);
    assert_int_equal(groups.of[8], 1);
    pl_groups_free(&groups);
    pl_profile_close(profile);
}

static void threads_whose_whole_name_matches_are_merged(void **state)
{
    (void) state;
    struct forge *forge = forge_build("empty");
    const char *const name[] = {"worker-1", "io", "worker-22", "my worker-1", "worker-", "sixteen letters."};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        forge_thread(forge, name[i], 1, 1);
    struct pl_profile *profile = forge_load(forge);
    struct pl_groups groups = group(profile, PL_GROUP_NAME, NULL, "worker-[0-9]|worker-[0-9]+");
    assert_int_equal(groups.groups, 6);
    assert_string_equal(groups.name[1], "worker-[0-9]|worker-[0-9]+");
    assert_int_equal(groups.threads[1], 2);
    assert_int_equal(groups.of[1], 1);
    assert_int_equal(groups.of[3], 1);
    assert_string_equal(groups.name[groups.of[4]], "my worker-1");
    assert_string_equal(groups.name[groups.of[6]], "sixteen letters.");
    pl_groups_free(&groups);
    pl_profile_close(profile);
    forge_free(forge);
}

static void only_selected_threads_are_grouped(void **state)
{
    (void) state;
    struct pl_profile *profile = load_scenario("tags");
    struct pl_groups groups = group(profile, PL_GROUP_NAME, "ker", NULL);
    assert_int_equal(groups.groups, 2);
    assert_int_equal(groups.of[0], PL_NO_GROUP);
    pl_groups_free(&groups);
    groups = group(profile, PL_GROUP_ALL, "ker", NULL);
    assert_int_equal(groups.groups, 1);
    assert_int_equal(groups.threads[0], 2);
    assert_int_equal(groups.of[0], PL_NO_GROUP);
    pl_groups_free(&groups);
    groups = group(profile, PL_GROUP_ALL, "nobody", NULL);
    assert_int_equal(groups.groups, 1);
    assert_int_equal(groups.threads[0], 0);
    struct pl_tag_forest forest;
    pl_tagtree_grow(profile, &groups, PL_METRIC_INUSE_SPACE, &forest);
    assert_int_equal(forest.tree[0].nodes, 1);
    assert_int_equal(forest.tree[0].node[0].total.all_calls, 0);
    pl_tagtree_free(&forest);
    pl_groups_free(&groups);
    pl_profile_close(profile);
}

static void an_invalid_expression_is_refused_with_the_reason(void **state)
{
    (void) state;
    struct pl_profile *profile = load_scenario("tags");
    struct pl_groups groups;
    char why[PL_WHY_BYTES] = "";
    assert_int_equal(pl_groups_make(profile, PL_GROUP_NAME, &(struct pl_choice){"ok", "a(b"}, &groups, why), -22);
    assert_non_null(strstr(why, "`a(b` is not a regular expression: "));
    assert_int_equal(pl_groups_make(profile, PL_GROUP_ALL, &(struct pl_choice){"[", NULL}, &groups, why), -22);
    assert_non_null(strstr(why, "`[` is not"));
    pl_profile_close(profile);
}

/* ---- trees ---- */

static const struct pl_tag_node *node_at(const struct pl_profile *profile, const struct pl_tag_tree *tree,
                                         const char *path)
{
    for (uint32_t i = 0; i < tree->nodes; i++)
        if (strcmp(profile->tag[tree->node[i].tag].path, path) == 0)
            return &tree->node[i];
    fail_msg("there is no node %s", path);
    return NULL;
}

static void assert_same_figures(const struct pl_tag_figures *a, const struct pl_tag_figures *b)
{
    assert_int_equal(a->entered, b->entered);
    assert_int_equal(a->all_calls, b->all_calls);
    assert_int_equal(a->bytes, b->bytes);
    assert_memory_equal(a->calls, b->calls, sizeof a->calls);
    assert_true(a->figures.allocated.exact_objects == b->figures.allocated.exact_objects);
    assert_int_equal(a->figures.allocated.sampled.samples, b->figures.allocated.sampled.samples);
    assert_true(fabs(a->figures.freed.sampled.space - b->figures.freed.sampled.space) < 1);
}

static void add(struct pl_tag_figures *to, const struct pl_tag_figures *more)
{
    to->entered += more->entered;
    to->all_calls += more->all_calls;
    to->bytes += more->bytes;
    for (int f = 0; f < PL_FN_MAX; f++)
        to->calls[f] += more->calls[f];
    pl_figures_add(&to->figures, &more->figures);
}

static void assert_not_above(const struct pl_estimate part[PL_METRIC_COUNT],
                             const struct pl_estimate whole[PL_METRIC_COUNT])
{
    for (int m = 0; m < PL_METRIC_COUNT; m++)
        assert_true(part[m].high <= whole[m].high);
}

static void assert_bounded(const struct pl_estimate *estimate, uint64_t most)
{
    assert_true(estimate->low <= estimate->value && estimate->value <= estimate->high);
    assert_true(estimate->high <= (double) most);
    assert_true(estimate->error >= 0);
}

/* Nothing can exceed the allocations, which are known exactly. */
static void assert_possible(const struct pl_tag_figures *figures)
{
    struct pl_tag_freed freed = pl_tagfigures_freed(figures);
    assert_bounded(&freed.objects, figures->all_calls);
    assert_bounded(&freed.space, figures->bytes);
    for (int m = 0; m < PL_METRIC_COUNT; m++) {
        bool space = strcmp(pl_metric_info[m].unit, "bytes") == 0;
        assert_bounded(&figures->metric[m], space ? figures->bytes : figures->all_calls);
    }
}

/* A node has its own figures plus those of its children. The children follow it, the heaviest first. */
static void assert_node(const struct pl_profile *profile, const struct pl_tag_tree *tree, uint32_t number,
                        enum pl_metric metric)
{
    const struct pl_tag_node *node = &tree->node[number];
    struct pl_tag_figures sum = node->self;
    uint32_t children = 0, at = number + 1;
    double last = INFINITY;
    for (; at <= number + node->below; at += tree->node[at].below + 1, children++) {
        const struct pl_tag_node *child = &tree->node[at];
        assert_int_equal(child->parent, number);
        assert_int_equal(child->depth, node->depth + 1);
        assert_int_equal(profile->tag[child->tag].parent, node->tag);
        assert_true(child->total.metric[metric].value <= last * (1 + 1e-9));
        last = child->total.metric[metric].value;
        assert_not_above(child->total.metric, node->total.metric);
        add(&sum, &child->total);
    }
    assert_not_above(node->self.metric, node->total.metric);
    assert_possible(&node->self);
    assert_possible(&node->total);
    assert_int_equal(at, number + node->below + 1);
    assert_int_equal(children, node->children);
    assert_same_figures(&sum, &node->total);
}

static void assert_forest(const struct pl_profile *profile, const struct pl_tag_forest *forest, enum pl_metric metric)
{
    for (uint32_t t = 0; t < forest->trees; t++) {
        const struct pl_tag_tree *tree = &forest->tree[t];
        assert_int_equal(tree->node[0].tag, 0);
        assert_int_equal(tree->node[0].below, tree->nodes - 1);
        assert_true(t == 0 || tree[-1].node[0].total.metric[metric].value >= tree->node[0].total.metric[metric].value);
        for (uint32_t i = 0; i < tree->nodes; i++)
            assert_node(profile, tree, i, metric);
    }
}

static void a_total_is_self_plus_the_totals_of_the_children(void **state)
{
    (void) state;
    static const char *const scenario[] = {"leak", "tags", "tags-sampled", "reset", "pools", "auto"};
    for (size_t s = 0; s < sizeof scenario / sizeof *scenario; s++) {
        struct pl_profile *profile = load_scenario(scenario[s]);
        for (int metric = 0; metric < PL_METRIC_COUNT; metric++) {
            for (enum pl_grouping grouping = PL_GROUP_ALL; grouping <= PL_GROUP_NAME; grouping++) {
                struct pl_tag_forest forest = grow(profile, grouping, NULL, metric);
                assert_forest(profile, &forest, metric);
                pl_tagtree_free(&forest);
            }
        }
        pl_profile_close(profile);
    }
}

static void the_tree_of_all_threads_has_the_totals_of_the_profile(void **state)
{
    (void) state;
    struct pl_profile *profile = load_scenario("tags");
    struct pl_tag_forest forest = grow(profile, PL_GROUP_ALL, NULL, PL_METRIC_INUSE_SPACE);
    const struct pl_tag_tree *tree = forest.tree;
    assert_int_equal(forest.trees, 1);
    assert_int_equal(tree->threads, 3);
    assert_int_equal(tree->nodes, 6);
    const struct pl_tag_node *request = node_at(profile, tree, "request");
    assert_int_equal(request->self.all_calls, 220);
    assert_int_equal(request->total.all_calls, 1220);
    assert_int_equal(request->total.calls[PL_FN_MALLOC], 1220);
    assert_int_equal(request->self.bytes, 2 * (100 * 1024 + (10 << 21)));
    assert_int_equal(request->self.entered, 110);
    assert_true(request->self.metric[PL_METRIC_INUSE_SPACE].value == 0);
    assert_true(request->total.metric[PL_METRIC_INUSE_SPACE].value == 2 * 50 * 64);
    assert_true(request->total.metric[PL_METRIC_INUSE_SPACE].error == 0);
    assert_true(node_at(profile, tree, "request/render")->self.metric[PL_METRIC_INUSE_OBJECTS].value == 100);
    assert_int_equal(node_at(profile, tree, "(off)")->total.all_calls, 500);
    for (int m = 0; m < PL_METRIC_COUNT; m++)
        assert_true(tree->node[0].total.metric[m].value == profile->total[m].value);
    assert_string_equal(profile->tag[tree->node[1].tag].path, "index"); /* 48,000 bytes live */
    pl_tagtree_free(&forest);
    pl_profile_close(profile);
}

static void tags_that_a_group_did_not_use_are_missing_from_its_tree(void **state)
{
    (void) state;
    struct pl_profile *profile = load_scenario("tags");
    struct pl_tag_forest forest = grow(profile, PL_GROUP_NAME, "worker-.*", PL_METRIC_ALLOC_SPACE);
    assert_int_equal(forest.trees, 2);
    assert_string_equal(forest.tree[0].name, "worker-.*"); /* the heavier tree comes first */
    assert_int_equal(forest.tree[0].threads, 2);
    assert_int_equal(forest.tree[0].nodes, 4);
    assert_int_equal(node_at(profile, &forest.tree[0], "request")->children, 2);
    assert_string_equal(forest.tree[1].name, "example");
    assert_int_equal(forest.tree[1].nodes, 3);
    assert_int_equal(node_at(profile, &forest.tree[1], "")->self.all_calls, 1);
    pl_tagtree_free(&forest);
    pl_profile_close(profile);
}

static void a_tag_without_own_figures_is_present_for_the_tags_below_it(void **state)
{
    (void) state;
    struct forge *forge = forge_build("empty");
    uint32_t tag = 0;
    for (int i = 0; i < 100; i++) {
        char name[16];
        snprintf(name, sizeof name, "down %d", i);
        tag = forge_tag(forge, tag, name);
    }
    forge_tag(forge, tag, "unused");
    forge_scope(forge, 1, tag, 7, 70);
    struct pl_profile *profile = forge_load(forge);
    struct pl_tag_forest forest = grow(profile, PL_GROUP_ALL, NULL, PL_METRIC_INUSE_SPACE);
    assert_int_equal(forest.tree[0].nodes, 101);
    assert_int_equal(forest.tree[0].node[50].self.all_calls, 0);
    assert_int_equal(forest.tree[0].node[50].total.bytes, 70);
    assert_int_equal(forest.tree[0].node[100].self.entered, 1);
    assert_forest(profile, &forest, PL_METRIC_INUSE_SPACE);
    pl_tagtree_free(&forest);
    pl_profile_close(profile);
    forge_free(forge);
}

/* The confidence interval of a sum is narrower than the sum of the intervals. */
static void a_total_has_its_own_confidence_interval(void **state)
{
    (void) state;
    struct pl_profile *profile = load_scenario("tags-sampled");
    struct pl_tag_forest forest = grow(profile, PL_GROUP_ALL, NULL, PL_METRIC_INUSE_SPACE);
    const struct pl_tag_node *index = node_at(profile, forest.tree, "index");
    const struct pl_tag_node *render = node_at(profile, forest.tree, "request/render");
    const struct pl_estimate *all = &forest.tree[0].node[0].total.metric[PL_METRIC_INUSE_SPACE];
    double parts = index->self.metric[PL_METRIC_INUSE_SPACE].value + render->self.metric[PL_METRIC_INUSE_SPACE].value;
    assert_true(fabs(all->value - parts) < 1e-6 * parts);
    assert_true(all->error <
                index->self.metric[PL_METRIC_INUSE_SPACE].error + render->self.metric[PL_METRIC_INUSE_SPACE].error);
    assert_true(index->self.metric[PL_METRIC_ALLOC_SPACE].value == 4800000);
    assert_true(index->self.metric[PL_METRIC_ALLOC_SPACE].error == 0);
    pl_tagtree_free(&forest);
    pl_profile_close(profile);
}

/* "request" itself has no sample, so all of its 200 KiB may be live. Nothing is known of allocations while off. */
static void without_samples_a_tag_may_hold_all_that_it_allocated(void **state)
{
    (void) state;
    struct pl_profile *profile = load_scenario("tags-sampled");
    struct pl_tag_forest forest = grow(profile, PL_GROUP_ALL, NULL, PL_METRIC_INUSE_SPACE);
    const struct pl_estimate *live = node_at(profile, forest.tree, "request")->self.metric;
    assert_true(live[PL_METRIC_INUSE_SPACE].value == 0);
    assert_true(live[PL_METRIC_INUSE_SPACE].high == 2 * 100 * 1024);
    assert_true(live[PL_METRIC_INUSE_OBJECTS].high == 200);
    assert_true(node_at(profile, forest.tree, "(off)")->self.metric[PL_METRIC_INUSE_SPACE].high == 0);
    pl_tagtree_free(&forest);
    pl_profile_close(profile);
}

/* Three samples of weight 65 estimate 195 blocks, where 100 were allocated. */
static void an_estimate_does_not_exceed_what_the_tag_allocated(void **state)
{
    (void) state;
    struct forge *forge = forge_build("empty");
    uint32_t tag = forge_tag(forge, 0, "load"), module = forge_module(forge, "/bin/app", 1);
    uint32_t site = forge_tagged_site(forge, forge_frame(forge, 0, module, 0x1000), tag);
    struct pl_row *row = forge_row_at(forge, forge_row(forge, site, 1));
    forge_sample(&row->allocated, 1600, 65, 3);
    forge_scope(forge, 1, tag, 100, 160000);
    struct pl_profile *profile = forge_load(forge);
    struct pl_tag_forest forest = grow(profile, PL_GROUP_ALL, NULL, PL_METRIC_INUSE_SPACE);
    const struct pl_tag_node *load = node_at(profile, forest.tree, "load");
    const struct pl_estimate *live = &load->self.metric[PL_METRIC_INUSE_SPACE];
    assert_true(live->value == 160000 && live->high == 160000);
    assert_true(live->low > 0 && live->low < 160000);
    assert_true(live->error == (live->high - live->low) / 2);
    assert_true(load->self.metric[PL_METRIC_PEAK_OBJECTS].value == 100);
    assert_forest(profile, &forest, PL_METRIC_INUSE_SPACE);
    pl_tagtree_free(&forest);
    pl_profile_close(profile);
    forge_free(forge);
}

/* A thousand samples of weight 10, where 5,000 blocks were allocated: even the lower end is too high. */
static void an_estimate_that_is_far_too_large_does_not_become_exact(void **state)
{
    (void) state;
    struct forge *forge = forge_build("empty");
    uint32_t tag = forge_tag(forge, 0, "load"), module = forge_module(forge, "/bin/app", 1);
    uint32_t site = forge_tagged_site(forge, forge_frame(forge, 0, module, 0x1000), tag);
    struct pl_row *row = forge_row_at(forge, forge_row(forge, site, 1));
    forge_sample(&row->allocated, 16, 10, 1000);
    forge_sample(&row->freed, 16, 10, 999);
    forge_scope(forge, 1, tag, 5000, 80000);
    struct pl_profile *profile = forge_load(forge);
    struct pl_tag_forest forest = grow(profile, PL_GROUP_ALL, NULL, PL_METRIC_INUSE_SPACE);
    struct pl_tag_freed freed = pl_tagfigures_freed(&node_at(profile, forest.tree, "load")->self);
    assert_true(freed.objects.value == 5000 && freed.objects.high == 5000);
    assert_true(freed.objects.low < 4900 && freed.objects.low > 4000);
    assert_true(freed.objects.error == (5000 - freed.objects.low) / 2);
    pl_tagtree_free(&forest);
    pl_profile_close(profile);
    forge_free(forge);
}

/* The samples of "small" estimate more than those of "large", but it allocated less. */
static void the_order_follows_the_limited_estimates(void **state)
{
    (void) state;
    struct forge *forge = forge_build("empty");
    uint32_t module = forge_module(forge, "/bin/app", 1), stack = forge_frame(forge, 0, module, 0x1000);
    uint32_t tag[] = {forge_tag(forge, 0, "small"), forge_tag(forge, 0, "large")};
    for (int i = 0; i < 2; i++) {
        struct pl_row *row = forge_row_at(forge, forge_row(forge, forge_tagged_site(forge, stack, tag[i]), 1));
        forge_sample(&row->allocated, 1600, i ? 60 : 90, 1);
        forge_scope(forge, 1, tag[i], i ? 100 : 10, i ? 160000 : 16000);
    }
    struct pl_profile *profile = forge_load(forge);
    struct pl_tag_forest forest = grow(profile, PL_GROUP_ALL, NULL, PL_METRIC_INUSE_SPACE);
    assert_string_equal(profile->tag[forest.tree[0].node[1].tag].path, "large");
    assert_forest(profile, &forest, PL_METRIC_INUSE_SPACE);
    pl_tagtree_free(&forest);
    pl_profile_close(profile);
    forge_free(forge);
}

static void frees_are_known_by_tag(void **state)
{
    (void) state;
    struct pl_profile *profile = load_scenario("tags");
    struct pl_tag_forest forest = grow(profile, PL_GROUP_ALL, NULL, PL_METRIC_INUSE_SPACE);
    const struct pl_tag_node *request = node_at(profile, forest.tree, "request");
    struct pl_tag_freed self = pl_tagfigures_freed(&request->self), total = pl_tagfigures_freed(&request->total);
    assert_true(self.objects.value == 220 && self.space.value == 2 * (100 * 1024 + (10 << 21)));
    assert_true(total.objects.value == 1120 && total.objects.error == 0 && total.objects.high == 1120);
    assert_true(total.space.value == self.space.value + 2 * (300 + 150) * 64);
    assert_true(pl_tagfigures_freed(&node_at(profile, forest.tree, "index")->total).objects.value == 0);
    pl_tagtree_free(&forest);
    pl_profile_close(profile);
}

/* Half of the samples of "index" are freed. "request" has no sample, so all of it may be freed. Nothing is known of
 * allocations while off. */
static void sampled_frees_have_a_confidence_interval(void **state)
{
    (void) state;
    struct pl_profile *profile = load_scenario("tags-sampled");
    struct pl_tag_forest forest = grow(profile, PL_GROUP_ALL, NULL, PL_METRIC_INUSE_SPACE);
    const struct pl_tag_node *index = node_at(profile, forest.tree, "index");
    struct pl_tag_freed freed = pl_tagfigures_freed(&index->self);
    assert_true(fabs(freed.space.value - index->self.metric[PL_METRIC_INUSE_SPACE].value) < 1);
    assert_true(freed.space.low < freed.space.value && freed.space.value < freed.space.high);
    freed = pl_tagfigures_freed(&node_at(profile, forest.tree, "request")->self);
    assert_true(freed.space.value == 0 && freed.space.high == 2 * 100 * 1024);
    assert_true(freed.objects.high == 200 && freed.objects.error == 200);
    freed = pl_tagfigures_freed(&node_at(profile, forest.tree, "(off)")->self);
    assert_true(freed.space.high == 0 && freed.objects.high == 0);
    pl_tagtree_free(&forest);
    pl_profile_close(profile);
}

static void after_a_kill_sites_may_have_more_calls_than_scopes(void **state)
{
    (void) state;
    struct forge *forge = forge_build("tags");
    forge_count(forge_tally_at(forge, 1), 5, 48); /* which the thread has not counted yet */
    struct pl_profile *profile = forge_load(forge);
    struct pl_tag_forest forest = grow(profile, PL_GROUP_ALL, NULL, PL_METRIC_INUSE_SPACE);
    assert_int_equal(node_at(profile, forest.tree, "index")->self.all_calls, 1005);
    assert_int_equal(node_at(profile, forest.tree, "")->total.bytes,
                     (uint64_t) profile->total[PL_METRIC_ALLOC_SPACE].value);
    assert_forest(profile, &forest, PL_METRIC_INUSE_SPACE);
    pl_tagtree_free(&forest);
    pl_profile_close(profile);
    forge_free(forge);
}

static void a_tag_nested_in_itself_is_one_node(void **state)
{
    (void) state;
    for (uint32_t levels = PL_NEST_MAX; levels <= PL_NEST_MAX + 1; levels++) {
        struct forge *forge = forge_build("empty");
        uint32_t thread = forge_thread(forge, "main", 2 * levels, 20 * levels), tag = 0;
        for (uint32_t i = 0; i < levels; i++) {
            tag = forge_tag(forge, tag, "work");
            forge_scope(forge, thread, tag, 1, 5);
            forge_scope(forge, thread, forge_tag(forge, tag, "parse"), 1, 15);
        }
        struct pl_profile *profile = forge_load(forge);
        struct pl_tag_forest forest = grow(profile, PL_GROUP_ALL, NULL, PL_METRIC_ALLOC_SPACE);
        const struct pl_tag_tree *tree = &forest.tree[0];
        bool folded = levels > PL_NEST_MAX;
        assert_int_equal(tree->nodes, folded ? 3 : 1 + 2 * levels);
        assert_int_equal(tree->node[1].nested, folded ? levels : 0);
        assert_int_equal(tree->node[1].total.bytes, 20 * levels);
        assert_int_equal(tree->node[1].self.bytes, folded ? 5 * levels : 5);
        assert_int_equal(tree->node[0].self.bytes, 0);
        assert_forest(profile, &forest, PL_METRIC_ALLOC_SPACE);
        pl_tagtree_free(&forest);
        pl_profile_close(profile);
        forge_free(forge);
    }
}

/* 200 threads with 1,000 tags each, a hundred deep, and 100,000 sites. */
static void a_large_forest_has_correct_sums(void **state)
{
    (void) state;
    struct forge *forge = forge_build("empty");
    uint32_t module = forge_module(forge, "/bin/app", 1), tag[1000];
    for (uint32_t i = 0; i < 1000; i++) {
        char name[16];
        snprintf(name, sizeof name, "tag %u", i);
        tag[i] = forge_tag(forge, i % 100 ? tag[i - 1] : 0, name);
    }
    for (uint32_t t = 1; t <= 200; t++) {
        char name[16];
        snprintf(name, sizeof name, "thread %u", t);
        uint32_t thread = t == 1 ? 1 : forge_thread(forge, name, 0, 0);
        for (uint32_t i = 0; i < 1000; i++)
            forge_scope(forge, thread, tag[i], 1 + i % 7, 64);
        for (uint32_t i = 0; i < 500; i++) {
            uint32_t stack = forge_frame(forge, 0, module, 0x1000 + (t * 500 + i) % 3000);
            uint32_t site = forge_tagged_site(forge, stack, tag[2 * i]);
            forge_count(forge_tally_at(forge, forge_tally(forge, site, thread)), 1, 64);
        }
    }
    forge_header(forge)->mode = PL_MODE_EXACT;
    struct pl_profile *profile = forge_load(forge);
    assert_int_equal(profile->sites, 100000);
    assert_int_equal(profile->scopes, 200000);
    struct pl_tag_forest forest = grow(profile, PL_GROUP_NAME, NULL, PL_METRIC_INUSE_SPACE);
    assert_int_equal(forest.trees, 200);
    assert_int_equal(forest.tree[0].nodes, 1001);
    for (uint32_t t = 0; t < 200; t += 40) {
        assert_int_equal(forest.tree[t].node[0].total.bytes, 64000);
        assert_true(forest.tree[t].node[0].total.metric[PL_METRIC_INUSE_SPACE].value == 32000);
    }
    pl_tagtree_free(&forest);
    forest = grow(profile, PL_GROUP_ALL, NULL, PL_METRIC_ALLOC_OBJECTS);
    assert_int_equal(forest.tree[0].nodes, 1001);
    assert_forest(profile, &forest, PL_METRIC_ALLOC_OBJECTS);
    pl_tagtree_free(&forest);
    pl_profile_close(profile);
    forge_free(forge);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_of_one_name_are_one_group),
        cmocka_unit_test(threads_whose_whole_name_matches_are_merged),
        cmocka_unit_test(only_selected_threads_are_grouped),
        cmocka_unit_test(an_invalid_expression_is_refused_with_the_reason),
        cmocka_unit_test(a_total_is_self_plus_the_totals_of_the_children),
        cmocka_unit_test(the_tree_of_all_threads_has_the_totals_of_the_profile),
        cmocka_unit_test(tags_that_a_group_did_not_use_are_missing_from_its_tree),
        cmocka_unit_test(a_tag_without_own_figures_is_present_for_the_tags_below_it),
        cmocka_unit_test(a_total_has_its_own_confidence_interval),
        cmocka_unit_test(without_samples_a_tag_may_hold_all_that_it_allocated),
        cmocka_unit_test(an_estimate_does_not_exceed_what_the_tag_allocated),
        cmocka_unit_test(an_estimate_that_is_far_too_large_does_not_become_exact),
        cmocka_unit_test(the_order_follows_the_limited_estimates),
        cmocka_unit_test(frees_are_known_by_tag),
        cmocka_unit_test(sampled_frees_have_a_confidence_interval),
        cmocka_unit_test(after_a_kill_sites_may_have_more_calls_than_scopes),
        cmocka_unit_test(a_tag_nested_in_itself_is_one_node),
        cmocka_unit_test(a_large_forest_has_correct_sums),
    };
    return cmocka_run_group_tests_name("forest", tests, NULL, NULL);
}
