/* SPDX-License-Identifier: MIT */
/*
 * names.h - which rules for names are in force: --names, or PLIMSOLL_NAMES, or one's own file of them.
 */
#ifndef PL_NAMES_H
#define PL_NAMES_H

#include "option.h"
#include "profile.h"
#include "simplify.h"
#include "term.h"

/* A row of a command's table of options; `given` is a const char *. */
#define PL_NAMES_FILES                                                                                                 \
    "`~/.config/plimsoll/names`, or below $XDG_CONFIG_HOME: rules for names, unless --names or $PLIMSOLL_NAMES says "  \
    "otherwise. See NAMES in plimsoll(1)."
#define PL_FULL_NAMES_OPTION(given)                                                                                    \
    {                                                                                                                  \
        .name = "full-names", .help = "show names and paths as they are: neither renamed nor shortened",               \
        .type = &pl_type_flag, .into = &(given)                                                                        \
    }
#define PL_NAMES_OPTION(given)                                                                                         \
    {                                                                                                                  \
        .name = "names", .takes = "FILE", .fallback = "~/.config/plimsoll/names, if it is there",                      \
        .variable = "PLIMSOLL_NAMES",                                                                                  \
        .help = "rules that make names simpler and stacks shorter; `none`: not even those that are built in; see "     \
                "`plimsoll help names`",                                                                               \
        .type = &pl_type_text, .into = &(given)                                                                        \
    }

struct pl_names_options {
    const char *file; /* as typed; NULL: not given */
    bool full;        /* functions keep their names; only stacks become shorter */
    bool quiet;       /* do not say which rules did nothing */
};

/* Reads the rules that these options, the environment and the user's files say; *out is NULL if there are to be none.
 * On failure the reason has been said. */
enum pl_exit pl_names_read(const struct pl_names_options *options, struct pl_simplify **out);

void pl_names_forget(struct pl_simplify *set); /* NULL is fine */

/* Applies them, forgets them, and says which of the rules that were asked for by --names met nothing. */
void pl_names_apply(const struct pl_names_options *options, struct pl_simplify *set, struct pl_profile *profile);

/* The built-in rules, as they would be written. */
void pl_names_print(struct pl_term *term);

#endif
