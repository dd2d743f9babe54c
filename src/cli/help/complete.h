/* SPDX-License-Identifier: MIT */
/*
 * complete.h - completion scripts for shells, printed from the tables of commands and options.
 */
#ifndef PL_COMPLETE_H
#define PL_COMPLETE_H

extern const char *const pl_complete_shells[]; /* NULL ends them */

/* Prints the script for one of them, by index. */
void pl_complete_print(int shell);

#endif
