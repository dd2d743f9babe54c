/* SPDX-License-Identifier: MIT */
/*
 * stacks.c - allocates from many different stacks, most of them a few times: what a compiler does. For the cost of
 * reading its profile.
 *
 *   stacks COUNT          ends
 *   stacks COUNT hold     then writes a line and allocates from one stack after the other, until stdin ends
 *
 * A stack has 18 levels of two functions each, and each bit of its number chooses one of them. Reports show these
 * stacks apart, since all functions have names of their own.
 */
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#define LEVELS 18
#define APART __attribute__((noinline, noclone))

static void *kept[1u << LEVELS];

static APART void *innermost(uint32_t number)
{
    void *volatile block = malloc(16 + number % 3000);
    return block;
}

/* volatile: neither call is a tail call. */
#define FUNCTION(name, level, left, right)                                                                             \
    static APART void *name##level(uint32_t number)                                                                    \
    {                                                                                                                  \
        void *volatile block;                                                                                          \
        if (number >> (level) &1)                                                                                      \
            block = left(number);                                                                                      \
        else                                                                                                           \
            block = right(number);                                                                                     \
        return block;                                                                                                  \
    }
#define LEVEL(level, left, right) FUNCTION(l, level, left, right) FUNCTION(r, level, left, right)
LEVEL(0, innermost, innermost)
LEVEL(1, l0, r0)
LEVEL(2, l1, r1)
LEVEL(3, l2, r2)
LEVEL(4, l3, r3)
LEVEL(5, l4, r4)
LEVEL(6, l5, r5)
LEVEL(7, l6, r6)
LEVEL(8, l7, r7)
LEVEL(9, l8, r8)
LEVEL(10, l9, r9)
LEVEL(11, l10, r10)
LEVEL(12, l11, r11)
LEVEL(13, l12, r12)
LEVEL(14, l13, r13)
LEVEL(15, l14, r14)
LEVEL(16, l15, r15)
FUNCTION(l, 17, l16, r16)

/* A compiler calls half of its stacks once, and few of them often. */
static uint32_t calls_of(uint32_t number)
{
    return number % 25 == 0 ? 9 : number % 2 ? 1 : 3;
}

#define HELD_CALLS 2000 /* between two looks at stdin */
static int hold(uint32_t count)
{
    struct pollfd input = {.fd = 0, .events = POLLIN};
    if (write(1, "up\n", 3) != 3)
        return 1;
    for (uint32_t i = 0; poll(&input, 1, 1) == 0;)
        for (uint32_t call = 0; call < HELD_CALLS; call++, i = (i + 1) % count)
            free(l17(i));
    return 0;
}

int main(int argc, char **argv)
{
    uint32_t count = argc > 1 ? (uint32_t) strtoul(argv[1], NULL, 10) : 1000;
    if (count > 1u << LEVELS)
        return 2;
    for (uint32_t i = 0; i < count; i++)
        /* volatile: gcc 14 would compile the first round apart, and its call would be another stack. */
        for (volatile uint32_t call = 0; call < calls_of(i); call++) {
            void *block = l17(i);
            if (call == 0 && i % 3 == 0)
                kept[i] = block;
            else
                free(block);
        }
    for (uint32_t i = 0; i < count; i += 2)
        free(kept[i]);
    return argc > 2 ? hold(count) : 0;
}
