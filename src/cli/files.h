/* SPDX-License-Identifier: MIT */
/*
 * files.h - names of profiles, and files that appear complete or not at all.
 */
#ifndef PL_FILES_H
#define PL_FILES_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "cli/say.h"

bool pl_files_is_directory(const char *path);

/* Does it end with .plim, and is there something before? */
bool pl_files_has_suffix(const char *path);

/* "dir/app" of "dir/app.plim". The caller frees it. */
char *pl_files_stem(const char *path);

/* Does a file of this name, without its directory, look like a profile? */
bool pl_files_is_profile(const char *name);

/* Writes everything to the stream. Errors of the stream stay with it (ferror). */
typedef void pl_files_function(void *context, FILE *out);

/* The mode of a new file. */
#define PL_FILES_USUAL 0666   /* less the umask */
#define PL_FILES_PRIVATE 0600 /* like profiles */

struct pl_files_content {
    const char *what; /* "the json" */
    mode_t mode;
    pl_files_function *write;
    void *context;
};

/*
 * Writes a temporary file and renames it, so that a failure leaves the old file. Never replaces a profile. On failure
 * the error has been printed.
 */
enum pl_exit pl_files_write(const struct pl_files_content *content, const char *path);

#endif
