/* SPDX-License-Identifier: MIT */
/*
 * loads.h - finds the libraries that a loader would load for a program, and their order.
 */
#ifndef PL_LOADS_H
#define PL_LOADS_H

/*
 * Only the loader knows LD_PRELOAD, search paths and caches. So we run it with --list, as ldd does: `command` is its
 * command line. Calls `each` with each path, which is valid only during the call. If the loader fails, there are no
 * paths.
 */
void pl_loads(char *const *command, void (*each)(void *context, const char *path), void *context);

#endif
