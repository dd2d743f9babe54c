/* SPDX-License-Identifier: MIT */
/*
 * filefull.h - why records found no room in the profile, and what helps.
 */
#ifndef PL_FILEFULL_H
#define PL_FILEFULL_H

#include "reader/profile.h"

#define PL_FILEFULL_BYTES 256

/* Were records lost because the file did not grow? */
bool pl_filefull_lost(const struct pl_header *header);

/* "the profile reached its limit of 256 MiB (--max-file)". */
void pl_filefull_cause(const struct pl_header *header, char out[PL_FILEFULL_BYTES]);

/* "plimsoll run --max-file 1024M allows more, --sample 512K needs less". `self` is how the user calls plimsoll;
 * `file_bytes` is the size of the file, in case the header does not have the limit. */
void pl_filefull_remedy(const struct pl_header *header, uint64_t file_bytes, const char *self,
                        char out[PL_FILEFULL_BYTES]);

#endif
