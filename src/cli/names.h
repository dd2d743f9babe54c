/* SPDX-License-Identifier: MIT */
/*
 * names.h - finds the name rules to apply: those of --names, PLIMSOLL_NAMES, or the user's own file.
 */
#ifndef PL_NAMES_H
#define PL_NAMES_H

#include "analysis/names/simplify.h"
#include "cli/option.h"
#include "cli/term.h"
#include "reader/profile.h"

/* A row of a command's table of options; `given` is a const char *. */
#define PL_NAMES_FILES                                                                                                 \
    "`~/.config/plimsoll/names`, or below $XDG_CONFIG_HOME: name rules, unless --names or $PLIMSOLL_NAMES gives "      \
    "another file. See NAMES in plimsoll(1)."
#define PL_FULL_NAMES_OPTION(given)                                                                                    \
    {                                                                                                                  \
        .name = "full-names", .help = "show names and paths in full: neither renamed nor shortened",                   \
        .type = &pl_type_flag, .into = &(given)                                                                        \
    }
#define PL_NAMES_OPTION(given)                                                                                         \
    {                                                                                                                  \
        .name = "names", .takes = "FILE", .fallback = "~/.config/plimsoll/names, if it exists",                        \
        .variable = "PLIMSOLL_NAMES",                                                                                  \
        .help = "rules that simplify names and shorten stacks; `none` disables even the built-in rules; see "          \
                "`plimsoll help names`",                                                                               \
        .type = &pl_type_text, .into = &(given)                                                                        \
    }

struct pl_names_options {
    const char *file; /* as typed; NULL: not given */
    bool full;        /* functions keep their names; only stacks become shorter */
    bool quiet;       /* do not report rules that matched nothing */
};

/* Reads the rules that the options, the environment or the user's file give; *out is NULL if rules are disabled. On
 * failure the error has been printed. */
enum pl_exit pl_names_read(const struct pl_names_options *options, struct pl_simplify **out);

void pl_names_forget(struct pl_simplify *set); /* NULL is fine */

/* Applies the rules, frees them, and reports rules of --names that matched nothing. */
void pl_names_apply(const struct pl_names_options *options, struct pl_simplify *set, struct pl_profile *profile);

/* Prints the built-in rules, in the format of a rule file. */
void pl_names_print(struct pl_term *term);

#endif
