/* SPDX-License-Identifier: MIT */
/*
 * proc.h - finds the profiles of running processes, and of processes that ended without moving theirs.
 *
 * A process that is being profiled has its profile mapped, so /proc/PID/maps names it. There is no other registry, and
 * so nothing to start, to update or to clean up.
 */
#ifndef PL_PROC_H
#define PL_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "format/format.h"

/* A process: its pid in our pid namespace, and in its own (in a container they differ). */
struct pl_proc {
    pid_t pid;
    pid_t inner_pid;
};

struct pl_proc_table {
    struct pl_proc *proc;
    size_t count;
};

struct pl_proc_table pl_proc_read(void); /* takes milliseconds: it reads a file of every process on the machine */
void pl_proc_free(struct pl_proc_table *table);

/* A live profile, or one that an ended process left behind. */
struct pl_proc_found {
    char *path; /* as we can open it */
    struct pl_header header;
    pid_t pid; /* the process that has it mapped; 0: it has ended */
};

struct pl_proc_finds {
    struct pl_proc_found *found;
    size_t count;
};

/* Profiles mapped by the processes of the table. */
void pl_proc_find_mapped(const struct pl_proc_table *table, struct pl_proc_finds *finds);

/* Profiles in the usual directories for live profiles whose process has ended. Reads an empty table if it must. */
void pl_proc_find_leftover(struct pl_proc_table *table, struct pl_proc_finds *finds);
void pl_proc_free_finds(struct pl_proc_finds *finds);

/* The process that has this file mapped as its own profile; 0 if it has ended. An empty table is read when somebody has
 * the file open for writing; mostly nobody has. */
pid_t pl_proc_writer(struct pl_proc_table *table, const char *path, const struct pl_header *header);

/* No process writes to the file of this absolute path any more. Cheap where the kernel counts writers (below); where it
 * does not, only if the process of the header is gone. */
bool pl_proc_unwritten(const char *path);

/* Does the kernel count those who have a file of this directory mapped as its writers? */
bool pl_proc_counts_writers(const char *directory);

/* The profile that a process has mapped; NULL: it is not being profiled, or does not exist. The caller frees it. */
char *pl_proc_profile(pid_t pid);

/* A profile that a process has mapped, and that we may not read; NULL: none. The caller frees it. */
char *pl_proc_unreadable(pid_t pid);

/* The newest profile that an ended process with this pid left behind; the pid may have been reused since. */
char *pl_proc_left_by(pid_t pid);

/* Reads a header; false if the file is not a profile (or not one yet). */
bool pl_proc_header(const char *path, struct pl_header *header);

/* The command line of a process, or the title that it has set instead; NULL: it has none. The caller frees it. */
char *pl_proc_title(pid_t pid);

/* "/proc/PID/root" if the process has another root directory than we do, else NULL. The caller frees it. */
char *pl_proc_root(pid_t pid);

/* Waits for `ns`, and leaves interrupts blocked. True: the time is over, or somebody has interrupted us. False: the
 * process has ended. */
bool pl_proc_await(pid_t pid, uint64_t ns);

/* CLOCK_MONOTONIC, as in profiles. */
uint64_t pl_proc_now_ns(void);

#endif
