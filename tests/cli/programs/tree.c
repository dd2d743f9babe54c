/* SPDX-License-Identifier: MIT */
/*
 * tree.c - a process tree: `tree N` forks N children, every other of which allocates a few MiB. `tree --stay SECONDS`
 * leaves one child running and exits.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void allocate(size_t mebibytes)
{
    for (size_t i = 0; i < mebibytes * 1024; i++) {
        char *volatile block = malloc(1024);
        memset(block, 1, 1024);
    }
}

/* Returns when the child has allocated, so that the child certainly has a profile. */
static int stay(unsigned seconds)
{
    int ready[2];
    char byte;
    if (pipe(ready))
        return 1;
    allocate(4);
    if (fork() == 0) {
        allocate(4);
        close(ready[0]);
        close(ready[1]);
        close(0);
        close(1);
        close(2);
        sleep(seconds);
        _exit(0);
    }
    close(ready[1]);
    return read(ready[0], &byte, 1) != 0;
}

int main(int argc, char **argv)
{
    if (argc > 2)
        return stay((unsigned) atoi(argv[2]));
    for (int i = 0; i < (argc > 1 ? atoi(argv[1]) : 4); i++) {
        if (fork() == 0) {
            allocate(i % 2 ? 8 : 0);
            return 0;
        }
    }
    while (wait(NULL) > 0)
        ;
    allocate(16);
    return 0;
}
