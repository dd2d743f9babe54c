/* SPDX-License-Identifier: MIT */
/*
 * highlights.h - what stands out in a profile, in sentences.
 */
#ifndef PL_HIGHLIGHTS_H
#define PL_HIGHLIGHTS_H

#include "view.h"

/* `sites` are of shape PL_SHAPE_SITE. */
void pl_highlights_print(const struct pl_view *view, const struct pl_paths *sites);

/* So much is live that it matters: more than a sliver of what was live at the peak. */
bool pl_highlights_live(const struct pl_profile *profile);

/* What is shown first: live memory or, where hardly any is left (not `live`), what was live at the peak. */
enum pl_metric pl_highlights_metric(const struct pl_profile *profile, bool live);

/* "parse_line (src/parse.c:88) → std::string::append", behind a number; an address is nothing without its module. */
void pl_highlights_name(const struct pl_view *view, const struct pl_spot *spot, const struct pl_spot *via);

#endif
