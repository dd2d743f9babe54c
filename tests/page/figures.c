/* SPDX-License-Identifier: MIT */
/*
 * figures.c - prints figures as reports format them, so that a test can compare the page's formatting. Each line is
 *
 *   FUNCTION  VALUE  ERROR  HIGH  TEXT
 *
 * separated by tabs. Arguments that a function does not take are 0. The values are those at which the format changes,
 * and many others.
 */
#include "analysis/figure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define NUMBERS 400
#define LARGEST_EXACT 9007199254740992.0 /* 2^53: up to here, JavaScript's numbers hold every integer */

static void print(const char *function, double value, double error, double high, const char *text)
{
    printf("%s\t%.17g\t%.17g\t%.17g\t%s\n", function, value, error, high, text);
}

static void print_one(const char *function, void (*write)(char *out, double value), double value)
{
    char out[PL_FIGURE_BYTES];
    write(out, value);
    print(function, value, 0, 0, out);
}

static void print_whole(const char *function, void (*write)(char *out, uint64_t value), double value)
{
    char out[PL_FIGURE_BYTES];
    if (!(value >= 0) || value > LARGEST_EXACT)
        return;
    write(out, (uint64_t) value);
    print(function, floor(value), 0, 0, out);
}

static void print_value(double value)
{
    print_one("bytes", pl_figure_bytes, value);
    print_one("count", pl_figure_count, value);
    if (value < LARGEST_EXACT)
        print_one("seconds", pl_figure_seconds, value);
    print_one("span", pl_figure_span, value);
    print_one("percent", pl_figure_percent, value);
    print_whole("exact", pl_figure_exact, value);
    print_whole("setting", pl_figure_setting, value);
}

static void print_estimate(const char *function, enum pl_metric metric, double value, double error)
{
    char out[2 * PL_FIGURE_BYTES];
    struct pl_estimate estimate = {.value = value, .error = error, .high = value + error};
    pl_figure_estimate(out, metric, &estimate);
    print(function, value, error, estimate.high, out);
}

static void print_pair(double value, double other)
{
    char out[2 * PL_FIGURE_BYTES];
    print_estimate("estimate-bytes", PL_METRIC_INUSE_SPACE, value, other);
    print_estimate("estimate-count", PL_METRIC_INUSE_OBJECTS, value, other);
    pl_figure_slack(out, value, other, 1.5 * value);
    print("slack", value, other, 1.5 * value, out);
}

/* Between 1e-10 and 1e17, uniform on a logarithmic scale. */
static double any(void)
{
    return pow(10, (double) random() / (double) RAND_MAX * 27 - 10);
}

int main(void)
{
    static const double special[] = {
        0,
        0.0005,
        0.005,
        0.0125,
        0.03,
        0.04,
        0.049,
        0.25,
        0.375,
        0.4999,
        0.5,
        0.7,
        0.95,
        0.9995,
        1,
        1.25,
        1.5,
        2.5,
        9.95,
        12.25,
        12.75,
        99.9,
        99.94999,
        99.95,
        99.96,
        100,
        100.5,
        119.9,
        119.94,
        120,
        999.5,
        1000,
        1023,
        1023.4,
        1023.488,
        1023.5,
        1024,
        1152,
        1280,
        1408,
        1536,
        2.5 * 1024,
        102348.8,
        102400,
        524288,
        999499,
        999500,
        1e6,
        1048000,
        1048051,
        1048576,
        1310720,
        1.03e6,
        1.125e6,
        7199,
        7200,
        172799,
        172800,
        360000,
        1e9,
        1.25e9,
        4e12,
        1e15,
        4503599627370496.,
        9007199254740992.,
        1e18,
        3.3e20,
        1e25,
        1e200,
    };
    const size_t specials = sizeof special / sizeof *special;
    for (size_t i = 0; i < specials; i++) {
        print_value(special[i]);
        print_value(-special[i]);
        for (size_t j = 0; j < specials; j++)
            print_pair(special[i], special[j]);
    }
    for (int i = 0; i < NUMBERS; i++) {
        double value = any();
        print_value(value);
        print_value(-value);
        print_value(floor(value * 8) / 8);
        print_pair(value, any());
        print_pair(value, value * (double) (i + 1) / NUMBERS);
    }
    return ferror(stdout) || fflush(stdout);
}
