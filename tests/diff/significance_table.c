/* SPDX-License-Identifier: MIT */
/*
 * significance_table.c - prints the tables of docs/maths.md about significant changes: how many of the pairs that are
 * the same have a p of at most 5%, 1%, 0.1%, 0.01%, as a share of those levels (at most 1); and how many of the sites
 * that grew are found.
 */
#include <stdio.h>
#include <stdlib.h>

#include "pairs.h"

static const double expected_samples[] = {0.5, 1, 2, 5, 10, 30, 100, 300};
#define STEPS (sizeof(expected_samples) / sizeof(expected_samples[0]))

static void print_same(const struct scenario *s, uint64_t before, uint64_t after, unsigned pairs)
{
    for (unsigned step = 0; step < STEPS && expected_samples[step] <= s->most; step++) {
        struct pairs same = pairs_run(s, before, after, expected_samples[step], 1, pairs);
        printf("%-24s %6.1f  ", s->name, expected_samples[step]);
        for (unsigned m = 0; m < METRICS; m++) {
            printf(" |");
            for (unsigned i = 0; i < PAIRS_LEVELS; i++)
                printf(" %5.2f", same.at[m][i] / same.seen / pairs_level[i]);
        }
        printf("\n");
    }
}

static void print_grown(const struct scenario *s, unsigned pairs)
{
    static const double growth[] = {1.1, 1.25, 1.5, 2, 4};
    for (unsigned step = 0; step < STEPS && expected_samples[step] <= s->most; step++) {
        printf("%-24s %6.1f  ", s->name, expected_samples[step]);
        for (unsigned i = 0; i < sizeof growth / sizeof *growth; i++) {
            struct pairs grown = pairs_run(s, s->interval, s->interval, expected_samples[step], growth[i], pairs);
            printf(" | x%.2f %5.1f%% %5.1f%%", growth[i], 100 * grown.at[PL_METRIC_ALLOC_SPACE][0] / grown.seen,
                   100 * grown.at[PL_METRIC_ALLOC_SPACE][2] / grown.seen);
        }
        printf("\n");
    }
}

int main(int argc, char **argv)
{
    unsigned pairs = argc > 1 ? (unsigned) atoi(argv[1]) : 20000;
    printf("the same twice: calls | bytes | live blocks | live bytes, each at 5, 1, 0.1 and 0.01%%\n");
    for (unsigned i = 0; i < scenario_count; i++)
        print_same(&scenarios[i], scenarios[i].interval, scenarios[i].interval, pairs);
    printf("before at T, after at 16 T\n");
    for (unsigned i = 0; i < scenario_count; i++)
        print_same(&scenarios[i], scenarios[i].interval, 16 * scenarios[i].interval, pairs);
    printf("before exact, after at T\n");
    for (unsigned i = 0; i < scenario_count; i++)
        print_same(&scenarios[i], EXACT, scenarios[i].interval, pairs);
    printf("grown: how many have p <= 5%%, p <= 0.1%%, bytes\n");
    print_grown(&scenarios[0], pairs / 10);
    print_grown(&scenarios[4], pairs / 10);
    return 0;
}
