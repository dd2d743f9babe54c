/* SPDX-License-Identifier: MIT */
/* plugin.c - a library that the subject loads after it was attached to. */
#include <stdlib.h>

void plugin_allocate(int blocks);
void plugin_allocate(int blocks)
{
    for (int i = 0; i < blocks; i++) {
        void *volatile block = malloc(77);
        free(block);
    }
}
