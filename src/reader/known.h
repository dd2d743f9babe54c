/* SPDX-License-Identifier: MIT */
/*
 * known.h - names of frames that were looked up once, for a profile that is read again and again while it grows.
 *
 * Frames keep their record numbers as long as the program runs, so what one was called it is still called.
 */
#ifndef PL_KNOWN_H
#define PL_KNOWN_H

#include <stdbool.h>

#include "profile.h"

struct pl_known;
struct pl_known *pl_known_new(void);
void pl_known_free(struct pl_known *known); /* after the profiles that have names of it; NULL is fine */

/* Gives the profile's frames the names that are known of them; true: there is no other frame. A profile of another
 * process, or program, makes it forget everything. */
bool pl_known_apply(struct pl_known *known, struct pl_profile *profile);

/* Remembers the names of all frames, which have just been looked up. */
void pl_known_learn(struct pl_known *known, const struct pl_profile *profile);

#endif
