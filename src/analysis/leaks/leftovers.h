/* SPDX-License-Identifier: MIT */
/*
 * leftovers.h - which blocks were never freed, and whether they look like a leak.
 *
 * "Never freed" is a fact. "Leak" is a verdict, and needs evidence over time: blocks survive from every stretch of the
 * run, and no older blocks are freed in exchange. Programs keep much on purpose (tables made at the start, caches that
 * fill up), and a program that is killed was using some of its blocks.
 *
 * The evidence is in the age classes: how many of the live blocks were made in each stretch of the run (struct
 * pl_spread). Heap compositions (profile->composition) then tell growth from turnover: a cache that replaces its
 * entries also has survivors of every age, but its older blocks are freed as new ones are made.
 *
 *                      when the survivors were made            verdict
 *   tables             █ _ _ _ _ _ _ _                         made at the start
 *   a cache, filled    ▄ █ █ ▄ _ _ _ _                         stopped growing
 *   a request          _ _ _ _ _ _ _ █                         young: in use
 *   a cache, in turn   _ _ ▁ ▂ ▃ ▅ ▆ █  and its size is level  stopped growing
 *   a leak             ▅ ▅ ▆ ▅ ▅ ▆ ▅ ▅  and its size is not    suspected
 */
#ifndef PL_LEFTOVERS_H
#define PL_LEFTOVERS_H

#include "analysis/leaks/suppress.h"
#include "reader/profile.h"

enum pl_leftover_verdict {
    PL_LEFT_SUSPECTED, /* grows, and `growth` says how */
    PL_LEFT_UNKNOWN,   /* `doubt` says why */
    PL_LEFT_STOPPED,   /* no longer grows; or older blocks are freed as new ones are made */
    PL_LEFT_ONCE,      /* made at the start, or a single block */
    PL_LEFT_YOUNG,     /* made so shortly before the end that it was probably in use */
    PL_LEFT_VERDICTS
};

enum pl_leftover_doubt {
    PL_DOUBT_NONE,
    PL_DOUBT_STACKS,  /* not a site: allocations whose stacks are not known */
    PL_DOUBT_AGES,    /* the ages of blocks are not known */
    PL_DOUBT_SHORT,   /* the run was too short to see growth */
    PL_DOUBT_SAMPLES, /* too few samples */
    PL_DOUBT_UNSEEN,  /* counted at first, but no sample since sampling began at `unseen_s` */
    PL_DOUBT_STEPS,   /* grows in steps, and the next one is not due yet: `steps` */
    PL_DOUBT_PATTERN, /* neither steady growth nor an end of growth */
};

/* How the process ended, which decides what live blocks mean. */
enum pl_leftover_ending {
    PL_ENDING_RUNNING,
    PL_ENDING_EXITED, /* by itself: live blocks were never freed */
    PL_ENDING_KILLED, /* live blocks may have been in use */
    PL_ENDINGS,
};
enum pl_leftover_ending pl_leftovers_ending(const struct pl_profile *profile);

struct pl_growth {
    double bytes_per_s;
    double seconds; /* over how long */
    bool seen;      /* measured in heap compositions; otherwise computed from age classes */
};

/* Growth by ever larger blocks, as that of a vector that doubles. */
struct pl_steps {
    uint32_t count; /* 0: none */
    double last_s;  /* the last one */
    double due_s;   /* the next one, if it is filled at a steady rate */
};

/* A group of stacks with blocks that were never freed. */
struct pl_leftover {
    uint32_t group;
    uint32_t stack; /* the stack that holds most; PL_NO_STACK for the overflow site */
    uint32_t stacks;
    struct pl_figures figures;
    struct pl_spread spread;
    struct pl_estimate metric[PL_METRIC_COUNT];

    enum pl_leftover_verdict verdict;
    enum pl_leftover_doubt doubt;
    struct pl_growth growth;
    struct pl_steps steps;
    bool turnover;          /* its size is level although there are survivors of every age */
    double freed;           /* the fraction of all its blocks that was freed */
    double life_s;          /* 99% of the freed blocks lived shorter than this; 0: not known */
    bool aged;              /* the following are known */
    double first_s, last_s; /* the survivors were made between these, in seconds since the start */
    double young_s;         /* the two youngest age classes begin here */
    double old_objects;     /* survivors that were made before young_s */
    double unseen_s;        /* for PL_DOUBT_UNSEEN */
};

struct pl_leftovers {
    struct pl_leftover *item; /* suspected leaks first, then by bytes; items that are not sites last */
    uint32_t count;
    uint32_t suspected;
    enum pl_leftover_ending ending;
    uint32_t classes;                   /* age classes in use; 0: not known */
    bool aged;                          /* ages of some blocks are known */
    bool timed;                         /* the run was long enough to see growth */
    struct pl_figures left, suppressed; /* left: the sum of `item` */
    struct pl_estimate left_metric[PL_METRIC_COUNT];
    struct pl_estimate suppressed_metric[PL_METRIC_COUNT];
    double exit_objects, exit_space; /* freed by exit handlers */
    uint32_t rules, rules_used, builtin_used;
    struct pl_arena *arena;
};

/*
 * `group` has the group of each stack, and at [profile->stacks] that of the overflow site; there are `groups` groups.
 * NULL: each stack is its own group. `set` may be NULL; it sums up what each rule suppressed. A built-in rule does not
 * apply to a stack that by itself is a suspected leak.
 */
struct pl_leftovers *pl_leftovers_new(const struct pl_profile *profile, struct pl_suppressions *set,
                                      const uint32_t *group, uint32_t groups);
void pl_leftovers_free(struct pl_leftovers *leftovers);

#endif
