/* SPDX-License-Identifier: MIT */
/*
 * suppress.h - which stacks to leave out of the list of memory never freed.
 *
 * There are two kinds of rule. The user's come from files in LeakSanitizer's format, and mean what they mean there: a
 * stack is suppressed if the pattern is found in a function, source file or module of any of its frames.
 *
 * Built-in rules (onetime.c) are about what system libraries allocate once and keep on purpose. They must never hide a
 * leak of the program that is profiled, so they require more: a whole name of a function in a module where that
 * function lives, only that module and the C and C++ libraries between it and the allocation, and few blocks. Callers
 * should not apply them to leak suspects, either.
 */
#ifndef PL_SUPPRESS_H
#define PL_SUPPRESS_H

#include "reader/profile.h"

struct pl_suppression {
    const char *pattern;
    /* A user's rule: where it is written. */
    const char *file; /* NULL: built in */
    uint32_t line;
    /* A built-in rule. */
    const char *const *modules; /* patterns of paths; NULL ends them */
    const char *const *inner;   /* other modules that may lie between the function and the allocation; NULL: none */
    uint32_t blocks_most;       /* per stack */
    bool below;                 /* only for blocks that its callees allocate: its own blocks are its caller's */
    const char *why;
    /* How much it has suppressed. The code that applies the rule counts this. */
    uint32_t stacks;
    double blocks, bytes;
};

struct pl_suppressions {
    struct pl_suppression *rule; /* the user's first */
    uint32_t count, own;
    uint32_t capacity;
    uint32_t ignored; /* lines for other tools */
    char first_ignored[PL_WHY_BYTES];
    struct pl_arena *arena;
};

/* As in LeakSanitizer: matches a part of the text, `*` matches anything, `^` and `$` its ends. The empty text never
 * matches. */
bool pl_suppress_matches(const char *pattern, const char *text);

struct pl_suppressions *pl_suppressions_new(void);
void pl_suppressions_free(struct pl_suppressions *set);

/*
 * Reads lines `leak:PATTERN`, comments (`#`) and empty lines; lines for other tools (`race:...`) are counted in
 * `ignored`. On failure the set is unchanged, and `why` names file and line. Not to be called after
 * pl_suppressions_add_builtin().
 */
int pl_suppressions_read(struct pl_suppressions *set, const char *path, char why[PL_WHY_BYTES]);
int pl_suppressions_parse(struct pl_suppressions *set, const char *path, const char *text, size_t bytes,
                          char why[PL_WHY_BYTES]);

void pl_suppressions_add_builtin(struct pl_suppressions *set);

/* The rules of onetime.c; a NULL pattern ends them. */
extern const struct pl_suppression pl_suppress_onetime[];
/* Modules that may lie between the function of any built-in rule and the allocation. */
extern const char *const pl_suppress_system[];

/* Looks rules up stack by stack; frames and modules are compared with patterns once. */
struct pl_suppressor;
struct pl_suppressor *pl_suppressor_new(const struct pl_profile *profile, const struct pl_suppressions *set);
void pl_suppressor_free(struct pl_suppressor *suppressor);

/* The number of the rule for a stack; PL_NO_RULE: none. */
#define PL_NO_RULE UINT32_MAX
uint32_t pl_suppressor_rule(struct pl_suppressor *suppressor, uint32_t stack);

#endif
