/* SPDX-License-Identifier: MIT */
/*
 * advice_reserve.c - containers that grow by copying themselves.
 *
 * With realloc the copying was seen: bytes of blocks that did not stay where they were. Not all of it is work, though:
 * glibc has the kernel move blocks that it mapped, from 128 KiB on, without touching their contents. These do not
 * count.
 *
 * C++ has no realloc. There the evidence is who allocates: the functions of the standard library that make a container
 * larger do nothing else. They double it, so that half of what they ask for is copied, and their sizes must be spread
 * over several doublings.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "adviser.h"
#include "grow.h"

#define SHARE_LEAST 0.05 /* copied, of all bytes allocated */
#define REALLOCS_LEAST 8
#define DOUBLINGS_LEAST 3
#define INNER_FRAMES 16 /* where a container's own functions are looked for */

/* --- by realloc --- */

/* Of the bytes of all its blocks, the fraction in blocks that the allocator has to copy itself. */
static double copied_fraction(const struct pl_adviser *adviser, const struct pl_spread *spread)
{
    double all = 0, small = 0;
    double mapped = (double) adviser->sizing->mapped;
    if (mapped == 0)
        return 1;
    for (unsigned i = 0; i < PL_SIZE_BUCKETS; i++) {
        double bytes = spread->sizes[i] * fmax(8, pl_size_bucket_from(i) * 1.5);
        all += bytes;
        small += pl_size_bucket_from(i) < mapped ? bytes : 0;
    }
    return all > 0 ? small / all : 0;
}

/* Reallocs of one block, on average: what was not resized was made here. 0: made elsewhere, nobody knows how many. */
static double steps_of(const struct pl_adviser_place *place)
{
    double calls = place->metric[PL_METRIC_ALLOC_OBJECTS].value, resized = place->spread.realloc_calls;
    return calls - resized >= 0.5 ? resized / (calls - resized) : 0;
}

/* Doubling takes log2(largest / smallest) steps. */
static bool is_stepwise(const struct pl_adviser_place *place)
{
    double smallest = fmax(16, (double) place->spread.smallest);
    return steps_of(place) > 8 + 3 * log2(fmax(1, (double) place->spread.largest / smallest));
}

static const char *describe_reallocs(struct pl_adviser *adviser, const struct pl_adviser_place *place, double moved)
{
    char in_place[PL_FIGURE_BYTES], all[PL_FIGURE_BYTES], share[PL_FIGURE_BYTES], steps[PL_FIGURE_BYTES];
    pl_figure_count(in_place, place->spread.realloc_in_place);
    pl_figure_count(all, place->spread.realloc_calls);
    pl_figure_percent(share, pl_adviser_share(adviser, PL_METRIC_ALLOC_SPACE, moved));
    pl_figure_count(steps, round(steps_of(place)));
    const char *each =
        steps_of(place) >= 2 ? pl_adviser_print(adviser, " Each block was resized some %s times.", steps) : "";
    return pl_adviser_print(adviser,
                            "%s of %s reallocs could stay in place; what the others copied is %s of all bytes "
                            "allocated%s.%s",
                            in_place, all, share, pl_adviser_basis(adviser, &place->figures), each);
}

static void look_at_reallocs(struct pl_adviser *adviser, const struct pl_adviser_place *place)
{
    const struct pl_spread *spread = &place->spread;
    double moved =
        spread->realloc_moved * copied_fraction(adviser, spread) * pl_adviser_sure(place, PL_METRIC_ALLOC_SPACE);
    double share = pl_adviser_share(adviser, PL_METRIC_ALLOC_SPACE, moved);
    if (spread->realloc_calls < REALLOCS_LEAST || moved < PL_ADVICE_BYTES_LEAST || share < SHARE_LEAST)
        return;
    char calls[PL_FIGURE_BYTES], copied[PL_FIGURE_BYTES], largest[PL_FIGURE_BYTES];
    pl_figure_count(calls, spread->realloc_calls);
    pl_figure_bytes(copied, moved);
    pl_figure_bytes(largest, (double) spread->largest);
    pl_adviser_add(adviser,
                   &(struct pl_advice){
                       .kind = PL_ADVICE_RESERVE,
                       .path = place->path,
                       .headline = pl_adviser_print(adviser, "reallocates %s times up to %s and copies %s", calls,
                                                    largest, copied),
                       .evidence = describe_reallocs(adviser, place, moved),
                       .action = is_stepwise(place) ? "grow by a factor, not by a step, or reserve the final size"
                                                    : "reserve the final size where it is known beforehand",
                       .gain_bytes = moved,
                       .gain_calls = spread->realloc_calls * pl_adviser_sure(place, PL_METRIC_ALLOC_OBJECTS),
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

/* The part of each place that is growth. */
static struct pl_adviser_place *find_growth(const struct pl_adviser *adviser)
{
    const struct pl_profile *profile = adviser->profile;
    struct pl_adviser_place *growth = pl_grow_zeroed(adviser->places + 1ull, sizeof *growth);
    bool *grows = find_growers(profile);
    for (uint32_t i = 0; i < profile->sites; i++) {
        const struct pl_site_view *site = &profile->site[i];
        uint32_t place = adviser->place_of_path[adviser->paths->of_site[i]];
        if (place == PL_ADVISER_NOWHERE || site->stack == PL_NO_STACK || !has_grower(profile, grows, site->stack))
            continue;
        pl_figures_add(&growth[place].figures, &site->figures);
        pl_spread_add(&growth[place].spread, &site->spread);
    }
    free(grows);
    for (uint32_t i = 0; i < adviser->places; i++) {
        growth[i].path = adviser->place[i].path;
        pl_figures_estimate(&growth[i].figures, growth[i].metric);
    }
    return growth;
}

/* How many times a container that grew to the largest size has doubled, as far as sizes are without gaps. */
static unsigned doublings_of(const struct pl_spread *spread)
{
    unsigned longest = 0, run = 0;
    for (unsigned i = 0; i < PL_SIZE_BUCKETS; i++) {
        run = spread->sizes[i] > 0 ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest;
}

/* Blocks of the smallest sizes: as many as there were containers, and one of each is needed. */
static double first_sizes(const struct pl_spread *spread)
{
    for (unsigned i = 0; i < PL_SIZE_BUCKETS; i++)
        if (spread->sizes[i] > 0)
            return spread->sizes[i];
    return 0;
}

static void look_at_growth(struct pl_adviser *adviser, const struct pl_adviser_place *growth)
{
    double copied = growth->metric[PL_METRIC_ALLOC_SPACE].low / 2;
    double share = pl_adviser_share(adviser, PL_METRIC_ALLOC_SPACE, copied);
    unsigned doublings = doublings_of(&growth->spread);
    if (pl_adviser_sure(growth, PL_METRIC_ALLOC_SPACE) <= 0 || doublings < DOUBLINGS_LEAST ||
        copied < PL_ADVICE_BYTES_LEAST || share < SHARE_LEAST)
        return;
    char calls[PL_FIGURE_BYTES], bytes[PL_FIGURE_BYTES], largest[PL_FIGURE_BYTES], part[PL_FIGURE_BYTES];
    pl_figure_count(calls, growth->metric[PL_METRIC_ALLOC_OBJECTS].value);
    pl_figure_bytes(bytes, copied);
    pl_figure_bytes(largest, (double) growth->spread.largest);
    pl_figure_percent(part, share);
    pl_adviser_add(
        adviser, &(struct pl_advice){
                     .kind = PL_ADVICE_RESERVE,
                     .path = growth->path,
                     .headline = pl_adviser_print(adviser, "grows containers %s times, up to %s, and copies about %s",
                                                  calls, largest, bytes),
                     .evidence = pl_adviser_print(
                         adviser,
                         "It called functions of the standard library that only make containers larger. "
                         "They doubled them, over %u powers of two, and half of what they asked for "
                         "was copied: %s of all bytes allocated%s.",
                         doublings, part, pl_adviser_basis(adviser, &growth->figures)),
                     .action = "call reserve() with the final size, or keep the container and clear() it",
                     .gain_bytes = copied,
                     .gain_calls = fmax(0, growth->metric[PL_METRIC_ALLOC_OBJECTS].low - first_sizes(&growth->spread)),
                     .weight = share,
                 });
}

void pl_advise_reserve(struct pl_adviser *adviser)
{
    struct pl_adviser_place *growth = find_growth(adviser);
    for (uint32_t i = 0; i < adviser->places; i++) {
        look_at_reallocs(adviser, &adviser->place[i]);
        look_at_growth(adviser, &growth[i]);
    }
    free(growth);
}
