/* SPDX-License-Identifier: MIT */
/* plugin_deep.c - is loaded with RTLD_DEEPBIND, so its malloc and free are libc's, not those of a preloaded library. */
#include "trap.h"

void *plugin_allocate(size_t bytes);
void *plugin_allocate(size_t bytes)
{
    return keep(malloc(bytes));
}

void plugin_free(void *block);
void plugin_free(void *block)
{
    free(block);
}
