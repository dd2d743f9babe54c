/* SPDX-License-Identifier: MIT */
/*
 * target.h - looks at the program before it runs, and says whether it can be profiled in the way that is meant.
 */
#ifndef PL_TARGET_H
#define PL_TARGET_H

#include <stdbool.h>

#include "program.h"

/* How the profiler gets into a program. */
enum pl_way {
    PL_WAY_PRELOAD, /* libplimsoll.so in front of its libraries */
    PL_WAY_LOADER,  /* a glibc with the profiler inside: the program alone, run by that glibc's loader */
    PL_WAY_TREE,    /* the same for all that it starts, in a namespace where that glibc is the system's */
    PL_WAY_COUNT,
};

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
    PL_OBSTACLE_ALLOCATOR,     /* a library serves malloc in the place of glibc, which has the profiler inside */
    PL_OBSTACLE_LOADER,        /* its loader is glibc's, but not the system's: a tree does not reach it */
    PL_OBSTACLE_UNREADABLE,    /* may be executed, but not read, as a loader must */
    PL_OBSTACLE_COUNT,
};

struct pl_target {
    enum pl_way way;
    struct pl_program program;
    char *loader;    /* of the binary, when it is dynamic */
    char *allocator; /* the library that serves malloc; NULL: libc, or unknown */
    bool new;        /* it brings operator new, so C++ allocations bypass malloc */
    bool inside;     /* static, and linked with a libc.a that has the profiler inside */
    bool shallow;    /* likewise, but without the table that stacks are found by */
    bool demoted;    /* setuid, setgid or with file capabilities, which count for nothing under a loader of ours */
    enum pl_obstacle obstacle;
};

/* `argv` is a command line as execvp() takes it. */
struct pl_target pl_target_inspect(char *const *argv, enum pl_way way);
void pl_target_free(struct pl_target *target);

/* Nothing at all can be recorded of the program itself, which is known before it runs. */
bool pl_target_blocked(const struct pl_target *target);

/* It cannot be run at all in the way that is meant. */
bool pl_target_refused(const struct pl_target *target);

/* "./server is statically linked, so it cannot be preloaded"; NULL if nothing is in the way. The caller frees it. */
char *pl_target_why(const struct pl_target *target);

/* What to do about it; NULL likewise. The caller frees it. */
char *pl_target_advice(const struct pl_target *target);

#endif
