/* SPDX-License-Identifier: MIT */
/*
 * advice.h - what to change about a program's use of memory, with the evidence and the gain.
 *
 * Each kind of advice is one function in one file (advice_*.c) and one row of the table. It gives advice only if the
 * figures pass the thresholds in its file. docs/advice.md has a section with the kind's word as its heading.
 */
#ifndef PL_ADVICE_H
#define PL_ADVICE_H

#include "analysis/path.h"
#include "reader/profile.h"

/* X(name, word, title). Adding one is a row, a file and a section of docs/advice.md. */
#define PL_ADVICE_KINDS(X)                                                                                             \
    X(LEAK, "leak", "live bytes that keep growing")                                                                    \
    X(GROWTH, "growth", "memory that grew until the peak and was freed in the end")                                    \
    X(RESERVE, "reserve", "containers that grow by realloc")                                                           \
    X(REUSE, "reuse", "mostly temporary allocations")                                                                  \
    X(POOL, "pool", "many equal small blocks")                                                                         \
    X(SLACK, "slack", "sizes that allocators round up")                                                                \
    X(FRAGMENTATION, "fragmentation", "memory that is resident and not in use")                                        \
    X(OUTSIDE, "outside", "memory that does not come from malloc")                                                     \
    X(UNTOUCHED, "untouched", "memory that is allocated and never touched")                                            \
    X(ARENAS, "arenas", "memory that the arenas of threads keep free")                                                 \
    X(TRIM, "trim", "whole pages that malloc keeps free")                                                              \
    X(HOLES, "holes", "free memory between live blocks")                                                               \
    X(STACKS, "stacks", "thread stacks that are larger than needed")                                                   \
    X(HUGEPAGES, "hugepages", "huge pages that make untouched memory resident")

enum pl_advice_kind {
#define PL_ENUM(name, word, title) PL_ADVICE_##name,
    PL_ADVICE_KINDS(PL_ENUM)
#undef PL_ENUM
        PL_ADVICE_COUNT
};

#define PL_ADVICE_OF_MEMORY PL_ADVICE_UNTOUCHED /* this and later kinds are about what RSS consists of */

struct pl_advice_info {
    const char *word;
    const char *title;
};
extern const struct pl_advice_info pl_advice_info[PL_ADVICE_COUNT];

/* Less is not worth a change, whatever its share. */
#define PL_ADVICE_BYTES_LEAST (512 << 10)
#define PL_ADVICE_CALLS_LEAST 10000

/* One piece of advice. Texts are plain sentences. Names in them come unchanged from the program, so printers and
 * exporters must clean or quote the texts. */
struct pl_advice {
    enum pl_advice_kind kind;
    uint32_t path;          /* index into `paths`: the site it is about; PL_ADVICE_NO_PATH: the whole process */
    const uint32_t *others; /* more sites that it is about, as indexes into `paths` */
    uint32_t other_count;
    const char *headline; /* the finding: "reallocates 14 times to 8.0 MiB and copies 8.0 MiB". It continues the site's
                             name; if it is about the whole process, it is a sentence by itself */
    const char *evidence; /* the figures behind it, in a sentence or two */
    const char *action;   /* what to do: "reserve the final size" */
    double gain_bytes;    /* bytes that could be saved; 0 if the gain is in calls or not known */
    double gain_calls;
    double weight; /* 0..1, for ranking: a share of live bytes, of calls or of RSS */
};
#define PL_ADVICE_NO_PATH UINT32_MAX

/* What the kernel says of the live blocks of a path: requested bytes, and those on pages that were never touched. */
struct pl_advice_touch {
    double live_bytes;
    double untouched_bytes, untouched_error; /* half the 95% interval; 0: all blocks were asked for */
};

struct pl_advices {
    uint32_t count;
    struct pl_advice *advice; /* the weightiest first */
    struct pl_arena *arena;
};

/* What texts suggest: "plimsoll report --leaks app.plim", "plimsoll report --heap mappings app.plim". */
struct pl_advice_commands {
    const char *leaks, *mappings;
};
#define PL_ADVICE_COMMANDS ((struct pl_advice_commands){"plimsoll report --leaks", "plimsoll report --heap mappings"})

/* `paths` are of shape PL_SHAPE_SITE. `touch`: of each path; NULL: it is not known. */
void pl_advice_find(const struct pl_profile *profile, const struct pl_locations *locations,
                    const struct pl_paths *paths, const struct pl_advice_commands *commands,
                    const struct pl_advice_touch *touch, struct pl_advices *out);
void pl_advice_free(struct pl_advices *advices);

#endif
