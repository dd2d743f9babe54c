/* SPDX-License-Identifier: MIT */
/*
 * move.h - puts a finished profile where it belongs, without ever harming a file that is somebody else's.
 */
#ifndef PL_MOVE_H
#define PL_MOVE_H

#include <stdbool.h>
#include <stddef.h>

/* The destinations a run has used: profiles of one run never replace each other. */
struct pl_move_taken {
    char **path;
    size_t count;
};

/*
 * Moves `from` to `to`, or to `to.1`, `to.2`, ... where a file is in the way. An old profile is not in the way, unless
 * it was taken in this run, is a snapshot or belongs to a running process: it is replaced, atomically. Returns where it
 * went (and remembers it as taken), or NULL with errno.
 */
char *pl_move(const char *from, const char *to, struct pl_move_taken *taken);
void pl_move_free(struct pl_move_taken *taken);

#endif
