/* SPDX-License-Identifier: MIT */
/*
 * site.h - the figures of sites, packed: a profile may have hundreds of thousands of sites, and nearly all numbers of
 * nearly all sites are zero.
 *
 * Packed figures are written once and never change, so profiles that are made from a profile (a part, a difference, a
 * period) share them. NULL stands for zeros.
 */
#ifndef PL_SITE_H
#define PL_SITE_H

#include "reader/base/arena.h"
#include "reader/profile.h"

const struct pl_packed *pl_site_pack_figures(struct pl_arena *arena, const struct pl_figures *figures);
const struct pl_packed *pl_site_pack_spread(struct pl_arena *arena, const struct pl_spread *spread);
struct pl_figures pl_site_unpack(const struct pl_packed *figures);

struct pl_figures pl_site_figures(const struct pl_site_view *site);
struct pl_spread pl_site_spread(const struct pl_site_view *site);

/* The estimates that the site's figures yield. */
void pl_site_estimate(const struct pl_site_view *site, struct pl_estimate metric[PL_METRIC_COUNT]);
double pl_site_value(const struct pl_site_view *site, enum pl_metric metric);

void pl_site_add_figures(struct pl_figures *to, const struct pl_site_view *site);
void pl_site_add_spread(struct pl_spread *to, const struct pl_site_view *site);

#endif
