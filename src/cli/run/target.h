/* SPDX-License-Identifier: MIT */
/*
 * target.h - inspects the program before it runs, and tells whether it can be profiled in the way that is requested.
 */
#ifndef PL_TARGET_H
#define PL_TARGET_H

#include <stdbool.h>

#include "cli/run/program.h"

/* How the profiler gets into a program. */
enum pl_way {
    PL_WAY_PRELOAD, /* libplimsoll.so in front of its libraries */
    PL_WAY_LOADER,  /* a glibc with the profiler inside: only the program, run by that glibc's loader */
    PL_WAY_TREE,    /* the same for all programs that it starts, in a namespace where that glibc is the system's */
    PL_WAY_COUNT,
};

/* Why a program cannot be profiled. The table in target.c has the messages. */
enum pl_obstacle {
    PL_OBSTACLE_NONE,
    PL_OBSTACLE_STATIC,
    PL_OBSTACLE_SECURE,
    PL_OBSTACLE_CLASS,
    PL_OBSTACLE_MACHINE,
    PL_OBSTACLE_LIBC,
    PL_OBSTACLE_OWN_MALLOC,    /* it defines and exports malloc: the program and its libraries use that one. This and
                                  the next two are none if the preloaded library has hooked the allocator */
    PL_OBSTACLE_HIDDEN_MALLOC, /* it defines malloc: the program uses that one, its libraries may use ours */
    PL_OBSTACLE_PREFIXED,      /* it has an allocator linked in, whose functions are called je_malloc or the like */
    PL_OBSTACLE_SANITIZER,     /* it has a sanitizer linked in, whose malloc is its own */
    PL_OBSTACLE_ALLOCATOR,     /* a library provides malloc instead of glibc, which has the profiler inside */
    PL_OBSTACLE_LOADER,        /* it names a glibc loader that is not the system's: --glibc-tree does not replace it */
    PL_OBSTACLE_UNREADABLE,    /* it may be executed but not read, and a loader has to read it */
    PL_OBSTACLE_COUNT,
};

struct pl_target {
    enum pl_way way;
    struct pl_program_command program;
    char *loader;         /* of the binary, when it is dynamic */
    const char *prefixed; /* PL_OBSTACLE_PREFIXED: the name of its malloc */
    char *allocator;      /* the library that provides malloc; NULL: libc, or unknown */
    bool new;             /* that library also defines operator new, so C++ allocations bypass malloc */
    bool asan;            /* that library is AddressSanitizer, which refuses to start behind a preloaded library */
    bool inside;          /* static, and linked with a libc.a that has the profiler inside */
    bool shallow;         /* likewise, but without .eh_frame_hdr, which unwinding needs */
    bool demoted;         /* setuid, setgid or with file capabilities, which have no effect if our loader loads it */
    enum pl_obstacle obstacle;
};

/* Does the binary have an allocator linked in whose functions no hook sees? If it exports malloc, the runtime finds out
 * by itself: then false. */
bool pl_target_has_allocator(const char *binary);

/* `argv` is a command line as execvp() takes it. */
struct pl_target pl_target_inspect(char *const *argv, enum pl_way way);
void pl_target_free(struct pl_target *target);

/* True: nothing can be recorded of the program itself. */
bool pl_target_blocked(const struct pl_target *target);

/* True: it cannot run at all in the way that is requested. */
bool pl_target_refused(const struct pl_target *target);

/* "./server is statically linked, so it cannot be preloaded"; NULL if there is no obstacle. The caller frees it. */
char *pl_target_why(const struct pl_target *target);

/* What to do about it; NULL likewise. The caller frees it. */
char *pl_target_advice(const struct pl_target *target);

#endif
