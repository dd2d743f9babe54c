/* SPDX-License-Identifier: MIT */
/*
 * metric.c - how metrics are called, and which of them to show.
 */
#include "analysis/metric.h"

#include "analysis/leaks/leftovers.h"

#define LIVE_MATTERS 0.05 /* of the peak: if less is live, the peak is more interesting */
#define PEAK_MATTERS 0.5  /* of the peak: if less is live, the peak is interesting, too */

const char *pl_metric_live_word(const struct pl_profile *profile)
{
    static const char *const words[PL_ENDINGS] = {
        [PL_ENDING_RUNNING] = "live",
        [PL_ENDING_EXITED] = "never freed",
        [PL_ENDING_KILLED] = "live when it ended",
    };
    return words[pl_leftovers_ending(profile)];
}

/* Titles by the state of the process: running, exited, killed. */
static const struct wording {
    enum pl_metric companion;
    const char *column, *title[PL_ENDINGS];
} wordings[PL_METRIC_COUNT] = {
    [PL_METRIC_ALLOC_OBJECTS] = {PL_METRIC_ALLOC_SPACE, "calls", {"Calls", "Calls", "Calls"}},
    [PL_METRIC_ALLOC_SPACE] = {PL_METRIC_ALLOC_OBJECTS, "bytes", {"Allocated", "Allocated", "Allocated"}},
    [PL_METRIC_INUSE_OBJECTS] = {PL_METRIC_INUSE_SPACE,
                                 "blocks",
                                 {"Live blocks", "Blocks never freed", "Blocks live when it ended"}},
    [PL_METRIC_INUSE_SPACE] = {PL_METRIC_INUSE_OBJECTS, "bytes", {"Live", "Never freed", "Live when it ended"}},
    [PL_METRIC_PEAK_OBJECTS] = {PL_METRIC_PEAK_SPACE,
                                "blocks",
                                {"Blocks at the peak", "Blocks at the peak", "Blocks at the peak"}},
    [PL_METRIC_PEAK_SPACE] = {PL_METRIC_PEAK_OBJECTS, "bytes", {"At the peak", "At the peak", "At the peak"}},
    [PL_METRIC_TEMP_OBJECTS] = {PL_METRIC_ALLOC_OBJECTS, "temporary", {"Temporary", "Temporary", "Temporary"}},
    [PL_METRIC_LOST_OBJECTS] = {PL_METRIC_LOST_SPACE, "blocks", {"Lost blocks", "Lost blocks", "Lost blocks"}},
    [PL_METRIC_LOST_SPACE] = {PL_METRIC_LOST_OBJECTS, "bytes", {"Lost", "Lost", "Lost"}},
};

/* Each of the merged processes had its peak at its own time. */
static const char *const merged_titles[PL_METRIC_COUNT] = {
    [PL_METRIC_PEAK_OBJECTS] = "Blocks at their peaks",
    [PL_METRIC_PEAK_SPACE] = "At their peaks",
};

enum pl_metric pl_metric_companion(enum pl_metric metric)
{
    return wordings[metric].companion;
}

const char *pl_metric_column(enum pl_metric metric)
{
    return wordings[metric].column;
}

const char *pl_metric_title(const struct pl_profile *profile, enum pl_metric metric)
{
    if (profile->difference && metric == PL_METRIC_INUSE_SPACE)
        return "What grew";
    if (profile->difference && metric == PL_METRIC_INUSE_OBJECTS)
        return "Blocks added";
    if (profile->merged && merged_titles[metric])
        return merged_titles[metric];
    return wordings[metric].title[pl_leftovers_ending(profile)];
}

double pl_metric_share(const struct pl_profile *profile, enum pl_metric metric, double value)
{
    double whole = profile->total[metric].value;
    return whole > 0 ? value / whole : 0;
}

/* --- which to show --- */

bool pl_metric_live_matters(const struct pl_profile *profile)
{
    const struct pl_estimate *total = profile->total;
    return total[PL_METRIC_INUSE_SPACE].value > LIVE_MATTERS * total[PL_METRIC_PEAK_SPACE].value;
}

bool pl_metric_peak_matters(const struct pl_profile *profile)
{
    const struct pl_estimate *total = profile->total;
    return total[PL_METRIC_INUSE_SPACE].value < PEAK_MATTERS * total[PL_METRIC_PEAK_SPACE].value;
}

enum pl_metric pl_metric_first(const struct pl_profile *profile, bool live)
{
    if (live)
        return PL_METRIC_INUSE_SPACE;
    return profile->total[PL_METRIC_PEAK_SPACE].value > 0 ? PL_METRIC_PEAK_SPACE : PL_METRIC_ALLOC_SPACE;
}
