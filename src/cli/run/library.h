/* SPDX-License-Identifier: MIT */
/*
 * library.h - finds libplimsoll.so and the files beside it, built or installed.
 */
#ifndef PL_LIBRARY_H
#define PL_LIBRARY_H

#include <stdbool.h>

/*
 * The absolute path of libplimsoll.so or, with `new`, of the flavour that also hooks operator new. LD_PRELOAD can
 * contain it. NULL: not found, and the error has been printed. The caller frees it.
 */
char *pl_library_find(bool new);

/*
 * An absolute path of this file or directory that a loader's list (LD_PRELOAD, --library-path) can contain: the path
 * itself or, if that has a separator in it, a link. NULL: no link can be made. The caller frees it.
 */
char *pl_library_listable(const char *path);

/* The absolute path of a file that was built or installed along with us, by its name; or NULL. The caller frees it. */
char *pl_library_beside(const char *name);

/* The directory of our own executable. The caller frees it. */
char *pl_library_own_directory(void);

/* LD_PRELOAD with the library in front, and no other library of ours. The caller frees it. */
char *pl_library_preload(const char *library, const char *before);

/* LD_PRELOAD without any library of ours. The caller frees it. */
char *pl_library_unload(const char *before);

#endif
