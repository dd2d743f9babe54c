/* SPDX-License-Identifier: MIT */
/*
 * advice.h - what could be done about a program's memory, with the evidence and what it would gain.
 *
 * Each kind of advice is one function in one file (advice_*.c) and one row of the table. It looks at the profile, and
 * says something only where figures speak for it: a threshold for each is in its file, and docs/advice.md has a section
 * with the kind's word as its heading.
 */
#ifndef PL_ADVICE_H
#define PL_ADVICE_H

#include "path.h"
#include "profile.h"

/* X(name, word, title). Adding one is a row, a file and a section of docs/advice.md. */
#define PL_ADVICE_KINDS(X)                                                                                             \
    X(LEAK, "leak", "live bytes that only grow")                                                                       \
    X(RESERVE, "reserve", "containers that grow by realloc")                                                           \
    X(REUSE, "reuse", "sites dominated by temporaries")                                                                \
    X(POOL, "pool", "many equal small blocks")                                                                         \
    X(SLACK, "slack", "sizes that allocators round up")                                                                \
    X(FRAGMENTATION, "fragmentation", "memory that is resident and not in use")

enum pl_advice_kind {
#define PL_ENUM(name, word, title) PL_ADVICE_##name,
    PL_ADVICE_KINDS(PL_ENUM)
#undef PL_ENUM
        PL_ADVICE_COUNT
};

struct pl_advice_info {
    const char *word;
    const char *title;
};
extern const struct pl_advice_info pl_advice_info[PL_ADVICE_COUNT];

/* One piece of advice. Texts are plain: a person's sentences, without control characters of ours; names in them are as
 * programs have them, and whoever prints or exports them cleans or quotes as always. */
struct pl_advice {
    enum pl_advice_kind kind;
    uint32_t path;        /* index into `paths`: the site it is about; PL_ADVICE_NO_PATH: the whole process */
    const char *headline; /* what is the case: "reallocates 14 times to 8.0 MiB and copies 8.0 MiB". It reads on from
                             the site's name; of the whole process, it is a sentence by itself */
    const char *evidence; /* the figures that say so, in a sentence or two */
    const char *action;   /* what to do: "reserve the final size" */
    double gain_bytes;    /* what could be saved: bytes, 0 if the gain is in calls or not known */
    double gain_calls;
    double weight; /* 0..1: share of what matters (of live bytes, of calls, of RSS), for ranking */
};
#define PL_ADVICE_NO_PATH UINT32_MAX

struct pl_advices {
    uint32_t count;
    struct pl_advice *advice; /* the weightiest first */
    struct pl_arena *arena;
};

/* `paths` are of shape PL_SHAPE_SITE. `command` is what the reader types for plimsoll, where a text gives a command. */
void pl_advice_find(const struct pl_profile *profile, const struct pl_spots *spots, const struct pl_paths *paths,
                    const char *command, struct pl_advices *out);
void pl_advice_free(struct pl_advices *advices);

#endif
