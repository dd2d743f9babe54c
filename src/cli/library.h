/* SPDX-License-Identifier: MIT */
/*
 * library.h - finds libplimsoll.so, built or installed.
 */
#ifndef PL_LIBRARY_H
#define PL_LIBRARY_H

#include <stdbool.h>

/*
 * Its absolute path, or with `new` that of the flavour that hooks operator new, too. NULL when there is none, and the
 * reason has been said. The caller frees it.
 */
char *pl_library_find(bool new);

/* LD_PRELOAD with the library in front of what was there (unless it is there already). The caller frees it. */
char *pl_library_preload(const char *library, const char *before);

#endif
