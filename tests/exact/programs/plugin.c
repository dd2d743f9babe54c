/* SPDX-License-Identifier: MIT */
/* plugin.c - a module whose only site is named PLUGIN_SITE. Its variants have the same code at the same offset. */
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
