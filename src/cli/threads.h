/* SPDX-License-Identifier: MIT */
/*
 * threads.h - `report --by thread`: what each thread allocated, holds and held, and its heaviest sites.
 */
#ifndef PL_CLI_THREADS_H
#define PL_CLI_THREADS_H

#include "select.h"
#include "view.h"

/* Threads as people think of them: those of one name are one, and so are those that --merge-threads takes together. */
enum pl_exit pl_threads_groups(const struct pl_select *select, const struct pl_profile *profile, struct pl_groups *out);

/* "worker-*"; "?" for a thread without a name. */
const char *pl_threads_name(const struct pl_groups *groups, uint32_t group);

/* Heaviest first by this metric, which their sites are sorted by as well. */
void pl_threads_print(const struct pl_view *view, enum pl_metric metric);

#endif
