/* SPDX-License-Identifier: MIT */
/*
 * complete.h - what shells need to complete a command line of ours, printed from the tables of commands and options.
 */
#ifndef PL_COMPLETE_H
#define PL_COMPLETE_H

extern const char *const pl_complete_shells[]; /* NULL ends them */

/* The script for one of them, by index, on stdout. */
void pl_complete_print(int shell);

#endif
