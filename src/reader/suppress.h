/* SPDX-License-Identifier: MIT */
/*
 * suppress.h - which stacks are not worth mentioning when one asks what was never freed.
 *
 * There are two kinds of rule. One's own come from files in LeakSanitizer's format, and mean what they mean there: a
 * stack is suppressed if the pattern is found in a function, source file or module of any of its frames.
 *
 * Built-in rules (onetime.c) are about what system libraries allocate once and keep on purpose. They must never hide a
 * leak of the program that is profiled, so they ask for more: a whole name of a function in a module where that
 * function lives, nothing but that module and the C and C++ libraries between it and the allocation, and few blocks.
 * Whoever asks should not apply them to what is suspected, either.
 */
#ifndef PL_SUPPRESS_H
#define PL_SUPPRESS_H

#include "profile.h"

struct pl_suppression {
    const char *pattern;
    /* One's own: where it stands. */
    const char *file; /* NULL: built in */
    uint32_t line;
    /* Built in. */
    const char *const *modules; /* patterns of paths; NULL ends them */
    const char *const *inner;   /* others that may lie between the function and the allocation; NULL: none */
    uint32_t blocks_most;       /* at one stack */
    bool below;                 /* what it hands out itself is its caller's: only what its callees allocate is kept */
    const char *why;
    /* What it was good for: counted by who applies it. */
    uint32_t stacks;
    double blocks, bytes;
};

struct pl_suppressions {
    struct pl_suppression *rule; /* one's own first */
    uint32_t count, own;
    uint32_t capacity;
    uint32_t ignored; /* lines for other tools */
    char first_ignored[PL_WHY_BYTES];
    struct pl_arena *arena;
};

/* As LeakSanitizer: a part of the text, `*` for anything, `^` and `$` for its ends. Nothing matches the empty text. */
bool pl_pattern_matches(const char *pattern, const char *text);

struct pl_suppressions *pl_suppressions_new(void);
void pl_suppressions_free(struct pl_suppressions *set);

/*
 * Lines `leak:PATTERN`, comments (`#`) and empty ones; lines for other tools (`race:...`) are counted in `ignored`. The
 * set is as before on failure, and `why` names file and line. Not after pl_suppressions_add_builtin().
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
