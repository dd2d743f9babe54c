/* SPDX-License-Identifier: MIT */
/*
 * glibc.h - the glibc with the profiler inside, which `make glibc` builds: finds it, and runs a program with it.
 */
#ifndef PL_GLIBC_H
#define PL_GLIBC_H

#include <libelf.h>
#include <stdbool.h>

#include "cli/run/program.h"

/* All paths are absolute. */
struct pl_glibc {
    char *directory;
    char *libraries;
    char *loader;
    char *libc;
    char release[16]; /* "2.36" */
};

/* `named` is the directory that the user gave; NULL: where it was built or installed. False: the error has been
 * printed. */
bool pl_glibc_find(const char *named, struct pl_glibc *out);
void pl_glibc_free(struct pl_glibc *glibc);

/* The command line that runs a program through the loader. The caller frees it with pl_program_free_words(). NULL:
 * there is none, and the error has been printed. */
char **pl_glibc_command(const struct pl_glibc *glibc, const struct pl_program_command *program);

/*
 * The kernel names a process after the file that was executed. So we execute a link to the loader that has the
 * program's name. pl_glibc_call() makes it below `directory`; NULL: it could not. pl_glibc_uncall() removes the link
 * and frees the path; it may be called as soon as the link has been executed.
 */
char *pl_glibc_call(const struct pl_glibc *glibc, const struct pl_program_command *program, const char *directory);
void pl_glibc_uncall(char *link);

/* Is it the release of the system's glibc? */
bool pl_glibc_is_systems(const struct pl_glibc *glibc);

/* Does this file, a libc.so.6 or a static program, have the profiler inside? */
bool pl_glibc_inside(Elf *elf);

/*
 * The directory in which to look for a profile's libc.so.6, if the file at its path is another one: --glibc-tree mounts
 * ours over the system's, but only for the program and the programs that it starts. It is the directory that was found
 * last, or where the glibc was built or installed. NULL: there is none.
 */
const char *pl_glibc_libraries(void);

#endif
