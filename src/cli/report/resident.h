/* SPDX-License-Identifier: MIT */
/*
 * resident.h - of a running process, by site: how much of what is live is resident, and what keeps pages resident that
 * are mostly free.
 */
#ifndef PL_CLI_RESIDENT_H
#define PL_CLI_RESIDENT_H

#include "analysis/advice/advice.h"
#include "cli/report/memory.h"

/* --resident: prints the whole view. On failure it has printed the reason, and nothing else. */
enum pl_exit pl_resident_print(const struct pl_view *view);

/* How much of the live blocks of each path was never touched. The caller frees it; NULL: it is not known. */
struct pl_advice_touch *pl_resident_touch(const struct pl_view *view, const struct pl_paths *paths, const char *live);

/* The sites whose blocks keep mostly free pages, below the table of --memory. `live`: the path of the live profile. */
void pl_resident_put_pins(const struct pl_view *view, const struct pl_footprint *footprint, const char *live);

#endif
