/* SPDX-License-Identifier: MIT */
/* Work for a compiler: macros, tables, loops to unroll, functions to inline. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEP(n)                                                                                                        \
    static uint64_t step_##n(uint64_t x)                                                                               \
    {                                                                                                                  \
        for (int i = 0; i < 8; i++)                                                                                    \
            x = (x ^ (x >> (n % 31 + 1))) * (2 * n + 1) + i;                                                           \
        return x % 3 ? x : ~x;                                                                                         \
    }
#define TEN(m, n) m(n##0) m(n##1) m(n##2) m(n##3) m(n##4) m(n##5) m(n##6) m(n##7) m(n##8) m(n##9)
#define NAME(n) step_##n,

/* clang-format off */
TEN(STEP, 1) TEN(STEP, 2) TEN(STEP, 3) TEN(STEP, 4) TEN(STEP, 5) TEN(STEP, 6) TEN(STEP, 7)
    /* clang-format on */

    static uint64_t (*const steps[])(uint64_t) = {TEN(NAME, 1) TEN(NAME, 2) TEN(NAME, 3) TEN(NAME, 4) TEN(NAME, 5)};

int main(void)
{
    uint64_t x = 1;
    for (size_t i = 0; i < 50; i++)
        x = steps[i](x);
    printf("%" PRIu64 " %.3f\n", step_60(step_70(x)), sqrt((double) (x % 1000)));
    return (int) (x % 7);
}
