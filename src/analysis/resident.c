/* SPDX-License-Identifier: MIT */
/*
 * resident.c - see resident.h.
 *
 * Of RSS only the anonymous part is compared: files are shared with others. The heap may take up much more than its
 * bytes, because of headers, rounding, and what was freed and is still resident: all of that is allowed for by counting
 * the peak several times. What is left is memory that the program mapped itself, or that another allocator did.
 */
#include "analysis/resident.h"

#include <math.h>
#include <stdio.h>

#include "analysis/figure.h"

#define HEAP_COUNTS 2          /* times the peak: what a heap may take up */
#define USUAL_BYTES (8 << 20)  /* tables, the profiler */
#define THREAD_BYTES (1 << 20) /* a thread's stack, its arena, and what the profiler keeps for it */
#define BYTES_LEAST (16 << 20) /* less is not worth a headline */
#define SHARE_LEAST 0.5        /* of anonymous RSS */

static double anonymous(const struct pl_moment_view *moment)
{
    return fmax(0, moment->rss_bytes - moment->file_bytes);
}

bool pl_resident_outside(const struct pl_profile *profile, struct pl_resident *out)
{
    const struct pl_moment_view *most = profile->moment;
    for (uint32_t i = 0; i < profile->moments; i++)
        most = anonymous(&profile->moment[i]) > anonymous(most) ? &profile->moment[i] : most;
    if (profile->moments == 0)
        return false;
    double usual = USUAL_BYTES + (double) profile->threads * THREAD_BYTES;
    *out = (struct pl_resident){.most = most, .anonymous_bytes = anonymous(most)};
    out->outside_bytes =
        fmax(0, out->anonymous_bytes - HEAP_COUNTS * profile->total[PL_METRIC_PEAK_SPACE].high - usual);
    out->most_outside = out->outside_bytes >= BYTES_LEAST && out->outside_bytes >= SHARE_LEAST * out->anonymous_bytes;
    return out->most_outside || pl_resident_bypass(profile) != PL_BYPASS_COUNT;
}

enum pl_bypass pl_resident_bypass(const struct pl_profile *profile)
{
    int how = 0;
    while (how < PL_BYPASS_COUNT && !(profile->bypass[how] && *profile->bypass[how]))
        how++;
    return (enum pl_bypass) how;
}

void pl_resident_headline(const struct pl_profile *profile, const struct pl_resident *resident, char *out, size_t bytes)
{
    char heap[2 * PL_FIGURE_BYTES], rss[PL_FIGURE_BYTES];
    pl_figure_estimate(heap, PL_METRIC_PEAK_SPACE, &profile->total[PL_METRIC_PEAK_SPACE]);
    pl_figure_bytes(rss, resident->most->rss_bytes);
    enum pl_bypass how = pl_resident_bypass(profile);
    if (how != PL_BYPASS_COUNT)
        snprintf(out, bytes, "heap seen %s, RSS %s: %s%s not seen", heap, rss,
                 resident->most_outside ? "most of this program's memory was" : "allocations of this program were",
                 !resident->most_outside && how == PL_BYPASS_LINKED ? " probably" : "");
    else
        snprintf(out, bytes, "heap %s, RSS %s: most of this program's memory does not come from malloc", heap, rss);
}
