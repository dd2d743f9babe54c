/* SPDX-License-Identifier: MIT */
/*
 * judge.c - what speaks for a leak: survivors from every stretch of the run, while nothing that is as old goes away.
 *
 * Counts below are of witnesses: every block where all were counted, and samples where they stand for many. A claim
 * about growth needs a number of them, whatever they stand for, and so does a claim that there is none: what was
 * counted at first and never sampled later may have gone on unseen.
 */
#include "figures.h"
#include "judge.h"

#include <math.h>
#include <stdlib.h>

/* The first age class is the start of the program, and the last one is not over: growth is what happens in between. */
#define SETTLED_CLASSES_LEAST 2
#define SETTLED_SECONDS_LEAST 1.0
#define SETTLED_WITNESSES_LEAST 4 /* counted blocks, and twice as many samples */
#define YOUNG_CLASSES 2           /* a request may have begun just before the last class did */
#define FEW 0.02                  /* this much of the survivors may lie elsewhere */
#define RATE_KEPT 0.25            /* still growing: the later half of the run has this much of the earlier's rate */
#define RATE_RISEN 3              /* steady: not more than so many times it, unless little is freed */
#define LEVEL 0.25                /* turnover: what survives from the later half has replaced as much, but for this */
#define LEVEL_POINTS_LEAST 3      /* snapshots and now */
#define LIVES_LEAST 20            /* freed blocks before "they live so long" means anything */

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
    double witness[PL_COHORTS]; /* survivors by age class */
    double witnesses;
    bool sampled;         /* some of them are samples */
    uint32_t first, last; /* age classes with survivors */
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

static struct evidence gather(const struct pl_profile *profile, const struct pl_pile *pile,
                              const struct pl_estimate metric[PL_METRIC_COUNT])
{
    struct evidence e = {
        .profile = profile,
        .pile = pile,
        .blocks = metric[PL_METRIC_INUSE_OBJECTS].value,
        .bytes = metric[PL_METRIC_INUSE_SPACE].value,
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
        e.classes = 0; /* ages that are in no class: a damaged file */
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

/* Where most survivors are known by samples it is these that must be enough: ages do not tell which blocks of a class
 * were counted, so a few samples would pass for as many witnesses as they stand for blocks. */
static bool enough_samples(const struct evidence *e)
{
    const struct pl_amount *made = &e->pile->figures.allocated, *freed = &e->pile->figures.freed;
    double counted = live_of(made, freed), estimated = made->sampled.objects - freed->sampled.objects;
    return estimated <= counted || samples_of(made, freed) >= 2 * SETTLED_WITNESSES_LEAST;
}

/* Survivors in every settled class; one may be empty if there are many. */
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

/* --- growth, by snapshots --- */

struct point {
    double seconds, bytes;
};

/* The snapshots that name the pile, and now. */
static uint32_t points_of(const struct evidence *e, double from_s, struct point point[PL_SNAPSHOTS + 1])
{
    uint32_t count = 0;
    double now = e->profile->duration_s;
    for (uint32_t i = 0; i < e->profile->snapshots && i < PL_SNAPSHOTS; i++) {
        double seconds = e->profile->snapshot[i].seconds;
        if (e->pile->seen[i] > 0 && seconds >= from_s && seconds < now)
            point[count++] = (struct point){seconds, e->pile->seen[i]};
    }
    point[count++] = (struct point){now, e->bytes};
    return count;
}

static int ascending(const void *left, const void *right)
{
    double a = *(const double *) left, b = *(const double *) right;
    return (a > b) - (a < b);
}

/* The median of the slopes between all pairs of points: a few odd ones do not move it. */
static double slope_of(const struct point *point, uint32_t count)
{
    double slope[(PL_SNAPSHOTS + 1) * PL_SNAPSHOTS / 2];
    uint32_t slopes = 0;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = i + 1; k < count; k++)
            if (point[k].seconds > point[i].seconds)
                slope[slopes++] = (point[k].bytes - point[i].bytes) / (point[k].seconds - point[i].seconds);
    if (slopes == 0)
        return 0;
    qsort(slope, slopes, sizeof *slope, ascending);
    return (slope[(slopes - 1) / 2] + slope[slopes / 2]) / 2;
}

/*
 * Of what was made since the beginning of this class so much survives; has the whole not grown by it, since as much
 * that was older has gone? Says no where snapshots cannot tell.
 */
static bool is_level_since(const struct evidence *e, uint32_t class)
{
    struct point point[PL_SNAPSHOTS + 1];
    double from = class_start(e->profile, class), witnesses = sum_of(e, class, e->classes);
    uint32_t count = points_of(e, from, point);
    if (count < LEVEL_POINTS_LEAST || witnesses < witnesses_wanted(e))
        return false;
    double made = witnesses / e->witnesses * e->bytes;
    return slope_of(point, count) * (e->profile->duration_s - from) < LEVEL * made;
}

/* Turnover, for half of the run, or at least lately: a cache may just have become full. */
static bool turns_over(const struct evidence *e)
{
    return is_level_since(e, e->classes / 2) || is_level_since(e, e->classes * 3 / 4);
}

static struct pl_growth growth_of(const struct evidence *e)
{
    struct point point[PL_SNAPSHOTS + 1];
    double from = e->profile->age[0], size = e->blocks > 0 ? e->bytes / e->blocks : 0;
    double reckoned = rate_of(e, 1, e->classes - 1) * e->blocks / e->witnesses * size;
    uint32_t count = points_of(e, from, point);
    double seen = count >= 4 ? slope_of(point, count) : 0;
    return (struct pl_growth){
        .bytes_per_s = seen > 0 ? seen : reckoned,
        .seconds = e->profile->duration_s - from,
        .seen = seen > 0,
    };
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

/* What stands against any claim about the part of the run that was sampled. */
static enum pl_leftover_doubt blind_spot(const struct evidence *e)
{
    uint64_t samples = e->pile->figures.allocated.sampled.samples;
    if (samples == 0)
        return e->profile->header.automatic.left > 0 ? PL_DOUBT_UNSEEN : PL_DOUBT_NONE;
    return samples < 2 * SETTLED_WITNESSES_LEAST && !samples_everything(&e->profile->header) ? PL_DOUBT_SAMPLES
                                                                                             : PL_DOUBT_NONE;
}

/* When counting first gave way to samples, as the timeline has it; without one, when the last survivor was made. */
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

static void set_unknown(const struct evidence *e, bool timed, struct pl_leftover *out)
{
    out->verdict = PL_LEFT_UNKNOWN;
    out->doubt = doubt_of(e, timed);
    out->unseen_s = out->doubt == PL_DOUBT_UNSEEN ? sampled_from(e) : 0;
}

/* Growth is seen through whatever it grows on; then what a person would rule out, in that order. */
static void judge(const struct evidence *e, enum pl_leftover_ending ending, struct pl_leftover *out)
{
    bool young = is_young(e), timed = e->classes > 0 && pl_judge_timed(e->profile);
    out->turnover = timed && !has_stopped(e) && turns_over(e);
    out->doubt = PL_DOUBT_NONE;
    if (timed && grows_by_age(e) && !out->turnover)
        out->verdict = PL_LEFT_SUSPECTED;
    else if (blind_spot(e) != PL_DOUBT_NONE)
        set_unknown(e, timed, out);
    else if (young && ending != PL_ENDING_EXITED)
        out->verdict = PL_LEFT_YOUNG;
    else if (is_single(&e->pile->figures) || is_startup(e))
        out->verdict = PL_LEFT_ONCE;
    else if (young)
        out->verdict = PL_LEFT_YOUNG;
    else if (has_stopped(e) || out->turnover)
        out->verdict = PL_LEFT_STOPPED;
    else
        set_unknown(e, timed, out);
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
    pl_figures_estimate(&out->figures, out->metric);
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
