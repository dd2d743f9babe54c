/* SPDX-License-Identifier: MIT */
/*
 * library.h - finds libplimsoll.so and what else lies beside it, built or installed.
 */
#ifndef PL_LIBRARY_H
#define PL_LIBRARY_H

#include <stdbool.h>

/*
 * Its absolute path, or with `new` that of the flavour that hooks operator new, too, such that LD_PRELOAD can have it
 * in it. NULL when there is none, and the reason has been said. The caller frees it.
 */
char *pl_library_find(bool new);

/*
 * An absolute path of this file or directory that a list of a loader's (LD_PRELOAD, --library-path) can have in it: the
 * same, or a link where that has a blank or a separator. NULL when no link can be made. The caller frees it.
 */
char *pl_library_listable(const char *path);

/* A file that was built or installed along with us, by its name there: its absolute path, or NULL. The caller frees it.
 */
char *pl_library_beside(const char *name);

/* The directory of the program that we are. The caller frees it. */
char *pl_library_own_directory(void);

/* LD_PRELOAD with the library in front of what was there (unless it is there already). The caller frees it. */
char *pl_library_preload(const char *library, const char *before);

/* LD_PRELOAD without any library of ours. The caller frees it. */
char *pl_library_unload(const char *before);

#endif
