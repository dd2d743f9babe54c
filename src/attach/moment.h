/* SPDX-License-Identifier: MIT */
/*
 * moment.h - finds a thread that can load a library now.
 *
 * dlopen() takes the loader's lock and calls malloc. If the thread that we send there is inside one of them already, or
 * another thread waits for it with the loader's lock, the process hangs. So we look at every stack. A thread is safe if
 *
 *   - its stack can be followed to the end, no frame is the loader's or the allocator's, none is a function of libc
 * that holds a lock while it calls others (fork, dl_iterate_phdr), and no signal handler is running, and
 *   - it waits in a system call that neither an allocator nor the loader makes while it holds a lock, or
 *   - it executes code of the program or of a library, but not of libc, the loader or the allocator;
 *
 * and if the loader is not changing its lists. There is no other way to wait for such a moment than to look again: a
 * breakpoint would kill the process if we were killed first.
 */
#ifndef PL_MOMENT_H
#define PL_MOMENT_H

#include "attach/loaded.h"

/* Why no thread was safe, when we last looked. */
enum pl_moment_obstacle {
    PL_MOMENT_NONE,
    PL_MOMENT_LOADER,  /* the loader is busy */
    PL_MOMENT_INSIDE,  /* every thread was in libc, in the allocator or in a signal handler */
    PL_MOMENT_UNKNOWN, /* no stack could be followed to its end */
};

/* All threads are stopped. NULL: none is safe now. */
struct pl_tracee_thread *pl_moment_find(struct pl_tracee *tracee, struct pl_loaded *loaded,
                                        enum pl_moment_obstacle *why);

/* A thread that can make calls that take no lock. NULL: there is none. */
struct pl_tracee_thread *pl_moment_any(struct pl_tracee *tracee, const struct pl_loaded *loaded);

#endif
