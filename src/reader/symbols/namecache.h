/* SPDX-License-Identifier: MIT */
/*
 * namecache.h - names of frames that were looked up once, for a profile that is read again and again while it grows.
 *
 * Frames keep their record numbers as long as the program runs, so a frame's name stays valid.
 */
#ifndef PL_NAMECACHE_H
#define PL_NAMECACHE_H

#include <stdbool.h>

#include "reader/profile.h"

struct pl_namecache;
struct pl_namecache *pl_namecache_new(void);
void pl_namecache_free(struct pl_namecache *known); /* after the profiles that use its names; NULL is fine */

/* Gives the profile's frames their known names; true if all frames have one. If the profile is of another process or
 * program, all known names are discarded first. */
bool pl_namecache_apply(struct pl_namecache *known, struct pl_profile *profile);

/* Remembers the names of all frames, which must just have been looked up. */
void pl_namecache_learn(struct pl_namecache *known, const struct pl_profile *profile);

#endif
