/* SPDX-License-Identifier: MIT */
/*
 * profile.c - opens a profile: a file or memory, a snapshot of it, the fold; and is its process still there?
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fold.h"
#include "process.h"

static double measure_duration(const struct pl_profile *profile)
{
    uint64_t start_ns = profile->header.start_monotonic_ns;
    uint64_t end_ns = profile->header.end_monotonic_ns;
    struct timespec now;
    if (profile->running && clock_gettime(CLOCK_MONOTONIC, &now) == 0)
        end_ns = (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec;
    if (end_ns > start_ns)
        return (double) (end_ns - start_ns) / 1e9;

    /* Killed, and nobody was there to look at the clock: it lived at least until its last thread came or went. */
    uint64_t last_ns = 0;
    for (uint32_t i = 0; i < profile->threads; i++) {
        const struct pl_thread_view *thread = &profile->thread[i];
        last_ns = thread->start_ns > last_ns ? thread->start_ns : last_ns;
        last_ns = thread->end_ns > last_ns ? thread->end_ns : last_ns;
    }
    return (double) last_ns / 1e9;
}

static int load(const struct pl_source *source, struct pl_profile **out, char *why)
{
    struct pl_arena *scratch = pl_arena_new();
    struct pl_snapshot snapshot;
    int refused = pl_snapshot_take(source, scratch, &snapshot, why);
    if (refused == 0) {
        struct pl_arena *arena = pl_arena_new();
        struct pl_profile *profile = pl_arena_alloc(arena, sizeof *profile);
        profile->arena = arena;
        profile->path = pl_arena_alloc(arena, strlen(source->name) + 1);
        strcpy(profile->path, source->name);
        pl_fold(&snapshot, scratch, profile);
        profile->running = source->fd >= 0 && pl_process_runs(&profile->header);
        profile->duration_s = measure_duration(profile);
        *out = profile;
    }
    pl_arena_free(scratch);
    return refused;
}

int pl_profile_load(const void *data, size_t bytes, struct pl_profile **out, char why[PL_WHY_BYTES])
{
    struct pl_source source = {.name = "the profile in memory", .fd = -1, .data = data, .data_bytes = bytes};
    return load(&source, out, why);
}

static int refuse_to_open(const char *path, int error, char *why)
{
    snprintf(why, PL_WHY_BYTES, "cannot open %.350s: %s", path, strerror(error));
    return -error;
}

/* Without O_NONBLOCK a named pipe would keep us waiting for its other end. */
int pl_profile_open(const char *path, struct pl_profile **out, char why[PL_WHY_BYTES])
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return refuse_to_open(path, errno, why);
    int result;
    if (fstat(fd, &status) != 0) {
        result = refuse_to_open(path, errno, why);
    } else if (!S_ISREG(status.st_mode)) {
        snprintf(why, PL_WHY_BYTES, "%.350s is %s, not a profile", path,
                 S_ISDIR(status.st_mode) ? "a directory" : "a device, a pipe or a socket");
        result = S_ISDIR(status.st_mode) ? -EISDIR : -EINVAL;
    } else {
        struct pl_source source = {.name = path, .fd = fd};
        result = load(&source, out, why);
    }
    close(fd);
    return result;
}

void pl_profile_close(struct pl_profile *profile)
{
    if (profile)
        pl_arena_free(profile->arena); /* the profile itself lives in it */
}

/* ---- the promise ---- */

static bool valid_frames(const struct pl_profile *profile)
{
    for (uint32_t i = 0; i < profile->frames; i++) {
        const struct pl_frame_view *frame = &profile->frame[i];
        if (frame->module >= profile->modules || frame->record == 0)
            return false;
        for (uint32_t p = 0; p < frame->places; p++)
            if (!frame->place[p].function || !frame->place[p].linkage || !frame->place[p].file)
                return false;
    }
    return true;
}

static bool valid_stacks(const struct pl_profile *profile)
{
    for (uint32_t i = 0; i < profile->stacks; i++) {
        if (profile->stack[i].frames == 0)
            return false;
        for (uint32_t f = 0; f < profile->stack[i].frames; f++)
            if (profile->stack[i].frame[f] >= profile->frames)
                return false;
    }
    return true;
}

static bool valid_sums(const struct pl_sums *allocated, const struct pl_sums *freed)
{
    return freed->objects >= 0 && freed->objects <= allocated->objects && freed->space >= 0 &&
           freed->space <= allocated->space && freed->objects_variance >= 0 &&
           freed->objects_variance <= allocated->objects_variance && freed->space_variance >= 0 &&
           freed->space_variance <= allocated->space_variance && freed->samples <= allocated->samples;
}

static bool valid_sites(const struct pl_profile *profile)
{
    for (uint32_t i = 0; i < profile->sites; i++) {
        const struct pl_site_view *site = &profile->site[i];
        if ((site->stack >= profile->stacks && site->stack != PL_NO_STACK) || site->thread >= profile->threads ||
            !valid_sums(&site->allocated, &site->freed))
            return false;
    }
    return true;
}

static bool valid_names(const struct pl_profile *profile)
{
    for (uint32_t i = 0; i < profile->modules; i++)
        if (!profile->module[i].path || strlen(profile->module[i].build_id) > 2 * PL_BUILD_ID_MAX)
            return false;
    for (uint32_t i = 0; i < profile->threads; i++)
        if (strnlen(profile->thread[i].name, sizeof profile->thread[i].name) >= sizeof profile->thread[i].name)
            return false;
    return profile->comm && profile->executable && profile->directory && profile->destination && profile->argv;
}

bool pl_profile_valid(const struct pl_profile *profile)
{
    return valid_names(profile) && valid_frames(profile) && valid_stacks(profile) && valid_sites(profile) &&
           profile->samples_live <= profile->samples;
}
