/* SPDX-License-Identifier: MIT */
/*
 * obstacles.h - why a process cannot be attached to, found out before anything is done to it. One row for each.
 */
#ifndef PL_OBSTACLES_H
#define PL_OBSTACLES_H

#include <stdbool.h>
#include <sys/types.h>

#define PL_OBSTACLES_BYTES 512

/* True: there is one, and `why` says which and what to do. */
bool pl_obstacles_find(pid_t pid, char why[PL_OBSTACLES_BYTES]);

/* The same for a process that was attached to. */
bool pl_obstacles_to_detach(pid_t pid, char why[PL_OBSTACLES_BYTES]);

/* The same for a process of which a thread is to be borrowed for system calls. */
bool pl_obstacles_to_visit(pid_t pid, char why[PL_OBSTACLES_BYTES]);

/* A variable of the environment that the process was started with; NULL: not set, or it cannot be read. */
char *pl_obstacles_environment(pid_t pid, const char *name);

#endif
