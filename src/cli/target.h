/* SPDX-License-Identifier: MIT */
/*
 * target.h - looks at the program before it runs, and says whether it can be profiled by preloading.
 */
#ifndef PL_TARGET_H
#define PL_TARGET_H

#include <stdbool.h>

/* What stands in the way. The table in target.c has the words. */
enum pl_obstacle {
    PL_OBSTACLE_NONE,
    PL_OBSTACLE_STATIC,
    PL_OBSTACLE_SECURE,
    PL_OBSTACLE_CLASS,
    PL_OBSTACLE_MACHINE,
    PL_OBSTACLE_LIBC,
    PL_OBSTACLE_OWN_MALLOC,    /* defined and exported: everybody uses it, nobody ours */
    PL_OBSTACLE_HIDDEN_MALLOC, /* defined: the program uses it, its libraries may use ours */
    PL_OBSTACLE_COUNT,
};

struct pl_target {
    char *path;    /* the file that will be executed; NULL: not found */
    char *binary;  /* the same, or the interpreter if that is a script; NULL: unknown */
    char *loader;  /* of the binary, when it is dynamic */
    char *missing; /* an interpreter that a script asks for and that does not exist */
    enum pl_obstacle obstacle;
};

struct pl_target pl_target_inspect(const char *program);
void pl_target_free(struct pl_target *target);

/* Nothing at all can be recorded of the program itself, which is known before it runs. */
bool pl_target_blocked(const struct pl_target *target);

/* "./server is statically linked, so it cannot be preloaded"; NULL if nothing is in the way. The caller frees it. */
char *pl_target_why(const struct pl_target *target);

/* What to do about it. */
const char *pl_target_advice(const struct pl_target *target);

#endif
