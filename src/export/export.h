/* SPDX-License-Identifier: MIT */
/*
 * export.h - a symbolized profile in the formats of other tools. A format is one file and one row of the table.
 */
#ifndef PL_EXPORT_H
#define PL_EXPORT_H

#include <stdio.h>

#include "analysis/tags/tagtree.h"
#include "export/digest.h"
#include "export/flat.h"
#include "reader/profile.h"

/* Properties of a format. */
enum pl_export_trait {
    PL_EXPORT_TAGS = 1u << 0,   /* about the tree of tags: options->forest is set */
    PL_EXPORT_STACKS = 1u << 1, /* about stacks: options->flat is set */
    PL_EXPORT_APART = 1u << 2,  /* it can say under which tag and in which thread a stack is: rows are split by these */
    PL_EXPORT_ONE_METRIC = 1u << 3, /* it has one metric; other formats have all of them */
    PL_EXPORT_SIGNED = 1u << 4,     /* figures may be negative, so that it can hold a difference */
    PL_EXPORT_BINARY = 1u << 5,     /* not for terminals */
    PL_EXPORT_BY_NODE = 1u << 6,    /* the format itself combines small ones, node by node: flat has them all */
    PL_EXPORT_OVER_TIME = 1u << 7,  /* the heap over time: of live memory, unless told otherwise */
    PL_EXPORT_WHOLE = 1u << 8,      /* it has everything: nothing is grouped, and nothing left out */
    PL_EXPORT_FIGURES = 1u << 9,    /* for stores, which tell what is live from what was allocated */
};

/*
 * X(name, word, traits, threshold, help): pl_export_NAME() is the function, --format WORD the option. Stacks, or tags,
 * with less than `threshold` percent of the whole are combined, unless told otherwise; they are never left out.
 */
#define PL_EXPORT_FORMATS(X)                                                                                           \
    X(json, "json", PL_EXPORT_WHOLE | PL_EXPORT_SIGNED, 0, "everything, in the schema of docs/json.md")                \
    X(pprof, "pprof", PL_EXPORT_STACKS | PL_EXPORT_APART | PL_EXPORT_SIGNED | PL_EXPORT_BINARY | PL_EXPORT_FIGURES, 0, \
      "for go tool pprof, and other readers of profile.proto")                                                         \
    X(otlp, "otlp", PL_EXPORT_STACKS | PL_EXPORT_APART | PL_EXPORT_BINARY | PL_EXPORT_FIGURES, 0,                      \
      "OpenTelemetry profiles: a request of OTLP")                                                                     \
    X(speedscope, "speedscope", PL_EXPORT_STACKS, 0, "for speedscope.app, a profile for each metric")                  \
    X(collapsed, "collapsed", PL_EXPORT_STACKS | PL_EXPORT_ONE_METRIC | PL_EXPORT_SIGNED, 0,                           \
      "a line for each stack, for flamegraph.pl and many others")                                                      \
    X(callgrind, "callgrind", PL_EXPORT_STACKS, 0, "for KCachegrind and callgrind_annotate")                           \
    X(dhat, "dhat", PL_EXPORT_STACKS, 0, "for valgrind's dh_view.html and the Firefox Profiler")                       \
    X(massif, "massif", PL_EXPORT_STACKS | PL_EXPORT_OVER_TIME | PL_EXPORT_BY_NODE | PL_EXPORT_ONE_METRIC, 1,          \
      "the heap over time, for ms_print and massif-visualizer")                                                        \
    X(heaptrack, "heaptrack", PL_EXPORT_STACKS, 0, "for heaptrack_print and heaptrack_gui")                            \
    X(csv, "csv", PL_EXPORT_STACKS | PL_EXPORT_APART | PL_EXPORT_SIGNED, 0, "a table of sites, for spreadsheets")      \
    X(dot, "dot", PL_EXPORT_STACKS | PL_EXPORT_BY_NODE | PL_EXPORT_ONE_METRIC | PL_EXPORT_SIGNED, 0.5,                 \
      "the call graph for Graphviz")                                                                                   \
    X(svg, "svg", PL_EXPORT_STACKS | PL_EXPORT_BY_NODE | PL_EXPORT_ONE_METRIC | PL_EXPORT_SIGNED, 0.1,                 \
      "a picture of the call tree: a flame graph for a browser")                                                       \
    X(tags_json, "tags-json", PL_EXPORT_TAGS, 0, "the tree of tags with its figures, also in docs/json.md")            \
    X(tags_dot, "tags-dot", PL_EXPORT_TAGS | PL_EXPORT_ONE_METRIC, 1, "the tree of tags for Graphviz")                 \
    X(tags_svg, "tags-svg", PL_EXPORT_TAGS | PL_EXPORT_ONE_METRIC, 0.1, "a picture of the tree of tags")

/* What formats need to know besides the profile. */
struct pl_export_options {
    const char *selection; /* which part of a profile this is, in words; NULL: all of it */
    enum pl_metric metric; /* the one of ONE_METRIC, and of the tree's order; for others the one to show first */
    double threshold;      /* a fraction of the whole */
    unsigned by;           /* enum pl_flat_by */
    enum pl_digest_figures figures;     /* of formats for stores, PL_EXPORT_FIGURES; others have all */
    const struct pl_flat *flat;         /* of STACKS: threshold (except for BY_NODE) and `by` have been applied */
    const struct pl_tag_forest *forest; /* of TAGS: grown for `metric`; formats apply the threshold */
};

/* Writes as it goes: nothing of the size of the profile is built in memory. Errors stay in the stream (ferror). */
typedef void pl_export_function(const struct pl_profile *profile, const struct pl_export_options *options, FILE *out);

#define PL_DECLARE(name, word, traits, threshold, help) pl_export_function pl_export_##name;
PL_EXPORT_FORMATS(PL_DECLARE)
#undef PL_DECLARE

#endif
