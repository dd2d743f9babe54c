/* SPDX-License-Identifier: MIT */
/*
 * answers.h - what `plimsoll serve` answers: a function for each of its paths.
 */
#ifndef PL_ANSWERS_H
#define PL_ANSWERS_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/serve/fleet.h"

/* What a client asks for, after ? in the address. */
struct pl_question {
    char *service;     /* NULL: not given */
    int64_t pid;       /* -1: not given */
    int64_t seconds;   /* 0: not given */
    const char *wrong; /* what is wrong with it; NULL: nothing */
};

struct pl_answer {
    unsigned status; /* of HTTP; if it is not 200, `why` is the content */
    const char *why;
    char *body;
    size_t bytes;
    uint64_t due_ns; /* CLOCK_MONOTONIC: ask again then, with `before`; 0: it is complete */
    struct pl_seen *before;
};

/* What had been seen when the time of ?seconds=N began. */
struct pl_seen;
void pl_seen_free(struct pl_seen *before); /* NULL is fine */

/* Where the server is, as clients name it: "127.0.0.1:9464". */
struct pl_place_served {
    const char *host;
    bool tls;
};

typedef void pl_answer_function(struct pl_fleet *fleet, const struct pl_question *question,
                                const struct pl_place_served *place, struct pl_answer *answer);

pl_answer_function pl_answer_heap, pl_answer_allocs, pl_answer_delta_heap;              /* scrape.c */
pl_answer_function pl_answer_metrics;                                                   /* metrics.c */
pl_answer_function pl_answer_index, pl_answer_targets_pprof, pl_answer_targets_metrics; /* directory.c */

/* Lets `write` write the content. */
void pl_answer_write(struct pl_answer *answer, void (*write)(void *context, FILE *out), void *context);

#endif
