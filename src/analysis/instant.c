/* SPDX-License-Identifier: MIT */
/*
 * instant.c - a profile as of one moment of its run, and the difference between two moments.
 *
 * A heap composition (profile->composition) has a share for each larger site: what it had allocated and held. The other
 * sites had the rest together. The composition has no samples or variances, so these are taken from the site's figures
 * at the end, scaled by the fraction of its bytes.
 *
 * Samples from before the earlier moment are in both sides of a difference, and their error cancels out. So allocated
 * bytes between two moments have the difference of the variances; live bytes have at most their sum.
 */
#include "analysis/instant.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/narrow.h"
#include "reader/base/grow.h"
#include "reader/describe.h"
#include "reader/figures.h"
#include "reader/join/join.h"
#include "reader/site.h"

int pl_instant_near(const struct pl_profile *profile, double seconds)
{
    int nearest = PL_INSTANT_START;
    double distance = fabs(seconds);
    for (uint32_t i = 0; i < profile->compositions; i++)
        if (fabs(profile->composition[i].seconds - seconds) < distance) {
            distance = fabs(profile->composition[i].seconds - seconds);
            nearest = (int) i;
        }
    return fabs(profile->duration_s - seconds) < distance ? PL_INSTANT_END : nearest;
}

double pl_instant_seconds(const struct pl_profile *profile, int instant)
{
    if (instant >= 0)
        return profile->composition[instant].seconds;
    return instant == PL_INSTANT_START ? 0 : profile->duration_s;
}

/* --- figures at a moment --- */

static void scale(struct pl_amount *amount, double objects, double space)
{
    amount->exact_objects *= objects;
    amount->exact_space *= space;
    amount->sampled.objects *= objects;
    amount->sampled.objects_variance *= objects;
    amount->sampled.space *= space;
    amount->sampled.space_variance *= space;
    amount->sampled.samples = (uint64_t) ceil((double) amount->sampled.samples * fmin(fmax(objects, space), 1));
}

/* part / whole, clamped to 0..1. */
static double fraction(double part, double whole)
{
    return whole > 0 ? fmin(fmax(part / whole, 0), 1) : 0;
}

/* Reduces `made` to its first calls and bytes. Counted allocations came before sampled ones. */
static void keep_first(struct pl_amount *made, double calls, double bytes)
{
    struct pl_amount counted = {.exact_objects = fmin(calls, made->exact_objects),
                                .exact_space = fmin(bytes, made->exact_space)};
    scale(made, fraction(calls - counted.exact_objects, made->sampled.objects),
          fraction(bytes - counted.exact_space, made->sampled.space));
    made->exact_objects = counted.exact_objects;
    made->exact_space = counted.exact_space;
}

/* Clears the figures that exist only for the whole run: the peak, and how and when blocks are freed. */
static void forget_the_rest(struct pl_figures *figures)
{
    memset(&figures->peak, 0, sizeof figures->peak);
    memset(&figures->peakrange, 0, sizeof figures->peakrange);
    memset(&figures->temporary, 0, sizeof figures->temporary);
}

/*
 * What had been freed of `made`: all but the share. If anything was held, so was a sample of it: a site whose samples
 * are all freed counts as empty, and sites would not add up to the total.
 */
static struct pl_amount freed_of(const struct pl_amount *made, const struct pl_composition_share *share)
{
    double objects = fraction(share->objects, pl_amount_objects(made));
    double space = fraction(share->bytes, pl_amount_space(made));
    struct pl_amount held = *made, freed = *made;
    scale(&held, objects, space);
    scale(&freed, 1 - objects, 1 - space);
    freed.sampled.samples = made->sampled.samples - held.sampled.samples;
    return freed;
}

static struct pl_figures figures_then(const struct pl_figures *now, const struct pl_composition_share *share)
{
    struct pl_figures then = *now;
    struct pl_amount *made = &then.allocated;
    keep_first(made, share->calls, share->allocated);
    then.skew.objects *= fraction(made->sampled.objects, now->allocated.sampled.objects);
    then.skew.space *= fraction(made->sampled.space, now->allocated.sampled.space);
    then.freed = freed_of(made, share);
    forget_the_rest(&then);
    return then;
}

/*
 * A site that is not in the composition is assumed to have had the same fraction of its final figures as all such sites
 * together: an estimate, even if everything else is exact. The truth lies between 0 and `most`. A variable that is
 * either 0 or `most`, and `value` on average, has a variance of value * (most - value). estimate.c makes intervals of
 * few samples several times wider than that, so a third of it gives an interval that reaches a little beyond `most`.
 */
#define WIDENED 3
static double widest_variance(double value, double most)
{
    return value > 0 ? fmax(value * (most - value) / WIDENED, 0) : 0;
}

/* The most that a site can have allocated. */
struct most {
    double calls, bytes;
};

static struct pl_amount guess(double objects, double space, const struct most *most, uint64_t witnesses)
{
    struct pl_sums sums = {.objects = objects, .space = space};
    sums.objects_variance = widest_variance(objects, most->calls);
    sums.space_variance = widest_variance(space, most->bytes);
    sums.samples = witnesses;
    return (struct pl_amount){.sampled = sums};
}

static struct most most_of(const struct pl_figures *now)
{
    return (struct most){pl_amount_objects(&now->allocated), pl_amount_space(&now->allocated)};
}

/* Two witnesses say that it allocated, and one of them stays if it holds anything: without, it would count as empty. */
static struct pl_figures guessed_then(const struct pl_composition_share *share, const struct most *most)
{
    double gone = share->calls - share->objects, freed = share->allocated - share->bytes;
    bool made_any = share->calls > 0 || share->allocated > 0, holds_any = share->objects > 0 || share->bytes > 0;
    bool freed_any = gone > 0 || freed > 0;
    return (struct pl_figures){
        .allocated = guess(share->calls, share->allocated, most, made_any ? 2 : 0),
        .freed = guess(gone, freed, most, freed_any ? (holds_any ? 1 : 2) : 0),
    };
}

/* The composition has a sum over threads, of which this share is a part: all of it may have been this thread's. */
static struct pl_figures divided_then(const struct pl_figures *now, const struct pl_composition_share *share)
{
    struct most most = most_of(now);
    return guessed_then(share, &most);
}

/* Rounds to a whole number, and carries the rounding error over to the next site. */
static double take_whole(double *carried, double more, double most)
{
    *carried += more;
    double whole = fmin(fmax(round(*carried), 0), most);
    *carried -= whole;
    return whole;
}

struct carried {
    double made, asked, left, held;
};

static struct pl_figures other_then(const struct pl_figures *now, const struct pl_composition_view *composition,
                                    struct carried *carried)
{
    struct most most = most_of(now);
    double calls = most.calls, bytes = most.bytes;
    struct pl_composition_share share = {0};
    share.calls = take_whole(&carried->made, calls * composition->others_calls, calls);
    share.allocated = take_whole(&carried->asked, bytes * composition->others_allocated, share.calls > 0 ? bytes : 0);
    share.objects = take_whole(&carried->left, calls * composition->others_objects, share.calls);
    share.bytes =
        take_whole(&carried->held, bytes * composition->others_bytes, share.objects > 0 ? share.allocated : 0);
    most.calls = fmin(calls, fmax(composition->unnamed_calls, share.calls));
    most.bytes = fmin(bytes, fmax(composition->unnamed_bytes, share.allocated));
    return guessed_then(&share, &most);
}

static struct pl_site_view site_then(const struct pl_site_view *now, const struct pl_figures *then,
                                     struct pl_arena *arena)
{
    struct pl_site_view site = *now;
    site.figures = pl_site_pack_figures(arena, then);
    site.spread = NULL;
    site.at_moment = true;
    return site;
}

static void write_sites_then(const struct pl_profile *whole, const struct pl_composition_view *composition,
                             struct pl_site_view *to, struct pl_arena *arena)
{
    struct carried carried = {0};
    bool *named = pl_grow_zeroed(whole->sites + 1ull, sizeof *named);
    for (uint32_t i = 0; i < composition->shares; i++) {
        const struct pl_composition_share *share = &composition->share[i];
        struct pl_figures now = pl_site_figures(&whole->site[share->site]);
        struct pl_figures then = (share->divided ? divided_then : figures_then)(&now, share);
        to[share->site] = site_then(&whole->site[share->site], &then, arena);
        named[share->site] = true;
    }
    for (uint32_t i = 0; i < whole->sites; i++) {
        if (named[i])
            continue;
        struct pl_figures now = pl_site_figures(&whole->site[i]);
        struct pl_figures then = other_then(&now, composition, &carried);
        to[i] = site_then(&whole->site[i], &then, arena);
    }
    free(named);
}

static void write_sites(const struct pl_profile *whole, int instant, struct pl_site_view *to, struct pl_arena *arena)
{
    if (instant >= 0)
        write_sites_then(whole, &whole->composition[instant], to, arena);
    for (uint32_t i = 0; i < whole->sites && instant == PL_INSTANT_END; i++) {
        struct pl_figures figures = pl_site_figures(&whole->site[i]);
        forget_the_rest(&figures);
        to[i] = site_then(&whole->site[i], &figures, arena);
    }
}

/* --- totals --- */

static void add_up(const struct pl_site_view *site, uint32_t sites, struct pl_estimate metric[PL_METRIC_COUNT])
{
    struct pl_figures all = {0};
    for (uint32_t i = 0; i < sites; i++)
        pl_site_add_figures(&all, &site[i]);
    pl_estimate_figures(&all, metric);
}

static bool only_grows(int metric)
{
    return metric == PL_METRIC_ALLOC_OBJECTS || metric == PL_METRIC_ALLOC_SPACE;
}

static struct pl_estimate subtract(const struct pl_estimate *after, const struct pl_estimate *before, int metric)
{
    if (!only_grows(metric))
        return pl_join_subtract(after, before);
    double both = after->error * after->error, once = before->error * before->error;
    double value = after->value - before->value, error = sqrt(fmax(both - once, 0));
    return (struct pl_estimate){.value = value, .error = error, .low = value - error, .high = value + error};
}

/* Replaces facts of the whole run that do not hold for a part of it. */
static void forget_the_run(struct pl_profile *out, const struct pl_profile *whole, bool guessed)
{
    char method[PL_WHY_BYTES];
    pl_describe_method(whole, method, sizeof method / 2);
    size_t bytes = strlen(method);
    if (guessed)
        bytes += (size_t) snprintf(method + bytes, sizeof method - bytes,
                                   "; small sites are estimated from their figures at the end");
    out->exact &= !guessed;
    out->method = pl_arena_text(out->arena, method, strlen(method));
    memset(&out->spread, 0, sizeof out->spread);
    out->recorded_calls = out->total[PL_METRIC_ALLOC_OBJECTS].value;
    out->recorded_bytes = out->total[PL_METRIC_ALLOC_SPACE].value;
    out->exact_calls = out->exact ? out->recorded_calls : 0;
    out->exact_bytes = out->exact ? out->recorded_bytes : 0;
    out->compositions = 0; /* they refer to sites by their old indexes */
}

static bool guesses(const struct pl_profile *whole, int instant)
{
    const struct pl_composition_view *composition = instant >= 0 ? &whole->composition[instant] : NULL;
    for (uint32_t i = 0; composition && i < composition->shares; i++)
        if (composition->share[i].divided)
            return true;
    return composition && composition->others_calls > 0;
}

const struct pl_profile *pl_instant_between(const struct pl_profile *whole, int since, int until,
                                            struct pl_arena *arena)
{
    struct pl_profile *out = pl_arena_alloc(arena, sizeof *out);
    struct pl_estimate before[PL_METRIC_COUNT], after[PL_METRIC_COUNT];
    *out = *whole;
    out->arena = arena;
    out->difference = true;
    out->looked = PL_LOOKED_NOT;
    out->since_s = pl_instant_seconds(whole, since);
    out->until_s = pl_instant_seconds(whole, until);
    out->base_sites = since == PL_INSTANT_START ? 0 : whole->sites;
    out->sites = out->base_sites + whole->sites;
    out->site = pl_arena_alloc(arena, (out->sites + 1ull) * sizeof *out->site);
    write_sites(whole, since, out->site, arena);
    write_sites(whole, until, out->site + out->base_sites, arena);
    add_up(out->site, out->base_sites, before);
    add_up(out->site + out->base_sites, out->sites - out->base_sites, after);
    for (int m = 0; m < PL_METRIC_COUNT; m++)
        out->total[m] = m < PL_METRIC_PEAK_OBJECTS ? subtract(&after[m], &before[m], m) : (struct pl_estimate){0};
    for (int m = 0; m < PL_METRIC_PEAK_OBJECTS && whole->exact; m++) /* totals are exact, even if sites are guessed */
        out->total[m] = pl_estimate_exactly(out->total[m].value);
    forget_the_run(out, whole, guesses(whole, since) || guesses(whole, until));
    pl_narrow_count_sites(out, arena);
    return out;
}
