/* SPDX-License-Identifier: MIT */
/*
 * totals.c - metrics of sites and of the whole, and when the heap was largest.
 *
 * Calls and bytes of the whole are known exactly, whatever the mode: threads count them. Sites can only claim more than
 * that after a kill, when a thread had not told of its last calls; then the sites are right.
 *
 * Nothing but calls and bytes is known of what was allocated while Plimsoll was off or paused. It is part of the totals
 * of these, and of nothing that is compared with samples.
 *
 * Sites hold what was live at the last peak that the writer noticed, which is when the heap fell from a new height. If
 * more is live now it has not fallen yet, and the peak is now. The height as the writer saw it is too large by what was
 * there before a reset, and by what threads had not yet told each other, so what sites held then has a say too.
 */
#include <math.h>

#include "figures.h"
#include "settings.h"
#include "totals.h"

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* No more can be in use than was allocated, and that is known exactly: a few samples may stand for more than there ever
 * was. A value that is too large goes down, and the lower end of its interval in proportion: it has become no more
 * certain. What was counted is not doubted, nor are samples of threads that were killed before they told of a call. */
static void cap(struct pl_estimate *part, double allocated)
{
    if (part->high <= allocated || !(part->error > 0) || !(allocated > 0))
        return;
    part->high = allocated;
    if (part->value > allocated) {
        part->low = fmin(part->low * (allocated / part->value), allocated); /* which rounding may exceed */
        part->value = allocated;
    }
    part->error = part->value > 0 ? (part->high - part->low) / 2 : part->high;
}

static struct pl_figures add_sites(const struct pl_profile *profile)
{
    struct pl_figures figures = {0};
    for (uint32_t i = 0; i < profile->sites; i++)
        pl_figures_add(&figures, &profile->site[i].figures);
    return figures;
}

/* ---- the peak ---- */

static double live_bytes(const struct pl_figures *figures)
{
    struct pl_amount live = pl_amount_rest(&figures->allocated, &figures->freed);
    return pl_amount_space(&live);
}

static void move_peak_to_now(struct pl_profile *profile, struct pl_figures *all)
{
    all->peak = (struct pl_amount){0};
    for (uint32_t i = 0; i < profile->sites; i++) {
        struct pl_figures *figures = &profile->site[i].figures;
        figures->peak = pl_amount_rest(&figures->allocated, &figures->freed);
        pl_amount_add(&all->peak, &figures->peak);
    }
    profile->peak_s = profile->duration_s;
}

/* With several threads the heap's height is known to within what each keeps to itself. */
static double slack_of(const struct pl_profile *profile)
{
    if (profile->merged > 0)
        return profile->header.batch_bytes;
    return profile->threads > 1 ? (double) profile->threads * profile->header.batch_bytes : 0;
}

static void fold_peak(struct pl_profile *profile, struct pl_figures *all)
{
    const struct pl_peak *peak = &profile->header.peak;
    profile->peak_slack_bytes = slack_of(profile);
    if (profile->merged > 0) { /* sums of peaks that were settled when each was read, at times of their own */
        profile->peak_s = 0;
        return;
    }
    double live = live_bytes(all), then = pl_amount_space(&all->peak);
    if (peak->peaks == 0 || live > then || live > (double) peak->bytes)
        move_peak_to_now(profile, all);
}

/* ---- metrics ---- */

static void fold_spread(struct pl_profile *profile)
{
    for (uint32_t i = 0; i < profile->sites; i++)
        pl_spread_add(&profile->spread, &profile->site[i].spread);
}

static uint64_t hidden_interval(const struct pl_header *header)
{
    bool automatic = header->mode != PL_MODE_SAMPLED && header->automatic.interval_bytes > 0;
    return automatic ? header->automatic.interval_bytes : header->interval_bytes;
}

void pl_totals_hidden(const struct pl_profile *profile, struct pl_estimate hidden[PL_METRIC_COUNT])
{
    pl_estimate_unsampled(hidden_interval(&profile->header), profile->header.call_charge, hidden);
}

/* What was counted or sampled, and how much may hide where no sample was taken. */
static void allow_for_the_unseen(struct pl_profile *profile, const struct pl_estimate hidden[PL_METRIC_COUNT])
{
    for (int m = 0; m < PL_METRIC_COUNT; m++) {
        struct pl_estimate *total = &profile->total[m];
        total->high += hidden[m].high;
        total->error = total->value > 0 ? (total->high - total->low) / 2 : total->high;
    }
}

void pl_totals_allocated(struct pl_estimate metric[PL_METRIC_COUNT], double calls, double bytes)
{
    for (int m = 0; m < PL_METRIC_COUNT; m++)
        cap(&metric[m], m == PL_METRIC_INUSE_SPACE || m == PL_METRIC_PEAK_SPACE ? bytes : calls);
    metric[PL_METRIC_ALLOC_OBJECTS] = pl_estimate_exactly(calls);
    metric[PL_METRIC_ALLOC_SPACE] = pl_estimate_exactly(bytes);
}

/* All that was allocated, and that part of it which could be recorded. */
struct calls {
    double all, all_bytes;
    double recorded, recorded_bytes;
};

static struct calls add_scopes(const struct pl_profile *profile)
{
    struct calls sum = {0};
    for (uint32_t i = 0; i < profile->scopes; i++) {
        const struct pl_scope_view *scope = &profile->scope[i];
        bool recorded = profile->tag[scope->tag].kind == PL_TAG_NAMED;
        double calls = 0;
        for (int f = 0; f < PL_FN_COUNT; f++)
            calls += (double) scope->calls[f];
        sum.all += calls;
        sum.all_bytes += (double) scope->bytes;
        sum.recorded += recorded ? calls : 0;
        sum.recorded_bytes += recorded ? (double) scope->bytes : 0;
    }
    return sum;
}

static void fold_calls(struct pl_profile *profile)
{
    struct calls sum = add_scopes(profile);
    profile->recorded_calls = larger(sum.recorded, profile->exact_calls);
    profile->recorded_bytes = larger(sum.recorded_bytes, profile->exact_bytes);
    pl_totals_allocated(profile->total, profile->recorded_calls, profile->recorded_bytes);
    profile->total[PL_METRIC_ALLOC_OBJECTS] = pl_estimate_exactly(sum.all - sum.recorded + profile->recorded_calls);
    profile->total[PL_METRIC_ALLOC_SPACE] =
        pl_estimate_exactly(sum.all_bytes - sum.recorded_bytes + profile->recorded_bytes);
}

/* Counting ends when Plimsoll is switched off, too; it is sampling that takes its place if there is an interval. */
static bool left_exact_mode(const struct pl_auto *automatic)
{
    return automatic->left > 0 && (automatic->interval_bytes > 0 || automatic->interval_max > 0);
}

/* The mean gap between samples, where some allocations were counted and others were not. */
static double unseen_interval(const struct pl_profile *profile, const struct pl_figures *all)
{
    const struct pl_sums *sampled = &all->allocated.sampled;
    if (!left_exact_mode(&profile->header.automatic) && sampled->samples == 0)
        return 0;
    double charge = sampled->space + profile->header.call_charge * sampled->objects;
    double mean = sampled->samples && profile->merged == 0 ? charge / (double) sampled->samples
                                                           : (double) profile->header.automatic.interval_bytes;
    return isfinite(mean) && mean < PL_SAMPLE_MAX ? mean : 0;
}

double pl_totals_gap(const struct pl_profile *profile)
{
    struct pl_figures all = add_sites(profile);
    double gap = unseen_interval(profile, &all);
    return gap > 0 ? gap : (double) hidden_interval(&profile->header);
}

/* Parts without a sample hide something, whatever the samples of others say. */
static void fold_hidden(struct pl_profile *profile)
{
    struct pl_estimate hidden[PL_METRIC_COUNT];
    const struct pl_header *header = &profile->header;
    if (profile->samples == 0 && !profile->exact)
        pl_totals_hidden(profile, hidden);
    else if (profile->merged > 0 && header->automatic.interval_max > 0)
        pl_estimate_unsampled(header->automatic.interval_max, header->call_charge, hidden);
    else
        return;
    allow_for_the_unseen(profile, hidden);
}

void pl_totals_fold(struct pl_profile *profile)
{
    const struct pl_header *header = &profile->header;
    struct pl_figures all = add_sites(profile);
    fold_peak(profile, &all);
    fold_spread(profile);
    double unseen = unseen_interval(profile, &all);
    for (uint32_t i = 0; i < profile->sites; i++) {
        profile->site[i].figures.unseen_interval = unseen;
        pl_figures_estimate(&profile->site[i].figures, profile->site[i].metric);
    }
    pl_figures_estimate(&all, profile->total);

    profile->samples = all.allocated.sampled.samples;
    profile->samples_live = profile->samples - all.freed.sampled.samples;
    profile->exact_calls = all.allocated.exact_objects;
    profile->exact_bytes = all.allocated.exact_space;
    profile->exact = profile->samples == 0 && header->mode != PL_MODE_SAMPLED && !left_exact_mode(&header->automatic) &&
                     header->control.interval_bytes == 0;
    fold_hidden(profile);
    fold_calls(profile);
}
