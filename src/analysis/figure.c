/* SPDX-License-Identifier: MIT */
/*
 * figure.c - prints figures for people to read.
 *
 * Two or three significant digits are enough to compare; an estimate rarely deserves more. Bytes have binary units and
 * counts decimal ones. An error is printed in the unit of its figure, so that they can be compared without arithmetic.
 */
#include "analysis/figure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MANY 9999.5        /* of a unit: a larger error gets its own unit, 864 B ± 302 KiB */
#define SLACK_MATTERS 0.01 /* of a peak: less disappears in its last digit */

struct scale {
    double one;
    const char *suffix;
};

static const struct scale byte_scales[] = {
    {1, "B"}, {0x1p10, "KiB"}, {0x1p20, "MiB"}, {0x1p30, "GiB"}, {0x1p40, "TiB"}, {0x1p50, "PiB"},
};
/* Counts have no unit below a million: "412,918" says more than "413 K" and is hardly longer. */
static const struct scale count_scales[] = {{1, ""}, {1e6, "M"}, {1e9, "G"}, {1e12, "T"}};

static bool all_digits;

void pl_figure_all_digits(void)
{
    all_digits = true;
}

/* The largest unit in which the value, rounded as it will be printed, is at least 1. */
static const struct scale *scale_of(const struct scale *scales, size_t count, double value)
{
    size_t i = 0;
    while (!all_digits && i + 1 < count && fabs(value) >= scales[i + 1].one * 0.9995)
        i++;
    return &scales[i];
}

static const struct scale *metric_scale(enum pl_metric metric, double value)
{
    if (!strcmp(pl_metric_info[metric].unit, "bytes"))
        return scale_of(byte_scales, sizeof byte_scales / sizeof *byte_scales, value);
    return scale_of(count_scales, sizeof count_scales / sizeof *count_scales, value);
}

static void group_digits(char out[PL_FIGURE_BYTES], uint64_t count)
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long) count), at = 0;
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = 0;
}

/* 0.03, 2.1, 31.4, 388 */
static int decimals(double shown)
{
    return shown >= 99.95 ? 0 : shown >= 0.95 || shown == 0 ? 1 : 2;
}

static void print_scaled(char out[PL_FIGURE_BYTES], const struct scale *scale, double value)
{
    double shown = value / scale->one, size = fabs(shown);
    bool whole = size < 1e15 && (scale->one == 1 || decimals(size) == 0);
    if (whole && shown <= -0.5)
        *out = '-';
    if (whole)
        group_digits(out + (shown <= -0.5), (uint64_t) llround(size));
    else if (!isfinite(shown) || fabs(shown) >= 1e9) /* damaged figures must not overrun a column */
        snprintf(out, PL_FIGURE_BYTES, "%.3g", shown);
    else
        snprintf(out, PL_FIGURE_BYTES, "%.*f", decimals(fabs(shown)), shown);
    if (!*scale->suffix)
        return;
    size_t length = strlen(out);
    snprintf(out + length, PL_FIGURE_BYTES - length, " %s", scale->suffix);
}

void pl_figure_bytes(char out[PL_FIGURE_BYTES], double bytes)
{
    print_scaled(out, scale_of(byte_scales, sizeof byte_scales / sizeof *byte_scales, bytes), bytes);
}

void pl_figure_setting(char out[PL_FIGURE_BYTES], uint64_t bytes)
{
    size_t i = 0;
    while (i + 1 < sizeof byte_scales / sizeof *byte_scales && (double) bytes >= byte_scales[i + 1].one)
        i++;
    const struct scale *scale = &byte_scales[i];
    if (fmod((double) bytes, scale->one) == 0)
        snprintf(out, PL_FIGURE_BYTES, "%.0f %s", (double) bytes / scale->one, scale->suffix);
    else
        pl_figure_bytes(out, (double) bytes);
}

void pl_figure_count(char out[PL_FIGURE_BYTES], double count)
{
    print_scaled(out, scale_of(count_scales, sizeof count_scales / sizeof *count_scales, count), count);
}

void pl_figure_exact(char out[PL_FIGURE_BYTES], uint64_t count)
{
    group_digits(out, count);
}

const char *pl_figure_plural(const char *figure)
{
    const char *last = strrchr(figure, ' ');
    return strcmp(last ? last + 1 : figure, "1") == 0 ? "" : "s";
}

void pl_figure_slack(char out[2 * PL_FIGURE_BYTES], double peak_bytes, double slack_bytes, double allocated_bytes)
{
    char text[PL_FIGURE_BYTES];
    bool vague = slack_bytes >= peak_bytes;
    pl_figure_bytes(text, vague ? fmin(peak_bytes + slack_bytes, allocated_bytes) : slack_bytes);
    *out = 0;
    if (slack_bytes > peak_bytes * SLACK_MATTERS)
        snprintf(out, 2 * PL_FIGURE_BYTES, ", %s %s", vague ? "at most" : "to within", text);
}

void pl_figure_percent(char out[PL_FIGURE_BYTES], double fraction)
{
    if (!isfinite(fraction))
        fraction = 0;
    snprintf(out, PL_FIGURE_BYTES, "%.1f%%", fmax(0, fmin(fraction, 1)) * 100);
}

void pl_figure_seconds(char out[PL_FIGURE_BYTES], double seconds)
{
    static const struct unit {
        double seconds;
        const char *large, *small;
        double small_seconds;
    } units[] = {{86400, "d", "h", 3600}, {3600, "h", "min", 60}, {60, "min", "s", 1}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (!(seconds >= units[i].seconds * 2))
            continue;
        double large = floor(seconds / units[i].seconds);
        double small = floor((seconds - large * units[i].seconds) / units[i].small_seconds);
        snprintf(out, PL_FIGURE_BYTES, "%.0f %s %.0f %s", large, units[i].large, small, units[i].small);
        return;
    }
    if (!(seconds >= 0.9995))
        snprintf(out, PL_FIGURE_BYTES, "%.0f ms", fmax(0, seconds * 1e3));
    else
        snprintf(out, PL_FIGURE_BYTES, "%.1f s", seconds);
}

void pl_figure_span(char out[PL_FIGURE_BYTES], double seconds)
{
    static const struct unit {
        double seconds, below;
        const char *name;
    } units[] = {{1e-9, 1e-6, "ns"},    {1e-6, 1e-3, "µs"},     {1e-3, 1, "ms"},       {1, 120, "s"},
                 {60, 2 * 3600, "min"}, {3600, 2 * 86400, "h"}, {86400, INFINITY, "d"}};
    size_t i = 0;
    while (i + 1 < sizeof units / sizeof *units && !(seconds < units[i].below * 0.9995))
        i++;
    double shown = seconds / units[i].seconds;
    if (!(seconds > 0))
        snprintf(out, PL_FIGURE_BYTES, "0");
    else if (shown >= 1e6) /* damaged figures must not overrun a column */
        snprintf(out, PL_FIGURE_BYTES, "%.3g %s", shown, units[i].name);
    else if (shown >= 99.95)
        snprintf(out, PL_FIGURE_BYTES, "%.0f %s", shown, units[i].name);
    else
        snprintf(out, PL_FIGURE_BYTES, "%.3g %s", round(shown * 10) / 10, units[i].name);
}

void pl_figure_metric(char out[PL_FIGURE_BYTES], enum pl_metric metric, double value)
{
    print_scaled(out, metric_scale(metric, value), value);
}

/* Values without a unit are printed without decimals, others with two at most. */
static bool reads_as_zero(const struct scale *scale, double value)
{
    return !(value / scale->one >= (scale->one == 1 ? 0.5 : 0.005));
}

void pl_figure_error(char out[PL_FIGURE_BYTES], enum pl_metric metric, const struct pl_estimate *estimate)
{
    *out = 0;
    if (!(estimate->error > 0))
        return;
    char error[PL_FIGURE_BYTES];
    const struct scale *scale = metric_scale(metric, fmax(estimate->value, 0));
    if (reads_as_zero(scale, estimate->error) || !(estimate->value > 0) || estimate->error >= MANY * scale->one)
        scale = metric_scale(metric, estimate->error);
    if (reads_as_zero(scale, estimate->error))
        return;
    print_scaled(error, scale, estimate->error);
    snprintf(out, PL_FIGURE_BYTES, "± %.*s", PL_FIGURE_BYTES - 5, error);
}

/* Hardly more is known than the upper end: there is no sample, or the error is thirty times the figure. The figure is
 * not a change, which may be negative. */
#define VAGUE 30
static bool is_vague(const struct pl_estimate *estimate)
{
    return estimate->high > 0 && estimate->low >= 0 && !(estimate->value * VAGUE > estimate->error);
}

void pl_figure_cell(char value[PL_FIGURE_BYTES], char error[PL_FIGURE_BYTES], enum pl_metric metric,
                    const struct pl_estimate *estimate)
{
    char high[PL_FIGURE_BYTES];
    *error = 0;
    if (is_vague(estimate)) {
        pl_figure_metric(high, metric, estimate->high);
        snprintf(value, PL_FIGURE_BYTES, "at most %.*s", PL_FIGURE_BYTES - 9, high);
        return;
    }
    pl_figure_metric(value, metric, estimate->value);
    pl_figure_error(error, metric, estimate);
}

void pl_figure_estimate(char out[2 * PL_FIGURE_BYTES], enum pl_metric metric, const struct pl_estimate *estimate)
{
    char value[PL_FIGURE_BYTES], error[PL_FIGURE_BYTES];
    pl_figure_cell(value, error, metric, estimate);
    snprintf(out, 2 * PL_FIGURE_BYTES, "%s%s%s", value, *error ? " " : "", error);
}
