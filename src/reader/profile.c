/* SPDX-License-Identifier: MIT */
/*
 * profile.c - opens a profile: copies it from a file or memory, folds it, and checks whether its process still runs.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reader/figures.h"
#include "reader/fold/fold.h"
#include "reader/site.h"

#define FIELD_STATE 3
#define FIELD_START_TICKS 22

/* --- the process --- */

/* False if there is no such process. Pids are reused; a pid together with its start time is not. The command name in
 * /proc/PID/stat may contain anything, spaces and parentheses included, so fields are counted from the last closing
 * parenthesis. */
static bool read_stat(uint32_t pid, uint64_t *start_ticks, char *state)
{
    char path[32], line[1024];
    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    size_t bytes = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[bytes] = '\0';
    const char *field = strrchr(line, ')');
    for (int i = FIELD_STATE - 1; field && i < FIELD_START_TICKS; i++) {
        field = strchr(field + 1, ' ');
        if (field && i + 1 == FIELD_STATE)
            *state = field[1];
    }
    if (field)
        *start_ticks = strtoull(field + 1, NULL, 10);
    return field != NULL;
}

bool pl_profile_process_runs(const struct pl_header *header)
{
    uint64_t start_ticks;
    char state = 0;
    bool gone = header->end == PL_END_EXEC || header->end == PL_END_DETACHED ||
                (header->flags & (PL_FLAG_WAITED | PL_FLAG_SNAPSHOT)) != 0;
    if (gone || header->pid == 0 || !read_stat(header->pid, &start_ticks, &state))
        return false;
    return start_ticks == header->start_ticks && !strchr("ZX", state);
}

bool pl_profile_same_process(const struct pl_header *a, const struct pl_header *b)
{
    return a->pid == b->pid && a->start_monotonic_ns == b->start_monotonic_ns && a->seed == b->seed;
}

/* --- opening --- */

static int load(const struct pl_image_source *source, struct pl_profile **out, char *why)
{
    struct pl_arena *scratch = pl_arena_new();
    struct pl_image image;
    int refused = pl_image_take(source, scratch, &image, why);
    if (refused == 0) {
        struct pl_arena *arena = pl_arena_new();
        struct pl_profile *profile = pl_arena_alloc(arena, sizeof *profile);
        profile->arena = arena;
        profile->path = pl_arena_alloc(arena, strlen(source->name) + 1);
        strcpy(profile->path, source->name);
        profile->running = source->fd >= 0 && pl_profile_process_runs(&image.header);
        pl_fold(&image, scratch, profile);
        *out = profile;
    }
    pl_arena_free(scratch);
    return refused;
}

int pl_profile_load(const void *data, size_t bytes, struct pl_profile **out, char why[PL_WHY_BYTES])
{
    struct pl_image_source source = {.name = "the profile in memory", .fd = -1, .data = data, .data_bytes = bytes};
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
        struct pl_image_source source = {.name = path, .fd = fd};
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

/* ---- pl_profile_valid() ---- */

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

static bool valid_figures(const struct pl_figures *figures)
{
    struct pl_amount live = pl_amount_rest(&figures->allocated, &figures->freed);
    return pl_amount_within(&figures->freed, &figures->allocated) &&
           pl_amount_within(&figures->peak, &figures->allocated) &&
           pl_amount_within(&figures->temporary, &figures->freed) && pl_amount_within(&figures->lost, &live);
}

static bool all_counts(const double *count, unsigned counts)
{
    for (unsigned i = 0; i < counts; i++)
        if (!(count[i] >= 0) || !isfinite(count[i]))
            return false;
    return true;
}

static bool valid_spread(const struct pl_spread *spread)
{
    const double rest[] = {spread->realloc_calls, spread->realloc_moved, spread->realloc_in_place,
                           spread->exit_objects,  spread->exit_space,    spread->with_objects,
                           spread->with_space,    spread->along_objects, spread->along_space,
                           spread->inner_objects, spread->inner_space};
    return all_counts(spread->sizes, PL_SIZE_BUCKETS) && all_counts(spread->lives, PL_LIFE_BUCKETS) &&
           all_counts(spread->ages, PL_COHORTS) && all_counts(rest, sizeof rest / sizeof *rest) &&
           spread->smallest <= spread->largest;
}

static bool valid_sites(const struct pl_profile *profile)
{
    for (uint32_t i = 0; i < profile->sites; i++) {
        const struct pl_site_view *site = &profile->site[i];
        if ((site->stack >= profile->stacks && site->stack != PL_NO_STACK) || site->thread >= profile->threads ||
            site->tag >= profile->tags || (site->other_sizes && site->stack != PL_NO_STACK))
            return false;
        struct pl_figures figures = pl_site_figures(site);
        struct pl_spread spread = pl_site_spread(site);
        if (!valid_figures(&figures) || !valid_spread(&spread))
            return false;
    }
    return valid_spread(&profile->spread);
}

static bool valid_tags(const struct pl_profile *profile)
{
    if (profile->tags == 0 || profile->tag[0].parent != 0 || profile->tag[0].depth != 0 || *profile->tag[0].path)
        return false;
    for (uint32_t i = 0; i < profile->tags; i++) {
        const struct pl_tag_view *tag = &profile->tag[i];
        if (!tag->name || !tag->path || tag->kind >= PL_TAG_REST ||
            (i > 0 && (tag->parent >= i || tag->depth != profile->tag[tag->parent].depth + 1)))
            return false;
    }
    return true;
}

/* True: scope i is in order and in range. */
static bool is_scope(const struct pl_profile *profile, uint32_t i)
{
    const struct pl_scope_view *scope = &profile->scope[i];
    if (scope->thread >= profile->threads || scope->tag >= profile->tags)
        return false;
    return i == 0 || scope[-1].thread < scope->thread ||
           (scope[-1].thread == scope->thread && scope[-1].tag < scope->tag);
}

/* Subtracts the scopes of a thread, from *scope on, from its figures: nothing must be left. */
static bool adds_up(const struct pl_profile *profile, uint32_t thread, uint32_t *scope)
{
    struct pl_thread_view rest = profile->thread[thread];
    for (; *scope < profile->scopes && profile->scope[*scope].thread == thread; ++*scope) {
        rest.bytes -= profile->scope[*scope].bytes;
        for (int f = 0; f < PL_FN_MAX; f++)
            rest.calls[f] -= profile->scope[*scope].calls[f];
    }
    for (int f = 0; f < PL_FN_MAX; f++)
        rest.bytes |= rest.calls[f];
    return rest.bytes == 0;
}

static bool valid_scopes(const struct pl_profile *profile)
{
    uint32_t scope = 0;
    for (uint32_t i = 0; i < profile->scopes; i++)
        if (!is_scope(profile, i))
            return false;
    for (uint32_t i = 0; i < profile->threads; i++)
        if (!adds_up(profile, i, &scope))
            return false;
    return scope == profile->scopes;
}

static bool valid_moments(const struct pl_profile *profile)
{
    for (uint32_t i = 0; i < profile->moments; i++) {
        const struct pl_moment_view *moment = &profile->moment[i];
        const double counts[] = {moment->seconds,         moment->live_bytes,      moment->live_objects,
                                 moment->allocated_bytes, moment->allocated_calls, moment->rss_bytes};
        if (!all_counts(counts, sizeof counts / sizeof *counts) || (i > 0 && moment[-1].seconds >= moment->seconds))
            return false;
    }
    return true;
}

static bool valid_shares(const struct pl_profile *profile, const struct pl_composition_view *composition)
{
    for (uint32_t i = 0; i < composition->shares; i++) {
        const struct pl_composition_share *share = &composition->share[i];
        if (share->site >= profile->sites || !all_counts(&share->objects, 1) || !all_counts(&share->bytes, 1) ||
            (i > 0 && share[-1].bytes < share->bytes))
            return false;
    }
    return true;
}

static bool valid_compositions(const struct pl_profile *profile)
{
    for (uint32_t i = 0; i < profile->compositions; i++) {
        const struct pl_composition_view *composition = &profile->composition[i];
        const double counts[] = {composition->seconds, composition->live_bytes, composition->live_objects,
                                 composition->left_out_bytes};
        if (!all_counts(counts, sizeof counts / sizeof *counts) || !valid_shares(profile, composition) ||
            (i > 0 && composition[-1].seconds >= composition->seconds))
            return false;
    }
    return true;
}

static bool valid_times(const struct pl_profile *profile)
{
    const double times[] = {profile->duration_s, profile->unit_s,           profile->peak_s, profile->exit_s,
                            profile->cost_s,     profile->peak_slack_bytes, profile->cpu_s,  profile->snapshot_s,
                            profile->reset_s,    profile->looked_s};
    for (unsigned i = 1; i < PL_COHORTS; i++)
        if (profile->age[i] < profile->age[i - 1])
            return false;
    return all_counts(times, sizeof times / sizeof *times) && all_counts(profile->age, PL_COHORTS) &&
           profile->peak_s <= profile->duration_s;
}

/* Only totals of a difference may be negative. */
static bool valid_totals(const struct pl_profile *profile)
{
    for (int m = 0; m < PL_METRIC_COUNT; m++) {
        const struct pl_estimate *total = &profile->total[m];
        if (!isfinite(total->low) || !isfinite(total->high) || !(total->low <= total->value) ||
            !(total->value <= total->high) || !(total->error >= 0) || (total->low < 0 && !profile->difference))
            return false;
    }
    return profile->base_sites <= (profile->difference ? profile->sites : 0);
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

static bool valid_heaps(const struct pl_profile *profile)
{
    for (uint32_t i = 0; i < profile->heaps; i++) {
        struct pl_profile heap = *profile;
        heap.sites = profile->heap[i].sites;
        heap.site = profile->heap[i].site;
        if (!profile->heap[i].name || !valid_sites(&heap))
            return false;
    }
    return true;
}

bool pl_profile_valid(const struct pl_profile *profile)
{
    return valid_names(profile) && valid_frames(profile) && valid_stacks(profile) && valid_tags(profile) &&
           valid_scopes(profile) && valid_sites(profile) && valid_heaps(profile) && valid_moments(profile) &&
           valid_compositions(profile) && valid_times(profile) && valid_totals(profile) &&
           profile->samples_live <= profile->samples && !(profile->exact && profile->samples > 0);
}

uint32_t pl_profile_places(const struct pl_profile *profile)
{
    uint32_t places = 0;
    for (uint32_t i = 0; i < profile->frames; i++)
        places += profile->frame[i].places;
    return places;
}
