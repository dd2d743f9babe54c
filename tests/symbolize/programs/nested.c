/* SPDX-License-Identifier: MIT */
/* nested.c - functions inside functions (GNU C), which DWARF nests too. */
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static int outer(int count)
{
    __attribute__((noinline)) int inner(int n)
    {
        char *memory = malloc((size_t) n + 1);
        memory[0] = (char) n;
        int first = memory[0] + count;
        free(memory);
        return first;
    }
    return inner(count) + inner(count + 1);
}

int main(int argc, char **argv)
{
    (void) argv;
    printf("%d\n", outer(argc));
    return 0;
}
