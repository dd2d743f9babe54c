/* SPDX-License-Identifier: MIT */
/*
 * errors.h - how far sums over sites may be off: figures of sites are added, and estimated once.
 */
#ifndef PL_ERRORS_H
#define PL_ERRORS_H

#include "calltree.h"

/* Of a difference, both sides. */
struct pl_errors {
    struct pl_figures now, before;
};

/* The node of the tree where a site's stack ends. */
uint32_t pl_errors_end(const struct pl_calltree *tree, uint32_t site);

void pl_errors_add(struct pl_errors *errors, const struct pl_profile *profile, uint32_t site);

/* Half the width of the 95% interval. */
float pl_errors_of(const struct pl_errors *errors, enum pl_metric metric);

#endif
