/* SPDX-License-Identifier: MIT */
/*
 * tags_json.c - the tree of tags, one for each group of threads, as JSON. docs/json.md is the schema.
 *
 * Nodes are a flat list in which each refers to its parent, not nested objects: programs nest tags a hundred deep, and
 * readers of JSON give up sooner than that. A list also suits tables, jq and d3.stratify().
 */
#include "analysis/filefull.h"
#include "analysis/tags/tagfigures.h"
#include "export/export.h"
#include "export/json.h"
#include "export/pictures/shown.h"
#include "reader/describe.h"

#define SCHEMA_VERSION 1

static void add_figures(struct pl_json *json, const struct pl_profile *profile, const char *name,
                        const struct pl_tag_figures *figures)
{
    struct pl_tag_freed freed = pl_tagfigures_freed(figures);
    pl_json_key(json, name);
    pl_json_begin(json, '{');
    pl_json_add_whole(json, "entered", figures->entered);
    pl_json_add_whole(json, "calls", figures->all_calls);
    pl_json_add_whole(json, "bytes", figures->bytes);
    pl_json_add_functions(json, "functions", figures->calls);
    pl_json_add_metrics(json, profile, figures->metric);
    pl_json_add_estimate(json, "freed_objects", &freed.objects);
    pl_json_add_estimate(json, "freed_space", &freed.space);
    pl_json_end(json, '}');
}

static void write_node(struct pl_json *json, const struct pl_profile *profile, const struct pl_shown_node *node)
{
    bool several = node->tag == PL_SHOWN_NONE;
    bool root = node->parent == PL_SHOWN_NONE;
    pl_json_line(json);
    pl_json_begin(json, '{');
    pl_json_add_index(json, "parent", node->parent);
    pl_json_add_whole(json, "depth", node->depth);
    pl_json_add_index(json, "tag", node->tag);
    pl_json_add_text(json, "name", root ? "" : node->name);
    if (several)
        pl_json_add_text(json, "path", NULL);
    else
        pl_json_add_path(json, "path", profile, node->tag);
    pl_json_add_text(json, "kind", several ? "more" : pl_json_tag_kind(profile, node->tag));
    pl_json_add_whole(json, "tags", node->tags);
    pl_json_add_whole(json, "nested", node->nested);
    add_figures(json, profile, "self", node->self);
    add_figures(json, profile, "total", node->total);
    pl_json_end(json, '}');
}

static void write_tree(struct pl_json *json, const struct pl_profile *profile, const struct pl_export_options *options,
                       const struct pl_tag_tree *tree)
{
    struct pl_shown shown;
    pl_shown_make(profile, options, PL_SHOWN_DATA, tree, &shown);
    pl_json_line(json);
    pl_json_begin(json, '{');
    pl_json_add_text(json, "name", tree->name);
    pl_json_add_whole(json, "threads", tree->threads);
    pl_json_key(json, "nodes");
    pl_json_begin(json, '[');
    for (uint32_t i = 0; i < shown.nodes; i++)
        write_node(json, profile, &shown.node[i]);
    pl_json_end(json, ']');
    pl_json_end(json, '}');
    pl_shown_free(&shown);
}

void pl_export_tags_json(const struct pl_profile *profile, const struct pl_export_options *options, FILE *out)
{
    struct pl_json json = {.out = out};
    char method[256];
    pl_describe_method(profile, method, sizeof method);
    pl_json_begin(&json, '{');
    pl_json_add_whole(&json, "plimsoll_tags", SCHEMA_VERSION);
    pl_json_add_whole(&json, "pid", profile->header.pid);
    pl_json_add_text(&json, "process", profile->comm);
    pl_json_add_text(&json, "method", method);
    pl_json_add_bool(&json, "exact", profile->exact && !pl_filefull_lost(&profile->header));
    pl_json_add_text(&json, "selection", options->selection);
    pl_json_add_text(&json, "metric", pl_metric_info[options->metric].key);
    pl_json_add_real(&json, "threshold", options->threshold);
    pl_json_key(&json, "trees");
    pl_json_begin(&json, '[');
    for (uint32_t i = 0; i < options->forest->trees; i++)
        write_tree(&json, profile, options, &options->forest->tree[i]);
    pl_json_end(&json, ']');
    pl_json_end(&json, '}');
    fputc('\n', out);
}
