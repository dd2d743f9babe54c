/* SPDX-License-Identifier: MIT */
/*
 * subject.h - what people name on the command line, FILE or PID, as a profile with names in it.
 */
#ifndef PL_SUBJECT_H
#define PL_SUBJECT_H

#include <stdbool.h>
#include <sys/types.h>

#include "known.h"
#include "names.h"
#include "profile.h"
#include "say.h"
#include "symbolize.h"

struct pl_subject_options {
    const char *command; /* who asks: "report" */
    bool force;          /* use binaries that were rebuilt since */
    bool no_symbols;     /* addresses will do */
    struct pl_names_options names;
    struct pl_known *known; /* names that need not be looked up again; NULL: all have to be */
    bool again;             /* it has been read before, and what there was to say was said then */
};

/* Rows of a command's table of options. */
#define PL_FORCE_OPTION(given)                                                                                         \
    {                                                                                                                  \
        .name = "force", .help = "use binaries that were rebuilt since the profile was made", .type = &pl_type_flag,   \
        .into = &(given)                                                                                               \
    }

/* There is one argument. Otherwise that has been said. */
enum pl_exit pl_subject_check(const char *command, int argc, char **argv);

/* On failure the reason, and what to type instead, has been said. Binaries that are gone or rebuilt are warned of. */
enum pl_exit pl_subject_open(const struct pl_subject_options *options, int argc, char **argv, struct pl_profile **out);

/* The same of a file that is known to be meant, whose binaries are below `root` (NULL: here). */
enum pl_exit pl_subject_read(const struct pl_subject_options *options, const char *path, const char *root,
                             struct pl_profile **out);

/* The process that is meant by a word on the command line; -1: it is a file. */
pid_t pl_subject_pid(const char *word);

/* The profile of a running process, where it lives now; the caller frees it. A failure has been said. */
enum pl_exit pl_subject_live(pid_t pid, char **path);

#endif
