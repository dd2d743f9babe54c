/* SPDX-License-Identifier: MIT */
/*
 * coverage_table.c - prints the coverage tables of docs/maths.md, from the scenarios and the code that the tests use.
 *
 *     coverage_table [RUNS]
 */
#include <stdio.h>
#include <stdlib.h>

#include "scenarios.h"

static const double expected[] = {1, 2, 5, 10, 30, 100, 300, 1000};
#define COLUMNS (sizeof(expected) / sizeof(expected[0]))

struct figure {
    const char *words;
    enum pl_metric metric;
    double (*of)(const struct tally *tally);
};

static double interval_coverage(const struct tally *t)
{
    return 100 * t->covered / t->runs;
}

static double plus_minus_coverage(const struct tally *t)
{
    return 100 * t->covered_pm / t->runs;
}

static double coverage_if_seen(const struct tally *t)
{
    return t->seen > 0 ? 100 * t->seen_covered / t->seen : 0;
}

static const struct figure figures[] = {
    {"calls, [low, high]", PL_METRIC_ALLOC_OBJECTS, interval_coverage},
    {"bytes, [low, high]", PL_METRIC_ALLOC_SPACE, interval_coverage},
    {"live blocks, [low, high]", PL_METRIC_INUSE_OBJECTS, interval_coverage},
    {"live bytes, [low, high]", PL_METRIC_INUSE_SPACE, interval_coverage},
    {"calls, [low, high], runs with a sample", PL_METRIC_ALLOC_OBJECTS, coverage_if_seen},
    {"bytes, [low, high], runs with a sample", PL_METRIC_ALLOC_SPACE, coverage_if_seen},
    {"calls, value ± error", PL_METRIC_ALLOC_OBJECTS, plus_minus_coverage},
    {"bytes, value ± error", PL_METRIC_ALLOC_SPACE, plus_minus_coverage},
    {"bias of calls, in standard errors", PL_METRIC_ALLOC_OBJECTS, tally_bias},
    {"bias of bytes, in standard errors", PL_METRIC_ALLOC_SPACE, tally_bias},
    {"bias of live blocks, in standard errors", PL_METRIC_INUSE_OBJECTS, tally_bias},
    {"bias of live bytes, in standard errors", PL_METRIC_INUSE_SPACE, tally_bias},
};
#define FIGURES (sizeof(figures) / sizeof(figures[0]))

/* Scenarios with threads take long. All others are affordable here. */
static bool is_run(unsigned scenario, unsigned column)
{
    return !scenarios[scenario].per_thread || expected[column] <= scenarios[scenario].most;
}

static void print_figure(const struct figure *figure, struct tally (*tally)[COLUMNS][METRICS])
{
    printf("\n%s\n\n| expected samples |", figure->words);
    for (unsigned c = 0; c < COLUMNS; c++)
        printf(" %.0f |", expected[c]);
    printf("\n|---|---|---|---|---|---|---|---|---|\n");
    for (unsigned s = 0; s < scenario_count; s++) {
        printf("| %s |", scenarios[s].name);
        for (unsigned c = 0; c < COLUMNS; c++)
            if (is_run(s, c))
                printf(" %.1f |", figure->of(&tally[s][c][figure->metric]));
            else
                printf(" |");
        printf("\n");
    }
}

int main(int argc, char **argv)
{
    unsigned runs = argc > 1 ? (unsigned) strtoul(argv[1], NULL, 10) : 20000;
    struct tally(*tally)[COLUMNS][METRICS] = calloc(scenario_count, sizeof(*tally));
    if (!tally || !runs)
        return 1;
    for (unsigned s = 0; s < scenario_count; s++)
        for (unsigned c = 0; c < COLUMNS && is_run(s, c); c++)
            scenario_run(&scenarios[s], expected[c], runs, tally[s][c]);
    for (unsigned f = 0; f < FIGURES; f++)
        print_figure(&figures[f], tally);
    free(tally);
    return 0;
}
