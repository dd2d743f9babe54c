/* SPDX-License-Identifier: MIT */
/*
 * invocation.h - whose profile it is: the program, and how it was called.
 */
#ifndef PL_INVOCATION_H
#define PL_INVOCATION_H

#include <stdbool.h>

#include "profile.h"

/* "indexer": the file's name without its directory; "" if nobody knows, as of several programs that were merged. */
const char *pl_invocation_program(const struct pl_profile *profile);

/* "./indexer --fast data/", or so much of it as anybody would read. The caller frees it. */
char *pl_invocation_print(const struct pl_profile *profile);

/* Both are known, and not the same. */
bool pl_invocation_other_program(const struct pl_profile *a, const struct pl_profile *b);

/* Another program, or other arguments. In which directory a program is makes no difference. */
bool pl_invocation_differs(const struct pl_profile *a, const struct pl_profile *b);

#endif
