/* SPDX-License-Identifier: MIT */
/*
 * calltree.h - the stacks of a flat as a tree of functions, with one metric, and the texts of pictures of it.
 *
 * Lines are ignored: two calls from one function are one node. So a function that was compiled again, and moved by a
 * line, is still the same in a difference.
 *
 * Invariants: a node comes after its parent. A node's total is its self and the totals of its children; the root's is
 * the flat's total.
 */
#ifndef PL_CALLTREE_H
#define PL_CALLTREE_H

#include "export/flat.h"

/* A figure; in a difference, the change, and the figure before it. */
struct pl_weight {
    int64_t value;
    int64_t before; /* value + before is the figure now. 0 unless it is a difference */
    float error;    /* half the width of its 95% confidence interval; 0 if it is exact, or not estimated */
};

struct pl_calltree_node {
    uint32_t function; /* index into flat->function; PL_FLAT_NONE: the root */
    uint32_t parent;   /* the root is its own */
    uint32_t depth;    /* the root has 0 */
    float rest_error;  /* as `error`, of all children together that are not wanted */
    struct pl_weight self, total;
};

struct pl_calltree {
    const struct pl_flat *flat;
    enum pl_metric metric;
    uint32_t nodes;
    struct pl_calltree_node *node;
    uint32_t *end_of_stack; /* by stack of the flat: the node where it ends; the root if it has nothing of the metric */
};

void pl_calltree_make(const struct pl_flat *flat, enum pl_metric metric, struct pl_calltree *out);
void pl_calltree_free(struct pl_calltree *tree);

/* Fills in the errors of the wanted nodes: an estimate for each, from all samples below it. */
void pl_calltree_estimate(struct pl_calltree *tree, const bool *wanted);

static inline void pl_calltree_add(struct pl_weight *to, const struct pl_weight *more)
{
    to->value += more->value;
    to->before += more->before;
}

/* --- errors of sums over sites: figures of sites are added, and estimated once --- */

/* Both sides of a difference; otherwise only `now`. */
struct pl_calltree_errors {
    struct pl_figures now, before;
};

/* The node of the tree where a site's stack ends. */
uint32_t pl_calltree_end(const struct pl_calltree *tree, uint32_t site);

void pl_calltree_add_errors(struct pl_calltree_errors *errors, const struct pl_profile *profile, uint32_t site);

/* Half the width of the 95% confidence interval. */
float pl_calltree_error(const struct pl_calltree_errors *errors, enum pl_metric metric);

/* --- texts: clean, as in label.h; tooltips have several lines. The caller frees them --- */

/* "std::vector<Row>::push_back": without what makes names long. */
char *pl_calltree_name(const struct pl_flat_function *function);

/* "push_back": the last part of such a name. */
const char *pl_calltree_brief(const char *name);

/* "12.4 MiB"; of a difference "+7.6 MiB", "−3" or "±0". */
char *pl_calltree_figure(const struct pl_calltree *tree, const struct pl_weight *weight);

/* "12.4 MiB (48.0%)"; of a difference "+7.6 MiB (1.9 MiB → 9.5 MiB)"; of an estimate "12.4 MiB ± 0.3 MiB (48.0%)". */
char *pl_calltree_weight(const struct pl_calltree *tree, const struct pl_weight *weight);

/* The whole name, where it is, and both figures. */
char *pl_calltree_tooltip(const struct pl_calltree *tree, const struct pl_flat_function *function,
                          const struct pl_weight *self, const struct pl_weight *total);

/* "live: total 12.4 MiB (48.0%), self 3.0 MiB (11.6%)", and the same with every digit. */
char *pl_calltree_both(const struct pl_calltree *tree, const struct pl_weight *self, const struct pl_weight *total);

#endif
