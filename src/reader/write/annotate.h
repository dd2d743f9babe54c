/* SPDX-License-Identifier: MIT */
/*
 * annotate.h - adds to a profile after its process has ended: names for its frames, how it ended, what is lost, and what
 * its RSS consisted of.
 */
#ifndef PL_ANNOTATE_H
#define PL_ANNOTATE_H

#include <stdint.h>

#include "reader/profile.h"

/*
 * Stores the places of all frames of `symbolized`, which was opened from this very file, as symbol records, so that the
 * file can be read without the program's own files. Does nothing if the file already has symbols. Truncates the space
 * that the process had reserved for growth. Returns 0, or a negative errno and a line in `why`; the file then reads as
 * before.
 */
int pl_annotate(const char *path, const struct pl_profile *symbolized, char why[PL_WHY_BYTES]);

/* The status from waitpid(), and when that was (CLOCK_MONOTONIC; used if the process left no time of its own). */
int pl_annotate_ending(const char *path, int wait_status, uint64_t end_ns, char why[PL_WHY_BYTES]);

/* Also stores that its process was probably killed for lack of memory. */
int pl_annotate_out_of_memory(const char *path, char why[PL_WHY_BYTES]);

/* Also stores that an allocator is linked into its program, whose functions no hook sees. */
int pl_annotate_linked(const char *path, char why[PL_WHY_BYTES]);

/* Stores what RSS consisted of at these times. Record 0 is not used; `count` includes it. Nothing happens if it has such
 * records already. */
int pl_annotate_footprints(const char *path, const struct pl_footprint_record *record, uint32_t count,
                           char why[PL_WHY_BYTES]);

/* The same for how much of what was live was resident. */
int pl_annotate_residents(const char *path, const struct pl_resident_record *record, uint32_t count,
                          char why[PL_WHY_BYTES]);

/* The same for what held the heap. Record 0 is not used; `count` includes it. */
int pl_annotate_holders(const char *path, const struct pl_holder_record *record, uint32_t count,
                        char why[PL_WHY_BYTES]);

/* What is lost: records of kind VERDICT, of which record 0 is not used, and when they were made. */
struct pl_look {
    enum pl_looked looked;
    bool partly;
    uint64_t ns; /* since the start of the process */
    const struct pl_verdict_record *record;
    uint32_t count; /* record 0 included */
};

/* Stores it in the profile of a process that has ended, or in a snapshot. Nothing happens if it has a look already. */
int pl_annotate_look(const char *path, const struct pl_look *look, char why[PL_WHY_BYTES]);

#endif
