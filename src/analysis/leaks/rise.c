/* SPDX-License-Identifier: MIT */
/*
 * rise.c - how live bytes grew over time, by the heap compositions of a profile.
 *
 * A group of sites grew steadily if each half of the time up to the peak added to it, it never fell by much, and it did
 * not stay as large for long after the peak. Compositions of the first tenth of that time do not count: a program sets
 * itself up then. In a sampled profile what the later half added must be more than noise: the peak is where estimates
 * happened to be highest.
 */
#include "analysis/leaks/rise.h"

#include <math.h>
#include <stdlib.h>

#include "reader/site.h"

#define TEARDOWN 0.5       /* the program cleans up: less than this fraction of the peak is left */
#define TEARDOWN_FROM 0.75 /* and the peak was this late in the run */
#define START 0.1          /* of the time up to the peak */
#define POINTS_LEAST 5
#define SECONDS_LEAST 1.0
#define HALF_ADDS 0.25 /* of the growth, at least */
#define FALLS 0.1      /* of the growth, at most */
#define LINGERS 0.25   /* of the time it grew: who holds as much for so long after the peak does not grow any more */
#define HELD 0.5       /* of the peak: that is as much */
#define SURE 2.0       /* standard deviations that the later half must add */
#define ERROR 1.96     /* standard deviations in the error of an estimate */

double pl_rise_until(const struct pl_profile *profile)
{
    double exit_s = profile->exit_s > 0 ? profile->exit_s : profile->duration_s;
    double before_exit = profile->total[PL_METRIC_INUSE_SPACE].value + profile->spread.exit_space;
    bool late = profile->peak_s >= TEARDOWN_FROM * exit_s && profile->peak_s <= exit_s;
    return late && before_exit < TEARDOWN * profile->total[PL_METRIC_PEAK_SPACE].value ? profile->peak_s : exit_s;
}

static int ascending(const void *left, const void *right)
{
    double a = *(const double *) left, b = *(const double *) right;
    return (a > b) - (a < b);
}

double pl_rise_slope(const struct pl_rise_point *point, uint32_t count)
{
    double slope[PL_RISE_POINTS * PL_COMPOSITIONS / 2];
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

static double held_then(const struct pl_composition_view *composition, const uint32_t *group, uint32_t which)
{
    double bytes = 0;
    for (uint32_t i = 0; i < composition->shares; i++)
        bytes += group[composition->share[i].site] == which ? composition->share[i].bytes : 0;
    return bytes;
}

static double held_at_peak(const struct pl_profile *profile, const uint32_t *group, uint32_t which)
{
    double bytes = 0;
    for (uint32_t i = 0; i < profile->sites; i++)
        bytes += group[i] == which ? pl_site_value(&profile->site[i], PL_METRIC_PEAK_SPACE) : 0;
    return bytes;
}

/*
 * The standard deviation of what was added between two moments. An estimate of B bytes has a variance of about I B, and
 * the error of the peak says what I is. Blocks that are live at both moments are the same samples, so only those count
 * that were added, and those that replaced others: no more than were allocated beyond the peak.
 */
static double noise_of(const struct pl_estimate metric[PL_METRIC_COUNT], double before, double added)
{
    const struct pl_estimate *peak = &metric[PL_METRIC_PEAK_SPACE];
    double deviation = peak->error / ERROR, interval = peak->value > 0 ? deviation * deviation / peak->value : 0;
    double replaced = fmin(before, fmax(0, metric[PL_METRIC_ALLOC_SPACE].value - peak->value));
    return sqrt(interval * (fmax(0, added) + 2 * replaced));
}

static bool is_steady(const struct pl_rise_point *point, uint32_t count,
                      const struct pl_estimate metric[PL_METRIC_COUNT])
{
    const struct pl_rise_point *first = &point[0], *last = &point[count - 1];
    double grown = last->bytes - first->bytes, most = 0, middle = first->bytes;
    if (count < POINTS_LEAST || last->seconds - first->seconds < SECONDS_LEAST || !(grown > 0))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        if (most - point[i].bytes > FALLS * grown)
            return false;
        most = fmax(most, point[i].bytes);
        if (point[i].seconds <= (first->seconds + last->seconds) / 2)
            middle = point[i].bytes;
    }
    double added = last->bytes - middle;
    return middle - first->bytes >= HALF_ADDS * grown && added >= HALF_ADDS * grown &&
           added >= SURE * noise_of(metric, middle, added);
}

/* Whether the group still held much of its peak long after it. */
static bool lingers(const struct pl_profile *profile, const uint32_t *group, uint32_t which, double from_s, double most)
{
    double late = profile->peak_s + LINGERS * (profile->peak_s - from_s);
    for (uint32_t i = 0; i < profile->compositions && i < PL_COMPOSITIONS; i++)
        if (profile->composition[i].seconds > late && held_then(&profile->composition[i], group, which) > HELD * most)
            return true;
    return false;
}

struct pl_rise pl_rise_to_peak(const struct pl_profile *profile, const uint32_t *group, uint32_t which,
                               const struct pl_estimate metric[PL_METRIC_COUNT])
{
    struct pl_rise_point point[PL_RISE_POINTS];
    uint32_t count = 0;
    for (uint32_t i = 0; i < profile->compositions && i < PL_COMPOSITIONS; i++) {
        double seconds = profile->composition[i].seconds;
        if (seconds >= START * profile->peak_s && seconds < profile->peak_s)
            point[count++] = (struct pl_rise_point){seconds, held_then(&profile->composition[i], group, which)};
    }
    double most = held_at_peak(profile, group, which);
    point[count++] = (struct pl_rise_point){profile->peak_s, most};
    bool stopped = lingers(profile, group, which, point[0].seconds, most);
    return (struct pl_rise){.steady = !stopped && is_steady(point, count, metric),
                            .bytes_per_s = pl_rise_slope(point, count),
                            .from_s = point[0].seconds};
}
