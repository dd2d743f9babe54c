/* SPDX-License-Identifier: MIT */
/*
 * role.h - whose code a frame is. Reports begin a stack with the innermost frame of the program itself.
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

enum pl_role pl_role_of(const struct pl_profile *profile, uint32_t module, const struct pl_place *place);

#endif
