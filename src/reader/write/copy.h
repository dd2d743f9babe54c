/* SPDX-License-Identifier: MIT */
/*
 * copy.h - copies a profile, while it is being written, to a file of its own: a snapshot.
 *
 * The process is not stopped or signalled, and does not notice. The copy is a complete profile, without the space that
 * the process reserves for growth. Only pl_annotate() writes to it later.
 */
#ifndef PL_COPY_H
#define PL_COPY_H

#include "reader/profile.h"

struct pl_copy;

/* Reads the profile at `path` into memory, as it is now. 0, or a negative errno and a line in `why`. */
int pl_copy_take(const char *path, struct pl_copy **out, char why[PL_WHY_BYTES]);
void pl_copy_free(struct pl_copy *copy);

const struct pl_header *pl_copy_header(const struct pl_copy *copy);

/* Where the process will leave its profile when it ends; "" if it stays where it is. */
const char *pl_copy_destination(const struct pl_copy *copy);

/* Writes the copy to an empty file, as the snapshot of this name ("": none). Returns 0 or a negative errno. Until all
 * of it is written, the file does not read as a profile. */
int pl_copy_write(struct pl_copy *copy, const char *name, int fd);

#endif
