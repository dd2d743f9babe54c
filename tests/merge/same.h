/* SPDX-License-Identifier: MIT */
/*
 * same.h - checks that two profiles are equal except for the numbers of their frames. Histograms of samples have seven
 * digits.
 */
#ifndef PL_SAME_H
#define PL_SAME_H

#include <math.h>

#include "reader/describe.h"
#include "forged_profile.h"

#define SEVEN_DIGITS 1e-6

static inline void assert_within(double a, double b, double rounding)
{
    if (!(fabs(a - b) <= rounding * fmax(fabs(a), fabs(b))))
        fail_msg("%.17g is not %.17g", a, b);
}

static inline void assert_same_list(const double *a, const double *b, unsigned count, double rounding)
{
    for (unsigned i = 0; i < count; i++)
        assert_within(a[i], b[i], rounding);
}

static inline void assert_same_estimates(const struct pl_estimate *a, const struct pl_estimate *b)
{
    for (int m = 0; m < PL_METRIC_COUNT; m++) {
        assert_within(a[m].value, b[m].value, 1e-12);
        assert_within(a[m].error, b[m].error, 1e-9);
        assert_within(a[m].low, b[m].low, 1e-9);
        assert_within(a[m].high, b[m].high, 1e-9);
    }
}

static inline void assert_same_spread(const struct pl_spread *a, const struct pl_spread *b, bool exact)
{
    double rounding = exact ? 0 : SEVEN_DIGITS;
    const double some[] = {a->realloc_calls, a->realloc_moved, a->realloc_in_place, a->exit_objects, a->exit_space};
    const double same[] = {b->realloc_calls, b->realloc_moved, b->realloc_in_place, b->exit_objects, b->exit_space};
    assert_same_list(a->sizes, b->sizes, PL_SIZE_BUCKETS, rounding);
    assert_same_list(a->lives, b->lives, PL_LIFE_BUCKETS, rounding);
    assert_same_list(a->ages, b->ages, PL_COHORTS, rounding);
    assert_same_list(some, same, 5, exact ? 0 : 1e-12);
    assert_int_equal(a->smallest, b->smallest);
    assert_int_equal(a->largest, b->largest);
}

static inline void assert_same_places(const struct pl_frame_view *a, const struct pl_frame_view *b)
{
    bool silent = a->places == 1 && !*a->place->function && !*a->place->file;
    assert_int_equal(silent ? 0 : a->places, b->places);
    for (uint32_t i = 0; i < b->places; i++) {
        assert_string_equal(a->place[i].function, b->place[i].function);
        assert_string_equal(a->place[i].linkage, b->place[i].linkage);
        assert_string_equal(a->place[i].file, b->place[i].file);
        assert_int_equal(a->place[i].line, b->place[i].line);
        assert_int_equal(a->place[i].column, b->place[i].column);
        assert_int_equal(a->place[i].inlined, b->place[i].inlined);
    }
}

static inline void assert_same_stacks(const struct pl_profile *a, uint32_t left, const struct pl_profile *b,
                                      uint32_t right)
{
    assert_int_equal(left == PL_NO_STACK, right == PL_NO_STACK);
    if (left == PL_NO_STACK)
        return;
    const struct pl_stack_view *s = &a->stack[left], *t = &b->stack[right];
    assert_int_equal(s->frames, t->frames);
    for (uint32_t i = 0; i < s->frames; i++) {
        const struct pl_frame_view *f = &a->frame[s->frame[i]], *g = &b->frame[t->frame[i]];
        assert_string_equal(a->module[f->module].path, b->module[g->module].path);
        assert_string_equal(a->module[f->module].build_id, b->module[g->module].build_id);
        assert_true(f->address == g->address && f->flags == g->flags);
        assert_same_places(f, g);
    }
}

static inline void assert_same_sites(const struct pl_profile *a, const struct pl_profile *b)
{
    assert_int_equal(a->sites, b->sites);
    for (uint32_t i = 0; i < a->sites; i++) {
        assert_same_stacks(a, a->site[i].stack, b, b->site[i].stack);
        assert_int_equal(a->site[i].thread, b->site[i].thread);
        assert_int_equal(a->site[i].tag, b->site[i].tag);
        assert_int_equal(a->site[i].other_sizes, b->site[i].other_sizes);
        const struct unpacked_site *s = unpack_site(&a->site[i]), *t = unpack_site(&b->site[i]);
        assert_same_estimates(s->metric, t->metric);
        assert_same_spread(&s->spread, &t->spread, s->figures.allocated.sampled.samples == 0);
        assert_memory_equal(&s->figures.allocated, &t->figures.allocated, sizeof s->figures.allocated);
        assert_memory_equal(&s->figures.freed, &t->figures.freed, sizeof s->figures.freed);
        assert_memory_equal(&s->figures.peak, &t->figures.peak, sizeof s->figures.peak);
        assert_memory_equal(&s->figures.skew, &t->figures.skew, sizeof s->figures.skew);
    }
}

static inline void assert_same_threads(const struct pl_profile *a, const struct pl_profile *b)
{
    assert_int_equal(a->threads, b->threads);
    assert_memory_equal(a->thread, b->thread, a->threads * sizeof *a->thread);
    assert_int_equal(a->scopes, b->scopes);
    assert_memory_equal(a->scope, b->scope, a->scopes * sizeof *a->scope);
    assert_int_equal(a->tags, b->tags);
    for (uint32_t i = 0; i < a->tags; i++) {
        assert_string_equal(a->tag[i].name, b->tag[i].name);
        assert_string_equal(a->tag[i].path, b->tag[i].path);
        assert_int_equal(a->tag[i].parent, b->tag[i].parent);
        assert_int_equal(a->tag[i].kind, b->tag[i].kind);
    }
}

static inline void assert_same_history(const struct pl_profile *a, const struct pl_profile *b)
{
    assert_int_equal(a->moments, b->moments);
    assert_memory_equal(a->moment, b->moment, a->moments * sizeof *a->moment);
    assert_int_equal(a->compositions, b->compositions);
    for (uint32_t i = 0; i < a->compositions; i++) {
        const struct pl_composition_view *s = &a->composition[i], *t = &b->composition[i];
        assert_int_equal(s->shares, t->shares);
        for (uint32_t k = 0; k < s->shares; k++) {
            assert_int_equal(s->share[k].site, t->share[k].site);
            assert_int_equal(s->share[k].divided, t->share[k].divided);
            assert_true(s->share[k].objects == t->share[k].objects && s->share[k].bytes == t->share[k].bytes);
            assert_true(s->share[k].calls == t->share[k].calls && s->share[k].allocated == t->share[k].allocated);
        }
        assert_memory_equal(s, t, offsetof(struct pl_composition_view, shares));
    }
}

static inline void assert_same_process(const struct pl_profile *a, const struct pl_profile *b)
{
    const double times[] = {a->duration_s, a->unit_s, a->peak_s, a->exit_s, a->cost_s, a->cpu_s, a->peak_slack_bytes};
    const double same[] = {b->duration_s, b->unit_s, b->peak_s, b->exit_s, b->cost_s, b->cpu_s, b->peak_slack_bytes};
    char left[256], right[256];
    assert_same_list(times, same, sizeof times / sizeof *times, 1e-12);
    assert_same_list(a->age, b->age, PL_COHORTS, 1e-12);
    assert_string_equal(a->comm, b->comm);
    assert_string_equal(a->executable, b->executable);
    assert_string_equal(a->directory, b->directory);
    for (size_t i = 0; a->argv[i] || b->argv[i]; i++)
        assert_string_equal(a->argv[i] ? a->argv[i] : "(none)", b->argv[i] ? b->argv[i] : "(none)");
    pl_describe_ending(a, left, sizeof left);
    pl_describe_ending(b, right, sizeof right);
    assert_string_equal(left, right);
    pl_describe_method(a, left, sizeof left);
    pl_describe_method(b, right, sizeof right);
    assert_string_equal(left, right);
    assert_int_equal(a->merged, b->merged);
    assert_int_equal(a->damage, b->damage);
    assert_memory_equal(a->header.losses, b->header.losses, sizeof a->header.losses);
    assert_memory_equal(a->header.stops, b->header.stops, sizeof a->header.stops);
    assert_memory_equal(&a->header.automatic, &b->header.automatic, sizeof a->header.automatic);
}

static inline void assert_same_profiles(const struct pl_profile *a, const struct pl_profile *b)
{
    assert_same_process(a, b);
    assert_same_threads(a, b);
    assert_same_sites(a, b);
    assert_same_history(a, b);
    assert_same_estimates(a->total, b->total);
    assert_same_spread(&a->spread, &b->spread, a->samples == 0);
    assert_true(a->samples == b->samples && a->samples_live == b->samples_live && a->exact == b->exact);
    assert_true(a->exact_calls == b->exact_calls && a->recorded_calls == b->recorded_calls);
    assert_true(a->exact_bytes == b->exact_bytes && a->recorded_bytes == b->recorded_bytes);
}

#endif
