/* SPDX-License-Identifier: MIT */
/*
 * gate.c - checks a profile against rules.
 *
 * For each rule: measure its figure; compare that with the limit, or with the baseline's figure if the limit is
 * relative; describe the result, with the site that contributes most if the limit is exceeded.
 */
#include "cli/check/gate.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

#include "analysis/figure.h"
#include "analysis/traits.h"
#include "cli/check/measure.h"
#include "cli/run/summary.h"
#include "reader/base/grow.h"
#include "reader/join/join.h"
#include "reader/describe.h"

#define CLOSE 0.01    /* of a limit: a smaller excess may not show in the printed digits */
#define MANY_TIMES 10 /* a larger ratio is not printed in percent */
#define LEAST_PERCENT 0.1
#define SAME 0.5 /* figures that are compared are whole bytes or calls, or estimates of such */
#define WORDS_BYTES 512

__attribute__((format(printf, 2, 3))) static void add_words(char **words, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *more = pl_say_vprint(format, arguments), *all = pl_say_print("%s%s%s", *words, **words ? "; " : "", more);
    va_end(arguments);
    free(more);
    free(*words);
    *words = all;
}

/* --- figures and limits --- */

/* Printed between a figure and its limit. "≤" and ">" are certain. */
static const char *const relations[PL_OUTCOMES] = {
    [PL_OUTCOME_OK] = "≤", [PL_OUTCOME_UNSURE] = "limit", [PL_OUTCOME_FAIL] = ">"};

static char *print_limit(const struct pl_checkrule *rule, const char *relation)
{
    char text[PL_FIGURE_BYTES];
    enum pl_checkrule_unit unit = pl_checkrules_info[rule->kind].unit;
    if (rule->relative)
        return pl_say_print("%s +%g%%", relation, 100 * rule->limit);
    if (unit == PL_UNIT_NONE)
        return pl_say_print("%s", "");
    if (unit == PL_UNIT_SHARE)
        pl_figure_percent(text, rule->limit);
    else if (unit == PL_UNIT_COUNT)
        pl_figure_exact(text, (uint64_t) rule->limit);
    else
        pl_figure_setting(text, (uint64_t) rule->limit);
    return pl_say_print("%s %s", relation, text);
}

static struct pl_estimate times(const struct pl_estimate *estimate, double factor)
{
    return (struct pl_estimate){.value = estimate->value * factor,
                                .error = estimate->error * factor,
                                .low = estimate->low * factor,
                                .high = estimate->high * factor};
}

static enum pl_outcome compare(const struct pl_estimate *excess)
{
    if (excess->low > 0)
        return PL_OUTCOME_FAIL;
    return excess->high > 0 ? PL_OUTCOME_UNSURE : PL_OUTCOME_OK;
}

/* By how much the figure exceeds the limit. If the limit is 0, one sample is proof. */
static struct pl_estimate over_limit(const struct pl_estimate *figure, double limit)
{
    struct pl_estimate excess = {figure->value - limit, figure->error, figure->low - limit, figure->high - limit};
    if (limit == 0 && figure->value > 0)
        excess.low = excess.value;
    return excess;
}

/* The exact peak of several threads has an error that is not printed as ±: it is explained in words. */
static void say_doubt(struct pl_finding *finding, const struct pl_measure *measure, const struct pl_estimate *excess)
{
    char slack[PL_FIGURE_BYTES];
    pl_figure_bytes(slack, measure->whole->peak_slack_bytes);
    if (finding->rule->kind == PL_CHECKRULE_PEAK && !(measure->figure.error > 0))
        add_words(&finding->words, "the peak of several threads is known to within %s", slack);
    add_words(&finding->words, "the limit is within the error");
    if (excess->value > 0)
        add_words(&finding->words, "the figure is above it");
}

static void fail_without_answer(struct pl_finding *finding)
{
    finding->outcome = PL_OUTCOME_FAIL;
    finding->limit = print_limit(finding->rule, relations[PL_OUTCOME_UNSURE]);
}

/* --- compared with a baseline --- */

/* Prints changes that are too small for one decimal in words, instead of "-0.0%". */
static void say_percent(double before, double after, const char *baseline, struct pl_finding *finding)
{
    double percent = 100 * (after / before - 1);
    if (fabs(after - before) < SAME)
        add_words(&finding->words, "the same as in %s", baseline);
    else if (fabs(percent) < LEAST_PERCENT)
        add_words(&finding->words, "%s by less than %g%% vs %s", percent > 0 ? "up" : "down", LEAST_PERCENT, baseline);
    else
        add_words(&finding->words, "%+.1f%% vs %s", percent, baseline);
}

static void say_growth(const struct pl_checkrule *rule, const struct pl_estimate *before,
                       const struct pl_estimate *after, struct pl_finding *finding)
{
    char *was = pl_measure_print(rule, before), *typed = pl_summary_typed(rule->base->path);
    char *baseline = pl_say_print("%s (%s)", typed, was);
    double ratio = before->value > 0 ? after->value / before->value : 0;
    if (before->value > 0 && ratio < MANY_TIMES)
        say_percent(before->value, after->value, baseline, finding);
    else if (before->value > 0)
        add_words(&finding->words, "%.0f times as much as in %s", ratio, baseline);
    else
        add_words(&finding->words, "%s in %s", was, typed);
    free(baseline);
    free(typed);
    free(was);
}

static char *hold_relative(struct pl_checkrule *rule, struct pl_measure *measure, struct pl_finding *finding)
{
    struct pl_measure before = pl_measure_take(rule, rule->base, measure->suppressions);
    char *worst = NULL;
    measure->matched |= before.matched;
    if (before.cannot) {
        fail_without_answer(finding);
        add_words(&finding->words, "baseline: %s", before.cannot);
        pl_measure_free(&before);
        return NULL;
    }
    struct pl_estimate allowed = times(&before.figure, 1 + rule->limit);
    struct pl_estimate excess = pl_join_subtract(&measure->figure, &allowed);
    finding->outcome = compare(&excess);
    finding->limit = print_limit(rule, relations[finding->outcome]);
    say_growth(rule, &before.figure, &measure->figure, finding);
    if (finding->outcome == PL_OUTCOME_UNSURE)
        say_doubt(finding, measure, &excess);
    if (finding->outcome == PL_OUTCOME_FAIL)
        worst = pl_measure_worst_growth(rule, &before, measure);
    pl_measure_free(&before);
    return worst;
}

/* --- one rule --- */

/* Prints all digits of a small excess, because figure and limit may look the same. */
static void say_excess(const struct pl_checkrule *rule, double excess, struct pl_finding *finding)
{
    char digits[PL_FIGURE_BYTES];
    enum pl_checkrule_unit unit = pl_checkrules_info[rule->kind].unit;
    if (unit == PL_UNIT_SHARE || !(excess < rule->limit * CLOSE))
        return;
    pl_figure_exact(digits, (uint64_t) ceil(excess));
    if (unit == PL_UNIT_BYTES)
        add_words(&finding->words, "%s byte%s too many", digits, pl_figure_plural(digits));
    else
        add_words(&finding->words, "%s too many", digits);
}

static char *hold_absolute(struct pl_checkrule *rule, struct pl_measure *measure, struct pl_finding *finding)
{
    struct pl_estimate excess = over_limit(&measure->figure, rule->limit);
    finding->outcome = compare(&excess);
    finding->limit = print_limit(rule, relations[finding->outcome]);
    if (finding->outcome == PL_OUTCOME_UNSURE)
        say_doubt(finding, measure, &excess);
    if (finding->outcome == PL_OUTCOME_OK && measure->blind) {
        finding->outcome = PL_OUTCOME_UNSURE;
        add_words(&finding->words, "some sites have too few samples to tell");
    }
    if (finding->outcome != PL_OUTCOME_FAIL)
        return NULL;
    say_excess(rule, excess.value, finding);
    return pl_measure_worst(rule, measure);
}

static void hold(const struct pl_profile *profile, struct pl_checkrule *rule, struct pl_suppressions *suppressions,
                 struct pl_finding *finding)
{
    struct pl_measure measure = pl_measure_take(rule, profile, suppressions);
    const char *label = pl_checkrules_info[rule->kind].label;
    char *worst = NULL;
    *finding = (struct pl_finding){.rule = rule, .words = pl_say_print("%s", "")};
    finding->label = pl_say_print("%s%s%s", label, rule->place ? " " : "", rule->place ? rule->place : "");
    finding->figure = measure.cannot ? pl_say_print("%s", "") : pl_measure_print(rule, &measure.figure);
    if (measure.cannot) {
        fail_without_answer(finding);
        add_words(&finding->words, "%s", measure.cannot);
    } else {
        worst = rule->relative ? hold_relative(rule, &measure, finding) : hold_absolute(rule, &measure, finding);
    }
    if (worst)
        add_words(&finding->words, "%s", worst);
    if (finding->outcome == PL_OUTCOME_OK && pl_traits_lossy(profile)) {
        finding->outcome = PL_OUTCOME_UNSURE;
        add_words(&finding->words, "the profile has losses");
    }
    finding->unmatched = !measure.matched;
    rule->matched += measure.matched;
    rule->sampled |= !measure.matched && !profile->exact;
    free(worst);
    pl_measure_free(&measure);
}

/* --- a profile --- */

static char *print_notes(const struct pl_profile *profile)
{
    char text[WORDS_BYTES], *notes = pl_say_print("%s", "");
    enum pl_leftover_ending ending = pl_leftovers_ending(profile);
    pl_describe_ending(profile, text, sizeof text);
    if (profile->merged)
        add_words(&notes, "%u profiles together: the peak is the sum of their peaks", profile->merged);
    else if (ending != PL_ENDING_EXITED)
        add_words(&notes, "%s: figures are as of %s", text,
                  profile->running && !profile->snapshot_name ? "now" : "then");
    pl_describe_method(profile, text, sizeof text);
    if (pl_traits_estimated(profile) || profile->damage)
        add_words(&notes, "%s", text);
    return notes;
}

char *pl_gate_notes(const struct pl_suite *suite, const char *command)
{
    char *notes = pl_say_print("%s", suite->notes);
    if (suite->lossy)
        add_words(&notes, "figures may be too low because of losses; see %s report %s", command, suite->subject);
    return notes;
}

void pl_gate_hold(const struct pl_profile *profile, const char *subject, struct pl_checkrules *rules,
                  struct pl_suppressions *suppressions, struct pl_suite *out)
{
    *out = (struct pl_suite){
        .subject = pl_say_print("%s", subject),
        .notes = print_notes(profile),
        .lossy = pl_traits_lossy(profile) && !profile->damage,
        .finding = pl_grow_zeroed(rules->count, sizeof *out->finding),
        .findings = rules->count,
    };
    for (uint32_t i = 0; i < rules->count; i++)
        hold(profile, &rules->rule[i], suppressions, &out->finding[i]);
}

void pl_gate_refuse(const char *subject, struct pl_suite *out)
{
    *out = (struct pl_suite){
        .subject = pl_say_print("%s", subject),
        .notes = pl_say_print("%s", ""),
        .finding = pl_grow_zeroed(1, sizeof *out->finding),
        .findings = 1,
    };
    *out->finding = (struct pl_finding){
        .outcome = PL_OUTCOME_FAIL,
        .label = pl_say_print("%s", "profile"),
        .figure = pl_say_print("%s", ""),
        .limit = pl_say_print("%s", ""),
        .words = pl_say_print("%s", "cannot be read"),
    };
}

/* --- all of them --- */

/* A WHERE without a match in any profile is misspelt, or the place is gone. A limit of 0 expects that. */
static void settle_unmatched(struct pl_finding *finding, const struct pl_gate_options *options)
{
    const struct pl_checkrule *rule = finding->rule;
    bool unseen = rule->sampled && rule->where == PL_WHERE_FUNCTION;
    bool fine = rule->matched || options->allow_unmatched || (rule->limit == 0 && !rule->relative && !unseen);
    if (finding->outcome == PL_OUTCOME_FAIL) /* for another reason */
        return;
    if (fine)
        add_words(&finding->words, "no match here");
    else if (unseen)
        add_words(&finding->words, "no match: misspelt, or too rare to be sampled");
    else
        add_words(&finding->words, "no match: is it misspelt? --allow-unmatched lets it pass");
    if (!fine)
        finding->outcome = unseen ? PL_OUTCOME_UNSURE : PL_OUTCOME_FAIL;
}

void pl_gate_settle(struct pl_suite *suite, uint32_t suites, const struct pl_gate_options *options)
{
    for (uint32_t s = 0; s < suites; s++) {
        for (uint32_t i = 0; i < suite[s].findings; i++) {
            struct pl_finding *finding = &suite[s].finding[i];
            if (finding->unmatched)
                settle_unmatched(finding, options);
            if (options->strict && finding->outcome == PL_OUTCOME_UNSURE)
                finding->outcome = PL_OUTCOME_FAIL;
            suite[s].failed += finding->outcome == PL_OUTCOME_FAIL;
            suite[s].unsure += finding->outcome == PL_OUTCOME_UNSURE;
        }
    }
}

void pl_gate_free(struct pl_suite *suite)
{
    for (uint32_t i = 0; i < suite->findings; i++) {
        free(suite->finding[i].label);
        free(suite->finding[i].figure);
        free(suite->finding[i].limit);
        free(suite->finding[i].words);
    }
    free(suite->finding);
    free(suite->notes);
    free(suite->subject);
}
