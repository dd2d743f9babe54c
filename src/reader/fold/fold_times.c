/* SPDX-License-Identifier: MIT */
/*
 * fold_times.c - converts the file's clocks to seconds.
 *
 * The file has two: nanoseconds of CLOCK_MONOTONIC, and ticks of the processor, which are cheap enough to stamp every
 * block with. Two moments at which both were read tell how long a tick is.
 */
#include <math.h>
#include <time.h>

#include "reader/fold/fold.h"

/* A unit is 2^PL_UNIT_SHIFT ticks of a clock of 10 MHz to 100 GHz; anything else is damage. */
#define UNIT_S_MIN 4e-8
#define UNIT_S_MAX 4e-4
#define SHIFT_MAX 52u /* units of a slot: with more, the first slot outlasts the clock */

uint64_t pl_fold_since_start(const struct pl_header *header, uint64_t monotonic_ns)
{
    return monotonic_ns > header->start_monotonic_ns ? monotonic_ns - header->start_monotonic_ns : 0;
}

/* For a process that was killed, and whose end nobody recorded: it lived at least until the last event in the file. */
static double last_sign_of_life(const struct pl_profile *profile)
{
    uint64_t last_ns = pl_fold_since_start(&profile->header, profile->header.clock.last_ns);
    for (uint32_t i = 0; i < profile->threads; i++) {
        const struct pl_thread_view *thread = &profile->thread[i];
        last_ns = thread->start_ns > last_ns ? thread->start_ns : last_ns;
        last_ns = thread->end_ns > last_ns ? thread->end_ns : last_ns;
    }
    double moment_s = profile->moments > 0 ? profile->moment[profile->moments - 1].seconds : 0;
    return fmax((double) last_ns / 1e9, moment_s);
}

static double measure_duration(const struct pl_profile *profile)
{
    const struct pl_header *header = &profile->header;
    uint64_t end_ns = header->end_monotonic_ns;
    struct timespec now;
    if (header->flags & PL_FLAG_SNAPSHOT)
        end_ns = header->snapshot_ns;
    else if (profile->running && clock_gettime(CLOCK_MONOTONIC, &now) == 0)
        end_ns = (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec;
    uint64_t lasted_ns = pl_fold_since_start(header, end_ns);
    return lasted_ns > 0 ? (double) lasted_ns / 1e9 : last_sign_of_life(profile);
}

static double measure_unit(const struct pl_header *header)
{
    const struct pl_clock *clock = &header->clock;
    uint64_t ns = pl_fold_since_start(header, clock->last_ns);
    if (clock->last_ticks <= clock->start_ticks || ns == 0)
        return 0;
    double unit_s = ldexp((double) ns / 1e9 / (double) (clock->last_ticks - clock->start_ticks), PL_UNIT_SHIFT);
    return unit_s >= UNIT_S_MIN && unit_s <= UNIT_S_MAX ? unit_s : 0;
}

/* The last class goes on to the end, and those that the run did not reach end with it. */
static void measure_ages(struct pl_profile *profile)
{
    uint32_t shift = profile->header.timeline_shift < SHIFT_MAX ? profile->header.timeline_shift : SHIFT_MAX;
    double class_s = ldexp(PL_MOMENTS_PER_COHORT * profile->unit_s, (int) shift);
    for (unsigned i = 0; i < PL_COHORTS; i++) {
        bool open = i + 1 == PL_COHORTS || !(class_s > 0);
        profile->age[i] = open ? profile->duration_s : fmin((i + 1) * class_s, profile->duration_s);
    }
}

void pl_fold_times(struct pl_profile *profile)
{
    const struct pl_header *header = &profile->header;
    profile->duration_s = measure_duration(profile);
    profile->unit_s = measure_unit(header);
    measure_ages(profile);
    if (header->flags & PL_FLAG_SNAPSHOT)
        profile->snapshot_s = (double) pl_fold_since_start(header, header->snapshot_ns) / 1e9;
    if (header->resets > 0)
        profile->reset_s = (double) pl_fold_since_start(header, header->reset_ns) / 1e9;
    profile->exit_s = (double) pl_fold_since_start(header, header->exit_ns) / 1e9;
    profile->peak_s = fmin((double) header->peak.units * profile->unit_s, profile->duration_s);
    profile->cpu_s = (double) header->automatic.cpu_ns / 1e9;
    profile->cost_s = (double) header->automatic.spent_ns / 1e9;
    if (profile->cpu_s > 0) /* most visits are not timed: one that is stands for many, and may be an exception */
        profile->cost_s = fmin(profile->cost_s, profile->cpu_s);
}
