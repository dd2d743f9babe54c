/* SPDX-License-Identifier: MIT */
/*
 * snippet.h - lines of source code around a place of a profile, where the source is at hand.
 *
 * A file is looked for under the name that debug information has for it: where that is relative, below the directory in
 * which the program was started, then below this one. One that is not there is nobody's fault. What is there may be
 * anything: only regular files are read, and not more of a line than anybody would look at.
 */
#ifndef PL_SNIPPET_H
#define PL_SNIPPET_H

#include "profile.h"
#include "spot.h"

struct pl_snippet {
    uint32_t first, count; /* lines first .. first + count - 1 */
    char **line;           /* without ends, and with blanks for tabs */
    bool younger;          /* the file is younger than the binary: lines may have moved */
};

/* Lines `first` to `last` of a spot's file, as far as it has them. False: it is not there, or too short; then there is
 * nothing to free. */
bool pl_snippet_read(const struct pl_profile *profile, const struct pl_spot *spot, uint32_t first, uint32_t last,
                     struct pl_snippet *out);
void pl_snippet_free(struct pl_snippet *snippet);

/* The same for many, file by file and line by line: each file is read once. There is a limit to what is read of all. */
struct pl_snippets;
struct pl_snippets *pl_snippets_new(const struct pl_profile *profile);
void pl_snippets_free(struct pl_snippets *reader);
bool pl_snippets_read(struct pl_snippets *reader, const struct pl_spot *spot, uint32_t first, uint32_t last,
                      struct pl_snippet *out);

#endif
