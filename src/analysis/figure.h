/* SPDX-License-Identifier: MIT */
/*
 * figure.h - prints figures for people to read: `12.4 MiB`, `1,204`, `1.03 M`, `± 0.3 MiB`, `12.8 s`.
 */
#ifndef PL_FIGURE_H
#define PL_FIGURE_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/profile.h"

#define PL_FIGURE_BYTES 48

/* From now on, bytes, blocks and calls are printed with all digits: 13,002,342 B, not 12.4 MiB. Settings, shares and
 * times do not change. The switch is global, since --all-digits is given once. */
void pl_figure_all_digits(void);

void pl_figure_bytes(char out[PL_FIGURE_BYTES], double bytes);      /* 12.4 MiB */
void pl_figure_setting(char out[PL_FIGURE_BYTES], uint64_t bytes);  /* 512 KiB: no decimals if it is round */
void pl_figure_count(char out[PL_FIGURE_BYTES], double count);      /* 412,918; 1.03 M */
void pl_figure_exact(char out[PL_FIGURE_BYTES], uint64_t count);    /* 1,030,412: every digit */
void pl_figure_percent(char out[PL_FIGURE_BYTES], double fraction); /* 38.1% */
void pl_figure_seconds(char out[PL_FIGURE_BYTES], double seconds);  /* 12.8 s; 3 min 20 s; 2 d 4 h */
void pl_figure_span(char out[PL_FIGURE_BYTES], double seconds);     /* 1.5 µs; 20 ms; 12.8 s; 5 min: one unit only */

/* The plural s for the word after a figure: "1 block", "at most 1 block", "2 blocks". */
const char *pl_figure_plural(const char *figure);

/* ", to within 256 KiB": how far a peak may be off; "" if that is less than 1%. If it may be off by more than itself,
 * ", at most 5.4 MiB": no more than all that was allocated. */
void pl_figure_slack(char out[2 * PL_FIGURE_BYTES], double peak_bytes, double slack_bytes, double allocated_bytes);

/* In the unit of the metric. */
void pl_figure_metric(char out[PL_FIGURE_BYTES], enum pl_metric metric, double value);

/*
 * The error of an estimate, in the unit of its value: "± 0.3 MiB". An error that would read as zero in that unit, or as
 * more than 9,999, gets its own unit ("± 3 KiB"). "" for exact figures, and for errors below half a byte or block.
 */
void pl_figure_error(char out[PL_FIGURE_BYTES], enum pl_metric metric, const struct pl_estimate *estimate);

/* The value and its error apart, for a table; "at most 1.2 MiB" and no error if hardly more is known than that: there
 * is no sample to estimate from, or the error is thirty times the value. */
void pl_figure_cell(char value[PL_FIGURE_BYTES], char error[PL_FIGURE_BYTES], enum pl_metric metric,
                    const struct pl_estimate *estimate);

/* The same in one: "2.1 MiB ± 0.3 MiB"; the value alone if it is exact. */
void pl_figure_estimate(char out[2 * PL_FIGURE_BYTES], enum pl_metric metric, const struct pl_estimate *estimate);

#endif
