/* SPDX-License-Identifier: MIT */
/*
 * simplify.h - rules that make names simpler and stacks shorter, applied to a profile after it was symbolized.
 *
 * A rule is a line: what to do, and a regular expression (POSIX, extended). Lines that begin with # are comments.
 *
 *   spell REGEX => TEXT      what matches reads TEXT, wherever in the name; \0 is all of it, \1 to \9 its groups
 *   rename REGEX => TEXT     likewise, but in the bare name, which is what is left of the name then
 *   join REGEX => TEXT       as rename, and what then has the same name is one function: files and lines are left out
 *   strip REGEX              template arguments that match as a whole are left out, but never the first
 *   allocator REGEX          such functions only hand memory on: reports begin a stack with whoever called them
 *   drop REGEX               such frames are left out
 *   cut REGEX                stacks end at such a frame: its callers are left out
 *   no-defaults              the rules that are built in are not wanted
 *
 * Built-in rules come first and one's own after them, in their order; each sees the name that those before it have
 * made. A bare name is what reports print: without return type and parameters. rename and join are tried on that, and
 * on the whole name if nothing is found; allocator, drop and cut on both: so `cut ^main$` finds "main(int, char**)".
 *
 * Nothing is lost from the figures: a stack keeps at least its innermost frame, sites whose stacks have become the same
 * are added up, and totals are not touched.
 */
#ifndef PL_SIMPLIFY_H
#define PL_SIMPLIFY_H

#include <regex.h>

#include "profile.h"
#include "stem.h"

struct pl_simplify_kind;

struct pl_simplify_rule {
    const struct pl_simplify_kind *kind;
    regex_t expression;
    const char *pattern, *replacement;
    uint32_t groups;     /* that it must tell: the whole match, and those that the replacement names */
    struct pl_stem stem; /* of its matches */
    const char *file;    /* NULL: built in */
    uint32_t line;
    uint32_t names; /* that it was good for: different ones */
    bool emptied;   /* it would have left nothing of a name, and so left that as it was */
};

struct pl_simplify {
    struct pl_simplify_rule *rule; /* built-in ones first: those about spelling, then those about allocators */
    uint32_t count, builtin, spellings;
    uint32_t capacity;
    struct pl_simplify_rule allocators; /* all built-in ones that are anchored, in one */
    bool no_defaults;
    struct pl_arena *arena;
};

/* The built-in rules, as one would write them. */
extern const char pl_simplify_builtin[];

struct pl_simplify *pl_simplify_new(void); /* the built-in rules */
void pl_simplify_free(struct pl_simplify *set);

/* Adds the rules of a file, or of a text that stands for one. On failure `why` names file, line and what is wrong, and
 * the set is as before. */
int pl_simplify_read(struct pl_simplify *set, const char *path, char why[PL_WHY_BYTES]);
int pl_simplify_parse(struct pl_simplify *set, const char *path, const char *text, size_t bytes,
                      char why[PL_WHY_BYTES]);

/* What all rules together make of one name. It is `name` itself if nothing changed; never empty. */
struct pl_simplified {
    const char *name; /* in the arena, or the name that was given */
    bool renamed, join, allocator, drop, cut;
    bool bare; /* it has neither return type nor parameters, whatever it looks like: somebody has chosen it */
};
struct pl_simplified pl_simplify_name(struct pl_simplify *set, struct pl_arena *arena, const char *name);

/* Applies all rules. With `keep_names` functions keep their names and lines, and only stacks become shorter. Pointers
 * into the profile's frames, stacks, sites and shares are void afterwards; it is as valid as before. */
void pl_simplify_profile(struct pl_simplify *set, struct pl_profile *profile, bool keep_names);

#endif
