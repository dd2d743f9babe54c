/* SPDX-License-Identifier: MIT */
/*
 * suspicion.c - the verdict on blocks that were never freed and the evidence for it, in words.
 */
#include "analysis/leaks/suspicion.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/figure.h"
#include "reader/base/grow.h"

struct subject {
    const struct pl_profile *profile;
    enum pl_leftover_ending ending;
    bool aged; /* block ages are known, and the run has more than one stretch */
    const struct pl_leftover *item;
};

__attribute__((format(printf, 1, 2))) static char *print(const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    int bytes = vasprintf(&text, format, arguments);
    va_end(arguments);
    return pl_grow_check(bytes < 0 ? NULL : text, 1, 1);
}

static char *say_freed(const struct pl_leftover *item)
{
    char share[PL_FIGURE_BYTES], life[PL_FIGURE_BYTES];
    pl_figure_percent(share, item->freed);
    pl_figure_span(life, item->life_s);
    if (!(item->freed > 0))
        return print("none of its blocks was ever freed");
    if (item->life_s > 0)
        return print("%s of its blocks were freed, nearly all within %s", share, life);
    return print("%s of its blocks were freed", share);
}

static const char *about(const struct pl_leftover *item)
{
    return item->metric[PL_METRIC_INUSE_SPACE].error > 0 ? "about " : "";
}

char *pl_suspicion_growth(const struct pl_leftover *item)
{
    char rate[PL_FIGURE_BYTES], span[PL_FIGURE_BYTES];
    pl_figure_bytes(rate, item->growth.bytes_per_s);
    pl_figure_seconds(span, item->growth.seconds);
    return print("growing %s%s/s over %s", about(item), rate, span);
}

/* "it grows in steps, to ever larger blocks: to 32.0 MiB at 2.4 s" */
static char *say_steps(const struct pl_leftover *item)
{
    char last[PL_FIGURE_BYTES], bytes[PL_FIGURE_BYTES];
    pl_figure_seconds(last, item->steps.last_s);
    pl_figure_bytes(bytes, item->metric[PL_METRIC_INUSE_SPACE].value);
    return print("it grows in steps, to ever larger blocks: to %s%s at %s", about(item), bytes, last);
}

static char *say_suspected(const struct subject *subject)
{
    const struct pl_leftover *item = subject->item;
    if (item->steps.count) {
        char *steps = say_steps(item), *whole = print("suspected leak: %s", steps);
        free(steps);
        return whole;
    }
    char old[PL_FIGURE_BYTES], age[PL_FIGURE_BYTES], *growth = pl_suspicion_growth(item), *freed = say_freed(item);
    pl_figure_count(old, item->old_objects);
    pl_figure_seconds(age, subject->profile->duration_s - item->young_s);
    char *text = print("suspected leak: %s; %s%s are older than %s; %s", growth, about(item), old, age, freed);
    free(freed);
    free(growth);
    return text;
}

/* Whether all blocks were made in this time. Verdicts ignore a few outliers, but then the text says "nearly all". */
static bool all_made(const struct subject *subject, double from_s, double to_s)
{
    const double *age = subject->profile->age, *made = subject->item->spread.ages;
    double start_s = 0;
    for (uint32_t i = 0; i < PL_COHORTS; start_s = age[i++])
        if (made[i] > 0 && (start_s < from_s || age[i] > to_s))
            return false;
    return true;
}

static char *say_young(const struct subject *subject)
{
    static const char *const endings[] = {
        [PL_ENDING_RUNNING] = ": probably in use",
        [PL_ENDING_EXITED] = " before it exited",
        [PL_ENDING_KILLED] = ": probably in use when it was killed",
    };
    char age[PL_FIGURE_BYTES];
    pl_figure_seconds(age, subject->profile->duration_s - subject->item->first_s);
    bool all = all_made(subject, subject->item->first_s, INFINITY);
    return print("young: %smade in the last %s%s", all ? "" : "nearly all ", age, endings[subject->ending]);
}

static char *say_once(const struct subject *subject)
{
    const struct pl_leftover *item = subject->item;
    char first[PL_FIGURE_BYTES], last[PL_FIGURE_BYTES];
    bool single = item->metric[PL_METRIC_INUSE_OBJECTS].value == 1;
    pl_figure_seconds(first, item->first_s);
    pl_figure_seconds(last, item->last_s);
    if (!subject->aged)
        return print("a single allocation");
    if (item->first_s > 0)
        return print("a single allocation, made between %s and %s", first, last);
    bool all = all_made(subject, 0, item->last_s);
    return print("%s made in the first %s",
                 single ? "a single allocation,"
                 : all  ? "at the start: all"
                        : "at the start: nearly all",
                 last);
}

static char *say_stopped(const struct subject *subject)
{
    char last[PL_FIGURE_BYTES];
    pl_figure_seconds(last, subject->item->last_s);
    if (subject->item->turnover)
        return print("not growing: older blocks are freed as new ones come");
    bool all = all_made(subject, 0, subject->item->last_s);
    return print("stopped growing: %s made after %s", all ? "none" : "hardly any", last);
}

static char *say_unknown(const struct subject *subject)
{
    const struct pl_leftover *item = subject->item;
    char first[PL_FIGURE_BYTES], last[PL_FIGURE_BYTES], unseen[PL_FIGURE_BYTES];
    pl_figure_seconds(first, item->first_s);
    pl_figure_seconds(last, item->last_s);
    pl_figure_seconds(unseen, item->unseen_s);
    if (item->doubt == PL_DOUBT_STACKS)
        return print("not one site: the stacks of these blocks are unknown");
    if (item->doubt == PL_DOUBT_UNSEEN)
        return print("not seen after %s: sampled too coarsely since then to tell; run --exact", unseen);
    if (item->doubt == PL_DOUBT_STEPS) {
        char due[PL_FIGURE_BYTES], *steps = say_steps(item);
        pl_figure_seconds(due, item->steps.due_s);
        char *text = print("may still grow: %s; the next step is due by about %s", steps, due);
        free(steps);
        return text;
    }
    if (item->doubt == PL_DOUBT_SAMPLES)
        return print("too few samples to tell whether it grows");
    if (item->doubt == PL_DOUBT_PATTERN)
        return print("made between %s and %s, without steady growth", first, last);
    return say_freed(item); /* the run was too short for a verdict; leaks.c says so once, above the table */
}

static char *(*const say_verdict[PL_LEFT_VERDICTS])(const struct subject *subject) = {
    [PL_LEFT_SUSPECTED] = say_suspected, [PL_LEFT_UNKNOWN] = say_unknown, [PL_LEFT_STOPPED] = say_stopped,
    [PL_LEFT_ONCE] = say_once,           [PL_LEFT_YOUNG] = say_young,
};

char *pl_suspicion_evidence(const struct pl_profile *profile, const struct pl_leftovers *leftovers,
                            const struct pl_leftover *item)
{
    struct subject subject = {profile, leftovers->ending, item->aged && leftovers->classes > 1, item};
    return say_verdict[item->verdict](&subject);
}
