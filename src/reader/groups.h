/* SPDX-License-Identifier: MIT */
/*
 * groups.h - threads taken together, by their names.
 */
#ifndef PL_GROUPS_H
#define PL_GROUPS_H

#include "profile.h"

#define PL_NO_GROUP UINT32_MAX

struct pl_groups {
    uint32_t groups;
    const char **name; /* of each group */
    uint32_t *threads; /* how many threads are in it: pl_thread_view.threads, added up */
    uint32_t *of;      /* by index of thread: its group, or PL_NO_GROUP when it was not chosen */
    struct pl_arena *arena;
};

enum pl_grouping {
    PL_GROUP_ALL,  /* one group: all that were chosen */
    PL_GROUP_NAME, /* one per name of a thread */
};

struct pl_choice {
    const char *only;  /* regular expression (POSIX extended, somewhere in the name): threads to choose; NULL: all */
    const char *merge; /* threads of names that match as a whole are one group, named as the expression; NULL: none */
};

/* 0, or -EINVAL when an expression is not one, and a line in `why`. Groups are in order of their first thread. */
int pl_groups_make(const struct pl_profile *profile, enum pl_grouping grouping, const struct pl_choice *choice,
                   struct pl_groups *out, char why[PL_WHY_BYTES]);
void pl_groups_free(struct pl_groups *groups);

#endif
