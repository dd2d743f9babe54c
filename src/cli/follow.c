/* SPDX-License-Identifier: MIT */
/*
 * follow.c - the series of snapshots of one process: what is due is taken, and numbered by its place.
 */
#include "follow.h"

#include <stdlib.h>
#include <time.h>

#include "say.h"
#include "summary.h"

uint64_t pl_follow_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec;
}

int pl_follow_tick(struct pl_follow *follow, const char *live, const char *root, uint64_t now_ns, const char **path,
                   char why[PL_WHY_BYTES])
{
    struct pl_shot shot;
    *path = NULL;
    uint64_t place = pl_series_due(&follow->series, now_ns);
    if (!place)
        return 0;
    uint64_t wanted = follow->offset + place;
    if (!follow->known)
        follow->known = pl_known_new();
    int result = pl_shot_take(&follow->options, live, root, wanted, follow->known, &shot, why);
    if (result < 0) {
        follow->failed++;
        return result;
    }
    pl_shot_free(&follow->last);
    follow->last = shot;
    follow->offset += shot.number - wanted; /* lower ones are somebody else's */
    pl_series_add(&follow->series, place, shot.path);
    *path = follow->last.path;
    return result;
}

void pl_follow_rest(struct pl_follow *follow)
{
    pl_shot_free(&follow->last);
    pl_known_free(follow->known);
    follow->known = NULL;
}

void pl_follow_free(struct pl_follow *follow)
{
    pl_follow_rest(follow);
    pl_series_free(&follow->series);
}

char *pl_follow_words(const struct pl_follow *follow)
{
    const struct pl_series *series = &follow->series;
    unsigned long long taken = series->taken_in_all;
    if (!series->count)
        return pl_say_print("no snapshot");
    char *first = pl_summary_typed(series->taken[0].path);
    char *last = pl_summary_typed(series->taken[series->count - 1].path);
    char *kept = series->count < taken ? pl_say_print(", %zu kept", series->count) : pl_say_print("%s", "");
    char *words = pl_say_print("%llu snapshot%s%s: %s%s%s", taken, taken == 1 ? "" : "s", kept, first,
                               series->count > 1 ? " to " : "", series->count > 1 ? last : "");
    free(kept);
    free(last);
    free(first);
    return words;
}
