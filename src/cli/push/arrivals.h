/* SPDX-License-Identifier: MIT */
/*
 * arrivals.h - notices profiles as they appear, so that processes that live shorter than an interval are not missed.
 *
 * A thread waits for the kernel to report new files in the directories of live profiles, opens each at once, and keeps
 * it open: so its figures can be read when the process has ended and its file is gone. Nothing is polled.
 */
#ifndef PL_ARRIVALS_H
#define PL_ARRIVALS_H

#include <stddef.h>
#include <stdint.h>

struct pl_arrivals;

/* NULL: the kernel cannot report files, or there is no thread. */
struct pl_arrivals *pl_arrivals_start(void);
void pl_arrivals_stop(struct pl_arrivals *arrivals); /* NULL is fine, here and below */

/* Watches a directory, too, if it is not watched yet. */
void pl_arrivals_watch(struct pl_arrivals *arrivals, const char *directory);

/* The next file that was opened; -1: there is none. The caller closes it. */
int pl_arrivals_next(struct pl_arrivals *arrivals);

/* How many files were missed since the last call: there was no room, or they were gone before they could be opened. */
uint64_t pl_arrivals_missed(struct pl_arrivals *arrivals);

/* Readable when many files are waiting. */
int pl_arrivals_event(const struct pl_arrivals *arrivals);

#endif
