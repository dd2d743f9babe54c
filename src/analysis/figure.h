/* SPDX-License-Identifier: MIT */
/*
 * figure.h - figures that people can read: `12.4 MiB`, `1,204`, `1.03 M`, `± 0.3 MiB`, `12.8 s`.
 */
#ifndef PL_FIGURE_H
#define PL_FIGURE_H

#include <stdbool.h>
#include <stdint.h>

#include "profile.h"

#define PL_FIGURE_BYTES 48

/* From now on figures of bytes, blocks and calls have all their digits: 13,002,342 B, not 12.4 MiB. Settings, shares
 * and times stay as they are. For the whole program, as it is asked for once: --all-digits. */
void pl_figure_all_digits(void);

void pl_figure_bytes(char out[PL_FIGURE_BYTES], double bytes);      /* 12.4 MiB */
void pl_figure_setting(char out[PL_FIGURE_BYTES], uint64_t bytes);  /* 512 KiB: a round number stays one */
void pl_figure_count(char out[PL_FIGURE_BYTES], double count);      /* 412,918; 1.03 M */
void pl_figure_exact(char out[PL_FIGURE_BYTES], uint64_t count);    /* 1,030,412: every digit */
void pl_figure_percent(char out[PL_FIGURE_BYTES], double fraction); /* 38.1% */
void pl_figure_seconds(char out[PL_FIGURE_BYTES], double seconds);  /* 12.8 s; 3 min 20 s; 2 d 4 h */
void pl_figure_span(char out[PL_FIGURE_BYTES], double seconds); /* 1.5 µs; 20 ms; 12.8 s; 5 min: as round as it is */

/* The end of the word behind a figure: "1 block", "at most 1 block", "2 blocks". */
const char *pl_figure_plural(const char *figure);

/* ", to within 256 KiB": how far a peak may be off, where that matters; or "". */
void pl_figure_slack(char out[2 * PL_FIGURE_BYTES], double peak_bytes, double slack_bytes);

/* In the unit of the metric. */
void pl_figure_metric(char out[PL_FIGURE_BYTES], enum pl_metric metric, double value);

/*
 * The error of an estimate, in the scale of its value, so that both read as one: "± 0.3 MiB". An error that would read
 * as zero there, or as thousands, has a scale of its own ("± 3 KiB"), and "" stands for exact figures and for less than
 * half of one.
 */
void pl_figure_error(char out[PL_FIGURE_BYTES], enum pl_metric metric, const struct pl_estimate *estimate);

/* "2.1 MiB ± 0.3 MiB"; the value alone when it is exact; "at most 1.2 MiB" when no sample is left to estimate from. */
void pl_figure_estimate(char out[2 * PL_FIGURE_BYTES], enum pl_metric metric, const struct pl_estimate *estimate);

#endif
