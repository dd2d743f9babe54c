/* SPDX-License-Identifier: MIT */
/*
 * site.c - packs figures, and unpacks them.
 *
 * A struct is seen as an array of 32-bit words. Packed, it begins with masks, one bit per word, and continues with the
 * words that are not zero. Counts are doubles, and the lower half of a small whole number is zero, so most take one
 * word. The figures of a site that was called a few times are 850 bytes long, and 90 when packed.
 */
#include "reader/site.h"

#include <string.h>

#define WORD_BITS 32u
#define WORDS(type) (sizeof(type) / sizeof(uint32_t))
#define MASKS(words) (((words) + WORD_BITS - 1) / WORD_BITS)
#define WORDS_MAX WORDS(struct pl_spread)

struct pl_packed {
    uint32_t word[1]; /* masks, then words */
};

_Static_assert(sizeof(struct pl_figures) == 45 * sizeof(uint64_t), "no padding, whose bytes would be undefined");
_Static_assert(sizeof(struct pl_spread) == (PL_SIZE_BUCKETS + PL_LIFE_BUCKETS + PL_COHORTS + 15) * sizeof(uint64_t),
               "no padding");
_Static_assert(WORDS(struct pl_figures) <= WORDS_MAX, "the larger of the two");

static const struct pl_packed *pack(struct pl_arena *arena, const void *from, uint32_t words)
{
    uint32_t word[WORDS_MAX], packed[MASKS(WORDS_MAX) + WORDS_MAX], masks = MASKS(words), used = masks;
    const char *bytes = memcpy(word, from, words * sizeof *word);
    memset(packed, 0, masks * sizeof *packed);
    for (uint32_t pair = 0; pair < words; pair += 2) { /* nearly all are zero */
        uint64_t both;
        memcpy(&both, bytes + pair * sizeof *word, sizeof both);
        for (uint32_t i = pair; both != 0 && i < pair + 2; i++) {
            packed[i / WORD_BITS] |= (uint32_t) (word[i] != 0) << i % WORD_BITS;
            packed[used] = word[i];
            used += word[i] != 0;
        }
    }
    if (used == masks)
        return NULL;
    void *copy = pl_arena_alloc(arena, used * sizeof *packed);
    return memcpy(copy, packed, used * sizeof *packed);
}

static void unpack(const struct pl_packed *packed, void *to, uint32_t words)
{
    const uint32_t *next = packed ? packed->word + MASKS(words) : NULL;
    memset(to, 0, words * sizeof *next);
    for (uint32_t m = 0; packed && m < MASKS(words); m++)
        for (uint32_t mask = packed->word[m]; mask != 0; mask &= mask - 1) {
            size_t at = m * WORD_BITS + (uint32_t) __builtin_ctz(mask);
            memcpy((char *) to + at * sizeof *next, next++, sizeof *next);
        }
}

const struct pl_packed *pl_site_pack_figures(struct pl_arena *arena, const struct pl_figures *figures)
{
    return pack(arena, figures, WORDS(struct pl_figures));
}

const struct pl_packed *pl_site_pack_spread(struct pl_arena *arena, const struct pl_spread *spread)
{
    return pack(arena, spread, WORDS(struct pl_spread));
}

struct pl_figures pl_site_unpack(const struct pl_packed *figures)
{
    struct pl_figures out;
    unpack(figures, &out, WORDS(struct pl_figures));
    return out;
}

struct pl_figures pl_site_figures(const struct pl_site_view *site)
{
    return pl_site_unpack(site->figures);
}

struct pl_spread pl_site_spread(const struct pl_site_view *site)
{
    struct pl_spread out;
    unpack(site->spread, &out, WORDS(struct pl_spread));
    return out;
}

/* Of a site as it was at a moment, figures of the whole run are not known. */
void pl_site_estimate(const struct pl_site_view *site, struct pl_estimate metric[PL_METRIC_COUNT])
{
    struct pl_figures figures = pl_site_figures(site);
    pl_estimate_figures(&figures, metric);
    for (int m = PL_METRIC_PEAK_OBJECTS; site->at_moment && m < PL_METRIC_COUNT; m++)
        metric[m] = (struct pl_estimate){0};
}

double pl_site_value(const struct pl_site_view *site, enum pl_metric metric)
{
    struct pl_estimate estimate[PL_METRIC_COUNT];
    pl_site_estimate(site, estimate);
    return estimate[metric].value;
}

void pl_site_add_figures(struct pl_figures *to, const struct pl_site_view *site)
{
    struct pl_figures figures = pl_site_figures(site);
    pl_figures_add(to, &figures);
}

void pl_site_add_spread(struct pl_spread *to, const struct pl_site_view *site)
{
    struct pl_spread spread = pl_site_spread(site);
    pl_spread_add(to, &spread);
}
