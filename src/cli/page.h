/* SPDX-License-Identifier: MIT */
/*
 * page.h - the parts of a report that are not tables of sites: whose profile it is, what stands out, losses.
 */
#ifndef PL_PAGE_H
#define PL_PAGE_H

#include "view.h"

void pl_page_head(const struct pl_view *view);
void pl_page_summary(const struct pl_view *view);
void pl_page_highlights(const struct pl_view *view);
void pl_page_losses(const struct pl_view *view);

#endif
