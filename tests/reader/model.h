/* SPDX-License-Identifier: MIT */
/*
 * model.h - profiles without files: stacks given by the names of their functions, and the fate of their blocks.
 *
 * For code that works on an opened profile. The reader does not check these profiles, so each test states its figures.
 */
#ifndef PL_MODEL_H
#define PL_MODEL_H

#include "forged_profile.h"

#define MODEL_MAX 64
#define MODEL_DEPTH 8

struct model {
    struct pl_profile profile;
    struct pl_module_view module[MODEL_MAX];
    struct pl_frame_view frame[MODEL_MAX];
    struct pl_place place[MODEL_MAX];
    struct pl_stack_view stack[MODEL_MAX];
    uint32_t in_stack[MODEL_MAX][MODEL_DEPTH];
    struct pl_site_view view[MODEL_MAX];
    struct unpacked_site site[MODEL_MAX]; /* their figures, until model_pack() */
    struct pl_composition_view composition[PL_COMPOSITIONS];
    struct pl_composition_share share[PL_COMPOSITIONS][MODEL_MAX];
};

/* A run of this many seconds, with `classes` age classes of equal length. */
static inline struct model *model_new(double seconds, uint32_t classes)
{
    struct model *model = calloc(1, sizeof *model);
    assert_non_null(model);
    struct pl_profile *profile = &model->profile;
    profile->module = model->module;
    profile->frame = model->frame;
    profile->stack = model->stack;
    profile->site = model->view;
    profile->arena = pl_arena_new();
    profile->composition = model->composition;
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

/* Pairs of module and function, innermost first, NULL after the last. */
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

/* A site with counted live blocks of `size` bytes, given by age class. `freed` more were allocated and freed. */
static inline uint32_t model_site(struct model *model, uint32_t stack, const double ages[PL_COHORTS], double size,
                                  double freed)
{
    uint32_t number = model->profile.sites++;
    struct unpacked_site *site = &model->site[number];
    double live = 0;
    assert_true(number < MODEL_MAX);
    for (uint32_t i = 0; i < PL_COHORTS; i++)
        live += site->spread.ages[i] = ages[i];
    model->view[number].stack = stack;
    site->figures.allocated = (struct pl_amount){.exact_objects = live + freed, .exact_space = (live + freed) * size};
    site->figures.freed = (struct pl_amount){.exact_objects = freed, .exact_space = freed * size};
    return number;
}
#define SITE(model, stack, size, freed, ...)                                                                           \
    model_site(model, stack, (const double[PL_COHORTS]){__VA_ARGS__}, size, freed)

/* The same with samples, each with a weight of `weight` blocks. */
static inline uint32_t model_sampled(struct model *model, uint32_t stack, const double ages[PL_COHORTS], double size,
                                     double weight)
{
    uint32_t number = model_site(model, stack, ages, size, 0);
    struct unpacked_site *site = &model->site[number];
    double samples = site->figures.allocated.exact_objects;
    site->figures.allocated = (struct pl_amount){0};
    forge_sample(&site->figures.allocated.sampled, size, weight, (uint64_t) samples);
    for (uint32_t i = 0; i < PL_COHORTS; i++)
        site->spread.ages[i] *= weight;
    model->profile.exact = false;
    return number;
}
#define SAMPLED(model, stack, size, weight, ...)                                                                       \
    model_sampled(model, stack, (const double[PL_COHORTS]){__VA_ARGS__}, size, weight)

/* Must be called when the figures of sites are complete. */
static inline const struct pl_profile *model_pack(struct model *model)
{
    for (uint32_t i = 0; i < model->profile.sites; i++)
        pack_site(model->profile.arena, &model->site[i], &model->view[i]);
    return &model->profile;
}

static inline void model_free(struct model *model)
{
    pl_arena_free(model->profile.arena);
    free(model);
}

/* Heap compositions at equal intervals, all of this site alone. */
static inline void model_seen(struct model *model, uint32_t site, const double *bytes, uint32_t compositions)
{
    model->profile.compositions = compositions;
    for (uint32_t i = 0; i < compositions; i++) {
        struct pl_composition_view *composition = &model->composition[i];
        composition->seconds = model->profile.duration_s * (i + 1) / (compositions + 1);
        model->share[i][composition->shares++] = (struct pl_composition_share){.site = site, .bytes = bytes[i]};
        composition->share = model->share[i];
    }
}

#endif
