/* SPDX-License-Identifier: MIT */
/*
 * leftovers.h - what was never freed, and what speaks for a leak.
 *
 * "Never freed" is a fact. "Leak" is a judgement, and needs evidence that only time can give: blocks that survive from
 * every stretch of the run, while nothing that is as old goes away. Programs keep much on purpose (tables made at the
 * start, caches that fill up), and a program that is killed was using something.
 *
 * The evidence is in the age classes: how many of the blocks that are live now were made in which stretch of the run
 * (struct pl_spread). Snapshots then tell growth from turnover: in a cache that replaces its entries there are also
 * survivors of every age, but older ones go as new ones come.
 *
 *                      when the survivors were made            judged
 *   tables             █ _ _ _ _ _ _ _                         made at the start
 *   a cache, filled    ▄ █ █ ▄ _ _ _ _                         stopped growing
 *   a request          _ _ _ _ _ _ _ █                         young: in use
 *   a cache, in turn   _ _ ▁ ▂ ▃ ▅ ▆ █  and snapshots are level   stopped growing
 *   a leak             ▅ ▅ ▆ ▅ ▅ ▆ ▅ ▅  and so are not         suspected
 */
#ifndef PL_LEFTOVERS_H
#define PL_LEFTOVERS_H

#include "profile.h"
#include "suppress.h"

enum pl_leftover_verdict {
    PL_LEFT_SUSPECTED, /* grows, and `growth` says how */
    PL_LEFT_UNKNOWN,   /* `doubt` says why */
    PL_LEFT_STOPPED,   /* grew, and does not any more; or older blocks go as new ones come */
    PL_LEFT_ONCE,      /* made at the start, or a single block */
    PL_LEFT_YOUNG,     /* made so short before the end that it may well have been in use */
    PL_LEFT_VERDICTS
};

enum pl_leftover_doubt {
    PL_DOUBT_NONE,
    PL_DOUBT_AGES,    /* it is not known how old blocks are */
    PL_DOUBT_SHORT,   /* the run was too short to see growth */
    PL_DOUBT_SAMPLES, /* too few samples */
    PL_DOUBT_UNSEEN,  /* no sample of it since counting gave way to samples, at `unseen_s` */
    PL_DOUBT_PATTERN, /* neither steady nor at an end */
};

/* How the process ended, as far as what is live then is concerned. */
enum pl_leftover_ending {
    PL_ENDING_RUNNING,
    PL_ENDING_EXITED, /* by itself: what is left, it left */
    PL_ENDING_KILLED, /* in the middle of something */
    PL_ENDINGS,
};
enum pl_leftover_ending pl_leftovers_ending(const struct pl_profile *profile);

struct pl_growth {
    double bytes_per_s;
    double seconds; /* over how long */
    bool seen;      /* in snapshots; otherwise reckoned from age classes */
};

/* A group of stacks with something never freed. */
struct pl_leftover {
    uint32_t group;
    uint32_t stack; /* the one that holds most; PL_NO_STACK for the overflow site */
    uint32_t stacks;
    struct pl_figures figures;
    struct pl_spread spread;
    struct pl_estimate metric[PL_METRIC_COUNT];

    enum pl_leftover_verdict verdict;
    enum pl_leftover_doubt doubt;
    struct pl_growth growth;
    bool turnover;          /* snapshots are level although there are survivors of every age */
    double freed;           /* the fraction of all its blocks that was freed */
    double life_s;          /* of those that were freed, 99 in 100 lived shorter; 0: not known */
    bool aged;              /* the following are known */
    double first_s, last_s; /* the survivors were made between these, in seconds since the start */
    double young_s;         /* the two youngest age classes begin here */
    double old_objects;     /* of the survivors: made earlier than that */
    double unseen_s;        /* for PL_DOUBT_UNSEEN */
};

struct pl_leftovers {
    struct pl_leftover *item; /* suspected ones first, then by bytes */
    uint32_t count;
    uint32_t suspected;
    enum pl_leftover_ending ending;
    uint32_t classes;                   /* age classes in use; 0: not known */
    bool aged;                          /* ages of some blocks are known */
    bool timed;                         /* the run was long enough to see growth */
    struct pl_figures left, suppressed; /* left: what the list holds */
    struct pl_estimate left_metric[PL_METRIC_COUNT];
    struct pl_estimate suppressed_metric[PL_METRIC_COUNT];
    double exit_objects, exit_space; /* freed by exit handlers */
    uint32_t rules, rules_used, builtin_used;
    struct pl_arena *arena;
};

/*
 * `group` says for each stack, and at [profile->stacks] for the overflow site, which of `groups` groups it belongs to;
 * NULL: each is its own. `set` may be NULL; what each rule suppressed is added up in it. A built-in rule does not
 * apply to a stack that is suspected by itself.
 */
struct pl_leftovers *pl_leftovers_new(const struct pl_profile *profile, struct pl_suppressions *set,
                                      const uint32_t *group, uint32_t groups);
void pl_leftovers_free(struct pl_leftovers *leftovers);

#endif
