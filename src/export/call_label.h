/* SPDX-License-Identifier: MIT */
/*
 * call_label.h - what pictures of calls say: names and figures. Clean texts, as in label.h; tooltips have several
 * lines. They belong to the caller, who frees them.
 */
#ifndef PL_CALL_LABEL_H
#define PL_CALL_LABEL_H

#include "calltree.h"
#include "export.h"

/* "std::vector<Row>::push_back": without what makes names long. */
char *pl_call_label_name(const struct pl_flat_function *function);

/* "push_back": the end of such a name that says most. */
const char *pl_call_label_brief(const char *name);

/* "12.4 MiB"; of a difference "+7.6 MiB", "−3" or "±0". */
char *pl_call_label_figure(const struct pl_calltree *tree, const struct pl_weight *weight);

/* "12.4 MiB (48.0%)"; of a difference "+7.6 MiB (1.9 MiB → 9.5 MiB)"; of an estimate "12.4 MiB ± 0.3 MiB (48.0%)". */
char *pl_call_label_weight(const struct pl_calltree *tree, const struct pl_weight *weight);

/* The whole name, where it is, and both figures. */
char *pl_call_label_tooltip(const struct pl_calltree *tree, const struct pl_flat_function *function,
                            const struct pl_weight *self, const struct pl_weight *total);

/* "live: total 12.4 MiB (48.0%), self 3.0 MiB (11.6%)", and the same to the unit. */
char *pl_call_label_both(const struct pl_calltree *tree, const struct pl_weight *self, const struct pl_weight *total);

#endif
