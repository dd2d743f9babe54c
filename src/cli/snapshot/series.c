/* SPDX-License-Identifier: MIT */
/*
 * series.c - the arithmetic of snapshots at an interval.
 *
 * Invariant: all places in `taken` are 1 modulo the spacing, and there are at most `keep` of them.
 */
#include "cli/snapshot/series.h"

#include <stdlib.h>
#include <unistd.h>

#include "cli/say.h"

struct pl_series pl_series_new(uint64_t every_ns, uint64_t keep, uint64_t first_ns)
{
    return (struct pl_series){.every_ns = every_ns, .keep = keep, .first_ns = first_ns, .spacing = 1};
}

void pl_series_free(struct pl_series *series)
{
    for (size_t i = 0; i < series->count; i++)
        free(series->taken[i].path);
    free(series->taken);
    *series = (struct pl_series){0};
}

/* The nearest place at or before this one that is in step with the spacing. */
static uint64_t in_step(const struct pl_series *series, uint64_t place)
{
    return place - (place - 1) % series->spacing;
}

/* A file that the user has moved or removed counts as removed. */
static void thin(struct pl_series *series)
{
    size_t kept = 0;
    series->spacing *= 2;
    for (size_t i = 0; i < series->count; i++) {
        struct pl_series_taken *each = &series->taken[i];
        if (in_step(series, each->place) == each->place) {
            series->taken[kept++] = *each;
            continue;
        }
        unlink(each->path);
        free(each->path);
    }
    series->count = kept;
}

/* If the caller is late, returns the latest place that is due; those in between stay empty. */
uint64_t pl_series_due(struct pl_series *series, uint64_t now_ns)
{
    if (now_ns < series->first_ns)
        return 0;
    uint64_t reached = (now_ns - series->first_ns) / series->every_ns + 1;
    if (in_step(series, reached) <= series->last)
        return 0;
    while (series->keep && series->count >= series->keep)
        thin(series);
    uint64_t place = in_step(series, reached);
    if (place <= series->last) /* the thinning has removed this place */
        return 0;
    series->last = place;
    return place;
}

uint64_t pl_series_next_ns(const struct pl_series *series)
{
    uint64_t next = series->last ? in_step(series, series->last) + series->spacing : 1;
    return series->first_ns + (next - 1) * series->every_ns;
}

void pl_series_add(struct pl_series *series, uint64_t place, const char *path)
{
    series->taken = pl_say_memory(realloc(series->taken, (series->count + 1) * sizeof *series->taken));
    series->taken[series->count++] = (struct pl_series_taken){place, pl_say_print("%s", path)};
    series->taken_in_all++;
}
