/* SPDX-License-Identifier: MIT */
/*
 * errors.c - how far sums over sites may be off.
 */
#include "errors.h"

#include <math.h>

uint32_t pl_errors_end(const struct pl_calltree *tree, uint32_t site)
{
    uint32_t row = tree->flat->row_of_site[site];
    return row < tree->flat->rows ? tree->end_of_stack[tree->flat->row[row].stack] : 0;
}

void pl_errors_add(struct pl_errors *errors, const struct pl_profile *profile, uint32_t site)
{
    bool base = profile->difference && site < profile->base_sites;
    pl_figures_add(base ? &errors->before : &errors->now, &profile->site[site].figures);
}

/* Two runs are independent of each other. */
float pl_errors_of(const struct pl_errors *errors, enum pl_metric metric)
{
    struct pl_estimate now[PL_METRIC_COUNT], before[PL_METRIC_COUNT];
    pl_figures_estimate(&errors->now, now);
    pl_figures_estimate(&errors->before, before);
    return (float) hypot(now[metric].error, before[metric].error);
}
