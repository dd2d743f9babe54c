/* SPDX-License-Identifier: MIT */
/*
 * figures.c - arithmetic on the sums that metrics are computed from.
 *
 * Exact parts are whole numbers in doubles, so adding and subtracting them is exact up to 2^53. Sampled parts are sums
 * of weights: the same samples added in another order differ in the last bits, so a difference that is tiny compared
 * with the minuend counts as 0.
 */
#include <math.h>

#include "reader/figures.h"

/* A difference smaller than this fraction of the minuend is rounding, not memory. */
#define ROUNDING 1e-10

void pl_sums_join(struct pl_sums *to, const struct pl_sums *more)
{
    to->objects += more->objects;
    to->space += more->space;
    to->objects_variance += more->objects_variance;
    to->space_variance += more->space_variance;
    to->samples += more->samples;
}

static double subtract(double from, double what)
{
    double rest = from - what;
    return rest > from * ROUNDING ? rest : 0;
}

struct pl_sums pl_sums_rest(const struct pl_sums *from, const struct pl_sums *what)
{
    if (from->samples <= what->samples)
        return (struct pl_sums){0};
    return (struct pl_sums){
        .objects = subtract(from->objects, what->objects),
        .space = subtract(from->space, what->space),
        .objects_variance = subtract(from->objects_variance, what->objects_variance),
        .space_variance = subtract(from->space_variance, what->space_variance),
        .samples = from->samples - what->samples,
    };
}

void pl_amount_add(struct pl_amount *to, const struct pl_amount *more)
{
    to->exact_objects += more->exact_objects;
    to->exact_space += more->exact_space;
    pl_sums_join(&to->sampled, &more->sampled);
}

struct pl_amount pl_amount_rest(const struct pl_amount *from, const struct pl_amount *what)
{
    return (struct pl_amount){
        .exact_objects = from->exact_objects > what->exact_objects ? from->exact_objects - what->exact_objects : 0,
        .exact_space = from->exact_space > what->exact_space ? from->exact_space - what->exact_space : 0,
        .sampled = pl_sums_rest(&from->sampled, &what->sampled),
    };
}

void pl_amount_cap(struct pl_amount *part, const struct pl_amount *whole)
{
    struct pl_sums *a = &part->sampled;
    const struct pl_sums *b = &whole->sampled;
    part->exact_objects = fmin(part->exact_objects, whole->exact_objects);
    part->exact_space = fmin(part->exact_space, whole->exact_space);
    a->objects = fmin(a->objects, b->objects);
    a->space = fmin(a->space, b->space);
    a->objects_variance = fmin(a->objects_variance, b->objects_variance);
    a->space_variance = fmin(a->space_variance, b->space_variance);
    a->samples = a->samples < b->samples ? a->samples : b->samples;
}

/* False for NaN. */
static bool within(double part, double whole)
{
    return part >= 0 && part <= whole;
}

bool pl_amount_within(const struct pl_amount *part, const struct pl_amount *whole)
{
    const struct pl_sums *a = &part->sampled, *b = &whole->sampled;
    return within(part->exact_objects, whole->exact_objects) && within(part->exact_space, whole->exact_space) &&
           within(a->objects, b->objects) && within(a->space, b->space) &&
           within(a->objects_variance, b->objects_variance) && within(a->space_variance, b->space_variance) &&
           a->samples <= b->samples;
}

void pl_figures_add(struct pl_figures *to, const struct pl_figures *more)
{
    pl_amount_add(&to->allocated, &more->allocated);
    pl_amount_add(&to->freed, &more->freed);
    pl_amount_add(&to->peak, &more->peak);
    pl_amount_add(&to->temporary, &more->temporary);
    pl_amount_add(&to->lost, &more->lost);
    to->skew.objects += more->skew.objects;
    to->skew.space += more->skew.space;
    to->unseen_interval = fmax(to->unseen_interval, more->unseen_interval);
    if (to->call_charge == 0 || (more->call_charge > 0 && more->call_charge < to->call_charge))
        to->call_charge = more->call_charge;
    to->hidden.objects = fmax(to->hidden.objects, more->hidden.objects);
    to->hidden.space = fmax(to->hidden.space, more->hidden.space);
    to->peakrange.more_objects += more->peakrange.more_objects;
    to->peakrange.less_objects += more->peakrange.less_objects;
    to->peakrange.more_space += more->peakrange.more_space;
    to->peakrange.less_space += more->peakrange.less_space;
}

static void add_all(double *to, const double *more, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        to[i] += more[i];
}

/* Smallest and largest are 0, 0 without any block, but also if every block came from malloc(0). */
static bool has_sizes(const struct pl_spread *spread)
{
    return spread->largest > 0 || spread->sizes[0] > 0;
}

static void add_extremes(struct pl_spread *to, const struct pl_spread *more)
{
    if (!has_sizes(more))
        return;
    if (!has_sizes(to) || more->smallest < to->smallest)
        to->smallest = more->smallest;
    if (more->largest > to->largest)
        to->largest = more->largest;
}

void pl_spread_add(struct pl_spread *to, const struct pl_spread *more)
{
    add_extremes(to, more);
    add_all(to->sizes, more->sizes, PL_SIZE_BUCKETS);
    add_all(to->lives, more->lives, PL_LIFE_BUCKETS);
    add_all(to->ages, more->ages, PL_COHORTS);
    to->realloc_calls += more->realloc_calls;
    to->realloc_moved += more->realloc_moved;
    to->realloc_in_place += more->realloc_in_place;
    to->exit_objects += more->exit_objects;
    to->exit_space += more->exit_space;
    to->with_objects += more->with_objects;
    to->with_space += more->with_space;
    to->along_objects += more->along_objects;
    to->along_space += more->along_space;
    to->inner_objects += more->inner_objects;
    to->inner_space += more->inner_space;
    if (to->lost_example == 0)
        to->lost_example = more->lost_example;
    if (to->inner_example == 0)
        to->inner_example = more->inner_example;
}

double pl_size_bucket_from(unsigned bucket)
{
    return bucket == 0 ? 0 : (double) (8ull << bucket);
}

double pl_life_bucket_from(unsigned bucket)
{
    return bucket == 0 ? 0 : (double) (1ull << (bucket - 1));
}

/* A bucket is as wide as it is far from 0. */
double pl_life_bucket_middle(unsigned bucket)
{
    return bucket == 0 ? 0.5 : 1.5 * pl_life_bucket_from(bucket);
}
