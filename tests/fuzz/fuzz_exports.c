/* SPDX-License-Identifier: MIT */
/*
 * fuzz_exports.c - uses changed profiles in every way: parts, periods of time, sums and differences, files of those,
 * advice, and all of that in every format.
 *
 * A profile that the reader has opened is valid (fuzz_profile.c), but its figures, names and shape are arbitrary. The
 * choices that people make (what to do, with which part, by which metric) come from the profile's own bytes here, so
 * that a failure can be repeated.
 *
 * Nothing is read but the profile: symbols are searched for where there are no files.
 */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/advice/advice.h"
#include "analysis/diff/diff.h"
#include "analysis/instant.h"
#include "analysis/names/simplify.h"
#include "analysis/narrow.h"
#include "analysis/path.h"
#include "export/export.h"
#include "fuzz.h"
#include "reader/base/arena.h"
#include "reader/join/join.h"
#include "reader/profile.h"
#include "reader/site.h"
#include "reader/symbols/symbolize.h"
#include "reader/write/save.h"
#include "written.h"

#define CHANGED_MAX (1u << 20)
#define NO_FILES "/nonexistent"

static uint64_t choices_of(const uint8_t *data, size_t bytes)
{
    uint64_t state = bytes;
    for (size_t i = 0; i + sizeof(uint64_t) <= bytes; i += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, data + i, sizeof word);
        state = (state ^ word) * 0x9e3779b97f4a7c15ull;
        state ^= state >> 29;
    }
    return state;
}

static bool is_fraction(double value)
{
    return value >= 0 && value <= 1;
}

/* ---- profiles as commands have them ---- */

static void name_frames(struct pl_profile *profile, uint64_t choice)
{
    static struct pl_simplify *rules;
    struct pl_symbolize_options how = {.no_debuginfod = true, .sysroot = NO_FILES};
    if (choice % 4 == 0)
        return;
    pl_symbolize(profile, &how, NULL);
    if (choice % 4 == 1)
        return;
    if (!rules)
        rules = pl_simplify_new();
    pl_simplify_profile(rules, profile, choice % 4 == 2);
}

static struct pl_profile *load(const uint8_t *data, size_t bytes, uint64_t choice)
{
    struct pl_profile *profile;
    char why[PL_WHY_BYTES];
    if (pl_profile_load(data, bytes, &profile, why) != 0)
        return NULL;
    name_frames(profile, choice);
    if (!pl_profile_valid(profile))
        abort();
    return profile;
}

/* A later profile of the program: the same with a few changes. NULL if the result is not a profile. */
static struct pl_profile *load_changed(const uint8_t *data, size_t bytes, uint64_t choice, uint64_t *state)
{
    static uint8_t changed[CHANGED_MAX];
    if (bytes > CHANGED_MAX)
        return NULL;
    memcpy(changed, data, bytes);
    for (uint64_t i = fuzz_random(state) % 8; i > 0; i--)
        bytes = LLVMFuzzerCustomMutator(changed, bytes, bytes, (unsigned) fuzz_random(state));
    return load(changed, bytes, choice);
}

/* ---- parts ---- */

/* Includes most of them. */
static const bool *choose(uint32_t count, uint64_t *state, struct pl_arena *arena)
{
    bool *in = pl_arena_alloc(arena, count + 1ull);
    if (fuzz_random(state) % 2)
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        in[i] = fuzz_random(state) % 4;
    return in;
}

static const struct pl_profile *narrow(const struct pl_profile *whole, uint64_t *state, struct pl_arena *arena)
{
    struct pl_part part = {
        .tag = choose(whole->tags, state, arena),
        .thread = choose(whole->threads, state, arena),
        .stack = choose(whole->stacks, state, arena),
    };
    const struct pl_profile *narrowed = pl_narrow(whole, &part, arena);
    if (!pl_profile_valid(narrowed))
        abort();
    return narrowed;
}

/* Times in order: 0 is the start, then the heap compositions, then the end. */
static uint32_t choose_moment(const struct pl_profile *profile, uint64_t *state)
{
    uint64_t random = fuzz_random(state);
    if (random % 2)
        return (uint32_t) (random / 2 % (profile->compositions + 2u));
    double seconds = (double) (random >> 32) / (double) UINT32_MAX * profile->duration_s;
    int instant = pl_instant_near(profile, seconds);
    return instant == PL_INSTANT_END ? profile->compositions + 1 : (uint32_t) (instant + 1);
}

static int instant_of(const struct pl_profile *profile, uint32_t moment)
{
    return moment > profile->compositions ? PL_INSTANT_END : (int) moment - 1;
}

static const struct pl_profile *stretch(const struct pl_profile *whole, uint64_t *state, struct pl_arena *arena)
{
    uint32_t one = choose_moment(whole, state), other = choose_moment(whole, state);
    int since = instant_of(whole, one < other ? one : one > other ? other : 0);
    int until = instant_of(whole, one < other ? other : one > other ? one : whole->compositions + 1);
    const struct pl_profile *between = pl_instant_between(whole, since, until, arena);
    if (!(pl_instant_seconds(whole, since) >= 0) || !pl_profile_valid(between))
        abort();
    return between;
}

/* ---- sums, and files of them ---- */

static char directory[PATH_MAX];

static void remove_directory(void)
{
    rmdir(directory);
}

static const char *scratch_file(void)
{
    static char path[PATH_MAX + sizeof "/sum.plim"];
    const char *parent = getenv("TMPDIR");
    if (!*path) {
        snprintf(directory, sizeof directory, "%s/plimsoll-fuzz-XXXXXX", parent ? parent : "/tmp");
        if (!mkdtemp(directory)) {
            perror(directory);
            exit(1);
        }
        atexit(remove_directory);
        snprintf(path, sizeof path, "%s/sum.plim", directory);
    }
    return path;
}

/* The limit of a figure of a site in a file. Sums of absurd figures may exceed it, and are rejected when read again. */
#define BYTES_MAX 0x1p62
#define SAMPLES_MAX 0x1p48
static bool is_absurd(const struct pl_profile *profile)
{
    for (uint32_t i = 0; i < profile->sites; i++) {
        struct pl_amount allocated = pl_site_figures(&profile->site[i]).allocated;
        if (allocated.exact_space >= BYTES_MAX || (double) allocated.sampled.samples >= SAMPLES_MAX)
            return true;
    }
    return false;
}

static void check_saved(const struct pl_profile *saved, const struct pl_profile *opened)
{
    if (!pl_profile_valid(opened) || opened->merged != saved->merged || opened->sites != saved->sites)
        abort();
    for (int m = 0; m < PL_METRIC_COUNT; m++) {
        double was = saved->total[m].value, is = opened->total[m].value;
        if (fabs(is - was) > 1e-6 * fabs(was) + 1)
            abort();
    }
}

/* A full disk is not a failure, and a file has limits. */
static void save_and_open(const struct pl_profile *profile)
{
    const char *path = scratch_file();
    struct pl_profile *opened;
    char why[PL_WHY_BYTES] = "";
    int result = pl_save(profile, path, why);
    if (result != 0 && !*why)
        abort();
    if (result != 0)
        return;
    if (pl_profile_open(path, &opened, why) != 0)
        abort();
    unlink(path);
    if (!is_absurd(profile))
        check_saved(profile, opened);
    pl_profile_close(opened);
}

/* Like merge: sums of sums, whose parts are closed before the sums are used. */
static void add_up(const struct pl_profile *first, const struct pl_profile *second, uint64_t *state)
{
    const struct pl_profile *part[] = {first, second, first};
    struct pl_profile *some = pl_join(part, 1 + (uint32_t) (fuzz_random(state) % 3), PL_JOIN_SUM);
    struct pl_profile *sum = pl_join((const struct pl_profile *[]){some, second}, 2, PL_JOIN_SUM);
    pl_join_keep(sum);
    pl_profile_close(some);
    if (!pl_profile_valid(sum))
        abort();
    save_and_open(sum);
    fuzz_write_all(sum, 0, state);
    pl_profile_close(sum);
}

/* ---- differences ---- */

static void check_change(const struct pl_diff *diff, const struct pl_change *change, bool same)
{
    if (!is_fraction(change->p) || !is_fraction(change->q) || (same && change->what != PL_DIFF_SAME))
        abort();
    if (!isfinite(change->change.low) || !isfinite(change->change.high) || !(change->before.value >= 0) ||
        !(change->after.value >= 0))
        abort();
    for (int m = 0; m < PL_METRIC_COUNT; m++)
        if (!isfinite(diff->totals.change[m].low) || !isfinite(diff->totals.change[m].high) ||
            !(diff->totals.before[m].value >= 0) || !(diff->totals.after[m].value >= 0))
            abort();
    if (diff->significant > diff->changes || diff->moved > diff->changes)
        abort();
}

static void compare(const struct pl_profile *joined, const struct pl_profile *before, const struct pl_profile *after,
                    uint64_t *state)
{
    uint64_t random = fuzz_random(state);
    struct pl_location_options names = {.full_names = random % 2, .no_symbols = random / 2 % 2};
    struct pl_diff_options how = {
        .by = (enum pl_diff_by)(random / 4 % 3),
        .metric = (enum pl_metric)((random >> 16) % PL_METRIC_COUNT),
        .rate = 0.05,
        .depth = (uint32_t) (random >> 32) % 8,
        .lines = random >> 63,
        .names = &names,
        .before = before,
        .after = after,
    };
    struct pl_diff diff;
    pl_diff_make(joined, &how, &diff);
    for (uint32_t i = 0; i < diff.changes; i++)
        check_change(&diff, &diff.change[i], before && before == after);
    check_change(&diff, &diff.total, before && before == after);
    pl_diff_free(&diff);
}

static void subtract(const struct pl_profile *before, const struct pl_profile *after, uint64_t *state)
{
    const struct pl_profile *part[] = {before, after};
    struct pl_profile *joined = pl_join(part, 2, PL_JOIN_DIFFERENCE);
    if (!pl_profile_valid(joined) || !joined->difference || joined->base_sites > joined->sites)
        abort();
    compare(joined, before, after, state);
    fuzz_write_all(joined, PL_EXPORT_SIGNED, state);
    pl_profile_close(joined);
}

/* ---- advice ---- */

static void check_advice(const struct pl_advice *advice, const struct pl_paths *paths)
{
    if (!(advice->gain_bytes >= 0) || !(advice->gain_calls >= 0) ||
        !isfinite(advice->gain_bytes + advice->gain_calls) || !is_fraction(advice->weight) ||
        (advice->path != PL_ADVICE_NO_PATH && advice->path >= paths->count) || !*advice->headline ||
        !*advice->evidence || !*advice->action)
        abort();
}

static void advise(const struct pl_profile *profile, uint64_t *state)
{
    uint64_t random = fuzz_random(state);
    struct pl_location_options names = {.full_names = random % 2, .no_symbols = random / 2 % 2};
    struct pl_locations *locations = pl_locations_new(profile, &names);
    uint32_t depth = (uint32_t) (random >> 32) % 8;
    struct pl_advices advices = {0};
    struct pl_paths sites = pl_paths_new(profile, locations, PL_SHAPE_SITE, depth);
    pl_paths_new(profile, locations, (enum pl_shape)(PL_SHAPE_OWN + random / 4 % 3), depth);
    for (uint32_t i = 0; i < profile->sites; i++)
        if (sites.of_site[i] >= sites.count)
            abort();
    pl_advice_find(profile, locations, &sites, &PL_ADVICE_COMMANDS, NULL, &advices);
    for (uint32_t i = 0; i < advices.count; i++)
        check_advice(&advices.advice[i], &sites);
    pl_advice_free(&advices);
    pl_locations_free(locations);
}

/* ---- one use at a time ---- */

/* A use of a profile, or of a part of it, and of a later profile. */
typedef void use_function(const struct pl_profile *part, const struct pl_profile *later, uint64_t *state);

static void write_part(const struct pl_profile *part, const struct pl_profile *later, uint64_t *state)
{
    (void) later;
    fuzz_write_all(part, 0, state);
}

static void write_stretch(const struct pl_profile *part, const struct pl_profile *later, uint64_t *state)
{
    struct pl_arena *arena = pl_arena_new();
    const struct pl_profile *between = stretch(part, state, arena);
    (void) later;
    compare(between, NULL, NULL, state);
    advise(between, state);
    fuzz_write_all(between, 0, state);
    pl_arena_free(arena);
}

static void write_difference(const struct pl_profile *part, const struct pl_profile *later, uint64_t *state)
{
    subtract(part, fuzz_random(state) % 4 ? later : part, state);
}

static void advise_part(const struct pl_profile *part, const struct pl_profile *later, uint64_t *state)
{
    (void) later;
    advise(part, state);
}

static use_function *const uses[] = {write_part, write_stretch, write_difference, advise_part, add_up};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    uint64_t state = choices_of(data, bytes), choice = fuzz_random(&state);
    struct pl_profile *profile = load(data, bytes, choice);
    if (!profile)
        return 0;
    struct pl_profile *later = load_changed(data, bytes, choice, &state);
    struct pl_arena *arena = pl_arena_new();
    const struct pl_profile *part = fuzz_random(&state) % 2 ? narrow(profile, &state, arena) : profile;
    uses[fuzz_random(&state) % (sizeof uses / sizeof *uses)](part, later ? later : profile, &state);
    pl_arena_free(arena);
    pl_profile_close(later);
    pl_profile_close(profile);
    return 0;
}
