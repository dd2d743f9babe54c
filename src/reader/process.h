/* SPDX-License-Identifier: MIT */
/*
 * process.h - is the process that wrote a profile still running, and is it the one that wrote another?
 */
#ifndef PL_PROCESS_H
#define PL_PROCESS_H

#include <stdbool.h>

#include "format.h"

/* Best effort: a pid means something only in its own pid namespace, so a process in another one is taken for gone. */
bool pl_process_runs(const struct pl_header *header);

/* Are these two of one process? A program that it became by exec is another. */
bool pl_process_same(const struct pl_header *a, const struct pl_header *b);

#endif
