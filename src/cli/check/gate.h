/* SPDX-License-Identifier: MIT */
/*
 * gate.h - checks a profile against rules.
 *
 * Sampled figures have confidence intervals, and a limit may lie inside one. A gate that failed then would fail every
 * other time, and one that passed would claim more than is known. So there are three outcomes:
 *
 *     FAIL      the limit is exceeded, whatever the error; or the rule cannot be decided, as in a damaged file
 *     unsure    the limit lies within the error, or the profile has losses
 *     ok        the limit is kept, whatever the error
 *
 * Invariant: a rule that cannot be decided is never ok.
 */
#ifndef PL_GATE_H
#define PL_GATE_H

#include "analysis/leaks/suppress.h"
#include "cli/check/checkrules.h"

enum pl_outcome {
    PL_OUTCOME_OK,
    PL_OUTCOME_UNSURE,
    PL_OUTCOME_FAIL,
    PL_OUTCOMES,
};

struct pl_finding {
    const struct pl_checkrule *rule; /* NULL: the profile could not be read */
    enum pl_outcome outcome;
    bool unmatched; /* this profile has no match for the rule's WHERE; pl_gate_settle() decides */
    char *label;    /* "calls parse_.*" */
    char *figure;   /* "31.4 MiB"; "" if there is none */
    char *limit;    /* "≤ 32 MiB", "> 32 MiB", or "limit 32 MiB" if unsure; "" if there is none */
    char *words;    /* further explanation; may be "" */
};

/* The findings in one profile. */
struct pl_suite {
    char *subject; /* as it was typed */
    char *notes;   /* on all figures; may be "". pl_gate_notes() adds the one on losses */
    bool lossy;    /* the profile has losses, which `report` lists */
    struct pl_finding *finding;
    uint32_t findings, failed, unsure;
};

/* Makes one finding for each rule. Counts the profiles that match in the rules, and matches in the suppressions. */
void pl_gate_hold(const struct pl_profile *profile, const char *subject, struct pl_checkrules *rules,
                  struct pl_suppressions *suppressions, struct pl_suite *out);

/* The notes on the figures of a suite, or "". `command` is our own, as the user types it. The caller frees them. */
char *pl_gate_notes(const struct pl_suite *suite, const char *command);

/* For a profile that could not be read. */
void pl_gate_refuse(const char *subject, struct pl_suite *out);

struct pl_gate_options {
    bool strict;          /* unsure rules fail */
    bool allow_unmatched; /* a WHERE without a match in any profile is no failure */
};

/* Called when all profiles have been checked: decides about rules without a match, and counts outcomes. */
void pl_gate_settle(struct pl_suite *suite, uint32_t suites, const struct pl_gate_options *options);

void pl_gate_free(struct pl_suite *suite);

#endif
