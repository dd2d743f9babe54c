/* SPDX-License-Identifier: MIT */
/*
 * arguments.c - changes its arguments, as programs may: one is moved to memory that cannot be read, and the name is
 * overwritten, like setproctitle does. A child allocates afterwards.
 *
 *   arguments WORD
 */
#include <sys/mman.h>
#include <sys/wait.h>

#include "../../traps/programs/trap.h"

static APART void *arguments_allocate(void)
{
    return keep(malloc(100));
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    argv[1] = page;
    memset(argv[0], '/', strlen(argv[0]));
    int status;
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 300; i++)
            free(arguments_allocate());
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    return 0;
}
