/* SPDX-License-Identifier: MIT */
/*
 * groups.h - groups of threads, by name.
 */
#ifndef PL_GROUPS_H
#define PL_GROUPS_H

#include "reader/profile.h"

#define PL_NO_GROUP UINT32_MAX

struct pl_groups {
    uint32_t groups;
    const char **name; /* of each group */
    uint32_t *threads; /* how many threads are in it: pl_thread_view.threads, added up */
    uint32_t *of;      /* by index of thread: its group, or PL_NO_GROUP when it was not chosen */
    struct pl_arena *arena;
};

enum pl_grouping {
    PL_GROUP_ALL,  /* one group of all threads that were chosen */
    PL_GROUP_NAME, /* one group per thread name */
};

struct pl_choice {
    const char *only;  /* regular expression (POSIX extended, somewhere in the name): threads to choose; NULL: all */
    const char *merge; /* threads whose whole name matches form one group, named after the expression; NULL: none */
};

/* 0, or -EINVAL and a line in `why` if an expression is invalid. Groups are in order of their first thread. */
int pl_groups_make(const struct pl_profile *profile, enum pl_grouping grouping, const struct pl_choice *choice,
                   struct pl_groups *out, char why[PL_WHY_BYTES]);
void pl_groups_free(struct pl_groups *groups);

/* To people, a pool of forty workers is one thing. If threads with the same name form more groups than this, names that
 * differ only in a number at the end become one group, too: worker-1 to worker-40 are worker-*. `groups` are by name,
 * of so many threads. */
#define PL_GROUPS_MOST 10
void pl_groups_fold(struct pl_groups *groups, uint32_t threads);

/* "worker-*"; "?" for a thread without a name. */
const char *pl_groups_name(const struct pl_groups *groups, uint32_t group);

#endif
