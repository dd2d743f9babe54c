/* SPDX-License-Identifier: MIT */
/*
 * resident.h - of a running process, by site: how much of what is live is resident, and what keeps pages resident that
 * are mostly free.
 */
#ifndef PL_CLI_RESIDENT_H
#define PL_CLI_RESIDENT_H

#include "analysis/advice/advice.h"
#include "cli/report/memory.h"

/* Reads how much is resident now, for the profile. */
bool pl_resident_record(pid_t pid, const char *live, struct pl_resident_record *out);

/* --resident: prints the whole view. On failure it has printed the reason, and nothing else. */
enum pl_exit pl_resident_print(const struct pl_view *view);

/* --touched: notes which pages the process writes, for so long or until the user interrupts it. The profile is read
 * after that. On failure it has printed the reason. */
enum pl_exit pl_watch(struct pl_watch *watch, const char *subject, uint64_t ns);

/* How much of the live blocks of each path was never touched. The caller frees it; NULL: it is not known. */
struct pl_advice_touch *pl_resident_touch(const struct pl_view *view, const struct pl_paths *paths, const char *live);

/* The sites whose blocks keep mostly free pages, below the table of --memory. `live`: the path of the live profile. */
void pl_resident_put_pins(const struct pl_view *view, const struct pl_footprint *footprint, const char *live);

#endif
