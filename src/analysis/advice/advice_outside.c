/* SPDX-License-Identifier: MIT */
/*
 * advice_outside.c - most of the memory does not come from malloc, so no other figure of the profile includes it.
 *
 * Some programs are known to manage their memory themselves, and there are ways to see it.
 */
#include <fnmatch.h>
#include <string.h>

#include "analysis/advice/advice_work.h"
#include "analysis/resident.h"
#include "reader/describe.h"

#define PYTHON                                                                                                         \
    "Python keeps small objects in arenas of its own; with PYTHONMALLOC=malloc in the environment each object is a "   \
    "call of malloc, and this report shows the interpreter's code that made it; memray shows Python functions"
#define V8 "JavaScript objects live in the heap of V8: node --heap-prof shows them"

/* Programs that manage most of their memory themselves, by the name of a module or of the program. */
static const struct manager {
    const char *pattern;
    const char *action;
} managers[] = {
    {"libpython*.so*", PYTHON},
    {"python[0-9.]*", PYTHON},
    {"libjvm.so", "Java objects live in the heap of the JVM, which only its own tools show"},
    {"libnode.so*", V8},
    {"node", V8},
    {"*",
     "look at the memory that it maps itself (mmap, its own allocator): pmap -x PID lists it while the program runs"},
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

/* If calls of malloc were not seen, that is the reason. */
static const char *const visible[PL_BYPASS_COUNT] = {
    [PL_BYPASS_MALLOC] = ("its malloc does not call Plimsoll's: link the allocator as a shared library, or preload it "
                          "behind libplimsoll.so"),
    [PL_BYPASS_SCOPE] = "load the module without RTLD_DEEPBIND and dlmopen, so that it uses the program's malloc",
    [PL_BYPASS_LINKED] =
        "build it so that it calls malloc, not the allocator that is linked in (redis: make MALLOC=libc)",
};

static const char *choose_action(const struct pl_profile *profile)
{
    enum pl_bypass how = pl_resident_bypass(profile);
    if (how != PL_BYPASS_COUNT)
        return visible[how];
    const struct manager *manager = managers;
    while (!uses(profile, manager->pattern) && strcmp(manager->pattern, "*") != 0)
        manager++;
    return manager->action;
}

void pl_advice_outside(struct pl_advice_work *work)
{
    const struct pl_profile *profile = work->profile;
    struct pl_resident resident;
    if (!pl_advice_is_whole(profile) || !pl_resident_outside(profile, &resident))
        return;
    char heap[2 * PL_FIGURE_BYTES], private[PL_FIGURE_BYTES], when[PL_FIGURE_BYTES], headline[256], cause[384] = "";
    pl_figure_estimate(heap, PL_METRIC_PEAK_SPACE, &profile->total[PL_METRIC_PEAK_SPACE]);
    pl_figure_bytes(private, resident.anonymous_bytes);
    pl_figure_span(when, resident.most->seconds);
    pl_resident_headline(profile, &resident, headline, sizeof headline);
    enum pl_bypass how = pl_resident_bypass(profile);
    if (how != PL_BYPASS_COUNT)
        pl_describe_bypass(profile, how, cause, sizeof cause);
    pl_advice_add(work, &(struct pl_advice){
                            .kind = PL_ADVICE_OUTSIDE,
                            .path = PL_ADVICE_NO_PATH,
                            .headline = pl_advice_print(work, "%s", headline),
                            .evidence = pl_advice_print(work,
                                                        "%s%s%s after the start, %s of RSS were anonymous memory; the "
                                                        "heap never had more than %s.",
                                                        cause, *cause ? ". " : "", when, private, heap),
                            .action = choose_action(profile),
                            .weight = resident.most_outside ? resident.outside_bytes / resident.anonymous_bytes : 1,
                        });
}
