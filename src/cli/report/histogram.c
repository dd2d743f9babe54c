/* SPDX-License-Identifier: MIT */
/*
 * histogram.c - prints log2 histograms of sizes and lifetimes.
 */
#include "cli/report/histogram.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/report/views.h"
#include "reader/base/utf8.h"

#define LINES_MAX 22
#define LABEL_WIDTH 18
#define COUNT_WIDTH 12
#define SHARE_WIDTH 6
#define GAP 2
#define BAR_MOST 50

struct pl_scale pl_histogram_sizes(void)
{
    return (struct pl_scale){PL_SIZE_BUCKETS, pl_size_bucket_from, 1, pl_figure_bytes, true};
}

struct pl_scale pl_histogram_lives(double unit_s)
{
    return (struct pl_scale){PL_LIFE_BUCKETS, pl_life_bucket_from, unit_s, pl_figure_span, false};
}

struct pl_range pl_histogram_range(const struct pl_scale *scale, const double *count)
{
    struct pl_range range = {scale->buckets - 1, 0};
    for (unsigned i = 0; i < scale->buckets; i++) {
        if (!(count[i] > 0))
            continue;
        range.first = i < range.first ? i : range.first;
        range.last = i;
    }
    return range;
}

double pl_histogram_sum(const struct pl_scale *scale, const double *count)
{
    double sum = 0;
    for (unsigned i = 0; i < scale->buckets; i++)
        sum += count[i];
    return sum;
}

/* --- lines --- */

/* "up to 15 B", "16 to 31 B", "1.0 to 2.0 KiB", "16 MiB and more": buckets [from, to). */
static void print_label(const struct pl_scale *scale, unsigned from, unsigned to, char out[3 * PL_FIGURE_BYTES])
{
    char low[PL_FIGURE_BYTES], high[PL_FIGURE_BYTES];
    double start = scale->from(from) * scale->unit, end = to < scale->buckets ? scale->from(to) * scale->unit : 0;
    if (scale->whole && end <= 1024)
        end -= 1;
    scale->figure(low, start);
    scale->figure(high, end);
    const char *low_unit = strrchr(low, ' '), *high_unit = strrchr(high, ' ');
    bool same = low_unit && high_unit && !strcmp(low_unit, high_unit);
    if (to >= scale->buckets)
        snprintf(out, 3 * PL_FIGURE_BYTES, "%s and more", low);
    else if (from == 0)
        snprintf(out, 3 * PL_FIGURE_BYTES, scale->whole ? "up to %s" : "below %s", high);
    else
        snprintf(out, 3 * PL_FIGURE_BYTES, "%.*s to %s", (int) (same ? low_unit - low : PL_FIGURE_BYTES), low, high);
}

static double sum_of(const double *count, unsigned from, unsigned to)
{
    double sum = 0;
    for (unsigned i = from; i < to; i++)
        sum += count[i];
    return sum;
}

static size_t bar_width(const struct pl_term *term)
{
    size_t others = LABEL_WIDTH + GAP + GAP + COUNT_WIDTH + GAP + SHARE_WIDTH;
    size_t width = term->width > others ? term->width - others : 1;
    return width < BAR_MOST ? width : BAR_MOST;
}

struct bucket {
    unsigned from, to;
    double count, fraction, share; /* fraction: of the fullest bucket; share: of the sum */
};

static void put_bucket(struct pl_term *term, const struct pl_scale *scale, const struct bucket *bucket)
{
    char label[3 * PL_FIGURE_BYTES], number[PL_FIGURE_BYTES], share[PL_FIGURE_BYTES];
    size_t width = bar_width(term);
    double least = bucket->count > 0 ? 1.0 / (8 * (double) width) : 0; /* a bucket that is not empty shows */
    print_label(scale, bucket->from, bucket->to, label);
    pl_figure_count(number, bucket->count);
    pl_figure_percent(share, bucket->share);
    pl_term_right(term, PL_STYLE_PLAIN, label, LABEL_WIDTH);
    pl_term_pad(term, LABEL_WIDTH + GAP);
    pl_term_bar(term, fmax(bucket->fraction, least), width);
    pl_term_pad(term, LABEL_WIDTH + GAP + width);
    pl_term_right(term, bucket->count > 0 ? PL_STYLE_BOLD : PL_STYLE_DIM, number, COUNT_WIDTH + GAP);
    pl_term_right(term, bucket->count > 0 ? PL_STYLE_PLAIN : PL_STYLE_DIM, share, SHARE_WIDTH + GAP);
    pl_term_end(term);
}

void pl_histogram_print(const struct pl_view *view, const struct pl_scale *scale, const double *count)
{
    struct bucket bucket[LINES_MAX + 1];
    struct pl_range range = pl_histogram_range(scale, count);
    double whole = pl_histogram_sum(scale, count), most = 0;
    unsigned step = 1, lines = 0;
    while ((range.last - range.first) / step >= LINES_MAX)
        step *= 2;
    for (unsigned from = range.first / step * step; from <= range.last; from += step, lines++) {
        unsigned to = from + step < scale->buckets ? from + step : scale->buckets;
        bucket[lines] = (struct bucket){.from = from, .to = to, .count = sum_of(count, from, to)};
        most = fmax(most, bucket[lines].count);
    }
    for (unsigned i = 0; i < lines; i++) {
        bucket[i].fraction = most > 0 ? bucket[i].count / most : 0;
        bucket[i].share = whole > 0 ? bucket[i].count / whole : 0;
        put_bucket(view->term, scale, &bucket[i]);
    }
}

/* --- a few characters --- */

void pl_histogram_spark(char out[PL_SPARK_BYTES], const double *count, struct pl_range range)
{
    static const char *const levels[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    double most = 0;
    char *to = out;
    *out = 0;
    for (unsigned i = range.first; i <= range.last; i++)
        most = fmax(most, count[i]);
    for (unsigned i = range.first; i <= range.last && i < 32; i++) {
        double level = most > 0 && count[i] > 0 ? ceil(count[i] / most * 8) : 0;
        to = stpcpy(to, levels[(unsigned) fmin(fmax(level, 0), 8)]);
    }
}

void pl_histogram_ends(char out[2 * PL_FIGURE_BYTES], const struct pl_scale *scale, struct pl_range range)
{
    char from[PL_FIGURE_BYTES], to[PL_FIGURE_BYTES];
    scale->figure(from, scale->from(range.first) * scale->unit);
    scale->figure(to, scale->from(range.last) * scale->unit);
    size_t columns = range.last - range.first + 1, used = pl_utf8_width(from) + pl_utf8_width(to);
    if (columns == 1)
        snprintf(out, 2 * PL_FIGURE_BYTES, "%s", from);
    else if (used < columns)
        snprintf(out, 2 * PL_FIGURE_BYTES, "%.30s%*s%.30s", from, (int) (columns - used), "", to);
    else
        snprintf(out, 2 * PL_FIGURE_BYTES, "%.30s…%.30s", from, to);
}

/* --- quantiles --- */

/* Assumes that values are spread evenly inside a bucket, and that the last bucket ends at twice its start. */
double pl_histogram_quantile(const struct pl_scale *scale, const double *count, double fraction)
{
    double wanted = pl_histogram_sum(scale, count) * fraction, below = 0;
    for (unsigned i = 0; i < scale->buckets; i++) {
        if (count[i] > 0 && below + count[i] >= wanted) {
            double from = scale->from(i), to = i + 1 < scale->buckets ? scale->from(i + 1) : 2 * from;
            return (from + (to - from) * (wanted - below) / count[i]) * scale->unit;
        }
        below += count[i];
    }
    return 0;
}

/* --- in words --- */

char *pl_histogram_describe(const struct pl_spread *spread)
{
    struct pl_scale scale = pl_histogram_sizes();
    struct pl_range range = pl_histogram_range(&scale, spread->sizes);
    char low[PL_FIGURE_BYTES], half[PL_FIGURE_BYTES], most[PL_FIGURE_BYTES], high[PL_FIGURE_BYTES];
    char spark[PL_SPARK_BYTES];
    double least = (double) spread->smallest, largest = (double) spread->largest;
    if (!(pl_histogram_sum(&scale, spread->sizes) > 0) || !spread->largest)
        return pl_say_print("sizes: not known");
    pl_figure_bytes(low, least);
    pl_figure_bytes(high, largest);
    if (spread->smallest == spread->largest)
        return pl_say_print("sizes: all %s", high);
    pl_figure_bytes(half, fmin(fmax(pl_histogram_quantile(&scale, spread->sizes, 0.5), least), largest));
    pl_figure_bytes(most, fmin(fmax(pl_histogram_quantile(&scale, spread->sizes, 0.99), least), largest));
    pl_histogram_spark(spark, spread->sizes, range);
    for (char *at = spark; *at; at++)
        *at = *at == ' ' ? '.' : *at; /* a blank would look like a gap between words */
    return pl_say_print("sizes: %s %s %s · p50 about %s · p99 about %s", low, spark, high, half, most);
}
