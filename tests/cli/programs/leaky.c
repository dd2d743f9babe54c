/* SPDX-License-Identifier: MIT */
/*
 * leaky.c - keeps one block in four: `leaky BLOCKS [SECONDS]`. With SECONDS it prints "up" and waits. Exits with 3.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *kept[1 << 20];

__attribute__((noinline)) static void *keep_block(size_t bytes)
{
    void *block = malloc(bytes);
    memset(block, 1, bytes);
    return block;
}

__attribute__((noinline)) static void use_block(size_t bytes)
{
    char *volatile block = malloc(bytes);
    memset(block, 1, bytes);
    free(block);
}

int main(int argc, char **argv)
{
    int blocks = argc > 1 ? atoi(argv[1]) : 10000;
    for (int i = 0; i < blocks && i < 1 << 20; i++) {
        if (i % 4 == 0)
            kept[i] = keep_block(1000);
        else
            use_block(1000);
    }
    if (argc > 2) {
        puts("up");
        fflush(stdout);
        sleep((unsigned) atoi(argv[2]));
    }
    return 3;
}
