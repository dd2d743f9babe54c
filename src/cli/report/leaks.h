/* SPDX-License-Identifier: MIT */
/*
 * leaks.h - `report --leaks`: blocks that were never freed, after suppressions, with the evidence for a leak.
 */
#ifndef PL_CLI_LEAKS_H
#define PL_CLI_LEAKS_H

#include "analysis/leaks/leftovers.h"
#include "cli/option.h"
#include "cli/report/views.h"

struct pl_leaks_options {
    struct pl_type_list suppressions; /* --suppressions FILE, any number of times */
    bool no_defaults;                 /* --no-default-suppressions */
};

/* All rules: first the `asked_for` rules of the files, then those of LSAN_OPTIONS, then the built-in ones. NULL: a file
 * cannot be used, and the reason has been printed. */
struct pl_suppressions *pl_leaks_suppressions(const struct pl_leaks_options *options, uint32_t *asked_for);

/* Warns of rules from the files that matched nothing. */
void pl_leaks_unmatched(const struct pl_suppressions *set, uint32_t asked_for);

/*
 * Prints the whole view including head and losses, and obeys `top`, `depth` and `threshold` of the view. Fails only if
 * a file of suppressions cannot be used; it has then printed the reason and nothing else.
 */
enum pl_exit pl_leaks_print(const struct pl_view *view, const struct pl_leaks_options *options);

#endif
