/* SPDX-License-Identifier: MIT */
/*
 * steps.c - keeps one more block of 1000 bytes for each line that it reads, and waits for the next: `steps`. Prints
 * "up" first, and the number of blocks after each line. At the end of its input it exits with 3.
 *
 * Some lines are commands: "snapshot NAME", "no output", "become PROGRAM".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plimsoll.h"

static void *kept[1 << 16];
static int blocks;

__attribute__((noinline)) static void keep_block(void)
{
    kept[blocks++] = malloc(1000);
}

static void obey(char *line)
{
    line[strcspn(line, "\n")] = 0;
    if (!strncmp(line, "snapshot ", 9))
        printf("snapshot %d\n", plimsoll_snapshot(line + 9));
    else if (!strcmp(line, "no output"))
        plimsoll_output(0);
    else if (!strncmp(line, "become ", 7))
        execl(line + 7, line + 7, (char *) NULL);
    else
        keep_block();
}

int main(void)
{
    char line[256];
    puts("up");
    fflush(stdout);
    while (blocks < 1 << 16 && fgets(line, sizeof line, stdin)) {
        obey(line);
        printf("%d\n", blocks);
        fflush(stdout);
    }
    return 3;
}
