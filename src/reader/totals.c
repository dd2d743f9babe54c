/* SPDX-License-Identifier: MIT */
/*
 * totals.c - metrics of sites and of the whole, and when the heap was largest.
 *
 * Calls and bytes of the whole are exact in every mode: threads count them. Sites have more only after a kill, if a
 * thread had not written its last calls to its record; then the sites are right.
 *
 * Of what was allocated while Plimsoll was off or paused, only calls and bytes are known. It is part of these totals,
 * and of nothing that is compared with samples.
 *
 * Sites hold what was live at the last peak that the writer noticed, which is when the heap fell from a new height. If
 * more is live now, it has not fallen yet, and the peak is now. The height as the writer saw it is too large by the
 * blocks from before a reset, and by what threads had not yet reported, so what sites held then is compared, too.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "format/settings.h"
#include "reader/base/grow.h"
#include "reader/figures.h"
#include "reader/site.h"
#include "reader/peakrange.h"
#include "reader/totals.h"

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* No more can be in use than was allocated, which is exact, but a few samples may stand for more. Lowers a value that
 * is too large, and the lower end of its interval in proportion: it has become no more certain. Exact figures are not
 * limited, nor are samples of threads that were killed before they had recorded a call. */
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
        pl_site_add_figures(&figures, &profile->site[i]);
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
        struct pl_figures figures = pl_site_figures(&profile->site[i]);
        struct pl_amount live = pl_amount_rest(&figures.allocated, &figures.freed);
        pl_amount_add(&all->peak, &live);
    }
    profile->peak_s = profile->duration_s;
}

static int earlier(const void *a, const void *b)
{
    const uint64_t *first = a, *second = b;
    return (*first > *second) - (*first < *second);
}

/* How many threads there were at once, at most. One that has ended has reported everything. */
static uint32_t most_at_once(const struct pl_profile *profile)
{
    uint32_t threads = profile->threads, ended = 0, most = 0;
    uint64_t *start = pl_grow_zeroed(threads + 1ull, sizeof *start), *end = pl_grow_zeroed(threads + 1ull, sizeof *end);
    for (uint32_t i = 0; i < threads; i++) {
        const struct pl_thread_view *thread = &profile->thread[i];
        start[i] = thread->start_ns;
        end[i] = thread->alive || thread->end_ns < thread->start_ns ? UINT64_MAX : thread->end_ns;
    }
    qsort(start, threads, sizeof *start, earlier);
    qsort(end, threads, sizeof *end, earlier);
    for (uint32_t i = 0; i < threads; i++) {
        while (end[ended] < start[i])
            ended++;
        most = i + 1 - ended > most ? i + 1 - ended : most;
    }
    free(start);
    free(end);
    return most;
}

/* With several threads, the heap's height is known only to within what each has not reported yet: a batch, but together
 * no more than was allocated at all. */
static double slack_of(const struct pl_profile *profile, const struct pl_figures *all)
{
    double bytes = 0;
    if (profile->merged > 0)
        return profile->header.batch_bytes;
    if (profile->threads < 2)
        return 0;
    for (uint32_t i = 0; i < profile->threads; i++)
        bytes += (double) profile->thread[i].bytes;
    bytes = larger(bytes, pl_amount_space(&all->allocated));
    return fmin((double) most_at_once(profile) * profile->header.batch_bytes, bytes);
}

/* True: the peak is now, and sites hold what is live. */
static bool fold_peak(struct pl_profile *profile, struct pl_figures *all)
{
    const struct pl_peak *peak = &profile->header.peak;
    profile->peak_slack_bytes = slack_of(profile, all);
    if (profile->merged > 0) { /* a sum of peaks, each at a time of its own, and settled when it was read */
        profile->peak_s = 0;
        return false;
    }
    double live = live_bytes(all), then = pl_amount_space(&all->peak);
    bool now = peak->peaks == 0 || live > then || live > (double) peak->bytes;
    if (now)
        move_peak_to_now(profile, all);
    return now;
}

/* ---- metrics ---- */

static void fold_spread(struct pl_profile *profile)
{
    for (uint32_t i = 0; i < profile->sites; i++)
        pl_site_add_spread(&profile->spread, &profile->site[i]);
}

static uint64_t hidden_interval(const struct pl_header *header)
{
    bool automatic = header->mode != PL_MODE_SAMPLED && header->automatic.interval_bytes > 0;
    uint64_t interval = automatic ? header->automatic.interval_bytes : header->interval_bytes;
    return interval > header->steered_max ? interval : header->steered_max;
}

void pl_totals_hidden(const struct pl_profile *profile, struct pl_estimate hidden[PL_METRIC_COUNT])
{
    pl_estimate_unsampled(hidden_interval(&profile->header), profile->header.call_charge, hidden);
}

/* Raises the upper ends by what may have gone unseen, where no sample was taken: of everything, or of some parts that
 * were merged with others. */
static void allow_for_the_unseen(struct pl_profile *profile, const struct pl_estimate hidden[PL_METRIC_COUNT])
{
    for (int m = 0; m < PL_METRIC_COUNT; m++) {
        struct pl_estimate *total = &profile->total[m];
        double seen = profile->samples == 0 ? total->value : total->high;
        total->high = larger(total->high, seen + hidden[m].high);
        total->error = total->value > 0 ? (total->high - total->low) / 2 : total->high;
    }
}

void pl_totals_allocated(struct pl_estimate metric[PL_METRIC_COUNT], double calls, double bytes)
{
    for (int m = 0; m < PL_METRIC_COUNT; m++)
        cap(&metric[m],
            m == PL_METRIC_INUSE_SPACE || m == PL_METRIC_PEAK_SPACE || m == PL_METRIC_LOST_SPACE ? bytes : calls);
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

/* Counting also ends when Plimsoll is switched off. Sampling has replaced it only if there is an interval. */
static bool left_exact_mode(const struct pl_auto *automatic)
{
    return automatic->left > 0 && (automatic->interval_bytes > 0 || automatic->interval_max > 0);
}

/* The mean gap between samples, where some allocations were counted and others were not. */
static double unseen_interval(const struct pl_profile *profile, const struct pl_figures *all)
{
    const struct pl_sums *sampled = &all->allocated.sampled;
    const struct pl_header *header = &profile->header;
    if (!left_exact_mode(&header->automatic) && !header->steered_max && sampled->samples == 0)
        return 0;
    double charge = sampled->space + profile->header.call_charge * sampled->objects;
    double mean = sampled->samples && profile->merged == 0
                      ? charge / (double) sampled->samples
                      : larger((double) header->automatic.interval_bytes, (double) header->steered_max);
    return isfinite(mean) && mean < PL_SAMPLE_MAX ? mean : 0;
}

/* The same, but a sample of a block that is larger than the interval does not count as a longer gap. */
static double hidden_gap(const struct pl_header *header, double unseen)
{
    bool sampled = header->mode == PL_MODE_SAMPLED;
    double longest = (double) (sampled ? header->interval_bytes : header->automatic.interval_max);
    longest = larger(longest, (double) header->control.interval_bytes);
    longest = larger(longest, (double) header->steered_max);
    return longest > 0 ? fmin(unseen, longest) : unseen;
}

double pl_totals_gap(const struct pl_profile *profile)
{
    struct pl_figures all = add_sites(profile);
    double gap = unseen_interval(profile, &all);
    return gap > 0 ? gap : (double) hidden_interval(&profile->header);
}

struct pl_unsampled pl_totals_unsampled(const struct pl_profile *profile)
{
    struct pl_unsampled unsampled = {0};
    struct pl_estimate most[PL_METRIC_COUNT];
    for (uint32_t i = 0; i < profile->sites && !profile->difference; i++) {
        struct pl_figures figures = pl_site_figures(&profile->site[i]);
        unsampled.sites += figures.unseen_interval > 0 && figures.hidden.objects > 0 &&
                           figures.allocated.exact_objects > 0 && figures.allocated.sampled.samples == 0;
    }
    pl_estimate_unsampled((uint64_t) pl_totals_gap(profile), profile->header.call_charge, most);
    unsampled.bytes = unsampled.sites > 0 ? most[PL_METRIC_ALLOC_SPACE].high : 0;
    return unsampled;
}

/* Parts without samples may hide something, even if others have samples. */
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

uint64_t pl_totals_charge(const struct pl_profile *profile)
{
    return profile->header.call_charge > 0 ? profile->header.call_charge : 1;
}

/* What each thread has allocated that was not counted at a site: its sites cannot hide more. A thread that has not
 * ended may have made calls of up to a gap that are not in its record yet. */
static struct pl_hidden *not_counted(const struct pl_profile *profile, double gap)
{
    struct pl_hidden *rest = pl_grow_zeroed(profile->threads + 1ull, sizeof *rest);
    for (uint32_t i = 0; i < profile->threads; i++) {
        const struct pl_thread_view *thread = &profile->thread[i];
        for (int f = 0; f < PL_FN_COUNT; f++)
            rest[i].objects += (double) thread->calls[f];
        rest[i].objects += thread->alive ? gap : 0;
        rest[i].space = (double) thread->bytes + (thread->alive ? gap : 0);
    }
    for (uint32_t i = 0; i < profile->sites; i++) {
        struct pl_figures figures = pl_site_figures(&profile->site[i]);
        rest[profile->site[i].thread].objects -= figures.allocated.exact_objects;
        rest[profile->site[i].thread].space -= figures.allocated.exact_space;
    }
    return rest;
}

static struct pl_hidden at_most(struct pl_hidden hidden, const struct pl_hidden *rest)
{
    return (struct pl_hidden){.objects = fmax(fmin(hidden.objects, rest->objects), 0),
                              .space = fmax(fmin(hidden.space, rest->space), 0)};
}

/* A total also has sites of which no sample was taken: many small blocks may be there, beside samples of large ones. */
static void hide_other_sites(const struct pl_header *header, double gap, struct pl_figures *all)
{
    struct pl_estimate most[PL_METRIC_COUNT];
    pl_estimate_unsampled((uint64_t) gap, header->call_charge, most);
    if (all->allocated.sampled.samples == 0 || most[PL_METRIC_ALLOC_OBJECTS].high < 1)
        return;
    all->hidden.objects = larger(all->hidden.objects, most[PL_METRIC_ALLOC_OBJECTS].high);
    all->hidden.space = larger(all->hidden.space, most[PL_METRIC_ALLOC_SPACE].high);
}

/* What the figures of a site depend on, besides its own records. */
struct circumstances {
    const struct pl_figures *all;
    bool peak_is_now;
    double gap;                            /* 0: nothing is hidden */
    struct pl_peak_correction *correction; /* by site, or NULL */
    struct pl_hidden *rest;                /* by thread, or NULL */
};

/* Completes the figures of a site, and packs them again if that changes them: if everything was counted, it rarely
 * does. */
static struct pl_hidden fold_site(struct pl_profile *profile, uint32_t number, const struct circumstances *given)
{
    struct pl_site_view *site = &profile->site[number];
    const struct pl_figures before = pl_site_figures(site);
    struct pl_figures figures = before;
    if (given->peak_is_now)
        figures.peak = pl_amount_rest(&figures.allocated, &figures.freed);
    if (given->correction) {
        figures.peakrange = given->correction[number].range;
        figures.peak.sampled.objects -= given->correction[number].objects;
        figures.peak.sampled.space -= given->correction[number].space;
    }
    figures.unseen_interval = given->all->unseen_interval;
    if (given->gap > 0) {
        struct pl_spread spread = pl_site_spread(site);
        figures.hidden = pl_estimate_hidden(&figures, given->gap, (double) spread.smallest, (double) spread.largest);
        figures.hidden = at_most(figures.hidden, &given->rest[site->thread]);
    }
    if (memcmp(&before, &figures, sizeof figures) != 0)
        site->figures = pl_site_pack_figures(profile->arena, &figures);
    return figures.hidden;
}

void pl_totals_fold(struct pl_profile *profile)
{
    const struct pl_header *header = &profile->header;
    struct pl_figures all = add_sites(profile);
    bool peak_is_now = fold_peak(profile, &all);
    fold_spread(profile);
    all.unseen_interval = unseen_interval(profile, &all);
    double gap = hidden_gap(header, all.unseen_interval);
    struct circumstances given = {
        .all = &all,
        .peak_is_now = peak_is_now,
        .gap = gap,
        .correction = pl_peakrange_fold(profile, &all, peak_is_now, gap),
        .rest = gap > 0 ? not_counted(profile, gap) : NULL,
    };
    for (uint32_t i = 0; i < profile->sites; i++) {
        struct pl_hidden hidden = fold_site(profile, i, &given);
        all.hidden.objects = larger(all.hidden.objects, hidden.objects);
        all.hidden.space = larger(all.hidden.space, hidden.space);
    }
    free(given.correction);
    free(given.rest);
    hide_other_sites(header, gap, &all);
    pl_estimate_figures(&all, profile->total);

    profile->samples = all.allocated.sampled.samples;
    profile->samples_live = profile->samples - all.freed.sampled.samples;
    profile->exact_calls = all.allocated.exact_objects;
    profile->exact_bytes = all.allocated.exact_space;
    profile->exact = profile->samples == 0 && header->mode != PL_MODE_SAMPLED && !left_exact_mode(&header->automatic) &&
                     header->control.interval_bytes == 0 && header->steered_max == 0;
    fold_hidden(profile);
    fold_calls(profile);
}
