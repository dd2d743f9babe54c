/* SPDX-License-Identifier: MIT */
/*
 * rounds.h - sends the figures of one process, or of all of them, at intervals.
 */
#ifndef PL_ROUNDS_H
#define PL_ROUNDS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/push/sender.h"

struct pl_simplify;

#define PL_ROUNDS_EVERY (15 * 1000000000ull)
#define PL_ROUNDS_LEAST 1000000000ull
#define PL_ROUNDS_MOST (3600 * 1000000000ull)

struct pl_rounds_options {
    struct pl_sender_options store;
    uint64_t every_ns;
    const char *service; /* NULL: each process has its own */
    const char *state;   /* where progress is kept; NULL: none */
    bool once;
    pid_t only; /* 0: all processes */
};

/* Sends until the signal comes that `signals` polls readable for, or the only process has ended. The rules for names
 * are freed. */
enum pl_exit pl_rounds(const struct pl_rounds_options *options, struct pl_simplify *rules, int signals);

#endif
