/* SPDX-License-Identifier: MIT */
/* plugin_one.c - has the same instructions as plugin_two.c, except for a name and a size. */
#include "trap.h"

void *plugin_call(void);

#ifndef PLUGIN_NAME
#define PLUGIN_NAME plugin_one_allocate
#define PLUGIN_BYTES 111
#endif

APART void *PLUGIN_NAME(void);
APART void *PLUGIN_NAME(void)
{
    return keep(malloc(PLUGIN_BYTES));
}

void *plugin_call(void)
{
    return keep(PLUGIN_NAME());
}
