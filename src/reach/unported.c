/* SPDX-License-Identifier: MIT */
/* unported.c - in place of reach.c, for a processor on which attach cannot borrow threads: no process can be stopped.
 */
#include <stdio.h>

#include "reach/reach.h"

bool pl_reach_read(struct pl_reach *reach, const struct pl_reach_options *options)
{
    (void) options;
    *reach = (struct pl_reach){0};
    snprintf(reach->problem, sizeof reach->problem, "Plimsoll cannot stop processes on this processor");
    return false;
}

void pl_reach_free(struct pl_reach *reach)
{
    (void) reach;
}
