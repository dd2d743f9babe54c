/* SPDX-License-Identifier: MIT */
/*
 * languages.c - see languages.h.
 *
 * The interpreter's module is the one that has its evaluator. If that is python or libpython, all its functions are the
 * interpreter's: functions of built-in types, and what starts them. If a program has the interpreter linked in, only
 * those by whose names it is certain.
 */
#include "analysis/languages.h"

#include <string.h>

#include "analysis/names/simplify.h"
#include "reader/base/arena.h"

enum kind {
    KIND_NATIVE,
    KIND_INTERPRETER,
    KIND_PYTHON,
};

struct chosen {
    enum pl_languages languages;
    const uint8_t *kind; /* of each frame */
};

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_python(const char *path)
{
    return begins(base_of(path), "python") || begins(base_of(path), "libpython");
}

static bool is_interpreters(const struct pl_frame_view *frame)
{
    const char *name = frame->places > 0 ? frame->place[frame->places - 1].function : "";
    return begins(name, "Py") || begins(name, "_Py");
}

/* Whether each module has the evaluator, or is the program that starts it. */
static const bool *find_interpreters(const struct pl_profile *profile, struct pl_arena *scratch)
{
    bool *has = pl_arena_alloc(scratch, (profile->modules + 1ull) * sizeof *has), any = false;
    for (uint32_t i = 0; i < profile->frames; i++) {
        const struct pl_frame_view *frame = &profile->frame[i];
        for (uint32_t p = 0; p < frame->places; p++)
            if (!strcmp(frame->place[p].function, "_PyEval_EvalFrameDefault"))
                any = has[frame->module] = true;
    }
    for (uint32_t m = 0; m < profile->modules; m++)
        has[m] |= any && is_python(profile->module[m].path);
    return has;
}

/* NULL: there is no Python code. */
static const uint8_t *find_kinds(const struct pl_profile *profile, struct pl_arena *scratch)
{
    const bool *interpreter = find_interpreters(profile, scratch);
    uint8_t *kind = pl_arena_alloc(scratch, profile->frames + 1ull);
    bool any = false;
    for (uint32_t i = 0; i < profile->frames; i++) {
        const struct pl_frame_view *frame = &profile->frame[i];
        if (frame->flags & PL_FRAME_PYTHON)
            kind[i] = KIND_PYTHON;
        else if (interpreter[frame->module] &&
                 (is_python(profile->module[frame->module].path) || is_interpreters(frame)))
            kind[i] = KIND_INTERPRETER;
        any |= kind[i] == KIND_PYTHON;
    }
    return any ? kind : NULL;
}

static bool is_left(const struct chosen *chosen, enum kind kind)
{
    switch (chosen->languages) {
    case PL_LANGUAGES_PYTHON:
        return kind == KIND_PYTHON;
    case PL_LANGUAGES_NATIVE:
        return kind != KIND_PYTHON;
    default:
        return kind != KIND_INTERPRETER;
    }
}

static uint32_t shorten(const void *by, const struct pl_stack_view *stack, uint32_t *to)
{
    const struct chosen *chosen = by;
    uint32_t frames = 0;
    bool python = false;
    for (uint32_t f = 0; f < stack->frames; f++)
        python |= chosen->kind[stack->frame[f]] == KIND_PYTHON;
    for (uint32_t f = 0; f < stack->frames; f++)
        if (!python || is_left(chosen, chosen->kind[stack->frame[f]]))
            to[frames++] = stack->frame[f];
    return frames;
}

void pl_languages_choose(struct pl_profile *profile, enum pl_languages languages)
{
    struct pl_arena *scratch = pl_arena_new();
    struct chosen chosen = {languages, find_kinds(profile, scratch)};
    if (chosen.kind && languages != PL_LANGUAGES_ALL)
        pl_shorten_stacks(profile, shorten, &chosen);
    pl_arena_free(scratch);
}
