/* SPDX-License-Identifier: MIT */
/*
 * model.h - profiles without files: stacks by the names of their functions, and what became of their blocks.
 *
 * For what is computed from an opened profile: nothing here is checked by the reader, so tests say what they mean.
 */
#ifndef PL_MODEL_H
#define PL_MODEL_H

#include "support.h"

#define MODEL_MAX 64
#define MODEL_DEPTH 8

struct model {
    struct pl_profile profile;
    struct pl_module_view module[MODEL_MAX];
    struct pl_frame_view frame[MODEL_MAX];
    struct pl_place place[MODEL_MAX];
    struct pl_stack_view stack[MODEL_MAX];
    uint32_t in_stack[MODEL_MAX][MODEL_DEPTH];
    struct pl_site_view site[MODEL_MAX];
    struct pl_snapshot_view snapshot[PL_SNAPSHOTS];
    struct pl_snapshot_share share[PL_SNAPSHOTS][MODEL_MAX];
};

/* A run of so many seconds, in `classes` equal age classes. */
static inline struct model *model_new(double seconds, uint32_t classes)
{
    struct model *model = calloc(1, sizeof *model);
    assert_non_null(model);
    struct pl_profile *profile = &model->profile;
    profile->module = model->module;
    profile->frame = model->frame;
    profile->stack = model->stack;
    profile->site = model->site;
    profile->snapshot = model->snapshot;
    profile->executable = "/opt/app/server";
    profile->duration_s = seconds;
    profile->unit_s = 1.5e-6;
    profile->exact = true;
    for (uint32_t i = 0; i < PL_COHORTS; i++)
        profile->age[i] = classes ? seconds * (i < classes ? i + 1 : classes) / classes : 0;
    return model;
}

static inline uint32_t model_module(struct model *model, const char *path)
{
    for (uint32_t i = 0; i < model->profile.modules; i++)
        if (strcmp(model->module[i].path, path) == 0)
            return i;
    model->module[model->profile.modules].path = path;
    return model->profile.modules++;
}

static inline uint32_t model_frame(struct model *model, const char *module, const char *function, const char *file)
{
    uint32_t number = model->profile.frames++;
    assert_true(number < MODEL_MAX);
    model->place[number] = (struct pl_place){.function = function, .linkage = "", .file = file, .line = 7};
    model->frame[number] =
        (struct pl_frame_view){.module = model_module(model, module), .places = 1, .place = &model->place[number]};
    return number;
}

/* Pairs of module and function, innermost first, ended by NULL. */
static inline uint32_t model_stack(struct model *model, const char *const *pairs)
{
    uint32_t number = model->profile.stacks++, frames = 0;
    assert_true(number < MODEL_MAX);
    for (; *pairs; pairs += 2)
        model->in_stack[number][frames++] = model_frame(model, pairs[0], pairs[1], "");
    model->stack[number] = (struct pl_stack_view){frames, model->in_stack[number]};
    return number;
}
#define STACK(model, ...) model_stack(model, (const char *const[]){__VA_ARGS__, NULL})

/* A site whose survivors, by age class, are counted blocks of `size` bytes; `freed` others were made and freed. */
static inline uint32_t model_site(struct model *model, uint32_t stack, const double ages[PL_COHORTS], double size,
                                  double freed)
{
    uint32_t number = model->profile.sites++;
    struct pl_site_view *site = &model->site[number];
    double live = 0;
    assert_true(number < MODEL_MAX);
    for (uint32_t i = 0; i < PL_COHORTS; i++)
        live += site->spread.ages[i] = ages[i];
    site->stack = stack;
    site->figures.allocated = (struct pl_amount){.exact_objects = live + freed, .exact_space = (live + freed) * size};
    site->figures.freed = (struct pl_amount){.exact_objects = freed, .exact_space = freed * size};
    pl_figures_estimate(&site->figures, site->metric);
    return number;
}
#define SITE(model, stack, size, freed, ...)                                                                           \
    model_site(model, stack, (const double[PL_COHORTS]){__VA_ARGS__}, size, freed)

/* The same by samples, each of which stands for `weight` blocks. */
static inline uint32_t model_sampled(struct model *model, uint32_t stack, const double ages[PL_COHORTS], double size,
                                     double weight)
{
    uint32_t number = model_site(model, stack, ages, size, 0);
    struct pl_site_view *site = &model->site[number];
    double samples = site->figures.allocated.exact_objects;
    site->figures.allocated = (struct pl_amount){0};
    forge_sample(&site->figures.allocated.sampled, size, weight, (uint64_t) samples);
    for (uint32_t i = 0; i < PL_COHORTS; i++)
        site->spread.ages[i] *= weight;
    pl_figures_estimate(&site->figures, site->metric);
    model->profile.exact = false;
    return number;
}
#define SAMPLED(model, stack, size, weight, ...)                                                                       \
    model_sampled(model, stack, (const double[PL_COHORTS]){__VA_ARGS__}, size, weight)

/* Snapshots at equal distances, all naming this site alone. */
static inline void model_seen(struct model *model, uint32_t site, const double *bytes, uint32_t snapshots)
{
    model->profile.snapshots = snapshots;
    for (uint32_t i = 0; i < snapshots; i++) {
        struct pl_snapshot_view *snapshot = &model->snapshot[i];
        snapshot->seconds = model->profile.duration_s * (i + 1) / (snapshots + 1);
        model->share[i][snapshot->shares++] = (struct pl_snapshot_share){.site = site, .bytes = bytes[i]};
        snapshot->share = model->share[i];
    }
}

#endif
