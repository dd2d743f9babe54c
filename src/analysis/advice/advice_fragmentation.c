/* SPDX-License-Identifier: MIT */
/*
 * advice_fragmentation.c - memory that was freed and is still resident.
 *
 * RSS contains more than the heap: stacks, tables, mappings of the program, the profiler. So this does not compare RSS
 * with live bytes, but the change of both: since the heap was last large, how much was freed, and by how much did
 * anonymous RSS fall? The difference is what the allocator kept, because no whole pages were free or because it expects
 * to reuse them. Everything else that is resident was resident before.
 *
 *   live  ▁▃▆██▅▂▂▂▂▂       kept = freed bytes - fall of RSS, since the last moment at which the heap was large
 *   RSS   ▁▃▆███████
 *
 * It counts only if it lasts: a program that frees everything before it exits is not fragmented, nor is one whose heap
 * grows into the same memory again. The timeline is that of the whole process, so a part of it gets no such advice.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/advice/advice_work.h"
#include "reader/base/grow.h"

#define LARGE 0.8 /* of the maximum: a heap that gets there again reuses the memory that was kept */
#define KEPT_BYTES_LEAST (8 << 20)
#define KEPT_SHARE_LEAST 0.25 /* of anonymous RSS */
#define LASTS_SECONDS_LEAST 1.0
#define LASTS_SHARE_LEAST 0.2 /* of the run */
#define ERRORS 2              /* standard errors of an estimated heap */
#define ARENA_ALIGNMENT (64ull << 20)

struct kept {
    double bytes;
    double seconds; /* for how long */
    uint32_t moment;
};

/* Anonymous RSS. */
static double resident(const struct pl_moment_view *moment)
{
    return fmax(0, moment->rss_bytes - moment->file_bytes);
}

/* With a sampling interval of T bytes, an estimated sum has a variance of about T for each byte. */
static double variance(const struct pl_moment_view *moment)
{
    return (double) moment->interval_bytes * moment->live_bytes;
}

/* The last moment at which the heap was large; -1: none. */
static int find_large(const struct pl_profile *profile)
{
    double most = 0;
    int last = -1;
    for (uint32_t i = 0; i < profile->moments; i++)
        most = fmax(most, profile->moment[i].live_bytes);
    for (uint32_t i = 0; i < profile->moments; i++)
        if (profile->moment[i].live_bytes >= LARGE * most && profile->moment[i].rss_bytes > 0)
            last = (int) i;
    return last;
}

/* By how much the profiler's own tables may have grown since: that is no memory of the program. Known if the process
 * has ended by itself. */
static double own_growth(const struct pl_profile *profile, const struct pl_moment_view *from)
{
    return fmax(0, (double) profile->header.own_end_bytes - from->own_private_bytes);
}

/* How much was kept at each moment after the large one. If RSS was lower in between, that much was returned and not
 * kept, even if other memory has become resident since. */
static uint32_t follow(const struct pl_profile *profile, uint32_t large, struct kept *kept)
{
    const struct pl_moment_view *from = &profile->moment[large];
    double untouched = fmax(0, from->live_bytes - resident(from)), lowest = resident(from);
    double ours = own_growth(profile, from);
    uint32_t count = 0;
    for (uint32_t i = large + 1; i < profile->moments; i++) {
        const struct pl_moment_view *moment = &profile->moment[i];
        double until = i + 1 < profile->moments ? profile->moment[i + 1].seconds : profile->duration_s;
        if (!(moment->rss_bytes > 0))
            continue;
        lowest = fmin(lowest, resident(moment));
        double freed = from->live_bytes - moment->live_bytes - ERRORS * sqrt(variance(from) + variance(moment));
        kept[count++] = (struct kept){
            .bytes = freed - untouched - ours - (resident(from) - lowest),
            .seconds = fmax(0, until - moment->seconds),
            .moment = i,
        };
    }
    return count;
}

static int by_bytes(const void *left, const void *right)
{
    const struct kept *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    return (a->moment > b->moment) - (a->moment < b->moment);
}

/* The largest amount that was kept for at least this long. */
static struct kept find_lasting(struct kept *kept, uint32_t count, double seconds)
{
    double lasted = 0;
    qsort(kept, count, sizeof *kept, by_bytes);
    for (uint32_t i = 0; i < count; i++) {
        lasted += kept[i].seconds;
        if (lasted >= seconds)
            return (struct kept){kept[i].bytes, lasted, kept[i].moment};
    }
    return (struct kept){0};
}

static const char *choose_action(const struct pl_advice_work *work)
{
    if (!work->sizing->header) /* not glibc */
        return "keep long-lived blocks apart from short-lived ones, and look at the allocator's settings for returning "
               "memory";
    if (work->profile->threads > 2)
        return "keep long-lived blocks apart from short-lived ones; call malloc_trim(0) after freeing much, or use "
               "fewer arenas (MALLOC_ARENA_MAX)";
    return "keep long-lived blocks apart from short-lived ones; malloc_trim(0) after freeing much returns whole pages";
}

/* --- the heaps of glibc in a running process --- */

/*
 * As the kernel sees them: what mallinfo2() calls `arena`, found without calling into the process.
 *
 * The kernel calls the main heap [heap]. Arenas of threads are anonymous mappings that begin at a multiple of 64 MiB:
 * that is how malloc finds the arena of an address. Other anonymous mappings begin there only by chance, one in 16,384.
 */
struct heaps {
    double bytes, resident; /* of all heaps */
    uint32_t heaps;         /* the main heap and the arenas of threads */
};

/* "7f0000000000-7f0000021000 rw-p 00000000 00:00 0    [heap]": false for any other line. */
static bool read_mapping(const char *line, uint64_t *start, uint64_t *end, bool *heap)
{
    char access[5], path[16] = "";
    uint64_t inode;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %" SCNu64 " %15s", start, end, access, &inode, path) < 4)
        return false;
    bool private = strcmp(access, "rw-p") == 0;
    bool arena = inode == 0 && !*path && *start % ARENA_ALIGNMENT == 0 && *end - *start <= ARENA_ALIGNMENT;
    *heap = private && (strcmp(path, "[heap]") == 0 || arena);
    return true;
}

/* From the text of /proc/PID/smaps. */
static void parse_heaps(FILE *smaps, struct heaps *out)
{
    char *line = NULL;
    size_t room = 0;
    bool heap = false;
    *out = (struct heaps){0};
    while (getline(&line, &room, smaps) > 0) {
        uint64_t start, end, kib;
        if (read_mapping(line, &start, &end, &heap)) {
            out->heaps += heap;
            out->bytes += heap && end > start ? (double) (end - start) : 0;
        } else if (heap && sscanf(line, "Rss: %" SCNu64 " kB", &kib) == 1) {
            out->resident += (double) kib * 1024;
        }
    }
    free(line);
}

/* False: no permission, the process has ended, or it has no heaps. */
static bool read_heaps(uint32_t pid, struct heaps *out)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%" PRIu32 "/smaps", pid);
    FILE *smaps = fopen(path, "re");
    if (!smaps)
        return false;
    parse_heaps(smaps, out);
    fclose(smaps);
    return out->heaps > 0;
}

/* --- the advice --- */

/* The heaps of glibc, if the process is still running. */
static const char *describe_heaps(struct pl_advice_work *work)
{
    struct heaps heaps;
    char bytes[PL_FIGURE_BYTES], resident_bytes[PL_FIGURE_BYTES], count[PL_FIGURE_BYTES];
    if (!work->profile->running || !work->sizing->header || !read_heaps(work->profile->header.pid, &heaps))
        return "";
    pl_figure_bytes(bytes, heaps.bytes);
    pl_figure_bytes(resident_bytes, heaps.resident);
    pl_figure_exact(count, heaps.heaps);
    return pl_advice_print(work, " malloc now has %s heap%s of %s in total, %s of it resident.", count,
                           pl_figure_plural(count), bytes, resident_bytes);
}

/* "went from 36.0 MiB to 39.0 MiB", "stayed at 340 MiB". */
static const char *describe_course(struct pl_advice_work *work, const char *before, const char *after)
{
    if (strcmp(before, after) == 0)
        return pl_advice_print(work, "stayed at %s", after);
    return pl_advice_print(work, "went from %s to %s", before, after);
}

static void add(struct pl_advice_work *work, const struct pl_moment_view *from, const struct kept *kept)
{
    const struct pl_moment_view *then = &work->profile->moment[kept->moment];
    char bytes[PL_FIGURE_BYTES], large[PL_FIGURE_BYTES], large_s[PL_FIGURE_BYTES], live[PL_FIGURE_BYTES];
    char before[PL_FIGURE_BYTES], after[PL_FIGURE_BYTES], seconds[PL_FIGURE_BYTES], blocks[PL_FIGURE_BYTES];
    pl_figure_bytes(bytes, kept->bytes);
    pl_figure_bytes(large, from->live_bytes);
    pl_figure_seconds(large_s, from->seconds);
    pl_figure_bytes(live, then->live_bytes);
    pl_figure_bytes(before, resident(from));
    pl_figure_bytes(after, resident(then));
    pl_figure_seconds(seconds, kept->seconds);
    pl_figure_count(blocks, then->live_objects);
    const char *headline = pl_advice_print(work, "%s were freed but stay resident", bytes);
    const char *evidence = pl_advice_print(
        work, "The heap fell from %s at %s to %s in %s block%s, but anonymous RSS %s. This lasted %s.%s", large,
        large_s, live, blocks, pl_figure_plural(blocks), describe_course(work, before, after), seconds,
        describe_heaps(work));
    pl_advice_add(work, &(struct pl_advice){
                            .kind = PL_ADVICE_FRAGMENTATION,
                            .path = PL_ADVICE_NO_PATH,
                            .headline = headline,
                            .evidence = evidence,
                            .action = choose_action(work),
                            .gain_bytes = kept->bytes,
                            .weight = fmin(1, kept->bytes / then->rss_bytes),
                        });
}

void pl_advice_fragmentation(struct pl_advice_work *work)
{
    const struct pl_profile *profile = work->profile;
    int large = pl_advice_is_whole(profile) ? find_large(profile) : -1;
    if (large < 0)
        return;
    struct kept *all = pl_grow_zeroed(profile->moments + 1ull, sizeof *all);
    uint32_t count = follow(profile, (uint32_t) large, all);
    double long_enough = fmax(LASTS_SECONDS_LEAST, LASTS_SHARE_LEAST * profile->duration_s);
    struct kept kept = find_lasting(all, count, long_enough);
    if (kept.bytes >= KEPT_BYTES_LEAST && kept.bytes >= KEPT_SHARE_LEAST * resident(&profile->moment[kept.moment]))
        add(work, &profile->moment[large], &kept);
    free(all);
}
