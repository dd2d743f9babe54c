/* SPDX-License-Identifier: MIT */
/*
 * linked.h - an allocator that is linked into the program: jemalloc, tcmalloc, mimalloc, or the program's own.
 *
 * Its functions are reached through no name that a preloaded library could take, so their first bytes are made to lead
 * to the hooks of entries.c. That happens in the constructor, before the program's own code runs.
 */
#ifndef PL_LINKED_H
#define PL_LINKED_H

#include <stdbool.h>

/* Hooks it. False: there is none, or it cannot be hooked, and nothing has changed. For the constructor. */
bool pl_linked_hook(void);

/* After pl_linked_hook(): is it the malloc of the libraries, too? Then they may have allocated before. */
bool pl_linked_is_malloc(void);

/* After pl_linked_hook(): could all of its functions be hooked? */
bool pl_linked_is_whole(void);

#endif
