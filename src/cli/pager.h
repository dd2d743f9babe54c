/* SPDX-License-Identifier: MIT */
/*
 * pager.h - shows long output on a terminal one screen at a time, as git does.
 */
#ifndef PL_PAGER_H
#define PL_PAGER_H

#include <stdbool.h>

/* Starts the pager if stdout is a terminal, and sends stdout to it from now on: $PAGER, else less. Does nothing if
 * there is none, or if PAGER is empty or `cat`. */
void pl_pager_start(void);

/* Is stdout shown by a pager on a terminal? */
bool pl_pager_running(void);

/* Waits until the user leaves the pager; stdout is the terminal again. Messages that follow the output come
 * after this. */
void pl_pager_end(void);

#endif
