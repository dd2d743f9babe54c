/* SPDX-License-Identifier: MIT */
/*
 * simplify.h - rules that make names simpler and stacks shorter, applied to a profile after it was symbolized.
 *
 * A rule is a line: what to do, and a regular expression (POSIX, extended). Lines that begin with # are comments.
 *
 *   spell REGEX => TEXT      each match in the name becomes TEXT; \0 is the whole match, \1 to \9 are its groups
 *   rename REGEX => TEXT     the same in the bare name; the rest of the name is dropped
 *   join REGEX => TEXT       as rename, and functions with the same result are one: files and lines are left out
 *   strip REGEX              leaves out template arguments that match as a whole, but never the first
 *   allocator REGEX          such functions only pass memory on: reports begin a stack with their caller
 *   drop REGEX               leaves out such frames
 *   cut REGEX                stacks end at such a frame: its callers are left out
 *   no-defaults              leaves out the built-in rules
 *
 * Built-in rules come first, then those of the user, in their order; each sees the name that the rules before it have
 * made. A bare name is what reports print: without return type and parameters. rename and join are tried on that, and
 * on the whole name if nothing is found; allocator, drop and cut on both: so `cut ^main$` finds "main(int, char**)".
 *
 * No figure is lost: a stack keeps at least its innermost frame, sites whose stacks have become the same are added up,
 * and totals do not change.
 */
#ifndef PL_SIMPLIFY_H
#define PL_SIMPLIFY_H

#include <regex.h>

#include "analysis/names/stem.h"
#include "reader/profile.h"

struct pl_simplify_kind;

struct pl_simplify_rule {
    const struct pl_simplify_kind *kind;
    regex_t expression;
    const char *pattern, *replacement;
    uint32_t groups;     /* to ask for: the whole match, and the groups that the replacement uses */
    struct pl_stem stem; /* of its matches */
    const char *file;    /* NULL: built in */
    uint32_t line;
    uint32_t names; /* how many different names it applied to */
    bool emptied;   /* it would have left nothing of a name, and so was not applied to it */
};

struct pl_simplify {
    struct pl_simplify_rule *rule; /* built-in ones first: those about spelling, then those about allocators */
    uint32_t count, builtin, spellings;
    uint32_t capacity;
    struct pl_simplify_rule allocators; /* all anchored built-in ones, joined into one */
    bool no_defaults;
    struct pl_arena *arena;
};

/* The built-in rules, as text. */
extern const char pl_simplify_builtin[];

struct pl_simplify *pl_simplify_new(void); /* the built-in rules */
void pl_simplify_free(struct pl_simplify *set);

/* Adds the rules of a file, or of a text in its place. On failure `why` names file, line and what is wrong, and the set
 * is unchanged. */
int pl_simplify_read(struct pl_simplify *set, const char *path, char why[PL_WHY_BYTES]);
int pl_simplify_parse(struct pl_simplify *set, const char *path, const char *text, size_t bytes,
                      char why[PL_WHY_BYTES]);

/* What all rules together make of one name. It is `name` itself if nothing changed; never empty. */
struct pl_simplified {
    const char *name; /* in the arena, or the name that was given */
    bool renamed, join, allocator, drop, cut;
    bool bare; /* it has neither return type nor parameters, whatever it looks like: a rule has chosen it */
};
struct pl_simplified pl_simplify_name(struct pl_simplify *set, struct pl_arena *arena, const char *name);

/* Applies all rules. With `keep_names` functions keep their names and lines, and only stacks become shorter. Pointers
 * into the profile's frames, stacks, sites and shares are invalid afterwards; the profile is as valid as before. */
void pl_simplify_profile(struct pl_simplify *set, struct pl_profile *profile, bool keep_names);

/* Makes all stacks shorter, and adds up what has become the same. `shorten` writes the frames that are left of a stack,
 * at least one, and returns how many. */
typedef uint32_t pl_shorten(const void *by, const struct pl_stack_view *stack, uint32_t *to);
void pl_shorten_stacks(struct pl_profile *profile, pl_shorten *shorten, const void *by);

#endif
