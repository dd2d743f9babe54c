/* SPDX-License-Identifier: MIT */
/* arenas.c - prints glibc's report of its heap: how much more is in use after each step, and what can be trimmed. */
#include <malloc.h>

#include "trap.h"

/* Rounded to 64 KiB: the order in which holes were left decides how they are filled, which differs by a few bytes. */
static long rounded(size_t now, size_t before)
{
    return ((long) now - (long) before + (long) (1 << 30) + 32768) / 65536 - (1 << 14);
}

static void say_change(const char *what, struct mallinfo2 *before)
{
    struct mallinfo2 now = mallinfo2();
    dprintf(1, "%s: %ld in use, %ld mapped in %ld\n", what, rounded(now.uordblks, before->uordblks),
            rounded(now.hblkhd, before->hblkhd), (long) now.hblks - (long) before->hblks);
    *before = now;
}

int main(void)
{
    void *block[1000];
    struct mallinfo2 info;
    free(keep(malloc(100)));
    info = mallinfo2();
    for (int i = 0; i < 1000; i++)
        block[i] = keep(malloc((size_t) (2000 + i)));
    say_change("a thousand blocks", &info);
    for (int i = 0; i < 1000; i += 2)
        free(block[i]);
    say_change("half of them freed", &info);
    for (int i = 1; i < 1000; i += 2)
        block[i] = keep(realloc(block[i], 5000));
    say_change("the others moved", &info);
    void *large = keep(malloc(100 << 20));
    say_change("a large one", &info);
    free(large);
    say_change("and gone", &info);
    for (int i = 1; i < 1000; i += 2)
        free(block[i]);
    say_change("all freed", &info);
    dprintf(1, "trimmed: %d, then %d\n", malloc_trim(0), malloc_trim(0));
    dprintf(1, "mallopt: %d\n", mallopt(M_MMAP_THRESHOLD, 65536));
    return 0;
}
