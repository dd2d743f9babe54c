/* SPDX-License-Identifier: MIT */
/*
 * advice_outside.c - most of the memory does not come from malloc, so no other figure of the profile includes it.
 */
#include "analysis/advice/advice_work.h"
#include "analysis/resident.h"
#include "reader/describe.h"

#define ANY "plimsoll report --memory PID shows what RSS consists of, while the program runs"

/* If calls of malloc were not seen, that is the reason. */
static const char *const visible[PL_BYPASS_COUNT] = {
    [PL_BYPASS_MALLOC] = ("its malloc does not call Plimsoll's: link the allocator as a shared library, or preload it "
                          "behind libplimsoll.so"),
    [PL_BYPASS_SCOPE] = "load the module without RTLD_DEEPBIND and dlmopen, so that it uses the program's malloc",
    [PL_BYPASS_LINKED] =
        "build it so that it calls malloc, not the allocator that is linked in (redis: make MALLOC=libc)",
};

/* Whether the program has mapped enough by itself to explain half of what malloc does not. */
static bool maps_it(const struct pl_profile *profile, double outside_bytes)
{
    for (uint32_t i = 0; i < profile->heaps; i++) {
        struct pl_estimate metric[PL_METRIC_COUNT];
        pl_estimate_figures(&profile->heap[i].all, metric);
        if (profile->heap[i].kind == PL_HEAP_MAPPINGS && metric[PL_METRIC_PEAK_SPACE].value >= outside_bytes / 2)
            return true;
    }
    return false;
}

static const char *choose_action(struct pl_advice_work *work, double outside_bytes)
{
    const struct pl_profile *profile = work->profile;
    enum pl_bypass how = pl_resident_bypass(profile);
    if (how != PL_BYPASS_COUNT)
        return visible[how];
    const char *known = pl_resident_manager(profile);
    if (!maps_it(profile, outside_bytes))
        return known ? known : ANY;
    return pl_advice_print(work, "%s%s%s shows the code that maps memory", known ? known : "", known ? "; " : "",
                           work->commands->mappings);
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
                            .action = choose_action(work, resident.outside_bytes),
                            .weight = how == PL_BYPASS_COUNT || resident.most_outside
                                          ? resident.outside_bytes / resident.anonymous_bytes
                                          : 1,
                        });
}
