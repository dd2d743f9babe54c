/* SPDX-License-Identifier: MIT */
/*
 * own.h - how much of the process's RSS is the profiler's own memory: tables of exact mode, stacks, threads, the file.
 *
 * Only pages that are resident count. Tables are large and sparse, so their sizes say little; the kernel's map of pages
 * (/proc/self/pagemap) says it exactly.
 */
#ifndef PL_OWN_H
#define PL_OWN_H

#include <stdbool.h>
#include <stdint.h>

struct pl_process;

/* With a moment of the timeline: if RSS is higher than ever before, measures our part of it and stores both in the
 * header of the file. The caller is the only one who takes moments. */
void pl_own_measure(const struct pl_process *process, uint64_t rss_bytes, bool last);

#endif
