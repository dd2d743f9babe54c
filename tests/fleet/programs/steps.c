/* SPDX-License-Identifier: MIT */
/*
 * steps.c - a process whose heap changes only when it is told to: for each number on stdin it allocates that many
 * blocks of 100 bytes under the tag `kept`, and as many that it frees at once, and answers with a line.
 */
#include <stdio.h>
#include <stdlib.h>

#include <plimsoll.h>

static __attribute__((noinline)) void *keep_block(void)
{
    void *volatile block = malloc(100);
    return block;
}

static __attribute__((noinline)) void pass_block(void)
{
    void *volatile block = malloc(50);
    free(block);
}

int main(void)
{
    static char in[1 << 12], out[1 << 12];
    int count;
    setvbuf(stdin, in, _IOFBF, sizeof in);
    setvbuf(stdout, out, _IOLBF, sizeof out);
    plimsoll_push("kept");
    puts("ready");
    while (scanf("%d", &count) == 1) {
        for (int i = 0; i < count; i++) {
            keep_block();
            pass_block();
        }
        puts("done");
    }
    plimsoll_pop();
    return 0;
}
