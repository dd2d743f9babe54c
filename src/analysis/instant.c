/* SPDX-License-Identifier: MIT */
/*
 * instant.c - a profile as it was at a moment of its run, and what happened between two.
 *
 * A share of a snapshot says what a site had allocated and held then; sites that were too small to be named had
 * together what is left. How well that is known is taken from the site's figures of the end: of its samples, so large a
 * part as of its bytes.
 *
 * What was sampled before the earlier moment is in both sides of a difference, and takes its error with it: of what was
 * allocated in between, the variance is the difference of variances. Of live memory it is their sum, at most.
 */
#include "instant.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "figures.h"
#include "grow.h"
#include "join.h"
#include "narrow.h"

int pl_instant_near(const struct pl_profile *profile, double seconds)
{
    int nearest = PL_INSTANT_START;
    double distance = fabs(seconds);
    for (uint32_t i = 0; i < profile->snapshots; i++)
        if (fabs(profile->snapshot[i].seconds - seconds) < distance) {
            distance = fabs(profile->snapshot[i].seconds - seconds);
            nearest = (int) i;
        }
    return fabs(profile->duration_s - seconds) < distance ? PL_INSTANT_END : nearest;
}

double pl_instant_seconds(const struct pl_profile *profile, int instant)
{
    if (instant >= 0)
        return profile->snapshot[instant].seconds;
    return instant == PL_INSTANT_START ? 0 : profile->duration_s;
}

/* --- figures of then --- */

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

/* A part of a whole, as a fraction. */
static double fraction(double part, double whole)
{
    return whole > 0 ? fmin(fmax(part / whole, 0), 1) : 0;
}

/* What was counted one by one came before what was sampled. */
static void keep_first(struct pl_amount *made, double calls, double bytes)
{
    struct pl_amount counted = {.exact_objects = fmin(calls, made->exact_objects),
                                .exact_space = fmin(bytes, made->exact_space)};
    scale(made, fraction(calls - counted.exact_objects, made->sampled.objects),
          fraction(bytes - counted.exact_space, made->sampled.space));
    made->exact_objects = counted.exact_objects;
    made->exact_space = counted.exact_space;
}

/* What is not known of a stretch of time: the heap was largest at one moment, and how blocks end is known of all alone.
 */
static void forget_the_rest(struct pl_site_view *site)
{
    memset(&site->spread, 0, sizeof site->spread);
    memset(&site->figures.peak, 0, sizeof site->figures.peak);
    memset(&site->figures.temporary, 0, sizeof site->figures.temporary);
    pl_figures_estimate(&site->figures, site->metric);
    for (int m = PL_METRIC_PEAK_OBJECTS; m <= PL_METRIC_TEMP_OBJECTS; m++)
        site->metric[m] = (struct pl_estimate){0};
}

static struct pl_site_view site_then(const struct pl_site_view *now, const struct pl_snapshot_share *share)
{
    struct pl_site_view then = *now;
    struct pl_amount *made = &then.figures.allocated;
    keep_first(made, share->calls, share->allocated);
    then.figures.skew.objects *= fraction(made->sampled.objects, now->figures.allocated.sampled.objects);
    then.figures.skew.space *= fraction(made->sampled.space, now->figures.allocated.sampled.space);
    then.figures.freed = *made;
    scale(&then.figures.freed, 1 - fraction(share->objects, pl_amount_objects(made)),
          1 - fraction(share->bytes, pl_amount_space(made)));
    forget_the_rest(&then);
    return then;
}

/*
 * Who is not named had, as far as anybody knows, as much of what it has in the end as all of these together: an
 * estimate, even where everything else is exact. It may have been nothing, or the most it can have been. Of something
 * that is nothing or `most`, and `value` on average, the variance is value * (most - value); intervals of few samples
 * are several times wider than that (estimate.c), and a third of it makes one that reaches to `most` and a bit further.
 */
#define WIDENED 3
static double widest_variance(double value, double most)
{
    return value > 0 ? fmax(value * (most - value) / WIDENED, 0) : 0;
}

/* What a site can have asked for at most. */
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

static struct most most_of(const struct pl_site_view *now)
{
    return (struct most){pl_amount_objects(&now->figures.allocated), pl_amount_space(&now->figures.allocated)};
}

static struct pl_site_view guessed_then(const struct pl_site_view *now, const struct pl_snapshot_share *share,
                                        const struct most *most)
{
    struct pl_site_view then = *now;
    double gone = share->calls - share->objects;
    then.figures = (struct pl_figures){
        .allocated = guess(share->calls, share->allocated, most, share->calls > 0 ? 2 : 0),
        .freed = guess(gone, share->allocated - share->bytes, most,
                       gone <= 0            ? 0
                       : share->objects > 0 ? 1
                                            : 2),
    };
    forget_the_rest(&then);
    return then;
}

/* Known of all threads together, and divided among them: it may have been all this thread's. */
static struct pl_site_view divided_then(const struct pl_site_view *now, const struct pl_snapshot_share *share)
{
    struct most most = most_of(now);
    return guessed_then(now, share, &most);
}

/* Whole numbers, each the nearest; what that leaves over, or lacks, goes on to the next site. */
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

static struct pl_site_view other_then(const struct pl_site_view *now, const struct pl_snapshot_view *snapshot,
                                      struct carried *carried)
{
    struct most most = most_of(now);
    double calls = most.calls, bytes = most.bytes;
    struct pl_snapshot_share share = {0};
    share.calls = take_whole(&carried->made, calls * snapshot->others_calls, calls);
    share.allocated = take_whole(&carried->asked, bytes * snapshot->others_allocated, share.calls > 0 ? bytes : 0);
    share.objects = take_whole(&carried->left, calls * snapshot->others_objects, share.calls);
    share.bytes = take_whole(&carried->held, bytes * snapshot->others_bytes, share.objects > 0 ? share.allocated : 0);
    most.calls = fmin(calls, fmax(snapshot->unnamed_calls, share.calls));
    most.bytes = fmin(bytes, fmax(snapshot->unnamed_bytes, share.allocated));
    return guessed_then(now, &share, &most);
}

static void write_sites_then(const struct pl_profile *whole, const struct pl_snapshot_view *snapshot,
                             struct pl_site_view *to)
{
    struct carried carried = {0};
    bool *named = pl_grow_zeroed(whole->sites + 1ull, sizeof *named);
    for (uint32_t i = 0; i < snapshot->shares; i++) {
        const struct pl_snapshot_share *share = &snapshot->share[i];
        to[share->site] = (share->divided ? divided_then : site_then)(&whole->site[share->site], share);
        named[share->site] = true;
    }
    for (uint32_t i = 0; i < whole->sites; i++)
        if (!named[i])
            to[i] = other_then(&whole->site[i], snapshot, &carried);
    free(named);
}

static void write_sites(const struct pl_profile *whole, int instant, struct pl_site_view *to)
{
    if (instant >= 0)
        write_sites_then(whole, &whole->snapshot[instant], to);
    for (uint32_t i = 0; i < whole->sites && instant == PL_INSTANT_END; i++) {
        to[i] = whole->site[i];
        forget_the_rest(&to[i]);
    }
}

/* --- totals --- */

static void add_up(const struct pl_site_view *site, uint32_t sites, struct pl_estimate metric[PL_METRIC_COUNT])
{
    struct pl_figures all = {0};
    for (uint32_t i = 0; i < sites; i++)
        pl_figures_add(&all, &site[i].figures);
    pl_figures_estimate(&all, metric);
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

/* What is said of the whole run is not true of a stretch of it. */
static void forget_the_run(struct pl_profile *out, const struct pl_profile *whole, bool guessed)
{
    char method[PL_WHY_BYTES];
    pl_profile_method(whole, method, sizeof method / 2);
    size_t bytes = strlen(method);
    if (guessed)
        bytes += (size_t) snprintf(method + bytes, sizeof method - bytes,
                                   "; small sites as far as can be told from what they have in the end");
    out->exact &= !guessed;
    out->method = pl_arena_text(out->arena, method, strlen(method));
    memset(&out->spread, 0, sizeof out->spread);
    out->recorded_calls = out->total[PL_METRIC_ALLOC_OBJECTS].value;
    out->recorded_bytes = out->total[PL_METRIC_ALLOC_SPACE].value;
    out->exact_calls = out->exact ? out->recorded_calls : 0;
    out->exact_bytes = out->exact ? out->recorded_bytes : 0;
    out->snapshots = 0; /* they name sites by their numbers of before */
}

static bool guesses(const struct pl_profile *whole, int instant)
{
    const struct pl_snapshot_view *snapshot = instant >= 0 ? &whole->snapshot[instant] : NULL;
    for (uint32_t i = 0; snapshot && i < snapshot->shares; i++)
        if (snapshot->share[i].divided)
            return true;
    return snapshot && snapshot->others_calls > 0;
}

const struct pl_profile *pl_instant_between(const struct pl_profile *whole, int since, int until,
                                            struct pl_arena *arena)
{
    struct pl_profile *out = pl_arena_alloc(arena, sizeof *out);
    struct pl_estimate before[PL_METRIC_COUNT], after[PL_METRIC_COUNT];
    *out = *whole;
    out->arena = arena;
    out->difference = true;
    out->since_s = pl_instant_seconds(whole, since);
    out->until_s = pl_instant_seconds(whole, until);
    out->base_sites = since == PL_INSTANT_START ? 0 : whole->sites;
    out->sites = out->base_sites + whole->sites;
    out->site = pl_arena_alloc(arena, (out->sites + 1ull) * sizeof *out->site);
    write_sites(whole, since, out->site);
    write_sites(whole, until, out->site + out->base_sites);
    add_up(out->site, out->base_sites, before);
    add_up(out->site + out->base_sites, out->sites - out->base_sites, after);
    for (int m = 0; m < PL_METRIC_COUNT; m++)
        out->total[m] = m < PL_METRIC_PEAK_OBJECTS ? subtract(&after[m], &before[m], m) : (struct pl_estimate){0};
    for (int m = 0; m < PL_METRIC_PEAK_OBJECTS && whole->exact; m++) /* of all together nothing is guessed */
        out->total[m] = pl_estimate_exactly(out->total[m].value);
    forget_the_run(out, whole, guesses(whole, since) || guesses(whole, until));
    pl_narrow_count_sites(out, arena);
    return out;
}
