/* SPDX-License-Identifier: MIT */
/*
 * cache.h - the user's directory for files that can be made again: $XDG_CACHE_HOME/plimsoll or ~/.cache/plimsoll.
 */
#ifndef PL_CACHE_H
#define PL_CACHE_H

/* The directory, which now exists unless its parents belong to somebody else. NULL: there is no home directory. The
 * caller frees it. */
char *pl_cache_home(void);

/* A directory that other users can pass through, but neither list nor change. */
void pl_cache_make(const char *path);

/* The directory for pl_symbolize_options.cache, which PLIMSOLL_CACHE may change or switch off. NULL: none. */
#define PL_CACHE_VARIABLE "PLIMSOLL_CACHE"
#define PL_CACHE_OFF "off"
const char *pl_cache_symbols(void);

#endif
