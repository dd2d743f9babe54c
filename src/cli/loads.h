/* SPDX-License-Identifier: MIT */
/*
 * loads.h - which libraries a loader would load for a program, and in which order.
 */
#ifndef PL_LOADS_H
#define PL_LOADS_H

/*
 * Only the loader knows, from LD_PRELOAD, search paths and caches. So it is asked, which is what ldd does: `command` is
 * its own command line, with --list in it. The paths are handed to `each`, one by one, and are its to read and to keep
 * no longer. Of a loader that does not answer there are none.
 */
void pl_loads(char *const *command, void (*each)(void *context, const char *path), void *context);

#endif
