/* SPDX-License-Identifier: MIT */
/*
 * tree.h - the call tree, from the roots or from the allocator up.
 */
#ifndef PL_TREE_H
#define PL_TREE_H

#include "view.h"

void pl_tree_print(const struct pl_view *view, const struct pl_paths *paths, enum pl_metric metric);

#endif
