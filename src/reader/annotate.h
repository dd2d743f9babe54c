/* SPDX-License-Identifier: MIT */
/*
 * annotate.h - what is added to a profile after its process has ended: names for its frames, and how it ended.
 */
#ifndef PL_ANNOTATE_H
#define PL_ANNOTATE_H

#include <stdint.h>

#include "profile.h"

/*
 * Stores the places of all frames of `symbolized`, which was opened from this very file, as symbol records; the file
 * can then be read where the program's files are not. A file that has its symbols already is left as it is. The space
 * that the process kept for growing is cut off. 0, or a negative errno, a line in `why`, and a file that reads as
 * before.
 */
int pl_annotate(const char *path, const struct pl_profile *symbolized, char why[PL_WHY_BYTES]);

/* The status from waitpid(), and when that was (CLOCK_MONOTONIC; used if the process left no time of its own). */
int pl_profile_set_ending(const char *path, int wait_status, uint64_t end_ns, char why[PL_WHY_BYTES]);

#endif
