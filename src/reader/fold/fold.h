/* SPDX-License-Identifier: MIT */
/*
 * fold.h - turns the copied records into a profile: checks everything, joins duplicates, adds up figures.
 *
 * pl_fold() is for profile.c; the rest are its steps, in the order in which it takes them. Sites are a step of their
 * own (sites.h), between scopes and history.
 */
#ifndef PL_FOLD_H
#define PL_FOLD_H

#include "reader/image.h"

/* Fills in `profile`; arena, path and running must have been set. `scratch` may be freed afterwards. */
void pl_fold(struct pl_image *image, struct pl_arena *scratch, struct pl_profile *profile);

/* Nanoseconds from the start of the process to a moment of the file; 0 if it was before. */
uint64_t pl_fold_since_start(const struct pl_header *header, uint64_t monotonic_ns);

struct pl_fold_tags {
    struct pl_image *image;
    const uint32_t *of; /* tag record -> index into profile->tag, or PL_NO_TAG */
};
#define PL_NO_TAG UINT32_MAX

/* Fills profile->tag. Strings go to the same arena as texts. */
struct pl_texts;
struct pl_fold_tags pl_fold_tags(struct pl_profile *profile, struct pl_texts *texts, struct pl_arena *scratch);

/* The tag of this record; if there is none, the root, and image->damage is incremented. */
uint32_t pl_fold_tag(const struct pl_fold_tags *tags, uint32_t record);

/* Fills profile->scope: the calls and bytes of each thread under each tag. Threads and tags must have been folded. A
 * thread's own figures are raised where its scopes have more. */
void pl_fold_scopes(struct pl_profile *profile, struct pl_image *image, struct pl_arena *scratch,
                    const struct pl_fold_tags *tags, const uint32_t *thread_of);

/* By thread, then by tag. */
void pl_fold_sort_scopes(struct pl_profile *profile);

/* Fills profile->moment and profile->composition: the timeline, and which sites held the heap at a moment. Sites must
 * have been folded. */
struct pl_sites;
void pl_fold_history(const struct pl_sites *sites);

/* Sets times in seconds since the start of the process, and how long a unit of the processor's clock is. Threads,
 * moments and `running` must have been set. */
void pl_fold_times(struct pl_profile *profile);

/* Gives frames of a joined trie their places: names that `plimsoll run` stored in the file when the process ended. Does
 * nothing unless the file says that all of them are there. */
struct pl_trie;
void pl_fold_places(struct pl_trie *trie, struct pl_texts *texts, struct pl_arena *scratch);

#endif
