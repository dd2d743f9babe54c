/* SPDX-License-Identifier: MIT */
/*
 * advice_reserve.c - containers that grow by copying themselves.
 *
 * For realloc, the profile has the bytes of blocks that moved. Not all of them were copied: glibc maps blocks from 128
 * KiB on, and lets the kernel move them without touching their contents. Those do not count.
 *
 * C++ containers do not use realloc. There the evidence is the function that allocates: some functions of the standard
 * library do nothing but grow a container. They double it, so half of what they request was copied before, and their
 * sizes must span several doublings.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/advice/advice_work.h"
#include "reader/base/grow.h"
#include "reader/site.h"

#define SHARE_LEAST 0.05 /* copied bytes, of all bytes allocated */
#define REALLOCS_LEAST 8
#define DOUBLINGS_LEAST 3
#define INNER_FRAMES 16 /* innermost frames to search for a container's own functions */

/* --- by realloc --- */

/* The fraction of a place's bytes in blocks so small that the allocator itself copies them. */
static double copied_fraction(const struct pl_advice_work *work, const struct pl_spread *spread)
{
    double all = 0, small = 0;
    double mapped = (double) work->sizing->mapped;
    if (mapped == 0)
        return 1;
    for (unsigned i = 0; i < PL_SIZE_BUCKETS; i++) {
        double bytes = spread->sizes[i] * fmax(8, pl_size_bucket_from(i) * 1.5);
        all += bytes;
        small += pl_size_bucket_from(i) < mapped ? bytes : 0;
    }
    return all > 0 ? small / all : 0;
}

/* Reallocs of one block, on average. Calls that are no resize made the blocks. 0: they were made elsewhere, so their
 * number is not known. */
static double steps_of(const struct pl_advice_place *place)
{
    double calls = place->metric[PL_METRIC_ALLOC_OBJECTS].value, resized = place->spread.realloc_calls;
    return calls - resized >= 0.5 ? resized / (calls - resized) : 0;
}

/* Doubling takes log2(largest / smallest) steps. */
static bool is_stepwise(const struct pl_advice_place *place)
{
    double smallest = fmax(16, (double) place->spread.smallest);
    return steps_of(place) > 8 + 3 * log2(fmax(1, (double) place->spread.largest / smallest));
}

static const char *describe_reallocs(struct pl_advice_work *work, const struct pl_advice_place *place, double moved)
{
    char in_place[PL_FIGURE_BYTES], all[PL_FIGURE_BYTES], share[PL_FIGURE_BYTES], steps[PL_FIGURE_BYTES];
    pl_figure_count(in_place, place->spread.realloc_in_place);
    pl_figure_count(all, place->spread.realloc_calls);
    pl_figure_percent(share, pl_advice_share(work, PL_METRIC_ALLOC_SPACE, moved));
    pl_figure_count(steps, round(steps_of(place)));
    const char *each =
        steps_of(place) >= 2 ? pl_advice_print(work, " Each block was resized about %s times.", steps) : "";
    return pl_advice_print(work,
                           "%s of %s reallocs stayed in place; the others copied as much as %s of all bytes "
                           "allocated%s.%s",
                           in_place, all, share, pl_advice_basis(work, &place->figures), each);
}

static void look_at_reallocs(struct pl_advice_work *work, const struct pl_advice_place *place)
{
    const struct pl_spread *spread = &place->spread;
    double moved = spread->realloc_moved * copied_fraction(work, spread) * pl_advice_sure(place, PL_METRIC_ALLOC_SPACE);
    double share = pl_advice_share(work, PL_METRIC_ALLOC_SPACE, moved);
    if (spread->realloc_calls < REALLOCS_LEAST || moved < PL_ADVICE_BYTES_LEAST || share < SHARE_LEAST)
        return;
    char calls[PL_FIGURE_BYTES], copied[PL_FIGURE_BYTES], largest[PL_FIGURE_BYTES];
    pl_figure_count(calls, spread->realloc_calls);
    pl_figure_bytes(copied, moved);
    pl_figure_bytes(largest, (double) spread->largest);
    pl_advice_add(
        work,
        &(struct pl_advice){
            .kind = PL_ADVICE_RESERVE,
            .path = place->path,
            .headline = pl_advice_print(work, "reallocates %s times up to %s and copies %s", calls, largest, copied),
            .evidence = describe_reallocs(work, place, moved),
            .action = is_stepwise(place) ? "grow by a factor, not by a fixed step, or reserve the final size"
                                         : "reserve the final size if it is known in advance",
            .gain_bytes = moved,
            .gain_calls = spread->realloc_calls * pl_advice_sure(place, PL_METRIC_ALLOC_OBJECTS),
            .weight = share,
        });
}

/* --- by new, copy and delete --- */

static bool grows_container(const char *function)
{
    static const char *const growers[] = {
        "_M_realloc_insert",     "_M_realloc_append",        "_M_default_append",
        "__push_back_slow_path", "__emplace_back_slow_path", "__append",
    };
    if (!strstr(function, "std::"))
        return false;
    for (size_t i = 0; i < sizeof growers / sizeof *growers; i++)
        if (strstr(function, growers[i]))
            return true;
    return false;
}

static bool *find_growers(const struct pl_profile *profile)
{
    bool *grows = pl_grow_zeroed(profile->frames + 1ull, sizeof *grows);
    for (uint32_t i = 0; i < profile->frames; i++)
        for (uint32_t p = 0; p < profile->frame[i].places; p++)
            grows[i] |= grows_container(profile->frame[i].place[p].function);
    return grows;
}

static bool has_grower(const struct pl_profile *profile, const bool *grows, uint32_t stack)
{
    const struct pl_stack_view *view = &profile->stack[stack];
    for (uint32_t i = 0; i < view->frames && i < INNER_FRAMES; i++)
        if (grows[view->frame[i]])
            return true;
    return false;
}

/* The part of each place that comes from growing containers. */
static struct pl_advice_place *find_growth(const struct pl_advice_work *work)
{
    const struct pl_profile *profile = work->profile;
    struct pl_advice_place *growth = pl_grow_zeroed(work->places + 1ull, sizeof *growth);
    bool *grows = find_growers(profile);
    for (uint32_t i = 0; i < profile->sites; i++) {
        const struct pl_site_view *site = &profile->site[i];
        uint32_t place = work->place_of_path[work->paths->of_site[i]];
        if (place == PL_ADVICE_NOWHERE || site->stack == PL_NO_STACK || !has_grower(profile, grows, site->stack))
            continue;
        pl_site_add_figures(&growth[place].figures, site);
        pl_site_add_spread(&growth[place].spread, site);
    }
    free(grows);
    for (uint32_t i = 0; i < work->places; i++) {
        growth[i].path = work->place[i].path;
        pl_estimate_figures(&growth[i].figures, growth[i].metric);
    }
    return growth;
}

/* The longest run of powers of two that all occur as sizes: how often the largest container has doubled. */
static unsigned doublings_of(const struct pl_spread *spread)
{
    unsigned longest = 0, run = 0;
    for (unsigned i = 0; i < PL_SIZE_BUCKETS; i++) {
        run = spread->sizes[i] > 0 ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest;
}

/* Blocks in the bucket of the smallest size: one for each container, which reserving does not save. */
static double first_sizes(const struct pl_spread *spread)
{
    for (unsigned i = 0; i < PL_SIZE_BUCKETS; i++)
        if (spread->sizes[i] > 0)
            return spread->sizes[i];
    return 0;
}

static void look_at_growth(struct pl_advice_work *work, const struct pl_advice_place *growth)
{
    double copied = growth->metric[PL_METRIC_ALLOC_SPACE].low / 2;
    double share = pl_advice_share(work, PL_METRIC_ALLOC_SPACE, copied);
    unsigned doublings = doublings_of(&growth->spread);
    if (pl_advice_sure(growth, PL_METRIC_ALLOC_SPACE) <= 0 || doublings < DOUBLINGS_LEAST ||
        copied < PL_ADVICE_BYTES_LEAST || share < SHARE_LEAST)
        return;
    char calls[PL_FIGURE_BYTES], bytes[PL_FIGURE_BYTES], largest[PL_FIGURE_BYTES], part[PL_FIGURE_BYTES];
    pl_figure_count(calls, growth->metric[PL_METRIC_ALLOC_OBJECTS].value);
    pl_figure_bytes(bytes, copied);
    pl_figure_bytes(largest, (double) growth->spread.largest);
    pl_figure_percent(part, share);
    pl_advice_add(work,
                  &(struct pl_advice){
                      .kind = PL_ADVICE_RESERVE,
                      .path = growth->path,
                      .headline = pl_advice_print(work, "grows containers %s times, up to %s, and copies about %s",
                                                  calls, largest, bytes),
                      .evidence = pl_advice_print(
                          work,
                          "It called functions of the standard library that only grow containers. They doubled them, "
                          "over %u powers of two, and copied half of the bytes that they allocated: %s of all bytes "
                          "allocated%s.",
                          doublings, part, pl_advice_basis(work, &growth->figures)),
                      .action = "call reserve() with the final size, or keep the container and clear() it",
                      .gain_bytes = copied,
                      .gain_calls = fmax(0, growth->metric[PL_METRIC_ALLOC_OBJECTS].low - first_sizes(&growth->spread)),
                      .weight = share,
                  });
}

void pl_advice_reserve(struct pl_advice_work *work)
{
    struct pl_advice_place *growth = find_growth(work);
    for (uint32_t i = 0; i < work->places; i++) {
        look_at_reallocs(work, &work->place[i]);
        look_at_growth(work, &growth[i]);
    }
    free(growth);
}
