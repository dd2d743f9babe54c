/* SPDX-License-Identifier: MIT */
/*
 * thrice.c - takes three snapshots with one name: after one allocation, after three, after six.
 */
#include <plimsoll.h>
#include <stdlib.h>

static void *volatile kept;

int main(void)
{
    for (int i = 1; i <= 3; i++) {
        for (int k = 0; k < i; k++)
            kept = malloc(1000);
        plimsoll_snapshot("warm");
    }
}
