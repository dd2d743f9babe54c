/* SPDX-License-Identifier: MIT */
/*
 * gate.h - a profile held against rules: what each of them found.
 *
 * Sampled figures have intervals, and a limit may lie inside of one. A gate that failed then would fail every other
 * time, and one that passed would say more than is known. So there are three outcomes:
 *
 *     FAIL      the limit is exceeded, whatever the error; or the question has no answer, as in a damaged file
 *     unsure    the limit lies within the error, or something was lost
 *     ok        it is kept, whatever the error
 *
 * Invariant: what cannot be told is never ok.
 */
#ifndef PL_GATE_H
#define PL_GATE_H

#include "rules.h"
#include "suppress.h"

enum pl_outcome {
    PL_OUTCOME_OK,
    PL_OUTCOME_UNSURE,
    PL_OUTCOME_FAIL,
    PL_OUTCOMES,
};

struct pl_finding {
    const struct pl_rule *rule; /* NULL: the profile could not be read */
    enum pl_outcome outcome;
    bool unmatched; /* the rule is about a place that this profile has not; pl_gate_settle() decides */
    char *label;    /* "calls parse_.*" */
    char *figure;   /* "31.4 MiB", "" if there is none */
    char *limit;    /* "≤ 32 MiB", "> 32 MiB"; "limit 32 MiB" where that is not certain; likewise */
    char *words;    /* what else is to be said of it */
};

/* What was found in one profile. */
struct pl_suite {
    char *subject; /* as it was typed */
    char *notes;   /* what bears on all figures; "" if nothing does. pl_gate_notes() has all of it */
    bool lossy;    /* likewise: something was lost, and `report` says what */
    struct pl_finding *finding;
    uint32_t findings, failed, unsure;
};

/* One finding for each rule. Rules count in how many profiles they met something, suppressions what they are good for.
 */
void pl_gate_hold(const struct pl_profile *profile, const char *subject, struct pl_rules *rules,
                  struct pl_suppressions *suppressions, struct pl_suite *out);

/* All that bears on the figures of a suite, with the command to type in front of `report`; "": nothing does. The caller
 * frees it. */
char *pl_gate_notes(const struct pl_suite *suite, const char *command);

/* For a profile that could not be read. */
void pl_gate_refuse(const char *subject, struct pl_suite *out);

struct pl_gate_options {
    bool strict;          /* what is unsure fails */
    bool allow_unmatched; /* a place that no profile has is no mistake */
};

/* When all profiles have been held: decides about places that were not found, and counts. */
void pl_gate_settle(struct pl_suite *suite, uint32_t suites, const struct pl_gate_options *options);

void pl_suite_free(struct pl_suite *suite);

#endif
