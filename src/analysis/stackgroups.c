/* SPDX-License-Identifier: MIT */
/*
 * stackgroups.c - which path a stack belongs to.
 */
#include "stackgroups.h"

#include "grow.h"

/* Sites of one stack are in the same path. What has no stack is one there, and two paths here: other sizes, which were
 * left out on purpose, go before what found no room. */
uint32_t *pl_stackgroups_new(const struct pl_profile *profile, const struct pl_paths *paths)
{
    uint32_t *group = pl_grow_zeroed(profile->stacks + 1ull, sizeof *group);
    bool others = false;
    for (uint32_t i = 0; i < profile->sites; i++) {
        const struct pl_site_view *site = &profile->site[i];
        if (site->stack != PL_NO_STACK)
            group[site->stack] = paths->of_site[i];
        else if (site->other_sizes || !others)
            group[profile->stacks] = paths->of_site[i];
        others |= site->other_sizes;
    }
    return group;
}
