/* SPDX-License-Identifier: MIT */
/*
 * method.c - says in words how the figures of a profile were obtained.
 *
 * "Exact" is a promise, so whatever takes from it is said in the same breath: allocations that were lost, frees that
 * were not seen, and calls that nobody counted because counting was off. Of a damaged file it is never said. Figures
 * that began anew are said to be about what was allocated since.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "profile.h"

#define FIGURE_BYTES 40
#define PART_MISSING 0.01 /* fewer calls than this without an allocation are calls that failed */

/* 1,234,567 */
static void print_count(char out[FIGURE_BYTES], double count)
{
    char digits[24];
    uint64_t whole = count >= 0 && count < 1e18 ? (uint64_t) llround(count) : UINT64_MAX;
    int length = snprintf(digits, sizeof digits, "%" PRIu64, whole), at = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = 0;
}

/* Two digits are enough of a mean: 96 KiB, 1.5 MiB. A setting is shown as it was given. */
static void print_bytes(char out[FIGURE_BYTES], double bytes)
{
    static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    unsigned i = 0;
    for (; i < 4 && bytes >= 1023.5; i++)
        bytes /= 1024;
    snprintf(out, FIGURE_BYTES, bytes >= 9.95 || bytes == floor(bytes) ? "%.0f %s" : "%.1f %s", bytes, unit[i]);
}

/* ---- what takes from exactness ---- */

struct flaw {
    uint64_t count;
    const char *one, *many;
};

static uint64_t lost_allocations(const uint64_t *losses)
{
    return losses[PL_LOSS_NESTED] + losses[PL_LOSS_TABLE_FULL] + losses[PL_LOSS_STALE_BUSY] +
           losses[PL_LOSS_DEAD_THREAD];
}

/* Appends "12 allocations that were lost and 1 block whose free was not seen". Returns whether there was anything. */
static bool say_flaws(const struct pl_profile *profile, char *out, size_t bytes)
{
    const uint64_t *losses = profile->header.losses;
    const struct flaw flaws[] = {
        {lost_allocations(losses), "allocation that was lost", "allocations that were lost"},
        {losses[PL_LOSS_LIVE_FULL] + losses[PL_LOSS_MISSED_FREE], "block whose free was not seen",
         "blocks whose free was not seen"},
        {losses[PL_LOSS_THREADS], "thread that found no room", "threads that found no room"},
    };
    size_t used = 0;
    for (size_t i = 0; i < sizeof flaws / sizeof *flaws && used < bytes; i++) {
        char count[FIGURE_BYTES];
        print_count(count, (double) flaws[i].count);
        if (flaws[i].count > 0)
            used += (size_t) snprintf(out + used, bytes - used, "%s%s %s", used > 0 ? " and " : "", count,
                                      flaws[i].count == 1 ? flaws[i].one : flaws[i].many);
    }
    return used > 0;
}

/* ---- the words ---- */

static const char *since(const struct pl_profile *profile)
{
    return profile->header.resets > 0 ? " since the reset" : "";
}

/* Calls that were made while nobody was to look. */
static double count_unrecorded(const struct pl_profile *profile)
{
    return profile->total[PL_METRIC_ALLOC_OBJECTS].value - profile->recorded_calls;
}

static void say_nothing_recorded(const struct pl_profile *profile, char *out, size_t bytes)
{
    char calls[FIGURE_BYTES];
    const char *reason = "they failed, or were made while Plimsoll was off";
    print_count(calls, profile->total[PL_METRIC_ALLOC_OBJECTS].value);
    if (profile->header.control.off)
        reason = "Plimsoll was off";
    else if (profile->recorded_calls == 0)
        reason = "Plimsoll was off, or paused";
    snprintf(out, bytes, "none of %s allocations%s was recorded: %s", calls, since(profile), reason);
}

static void say_all(const struct pl_profile *profile, char *out, size_t bytes)
{
    char counted[FIGURE_BYTES], others[FIGURE_BYTES];
    print_count(counted, profile->exact_calls);
    print_count(others, count_unrecorded(profile));
    if (count_unrecorded(profile) > 0)
        snprintf(out, bytes, "exact: all %s allocations%s but for %s made while Plimsoll was off or paused", counted,
                 since(profile), others);
    else if (profile->exact_calls == 1)
        snprintf(out, bytes, "exact: the one allocation there was%s", since(profile));
    else
        snprintf(out, bytes, "exact: all %s allocations%s", counted, since(profile));
}

static void say_exact(const struct pl_profile *profile, char *out, size_t bytes)
{
    char counted[FIGURE_BYTES], calls[FIGURE_BYTES], flaws[256];
    print_count(counted, profile->exact_calls);
    print_count(calls, profile->recorded_calls);
    if (profile->total[PL_METRIC_ALLOC_OBJECTS].value == 0)
        snprintf(out, bytes, "exact: nothing was allocated%s", since(profile));
    else if (profile->exact_calls == 0)
        say_nothing_recorded(profile, out, bytes);
    else if (say_flaws(profile, flaws, sizeof flaws))
        snprintf(out, bytes, "exact%s, but for %s", since(profile), flaws);
    else if (profile->exact_calls < profile->recorded_calls * (1 - PART_MISSING))
        snprintf(out, bytes, "exact for %s of %s allocations%s; the rest failed, or were made while Plimsoll was off",
                 counted, calls, since(profile));
    else
        say_all(profile, out, bytes);
}

/* The mean interval that the samples themselves bear out; where there is none, the one in force. */
static double mean_interval(const struct pl_profile *profile)
{
    struct pl_sums sampled = {0};
    for (uint32_t i = 0; i < profile->sites; i++) {
        const struct pl_sums *more = &profile->site[i].figures.allocated.sampled;
        sampled.space += more->space;
        sampled.objects += more->objects;
    }
    if (profile->samples > 0)
        return (sampled.space + profile->header.call_charge * sampled.objects) / (double) profile->samples;
    return (double) profile->header.automatic.interval_bytes;
}

static void say_mixed(const struct pl_profile *profile, char *out, size_t bytes)
{
    const struct pl_auto *automatic = &profile->header.automatic;
    char counted[FIGURE_BYTES], calls[FIGURE_BYTES], interval[FIGURE_BYTES];
    print_count(counted, profile->exact_calls);
    print_count(calls, profile->recorded_calls);
    print_bytes(interval, mean_interval(profile));
    if (automatic->left <= 1 && automatic->returned == 0 && profile->merged == 0)
        snprintf(out, bytes, "exact for the first %s allocations%s, then sampled about every %s; ± is 95%%", counted,
                 since(profile), interval);
    else
        snprintf(out, bytes, "exact for %s of %s allocations%s, the rest sampled about every %s; ± is 95%%", counted,
                 calls, since(profile), interval);
}

static void say_sampled(const struct pl_profile *profile, char *out, size_t bytes)
{
    char interval[FIGURE_BYTES], samples[FIGURE_BYTES];
    bool set = profile->header.mode == PL_MODE_SAMPLED;
    print_count(samples, (double) profile->samples);
    print_bytes(interval, set ? (double) profile->header.interval_bytes : mean_interval(profile));
    if (set && profile->header.interval_bytes <= 1)
        snprintf(out, bytes, "counted every allocation%s (%s): no figure is estimated", since(profile), samples);
    else
        snprintf(out, bytes, "sampled every %s on average: %s sample%s%s; ± is 95%%", interval, samples,
                 profile->samples == 1 ? "" : "s", since(profile));
}

static bool is_cut_short(const struct pl_profile *profile)
{
    uint64_t chunks = profile->header.chunks < PL_CHUNKS_MAX ? profile->header.chunks : PL_CHUNKS_MAX;
    return profile->file_bytes < PL_CHUNKS_OFFSET + chunks * PL_CHUNK_BYTES;
}

static void say_damaged(const struct pl_profile *profile, char *out, size_t bytes)
{
    char counted[FIGURE_BYTES], samples[FIGURE_BYTES];
    const char *file = is_cut_short(profile) ? "the file is cut short" : "from a damaged file";
    print_count(counted, profile->exact_calls);
    print_count(samples, (double) profile->samples);
    if (profile->samples > 0)
        snprintf(out, bytes, "%s: %s counted allocations and %s samples could be read; ± is 95%%", file, counted,
                 samples);
    else
        snprintf(out, bytes, "%s: %s counted allocations could be read, and more may be missing", file, counted);
}

void pl_profile_method(const struct pl_profile *profile, char *out, size_t bytes)
{
    if (profile->method)
        snprintf(out, bytes, "%s", profile->method);
    else if (profile->damage > 0)
        say_damaged(profile, out, bytes);
    else if (profile->exact)
        say_exact(profile, out, bytes);
    else if (profile->exact_calls > 0)
        say_mixed(profile, out, bytes);
    else
        say_sampled(profile, out, bytes);
}
