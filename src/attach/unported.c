/* SPDX-License-Identifier: MIT */
/* unported.c - in place of attach.c, for a processor that has no file in machine/: nothing can be attached to. */
#include <stdio.h>

#include "attach/attach.h"

static bool refuse(struct pl_attach_report *out)
{
    *out = (struct pl_attach_report){0};
    snprintf(out->problem, sizeof out->problem,
             "Plimsoll cannot attach on this processor; start the program with `plimsoll run`");
    return false;
}

bool pl_attach(pid_t pid, const struct pl_attach_options *options, struct pl_attach_report *out)
{
    (void) pid, (void) options;
    return refuse(out);
}

bool pl_detach(pid_t pid, uint64_t wait_ns, struct pl_attach_report *out)
{
    (void) pid, (void) wait_ns;
    return refuse(out);
}
