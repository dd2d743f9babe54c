/* SPDX-License-Identifier: MIT */
/*
 * diff.h - what has changed from one profile to another, and which changes are more than noise.
 *
 * Stacks are compared by functions and lines, not by addresses, so that two builds can be compared; if lines have
 * moved, by functions only. Each change has p, the probability that chance alone makes a change as large. Since there
 * are many changes, each also has q, the smallest false discovery rate at which it would be called significant
 * (Benjamini and Hochberg; significance.h). Exact figures that differ have p = 0 and q = 0.
 *
 * There is one exception: the peak of a program with several threads is not exact, even if everything was counted. It
 * is known to within profile->peak_slack_bytes, and so is what each site held then. A change at the peak that is no
 * larger than that is noise.
 *
 * Tags are compared without the tags below them. Threads with the same name are compared as one.
 */
#ifndef PL_DIFF_H
#define PL_DIFF_H

#include "analysis/path.h"
#include "reader/profile.h"

enum pl_diff_by {
    PL_DIFF_BY_STACK,
    PL_DIFF_BY_TAG,
    PL_DIFF_BY_THREAD,
};

enum pl_diff_what {
    PL_DIFF_SAME,
    PL_DIFF_GREW,
    PL_DIFF_SHRANK,
    PL_DIFF_APPEARED,
    PL_DIFF_DISAPPEARED,
};

/* Of all metrics. */
struct pl_diff_sides {
    struct pl_estimate before[PL_METRIC_COUNT], after[PL_METRIC_COUNT];
    struct pl_estimate change[PL_METRIC_COUNT]; /* after - before, with the interval of the difference */
};

/* There may be one for each stack, so it has the metric of the options alone. */
struct pl_change {
    uint32_t who;           /* index into paths, into profile->tag, or a thread of that name in profile->thread */
    uint32_t was;           /* its counterpart in the first profile; differs from `who` if lines have moved */
    bool moved;             /* compared by functions only */
    enum pl_diff_what what; /* by the estimates, even if the change is noise */
    struct pl_estimate before, after, change;
    double p;
    double q;
    bool significant; /* q is no larger than the rate of the options */
};

struct pl_diff {
    const struct pl_profile *joined; /* pl_join(): what `who` refers to */
    struct pl_locations *locations;
    struct pl_paths paths; /* for stacks only, as are locations */
    uint32_t changes;      /* everything that was compared: significant changes first, then by size */
    uint32_t significant;
    uint32_t moved; /* compared by functions only */
    struct pl_change *change;
    struct pl_change total; /* p and q are for the total alone, not adjusted for other comparisons */
    struct pl_diff_sides totals;
    bool exact; /* both profiles counted every allocation */
    struct pl_arena *arena;
};

struct pl_diff_options {
    enum pl_diff_by by;
    enum pl_metric metric;
    double rate; /* the acceptable rate of false discoveries: 0.05 */
    uint32_t depth;
    bool lines; /* never compare by functions only */
    const struct pl_location_options *names;
    const struct pl_profile *before, *after; /* the two profiles that were joined, or NULL: they have exact totals, and
                                                exact calls and bytes of tags and threads */
};

/* The metric to compare site by site, if none was asked for: the one whose total changed most. */
enum pl_metric pl_diff_leading(const struct pl_profile *before, const struct pl_profile *after);

/* `joined` is a difference: pl_join() or pl_instant_between(). */
void pl_diff_make(const struct pl_profile *joined, const struct pl_diff_options *options, struct pl_diff *out);
void pl_diff_free(struct pl_diff *diff);

#endif
