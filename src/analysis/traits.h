/* SPDX-License-Identifier: MIT */
/*
 * traits.h - questions that all readers of a profile ask: are its figures estimates, was something lost, is the
 * duration known, which program was it?
 */
#ifndef PL_TRAITS_H
#define PL_TRAITS_H

#include <stdbool.h>

#include "reader/profile.h"

/* Some figures are estimates. With a sampling interval of one byte every allocation is counted, so none is. */
bool pl_traits_estimated(const struct pl_profile *profile);

/* Calls and bytes of threads may lag: in sampled mode a thread writes them only when it takes a sample, and this
 * process had no orderly end, or the profile was copied before it. */
bool pl_traits_behind(const struct pl_profile *profile);
#define PL_TRAITS_BEHIND "but may lag by one sampling interval"

/* Threads, scopes or records were lost, so even calls and bytes are too low or charged to another tag. */
bool pl_traits_lossy(const struct pl_profile *profile);

/* False if calls of the program's malloc go past Plimsoll, and none was seen. */
bool pl_traits_seen(const struct pl_profile *profile);

/* There are figures by site, or the program allocated nothing. */
bool pl_traits_recorded(const struct pl_profile *profile);

/* The program used tags. */
bool pl_traits_tagged(const struct pl_profile *profile);

/* The duration is known. If a process was killed and the time was not recorded, only a lower bound is. */
bool pl_traits_timed(const struct pl_profile *profile);

/* "indexer": the program's file name without its directory; "" if unknown, for example after merging several programs.
 */
const char *pl_traits_program(const struct pl_profile *profile);

/* "libc.so.6": the last part of a module's path; for the program itself, the name by which it was called. "": none. */
const char *pl_traits_module(const struct pl_profile *profile, uint32_t module);

/* "./indexer --fast data/"; arguments beyond some 4 KiB are omitted. The caller frees it. */
char *pl_traits_command(const struct pl_profile *profile);

/* Are both programs known, and different? */
bool pl_traits_other_program(const struct pl_profile *a, const struct pl_profile *b);

/* Is it another program, or the same with other arguments? The directory of the program does not matter. */
bool pl_traits_other_command(const struct pl_profile *a, const struct pl_profile *b);

#endif
