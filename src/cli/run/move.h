/* SPDX-License-Identifier: MIT */
/*
 * move.h - moves a finished profile to its destination, and never replaces a file that is not an old profile.
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
 * Moves `from` to `to`, or to `to.1`, `to.2`, ... if a file is in the way. An old profile is replaced, atomically,
 * unless this run wrote it, or it is a snapshot, or it belongs to a running process. Returns the new path, and adds it
 * to `taken`; or NULL with errno.
 */
char *pl_move(const char *from, const char *to, struct pl_move_taken *taken);
void pl_move_free(struct pl_move_taken *taken);

#endif
