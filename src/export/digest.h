/* SPDX-License-Identifier: MIT */
/*
 * digest.h - a profile as stores of profiles take it: numbered texts, functions, locations and stacks, and whole
 * figures for each stack. A digest needs neither the profile nor the flat profile that it was made from.
 *
 * pprof and OTLP are written from here. `plimsoll serve` keeps one digest for each process, some ten KiB; digests of
 * several processes can be joined into one, in which everything that is equal is there once.
 *
 * Invariant: the values of rows, and those of parts for calls and allocated bytes, add up to the totals of the flat
 * profile.
 */
#ifndef PL_DIGEST_H
#define PL_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export/flat.h"
#include "reader/profile.h"

/* What is known of a mapping's code, as bits. */
enum { PL_HAS_FUNCTIONS = 1, PL_HAS_FILES = 2, PL_HAS_LINES = 4, PL_HAS_INLINED = 8 };

/* Texts are numbers: indexes into `text`, where 0 is "". */
struct pl_digest_mapping {
    uint32_t path, build_id;
    uint64_t bias, start, end; /* as in struct pl_module_view */
    uint32_t has;
};

struct pl_digest_function {
    uint32_t name, symbol, file;
};

struct pl_digest_line {
    uint32_t function;
    uint32_t line; /* 0: not known */
};

/* A place in the code; or, with address PL_DIGEST_NOWHERE, something that is shown like one: a tag, "(12 more below
 * 0.5%)". Its lines are innermost first: more than one where functions were inlined. */
struct pl_digest_location {
    uint32_t mapping; /* PL_FLAT_NONE: none */
    uint32_t line, lines;
    uint64_t address; /* in the module; of the call, not of the return address */
};
#define PL_DIGEST_NOWHERE UINT64_MAX

/* A stack, under a tag, in threads of one name. */
struct pl_digest_row {
    uint32_t stack, depth; /* location numbers, innermost first: stacked[stack] ... */
    uint32_t tag, thread;  /* texts */
    int64_t value[PL_METRIC_COUNT];
};

/* What one stack has allocated since the start of its process. Rows may have another stack the next time, if more
 * stacks look alike by then. Parts are known by addresses, which stay. */
struct pl_digest_part {
    uint64_t key;
    uint32_t row;
    int64_t calls, bytes;
};

struct pl_digest {
    size_t bytes; /* of memory */
    uint32_t texts, mappings, functions, lines, locations, depths, rows, parts;
    const char **text;
    struct pl_digest_mapping *mapping; /* the program first */
    struct pl_digest_function *function;
    struct pl_digest_line *line;
    struct pl_digest_location *location;
    uint32_t *stacked; /* the stacks, one after the other */
    struct pl_digest_row *row;
    int64_t (*base)[PL_METRIC_COUNT]; /* by row, of a difference: what to subtract, included in value; else NULL */
    struct pl_digest_part *part;      /* ascending keys; none in a joined digest */
    uint32_t rest;                    /* where in `stacked` the stack begins that stands for rows that are left out */
    int64_t period;                   /* mean bytes from one sample to the next; 1: none was sampled */
};

/* The profile must be symbolized. `parts`: make them, too. */
struct pl_digest *pl_digest_new(const struct pl_profile *profile, const struct pl_flat *flat, bool parts);
void pl_digest_free(struct pl_digest *digest); /* NULL is fine */

/* Figures to write: rows of a digest, or rows with the same stacks and other values; and which metrics of them. */
struct pl_digest_view {
    const struct pl_digest *digest;
    const struct pl_digest_row *row;
    uint32_t rows;
    uint32_t metrics;      /* bit m: metric m */
    uint64_t time_ns;      /* CLOCK_REALTIME, when it begins */
    uint64_t duration_ns;  /* 0: figures of one moment */
    enum pl_metric metric; /* the one to show first */
};

/* The two kinds of figures that stores tell apart. */
#define PL_DIGEST_LIVE (1u << PL_METRIC_INUSE_OBJECTS | 1u << PL_METRIC_INUSE_SPACE)
#define PL_DIGEST_ALLOCATED (1u << PL_METRIC_ALLOC_OBJECTS | 1u << PL_METRIC_ALLOC_SPACE)

/* Has the row a figure of one of these metrics that is not 0? */
bool pl_digest_row_counts(const struct pl_digest_row *row, uint32_t metrics);

/* All of a digest that was made from the profile: everything, as of the whole run; what is live, as of its end; or what
 * was allocated. The metric is shown first, if it is among them. */
enum pl_digest_figures { PL_FIGURES_ALL, PL_FIGURES_LIVE, PL_FIGURES_ALLOCATED };
struct pl_digest_view pl_digest_whole(const struct pl_digest *digest, const struct pl_profile *profile,
                                      enum pl_digest_figures figures, enum pl_metric metric);

enum pl_digest_join {
    PL_DIGEST_SUM = 1,      /* equal rows are added up, and `first` may be NULL */
    PL_DIGEST_NO_NAMES = 2, /* code in files has only addresses */
};

/*
 * Several views as one digest: equal texts, functions, locations and stacks are in it once, and nothing that no row
 * needs. Code is equal if build and address are. The rows of view i are those from first[i] to first[i + 1] - 1.
 */
struct pl_digest *pl_digest_join(const struct pl_digest_view *view, uint32_t views, unsigned how, uint32_t *first);

/* The rows with the largest figures of a metric, and one for all others, if there are more than `most`. Rewrites the
 * array, and returns how many there are now. */
uint32_t pl_digest_trim(const struct pl_digest *digest, struct pl_digest_row *row, uint32_t rows, uint32_t most,
                        enum pl_metric metric);

/* A metric's unit in pprof and OTLP. */
const char *pl_digest_unit(int metric);

#endif
