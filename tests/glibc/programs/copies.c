/* SPDX-License-Identifier: MIT */
/* copies.c - loads libc into as many name spaces as there is room for, and says how many. */
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
