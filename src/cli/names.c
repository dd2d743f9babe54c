/* SPDX-License-Identifier: MIT */
/*
 * names.c - finds the name rules.
 *
 * Only the first of these that is given is read: --names, PLIMSOLL_NAMES, the user's own file. Only the last may be
 * missing. The built-in rules are added to each of them, unless the file is `none` or says no-defaults.
 */
#include "cli/names.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The path of the user's own file, which may not exist; NULL: there is no home directory. The caller frees it. */
static char *own_file(void)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if (config && *config == '/') /* the XDG specification says to ignore relative paths */
        return pl_say_print("%s/plimsoll/names", config);
    return home && *home ? pl_say_print("%s/.config/plimsoll/names", home) : NULL;
}

/* The file to read; NULL: none. The caller frees it. */
static char *choose_file(const char *given)
{
    const char *variable = getenv("PLIMSOLL_NAMES");
    if (given || (variable && *variable))
        return pl_say_print("%s", given ? given : variable);
    char *own = own_file();
    if (own && access(own, F_OK)) {
        free(own);
        return NULL;
    }
    return own;
}

enum pl_exit pl_names_read(const struct pl_names_options *options, struct pl_simplify **out)
{
    char *path = choose_file(options->file), why[PL_WHY_BYTES];
    enum pl_exit status = PL_EXIT_OK;
    *out = NULL;
    if (!path || strcmp(path, "none")) {
        *out = pl_simplify_new();
        if (path && pl_simplify_read(*out, path, why)) {
            status = pl_say_usage("%s; `%s help names` explains", why, pl_say_self());
            pl_names_forget(*out);
            *out = NULL;
        }
    }
    free(path);
    return status;
}

/* Reports rules that changed nothing, for one of two reasons. */
static void say_idle(const struct pl_simplify *set, bool emptied, const char *what)
{
    const struct pl_simplify_rule *first = NULL;
    uint32_t idle = 0;
    for (uint32_t i = set->builtin; i < set->count; i++) {
        if (set->rule[i].names || set->rule[i].emptied != emptied)
            continue;
        first = first ? first : &set->rule[i];
        idle++;
    }
    if (idle == 1)
        pl_say("%s:%u: this rule %s: %s", first->file, first->line, what, first->pattern);
    else if (idle)
        pl_say("%s:%u: this rule and %u more %s: %s", first->file, first->line, idle - 1, what, first->pattern);
}

void pl_names_forget(struct pl_simplify *set)
{
    if (set)
        pl_simplify_free(set);
}

void pl_names_apply(const struct pl_names_options *options, struct pl_simplify *set, struct pl_profile *profile)
{
    if (!set)
        return;
    pl_simplify_profile(set, profile, options->full);
    if (options->file && !options->quiet) { /* but not for the user's own file, which is for every program */
        say_idle(set, false, "matched no name");
        say_idle(set, true, "would have emptied a name, and was not applied");
    }
    pl_names_forget(set);
}

void pl_names_print(struct pl_term *term)
{
    for (const char *line = pl_simplify_builtin; *line;) {
        size_t bytes = strcspn(line, "\n");
        pl_term_print(term, PL_STYLE_PLAIN, "%s%.*s", bytes ? "  " : "", (int) bytes, line);
        pl_term_end(term);
        line += bytes + (line[bytes] == '\n');
    }
}
