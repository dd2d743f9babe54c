/* SPDX-License-Identifier: MIT */
/*
 * save.h - a profile in memory as a file: what pl_profile_open() of it gives is what was saved.
 */
#ifndef PL_SAVE_H
#define PL_SAVE_H

#include "profile.h"

/* With the names of its frames, so that it can be read anywhere. Written beside `path` and renamed: there is a whole
 * file or none. 0, or a negative errno and a line in `why`. */
int pl_profile_save(const struct pl_profile *profile, const char *path, char why[PL_WHY_BYTES]);

#endif
