/* SPDX-License-Identifier: MIT */
/*
 * proc.h - finds profiles of running processes, and of those that ended without moving theirs, with nobody's help.
 *
 * A process that is being profiled has its profile mapped, so /proc/PID/maps names it. That is the whole registry:
 * there is nothing to start, nothing to keep up to date and nothing to clean up.
 */
#ifndef PL_PROC_H
#define PL_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "format.h"

/* A process, by its number here and by the number it has for itself (in a container they differ). */
struct pl_proc {
    pid_t pid;
    pid_t inner_pid;
};

struct pl_proc_table {
    struct pl_proc *proc;
    size_t count;
};

struct pl_proc_table pl_proc_read(void);
void pl_proc_free(struct pl_proc_table *table);

/* A profile that lies where profiles live while their process does. */
struct pl_found {
    char *path; /* to open it from here */
    struct pl_header header;
    pid_t pid; /* the process that maps it; 0: it has ended */
};

struct pl_finds {
    struct pl_found *found;
    size_t count;
};

/* Profiles mapped by the processes of the table. */
void pl_proc_find_mapped(const struct pl_proc_table *table, struct pl_finds *finds);

/* Profiles lying in the usual places for live files, whose process has ended. */
void pl_proc_find_leftover(const struct pl_proc_table *table, struct pl_finds *finds);
void pl_proc_free_finds(struct pl_finds *finds);

/* The process that has this file mapped as its own profile; 0 if it has ended. */
pid_t pl_proc_writer(const struct pl_proc_table *table, const char *path, const struct pl_header *header);

/* The profile that a process has mapped; NULL: it is not being profiled, or not there. The caller frees it. */
char *pl_proc_profile(pid_t pid);

/* The newest profile left behind by a process of this number, which may not be the one that has it now. */
char *pl_proc_left_by(pid_t pid);

/* Reads a header; false if the file is not a profile (or not one yet). */
bool pl_proc_header(const char *path, struct pl_header *header);

/* "/proc/PID/root" when the process sees another file system than we do, else NULL. The caller frees it. */
char *pl_proc_root(pid_t pid);

#endif
