/* SPDX-License-Identifier: MIT */
/*
 * glibc.h - the glibc with the profiler inside, as `make glibc` leaves it: where it is, and how a program is run with
 * it.
 */
#ifndef PL_GLIBC_H
#define PL_GLIBC_H

#include <libelf.h>
#include <stdbool.h>

#include "program.h"

/* All paths are absolute. */
struct pl_glibc {
    char *directory;
    char *libraries;
    char *loader;
    char *libc;
    char release[16]; /* "2.36" */
};

/* `named` is the directory that was asked for; NULL: where it was built or installed. False: the reason has been said.
 */
bool pl_glibc_find(const char *named, struct pl_glibc *out);
void pl_glibc_free(struct pl_glibc *glibc);

/* The command line that runs a program under the loader. The caller frees it with pl_program_free_words(). NULL: there
 * is none, and the reason has been said. */
char **pl_glibc_command(const struct pl_glibc *glibc, const struct pl_program *program);

/*
 * The kernel calls a process by the name of the file that was executed. This is a link to the loader, below
 * `directory`, of the name that the program would have; NULL: it cannot be made. The other function removes it, which
 * may be done as soon as it has been executed, and frees it.
 */
char *pl_glibc_call(const struct pl_glibc *glibc, const struct pl_program *program, const char *directory);
void pl_glibc_uncall(char *link);

/* Is the release the one that this system runs with? */
bool pl_glibc_is_systems(const struct pl_glibc *glibc);

/* Has this file, a libc.so.6 or a static program, the profiler inside? */
bool pl_glibc_inside(Elf *elf);

/*
 * Where a libc.so.6 may be that a profile names and that is not there, because it stood in the system's place only for
 * the program and what it started. NULL: nowhere. It is the directory found last, or the one built or installed.
 */
const char *pl_glibc_libraries(void);

#endif
