/* SPDX-License-Identifier: MIT */
/*
 * forged_profile.h - shared by the tests of the reader: cmocka, and helpers that load a forged image as a profile.
 */
#ifndef PL_FORGED_PROFILE_H
#define PL_FORGED_PROFILE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "forge.h"
#include "reader/profile.h"
#include "reader/site.h"

static inline struct forge *forge_build(const char *scenario)
{
    const struct forge_scenario *found = forge_find(scenario);
    assert_non_null(found);
    struct forge *forge = forge_new();
    found->build(forge);
    return forge;
}

/* Reads the image from a copy of exactly its size, so that a sanitizer sees a read beyond its end. */
static inline int load_copy(const void *image, size_t bytes, struct pl_profile **out, char why[PL_WHY_BYTES])
{
    void *copy = malloc(bytes > 0 ? bytes : 1);
    assert_non_null(copy);
    memcpy(copy, image, bytes);
    int result = pl_profile_load(copy, bytes, out, why);
    free(copy);
    return result;
}

static inline struct pl_profile *forge_load(struct forge *forge)
{
    struct pl_profile *profile = NULL;
    char why[PL_WHY_BYTES] = "";
    if (load_copy(forge_image(forge), forge_bytes(forge), &profile, why) != 0)
        fail_msg("%s", why);
    assert_true(pl_profile_valid(profile));
    return profile;
}

/* Builds an image, loads it and frees the image. */
static inline struct pl_profile *load_scenario(const char *scenario)
{
    struct forge *forge = forge_build(scenario);
    struct pl_profile *profile = forge_load(forge);
    forge_free(forge);
    return profile;
}

static inline struct pl_profile *open_file(const char *path)
{
    struct pl_profile *profile = NULL;
    char why[PL_WHY_BYTES] = "";
    if (pl_profile_open(path, &profile, why) != 0)
        fail_msg("%s", why);
    assert_true(pl_profile_valid(profile));
    return profile;
}

/* Writes a temporary file. The test must unlink its path. */
static inline void forge_to_file(struct forge *forge, char path[64])
{
    strcpy(path, "/tmp/plimsoll-test.XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(forge_write(forge, path), 0);
}

/* A site's figures, unpacked. */
struct unpacked_site {
    struct pl_figures figures;
    struct pl_spread spread;
    struct pl_estimate metric[PL_METRIC_COUNT];
};

/* Valid until this was called UNPACKED_SITES times more. */
#define UNPACKED_SITES 64
static inline struct unpacked_site *unpack_site(const struct pl_site_view *site)
{
    static struct unpacked_site unpacked[UNPACKED_SITES];
    static unsigned next;
    struct unpacked_site *out = &unpacked[next++ % UNPACKED_SITES];
    out->figures = pl_site_figures(site);
    out->spread = pl_site_spread(site);
    pl_site_estimate(site, out->metric);
    return out;
}

static inline void pack_site(struct pl_arena *arena, const struct unpacked_site *from, struct pl_site_view *site)
{
    site->figures = pl_site_pack_figures(arena, &from->figures);
    site->spread = pl_site_pack_spread(arena, &from->spread);
}

static inline const struct pl_site_view *largest_site(const struct pl_profile *profile, enum pl_metric metric)
{
    const struct pl_site_view *largest = NULL;
    for (uint32_t i = 0; i < profile->sites; i++)
        if (!largest || pl_site_value(&profile->site[i], metric) > pl_site_value(largest, metric))
            largest = &profile->site[i];
    assert_non_null(largest);
    return largest;
}

#endif
