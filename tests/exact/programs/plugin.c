/* SPDX-License-Identifier: MIT */
/* plugin.c - a module whose one site is named PLUGIN_SITE. Its twins have the same code at the same place. */
#include <stddef.h>
#include <stdlib.h>

void *PLUGIN_SITE(size_t bytes);
void *plugin_make(size_t bytes);

__attribute__((noinline)) void *PLUGIN_SITE(size_t bytes)
{
    void *block = malloc(bytes);
    __asm__ volatile("" : "+r"(block)); /* no tail call */
    return block;
}

void *plugin_make(size_t bytes)
{
    void *block = PLUGIN_SITE(bytes);
    __asm__ volatile("" : "+r"(block));
    return block;
}
