/* SPDX-License-Identifier: MIT */
/*
 * resident.c - see resident.h.
 *
 * Of RSS only the anonymous part is compared: files are shared with others. The heap may take up much more than its
 * bytes, because of headers, rounding, and what was freed and is still resident: all of that is allowed for by counting
 * the peak several times. What is left is memory that the program mapped itself, or that another allocator did.
 */
#include "analysis/resident.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/figure.h"

#define HEAP_COUNTS 2.0 /* times the peak: what a heap may take up */
#define HEAP_COUNTS_KNOWN                                                                                              \
    1.25                       /* the same, if the program is known to keep another heap: that is the likelier reason  \
                                */
#define USUAL_BYTES (8 << 20)  /* tables of the loader and of libraries, the profiler's code */
#define PROFILE_COUNTS 1.5     /* times the profile: what the profiler keeps, if that was not measured */
#define THREAD_BYTES (1 << 20) /* a thread's stack, its arena, and what the profiler keeps for it */
#define BYTES_LEAST (16 << 20) /* less is not worth a headline */
#define SHARE_MOST 0.5         /* of anonymous RSS: that is most of it */
#define SHARE_KNOWN 0.25       /* worth a headline, if the program is known to keep another heap */

#define PYTHON                                                                                                         \
    "Python keeps small objects in arenas of its own; run --python-objects records each of them, and then report "     \
    "--heap python shows the code that made it (or, with PYTHONMALLOC=malloc in the environment, each is a call of "   \
    "malloc)"
#define V8 "JavaScript objects live in the heap of V8: node --heap-prof shows them"
#define GCC "GCC keeps what it compiles in a garbage-collected heap of its own: -fmem-report shows it"
#define PHP                                                                                                            \
    "PHP maps its memory in chunks of 2 MiB; with USE_ZEND_ALLOC=0 in the environment each block is a call of malloc"

/* Programs that manage most of their memory themselves, by the name of a module or of the program, and how to see it.
 */
static const struct manager {
    const char *pattern;
    const char *action;
} managers[] = {
    {"libpython*.so*", PYTHON},
    {"python[0-9.]*", PYTHON},
    {"libjvm.so", "Java objects live in the heap of the JVM, which only its own tools show"},
    {"libnode.so*", V8},
    {"node", V8},
    {"cc1", GCC},
    {"cc1plus", GCC},
    {"lto1", GCC},
    {"php[0-9.]*", PHP},
    {"libphp*.so", PHP},
};

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool uses(const struct pl_profile *profile, const char *pattern)
{
    if (fnmatch(pattern, name_of(profile->executable), 0) == 0)
        return true;
    for (uint32_t i = 0; i < profile->modules; i++)
        if (fnmatch(pattern, name_of(profile->module[i].path), 0) == 0)
            return true;
    return false;
}

const char *pl_resident_manager(const struct pl_profile *profile)
{
    for (unsigned i = 0; i < sizeof managers / sizeof *managers; i++)
        if (uses(profile, managers[i].pattern))
            return managers[i].action;
    return NULL;
}

const struct pl_moment_view *pl_resident_highest(const struct pl_profile *profile)
{
    const struct pl_moment_view *most = NULL;
    for (uint32_t i = 0; i < profile->moments; i++)
        if (profile->moment[i].rss_bytes > (most ? most->rss_bytes : 0))
            most = &profile->moment[i];
    return most;
}

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
    bool known = pl_resident_manager(profile);
    double heap = (known ? HEAP_COUNTS_KNOWN : HEAP_COUNTS) * profile->total[PL_METRIC_PEAK_SPACE].high;
    double file = (double) profile->header.chunks * profile->header.chunk_bytes;
    double own = most->own_bytes > 0 ? most->own_private_bytes : PROFILE_COUNTS * file;
    double usual = USUAL_BYTES + own + (double) profile->threads * THREAD_BYTES;
    *out = (struct pl_resident){.most = most, .anonymous_bytes = anonymous(most)};
    out->outside_bytes = fmax(0, out->anonymous_bytes - heap - usual);
    double share = out->outside_bytes >= BYTES_LEAST ? out->outside_bytes / out->anonymous_bytes : 0;
    out->most_outside = share >= SHARE_MOST;
    return share >= (known ? SHARE_KNOWN : SHARE_MOST) || pl_resident_bypass(profile) != PL_BYPASS_COUNT;
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
        snprintf(out, bytes, "heap %s, RSS %s: %s of this program's memory does not come from malloc", heap, rss,
                 resident->most_outside ? "most" : "much");
}
