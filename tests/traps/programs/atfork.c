/* SPDX-License-Identifier: MIT */
/* atfork.c - forks, linked with a library whose handlers allocate. */
#include <sys/wait.h>

#include "trap.h"

void atfork_library(void);

static APART void *atfork_child_allocate(void)
{
    return keep(malloc(40));
}

int main(void)
{
    atfork_library();
    for (int i = 0; i < 3; i++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            for (int k = 0; k < 20; k++)
                free(atfork_child_allocate());
            return 0;
        }
        CHECK(waitpid(child, &status, 0) == child && status == 0);
    }
    return 0;
}
