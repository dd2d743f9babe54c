/* SPDX-License-Identifier: MIT */
/*
 * role.h - whose code a frame is. Reports begin a stack with the first frame that is the reader's own.
 */
#ifndef PL_ROLE_H
#define PL_ROLE_H

#include "profile.h"

enum pl_role {
    PL_ROLE_OWN,       /* the program, and libraries that came with it */
    PL_ROLE_LIBRARY,   /* system libraries, and standard library code wherever it was inlined to */
    PL_ROLE_ALLOCATOR, /* between whoever wanted memory and malloc, by the rules for names */
    PL_ROLE_START,     /* outside of main and of thread functions */
    PL_ROLE_THRESHOLD, /* likewise, and all that is outside of it, whatever it looks like: a language's runtime */
};

enum pl_role pl_role_of(const struct pl_profile *profile, uint32_t module, const struct pl_place *place);

#endif
