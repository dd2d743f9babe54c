/* SPDX-License-Identifier: MIT */
/*
 * advice_fragmentation.c - memory that was freed, and is resident all the same.
 *
 * RSS is more than the heap: stacks, tables, what a program maps for itself, the profiler. So RSS is not compared with
 * what is live, but its course with the heap's: since the heap was last large, so much has been freed, and so much less
 * has become resident. The difference is what the allocator kept, for want of whole pages that are free or because it
 * hopes to hand them out again. Everything else that is resident was so before.
 *
 *   live  ▁▃▆██▅▂▂▂▂▂       kept  since the last of the large moments: what was freed, less what RSS fell
 *   RSS   ▁▃▆███████
 *
 * It counts only if it lasts: a program that tidies up before it exits is not fragmented, nor is one whose heap grows
 * into the same room again. The timeline is about the whole process, so there is no such advice for a part of it.
 */
#include <math.h>
#include <stdlib.h>

#include "adviser.h"
#include "grow.h"
#include "heaps.h"

#define LARGE 0.8 /* of the highest: a heap that gets there again uses what was kept */
#define KEPT_BYTES_LEAST (8 << 20)
#define KEPT_SHARE_LEAST 0.25 /* of what is resident and not a file's */
#define LASTS_SECONDS_LEAST 1.0
#define LASTS_SHARE_LEAST 0.2 /* of the run */
#define ERRORS 2              /* standard errors of an estimated heap */

struct kept {
    double bytes;
    double seconds; /* how long */
    uint32_t moment;
};

static double resident(const struct pl_moment_view *moment)
{
    return fmax(0, moment->rss_bytes - moment->file_bytes);
}

/* The sum of samples of mean gap T has a variance of about T for each byte. */
static double variance(const struct pl_moment_view *moment)
{
    return (double) moment->interval_bytes * moment->live_bytes;
}

/* The last moment at which the heap was large; -1: none. */
static int find_large(const struct pl_profile *profile)
{
    double most = 0;
    int last = -1;
    for (uint32_t i = 0; i < profile->moments; i++)
        most = fmax(most, profile->moment[i].live_bytes);
    for (uint32_t i = 0; i < profile->moments; i++)
        if (profile->moment[i].live_bytes >= LARGE * most && profile->moment[i].rss_bytes > 0)
            last = (int) i;
    return last;
}

/* What each moment after the large one has kept. RSS may have been lower in between: what was given back then was not
 * kept, whatever has become resident since. */
static uint32_t follow(const struct pl_profile *profile, uint32_t large, struct kept *kept)
{
    const struct pl_moment_view *from = &profile->moment[large];
    double untouched = fmax(0, from->live_bytes - resident(from)), lowest = resident(from);
    uint32_t count = 0;
    for (uint32_t i = large + 1; i < profile->moments; i++) {
        const struct pl_moment_view *moment = &profile->moment[i];
        double until = i + 1 < profile->moments ? profile->moment[i + 1].seconds : profile->duration_s;
        if (!(moment->rss_bytes > 0))
            continue;
        lowest = fmin(lowest, resident(moment));
        double freed = from->live_bytes - moment->live_bytes - ERRORS * sqrt(variance(from) + variance(moment));
        kept[count++] = (struct kept){
            .bytes = freed - untouched - (resident(from) - lowest),
            .seconds = fmax(0, until - moment->seconds),
            .moment = i,
        };
    }
    return count;
}

static int by_bytes(const void *left, const void *right)
{
    const struct kept *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    return (a->moment > b->moment) - (a->moment < b->moment);
}

/* The most that was kept for as long as it takes. */
static struct kept find_lasting(struct kept *kept, uint32_t count, double seconds)
{
    double lasted = 0;
    qsort(kept, count, sizeof *kept, by_bytes);
    for (uint32_t i = 0; i < count; i++) {
        lasted += kept[i].seconds;
        if (lasted >= seconds)
            return (struct kept){kept[i].bytes, lasted, kept[i].moment};
    }
    return (struct kept){0};
}

/* Of a part there is less than the timeline has. */
static bool is_whole(const struct pl_profile *profile)
{
    return profile->moments > 0 && profile->total[PL_METRIC_ALLOC_OBJECTS].value >=
                                       profile->moment[profile->moments - 1].allocated_calls * 0.999;
}

static const char *choose_action(const struct pl_adviser *adviser)
{
    if (!adviser->sizing->header) /* not glibc */
        return "keep blocks that stay apart from those that go, and look at the allocator's settings for giving memory "
               "back";
    if (adviser->profile->threads > 2)
        return "keep blocks that stay apart from those that go; malloc_trim(0) when much was freed, fewer arenas "
               "(MALLOC_ARENA_MAX)";
    return "keep blocks that stay apart from those that go; malloc_trim(0) when much was freed gives back whole pages";
}

/* glibc's own part of it, while it can still be seen. */
static const char *describe_heaps(struct pl_adviser *adviser)
{
    struct pl_heaps heaps;
    char bytes[PL_FIGURE_BYTES], resident_bytes[PL_FIGURE_BYTES], count[PL_FIGURE_BYTES];
    if (!adviser->profile->running || !adviser->sizing->header || !pl_heaps_read(adviser->profile->header.pid, &heaps))
        return "";
    pl_figure_bytes(bytes, heaps.bytes);
    pl_figure_bytes(resident_bytes, heaps.resident);
    pl_figure_exact(count, heaps.heaps);
    return pl_adviser_print(adviser, " Now malloc has %s heap%s of %s in all, of which %s are resident.", count,
                            pl_figure_plural(count), bytes, resident_bytes);
}

static void add(struct pl_adviser *adviser, const struct pl_moment_view *from, const struct kept *kept)
{
    const struct pl_moment_view *then = &adviser->profile->moment[kept->moment];
    char bytes[PL_FIGURE_BYTES], large[PL_FIGURE_BYTES], large_s[PL_FIGURE_BYTES], live[PL_FIGURE_BYTES];
    char before[PL_FIGURE_BYTES], after[PL_FIGURE_BYTES], seconds[PL_FIGURE_BYTES], blocks[PL_FIGURE_BYTES];
    pl_figure_bytes(bytes, kept->bytes);
    pl_figure_bytes(large, from->live_bytes);
    pl_figure_seconds(large_s, from->seconds);
    pl_figure_bytes(live, then->live_bytes);
    pl_figure_bytes(before, resident(from));
    pl_figure_bytes(after, resident(then));
    pl_figure_seconds(seconds, kept->seconds);
    pl_figure_count(blocks, then->live_objects);
    const char *headline = pl_adviser_print(adviser, "%s stay resident, though they were freed", bytes);
    const char *evidence = pl_adviser_print(
        adviser,
        "The heap fell from %s at %s to %s in %s block%s, but what is resident and not a file's went "
        "only from %s to %s, and it stayed so for %s.%s",
        large, large_s, live, blocks, pl_figure_plural(blocks), before, after, seconds, describe_heaps(adviser));
    pl_adviser_add(adviser, &(struct pl_advice){
                                .kind = PL_ADVICE_FRAGMENTATION,
                                .path = PL_ADVICE_NO_PATH,
                                .headline = headline,
                                .evidence = evidence,
                                .action = choose_action(adviser),
                                .gain_bytes = kept->bytes,
                                .weight = fmin(1, kept->bytes / then->rss_bytes),
                            });
}

void pl_advise_fragmentation(struct pl_adviser *adviser)
{
    const struct pl_profile *profile = adviser->profile;
    int large = is_whole(profile) ? find_large(profile) : -1;
    if (large < 0)
        return;
    struct kept *all = pl_grow_zeroed(profile->moments + 1ull, sizeof *all);
    uint32_t count = follow(profile, (uint32_t) large, all);
    double long_enough = fmax(LASTS_SECONDS_LEAST, LASTS_SHARE_LEAST * profile->duration_s);
    struct kept kept = find_lasting(all, count, long_enough);
    if (kept.bytes >= KEPT_BYTES_LEAST && kept.bytes >= KEPT_SHARE_LEAST * resident(&profile->moment[kept.moment]))
        add(adviser, &profile->moment[large], &kept);
    free(all);
}
