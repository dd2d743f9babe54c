/* SPDX-License-Identifier: MIT */
/* plugin.c - a module to load, allocate from, and unload. */
#include <stddef.h>
#include <stdlib.h>

void *plugin_make(size_t bytes);

void *plugin_make(size_t bytes)
{
    void *block = malloc(bytes);
    __asm__ volatile("" : "+r"(block)); /* prevents a tail call: the caller of malloc must be in this module */
    return block;
}
