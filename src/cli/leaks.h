/* SPDX-License-Identifier: MIT */
/*
 * leaks.h - `report --leaks`: what was never freed, after suppressions, and what speaks for a leak.
 */
#ifndef PL_CLI_LEAKS_H
#define PL_CLI_LEAKS_H

#include "leftovers.h"
#include "option.h"
#include "view.h"

/* Files of suppressions in the order they were given; the names are those of argv. */
struct pl_leaks_files {
    const char **path;
    size_t count;
};

struct pl_leaks_options {
    struct pl_leaks_files suppressions; /* --suppressions FILE, any number of times */
    bool no_defaults;                   /* --no-default-suppressions */
};

/* The type of an option that may be given several times: `into` is a struct pl_leaks_files. */
extern const struct pl_type pl_type_files;

/* All rules in force: those of the files, so many as `asked_for` says, of LSAN_OPTIONS, and built-in ones. NULL:
 * a file cannot be used, and that has been said. */
struct pl_suppressions *pl_leaks_suppressions(const struct pl_leaks_options *options, uint32_t *asked_for);

/* Says which of the rules that were asked for have matched nothing. */
void pl_leaks_unmatched(const struct pl_suppressions *set, uint32_t asked_for);

/*
 * Prints the whole view, head and losses included; `top`, `depth` and `threshold` of the view are honoured. Fails, with
 * the reason said and nothing printed, only when a file of suppressions cannot be used.
 */
enum pl_exit pl_leaks_print(const struct pl_view *view, const struct pl_leaks_options *options);

#endif
