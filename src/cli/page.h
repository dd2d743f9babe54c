/* SPDX-License-Identifier: MIT */
/*
 * page.h - the first and the last lines of a report: whose profile it is, how it was made, and what is missing from it.
 */
#ifndef PL_PAGE_H
#define PL_PAGE_H

#include "view.h"

void pl_page_head(const struct pl_view *view);
void pl_page_losses(const struct pl_view *view);

#endif
