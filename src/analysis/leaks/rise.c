/* SPDX-License-Identifier: MIT */
/*
 * rise.c - how live bytes grew over time, by the heap compositions of a profile.
 *
 * A group of sites grew steadily if each half of the time up to the peak added to it, and it never fell by much.
 * Compositions of the first tenth of that time do not count: a program sets itself up then.
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

static bool is_steady(const struct pl_rise_point *point, uint32_t count)
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
    return middle - first->bytes >= HALF_ADDS * grown && last->bytes - middle >= HALF_ADDS * grown;
}

struct pl_rise pl_rise_to_peak(const struct pl_profile *profile, const uint32_t *group, uint32_t which)
{
    struct pl_rise_point point[PL_RISE_POINTS];
    uint32_t count = 0;
    for (uint32_t i = 0; i < profile->compositions && i < PL_COMPOSITIONS; i++) {
        double seconds = profile->composition[i].seconds;
        if (seconds >= START * profile->peak_s && seconds < profile->peak_s)
            point[count++] = (struct pl_rise_point){seconds, held_then(&profile->composition[i], group, which)};
    }
    point[count++] = (struct pl_rise_point){profile->peak_s, held_at_peak(profile, group, which)};
    return (struct pl_rise){
        .steady = is_steady(point, count), .bytes_per_s = pl_rise_slope(point, count), .from_s = point[0].seconds};
}
