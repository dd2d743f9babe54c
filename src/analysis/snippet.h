/* SPDX-License-Identifier: MIT */
/*
 * snippet.h - lines of source code around a place of a profile, if the source file exists.
 *
 * The name of the file comes from debug information. A relative name is looked up below the directory in which the
 * program was started, then below the current one. A missing file is no error. The file may contain anything: only
 * regular files are read, and long lines are truncated.
 */
#ifndef PL_SNIPPET_H
#define PL_SNIPPET_H

#include "analysis/location.h"
#include "reader/profile.h"

struct pl_snippet {
    uint32_t first, count; /* lines first .. first + count - 1 */
    char **line;           /* without line ends, and with blanks for tabs */
    bool younger;          /* the file is newer than the binary: lines may have moved */
};

/* Lines `first` to `last` of a location's file, or as many as exist. False: there is no file, or it is too short; then
 * there is nothing to free. */
bool pl_snippet_read(const struct pl_profile *profile, const struct pl_location *location, uint32_t first,
                     uint32_t last, struct pl_snippet *out);
void pl_snippet_free(struct pl_snippet *snippet);

/* The same for many snippets. If the caller asks in the order of files and lines, each file is read once. The total of
 * bytes that are read is limited. */
struct pl_snippets;
struct pl_snippets *pl_snippets_new(const struct pl_profile *profile);
void pl_snippets_free(struct pl_snippets *reader);
bool pl_snippets_read(struct pl_snippets *reader, const struct pl_location *location, uint32_t first, uint32_t last,
                      struct pl_snippet *out);

#endif
