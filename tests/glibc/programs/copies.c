/* SPDX-License-Identifier: MIT */
/* copies.c - loads libc into as many namespaces as there is room for, and prints their number. */
#include <dlfcn.h>

#include "../../traps/programs/trap.h"

int main(void)
{
    int copies = 0;
    while (dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW))
        copies++;
    printf("%d\n", copies);
    return 0;
}
