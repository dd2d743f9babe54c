/* SPDX-License-Identifier: MIT */
/* quiet.c - allocates 1,000 blocks of 100 bytes and frees half of them: a program without any peculiarity. */
#include "trap.h"

#define BLOCKS 1000
#define BYTES 100

static APART void *quiet_allocate(void)
{
    return keep(malloc(BYTES));
}

int main(void)
{
    static char *block[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        CHECK((block[i] = quiet_allocate()) != NULL);
        memset(block[i], i, BYTES);
    }
    for (int i = 0; i < BLOCKS; i += 2)
        free(block[i]);
    for (int i = 1; i < BLOCKS; i += 2)
        CHECK(block[i][0] == (char) i && block[i][BYTES - 1] == (char) i);
    puts("quiet");
    return 0;
}
