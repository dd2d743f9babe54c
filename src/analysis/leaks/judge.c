/* SPDX-License-Identifier: MIT */
/*
 * judge.c - decides whether a group of stacks looks like a leak: blocks survive from every stretch of the run, and no
 * older blocks are freed in exchange.
 *
 * The counts below are witnesses: live blocks that were counted, and live samples, each of which stands for many. A
 * claim that something grows needs a minimum of witnesses, and so does a claim that it does not: a site that was
 * counted at first and never sampled later may have grown unseen.
 */
#include "analysis/leaks/judge.h"
#include "analysis/leaks/rise.h"
#include "reader/figures.h"

#include <math.h>
#include <stdlib.h>

/* The settled classes are those in between: the first age class is the start of the program, the last is not over. */
#define SETTLED_CLASSES_LEAST 2
#define SETTLED_SECONDS_LEAST 1.0
#define SETTLED_WITNESSES_LEAST 4 /* counted blocks; twice as many if there are samples */
#define YOUNG_CLASSES 2           /* a request may have begun just before the last class did */
#define FEW 0.02                  /* this fraction of the survivors is ignored as outliers */
#define RATE_KEPT 0.25            /* still growing: the later half has at least this fraction of the earlier rate */
#define RATE_RISEN 3              /* steady: the later rate is at most this multiple, unless little is freed */
#define LEVEL 0.25                /* turnover: the site grew by less than this fraction of its newer survivors */
#define LEVEL_POINTS_LEAST 3      /* heap compositions, and the end */
#define LIVES_LEAST 20            /* freed blocks that it takes to say how long they live */
#define OLD_LIFE (1.0 / 16)       /* turnover: older blocks are freed, those that lived this fraction of the run */
#define STEP 1.4                  /* a step: blocks are this many times as large as at the last one */
#define STEPS_LEAST 2             /* seen in heap compositions, which are few: */
#define STEP_SIZES_LEAST 4        /* so there must also be sizes of this many powers of two */
#define STEP_SIZES_ALONE 8        /* without heap compositions: of this many, */
#define STEP_CALLS 1.5            /* with at most this many calls for each */
#define KEPT_AFTER_STEP 0.5       /* a step counts as growth only if so much of it is still there */

/* --- the run --- */

static double class_start(const struct pl_profile *profile, uint32_t number)
{
    return number > 0 ? profile->age[number - 1] : 0;
}

uint32_t pl_judge_classes(const struct pl_profile *profile)
{
    uint32_t classes = 0;
    while (classes < PL_COHORTS && profile->age[classes] > class_start(profile, classes))
        classes++;
    return classes;
}

bool pl_judge_timed(const struct pl_profile *profile)
{
    uint32_t classes = pl_judge_classes(profile);
    return classes >= SETTLED_CLASSES_LEAST + 2 &&
           class_start(profile, classes - 1) - profile->age[0] >= SETTLED_SECONDS_LEAST;
}

/* --- evidence --- */

struct evidence {
    const struct pl_profile *profile;
    const struct pl_pile *pile;
    uint32_t classes;
    double blocks, bytes;       /* live */
    struct pl_rise_point end;   /* growth is measured until here: the end, or when the program began to clean up */
    double witness[PL_COHORTS]; /* survivors by age class */
    double witnesses;
    bool sampled;         /* some witnesses are samples */
    uint32_t first, last; /* the first and the last age class with survivors, without outliers */
};

static double live_of(const struct pl_amount *allocated, const struct pl_amount *freed)
{
    return fmax(0, allocated->exact_objects - freed->exact_objects);
}

static double samples_of(const struct pl_amount *allocated, const struct pl_amount *freed)
{
    double samples = (double) allocated->sampled.samples - (double) freed->sampled.samples;
    return fmax(0, samples);
}

double pl_judge_witnesses(const struct pl_figures *figures)
{
    return live_of(&figures->allocated, &figures->freed) + samples_of(&figures->allocated, &figures->freed);
}

/* What the pile held when the program began to clean up. */
static struct pl_rise_point find_end(const struct pl_profile *profile, const struct pl_pile *pile,
                                     const struct pl_estimate metric[PL_METRIC_COUNT])
{
    double until_s = pl_rise_until(profile);
    bool at_peak = until_s == profile->peak_s;
    double live = metric[PL_METRIC_INUSE_SPACE].value + pile->spread.exit_space;
    return (struct pl_rise_point){until_s, at_peak ? metric[PL_METRIC_PEAK_SPACE].value : live};
}

static struct evidence gather(const struct pl_profile *profile, const struct pl_pile *pile,
                              const struct pl_estimate metric[PL_METRIC_COUNT])
{
    struct evidence e = {
        .profile = profile,
        .pile = pile,
        .blocks = metric[PL_METRIC_INUSE_OBJECTS].value,
        .bytes = metric[PL_METRIC_INUSE_SPACE].value,
        .end = find_end(profile, pile, metric),
        .witnesses = pl_judge_witnesses(&pile->figures),
        .sampled = samples_of(&pile->figures.allocated, &pile->figures.freed) > 0,
    };
    double sum = 0, before = 0;
    for (uint32_t i = 0; i < PL_COHORTS; i++)
        sum += pile->spread.ages[i];
    if (!(sum > 0))
        return e;
    e.classes = pl_judge_classes(profile);
    e.first = UINT32_MAX;
    for (uint32_t i = 0; i < e.classes; i++) {
        e.witness[i] = pile->spread.ages[i] * e.witnesses / sum;
        if (before <= FEW * e.witnesses && before + e.witness[i] > FEW * e.witnesses)
            e.first = i;
        before += e.witness[i];
        if (e.witness[i] > FEW * e.witnesses)
            e.last = i;
    }
    if (e.first == UINT32_MAX)
        e.classes = 0; /* no class has the ages: a damaged file */
    return e;
}

static double sum_of(const struct evidence *e, uint32_t from, uint32_t to)
{
    double sum = 0;
    for (uint32_t i = from; i < to; i++)
        sum += e->witness[i];
    return sum;
}

/* Survivors per second. */
static double rate_of(const struct evidence *e, uint32_t from, uint32_t to)
{
    return sum_of(e, from, to) / (e->profile->age[to - 1] - class_start(e->profile, from));
}

/* --- growth, by age --- */

/* Settled classes are [1, classes - 1). */
static uint32_t settled_of(const struct evidence *e)
{
    return e->classes > 2 ? e->classes - 2 : 0;
}

static double witnesses_wanted(const struct evidence *e)
{
    return e->sampled ? 2 * SETTLED_WITNESSES_LEAST : SETTLED_WITNESSES_LEAST;
}

/* If most survivors are estimated from samples, there must be enough samples. Age classes do not say which blocks were
 * counted, so a few samples could otherwise count as many witnesses. */
static bool enough_samples(const struct evidence *e)
{
    const struct pl_amount *made = &e->pile->figures.allocated, *freed = &e->pile->figures.freed;
    double counted = live_of(made, freed), estimated = made->sampled.objects - freed->sampled.objects;
    return estimated <= counted || samples_of(made, freed) >= 2 * SETTLED_WITNESSES_LEAST;
}

/* Every settled class has survivors; of five or more, one may be empty. */
static bool everywhere(const struct evidence *e)
{
    uint32_t settled = settled_of(e), filled = 0;
    for (uint32_t i = 1; i < e->classes - 1; i++)
        filled += e->witness[i] >= 0.5;
    return filled == settled || (settled >= 5 && filled + 1 == settled);
}

static double freed_share(const struct pl_figures *figures)
{
    double made = pl_amount_objects(&figures->allocated);
    double freed = pl_amount_objects(&figures->freed);
    return made > 0 ? fmin(1, freed / made) : 0;
}

static bool grows_by_age(const struct evidence *e)
{
    uint32_t half = settled_of(e) / 2, end = e->classes - 1;
    if (sum_of(e, 1, end) < witnesses_wanted(e) || !enough_samples(e) || !everywhere(e))
        return false;
    double early = rate_of(e, 1, 1 + half), late = rate_of(e, end - half, end);
    return late >= RATE_KEPT * early && (late <= RATE_RISEN * early || freed_share(&e->pile->figures) < 0.5);
}

/* --- growth, by heap compositions --- */

/* Live bytes of the pile over time: from the heap compositions that record it, and at the end. */
static uint32_t points_of(const struct evidence *e, double from_s, struct pl_rise_point point[PL_RISE_POINTS])
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < e->profile->compositions && i < PL_COMPOSITIONS; i++) {
        double seconds = e->profile->composition[i].seconds;
        if (e->pile->seen[i] > 0 && seconds >= from_s && seconds < e->end.seconds)
            point[count++] = (struct pl_rise_point){seconds, e->pile->seen[i]};
    }
    point[count++] = e->end;
    return count;
}

/* How many blocks of the pile were freed after a long life. If lifetimes are not known, all frees count. */
static double old_and_freed(const struct evidence *e)
{
    const double *lives = e->pile->spread.lives;
    double sum = 0, old = 0;
    for (uint32_t i = 0; i < PL_LIFE_BUCKETS; i++) {
        sum += lives[i];
        old += (i + 1 < PL_LIFE_BUCKETS ? pl_life_bucket_from(i + 1) : INFINITY) * e->profile->unit_s >
                       OLD_LIFE * e->profile->duration_s
                   ? lives[i]
                   : 0;
    }
    return sum > 0 ? old : pl_amount_objects(&e->pile->figures.freed);
}

/*
 * Blocks survive that were made since this class began. True if the pile has nevertheless not grown, because as many
 * older bytes were freed. False if there are too few heap compositions to tell. Compositions are estimates in sampled
 * profiles, and may seem level by chance: so there must have been enough frees of older blocks, too.
 */
static bool is_level_since(const struct evidence *e, uint32_t class)
{
    struct pl_rise_point point[PL_RISE_POINTS];
    double from = class_start(e->profile, class), witnesses = sum_of(e, class, e->classes);
    uint32_t count = points_of(e, from, point);
    if (count < LEVEL_POINTS_LEAST || witnesses < witnesses_wanted(e))
        return false;
    double made = witnesses / e->witnesses;
    return old_and_freed(e) >= (1 - LEVEL) * made * e->blocks &&
           pl_rise_slope(point, count) * (e->end.seconds - from) < LEVEL * made * e->bytes;
}

/* Turnover during half of the run, or at least during its last quarter: a cache may have become full only then. */
static bool turns_over(const struct evidence *e)
{
    return is_level_since(e, e->classes / 2) || is_level_since(e, e->classes * 3 / 4);
}

static struct pl_growth growth_of(const struct evidence *e)
{
    struct pl_rise_point point[PL_RISE_POINTS];
    double from = e->profile->age[0], size = e->blocks > 0 ? e->bytes / e->blocks : 0;
    double reckoned = rate_of(e, 1, e->classes - 1) * e->blocks / e->witnesses * size;
    uint32_t count = points_of(e, from, point);
    double seen = count >= 4 ? pl_rise_slope(point, count) : 0;
    return (struct pl_growth){
        .bytes_per_s = seen > 0 ? seen : reckoned,
        .seconds = e->end.seconds - from,
        .seen = seen > 0,
    };
}

/* --- growth, by steps --- */

static uint32_t sizes_of(const struct evidence *e)
{
    uint32_t sizes = 0;
    for (uint32_t i = 0; i < PL_SIZE_BUCKETS; i++)
        sizes += e->pile->spread.sizes[i] > 0;
    return sizes;
}

/* When the next step is due, if the one before lived for `life_s`. A container that is filled at a steady rate since
 * some time after the start doubles no later than after twice the time of its last step. */
static double due_of(double last_s, double life_s)
{
    return fmin(last_s + 2 * life_s, 2 * last_s);
}

/*
 * A container that doubles has one block, and its age is that of the last step. So its growth shows in the sizes of its
 * blocks, by heap compositions. If it is filled at a steady rate, each step comes after twice the time of the one
 * before: until the next one is due, it may still grow.
 */
static struct pl_steps steps_seen(const struct evidence *e)
{
    struct pl_steps steps = {0};
    double size = 0, bytes = 0, before_s = 0, most = 0;
    for (uint32_t i = 0; i < e->profile->compositions && i < PL_COMPOSITIONS; i++) {
        double seen = e->pile->seen[i], held = e->pile->held[i], seconds = e->profile->composition[i].seconds;
        if (!(held > 0) || seconds > e->end.seconds)
            continue;
        most = fmax(most, seen);
        if (seen / held < STEP * size || seen < STEP * bytes)
            continue;
        steps.count += size > 0;
        before_s = steps.last_s;
        steps.last_s = seconds;
        size = seen / held;
        bytes = seen;
    }
    steps.due_s = due_of(steps.last_s, steps.last_s - before_s);
    if (steps.count < STEPS_LEAST || sizes_of(e) < STEP_SIZES_LEAST || e->end.bytes < KEPT_AFTER_STEP * most ||
        e->end.seconds > steps.due_s)
        return (struct pl_steps){0};
    return steps;
}

/* No freed block lived longer than this. */
static double last_life(const struct evidence *e)
{
    uint32_t classes = PL_LIFE_BUCKETS;
    while (classes > 0 && !(e->pile->spread.lives[classes - 1] > 0))
        classes--;
    return classes < PL_LIFE_BUCKETS ? pl_life_bucket_from(classes) * e->profile->unit_s : e->profile->duration_s;
}

/*
 * If a program allocates hardly anything else, there are no heap compositions between two steps. Then sizes and
 * lifetimes tell: hardly more calls than powers of two, and of all these blocks the largest is the one that is live.
 * Each lived twice as long as the one before.
 */
static struct pl_steps steps_by_size(const struct evidence *e)
{
    double calls = e->pile->figures.allocated.exact_objects, largest = (double) e->pile->spread.largest;
    uint32_t sizes = sizes_of(e);
    if (e->sampled || e->classes == 0 || e->blocks != 1 || e->bytes < largest || sizes < STEP_SIZES_ALONE ||
        calls > STEP_CALLS * sizes)
        return (struct pl_steps){0};
    double last_s = e->profile->age[e->last], due_s = due_of(last_s, last_life(e));
    return e->end.seconds <= due_s ? (struct pl_steps){.count = sizes - 1, .last_s = last_s, .due_s = due_s}
                                   : (struct pl_steps){0};
}

static struct pl_steps steps_of(const struct evidence *e)
{
    struct pl_steps steps = steps_seen(e);
    return steps.count ? steps : steps_by_size(e);
}

/* Its last step was as recent as the blocks of a leak must be. */
static bool grows_by_steps(const struct evidence *e, const struct pl_steps *steps)
{
    return steps->count && !e->sampled && steps->last_s >= class_start(e->profile, e->classes - YOUNG_CLASSES);
}

/* --- the verdict --- */

static bool is_young(const struct evidence *e)
{
    return e->classes > YOUNG_CLASSES && e->first >= e->classes - YOUNG_CLASSES;
}

static bool is_single(const struct pl_figures *figures)
{
    return figures->allocated.exact_objects == 1 && figures->allocated.sampled.samples == 0;
}

static bool is_startup(const struct evidence *e)
{
    return e->classes > YOUNG_CLASSES && e->last == 0;
}

static bool has_stopped(const struct evidence *e)
{
    return e->classes > YOUNG_CLASSES && e->last < e->classes - YOUNG_CLASSES;
}

static bool samples_everything(const struct pl_header *header)
{
    return header->mode == PL_MODE_SAMPLED && header->interval_bytes <= 1;
}

/* Why nothing can be claimed about the part of the run that was sampled. */
static enum pl_leftover_doubt blind_spot(const struct evidence *e)
{
    uint64_t samples = e->pile->figures.allocated.sampled.samples;
    if (samples == 0)
        return e->profile->header.automatic.left > 0 ? PL_DOUBT_UNSEEN : PL_DOUBT_NONE;
    return samples < 2 * SETTLED_WITNESSES_LEAST && !samples_everything(&e->profile->header) ? PL_DOUBT_SAMPLES
                                                                                             : PL_DOUBT_NONE;
}

/* When sampling began, by the timeline; without a timeline, the end of the last class with survivors. */
static double sampled_from(const struct evidence *e)
{
    for (uint32_t i = 0; i < e->profile->moments; i++)
        if (e->profile->moment[i].interval_bytes > 0)
            return e->profile->moment[i].seconds;
    return e->profile->age[e->last];
}

static enum pl_leftover_doubt doubt_of(const struct evidence *e, bool timed)
{
    enum pl_leftover_doubt blind = blind_spot(e);
    if (e->classes == 0)
        return PL_DOUBT_AGES;
    if (blind != PL_DOUBT_NONE)
        return blind;
    if (!timed)
        return PL_DOUBT_SHORT;
    return e->sampled && e->witnesses < 2 * witnesses_wanted(e) ? PL_DOUBT_SAMPLES : PL_DOUBT_PATTERN;
}

static void set_doubt(const struct evidence *e, enum pl_leftover_doubt doubt, struct pl_leftover *out)
{
    out->verdict = PL_LEFT_UNKNOWN;
    out->doubt = doubt;
    out->unseen_s = doubt == PL_DOUBT_UNSEEN ? sampled_from(e) : 0;
}

/* Growth is checked first: a growing site may also look like one of the harmless patterns below. */
static void judge(const struct evidence *e, enum pl_leftover_ending ending, struct pl_leftover *out)
{
    bool young = is_young(e), timed = e->classes > 0 && pl_judge_timed(e->profile);
    out->turnover = timed && !has_stopped(e) && turns_over(e);
    out->doubt = PL_DOUBT_NONE;
    if (timed && grows_by_age(e) && !out->turnover) {
        out->verdict = PL_LEFT_SUSPECTED;
        return;
    }
    if (timed)
        out->steps = steps_of(e);
    if (grows_by_steps(e, &out->steps))
        out->verdict = PL_LEFT_SUSPECTED;
    else if (out->steps.count)
        set_doubt(e, PL_DOUBT_STEPS, out);
    else if (blind_spot(e) != PL_DOUBT_NONE)
        set_doubt(e, doubt_of(e, timed), out);
    else if (young && ending != PL_ENDING_EXITED)
        out->verdict = PL_LEFT_YOUNG;
    else if (is_single(&e->pile->figures) || is_startup(e))
        out->verdict = PL_LEFT_ONCE;
    else if (young)
        out->verdict = PL_LEFT_YOUNG;
    else if (has_stopped(e) || out->turnover)
        out->verdict = PL_LEFT_STOPPED;
    else
        set_doubt(e, doubt_of(e, timed), out);
}

static double longest_life(const struct pl_profile *profile, const struct pl_spread *spread)
{
    double sum = 0, before = 0;
    for (uint32_t i = 0; i < PL_LIFE_BUCKETS; i++)
        sum += spread->lives[i];
    if (!(sum >= LIVES_LEAST) || !(profile->unit_s > 0))
        return 0;
    for (uint32_t i = 0; i + 1 < PL_LIFE_BUCKETS; i++) {
        before += spread->lives[i];
        if (before >= 0.99 * sum)
            return pl_life_bucket_from(i + 1) * profile->unit_s;
    }
    return 0;
}

void pl_judge(const struct pl_profile *profile, const struct pl_pile *pile, enum pl_leftover_ending ending,
              struct pl_leftover *out)
{
    out->figures = pile->figures;
    out->spread = pile->spread;
    out->freed = freed_share(&pile->figures);
    out->life_s = longest_life(profile, &pile->spread);
    pl_estimate_figures(&out->figures, out->metric);
    struct evidence e = gather(profile, pile, out->metric);
    out->aged = e.classes > 0;
    if (out->aged) {
        uint32_t young = e.classes > YOUNG_CLASSES ? e.classes - YOUNG_CLASSES : 0;
        out->first_s = class_start(profile, e.first);
        out->last_s = profile->age[e.last];
        out->young_s = class_start(profile, young);
        out->old_objects = sum_of(&e, 0, young) * e.blocks / fmax(e.witnesses, 1);
    }
    judge(&e, ending, out);
    if (out->verdict == PL_LEFT_SUSPECTED)
        out->growth = growth_of(&e);
}
