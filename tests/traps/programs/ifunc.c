/* SPDX-License-Identifier: MIT */
/* ifunc.c - uses a library whose IFUNC resolver allocated, and frees its blocks, first in a child. */
#include <sys/wait.h>

#include "trap.h"

int ifunc_answer(void);
void *ifunc_block(void);

int main(void)
{
    int status;
    char *block = ifunc_block();
    CHECK(ifunc_answer() == 42 && block && block[99] == 's');
    pid_t child = fork();
    if (child == 0) {
        free(block);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    block = realloc(block, 10000);
    CHECK(block && block[99] == 's');
    free(block);
    return 0;
}
