/* SPDX-License-Identifier: MIT */
/*
 * memory.h - `report --memory`: what the resident memory of a process consists of, or consisted of, as a table that adds
 * up.
 */
#ifndef PL_CLI_MEMORY_H
#define PL_CLI_MEMORY_H

#include "cli/report/views.h"
#include "footprint/footprint.h"

/* Prints the whole view including head and losses. On failure it has printed the reason, and nothing else. */
enum pl_exit pl_memory_print(const struct pl_view *view);

/* A view whose profile says what RSS consists of now, for advice. */
struct pl_memory_view {
    struct pl_view view;
    struct pl_profile profile;
    struct pl_footprint_record record;
};
void pl_memory_with(struct pl_memory_view *with, const struct pl_view *view, const struct pl_footprint *footprint);

/* What pl_footprint_read() must know of a running process, from its profile. `path` is that of the live profile. */
struct pl_footprint_options pl_memory_options(const struct pl_profile *profile, pid_t pid, const char *path);

#endif
