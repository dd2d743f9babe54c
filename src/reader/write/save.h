/* SPDX-License-Identifier: MIT */
/*
 * save.h - writes a profile from memory to a file: pl_profile_open() reads back what was saved.
 */
#ifndef PL_SAVE_H
#define PL_SAVE_H

#include "reader/profile.h"

/* Stores the names of frames too, so that the file can be read anywhere. Writes beside `path` and renames: there is a
 * complete file or none. 0, or a negative errno and a line in `why`. */
int pl_save(const struct pl_profile *profile, const char *path, char why[PL_WHY_BYTES]);

#endif
