/* SPDX-License-Identifier: MIT */
/*
 * model.h - what `plimsoll top` shows: figures and rates from readings of a running process. It knows no terminal.
 *
 * Changes and rates compare the newest reading with the one before it, or with the baseline, which is the reading that
 * was the newest when the user asked for it.
 */
#ifndef PL_MODEL_H
#define PL_MODEL_H

#include "cli/top/atlas.h"
#include "reader/profile.h"

enum pl_model_by { PL_BY_SITE, PL_BY_FUNCTION, PL_BY_TAG, PL_BY_THREAD, PL_BY_COUNT };

enum pl_model_column {
    PL_COLUMN_LIVE,
    PL_COLUMN_CHANGE, /* of live bytes */
    PL_COLUMN_RATE,   /* bytes allocated per second */
    PL_COLUMN_CALLS,  /* per second */
    PL_COLUMN_PEAK,
    PL_COLUMN_SHARE, /* of the column that decides the order */
    PL_COLUMN_NAME,
    PL_COLUMN_COUNT
};

/* A row of a table. */
struct pl_model_row {
    uint32_t subject;
    double value[PL_COLUMN_NAME];
    const struct pl_figures *now, *then; /* NULL: it had none */
    bool counted;                        /* rates come from exact counters */
};

struct pl_model_rows {
    struct pl_model_row *row;
    uint32_t count;
    uint32_t hidden; /* by the filter */
};

/* Totals of the process. */
struct pl_model_head {
    struct pl_estimate live, peak;
    double change;      /* of live bytes */
    double rate, calls; /* per second */
    double rss_bytes;   /* 0: not known */
    double cost;        /* of the profiler, as a share of the process's CPU time; -1: not known */
    double elapsed_s;   /* what changes and rates are about */
    bool estimated;     /* some figures are estimates */
    bool first;         /* there is nothing to compare with yet */
    uint32_t stacks, threads;
};

#define PL_MODEL_HISTORY 512
struct pl_model_point {
    double live_bytes, rss_bytes;
};

struct pl_model;
struct pl_model *pl_model_new(void);
void pl_model_free(struct pl_model *model);

/* The stacks of a profile that was read without names: does the model know all of them? If not, read it with names. */
bool pl_model_knows(const struct pl_model *model, const struct pl_profile *profile);

/*
 * A new reading, at this time. The model takes the profile and closes it; with `named`, it has names, and new stacks
 * are learned from it. Figures that are smaller than before (the process was reset) end the comparison with older
 * readings.
 */
void pl_model_put(struct pl_model *model, struct pl_profile *profile, bool named, double seconds, double rss_bytes);

const struct pl_profile *pl_model_profile(const struct pl_model *model); /* the newest; NULL: none */
struct pl_model_head pl_model_head(const struct pl_model *model);

/* The newest reading becomes the baseline; or there is none any more. When it was taken, or 0. */
void pl_model_set_base(struct pl_model *model, bool set);
double pl_model_base(const struct pl_model *model);

/* All rows that the filter lets through, in the order of the column, largest first (names: A to Z). `filter` is a part
 * of a name or place, in any case; NULL or "": all. Valid until the next reading. */
struct pl_model_rows pl_model_rows(struct pl_model *model, enum pl_model_by by, enum pl_model_column order,
                                   bool reversed, const char *filter);

/* The error of a value, as half of its 95% confidence interval; 0: it is exact. */
double pl_model_error(const struct pl_model *model, const struct pl_model_row *row, enum pl_model_column column);

const struct pl_subject_name *pl_model_name(const struct pl_model *model, uint32_t subject);

/* What a row consists of: its heaviest stack, or for tags and threads its heaviest sites. */
#define PL_DETAIL_MOST 48
struct pl_model_detail {
    uint32_t count;
    uint32_t subject[PL_DETAIL_MOST];
    double value[PL_DETAIL_MOST]; /* of sites: live bytes */
    bool stack;                   /* the subjects are a stack, innermost first */
    uint32_t stacks;              /* how many stacks, or sites, the row has */
    double share;                 /* of the row: what the stack has */
};
void pl_model_detail(struct pl_model *model, enum pl_model_by by, uint32_t subject, enum pl_model_column order,
                     struct pl_model_detail *out);

/* The last points of live bytes and RSS, oldest first; `room` at most. Returns how many. */
uint32_t pl_model_history(const struct pl_model *model, struct pl_model_point *out, uint32_t room);

/* Fills the history from the timeline of the profile, one point every `apart_s`, before the first reading is put. */
void pl_model_remember(struct pl_model *model, const struct pl_profile *profile, double apart_s);

#endif
