/* SPDX-License-Identifier: MIT */
/*
 * flat.h - the stacks of a profile as other tools want them: numbered functions and lines, each stack once, figures as
 * whole numbers.
 *
 * Every format that knows stacks is written from here, so all of them have the same stacks and the same totals, to the
 * unit. A stack is expanded when it is asked for, one at a time: nothing here grows with the length of all stacks
 * together.
 *
 * Invariant: the rows' values add up to `total`, for every metric, whatever the threshold and the grouping.
 */
#ifndef PL_FLAT_H
#define PL_FLAT_H

#include "reader/profile.h"

/* Which frames --by puts in front of a stack, as if they had called it. */
enum pl_flat_by {
    PL_FLAT_BY_STACK = 0,
    PL_FLAT_BY_TAG = 1,
    PL_FLAT_BY_THREAD = 2, /* both: thread, then tag, then stack */
};

enum pl_flat_kind {
    PL_FLAT_CODE,
    PL_FLAT_TAG,    /* what memory is for */
    PL_FLAT_THREAD, /* threads of one name */
    PL_FLAT_OTHER,  /* "(12 more below 0.5%)", "(other sizes)": not code at all */
};

/* Functions are identified by name, file and module. Texts are never NULL; they are any bytes but NUL. */
struct pl_flat_function {
    const char *name;    /* demangled; "libfoo.so+0x1234" where it is not known; never "" */
    const char *linkage; /* mangled; the name if there is no other */
    const char *file;    /* "" if unknown */
    uint32_t module;     /* index into profile->module; PL_FLAT_NONE for tags and threads, which are not code */
    enum pl_flat_kind kind;
    uint32_t start_line; /* the first of its known lines; 0 if there is none */
};
#define PL_FLAT_NONE UINT32_MAX

/* A line of a function, wherever it was inlined to. */
struct pl_flat_line {
    uint32_t function;
    uint32_t line; /* 0: not known */
};

/* A stack, under a tag, in threads of one name. In a difference, values are changes. */
struct pl_flat_row {
    uint32_t stack;  /* of a flat, not of the profile: for pl_flat_stack() */
    uint32_t tag;    /* index into profile->tag */
    uint32_t thread; /* a thread with this name: index into profile->thread; PL_FLAT_NONE: of many */
    int64_t value[PL_METRIC_COUNT];
    int64_t base[PL_METRIC_COUNT]; /* the figure before: value + base is the figure now. 0 unless it is a difference */
};

struct pl_flat {
    const struct pl_profile *profile;
    uint32_t functions;
    struct pl_flat_function *function;
    uint32_t lines;
    struct pl_flat_line *line;
    uint32_t stacks;
    uint32_t depth_max; /* lines of the longest */
    uint32_t rows;      /* by stack, then by tag, then by thread; rows without any figure are left out */
    struct pl_flat_row *row;
    uint32_t *row_of_site; /* by index into profile->site */
    int64_t total[PL_METRIC_COUNT];
    int64_t base_total[PL_METRIC_COUNT];
    uint32_t shrank; /* rows with negative figures that were set to 0 */
    struct pl_flat_private *inside;
};

struct pl_flat_options {
    unsigned by;           /* enum pl_flat_by */
    bool apart;            /* rows are split by tag and thread even if `by` does not: for formats with labels */
    enum pl_metric metric; /* of the threshold */
    double threshold;      /* a fraction: stacks with less of the whole become one row of kind OTHER */
    bool no_negatives;     /* for formats without a sign: negative figures become 0; `shrank` counts their rows */
};

struct pl_flat *pl_flat_new(const struct pl_profile *profile, const struct pl_flat_options *options);
void pl_flat_free(struct pl_flat *flat);

/* The lines of a stack, outermost first, into room for depth_max. Returns how many. Recursive calls are all
 * included. */
uint32_t pl_flat_stack(const struct pl_flat *flat, uint32_t stack, uint32_t *line);

/*
 * For formats with addresses (pprof): the frames of a stack, innermost first, without what `by` puts in front; and the
 * lines of a frame, innermost first: more than one where functions were inlined. `frame` is an index into
 * profile->frame; a stack of kind OTHER has none. Room for depth_max is enough.
 */
uint32_t pl_flat_frames(const struct pl_flat *flat, uint32_t stack, uint32_t *frame);
uint32_t pl_flat_frame_lines(const struct pl_flat *flat, uint32_t frame, const uint32_t **line);

/* A site's figure as a whole number: the one place where estimates are rounded. */
int64_t pl_flat_round(const struct pl_estimate *estimate);

#endif
