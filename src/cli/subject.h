/* SPDX-License-Identifier: MIT */
/*
 * subject.h - opens the FILE, DIRECTORY or PID that the user gave on the command line, as a profile with symbols. A
 * directory is read as the sum of the profiles in it.
 */
#ifndef PL_SUBJECT_H
#define PL_SUBJECT_H

#include <stdbool.h>
#include <sys/types.h>

#include "analysis/languages.h"
#include "cli/names.h"
#include "cli/say.h"
#include "reader/profile.h"
#include "reader/symbols/namecache.h"
#include "reader/symbols/symbolize.h"

struct pl_subject_options {
    const char *command;         /* for messages: "report" */
    bool force;                  /* use binaries that were rebuilt since the profile was made */
    const char *sysroot;         /* binaries are below this directory, or where the profile says; NULL: only there */
    bool no_symbols;             /* do not look up names */
    enum pl_languages languages; /* whose frames stacks have */
    struct pl_names_options names;
    struct pl_namecache *known; /* names known from an earlier read; NULL: look up all */
    bool again;                 /* not the first read of this profile: print no warnings and no progress */
};

/* Rows of a command's table of options. */
#define PL_FORCE_OPTION(given)                                                                                         \
    {                                                                                                                  \
        .name = "force", .help = "use binaries that were rebuilt since the profile was made", .type = &pl_type_flag,   \
        .into = &(given)                                                                                               \
    }

#define PL_LANGUAGE_OPTIONS(python_, native_)                                                                          \
    {.name = "python",                                                                                                 \
     .help = "show only frames of Python code; without it, stacks have frames of Python and of C, but not the "        \
             "interpreter's",                                                                                          \
     .type = &pl_type_flag,                                                                                            \
     .into = &(python_)},                                                                                              \
    {                                                                                                                  \
        .name = "native", .help = "show only native frames, with the Python interpreter's", .type = &pl_type_flag,     \
        .into = &(native_)                                                                                             \
    }

/* What these options choose. */
static inline enum pl_languages pl_subject_languages(bool python, bool native)
{
    return python == native ? (python ? PL_LANGUAGES_ALL : PL_LANGUAGES_USUAL)
                            : (python ? PL_LANGUAGES_PYTHON : PL_LANGUAGES_NATIVE);
}

#define PL_SYSROOT_OPTION(given)                                                                                       \
    {                                                                                                                  \
        .name = "sysroot", .takes = "DIR",                                                                             \
        .help = "look for binaries below DIR first: for a profile of another machine", .type = &pl_type_text,          \
        .into = &(given)                                                                                               \
    }

/* The newest profile in this directory; NULL: there is none. The caller frees it. */
char *pl_subject_newest(void);

/* A sentence of the help of commands that read it. */
#define PL_SUBJECT_NEWEST "Without an argument, it reads the newest profile in this directory, and says which that is."

/* Checks that there is one argument. If not, it has printed what to type. */
enum pl_exit pl_subject_check(const char *command, int argc, char **argv);

/* Warns of binaries that are missing or rebuilt. On failure it has printed the reason and what to type instead. */
enum pl_exit pl_subject_open(const struct pl_subject_options *options, int argc, char **argv, struct pl_profile **out);

/* The same for a path that is certainly not a PID. Its binaries are below `root` (NULL: below /). */
enum pl_exit pl_subject_read(const struct pl_subject_options *options, const char *path, const char *root,
                             struct pl_profile **out);

/* The PID that a command line argument stands for; -1: it is a file. */
pid_t pl_subject_pid(const char *word);

/* The path of a running process's profile; the caller frees it. On failure it has printed the reason. */
enum pl_exit pl_subject_live(pid_t pid, char **path);

/* The file of the snapshot with this name, of the same process as the profile `typed`; `typed` itself if `snapshot` is
 * NULL. The caller frees it. NULL: there is none, and the reason has been printed. */
char *pl_subject_snapshot(const char *typed, const char *snapshot);

#endif
