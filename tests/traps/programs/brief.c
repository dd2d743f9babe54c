/* SPDX-License-Identifier: MIT */
/*
 * brief.c - forks children that live as briefly as those of a server that forks for each connection: each calls malloc
 * once and exits. Prints how many page faults the cheapest of them had.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN 8

int main(void)
{
    long least = -1;
    void *volatile block = malloc(100);
    for (int i = 0; i < CHILDREN; i++) {
        struct rusage usage;
        int status;
        pid_t child = fork();
        if (child == 0) {
            block = malloc(200);
            exit(0);
        }
        if (wait4(child, &status, 0, &usage) != child || status)
            return 1;
        least = least < 0 || usage.ru_minflt < least ? usage.ru_minflt : least;
    }
    free(block);
    printf("%ld\n", least);
    return 0;
}
