/* SPDX-License-Identifier: MIT */
/*
 * diff.h - what has changed from one profile to another, and what of it is more than noise.
 *
 * Stacks are compared by functions and lines, not by addresses, so that two builds compare; where lines have moved, by
 * functions. Each change comes with the probability of one as large by chance alone (p), and since there are many of
 * them, with the smallest rate of false discoveries at which it would be among the discoveries (q, by Benjamini and
 * Hochberg; significance.h). Exact figures that differ have p = 0 and q = 0: they did change.
 *
 * Only peaks of programs with several threads are not even exact where everything was counted. They are known to within
 * profile->peak_slack_bytes, and so is what each site held then: of a change at the peak, so much is nobody's.
 *
 * Tags and threads are compared by what is their own: a tag without those below it, threads of a name together.
 */
#ifndef PL_DIFF_H
#define PL_DIFF_H

#include "path.h"
#include "profile.h"

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

struct pl_change {
    uint32_t who;           /* index into paths, into profile->tag, or a thread of that name in profile->thread */
    uint32_t was;           /* the same, before: another one where lines have moved */
    bool moved;             /* compared by functions alone */
    enum pl_diff_what what; /* in figures, noise or not */
    struct pl_estimate before[PL_METRIC_COUNT], after[PL_METRIC_COUNT];
    struct pl_estimate change[PL_METRIC_COUNT]; /* after - before, with the interval of the difference */
    double p;                                   /* of the metric that was asked for */
    double q;
    bool significant; /* q is no more than the rate asked for */
};

struct pl_diff {
    const struct pl_profile *joined; /* pl_join(): what `who` refers to */
    struct pl_spots *spots;
    struct pl_paths paths; /* for stacks only, as are spots */
    uint32_t changes;      /* all that was compared: significant ones first, by the size of the change */
    uint32_t significant;
    uint32_t moved; /* compared by functions alone */
    struct pl_change *change;
    struct pl_change total; /* p and q are about the metric that was asked for, by itself */
    bool exact;             /* everything was counted, both times */
    struct pl_arena *arena;
};

struct pl_diff_options {
    enum pl_diff_by by;
    enum pl_metric metric;
    double rate; /* of false discoveries that is acceptable: 0.05 */
    uint32_t depth;
    bool lines; /* where lines differ, stacks differ, too */
    const struct pl_spot_options *names;
    const struct pl_profile *before, *after; /* what was joined, if it was two profiles: they know totals, calls and
                                                bytes of tags and threads exactly */
};

/* `joined` is a difference: pl_join() or pl_instant_between(). */
void pl_diff_make(const struct pl_profile *joined, const struct pl_diff_options *options, struct pl_diff *out);
void pl_diff_free(struct pl_diff *diff);

#endif
