/* SPDX-License-Identifier: MIT */
/*
 * role.h - whose code a frame is, and in which language. Reports begin a stack with the innermost frame of the program
 * itself.
 */
#ifndef PL_ROLE_H
#define PL_ROLE_H

#include "reader/profile.h"

enum pl_role {
    PL_ROLE_OWN,       /* the program, and libraries that came with it */
    PL_ROLE_LIBRARY,   /* system libraries, and standard library code, wherever it was inlined */
    PL_ROLE_ALLOCATOR, /* between the code that wants memory and malloc; decided by the rules for names */
    PL_ROLE_START,     /* calls main or a thread's function */
    PL_ROLE_THRESHOLD, /* the same in a language's runtime: all frames outside of it belong to the runtime, too */
};

/* Has the program methods or scripts that were compiled at run time, and have names? Then they are its own code, and
 * the executable is only the runtime that executes them: node, java. */
bool pl_role_is_managed(const struct pl_profile *profile);

enum pl_role pl_role_of(const struct pl_profile *profile, bool managed, uint32_t module, const struct pl_place *place);

/* Code that compilers make at run time is told apart by the names that they give to it. The order is part of page data.
 */
enum pl_language {
    PL_LANGUAGE_NATIVE, /* compiled before the program ran, whatever its language */
    PL_LANGUAGE_PYTHON,
    PL_LANGUAGE_JAVASCRIPT,
    PL_LANGUAGE_JAVA,     /* and others that run on its machine */
    PL_LANGUAGE_RUN_TIME, /* another one, or code that the compiler needs itself */
};

enum pl_language pl_language_of(const struct pl_profile *profile, uint32_t module, const struct pl_place *place);

#endif
