/* SPDX-License-Identifier: MIT */
/* dropped.c - a long function that the linker drops. Its lines, from address 0 on, overlap those of other functions. */
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static char *kept(int bytes)
{
    char *memory = malloc((size_t) bytes);
    memory[0] = 1;
    return memory;
}

int main(int argc, char **argv)
{
    (void) argv;
    printf("%d\n", kept(argc)[0]);
    return 0;
}

/* Last, so that its lines also come last in the line table. */
void dropped(char *memory);
void dropped(char *memory)
{
#include "steps.h" /* hundreds of statements, written by the test */
}
