/* SPDX-License-Identifier: MIT */
/*
 * fuzz_exports.c - does with changed profiles whatever can be done with a profile: parts of it, stretches of its time,
 * sums and differences, files of those, advice, and all of that in every format.
 *
 * A profile that the reader has opened is whole (fuzz_profile.c), but its figures, names and shape are anybody's. What
 * is chosen by people (what to do, with which part, by which metric) is chosen by the profile's own bytes here, so that
 * a finding repeats.
 *
 * Nothing is read but the profile: symbols are looked for where there are no files.
 */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "advice.h"
#include "arena.h"
#include "diff.h"
#include "export.h"
#include "fuzz.h"
#include "instant.h"
#include "join.h"
#include "narrow.h"
#include "path.h"
#include "profile.h"
#include "save.h"
#include "simplify.h"
#include "symbolize.h"
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

/* What became of the program later: the same, but for a few changes. NULL if that is no profile. */
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

/* Most are in. */
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

/* Moments in their order: 0 is the start, then come snapshots, and at last the end. */
static uint32_t choose_moment(const struct pl_profile *profile, uint64_t *state)
{
    uint64_t random = fuzz_random(state);
    if (random % 2)
        return (uint32_t) (random / 2 % (profile->snapshots + 2u));
    double seconds = (double) (random >> 32) / (double) UINT32_MAX * profile->duration_s;
    int instant = pl_instant_near(profile, seconds);
    return instant == PL_INSTANT_END ? profile->snapshots + 1 : (uint32_t) (instant + 1);
}

static int instant_of(const struct pl_profile *profile, uint32_t moment)
{
    return moment > profile->snapshots ? PL_INSTANT_END : (int) moment - 1;
}

static const struct pl_profile *stretch(const struct pl_profile *whole, uint64_t *state, struct pl_arena *arena)
{
    uint32_t one = choose_moment(whole, state), other = choose_moment(whole, state);
    int since = instant_of(whole, one < other ? one : one > other ? other : 0);
    int until = instant_of(whole, one < other ? other : one > other ? one : whole->snapshots + 1);
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

/* What a site of a file may have at most. A sum of absurdities may come to more, and is not believed afterwards. */
#define BYTES_MAX 0x1p62
#define SAMPLES_MAX 0x1p48
static bool is_absurd(const struct pl_profile *profile)
{
    for (uint32_t i = 0; i < profile->sites; i++) {
        const struct pl_amount *allocated = &profile->site[i].figures.allocated;
        if (allocated->exact_space >= BYTES_MAX || (double) allocated->sampled.samples >= SAMPLES_MAX)
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

/* A full disk is nobody's fault, and a file has its bounds. */
static void save_and_open(const struct pl_profile *profile)
{
    const char *path = scratch_file();
    struct pl_profile *opened;
    char why[PL_WHY_BYTES] = "";
    int result = pl_profile_save(profile, path, why);
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

/* As merge does: sums of sums, whose parts are closed by the time that they are used. */
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
    for (int m = 0; m < PL_METRIC_COUNT; m++)
        if (!isfinite(change->change[m].low) || !isfinite(change->change[m].high) || !(change->before[m].value >= 0) ||
            !(change->after[m].value >= 0))
            abort();
    if (diff->significant > diff->changes || diff->moved > diff->changes)
        abort();
}

static void compare(const struct pl_profile *joined, const struct pl_profile *before, const struct pl_profile *after,
                    uint64_t *state)
{
    uint64_t random = fuzz_random(state);
    struct pl_spot_options names = {.full_names = random % 2, .no_symbols = random / 2 % 2};
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
    struct pl_spot_options names = {.full_names = random % 2, .no_symbols = random / 2 % 2};
    struct pl_spots *spots = pl_spots_new(profile, &names);
    uint32_t depth = (uint32_t) (random >> 32) % 8;
    struct pl_advices advices = {0};
    struct pl_paths sites = pl_paths_new(profile, spots, PL_SHAPE_SITE, depth);
    pl_paths_new(profile, spots, (enum pl_shape)(PL_SHAPE_OWN + random / 4 % 3), depth);
    for (uint32_t i = 0; i < profile->sites; i++)
        if (sites.of_site[i] >= sites.count)
            abort();
    pl_advice_find(profile, spots, &sites, "plimsoll", &advices);
    for (uint32_t i = 0; i < advices.count; i++)
        check_advice(&advices.advice[i], &sites);
    pl_advice_free(&advices);
    pl_spots_free(spots);
}

/* ---- one of them at a time ---- */

/* What is done with a profile, or a part of it, and with what became of it later. */
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
