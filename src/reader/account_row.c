/* SPDX-License-Identifier: MIT */
/*
 * account_row.c - reads a row of samples.
 *
 * Frees add to the freed sums exactly what the allocation added, but in another order. So differences within rounding
 * count as 0, and when every sample has been freed nothing is live, not even 1e-10 bytes.
 */
#include <math.h>
#include <string.h>

#include "reader/account.h"
#include "reader/figures.h"

#define SUM_MAX 1e100 /* far beyond any heap; a million of them, squared, is still finite */
#define VARIANCE_MIN 1e-20
#define SKEW_MIN 1e-40
#define SAMPLES_MAX (1ull << 48)
#define ROUNDING 1e-6 /* sums of the same weights in another order differ by far less */

/* False for NaN. */
static bool is_sum(double value, double least)
{
    return value == 0 || (value >= least && value <= SUM_MAX);
}

/* A weight is at least 1 and a size is a whole number; the variance of a weight just above 1 is small, but not below
 * VARIANCE_MIN. */
static bool are_sums(const struct pl_sums *sums)
{
    return is_sum(sums->objects, 1) && is_sum(sums->space, 1) && is_sum(sums->objects_variance, VARIANCE_MIN) &&
           is_sum(sums->space_variance, VARIANCE_MIN) && sums->samples <= SAMPLES_MAX;
}

bool pl_account_row_makes_sense(const struct pl_row *row)
{
    return are_sums(&row->allocated) && are_sums(&row->freed) && are_sums(&row->remote);
}

/* Limits a part to the whole. True if it was above by more than rounding. */
static bool cap(double *part, double whole)
{
    double over = *part - whole;
    if (over > 0)
        *part = whole;
    return over > ROUNDING * whole;
}

static bool cap_sums(struct pl_sums *part, const struct pl_sums *whole)
{
    bool cut = part->samples > whole->samples;
    cut |= cap(&part->objects, whole->objects);
    cut |= cap(&part->space, whole->space);
    cut |= cap(&part->objects_variance, whole->objects_variance);
    cut |= cap(&part->space_variance, whole->space_variance);
    if (part->samples >= whole->samples)
        *part = *whole;
    return cut;
}

/* Ignores freed weight without samples: nobody frees what was never allocated, but a file may say so. */
static struct pl_sums witnessed(const struct pl_sums *sums, struct pl_account *out)
{
    if (sums->samples)
        return *sums;
    out->cut |= sums->objects != 0 || sums->space != 0;
    return (struct pl_sums){0};
}

static void read_sums(const struct pl_row *row, struct pl_account *out)
{
    struct pl_sums *allocated = &out->figures.allocated.sampled, *freed = &out->figures.freed.sampled;
    struct pl_sums remote = witnessed(&row->remote, out);
    *allocated = row->allocated;
    if (allocated->objects < (double) allocated->samples)
        allocated->objects = (double) allocated->samples; /* a sample stands for at least itself */
    *freed = witnessed(&row->freed, out);
    pl_sums_join(freed, &remote);
    out->cut |= cap_sums(freed, allocated);
}

/* If it is damaged, intervals are computed without it. */
static void read_skew(const struct pl_row *row, struct pl_account *out)
{
    if (is_sum(row->skew.objects, SKEW_MIN) && is_sum(row->skew.space, SKEW_MIN))
        out->figures.skew = row->skew;
    else
        out->damaged = true;
}

/* Saved figures are differences: rounding may put them on either side of 0. */
static bool is_saved(double value)
{
    return value >= -SUM_MAX && value <= SUM_MAX;
}

static bool are_saved(const struct pl_sums *sums)
{
    return is_saved(sums->objects) && is_saved(sums->space) && is_saved(sums->objects_variance) &&
           is_saved(sums->space_variance) && sums->samples <= SAMPLES_MAX;
}

static void read_peak(const struct pl_row *row, const struct pl_header *header, struct pl_account *out)
{
    const struct pl_sums *allocated = &out->figures.allocated.sampled;
    struct pl_sums freed = witnessed(&row->freed, out);
    struct pl_sums own = pl_sums_rest(allocated, &freed), remote = witnessed(&row->remote, out);
    if (pl_account_saved_at_peak(row->era, header))
        own = row->peak;
    if (pl_account_saved_at_peak(row->remote_era, header))
        remote = row->peak_remote;
    if (!are_saved(&own) || !are_saved(&remote)) {
        out->damaged = true;
        return;
    }
    struct pl_sums peak = pl_sums_rest(&own, &remote);
    out->cut |= cap_sums(&peak, allocated);
    out->figures.peak.sampled = peak;
}

/*
 * Only the sum of weights of temporaries is known. They are assumed to be like the other samples of their site: their
 * share of the objects allocated there is also their share of the samples and of the variance.
 */
void pl_account_temporaries(struct pl_figures *figures, double objects)
{
    const struct pl_sums *freed = &figures->freed.sampled, *allocated = &figures->allocated.sampled;
    figures->temporary.sampled = (struct pl_sums){0};
    if (!(objects > 0) || freed->samples == 0)
        return;
    double share = objects / allocated->objects;
    double samples = fmin(fmax(round((double) allocated->samples * share), 1), (double) freed->samples);
    figures->temporary.sampled = (struct pl_sums){
        .objects = objects,
        .objects_variance = fmin(allocated->objects_variance * share, freed->objects_variance),
        .samples = (uint64_t) samples,
    };
}

static void read_temporaries(const struct pl_row *row, struct pl_account *out)
{
    double objects = row->temporaries;
    if (!is_sum(objects, 1)) {
        out->damaged = true;
        return;
    }
    out->cut |= cap(&objects, out->figures.freed.sampled.objects);
    pl_account_temporaries(&out->figures, objects);
}

/* A sum of weights other than the main ones; 0 if it is invalid. */
static double weight_of(double value, struct pl_account *out)
{
    if (value >= 0 && value <= SUM_MAX)
        return value;
    out->damaged = true;
    return 0;
}

static void read_ages(const struct pl_row *row, const struct pl_header *header, struct pl_account *out)
{
    if (out->figures.freed.sampled.samples == out->figures.allocated.sampled.samples)
        return;
    for (unsigned i = 0; i < PL_COHORTS; i++) {
        double made = weight_of((double) row->made[i], out), gone = weight_of((double) row->gone[i], out);
        if (made - gone > ROUNDING * made)
            out->spread.ages[pl_account_cohort(i, row->cohort_shift, header->timeline_shift)] += made - gone;
    }
}

static void read_spread(const struct pl_row *row, struct pl_account *out)
{
    struct pl_spread *spread = &out->spread;
    for (unsigned i = 0; i < PL_SIZE_BUCKETS; i++)
        spread->sizes[i] = weight_of((double) row->sizes[i], out);
    for (unsigned i = 0; i < PL_LIFE_BUCKETS; i++)
        spread->lives[i] = weight_of((double) row->lives[i], out);
    if (row->smallest <= row->largest) {
        spread->smallest = row->smallest;
        spread->largest = row->largest;
    }
    spread->realloc_calls = weight_of(row->realloc_calls, out);
    spread->realloc_moved = weight_of(row->realloc_moved, out);
    spread->realloc_in_place = weight_of(row->realloc_in_place, out);
    spread->exit_objects = weight_of(row->exit_objects, out);
    spread->exit_space = weight_of(row->exit_space, out);
    out->cut |= cap(&spread->exit_objects, out->figures.freed.sampled.objects);
    out->cut |= cap(&spread->exit_space, out->figures.freed.sampled.space);
}

void pl_account_row(const struct pl_row *row, const struct pl_header *header, struct pl_account *out)
{
    memset(out, 0, sizeof *out);
    read_sums(row, out);
    read_skew(row, out);
    read_peak(row, header, out);
    read_temporaries(row, out);
    read_spread(row, out);
    read_ages(row, header, out);
}
